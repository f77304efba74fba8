-- What a claim asks of thousands of live leases, and room for what is changed often.

-- Whose deadline has passed: found without a look at those whose has not.
CREATE INDEX leases_live_by_deadline ON leases (campaign, deadline) WHERE ended_at IS NULL;
DROP INDEX leases_live_by_campaign;

-- A row that is changed often stays on its page, so that its old versions are cleared away in passing.
ALTER TABLE campaigns SET (fillfactor = 10);
ALTER TABLE workers SET (fillfactor = 50);
