-- How much CPU time counting a segment took, in microseconds, by the word of whoever counted it; NULL where
-- nobody said it. It enters no tally and decides nothing.
ALTER TABLE results ADD COLUMN cpu_us INTEGER CHECK (cpu_us >= 0);
