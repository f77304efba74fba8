//! What a crowd of simulated workers reports: one JSON document a line, each with what is new.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::latency::{Call, Latencies};

/// What a crowd, or several, did.
#[derive(Clone, Debug)]
pub(crate) struct CrowdReport {
    /// Workers that have joined and not left.
    pub(crate) joined: u64,
    /// Workers that had an answer in the present epoch.
    pub(crate) heard: u64,
    /// The epoch.
    pub(crate) epoch: u64,
    /// Leases that were got.
    pub(crate) leases: u64,
    /// How often there was nothing to lend.
    pub(crate) later: u64,
    /// How long calls took that were answered, in the order of [`Call::ALL`].
    pub(crate) calls: Vec<Latencies>,
    /// Calls that failed and were made again, by the code that they failed with.
    pub(crate) failed: BTreeMap<String, u64>,
    /// Tallies that were acknowledged: the number half of the lease's token, and the segment.
    pub(crate) acknowledged: Vec<(i64, u64)>,
    /// What was refused and would be refused again.
    pub(crate) refused: Vec<String>,
}

impl CrowdReport {
    pub(crate) fn new() -> Self {
        CrowdReport {
            joined: 0,
            heard: 0,
            epoch: 0,
            leases: 0,
            later: 0,
            calls: Call::ALL.map(|_| Latencies::new()).into(),
            failed: BTreeMap::new(),
            acknowledged: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// As a line. Workers and epoch are those of now, all else is what is new since the last line.
    pub(crate) fn line(&self) -> String {
        let calls: Vec<_> = self.calls.iter().map(Latencies::entries).collect();
        json!({
            "joined": self.joined,
            "heard": self.heard,
            "epoch": self.epoch,
            "leases": self.leases,
            "later": self.later,
            "calls": calls,
            "failed": self.failed,
            "acknowledged": self.acknowledged,
            "refused": self.refused,
        })
        .to_string()
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let mut told = CrowdReport::new();
        told.joined = number(&value["joined"])?;
        told.heard = number(&value["heard"])?;
        told.epoch = number(&value["epoch"])?;
        told.leases = number(&value["leases"])?;
        told.later = number(&value["later"])?;
        for (latencies, entries) in told.calls.iter_mut().zip(list(&value["calls"])?) {
            for entry in list(entries)? {
                latencies.put(number(&entry[0])?, number(&entry[1])?);
            }
        }
        let failed = value["failed"].as_object().ok_or("no failures")?;
        for (code, times) in failed {
            told.failed.insert(code.clone(), number(times)?);
        }
        for one in list(&value["acknowledged"])? {
            let lease = one[0].as_i64().ok_or("a lease without a number")?;
            told.acknowledged.push((lease, number(&one[1])?));
        }
        for why in list(&value["refused"])? {
            told.refused.extend(why.as_str().map(str::to_owned));
        }
        Ok(told)
    }

    /// Adds what is new, of a crowd or of all; workers and epoch are not added.
    pub(crate) fn add(&mut self, new: &CrowdReport) {
        self.leases += new.leases;
        self.later += new.later;
        for (all, latencies) in self.calls.iter_mut().zip(&new.calls) {
            for (micros, calls) in latencies.entries() {
                all.put(micros, calls);
            }
        }
        for (code, times) in &new.failed {
            *self.failed.entry(code.clone()).or_default() += times;
        }
        self.acknowledged.extend_from_slice(&new.acknowledged);
        self.refused.extend_from_slice(&new.refused);
    }
}

fn number(value: &Value) -> Result<u64, String> {
    value
        .as_u64()
        .ok_or_else(|| format!("`{value}` is no count"))
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value
        .as_array()
        .ok_or_else(|| format!("`{value}` is no list"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_says_all_of_it() {
        let mut told = CrowdReport::new();
        told.joined = 7;
        told.heard = 6;
        told.epoch = 2;
        told.leases = 5;
        told.later = 1;
        told.calls[2].add(Duration::from_millis(4));
        told.failed.insert("unavailable".to_owned(), 3);
        told.acknowledged = vec![(9, 100), (10, 101)];
        told.refused.push("no".to_owned());
        let read = CrowdReport::read(&told.line()).unwrap();
        assert_eq!(read.line(), told.line());
        let mut all = CrowdReport::new();
        all.add(&read);
        all.add(&read);
        assert_eq!((all.leases, all.failed["unavailable"]), (10, 6));
        assert_eq!(all.calls[2].calls(), 2);
        assert_eq!(all.acknowledged.len(), 4);
        assert_eq!(all.joined, 0);
        assert!(CrowdReport::read("{}").is_err());
    }
}
