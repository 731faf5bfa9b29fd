//! Where Open MPI moves messages with another component than ob1, the events come from the ob1 model, and MEL says why; the
//! model follows the calls as it does everywhere.
//!
//! UCX and libfabric are asked to use whatever transports the machine has, so that they run without their hardware. Each
//! is skipped, with a line, where this Open MPI cannot run with it.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use mel_tests::artifacts::{absent, fresh_dir, mel};
use mel_tests::events::{self, Log};
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, Program};
use serde_json::json;

/// A choice of components, as Open MPI's environment says it.
type Choice = &'static [(&'static str, &'static str)];

const UCX: Choice = &[
    ("OMPI_MCA_pml", "ucx"),
    ("OMPI_MCA_opal_common_ucx_tls", "any"),
    ("OMPI_MCA_opal_common_ucx_devices", "any"),
];
const LIBFABRIC: Choice = &[("OMPI_MCA_pml", "cm"), ("OMPI_MCA_mtl", "ofi")];
/// It counts messages and hands them on to ob1.
const MONITORING: Choice = &[("OMPI_MCA_pml_monitoring_enable", "1")];

fn job<'a>(mpi: &'a Mpi, name: &str, choice: Choice) -> Job<'a> {
    let job = Job::new(mpi, 2, Program::named(name).compile(mpi));
    choice.iter().fold(job, |job, (name, value)| job.env(name, value))
}

/// Calls `check` where this machine's Open MPI runs with these components.
fn with_choice(choice: Choice, check: impl Fn(&Mpi)) {
    let Some(mpi) = Mpi::all().into_iter().find(|mpi| mpi.name.starts_with("openmpi")) else {
        return absent("Open MPI", "scripts/install-deps installs it");
    };
    if job(&mpi, "expected", choice).run().code != Some(0) {
        return eprintln!("skipped: this Open MPI does not run with {choice:?}");
    }
    check(&mpi);
}

fn follows(choice: Choice) {
    with_choice(choice, |mpi| {
        for name in ["expected", "unexpected", "out_of_order_tags", "sendrecv", "persistent", "modes"] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = ["--profile", "queues", "-e", events::QUEUE_EVENTS, "-o"].map(OsStr::new);
            let run = job(mpi, name, choice).under_mel(options.into_iter().chain([output.as_os_str()])).run();
            run.expect(run.code == Some(0), &format!("{name} runs with {choice:?}"));
            let profile = Profile::read(&output);
            assert_eq!(profile.json()["backend"], json!("model"), "{name}, {choice:?}");
            assert_eq!(profile.contradictions(2), [""; 0], "{name}, {choice:?}: {}", profile.json());
            for lost in ["truth.rematched", "truth.envelopes_lost", "truth.dropped"] {
                assert_eq!(profile.total(lost), 0, "{name}, {choice:?}: {lost}");
            }
            assert!(profile.total("truth.matched") > 0, "{name}, {choice:?}");
            assert!(!Log::of_run(&output).rank(1).is_empty(), "{name}, {choice:?}: events are logged");
        }
    });
}

#[test]
fn the_model_follows_what_ucx_moves() {
    follows(UCX);
}

#[test]
fn the_model_follows_what_libfabric_moves() {
    follows(LIBFABRIC);
}

#[test]
#[ignore = "slow"]
fn peruse_is_left_alone_where_ob1_is_not_asked_itself() {
    let Some(mpi) = Mpi::with_peruse() else { return };
    let why = "this MPI has PERUSE, but its pml is monitoring and not ob1";
    for (choice, lines) in [("auto", 0), ("peruse", 1)] {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = job(&mpi, "unexpected", MONITORING)
            .env("MPIT_SOURCES", choice)
            .under_mel(["-o".as_ref(), output.as_os_str()])
            .run();
        run.expect(run.code == Some(0), choice);
        let count = run.stderr.lines().filter(|line| line.contains(why)).count();
        run.expect(count == lines, "who asks for PERUSE is warned once why it is not used");
        let profile = Profile::read(&output);
        assert_eq!(profile.json()["backend"], json!("model"), "{choice}");
        assert!(profile.total("truth.matched") > 0, "{choice}: the model follows");
    }

    let explained = Command::new(mel())
        .arg("events")
        .arg(Program::named("unexpected").compile(&mpi))
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .envs(MONITORING.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("mel can be started");
    let text = String::from_utf8_lossy(&explained.stdout);
    assert!(explained.status.success(), "{text}{}", String::from_utf8_lossy(&explained.stderr));
    assert!(text.contains("backend: model"), "{text}");
    assert!(text.contains(&format!("why: {why}")), "{text}");
}
