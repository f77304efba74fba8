//! Ranks and sizes, through the public interface.

mod published;
mod tiny;
