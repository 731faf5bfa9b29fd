//! The example that is written in the proposal's dialect, preloaded into an ordinary program on every MPI.

use std::ffi::OsStr;

use mel_tests::Mpi;

use crate::common;

/// What the tool prints of the ring on two ranks, on each MPI, with these events asked for.
fn listen(events: &str, look: impl Fn(&Mpi, &[String])) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for mpi in Mpi::all_and_newer() {
        let tool = common::example(&mpi, "paper-mel/paper_mel.c", directory.path());
        let ring = common::example(&mpi, "c-tool/ring.c", directory.path());
        let preload = common::preload([common::library(), &tool]);
        let events = format!("MEL_EVENTS={events}");
        let (finished, outputs) = common::run(&mpi, 2, &ring, &[&preload, OsStr::new(&events)]);
        finished.expect(finished.code == Some(0), mpi.name);
        finished.expect(!finished.stderr.contains("paper-mel"), "no call fails");
        assert!(outputs.concat().contains("ring: 0 7 14"), "the program does what it does: {outputs:?}");
        look(&mpi, &outputs);
    }
}

#[test]
fn the_events_asked_for_are_logged_with_their_elements() {
    listen("pml_ob1_message_arrived;no_such_event pml_ob1_posted_insert", |mpi, outputs| {
        for rank in 0..2 {
            let own = |output: &&String| output.contains(&format!("[paper-mel] rank {rank}: event"));
            let output = outputs.iter().find(own).unwrap_or_else(|| panic!("{}: {outputs:?}", mpi.name));
            let row = output
                .lines()
                .find(|line| line.starts_with(&format!("[paper-mel] rank {rank}: pml_ob1_message_arrived")));
            let row: Vec<&str> = row.into_iter().flat_map(str::split_whitespace).skip(4).collect();
            assert_eq!(row, ["3", "0"], "heard and lost, and the handle is free: {output}");
            for number in 0..3 {
                let (peer, tag, number) = (1 - rank, 10 + number, number + 1);
                let told = format!(
                    "] 'pml_ob1_message_arrived' context id=0 source={peer} tag={tag} sequence number={number}"
                );
                assert_eq!(output.matches(&told).count(), 1, "{}: {told} in\n{output}", mpi.name);
            }
            // Rank 0 posts its receives before anything is sent to it; in rank 1 one may be queued, or not.
            let queued = output.matches("] 'pml_ob1_posted_insert' request=").count();
            assert!(if rank == 0 { queued == 3 } else { queued <= 3 }, "{queued} in\n{output}");
        }
    });
}

#[test]
fn without_a_word_all_event_types_are_listed() {
    listen("", |mpi, outputs| {
        let output = outputs.concat();
        let told = format!("there are {} event types", common::num_event_types(mpi));
        assert!(output.contains(&told), "{}: {output}", mpi.name);
        let line =
            "[paper-mel]   pml_ob1_message_arrived (16 bytes: context id, source, tag, sequence number): ";
        assert_eq!(output.matches(line).count(), 1, "one rank lists them: {output}");
        assert!(!output.contains("heard"), "{output}");
    });
}
