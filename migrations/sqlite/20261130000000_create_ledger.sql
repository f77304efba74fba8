-- The ledger on SQLite: every tally received, and which one is accepted for each segment.
-- Times are milliseconds since 1970 by the database's clock. Tables of three life cycles:
--   written once and never changed:   self_tests, results, result_cells, result_depths, witnesses, audit_log
--   a history whose rows are closed:  leases, loans, disputes
--   the state now:                    campaigns, accepted, waiting, set_aside; checkpoints (derived, may be dropped)

CREATE TABLE campaigns (
    id TEXT NOT NULL PRIMARY KEY,
    canonical TEXT NOT NULL UNIQUE,
    variant TEXT NOT NULL,
    population TEXT NOT NULL,
    design TEXT NOT NULL,
    seed TEXT NOT NULL,              -- decimal: unsigned 64 bits do not fit an INTEGER
    cap TEXT,                        -- decimal; NULL searches to the end
    samples INTEGER NOT NULL CHECK (samples BETWEEN 1 AND 4611686018427387904),
    segment_blocks INTEGER NOT NULL CHECK (segment_blocks BETWEEN 1 AND 1048576),
    state TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'cancelled')),
    priority INTEGER NOT NULL DEFAULT 0,
    frontier INTEGER NOT NULL DEFAULT 0 CHECK (frontier >= 0), -- no segment from here on was ever lent
    revision INTEGER NOT NULL DEFAULT 0, -- grows whenever the accepted, disputed or set aside change
    build TEXT NOT NULL,
    submitted_at INTEGER NOT NULL
) STRICT;

-- The whole tallies of a few known blocks, as the build that submitted the campaign computes them.
CREATE TABLE self_tests (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    block INTEGER NOT NULL CHECK (block >= 0),
    tally TEXT NOT NULL,             -- cells, depths and digest as in a ledger file
    PRIMARY KEY (campaign, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- the token's first half
    secret BLOB NOT NULL CHECK (length(secret) = 8), -- its random half
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    owner TEXT NOT NULL,
    worker TEXT NOT NULL,
    operator INTEGER NOT NULL CHECK (operator IN (0, 1)),
    build TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    ended_at INTEGER,
    ending TEXT CHECK (ending IN ('ended', 'expired', 'forfeited')),
    CHECK ((ended_at IS NULL) = (ending IS NULL))
) STRICT;
CREATE INDEX leases_live ON leases (worker) WHERE ended_at IS NULL;

-- Which segments a lease lends. A loan is open until its tally came or the segment was given back.
CREATE TABLE loans (
    lease INTEGER NOT NULL REFERENCES leases (sequence),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    purpose TEXT NOT NULL CHECK (purpose IN ('fill', 'resolve', 'audit')),
    closed_at INTEGER,
    closing TEXT CHECK (closing IN ('delivered', 'returned', 'expired', 'forfeited', 'superseded')),
    PRIMARY KEY (lease, segment),
    CHECK ((closed_at IS NULL) = (closing IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX loans_open ON loans (campaign, purpose, segment) WHERE closed_at IS NULL;

CREATE TABLE results (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    samples INTEGER NOT NULL CHECK (samples >= 1),
    digest BLOB NOT NULL CHECK (length(digest) = 16), -- little-endian
    lease INTEGER REFERENCES leases (sequence), -- NULL when imported
    owner TEXT NOT NULL,
    worker TEXT NOT NULL,
    operator INTEGER NOT NULL CHECK (operator IN (0, 1)),
    build TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'repeat', 'audit', 'disputed', 'stale')),
    UNIQUE (id, campaign, segment)
) STRICT;
CREATE INDEX results_by_segment ON results (campaign, segment);
CREATE INDEX results_audits ON results (campaign, segment) WHERE verdict = 'audit';

CREATE TABLE result_cells (
    result INTEGER NOT NULL REFERENCES results (id),
    cell INTEGER NOT NULL CHECK (cell >= 0),
    count INTEGER NOT NULL CHECK (count >= 1),
    PRIMARY KEY (result, cell)
) STRICT, WITHOUT ROWID;

CREATE TABLE result_depths (
    result INTEGER NOT NULL REFERENCES results (id),
    depth INTEGER NOT NULL CHECK (depth >= 0),
    count INTEGER NOT NULL CHECK (count >= 1),
    PRIMARY KEY (result, depth)
) STRICT, WITHOUT ROWID;

CREATE TABLE witnesses (
    result INTEGER NOT NULL REFERENCES results (id),
    sample INTEGER NOT NULL CHECK (sample >= 0), -- its index in the campaign
    kind TEXT NOT NULL CHECK (kind IN ('unreachable', 'path')),
    depth INTEGER,
    length INTEGER,
    expansions INTEGER,
    PRIMARY KEY (result, sample, kind),
    CHECK ((depth IS NOT NULL) = (kind = 'unreachable')),
    CHECK ((length IS NOT NULL) = (kind = 'path')),
    CHECK ((expansions IS NOT NULL) = (kind = 'path'))
) STRICT, WITHOUT ROWID;

-- A segment is counted exactly once, because a second row cannot exist.
CREATE TABLE accepted (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL,
    result INTEGER NOT NULL,
    PRIMARY KEY (campaign, segment),
    FOREIGN KEY (result, campaign, segment) REFERENCES results (id, campaign, segment)
) STRICT, WITHOUT ROWID;
CREATE INDEX accepted_by_result ON accepted (result);

CREATE TABLE disputes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    opened_at INTEGER NOT NULL,
    opened_by INTEGER NOT NULL REFERENCES results (id),
    closed_at INTEGER,
    closing TEXT CHECK (closing IN ('agreed', 'operator', 'superseded')),
    CHECK ((closed_at IS NULL) = (closing IS NULL))
) STRICT;
CREATE UNIQUE INDEX disputes_open ON disputes (campaign, segment) WHERE closed_at IS NULL;

-- Segments below the frontier that nobody holds.
CREATE TABLE waiting (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    why TEXT NOT NULL CHECK (why IN ('returned', 'retracted')),
    PRIMARY KEY (campaign, segment)
) STRICT, WITHOUT ROWID;

CREATE TABLE set_aside (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    why TEXT NOT NULL,
    PRIMARY KEY (campaign, segment)
) STRICT, WITHOUT ROWID;

-- Every move of an accepted pointer but its first setting, and whatever an operator does.
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    campaign TEXT REFERENCES campaigns (id),
    segment INTEGER,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    from_result INTEGER REFERENCES results (id),
    to_result INTEGER REFERENCES results (id),
    note TEXT NOT NULL
) STRICT;

-- Sums of closed prefixes, derived from the rows above; dropped when a segment inside changes.
CREATE TABLE checkpoints (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    prefix INTEGER NOT NULL CHECK (prefix >= 1), -- segments
    tally TEXT NOT NULL,
    set_aside_samples INTEGER NOT NULL,
    PRIMARY KEY (campaign, prefix)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER self_tests_keep BEFORE UPDATE ON self_tests
BEGIN SELECT RAISE(ABORT, 'self_tests is append-only'); END;
CREATE TRIGGER self_tests_stay BEFORE DELETE ON self_tests
BEGIN SELECT RAISE(ABORT, 'self_tests is append-only'); END;
CREATE TRIGGER results_keep BEFORE UPDATE ON results
BEGIN SELECT RAISE(ABORT, 'results is append-only'); END;
CREATE TRIGGER results_stay BEFORE DELETE ON results
BEGIN SELECT RAISE(ABORT, 'results is append-only'); END;
CREATE TRIGGER result_cells_keep BEFORE UPDATE ON result_cells
BEGIN SELECT RAISE(ABORT, 'result_cells is append-only'); END;
CREATE TRIGGER result_cells_stay BEFORE DELETE ON result_cells
BEGIN SELECT RAISE(ABORT, 'result_cells is append-only'); END;
CREATE TRIGGER result_depths_keep BEFORE UPDATE ON result_depths
BEGIN SELECT RAISE(ABORT, 'result_depths is append-only'); END;
CREATE TRIGGER result_depths_stay BEFORE DELETE ON result_depths
BEGIN SELECT RAISE(ABORT, 'result_depths is append-only'); END;
CREATE TRIGGER witnesses_keep BEFORE UPDATE ON witnesses
BEGIN SELECT RAISE(ABORT, 'witnesses is append-only'); END;
CREATE TRIGGER witnesses_stay BEFORE DELETE ON witnesses
BEGIN SELECT RAISE(ABORT, 'witnesses is append-only'); END;
CREATE TRIGGER audit_log_keep BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
CREATE TRIGGER audit_log_stay BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
CREATE TRIGGER leases_stay BEFORE DELETE ON leases
BEGIN SELECT RAISE(ABORT, 'no lease is ever deleted'); END;
CREATE TRIGGER leases_closed BEFORE UPDATE ON leases WHEN OLD.ended_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'an ended lease never changes'); END;
CREATE TRIGGER loans_stay BEFORE DELETE ON loans
BEGIN SELECT RAISE(ABORT, 'no loan is ever deleted'); END;
CREATE TRIGGER loans_closed BEFORE UPDATE ON loans WHEN OLD.closed_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a closed loan never changes'); END;
CREATE TRIGGER disputes_stay BEFORE DELETE ON disputes
BEGIN SELECT RAISE(ABORT, 'no dispute is ever deleted'); END;
