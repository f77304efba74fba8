//! On which machines a campaign was computed, as far as a coordinator knows.

use kazoe_common::estimate::numerals::{grouped, percent};
use kazoe_coordinator::ledger::WorkerShare;
use serde_json::{Value, json};

use super::tables::Table;

/// The most rows of the table.
const ROWS: usize = 20;

/// Significant digits of a share.
const DIGITS: usize = 3;

/// The workers that have accepted segments, the most first, and how many more there are than are listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machines {
    pub(crate) workers: Vec<WorkerShare>,
    pub(crate) left_out: u64,
}

impl Machines {
    /// Returns the table of a campaign with this number of accepted segments; `None` where one worker computed all.
    pub(super) fn table(&self, segments: u64) -> Option<Table> {
        if self.workers.len() < 2 {
            return None;
        }
        let rows = self.workers.iter().take(ROWS).map(|one| {
            vec![
                match &one.name {
                    Some(name) => format!("{} {name}", one.worker),
                    None => one.worker.clone(),
                },
                grouped(one.segments),
                percent(one.segments, segments.max(one.segments), DIGITS),
            ]
        });
        let rows: Vec<_> = rows.collect();
        let more = self.left_out + (self.workers.len() - rows.len()) as u64;
        let notes = if more == 0 {
            Vec::new()
        } else {
            vec![format!("{} more with fewer segments each.", grouped(more))]
        };
        Some(Table {
            head: ["worker", "segments", "share"].map(str::to_owned).to_vec(),
            rows,
            notes,
        })
    }

    pub(super) fn documents(&self) -> Vec<Value> {
        let workers = self.workers.iter().map(|one| {
            json!({
                "worker": one.worker,
                "name": one.name,
                "owner": one.owner,
                "segments": one.segments,
            })
        });
        workers.collect()
    }
}
