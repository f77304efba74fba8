-- The two roles of a ledger on PostgreSQL; an administrator creates them once in a cluster. The database must
-- belong to kazoe_owner:
--
--   psql -f create_roles.sql
--   psql -c "ALTER ROLE kazoe_owner PASSWORD '...'" -c "ALTER ROLE kazoe_runtime PASSWORD '...'"
--   createdb --owner kazoe_owner kazoe

-- Applies migrations, and nothing else.
CREATE ROLE kazoe_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;

-- The role of coordinators: it owns nothing and has the rights that the migrations grant.
CREATE ROLE kazoe_runtime LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
