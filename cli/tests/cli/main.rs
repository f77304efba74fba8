//! Everything that a shell can see of `kazoe`: what it prints where, and how it exits.

mod support;

mod bad_input;
mod bad_stores;
mod bench;
mod completions;
mod database_files;
mod explain;
mod foreign;
mod handed_out;
mod help;
mod known_cases;
mod ledgers;
mod older;
mod output_files;
mod parts;
mod pasted;
mod plain_words;
mod published;
mod readers;
mod report;
mod rlimits;
mod runs;
mod settings;
mod signals;
mod streams;
mod terminal;
mod workers;
