-- Whose tally each due audit would confirm, so that claims find those that they could do, and a lone owner,
-- who can do none, looks through none.

-- Coordinators of earlier builds that still run do not tell: '' is then nobody.
ALTER TABLE audits_due ADD COLUMN owner text NOT NULL DEFAULT '';
UPDATE audits_due u SET owner = r.owner
FROM accepted a JOIN results r ON r.id = a.result
WHERE a.campaign = u.campaign AND a.segment = u.segment;
CREATE INDEX audits_due_by_owner ON audits_due (campaign, owner, segment);
