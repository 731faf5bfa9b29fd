//! Which run it is: program, date, ranks, hosts, MPI, directory.

use std::path::Path;

use super::layout::{COLUMNS, cut, wrapped, wrapped_to};
use crate::number::{date, duration};
use crate::profile::schema::Profile;

/// Two or three lines: the program and its arguments with the date, where it ran, and its directory if that is known. Each begins with
/// `mark`.
pub fn header(profile: &Profile, directory: Option<&Path>, mark: &str) -> String {
    let mut text = run(profile, COLUMNS, mark);
    if let Some(directory) = directory {
        text += &wrapped(mark, &format!("directory {}", directory.display()));
    }
    text
}

/// The same without the directory, in so many columns.
pub(super) fn run(profile: &Profile, columns: usize, mark: &str) -> String {
    let mut text = String::new();
    let command = profile.command.join(" ");
    let when = if profile.started_unix_s > 0.0 { date(profile.started_unix_s) } else { String::new() };
    if !command.is_empty() || !when.is_empty() {
        let space = columns.saturating_sub(mark.chars().count() + when.chars().count() + 2);
        let command = cut(&command, space);
        let between = if command.is_empty() || when.is_empty() { "" } else { ", " };
        text += &format!("{mark}{command}{between}{when}\n");
    }
    text += &wrapped_to(columns, mark, &headline(profile));
    if profile.reduced.is_some() {
        text += &wrapped_to(columns, mark, super::many::REDUCED);
    }
    text
}

/// How many ranks, where, started by what, how long, on which MPI, with whose events.
fn headline(profile: &Profile) -> String {
    let number = profile.reduced.as_ref().map_or(profile.ranks.len(), |reduced| reduced.ranks as usize);
    let ranks = match number {
        1 => "1 rank".to_owned(),
        many => format!("{many} ranks"),
    };
    let mut parts =
        vec![format!("{ranks} {}", place(profile)).trim_end().to_owned(), duration(profile.duration_s)];
    parts.extend(Some(profile.mpi_name()).filter(|name| !name.is_empty()));
    if !profile.backend.is_empty() {
        parts.push(format!("events: {}", profile.backend));
    }
    parts.join(", ")
}

/// On which hosts, and started by what: `on node0 by mpirun`, as far as that is known.
pub fn place(profile: &Profile) -> String {
    let launcher = Some(&profile.launcher).filter(|name| !name.is_empty());
    let by = launcher.map_or(String::new(), |name| format!(" by {name}"));
    (hosts(profile) + &by).trim_start().to_owned()
}

/// On which hosts, in the order of their first ranks: all of up to three by name.
fn hosts(profile: &Profile) -> String {
    if let Some(reduced) = &profile.reduced {
        return match (&reduced.some_hosts[..], reduced.hosts) {
            ([], _) => String::new(),
            ([first], _) => format!(" on {first}"),
            ([first, second, ..], all) => format!(" on {all} hosts ({first}, {second}, ...)"),
        };
    }
    let mut hosts: Vec<&str> = Vec::new();
    for rank in &profile.ranks {
        if !rank.host.is_empty() && !hosts.contains(&rank.host.as_str()) {
            hosts.push(&rank.host);
        }
    }
    match hosts.len() {
        0 => String::new(),
        1 => format!(" on {}", hosts[0]),
        few @ 2..=3 => format!(" on {few} hosts ({})", hosts.join(", ")),
        many => format!(" on {many} hosts ({}, {}, ...)", hosts[0], hosts[1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    #[test]
    fn the_run_is_named() {
        let text = header(&sample::healthy(4), Some(Path::new("/tmp/mel-halo-1")), "[MEL] ");
        assert_eq!(
            text,
            "[MEL] ./halo -n 200, 2023-11-14 22:13 UTC\n\
             [MEL] 4 ranks on node0, 1.02 s, Open MPI v4.1.4, events: model\n\
             [MEL] directory /tmp/mel-halo-1\n"
        );
        assert_eq!(header(&Profile::default(), None, ""), "0 ranks, 0 ns\n");
    }

    #[test]
    fn few_hosts_are_named_and_many_counted() {
        assert!(
            header(&sample::healthy(12), None, "").contains("12 ranks on 3 hosts (node0, node1, node2), ")
        );
        assert!(
            header(&sample::healthy(64), None, "").contains("64 ranks on 16 hosts (node0, node1, ...), ")
        );
    }

    #[test]
    fn the_launcher_is_named_where_it_is_known() {
        let mut profile = sample::healthy(4);
        profile.launcher = "srun in job 4711".into();
        assert!(header(&profile, None, "").contains("\n4 ranks on node0 by srun in job 4711, 1.02 s, "));
        profile.ranks.iter_mut().for_each(|rank| rank.host.clear());
        assert_eq!(place(&profile), "by srun in job 4711");
        assert_eq!(place(&Profile::default()), "");
    }

    #[test]
    fn long_commands_are_cut() {
        let mut profile = sample::healthy(4);
        profile.command.push("x".repeat(300));
        let text = header(&profile, None, "");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().next().unwrap().ends_with("x…, 2023-11-14 22:13 UTC"), "{text}");
    }
}
