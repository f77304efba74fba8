//! From tallies to numbers: the estimate, its intervals, and the figures of a report.
