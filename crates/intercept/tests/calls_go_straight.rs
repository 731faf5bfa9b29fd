//! Functions that are called most often go straight to two hooks, which see the same as on the way of all functions.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

/// What the library says, and the program, where it is asked to meddle like this; the program has got its messages.
fn run(what: &str) -> Vec<common::Outcome> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("meddle");
    let library = library.to_str().expect("a path in UTF-8");
    let run = |mpi: common::Mpi| {
        let program = mpi.compile(directory.path(), "sends.c", &[]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", library), ("MEDDLE", what)]);
        assert_eq!(outcome.stdout, "100 101 102 103 104 0\n", "{outcome:#?}");
        assert_eq!(outcome.code, Some(3), "{outcome:#?}");
        outcome
    };
    common::installed().into_iter().map(run).collect()
}

fn count(outcome: &common::Outcome, line: &str) -> usize {
    outcome.stderr.lines().filter(|found| *found == line).count()
}

#[test]
fn both_hooks_see_each_call_once() {
    for outcome in run("straight") {
        for (function, calls) in [("MPI_Send", 5), ("MPI_Wait", 6), ("MPI_Test", 1), ("MPI_Irecv", 6)] {
            let lines = [
                format!("enter second {function}"),
                format!("leave second {function} 0"),
                // Context and both times are those of the call.
                format!("left {function} true 1 2"),
            ];
            assert!(lines.iter().all(|line| count(&outcome, line) == calls), "{function}: {outcome:#?}");
            let straight = count(&outcome, &format!("straight {function}"));
            // One wants no entry.
            assert_eq!(straight, if function == "MPI_Irecv" { 0 } else { calls }, "{outcome:#?}");
        }
        let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("MPI_Send")).take(4).collect();
        let in_order = [
            "enter second MPI_Send",
            "straight MPI_Send",
            "leave second MPI_Send 0",
            "left MPI_Send true 1 2",
        ];
        assert_eq!(lines, in_order, "{outcome:#?}");
        // Others go the way of all.
        assert_eq!(count(&outcome, "straight MPI_Cancel"), 0, "{outcome:#?}");
        assert_eq!(count(&outcome, "leave second MPI_Cancel 0"), 1, "{outcome:#?}");
    }
}

#[test]
fn a_hook_changes_arguments() {
    for outcome in run("straight-status") {
        let waits = outcome.stderr.lines().filter(|line| line.starts_with("MPI_Wait 0: 0 1 Some(4)"));
        assert_eq!(waits.count(), 5, "{outcome:#?}");
        assert_eq!(count(&outcome, "straight MPI_Wait"), 6, "{outcome:#?}");
    }
}

#[test]
fn a_third_hook_is_called_in_its_turn() {
    for outcome in run("straight-and-another") {
        let of_sends = outcome.stderr.lines().filter(|line| line.contains("MPI_Send"));
        let one = [
            "enter second MPI_Send",
            "enter third MPI_Send",
            "straight MPI_Send",
            "leave third MPI_Send 0",
            "leave second MPI_Send 0",
            "left MPI_Send true 1 2",
        ];
        assert_eq!(of_sends.take(one.len()).collect::<Vec<_>>(), one, "{outcome:#?}");
        assert_eq!(count(&outcome, "leave third MPI_Send 0"), 5, "{outcome:#?}");
    }
}

#[test]
fn a_hook_before_them_is_called_around_them() {
    for outcome in run("another-and-straight") {
        let of_sends = outcome.stderr.lines().filter(|line| line.contains("MPI_Send"));
        let one = [
            "enter third MPI_Send",
            "enter second MPI_Send",
            "straight MPI_Send",
            "leave second MPI_Send 0",
            "left MPI_Send true 1 2",
            "leave third MPI_Send 0",
        ];
        assert_eq!(of_sends.take(one.len()).collect::<Vec<_>>(), one, "{outcome:#?}");
        assert_eq!(count(&outcome, "leave third MPI_Send 0"), 5, "{outcome:#?}");
    }
}

#[test]
fn who_asks_is_attended_to_before_the_next_call_and_once() {
    for outcome in run("attend") {
        let lines: Vec<_> = outcome
            .stderr
            .lines()
            .filter(|line| line.contains("attends") || line.contains("leave"))
            .collect();
        let sent = "leave MPI_Send true";
        assert_eq!(lines, [sent, "attends Some(Ok(1))", sent, sent, sent, sent], "{outcome:#?}");
    }
}

#[test]
fn a_panic_ends_measurement_only() {
    for what in ["straight-panic-enter", "straight-panic-leave"] {
        for outcome in run(what) {
            let complaints: Vec<_> = outcome
                .stderr
                .lines()
                .filter(|line| line.starts_with("[MEL] internal error in MPI_Send: "))
                .collect();
            assert_eq!(complaints.len(), 1, "{outcome:#?}");
            assert_eq!(count(&outcome, "left MPI_Send true 1 2"), 2, "{outcome:#?}");
            assert_eq!(count(&outcome, "left MPI_Wait true 1 2"), 0, "{outcome:#?}");
        }
    }
}
