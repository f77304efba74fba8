//! What processes use, as the kernel tells in `/proc`.

use std::fs;
use std::time::Duration;

/// Ticks a second in which the kernel counts processor time, on every system that Linux runs on today.
const TICKS: u64 = 100;

/// What a process, or several, use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Consumption {
    /// Bytes of memory; of what is shared with others, its share.
    pub(crate) memory: u64,
    /// Processor time since they began.
    pub(crate) time: Duration,
}

/// What a process uses; nothing where the system does not tell.
pub(crate) fn of_process(pid: u32) -> Option<Consumption> {
    let memory = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let time = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(Consumption {
        memory: proportional_size(&memory)?,
        time: processor_time(&time)?,
    })
}

/// What a process and those that it started use together.
pub(crate) fn of_family(pid: u32) -> Option<Consumption> {
    let mut all = of_process(pid)?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    for one in children.filter_map(of_process) {
        all.memory += one.memory;
        all.time += one.time;
    }
    Some(all)
}

fn proportional_size(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Fields 14 and 15, counted behind the name, which may hold anything but ends with the last parenthesis.
fn processor_time(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()? + ticks()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let rollup = "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:  9000 kB\nPss:   1234 kB\n";
        assert_eq!(proportional_size(rollup), Some(1234 * 1024));
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 100 1000 200";
        assert_eq!(processor_time(stat), Some(Duration::from_secs(3)));
        assert_eq!(processor_time(""), None);
    }
}
