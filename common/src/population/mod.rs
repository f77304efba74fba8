//! Populations: finite sets of candidate positions with an exact size and a bijection rank <-> position.
