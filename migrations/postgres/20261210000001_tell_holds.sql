-- For how many milliseconds from its last claim or heartbeat on a lease holds: a deadline that lies further off
-- was written before the database's clock ran backwards. NULL where a coordinator of an earlier build wrote it.
ALTER TABLE leases ADD COLUMN hold bigint CHECK (hold >= 0);
GRANT UPDATE (hold) ON leases TO kazoe_runtime;
