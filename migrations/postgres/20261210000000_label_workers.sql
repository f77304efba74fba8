-- What people call a worker's machine, and when it said that it left. NULL: it has no name; it is here, or was
-- lost.
ALTER TABLE workers ADD COLUMN name text CHECK (length(name) BETWEEN 1 AND 64);
ALTER TABLE workers ADD COLUMN left_at bigint;
GRANT UPDATE (left_at) ON workers TO kazoe_runtime;
