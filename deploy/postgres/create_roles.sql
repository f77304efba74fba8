-- The two roles of a ledger on PostgreSQL, made once in a cluster by its administrator. The database must
-- belong to kazoe_owner:
--
--   psql -f create_roles.sql
--   psql -c "ALTER ROLE kazoe_owner PASSWORD '...'" -c "ALTER ROLE kazoe_runtime PASSWORD '...'"
--   createdb --owner kazoe_owner kazoe

-- Applies migrations, and nothing else.
CREATE ROLE kazoe_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;

-- What coordinators log in as: it owns nothing, and may do what the migrations grant to it.
CREATE ROLE kazoe_runtime LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
