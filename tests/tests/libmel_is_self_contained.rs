//! `libmel.so` shows the program nothing but MPI's own names, and `dlsym` for those who look them up, and needs nothing that a system without it may lack.

use std::collections::HashSet;
use std::process::Command;

use mel_tests::artifacts::{libmel, root};

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
                && !["mpi_intercept_marker", "dlsym", "sched_yield"].contains(&name.as_str())
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
        .filter(|library| {
            !["libc.so", "libm.so", "libgcc_s.so", "ld-linux"].iter().any(|known| library.starts_with(known))
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
