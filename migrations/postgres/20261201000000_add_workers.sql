-- Who may do what, and the workers that joined. Life cycles as in the first migration:
--   written once and never changed:   what credentials and workers are
--   the state now:                    when a worker was last heard, what it told of itself; who may no more
-- What a worker did is not kept here: it is derived from results, accepted and disputes.

CREATE TABLE credentials (
    id text NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
    owner text NOT NULL CHECK (length(owner) BETWEEN 1 AND 200),
    role text NOT NULL CHECK (role IN ('viewer', 'worker', 'operator')),
    hash bytea NOT NULL CHECK (length(hash) = 32), -- BLAKE3 of the secret, which stands nowhere
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    revoked_at bigint
);

CREATE TABLE workers (
    id text NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
    owner text NOT NULL,
    credential text REFERENCES credentials (id), -- NULL where the coordinator asks for none
    operator boolean NOT NULL,
    build text NOT NULL,
    joined_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    threads bigint CHECK (threads >= 1),     -- NULL until its first claim
    speed bigint CHECK (speed >= 1),         -- samples a second; NULL until it measured
    drained_at bigint
);
CREATE INDEX workers_by_credential ON workers (credential);

-- What was lost of a segment, and whether it was brought back since.
CREATE INDEX loans_lost ON loans (campaign, segment) WHERE closing IN ('expired', 'forfeited');
CREATE INDEX audit_log_by_segment ON audit_log (campaign, segment);

-- What each worker's and owner's tallies became.
CREATE INDEX results_by_worker ON results (worker);

-- Which share of a campaign's segments is computed twice, in millionths, and the salt of the hash that
-- chooses them, which nobody outside can know.
ALTER TABLE campaigns ADD COLUMN audit_millionths bigint NOT NULL DEFAULT 10000
    CHECK (audit_millionths BETWEEN 0 AND 1000000);
ALTER TABLE campaigns ADD COLUMN salt bytea NOT NULL DEFAULT uuid_send(gen_random_uuid())
    CHECK (length(salt) = 16);

-- Accepted segments that another owner is to compute as well, and has not yet.
CREATE TABLE audits_due (
    campaign text NOT NULL REFERENCES campaigns (id),
    segment bigint NOT NULL CHECK (segment >= 0),
    PRIMARY KEY (campaign, segment)
);
GRANT SELECT, INSERT, DELETE ON audits_due TO kazoe_runtime;

GRANT SELECT, INSERT ON credentials, workers TO kazoe_runtime;
GRANT UPDATE (revoked_at) ON credentials TO kazoe_runtime;
GRANT UPDATE (seen_at, threads, speed, drained_at) ON workers TO kazoe_runtime;

CREATE TRIGGER credentials_stay BEFORE DELETE OR TRUNCATE ON credentials
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('no row is ever deleted');
CREATE TRIGGER credentials_revoked BEFORE UPDATE ON credentials
    FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL) EXECUTE FUNCTION refuse('a revoked credential never changes');
CREATE TRIGGER workers_stay BEFORE DELETE OR TRUNCATE ON workers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('no row is ever deleted');
