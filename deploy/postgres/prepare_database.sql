-- After create_roles.sql, once, when docker-compose.yml's PostgreSQL makes its database (psql, as its
-- administrator): the passwords of the two roles, and whose the database is.

\set ON_ERROR_STOP on
\set owner_password `cat /secrets/postgres/owner.password`
\set runtime_password `cat /secrets/postgres/runtime.password`

ALTER ROLE kazoe_owner PASSWORD :'owner_password';
ALTER ROLE kazoe_runtime PASSWORD :'runtime_password';
ALTER DATABASE kazoe OWNER TO kazoe_owner;
