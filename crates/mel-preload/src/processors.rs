//! The processors that this process may use, and how long its thread had none: read at `MPI_Init*` and at `MPI_Finalize`, a microsecond each
//! time.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use mel_log::profile::Resources;
use mel_log::{Definition, Members};

/// What the calling thread may use: the processors of its mask, and the quota of its control group.
pub(crate) fn allowed() -> Definition {
    // SAFETY: it reads a number of the system.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    let online = u32::try_from(online).unwrap_or(0);
    Definition::Processors { allowed: Members::from_ranks(of_mask()), quota: quota(), online }
}

/// How long the calling thread has used a processor, and could have and had none; nothing where the system does not say.
pub(crate) fn scheduled() -> Option<Definition> {
    let (used_nanos, waited_nanos) = used_and_waited()?;
    Some(Definition::Scheduled { used_nanos, waited_nanos })
}

/// What the system has counted of this process until now, some microseconds; what it does not say is 0.
pub(crate) fn resources() -> Definition {
    // SAFETY: numbers, of which every pattern is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it writes into `usage`.
    let read = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let mut counted = Resources::default();
    if read == 0 {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        (counted.user_s, counted.system_s) = (seconds(usage.ru_utime), seconds(usage.ru_stime));
        counted.disk_faults = u64::try_from(usage.ru_majflt).unwrap_or(0);
        counted.page_faults = u64::try_from(usage.ru_minflt).unwrap_or(0).saturating_add(counted.disk_faults);
    }
    let number = |text: &str, name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim_start_matches(':').trim().parse::<u64>().ok())
    };
    if let Ok(text) = std::fs::read_to_string("/proc/self/io") {
        counted.read_bytes = number(&text, "rchar").unwrap_or(0);
        counted.written_bytes = number(&text, "wchar").unwrap_or(0);
    }
    let stopped = group().and_then(|group| std::fs::read_to_string(group.join("cpu.stat")).ok());
    counted.throttled_s = stopped.and_then(|text| number(&text, "throttled_usec")).unwrap_or(0) as f64 * 1e-6;
    Definition::Resources { counted }
}

/// For how many nanoseconds the calling thread has not slept: it has used a processor, or has waited for one. Takes about two
/// microseconds, and no memory.
pub(crate) fn awake_nanos() -> u64 {
    used_and_waited().map_or_else(used_nanos, |(used, waited)| used.saturating_add(waited))
}

/// The nanoseconds of the calling thread on a processor, and of those in which it waited for one. What `schedstat` says of the first is
/// as old as the last tick of the kernel, some milliseconds.
fn used_and_waited() -> Option<(u64, u64)> {
    let mut text = [0; 64];
    let length = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    let mut numbers = std::str::from_utf8(&text[..length]).ok()?.split_whitespace().map(str::parse);
    let (Some(Ok(used)), Some(Ok(waited))) = (numbers.next(), numbers.next()) else { return None };
    Some((used_nanos().max(used), waited))
}

/// What the calling thread has used of a processor, in nanoseconds; 0 where that is not known.
fn used_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes into `time`.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if read == 0 { time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 } else { 0 }
}

fn of_mask() -> Vec<i32> {
    // SAFETY: a set of bits, of which every pattern is valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: it writes at most as many bytes as it is told.
    let read = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    let all = if read == 0 { 0..libc::CPU_SETSIZE } else { 0..0 };
    // SAFETY: the number is below that of the bits.
    all.filter(|&number| unsafe { libc::CPU_ISSET(number as usize, &set) }).collect()
}

/// Where the system shows control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// The control group of this process.
fn group() -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(GROUPS).join(own))
}

/// The least quota of the control group and those that it lies in, in processors; nothing without one.
fn quota() -> Option<f64> {
    let path = group()?;
    let groups = path.ancestors().take_while(|path| path.starts_with(GROUPS));
    let quotas = groups.filter_map(|group| of_text(&std::fs::read_to_string(group.join("cpu.max")).ok()?));
    quotas.reduce(f64::min)
}

/// The quota in a file `cpu.max`: microseconds in each period, or `max`, and the period.
fn of_text(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (Some(Ok(quota)), Some(Ok(period))) = (numbers.next(), numbers.next()) else { return None };
    (period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_number_of_processors() {
        assert_eq!(of_text("150000 100000\n"), Some(1.5));
        assert_eq!([of_text("max 100000\n"), of_text("1 0"), of_text("")], [None; 3]);
    }

    #[test]
    fn who_sleeps_is_not_awake() {
        let before = awake_nanos();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let asleep = awake_nanos() - before;
        let began = std::time::Instant::now();
        while began.elapsed().as_millis() < 100 {}
        let awake = awake_nanos() - before - asleep;
        assert!(asleep < 50_000_000 && awake > 90_000_000, "{asleep} {awake}");
    }

    #[test]
    fn this_thread_may_use_some_processor() {
        let Definition::Processors { allowed, .. } = allowed() else { panic!() };
        assert!(!allowed.is_empty());
    }
}
