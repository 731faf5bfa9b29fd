//! PERUSE that lacks an event or refuses a communicator, many threads, callbacks that call MPI: one clear line at most,
//! and the program runs on.
//!
//! Skipped, with a line, where `scripts/openmpi-with-peruse` has built nothing.

use mel_tests::artifacts::{fresh_dir, libmel, mel};
use mel_tests::events::Log;
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, Program, compile_preloadable, compile_with_events};
use serde_json::json;

fn with_peruse(check: impl Fn(&Mpi)) {
    Mpi::with_peruse().iter().for_each(check);
}

/// The lines that the events library has written.
fn lines(run: &Finished) -> Vec<&str> {
    run.stderr.lines().filter(|line| line.contains("PERUSE")).collect()
}

#[test]
#[ignore = "slow"]
fn an_event_that_it_lacks_is_warned_of_and_the_others_come() {
    with_peruse(|mpi| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let events = "pml_ob1_message_arrived,pml_ob1_unex_insert";
        let run = Job::new(mpi, 2, Program::named("unexpected").compile(mpi))
            .env("LD_PRELOAD", compile_preloadable(mpi, "peruse_lacking"))
            .env("PERUSE_WITHOUT", "PERUSE_COMM_MSG_ARRIVED")
            .under_mel(["-e".as_ref(), events.as_ref(), "-o".as_ref(), output.as_os_str()])
            .run();
        run.expect(run.code == Some(0), "the program runs");
        let warning = "this PERUSE has no PERUSE_COMM_MSG_ARRIVED: events that need it are not raised";
        run.expect(matches!(lines(&run)[..], [line] if line.contains(warning)), "one line");
        let log = Log::of_run(&output);
        let names: Vec<&str> = log.rank(1).iter().map(|event| event.name.as_str()).collect();
        run.expect(names.contains(&"pml_ob1_unex_insert"), "what is known is raised");
        run.expect(!names.contains(&"pml_ob1_message_arrived"), "what is not is not");
    });
}

#[test]
#[ignore = "slow"]
fn a_communicator_that_it_refuses_is_warned_of_once() {
    with_peruse(|mpi| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = Job::new(mpi, 2, Program::named("unexpected").compile(mpi))
            .env("LD_PRELOAD", compile_preloadable(mpi, "peruse_lacking"))
            .env("PERUSE_REFUSES", "0")
            .under_mel(["-o".as_ref(), output.as_os_str()])
            .run();
        run.expect(run.code == Some(0), "the program runs");
        let refused = "PERUSE refuses an event on a communicator (error 8): its queues are not seen";
        run.expect(lines(&run).len() == 2, "one line from each process");
        run.expect(lines(&run).iter().all(|line| line.contains(refused)), "which says what it means");
        // The first communicator is MPI_COMM_WORLD, on which everything happens.
        assert_eq!(Profile::read(&output).count(1, "posted_search.searches"), 0);
    });
}

#[test]
#[ignore = "slow"]
fn it_is_asked_for_what_somebody_listens_to_and_for_no_longer() {
    with_peruse(|mpi| {
        let registrations = |options: &[&str]| {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let mut all = vec!["-o", output.to_str().expect("a path in UTF-8")];
            all.extend(options);
            let run = Job::new(mpi, 2, Program::named("communicators").compile(mpi))
                .env("LD_PRELOAD", compile_preloadable(mpi, "peruse_lacking"))
                .under_mel(all)
                .run();
            run.expect(run.code == Some(0), "the program runs");
            let printed = run.stdout.lines().filter(|line| line.starts_with("peruse: "));
            printed.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(registrations(&["--profile", "none"]), [""; 0], "nobody listens");
        for line in registrations(&["--profile", "none", "-e", "pml_ob1_request_activate"]) {
            // "peruse: C communicators, N registered, A active at the end"
            let numbers: Vec<i64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            // A communicator may come back at the address of one that was freed.
            assert!((numbers[0]..2 * numbers[0]).contains(&numbers[1]), "one event on each: {line}");
            assert!(numbers[0] > 3, "on each communicator of the program: {line}");
        }
    });
}

#[test]
fn callbacks_may_call_mpi_from_several_threads() {
    let mut mpis = Mpi::all();
    mpis.extend(Mpi::with_peruse());
    for mpi in &mpis {
        // Cargo names directories in LD_LIBRARY_PATH where builds of other profiles may lie.
        let release = libmel();
        let place = release.parent().expect("a file has a directory");
        let mut job =
            Job::new(mpi, 2, compile_with_events(mpi, "callbacks_call_mpi")).env("LD_LIBRARY_PATH", place);
        if mpi.name == "openmpi-peruse" {
            job = job.env("LD_PRELOAD", compile_preloadable(mpi, "peruse_lacking"));
        }
        let run = job.run();
        run.expect(run.code == Some(0), mpi.name);
        // All registrations were ended, some of them after their communicators.
        let printed: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("peruse: ")).collect();
        run.expect(printed.iter().all(|line| line.ends_with(" 0 active at the end")), "nothing is left on");
        run.expect(printed.len() == if mpi.name == "openmpi-peruse" { 2 } else { 0 }, "each process prints");
    }
}

#[test]
#[ignore = "slow"]
fn the_backend_is_chosen_and_the_choice_explained() {
    with_peruse(|mpi| {
        let program = Program::named("unexpected").compile(mpi);
        let backend = |choice: &str| {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let run = Job::new(mpi, 2, &program)
                .env("MPIT_SOURCES", choice)
                .under_mel(["-o".as_ref(), output.as_os_str()])
                .run();
            run.expect(run.code == Some(0), choice);
            let profile = Profile::read(&output);
            (profile.json()["backend"].clone(), profile.json()["ranks"][1]["comparison"]["backend"].clone())
        };
        assert_eq!(backend("auto"), (json!("peruse"), json!(null)));
        assert_eq!(backend("model"), (json!("model"), json!(null)));
        assert_eq!(backend("model,peruse"), (json!("model"), json!("peruse")));

        let explained = std::process::Command::new(mel())
            .arg("events")
            .arg(&program)
            .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
            .stdin(std::process::Stdio::null())
            .output()
            .expect("mel can be started");
        let text = String::from_utf8_lossy(&explained.stdout);
        assert!(explained.status.success(), "{text}{}", String::from_utf8_lossy(&explained.stderr));
        assert!(text.contains("backend: peruse"), "{text}");
        assert!(text.contains("why: this MPI has PERUSE, and its pml is ob1"), "{text}");
    });
}

#[test]
fn without_peruse_a_wish_for_it_is_answered() {
    for mpi in &Mpi::all() {
        let run = Job::new(mpi, 2, Program::named("unexpected").compile(mpi))
            .env("MPIT_SOURCES", "peruse")
            .under_mel(["-o".as_ref(), fresh_dir().path().join("run").as_os_str()])
            .run();
        run.expect(run.code == Some(0), mpi.name);
        let warning = "this MPI has no PERUSE: the events are computed by the model of ob1";
        run.expect(matches!(lines(&run)[..], [line] if line.contains(warning)), mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn both_backends_agree_where_nothing_depends_on_timing() {
    with_peruse(|mpi| {
        for (name, args) in [("unexpected", ""), ("out_of_order_tags", ""), ("flood", "1000")] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let run = Job::new(mpi, 2, Program::named(name).compile(mpi))
                .args(args.split_whitespace())
                .env("MPIT_SOURCES", "peruse,model")
                .under_mel(["-o".as_ref(), output.as_os_str()])
                .run();
            run.expect(run.code == Some(0), name);
            let profile = Profile::read(&output);
            for field in [
                "posted.messages",
                "posted.max_length",
                "unexpected.messages",
                "unexpected.max_length",
                "posted_search.searches",
                "unexpected_search.searches",
            ] {
                let second = format!("comparison.{field}");
                assert_eq!(profile.count(1, field), profile.count(1, &second), "{name}: {field}");
            }
            // All of them have a barrier, whose messages only ob1 itself sees; they count apart.
            let rank = &profile.json()["ranks"][1];
            let internal = rank["internal"]["posted_search"]["searches"].as_u64();
            assert!(internal.is_some_and(|searches| searches > 0), "{name}: {rank}");
            assert_eq!(rank["comparison"]["internal"], json!(null), "{name}");
        }
    });
}
