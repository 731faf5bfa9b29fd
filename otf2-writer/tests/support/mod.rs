//! What the tests share: a small archive to start from, and `otf2-print` to read it back with.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of this")]

use std::{path::Path, process::Command};

use otf2_writer::*;

/// References into the definitions of [`two_ranks`].
pub struct TwoRanks {
    pub host: SystemTreeNodeRef,
    pub processes: [LocationGroupRef; 2],
    pub threads: [LocationRef; 2],
    pub world: CommRef,
    pub send: RegionRef,
}

/// Two processes of one thread each, `MPI_COMM_WORLD`, a region, and a clock of nanoseconds.
pub fn two_ranks(defs: &mut Definitions) -> TwoRanks {
    defs.set_clock(Clock::new(1_000_000_000));
    let host = defs.system_tree_node(SystemTreeNode { name: "n1", class: "node", parent: None });
    let processes =
        ["MPI Rank 0", "MPI Rank 1"].map(|name| defs.location_group(LocationGroup::process(name, host)));
    let threads = processes.map(|process| defs.location(Location::thread("Master", process)));
    defs.group(Group { name: "", paradigm: Paradigm::Mpi, members: GroupMembers::CommLocations(&threads) });
    let group =
        defs.group(Group { name: "", paradigm: Paradigm::Mpi, members: GroupMembers::CommGroup(&[0, 1]) });
    let world = defs.communicator(Communicator {
        name: "MPI_COMM_WORLD",
        group,
        parent: None,
        create_destroy_events: false,
        identity: None,
    });
    let send = defs.region(Region {
        name: "MPI_Send",
        role: RegionRole::PointToPoint,
        paradigm: Paradigm::Mpi,
        ..Region::default()
    });
    TwoRanks { host, processes, threads, world, send }
}

/// What `otf2-print` says of the archive in `directory`; it must not complain of anything.
pub fn print(directory: &Path, options: &[&str]) -> String {
    let output = Command::new("otf2-print")
        .arg("-Werror")
        .args(options)
        .arg(directory.join("traces.otf2"))
        .output()
        .expect("otf2-print must be installed (Debian: apt install otf2-tools)");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{}: {err}\n{out}", output.status);
    out.into_owned()
}

/// The events that `otf2-print` shows, one line each, blanks squeezed, attributes appended.
pub fn events(directory: &Path) -> Vec<String> {
    let mut events: Vec<String> = Vec::new();
    for line in squeezed_after_rule(&print(directory, &[])) {
        match line.strip_prefix("ADDITIONAL ATTRIBUTES: ") {
            Some(attributes) => {
                let event = events.last_mut().expect("attributes follow their event");
                event.push_str(" | ");
                event.push_str(attributes);
            }
            None => events.push(line),
        }
    }
    events
}

/// The global definitions that `otf2-print` shows, one line each, blanks squeezed.
pub fn definitions(directory: &Path) -> Vec<String> {
    squeezed_after_rule(&print(directory, &["-G"]))
}

fn squeezed_after_rule(text: &str) -> Vec<String> {
    text.lines()
        .skip_while(|line| !line.starts_with("-----"))
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect()
}
