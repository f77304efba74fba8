-- A ledger as the first release wrote it: sqlite3 kazoe.db .dump, and the application's number.
PRAGMA application_id = 1262574159;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
                 version INTEGER PRIMARY KEY,
                 name TEXT NOT NULL,
                 applied_at INTEGER NOT NULL
             ) STRICT;
INSERT INTO schema_migrations VALUES(20261130000000,'create_ledger',1796010111987);
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
INSERT INTO campaigns VALUES('e71af4d49f','kazoe-campaign/1 variant=minishogi population=candidates design=plain seed=1 cap=none','minishogi','candidates','plain','1',NULL,32768,1,'running',0,4,9,'test 1',1796010112036);
CREATE TABLE self_tests (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    block INTEGER NOT NULL CHECK (block >= 0),
    tally TEXT NOT NULL,             -- cells, depths and digest as in a ledger file
    PRIMARY KEY (campaign, block)
) STRICT, WITHOUT ROWID;
INSERT INTO self_tests VALUES('e71af4d49f',0,'1:3687,4:409	0:407,3:2	38516aa8f69437ac595597489232a945');
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
INSERT INTO leases VALUES(1,X'a7b3f4265e773a39','e71af4d49f','a','a-1',0,'test 1',1796010112059,1796010172059,NULL,NULL);
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
INSERT INTO loans VALUES(1,0,'e71af4d49f','fill',1796010112062,'delivered');
INSERT INTO loans VALUES(1,1,'e71af4d49f','fill',1796010112062,'delivered');
INSERT INTO loans VALUES(1,2,'e71af4d49f','fill',NULL,NULL);
INSERT INTO loans VALUES(1,3,'e71af4d49f','fill',1796010112072,'superseded');
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
INSERT INTO results VALUES(1,'e71af4d49f',0,4096,X'45a9329248975559ac3794f6a86a5138',1,'a','a-1',0,'test 1',1796010112062,'accepted');
INSERT INTO results VALUES(2,'e71af4d49f',1,4096,X'f4a13b7756e45d0824251457c20596d7',1,'a','a-1',0,'test 1',1796010112062,'accepted');
INSERT INTO results VALUES(3,'e71af4d49f',0,4096,X'45a9329248975559ac3794f6a86a5138',NULL,'b','b-1',0,'test 1',1796010112064,'audit');
INSERT INTO results VALUES(4,'e71af4d49f',1,4096,X'f4a13b7756e45d0824251457c20596d7',NULL,'b','b-1',0,'test 1',1796010112064,'disputed');
INSERT INTO results VALUES(5,'e71af4d49f',5,100,X'4600ac9ec74c6419cd732294b424aba0',NULL,'b','b-1',0,'test 1',1796010112064,'accepted');
INSERT INTO results VALUES(6,'e71af4d49f',1,4096,X'f4a13b7756e45d0824251457c20596d7',NULL,'c','c-1',0,'test 1',1796010112067,'disputed');
INSERT INTO results VALUES(7,'e71af4d49f',4,4096,X'046a2117038d08e44cd8638f13b7b894',NULL,'b','b-1',0,'test 1',1796010112068,'accepted');
INSERT INTO results VALUES(8,'e71af4d49f',4,4096,X'046a2117038d08e44cd8638f13b7b894',NULL,'c','c-1',0,'test 1',1796010112069,'disputed');
CREATE TABLE result_cells (
    result INTEGER NOT NULL REFERENCES results (id),
    cell INTEGER NOT NULL CHECK (cell >= 0),
    count INTEGER NOT NULL CHECK (count >= 1),
    PRIMARY KEY (result, cell)
) STRICT, WITHOUT ROWID;
INSERT INTO result_cells VALUES(1,1,3687);
INSERT INTO result_cells VALUES(1,4,409);
INSERT INTO result_cells VALUES(2,1,3483);
INSERT INTO result_cells VALUES(2,4,409);
INSERT INTO result_cells VALUES(2,5,204);
INSERT INTO result_cells VALUES(3,1,3687);
INSERT INTO result_cells VALUES(3,4,409);
INSERT INTO result_cells VALUES(4,1,3482);
INSERT INTO result_cells VALUES(4,3,1);
INSERT INTO result_cells VALUES(4,4,409);
INSERT INTO result_cells VALUES(4,5,204);
INSERT INTO result_cells VALUES(5,1,65);
INSERT INTO result_cells VALUES(5,4,10);
INSERT INTO result_cells VALUES(5,5,25);
INSERT INTO result_cells VALUES(6,1,3483);
INSERT INTO result_cells VALUES(6,4,409);
INSERT INTO result_cells VALUES(6,5,204);
INSERT INTO result_cells VALUES(7,1,2868);
INSERT INTO result_cells VALUES(7,4,409);
INSERT INTO result_cells VALUES(7,5,819);
INSERT INTO result_cells VALUES(8,1,2867);
INSERT INTO result_cells VALUES(8,3,1);
INSERT INTO result_cells VALUES(8,4,409);
INSERT INTO result_cells VALUES(8,5,819);
CREATE TABLE result_depths (
    result INTEGER NOT NULL REFERENCES results (id),
    depth INTEGER NOT NULL CHECK (depth >= 0),
    count INTEGER NOT NULL CHECK (count >= 1),
    PRIMARY KEY (result, depth)
) STRICT, WITHOUT ROWID;
INSERT INTO result_depths VALUES(1,0,407);
INSERT INTO result_depths VALUES(1,3,2);
INSERT INTO result_depths VALUES(2,0,407);
INSERT INTO result_depths VALUES(2,3,2);
INSERT INTO result_depths VALUES(3,0,407);
INSERT INTO result_depths VALUES(3,3,2);
INSERT INTO result_depths VALUES(4,0,407);
INSERT INTO result_depths VALUES(4,3,2);
INSERT INTO result_depths VALUES(5,0,8);
INSERT INTO result_depths VALUES(5,3,2);
INSERT INTO result_depths VALUES(6,0,407);
INSERT INTO result_depths VALUES(6,3,2);
INSERT INTO result_depths VALUES(7,0,407);
INSERT INTO result_depths VALUES(7,3,2);
INSERT INTO result_depths VALUES(8,0,407);
INSERT INTO result_depths VALUES(8,3,2);
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
INSERT INTO witnesses VALUES(1,0,'path',NULL,40,60);
INSERT INTO witnesses VALUES(1,0,'unreachable',3,NULL,NULL);
INSERT INTO witnesses VALUES(2,4096,'path',NULL,41,60);
INSERT INTO witnesses VALUES(2,4096,'unreachable',3,NULL,NULL);
INSERT INTO witnesses VALUES(3,0,'path',NULL,40,60);
INSERT INTO witnesses VALUES(3,0,'unreachable',3,NULL,NULL);
INSERT INTO witnesses VALUES(4,4096,'path',NULL,41,60);
INSERT INTO witnesses VALUES(4,4096,'unreachable',3,NULL,NULL);
INSERT INTO witnesses VALUES(5,20480,'path',NULL,45,60);
INSERT INTO witnesses VALUES(5,20480,'unreachable',3,NULL,NULL);
INSERT INTO witnesses VALUES(6,4096,'path',NULL,41,60);
INSERT INTO witnesses VALUES(6,4096,'unreachable',3,NULL,NULL);
INSERT INTO witnesses VALUES(7,16384,'path',NULL,44,60);
INSERT INTO witnesses VALUES(7,16384,'unreachable',3,NULL,NULL);
INSERT INTO witnesses VALUES(8,16384,'path',NULL,44,60);
INSERT INTO witnesses VALUES(8,16384,'unreachable',3,NULL,NULL);
CREATE TABLE accepted (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL,
    result INTEGER NOT NULL,
    PRIMARY KEY (campaign, segment),
    FOREIGN KEY (result, campaign, segment) REFERENCES results (id, campaign, segment)
) STRICT, WITHOUT ROWID;
INSERT INTO accepted VALUES('e71af4d49f',0,1);
INSERT INTO accepted VALUES('e71af4d49f',1,2);
INSERT INTO accepted VALUES('e71af4d49f',4,7);
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
INSERT INTO disputes VALUES(1,'e71af4d49f',1,1796010112064,4,1796010112067,'agreed');
INSERT INTO disputes VALUES(2,'e71af4d49f',4,1796010112069,8,NULL,NULL);
CREATE TABLE waiting (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    why TEXT NOT NULL CHECK (why IN ('returned', 'retracted')),
    PRIMARY KEY (campaign, segment)
) STRICT, WITHOUT ROWID;
INSERT INTO waiting VALUES('e71af4d49f',5,'retracted');
CREATE TABLE set_aside (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    segment INTEGER NOT NULL CHECK (segment >= 0),
    why TEXT NOT NULL,
    PRIMARY KEY (campaign, segment)
) STRICT, WITHOUT ROWID;
INSERT INTO set_aside VALUES('e71af4d49f',3,'a test');
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
INSERT INTO audit_log VALUES(1,1796010112067,'e71af4d49f',1,'c','settle',2,2,'tallies of two owners agree');
INSERT INTO audit_log VALUES(2,1796010112073,'e71af4d49f',3,'op','set_aside',NULL,NULL,'a test');
INSERT INTO audit_log VALUES(3,1796010112073,'e71af4d49f',5,'test 1','recut',5,NULL,'extended from 20580 to 32768 samples: the segment has 4096 instead of 100');
CREATE TABLE checkpoints (
    campaign TEXT NOT NULL REFERENCES campaigns (id),
    prefix INTEGER NOT NULL CHECK (prefix >= 1), -- segments
    tally TEXT NOT NULL,
    set_aside_samples INTEGER NOT NULL,
    PRIMARY KEY (campaign, prefix)
) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('leases',1);
INSERT INTO sqlite_sequence VALUES('results',8);
INSERT INTO sqlite_sequence VALUES('disputes',2);
INSERT INTO sqlite_sequence VALUES('audit_log',3);
CREATE INDEX leases_live ON leases (worker) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX loans_open ON loans (campaign, purpose, segment) WHERE closed_at IS NULL;
CREATE INDEX results_by_segment ON results (campaign, segment);
CREATE INDEX results_audits ON results (campaign, segment) WHERE verdict = 'audit';
CREATE INDEX accepted_by_result ON accepted (result);
CREATE UNIQUE INDEX disputes_open ON disputes (campaign, segment) WHERE closed_at IS NULL;
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
COMMIT;
