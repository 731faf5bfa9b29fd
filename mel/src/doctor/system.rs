//! The clock, traces, where a run's directory is made, containers, and settings that are there already.

use std::env;
use std::io;
use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use code_samples::Sampler;
use code_samples::counters::KernelCounters;
use mel_log::settings;

use super::Finding;
use super::command::output;
use crate::cli::probe;

/// How long the system may take to find its own name.
const RESOLVED_WITHIN: Duration = Duration::from_secs(3);

pub(super) fn examine() -> Vec<Finding> {
    // Without the library there is another finding.
    let is_tsc = probe::one(&["clock".as_ref()]).ok();
    let mut findings: Vec<Finding> = is_tsc.map(clock).into_iter().collect();
    findings.push(counters(KernelCounters::of_this_thread().map(|counters| counters.names())));
    findings.push(stacks(Sampler::of_this_thread(1).map(|_| ())));
    findings.push(otf2());
    findings.extend(host_name());
    findings.push(directory(Path::new(".")));
    findings.extend(container());
    findings.extend(settings());
    findings
}

fn clock(is_tsc: bool) -> Finding {
    match is_tsc {
        true => Finding::ok("clock", "the processor's time stamp counter, which is invariant"),
        false => Finding::less(
            "clock",
            "CLOCK_MONOTONIC: the kernel does not use the processor's time stamp counter as its clock",
            "a time costs 20 to 30 ns instead of 5 to 10",
            "where the processor has an invariant counter: boot with clocksource=tsc tsc=reliable; in a virtual machine \
             it is the host that decides",
        ),
    }
}

/// What the processor counts, which was tried.
fn counters(tried: io::Result<Vec<&'static str>>) -> Finding {
    let error = match tried {
        Ok(names) => return Finding::ok("counters", format!("the processor counts {}", names.join(", "))),
        Err(error) => error,
    };
    let (found, remedy) = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::ENOSYS) => (
            format!("the kernel does not let programs read the processor's counters: {error}"),
            "set /proc/sys/kernel/perf_event_paranoid to 2 or less; in a container, let it call perf_event_open",
        ),
        _ => (
            format!("the processor shows no counters: {error}"),
            "in a virtual machine it is the host that decides whether there are any",
        ),
    };
    let means = "the verdict does not say whether a rank that computes longer has more instructions, or a slower pace";
    Finding::less("counters", found, means, remedy)
}

/// Whether the kernel samples the stacks of a thread, which was tried.
fn stacks(tried: io::Result<()>) -> Finding {
    match tried {
        Ok(()) => Finding::ok("stacks", "the kernel samples those of programs"),
        Err(error) => Finding::less(
            "stacks",
            format!("the kernel does not sample those of programs: {error}"),
            "the verdict does not name the function in which a slow rank computes",
            "set /proc/sys/kernel/perf_event_paranoid to 2 or less; in a container, let it call perf_event_open",
        ),
    }
}

fn otf2() -> Finding {
    match otf2_sys::api() {
        Ok(_) if otf2_sys::is_static() => Finding::ok("OTF2", format!("{}, part of MEL", otf2_sys::VERSION)),
        Ok(_) => Finding::ok("OTF2", format!("the system's libotf2, for {}", otf2_sys::VERSION)),
        // The sentence has the remedy.
        Err(error) => {
            Finding::less("OTF2", error.to_string(), "traces cannot be written; event logs can", "")
        }
    }
}

/// libotf2 asks for the host's number, which is made from its address where `/etc/hostid` is not there.
fn host_name() -> Option<Finding> {
    if Path::new("/etc/hostid").exists() {
        return None;
    }
    let name = output("uname", &["-n"], 20)?.out.trim().to_owned();
    let (sender, receiver) = mpsc::channel();
    let asked = name.clone();
    thread::spawn(move || {
        // A name that is not known is an answer, too. Nobody may listen any more.
        let _ = (asked.as_str(), 0).to_socket_addrs().map(drop);
        let _ = sender.send(());
    });
    match receiver.recv_timeout(RESOLVED_WITHIN) {
        Ok(()) => None,
        Err(_) => Some(Finding::less(
            "host name",
            format!("the system does not find the address of {name}, its own name"),
            "writing a trace takes up to half a minute longer",
            format!("add the line `127.0.1.1 {name}` to /etc/hosts"),
        )),
    }
}

/// Runs get their directories in the working directory.
fn directory(here: &Path) -> Finding {
    let shown = here.canonicalize().map_or(here.display().to_string(), |path| path.display().to_string());
    match tempfile::tempfile_in(here) {
        Ok(_) => Finding::ok("directory", format!("{shown} can be written to")),
        Err(error) => Finding::less(
            "directory",
            format!("{shown} cannot be written to: {error}"),
            "a run leaves nothing here",
            "give a directory that can be: mel run -o DIR ./app",
        ),
    }
}

/// Which container this is, if it is one that can be recognised.
fn container() -> Option<Finding> {
    let set = |name: &str| env::var_os(name).is_some();
    let there = |name: &str| Path::new(name).exists();
    let kind = if set("APPTAINER_CONTAINER") || set("SINGULARITY_CONTAINER") {
        "Apptainer"
    } else if there("/run/.containerenv") {
        "Podman"
    } else if there("/.dockerenv") {
        "Docker"
    } else {
        return None;
    };
    Some(Finding::ok("container", format!("{kind}; docs/containers.md says what MEL needs in it")))
}

/// Settings in the environment: they hold for each run that says nothing else. What looks like one and is none does nothing.
fn settings() -> Option<Finding> {
    of_settings(
        env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        }),
    )
}

fn of_settings(variables: impl Iterator<Item = (String, String)>) -> Option<Finding> {
    let (mut set, mut unknown) = (Vec::new(), Vec::new());
    for (name, value) in variables {
        unknown.extend(settings::unknown([name.as_str()]));
        if settings::of_name(&name).is_some() || name == "LD_PRELOAD" {
            set.push(format!("{name}={value}"));
        }
    }
    set.sort();
    unknown.sort();
    match (set.is_empty(), unknown.is_empty()) {
        (true, true) => None,
        (false, true) => Some(Finding::ok("settings", set.join(" "))),
        (_, false) => Some(Finding::less(
            "settings",
            unknown.join("; "),
            "it changes nothing",
            "docs/environment.md lists all settings",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_slower_clock_is_less() {
        assert_eq!(clock(true).level, Level::Ok);
        assert_eq!(clock(false).level, Level::Less);
    }

    #[test]
    fn counters_that_nobody_may_read_have_another_remedy_than_none() {
        let of = |error| counters(Err(io::Error::from_raw_os_error(error)));
        assert!(of(libc::EACCES).remedy.contains("perf_event_paranoid"), "{:?}", of(libc::EACCES));
        assert!(of(libc::ENOENT).remedy.contains("virtual machine"), "{:?}", of(libc::ENOENT));
        let ok = counters(Ok(vec!["instructions", "cycles"]));
        assert_eq!((ok.level, &*ok.found), (Level::Ok, "the processor counts instructions, cycles"));
    }

    #[test]
    fn who_may_not_sample_stacks_is_told_what_is_missing_then() {
        let refused = stacks(Err(io::Error::from_raw_os_error(libc::EACCES)));
        assert!(
            refused.level == Level::Less && refused.remedy.contains("perf_event_paranoid"),
            "{refused:?}"
        );
        assert_eq!(stacks(Ok(())).level, Level::Ok);
    }

    #[test]
    fn what_only_looks_like_a_setting_is_told() {
        let of = |names: &[&str]| of_settings(names.iter().map(|name| ((*name).to_owned(), "1".to_owned())));
        assert!(of(&["HOME", "PATH"]).is_none());
        assert_eq!(of(&["MEL_TRACE", "HOME"]).unwrap().level, Level::Ok);
        let wrong = of(&["MEL_TRAEC", "MEL_LINES"]).unwrap();
        assert_eq!(wrong.level, Level::Less);
        assert!(wrong.found.contains("nearest: MEL_TRACE"), "{}", wrong.found);
    }

    #[test]
    fn a_directory_that_is_not_there_is_less() {
        assert_eq!(directory(Path::new("/no/such/directory")).level, Level::Less);
        let directory_of_ours = tempfile::tempdir().unwrap();
        assert_eq!(directory(directory_of_ours.path()).level, Level::Ok);
    }
}
