//! `libmel.so` shows the program nothing but MPI's own names, `dlsym` for those who look them up, and what an MPI library calls
//! below; and needs nothing that a
//! system without it may lack. It has nothing of the command in it, and the command nothing of what runs inside programs.

use std::collections::{BTreeSet, HashSet};
use std::process::Command;

use mel_tests::artifacts::{libmel, mel, root};

fn lines(command: &str, options: &[&str]) -> Vec<String> {
    let output = Command::new(command)
        .args(options)
        .arg(libmel())
        .output()
        .unwrap_or_else(|e| panic!("{command} (binutils): {e}"));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The last word of each line of `nm`, without a version.
fn names(options: &[&str]) -> Vec<String> {
    lines("nm", options)
        .iter()
        .filter_map(|line| line.split_whitespace().last())
        .map(|name| name.split('@').next().unwrap_or(name).to_owned())
        .collect()
}

/// The system calls by which MPI libraries move data, and end connections.
const MOVES: [&str; 9] = [
    "process_vm_readv",
    "process_vm_writev",
    "writev",
    "sendmsg",
    "send",
    "readv",
    "recvmsg",
    "recv",
    "close",
];

/// What MPI libraries hand over to UCX with (`mel run --inside`).
const UCX: &str = "ucp_";

/// What Open MPI's monitoring component calls for each message.
const MONITORING: &str = "mca_common_monitoring_record_pml";

/// What the command asks (`mel_log::offers`).
const OFFERS: &str = "mel_offers";

/// What programs call to name their phases (include/mel.h).
const PHASES: [&str; 5] = ["mel_phase", "mel_start", "mel_stop", "mel_reset", "mel_sample"];

/// What programs call to name their regions: MEL's own, and Caliper's, which stand before those of a Caliper.
const REGIONS: [&str; 4] = ["mel_region_begin", "mel_region_end", "cali_begin_region", "cali_end_region"];

#[test]
fn it_exports_mpi_and_a_marker() {
    let exported = names(&["-D", "--defined-only"]);
    let functions: HashSet<String> =
        exported.iter().filter(|name| name.starts_with("MPI_")).map(|name| name.to_lowercase()).collect();
    let others: Vec<&String> = exported
        .iter()
        .filter(|name| {
            let is_mpi = ["MPI_", "PMPI_T_", "MPIX_T_"].iter().any(|prefix| name.starts_with(prefix));
            // The subroutines of Fortran, as compilers spell them: those that C has too.
            let c_name = name.trim_end_matches('_').trim_end_matches("_f08").trim_end_matches("_cptr");
            let is_fortran = c_name.starts_with("mpi_") && functions.contains(&c_name.to_lowercase());
            !is_mpi
                && !is_fortran
                && !["mpi_intercept_marker", "dlsym", "sched_yield", MONITORING, OFFERS]
                    .contains(&name.as_str())
                && !MOVES.contains(&name.as_str())
                && !name.starts_with(UCX)
                && !PHASES.contains(&name.as_str())
                && !REGIONS.contains(&name.as_str())
        })
        .collect();
    assert!(others.is_empty(), "{others:?}");
    for needed in
        ["MPI_Init", "MPI_Init_thread", "MPI_Send", "MPI_Irecv", "MPI_Waitall", "MPI_Finalize", "mpi_send_"]
    {
        assert!(exported.iter().any(|name| name == needed), "no {needed}");
    }
}

#[test]
fn it_has_the_whole_interface_of_libmpit_events() {
    let exported = names(&["-D", "--defined-only"]);
    // All functions that the header declares, by all their names.
    let header = std::fs::read_to_string(root().join("include/mpit_events.h")).expect("the header is there");
    let declared = header.lines().filter_map(|line| line.strip_prefix("int ")?.split('(').next());
    let (mut standard, mut proposed) = (0, 0);
    for name in declared {
        assert!(exported.iter().any(|exported| exported == name), "no {name}");
        standard += usize::from(name.starts_with("MPI_T_"));
        proposed += usize::from(name.starts_with("MPIX_T_"));
    }
    assert_eq!((standard, proposed), (20, 13));
}

#[test]
fn it_needs_the_c_library_alone() {
    let needed: Vec<String> = lines("readelf", &["-d", "-W"])
        .into_iter()
        .filter(|line| line.contains("(NEEDED)"))
        .filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()))
        .collect();
    assert!(needed.iter().any(|library| library.starts_with("libc.so")), "{needed:?}");
    let others: Vec<&String> = needed
        .iter()
        // Some are parts of the C library, where that is older than 2.34.
        .filter(|library| {
            let known =
                ["libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "libgcc_s.so", "ld-linux"];
            !known.iter().any(|known| library.starts_with(known))
        })
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn it_binds_to_no_mpi_and_no_otf2() {
    let wanted = names(&["-D", "--undefined-only"]);
    assert!(
        wanted.iter().any(|name| name == "memfd_create" || name == "mmap" || name == "mmap64"),
        "{wanted:?}"
    );
    let foreign: Vec<String> = names(&["-D"])
        .into_iter()
        .filter(|name| name.to_uppercase().contains("OTF2"))
        .chain(wanted.into_iter().filter(|name| {
            ["MPI_", "PMPI_", "MPIR_", "ompi_", "opal_"].iter().any(|prefix| name.starts_with(prefix))
        }))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

/// The names of all crates that a crate of ours is linked with.
fn linked_with(package: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--package", package])
        .current_dir(root())
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn it_has_no_command_line_and_draws_nothing() {
    let linked = linked_with("mel-preload");
    assert!(linked.contains("mpi-intercept") && linked.contains("mel-log"), "{linked:?}");
    let of_the_command =
        ["mel", "clap", "comfy-table", "indicatif", "plotters", "png", "prost", "epaint_default_fonts"];
    let found: Vec<&str> = of_the_command.into_iter().filter(|name| linked.contains(*name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_command_has_nothing_of_what_runs_inside_programs() {
    let linked = linked_with("mel");
    assert!(linked.contains("clap") && linked.contains("mel-log"), "{linked:?}");
    // `mel events` takes the names of the event types from where they are raised.
    let inside = ["mel-preload", "mpit-events-entry-points", "mpit-events-abi", "hdrhistogram"];
    let found: Vec<&str> = inside.into_iter().filter(|name| linked.contains(*name)).collect();
    assert!(found.is_empty(), "{found:?}");
    // Nothing in it takes the place of a function of MPI, for a library that it opens.
    let output =
        Command::new("nm").args(["-D", "--defined-only"]).arg(mel()).output().expect("nm (binutils)");
    let names = String::from_utf8_lossy(&output.stdout).to_lowercase();
    let of_mpi: Vec<&str> = names
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| name.starts_with("mpi_") || name.starts_with("pmpi_"))
        .collect();
    assert!(of_mpi.is_empty(), "{of_mpi:?}");
}

#[test]
fn what_both_sides_share_calls_no_mpi() {
    for package in ["mel-log", "mel-convert"] {
        let linked = linked_with(package);
        let foreign: Vec<&String> = linked
            .iter()
            .filter(|name| name.starts_with("mpi-") || ["mpit-sources", "clap"].contains(&name.as_str()))
            .filter(|name| *name != "mpi-functions") // A table.
            .collect();
        assert!(foreign.is_empty(), "{package}: {foreign:?}");
    }
}
