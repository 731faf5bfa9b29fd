//! The Python reader takes the archive: unlike `otf2-print` it insists on the order of definitions.

mod support;

use std::process::Command;

use otf2_writer::*;

const READ: &str = r#"
import sys, otf2
with otf2.reader.open(sys.argv[1]) as trace:
    print(trace.timer_resolution)
    for comm in trace.definitions.comms:
        print(comm.name, [location.group.name for location in comm.group.members])
    for location, event in trace.events:
        attributes = {key.name: value for key, value in (event.attributes or {}).items()}
        print(location.group.name, location.name, type(event).__name__, event.time, attributes)
"#;

#[test]
fn the_python_reader_agrees() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let defs = archive.definitions_mut();
    let ranks = support::two_ranks(defs);
    let tag = defs.attribute("tag", "", Type::I32);
    let message = Event::MpiSend { receiver: 1, comm: ranks.world, tag: 3, bytes: 8 };
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    events.enter(Ticks(1), ranks.send, &[(tag, AttributeValue::I32(-1))]).unwrap();
    events.write(Ticks(2), &message).unwrap();
    events.leave(Ticks(3), ranks.send, &[]).unwrap();
    events.close().unwrap();
    archive.finish().unwrap();

    // The distribution's packages are the distribution's Python's.
    let output = Command::new("/usr/bin/python3")
        .args(["-c", READ])
        .arg(directory.path().join("traces.otf2"))
        .output()
        .expect("Python must be installed (Debian: apt install python3-otf2)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "1000000000\n\
         MPI_COMM_WORLD ['MPI Rank 0', 'MPI Rank 1']\n\
         MPI Rank 0 Master Enter 1 {'tag': -1}\n\
         MPI Rank 0 Master MpiSend 2 {}\n\
         MPI Rank 0 Master Leave 3 {}\n"
    );
}
