//! May the processes of one node share memory? Tried with two processes, neither of which is the parent of the other: as ranks are.

use std::env;
use std::ffi::CStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::Finding;
use super::command::output;
use mel_log::number::size;
use mel_log::offers::Reached;
use mel_log::settings::PROGRESS;

use crate::cli::probe::{MARK, answers};

const SHARED: &str = "shared memory";
const READ: &str = "memory of others";
const SHM: &str = "/dev/shm";

/// Below this, ranks by the dozen do not fit. Docker gives 64 MiB.
const LITTLE: u64 = 128 << 20;

pub(super) fn examine() -> Vec<Finding> {
    let tried = try_two_processes();
    let mut findings = Vec::new();
    match &tried {
        Ok(Reached { why_not_shared: None, .. }) => {
            findings.push(Finding::ok(SHARED, "processes share memory without a name (memfd)"));
        }
        Ok(Reached { why_not_shared: Some(why), .. }) | Err(why) => findings.push(Finding::less(
            SHARED,
            format!("processes cannot share memory: {why}"),
            format!("envelopes go in messages, which costs more; {PROGRESS} does nothing"),
            in_container("allow /proc/PID/fd between processes of one user, and memfd_create"),
        )),
    }
    if let Ok(Reached { may_be_read, .. }) = tried {
        findings.push(reading(
            may_be_read,
            fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok().as_deref(),
        ));
    }
    findings.push(shm(sizes(c"/dev/shm")));
    findings
}

/// A process that is ended with us.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        // It waits for the end of its input. Where that fails, it is gone already.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn try_two_processes() -> Result<Reached, String> {
    let command = env::current_exe().map_err(|error| error.to_string())?;
    let child = Command::new(&command)
        .args(["probe", "hold"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut holder = Holder(child.map_err(|error| error.to_string())?);
    let printed = holder.0.stdout.take().ok_or("no output")?;
    let place = BufReader::new(printed)
        .lines()
        .map_while(Result::ok)
        .find_map(|line| serde_json::from_str::<Vec<i32>>(line.strip_prefix(MARK)?).ok())
        .ok_or("the system has no memfd_create (Linux before 3.17, or a filter of system calls)")?;
    let place: Vec<String> = place.iter().map(i32::to_string).collect();
    let arguments: Vec<&str> =
        ["probe", "reach"].into_iter().chain(place.iter().map(String::as_str)).collect();
    let ended = output(command, &arguments, 20).ok_or("a second process does not start")?;
    let reached = answers(&ended.out).next().and_then(|answer| serde_json::from_str(answer).ok());
    reached.ok_or_else(|| ended.last_words().to_owned())
}

/// Whether a process may read the memory of another one of the same user (`process_vm_readv`), and which rule says so.
fn reading(allowed: bool, ptrace_scope: Option<&str>) -> Finding {
    let scope = ptrace_scope.map_or("no Yama".to_owned(), |scope| format!("ptrace_scope {}", scope.trim()));
    if allowed {
        return Finding::ok(READ, format!("may be read (process_vm_readv; {scope})"));
    }
    let by_yama = ptrace_scope.is_some_and(|scope| scope.trim() != "0");
    Finding::less(
        READ,
        format!("may not be read (process_vm_readv; {scope})"),
        "Open MPI copies long messages in pieces, with or without MEL; the model follows it in that",
        if by_yama {
            "sysctl kernel.yama.ptrace_scope=0, as root".to_owned()
        } else {
            in_container("allow process_vm_readv")
        },
    )
}

/// Bytes in all and bytes free where MPIs have their shared memory.
fn sizes(path: &CStr) -> Option<(u64, u64)> {
    // SAFETY: a structure of numbers, for which zeros are valid.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, and a structure that is written to.
    let code = unsafe { libc::statvfs(path.as_ptr(), &raw mut found) };
    (code == 0).then_some((found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize))
}

fn shm(sizes: Option<(u64, u64)>) -> Finding {
    let means = "MEL does without; an MPI may stop, or die of a bus error, when its ranks fill it";
    let remedy = "mount a larger one: docker run --shm-size=1g, podman the same; --ipc=host gives the memory of the host";
    match sizes {
        None => Finding::less(SHM, "is not there", means, remedy),
        Some((all, free)) => {
            let found = format!("{} of {} free", size(free as f64), size(all as f64));
            if free < LITTLE { Finding::less(SHM, found, means, remedy) } else { Finding::ok(SHM, found) }
        }
    }
}

/// A remedy where a container's filter of system calls is the most probable reason.
fn in_container(otherwise: &str) -> String {
    format!(
        "{otherwise}; in a container: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined (docs/containers.md)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn little_shared_memory_is_less() {
        assert_eq!(shm(Some((64 << 20, 64 << 20))).level, Level::Less);
        assert_eq!(shm(None).level, Level::Less);
        let finding = shm(Some((4 << 30, 2 << 30)));
        assert_eq!((finding.level, finding.found.as_str()), (Level::Ok, "2.00 GiB of 4.00 GiB free"));
    }

    #[test]
    fn the_remedy_names_the_rule_that_forbids() {
        assert_eq!(reading(true, Some("0\n")).level, Level::Ok);
        let finding = reading(false, Some("1\n"));
        assert!(
            finding.found.contains("ptrace_scope 1") && finding.remedy.starts_with("sysctl"),
            "{finding:?}"
        );
        let finding = reading(false, None);
        assert!(finding.remedy.contains("--cap-add=SYS_PTRACE"), "{finding:?}");
    }

    #[test]
    fn the_sizes_of_a_file_system_are_bytes() {
        let (all, free) = sizes(c"/").unwrap();
        assert!(all >= free && all > 1 << 20, "{all} {free}");
        assert_eq!(sizes(c"/no/such/place"), None);
    }
}
