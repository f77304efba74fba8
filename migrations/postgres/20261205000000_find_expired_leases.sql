-- Which leases ran out of late: the log tells of each, also of one whose segments were lent again at once.
CREATE INDEX leases_expired ON leases (ended_at) WHERE ending = 'expired';
