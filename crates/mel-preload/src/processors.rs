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
    let quota = Group::of_this_process().and_then(|group| group.tightest()).map(|(_, quota)| quota);
    Definition::Processors { allowed: Members::from_ranks(of_mask()), quota, online }
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
    if let Some(group) = Group::of_this_process()
        && let path = group.tightest().map_or_else(|| group.path.clone(), |(path, _)| path)
        && let Ok(text) = std::fs::read_to_string(path.join("cpu.stat"))
    {
        let (name, part) = if group.is_old { ("throttled_time", 1e-9) } else { ("throttled_usec", 1e-6) };
        counted.throttled_s = number(&text, name).unwrap_or(0) as f64 * part;
    }
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

/// A control group that shares out processors.
#[derive(Debug, PartialEq)]
struct Group {
    path: PathBuf,
    /// Where all groups are that it may lie in.
    root: PathBuf,
    /// It is one of the first version of control groups.
    is_old: bool,
}

impl Group {
    fn of_this_process() -> Option<Group> {
        Group::of_text(&std::fs::read_to_string("/proc/self/cgroup").ok()?, |path| path.is_dir())
    }

    /// That of a process, from its file `cgroup`; `is_there` says whether a directory is. The first version has a hierarchy for processors,
    /// where anybody has mounted it.
    fn of_text(text: &str, is_there: impl Fn(&Path) -> bool) -> Option<Group> {
        let of_line = |line: &str| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            Some((controllers.to_owned(), path.trim_start_matches('/').to_owned()))
        };
        let lines: Vec<(String, String)> = text.lines().filter_map(of_line).collect();
        let old = lines.iter().filter(|(controllers, _)| controllers.split(',').any(|one| one == "cpu"));
        // The folder may have another order of the controllers than the file, and then a link of each one's name.
        let old = old.flat_map(|(controllers, path)| {
            [controllers.as_str(), "cpu"].map(|name| (Path::new(GROUPS).join(name), path, true))
        });
        let new = lines.iter().filter(|(controllers, _)| controllers.is_empty());
        let new = new.map(|(_, path)| (PathBuf::from(GROUPS), path, false));
        let mut there = old.chain(new).filter(|(root, ..)| is_there(root));
        there.next().map(|(root, path, is_old)| Group { path: root.join(path), root, is_old })
    }

    /// The group with the least quota of this one and those that it lies in, and the quota, in processors; nothing without one.
    fn tightest(&self) -> Option<(PathBuf, f64)> {
        let read = |group: &Path, name: &str| std::fs::read_to_string(group.join(name)).ok();
        let of = |group: &Path| match self.is_old {
            true => {
                let period = read(group, "cpu.cfs_period_us")?;
                quota_of(&format!("{} {period}", read(group, "cpu.cfs_quota_us")?))
            }
            false => quota_of(&read(group, "cpu.max")?),
        };
        let groups = self.path.ancestors().take_while(|path| path.starts_with(&self.root));
        let quotas = groups.filter_map(|group| Some((group.to_owned(), of(group)?)));
        quotas.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Processors, from microseconds in each period, or `max`, or -1, and the period.
fn quota_of(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (Some(Ok(quota)), Some(Ok(period))) = (numbers.next(), numbers.next()) else { return None };
    (period > 0.0 && quota > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_number_of_processors() {
        assert_eq!(quota_of("150000 100000\n"), Some(1.5));
        assert_eq!(
            [quota_of("max 100000\n"), quota_of("-1\n 100000"), quota_of("1 0"), quota_of("")],
            [None; 4]
        );
    }

    #[test]
    fn the_control_group_is_that_of_the_hierarchy_for_processors() {
        let old = "5:cpuset:/x\n4:cpu,cpuacct:/slurm/job_1\n0::/user\n";
        let group = |text, there: &[&str]| {
            let group = Group::of_text(text, |path| there.iter().any(|one| path == Path::new(one)))?;
            Some((group.path.display().to_string(), group.is_old))
        };
        let both = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu,cpuacct"];
        assert_eq!(group(old, &both), Some(("/sys/fs/cgroup/cpu,cpuacct/slurm/job_1".into(), true)));
        assert_eq!(group(old, &both[..1]), Some(("/sys/fs/cgroup/user".into(), false)));
        assert_eq!(group("0::/\n", &both), Some(("/sys/fs/cgroup/".into(), false)));
        let other_order = "4:cpuacct,cpu:/x\n";
        assert_eq!(group(other_order, &["/sys/fs/cgroup/cpu"]), Some(("/sys/fs/cgroup/cpu/x".into(), true)));
        assert_eq!([group("", &both), group("3:cpuset:/", &both)], [None, None]);
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
