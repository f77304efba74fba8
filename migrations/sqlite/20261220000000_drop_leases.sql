-- One process counts on one machine: it needs no leases, disputes, priorities and segments set aside, which are the
-- cluster's. The log keeps every tally that was ever received. The program applies this with foreign keys off.
-- Tables of two life cycles remain:
--   written once and never changed:   self_tests, results, result_cells, result_depths, witnesses, audit_log
--   the state now:                    campaigns, accepted; checkpoints (derived, may be dropped)

-- A segment whose tallies differ is counted again.
DELETE FROM accepted WHERE EXISTS (
    SELECT 1 FROM disputes d
    WHERE d.campaign = accepted.campaign AND d.segment = accepted.segment AND d.closed_at IS NULL);

CREATE TABLE results_without_leases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    samples INTEGER NOT NULL CHECK (samples >= 1),
    digest BLOB NOT NULL CHECK (length(digest) = 16), -- little-endian
    owner TEXT NOT NULL,
    worker TEXT NOT NULL,
    build TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'repeat', 'audit', 'disputed', 'stale')),
    cpu_us INTEGER CHECK (cpu_us >= 0), -- CPU time of the count in microseconds; NULL where it is unknown
    UNIQUE (id, campaign, segment)
) STRICT;
INSERT INTO results_without_leases
SELECT id, campaign, segment, samples, digest, owner, worker, build, received_at, verdict, cpu_us FROM results;
DROP TABLE results;
ALTER TABLE results_without_leases RENAME TO results;
CREATE INDEX results_by_segment ON results (campaign, segment);
CREATE INDEX results_audits ON results (campaign, segment) WHERE verdict = 'audit';
CREATE TRIGGER results_keep BEFORE UPDATE ON results
BEGIN SELECT RAISE(ABORT, 'results is append-only'); END;
CREATE TRIGGER results_stay BEFORE DELETE ON results
BEGIN SELECT RAISE(ABORT, 'results is append-only'); END;

DROP TABLE loans;
DROP TABLE leases;
DROP TABLE disputes;
DROP TABLE waiting;
DROP TABLE set_aside;
ALTER TABLE campaigns DROP COLUMN frontier;
ALTER TABLE campaigns DROP COLUMN state;
ALTER TABLE campaigns DROP COLUMN priority;
UPDATE campaigns SET revision = revision + 1;

-- A sum may contain a segment that was disputed or set aside.
DROP TABLE checkpoints;
CREATE TABLE checkpoints (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    prefix INTEGER NOT NULL CHECK (prefix >= 1), -- segments
    tally TEXT NOT NULL,
    PRIMARY KEY (campaign, prefix)
) STRICT, WITHOUT ROWID;
