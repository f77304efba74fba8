-- The ledger on PostgreSQL: every tally received, and which one is accepted for each segment. The same
-- shape as on SQLite (migrations/sqlite).
-- Times are milliseconds since 1970 by the database's clock. Tables of three life cycles:
--   written once and never changed:   self_tests, results, result_cells, result_depths, witnesses, audit_log
--   a history whose rows are closed:  leases, loans, disputes
--   the state now:                    campaigns, accepted, waiting, set_aside; checkpoints (derived, may be dropped)
-- The owner of the tables applies migrations; the role kazoe_runtime reads and writes rows, as granted below.

CREATE TABLE campaigns (
    id text NOT NULL PRIMARY KEY,
    canonical text NOT NULL UNIQUE,
    variant text NOT NULL,
    population text NOT NULL,
    design text NOT NULL,
    seed text NOT NULL,              -- decimal: unsigned 64 bits do not fit a bigint
    cap text,                        -- decimal; NULL searches to the end
    samples bigint NOT NULL CHECK (samples BETWEEN 1 AND 4611686018427387904),
    segment_blocks bigint NOT NULL CHECK (segment_blocks BETWEEN 1 AND 1048576),
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'cancelled')),
    priority bigint NOT NULL DEFAULT 0,
    frontier bigint NOT NULL DEFAULT 0 CHECK (frontier >= 0), -- no segment from here on was ever lent
    revision bigint NOT NULL DEFAULT 0, -- grows whenever the accepted, disputed or set aside change
    build text NOT NULL,
    submitted_at bigint NOT NULL
);

-- The whole tallies of a few known blocks, as the build that submitted the campaign computes them.
CREATE TABLE self_tests (
    campaign text NOT NULL REFERENCES campaigns (id),
    block bigint NOT NULL CHECK (block >= 0),
    tally text NOT NULL,             -- cells, depths and digest as in a ledger file
    PRIMARY KEY (campaign, block)
);

CREATE TABLE leases (
    sequence bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the token's first half
    secret bytea NOT NULL CHECK (length(secret) = 8), -- its random half
    campaign text NOT NULL REFERENCES campaigns (id),
    owner text NOT NULL,
    worker text NOT NULL,
    operator boolean NOT NULL,
    build text NOT NULL,
    claimed_at bigint NOT NULL,
    deadline bigint NOT NULL,
    ended_at bigint,
    ending text CHECK (ending IN ('ended', 'expired', 'forfeited')),
    CHECK ((ended_at IS NULL) = (ending IS NULL))
);
CREATE INDEX leases_live ON leases (worker) WHERE ended_at IS NULL;
CREATE INDEX leases_live_by_campaign ON leases (campaign) WHERE ended_at IS NULL;

-- Which segments a lease lends. A loan is open until its tally came or the segment was given back.
CREATE TABLE loans (
    lease bigint NOT NULL REFERENCES leases (sequence),
    segment bigint NOT NULL CHECK (segment >= 0),
    campaign text NOT NULL REFERENCES campaigns (id),
    purpose text NOT NULL CHECK (purpose IN ('fill', 'resolve', 'audit')),
    closed_at bigint,
    closing text CHECK (closing IN ('delivered', 'returned', 'expired', 'forfeited', 'superseded')),
    PRIMARY KEY (lease, segment),
    CHECK ((closed_at IS NULL) = (closing IS NULL))
);
CREATE UNIQUE INDEX loans_open ON loans (campaign, purpose, segment) WHERE closed_at IS NULL;

CREATE TABLE results (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign text NOT NULL REFERENCES campaigns (id),
    segment bigint NOT NULL CHECK (segment >= 0),
    samples bigint NOT NULL CHECK (samples >= 1),
    digest bytea NOT NULL CHECK (length(digest) = 16), -- little-endian
    lease bigint REFERENCES leases (sequence), -- NULL when imported
    owner text NOT NULL,
    worker text NOT NULL,
    operator boolean NOT NULL,
    build text NOT NULL,
    received_at bigint NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('accepted', 'repeat', 'audit', 'disputed', 'stale')),
    UNIQUE (id, campaign, segment)
);
CREATE INDEX results_by_segment ON results (campaign, segment);
CREATE INDEX results_audits ON results (campaign, segment) WHERE verdict = 'audit';

CREATE TABLE result_cells (
    result bigint NOT NULL REFERENCES results (id),
    cell bigint NOT NULL CHECK (cell >= 0),
    count bigint NOT NULL CHECK (count >= 1),
    PRIMARY KEY (result, cell)
);

CREATE TABLE result_depths (
    result bigint NOT NULL REFERENCES results (id),
    depth bigint NOT NULL CHECK (depth >= 0),
    count bigint NOT NULL CHECK (count >= 1),
    PRIMARY KEY (result, depth)
);

CREATE TABLE witnesses (
    result bigint NOT NULL REFERENCES results (id),
    sample bigint NOT NULL CHECK (sample >= 0), -- its index in the campaign
    kind text NOT NULL CHECK (kind IN ('unreachable', 'path')),
    depth bigint,
    length bigint,
    expansions bigint,
    PRIMARY KEY (result, sample, kind),
    CHECK ((depth IS NOT NULL) = (kind = 'unreachable')),
    CHECK ((length IS NOT NULL) = (kind = 'path')),
    CHECK ((expansions IS NOT NULL) = (kind = 'path'))
);

-- A segment is counted exactly once, because a second row cannot exist.
CREATE TABLE accepted (
    campaign text NOT NULL REFERENCES campaigns (id),
    segment bigint NOT NULL,
    result bigint NOT NULL,
    PRIMARY KEY (campaign, segment),
    FOREIGN KEY (result, campaign, segment) REFERENCES results (id, campaign, segment)
);
CREATE INDEX accepted_by_result ON accepted (result);

CREATE TABLE disputes (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign text NOT NULL REFERENCES campaigns (id),
    segment bigint NOT NULL CHECK (segment >= 0),
    opened_at bigint NOT NULL,
    opened_by bigint NOT NULL REFERENCES results (id),
    closed_at bigint,
    closing text CHECK (closing IN ('agreed', 'operator', 'superseded')),
    CHECK ((closed_at IS NULL) = (closing IS NULL))
);
CREATE UNIQUE INDEX disputes_open ON disputes (campaign, segment) WHERE closed_at IS NULL;

-- Segments below the frontier that nobody holds.
CREATE TABLE waiting (
    campaign text NOT NULL REFERENCES campaigns (id),
    segment bigint NOT NULL CHECK (segment >= 0),
    why text NOT NULL CHECK (why IN ('returned', 'retracted')),
    PRIMARY KEY (campaign, segment)
);

CREATE TABLE set_aside (
    campaign text NOT NULL REFERENCES campaigns (id),
    segment bigint NOT NULL CHECK (segment >= 0),
    why text NOT NULL,
    PRIMARY KEY (campaign, segment)
);

-- Every move of an accepted pointer but its first setting, and whatever an operator does.
CREATE TABLE audit_log (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    campaign text REFERENCES campaigns (id),
    segment bigint,
    actor text NOT NULL,
    action text NOT NULL,
    from_result bigint REFERENCES results (id),
    to_result bigint REFERENCES results (id),
    note text NOT NULL
);

-- Sums of closed prefixes, derived from the rows above; dropped when a segment inside changes.
CREATE TABLE checkpoints (
    campaign text NOT NULL REFERENCES campaigns (id),
    prefix bigint NOT NULL CHECK (prefix >= 1), -- segments
    tally text NOT NULL,
    set_aside_samples bigint NOT NULL,
    PRIMARY KEY (campaign, prefix)
);

-- What the grants forbid to the runtime role, triggers forbid to the owner as well.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: %', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER self_tests_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON self_tests
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('append-only');
CREATE TRIGGER results_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON results
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('append-only');
CREATE TRIGGER result_cells_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON result_cells
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('append-only');
CREATE TRIGGER result_depths_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON result_depths
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('append-only');
CREATE TRIGGER witnesses_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON witnesses
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('append-only');
CREATE TRIGGER audit_log_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('append-only');
CREATE TRIGGER leases_stay BEFORE DELETE OR TRUNCATE ON leases
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('no row is ever deleted');
CREATE TRIGGER leases_closed BEFORE UPDATE ON leases
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse('an ended lease never changes');
CREATE TRIGGER loans_stay BEFORE DELETE OR TRUNCATE ON loans
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('no row is ever deleted');
CREATE TRIGGER loans_closed BEFORE UPDATE ON loans
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL) EXECUTE FUNCTION refuse('a closed loan never changes');
CREATE TRIGGER disputes_stay BEFORE DELETE OR TRUNCATE ON disputes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('no row is ever deleted');
CREATE TRIGGER disputes_closed BEFORE UPDATE ON disputes
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL) EXECUTE FUNCTION refuse('a closed dispute never changes');

GRANT SELECT, INSERT ON self_tests, results, result_cells, result_depths, witnesses, audit_log TO kazoe_runtime;
GRANT SELECT, INSERT ON campaigns, leases, loans, disputes TO kazoe_runtime;
GRANT UPDATE (samples, state, priority, frontier, revision) ON campaigns TO kazoe_runtime;
GRANT UPDATE (deadline, ended_at, ending) ON leases TO kazoe_runtime;
GRANT UPDATE (closed_at, closing) ON loans, disputes TO kazoe_runtime;
GRANT SELECT, INSERT, DELETE ON accepted, waiting, set_aside, checkpoints TO kazoe_runtime;
GRANT UPDATE (result) ON accepted TO kazoe_runtime;

-- The runtime role defines nothing, not even for a while.
DO $$
BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END
$$;
