//! In SQL, for either database: whether a tally of the log differs from the one that counts for its segment.

/// The tally `r` and the accepted one of the same samples are compared whole. As the keys of one are distinct and
/// the counts of both have the same sum, it is enough to look for an entry of one that the other lacks.
macro_rules! disagrees {
    () => {
        "EXISTS (SELECT 1 FROM accepted b JOIN results t ON t.id = b.result
                 WHERE b.campaign = r.campaign AND b.segment = r.segment
                   AND t.samples = r.samples
                   AND (t.digest <> r.digest
                        OR EXISTS (SELECT cell, count FROM result_cells WHERE result = r.id
                                   EXCEPT
                                   SELECT cell, count FROM result_cells WHERE result = t.id)
                        OR EXISTS (SELECT depth, count FROM result_depths WHERE result = r.id
                                   EXCEPT
                                   SELECT depth, count FROM result_depths WHERE result = t.id)))"
    };
}

pub(super) use disagrees;
