-- Runs once after create_roles.sql, when docker-compose.yml's PostgreSQL creates its database (psql, as its
-- administrator): sets the passwords of the two roles and the owner of the database.

\set ON_ERROR_STOP on
\set owner_password `cat /secrets/postgres/owner.password`
\set runtime_password `cat /secrets/postgres/runtime.password`

ALTER ROLE kazoe_owner PASSWORD :'owner_password';
ALTER ROLE kazoe_runtime PASSWORD :'runtime_password';
ALTER DATABASE kazoe OWNER TO kazoe_owner;
