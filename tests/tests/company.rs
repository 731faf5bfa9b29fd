//! With other tools in the same process, in a program with wrappers of its own, with children of all kinds, under valgrind,
//! with sanitizers, and as a user who may not read other processes: the program never notices.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, libmel, root};
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, Program, compile_special};

/// The other tool as a library: it continues with `PMPI_*`, or with the next function.
fn other_tool(mpi: &Mpi, next: bool, directory: &Path) -> PathBuf {
    let source = root().join("tests/programs/special/other_tool.c");
    let library = directory.join(format!("libtool-{}-{next}.so", mpi.name));
    let mut compiler = mpi.mpicc();
    compiler
        .args(["-shared", "-fPIC", "-std=gnu99", "-o"])
        .args([&library, &source])
        .args(next.then_some("-DNEXT"));
    assert!(compiler.status().is_ok_and(|status| status.success()), "{compiler:?}");
    library
}

/// Runs `communicators` on two ranks with these libraries preloaded, in this order.
fn preloaded(mpi: &Mpi, libraries: &[&Path], output: &Path) -> Finished {
    let list: Vec<String> = libraries.iter().map(|library| library.display().to_string()).collect();
    let set = [format!("LD_PRELOAD={}", list.join(":")), "MEL_PROFILE=queues".into()];
    let output = format!("MEL_OUTPUT={}", output.display());
    let program = Program::named("communicators").compile(mpi);
    Job::new(mpi, 2, "env").args(set).args([output]).args([program]).run()
}

/// What the other tool has counted.
fn counted(run: &Finished) -> Vec<&str> {
    let mut lines: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("tool: ")).collect();
    lines.sort_unstable();
    lines
}

#[test]
#[ignore = "slow"]
fn another_tool_before_and_behind() {
    let libmel = libmel();
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let output = |name: &str| directory.path().join(name);
        let mel_alone = preloaded(mpi, &[&libmel], &output("alone"));
        let received = |run: &Path| Profile::read(run).total("truth.matched");
        for next in [false, true] {
            let tool = other_tool(mpi, next, directory.path());
            let tool_alone = preloaded(mpi, &[&tool], &output("none"));
            assert_eq!(counted(&tool_alone).len(), 2, "{}: {tool_alone:#?}", mpi.name);
            let behind = preloaded(mpi, &[&libmel, &tool], &output(&format!("behind-{next}")));
            let before = preloaded(mpi, &[&tool, &libmel], &output(&format!("before-{next}")));
            for run in [&behind, &before] {
                run.expect(run.code == Some(0) && run.stdout == mel_alone.stdout, mpi.name);
                assert_eq!(counted(run), counted(&tool_alone), "{}", mpi.name);
            }
            assert_eq!(
                received(&output(&format!("behind-{next}"))),
                received(&output("alone")),
                "{}",
                mpi.name
            );
            // A tool in front that goes on with PMPI takes its calls past all others.
            if next {
                assert_eq!(received(&output("before-true")), received(&output("alone")), "{}", mpi.name);
            }
        }
    }
}

/// Runs a special program by itself and under MEL: the same result.
fn unharmed(mpi: &Mpi, name: &str, args: &[&str]) -> Profile {
    let program = compile_special(mpi, name);
    let plain = Job::new(mpi, 2, &program).args(args).run();
    plain.expect(plain.code == Some(0) && plain.stdout.ends_with("OK\n"), mpi.name);
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = Job::new(mpi, 2, &program).args(args).under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0) && run.stdout == plain.stdout, &format!("{name} on {}", mpi.name));
    Profile::read(&output)
}

#[test]
fn a_program_with_wrappers_of_its_own() {
    for mpi in &Mpi::all_and_newer() {
        // They go past us: nothing is seen of them, and nothing is wrong.
        assert_eq!(unharmed(mpi, "own_wrappers", &[]).contradictions(2), [""; 0], "{}", mpi.name);
    }
}

#[test]
fn children_that_are_executed_and_spawned() {
    for mpi in &Mpi::all_and_newer() {
        let profile = unharmed(mpi, "children", &["/bin/true"]);
        assert_eq!(profile.contradictions(2), [""; 0], "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 8, "{}", mpi.name);
    }
}

#[test]
fn two_mpis_in_one_process_are_warned_of() {
    let all = Mpi::all();
    let named = |name| all.iter().find(|mpi| mpi.name == name);
    let (Some(other), Some(used)) = (named("openmpi"), named("mpich")) else {
        absent("Open MPI or MPICH", "scripts/install-deps installs both");
        return;
    };
    let (directory, sources) = (fresh_dir(), root().join("crates/intercept/tests/c"));
    let compile = |mut compiler: Command, source: &str, flags: &[&str], to: &str| {
        let file = directory.path().join(to);
        compiler.arg("-o").args([&file, &sources.join(source)]).args(flags);
        assert!(compiler.status().is_ok_and(|status| status.success()), "{compiler:?}");
        file
    };
    let host = compile(Command::new("cc"), "two_parts.c", &["-ldl"], "host");
    let part = |mpi: &Mpi| compile(mpi.mpicc(), "part.c", &["-shared", "-fPIC"], mpi.name);
    let (other, own) = (part(other), part(used));
    for (first, lines) in [(&other, 1), (&own, 0)] {
        let job = || Job::new(used, 1, &host).args([first, &own]);
        let plain = job().run();
        plain.expect(plain.code == Some(0), "by itself");
        let output = directory.path().join(lines.to_string());
        let run = job().under_mel(["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0) && run.stdout == plain.stdout, "under MEL");
        let warnings =
            run.mel_lines().filter(|line| line.contains("there are 2 MPI libraries in this process"));
        run.expect(warnings.count() == lines, "warned once, and only where it is so");
        assert_eq!(Profile::read(&output).total("truth.matched"), 1);
    }
}

/// valgrind reads all memory of a process when it looks for what was lost.
#[test]
#[ignore = "slow"]
fn valgrind_between() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        absent("valgrind", "scripts/install-deps installs it");
        return;
    }
    for mpi in &Mpi::all() {
        let program = Program::named("wildcards").compile(mpi);
        let plain = Job::new(mpi, 2, &program).run();
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = Job::new(mpi, 2, "valgrind").args(["-q"]).args([&program]);
        let run = run.under_mel(["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0) && run.stdout == plain.stdout, mpi.name);
        let ours =
            run.stderr.lines().filter(|line| line.starts_with("==") && line.contains("libmel.so")).count();
        run.expect(ours == 0, "valgrind has nothing to say of libmel.so");
        assert_eq!(Profile::read(&output).contradictions(2), [""; 0]);
    }
}

/// The program for sanitizers, compiled with one; `None` where the compiler lacks it.
fn sanitized(mpi: &Mpi, flags: &[&str], directory: &Path) -> Option<PathBuf> {
    let program = directory.join("sanitized");
    let source = root().join("tests/programs/special/sanitized.c");
    let mut compiler = mpi.mpicc();
    compiler.args(["-g", "-w", "-std=gnu99", "-o"]).args([&program, &source]).args(flags);
    let compiled = compiler.status().is_ok_and(|status| status.success());
    if !compiled {
        eprintln!("skipped: {compiler:?} cannot");
    }
    compiled.then_some(program)
}

/// What sanitizers find, they find with MEL; and MEL adds nothing.
#[test]
#[ignore = "slow"]
fn sanitizers_need_no_option() {
    const FLAGS: [&[&str]; 5] = [
        &["-fsanitize=address"],
        &["-fsanitize=address", "-static-libasan"],
        &["-fsanitize=thread"],
        &["-fsanitize=undefined"],
        &["-fsanitize=leak"],
    ];
    for mpi in &Mpi::all() {
        for flags in FLAGS {
            let what = format!("{flags:?} on {}", mpi.name);
            let directory = fresh_dir();
            let Some(program) = sanitized(mpi, flags, directory.path()) else { continue };
            let plain = Job::new(mpi, 2, &program).run();
            // MPICH's launcher says so on standard output.
            if format!("{}{}", plain.stdout, plain.stderr).contains("Segmentation fault") {
                eprintln!("skipped: {what} does not run by itself");
                continue;
            }
            plain.expect(plain.stdout.ends_with("OK\n"), &what);
            let output = |name: &str| directory.path().join(name);
            let as_without = |run: &Finished, plain: &Finished, what: &str| {
                run.expect(run.code == plain.code && run.stdout == plain.stdout, what);
                // Where a plugin of the MPI was, an unnamed place may be in a file that is mapped there now.
                let of_ours = |line: &str| line.contains("libmel.so") && line.contains(" in ");
                run.expect(!run.stderr.lines().any(of_ours), what);
            };
            let job = Job::new(mpi, 2, &program);
            let run = job.under_mel(["-o".as_ref(), output("run").as_os_str()]).run();
            as_without(&run, &plain, &what);
            assert_eq!(Profile::read(&output("run")).total("truth.matched"), 200, "{what}");

            let script =
                Job::new(mpi, 2, "sh").args(["-c".as_ref(), "exec \"$0\"".as_ref(), program.as_os_str()]);
            let script = script.under_mel(["-o".as_ref(), output("script").as_os_str()]).run();
            as_without(&script, &plain, &format!("a script that starts {what}"));

            if flags[0] == "-fsanitize=address" {
                let fault = || Job::new(mpi, 2, &program).args(["fault"]);
                let (plain, run) = (fault().run(), fault().under_mel(["--profile", "none"]).run());
                as_without(&run, &plain, &format!("a fault, {what}"));
                run.expect(run.stderr.contains("heap-buffer-overflow"), &what);
            }
        }
    }
}

/// As a user without privileges, who may open `/proc/PID/fd` of own processes only, and not even these where they have
/// closed themselves.
#[test]
fn a_user_who_is_not_root() {
    let id = Command::new("id").arg("-u").output().expect("id").stdout;
    if id != b"0\n" || Command::new("setpriv").arg("--version").output().is_err() {
        absent("another user", "run the tests as root, with setpriv");
        return;
    }
    for mpi in &Mpi::all() {
        // Where everybody may read: the checkout may be in a place where only root may.
        let directory = fresh_dir();
        let open =
            |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mine");
        open(directory.path(), 0o777);
        let copy = |from: &Path| {
            let to = directory.path().join(from.file_name().expect("a file"));
            fs::copy(from, &to).expect("can be copied");
            open(&to, 0o755);
            to
        };
        let (program, library) = (copy(&compile_special(mpi, "closed")), copy(&libmel()));
        let run = |args: &[&str], name: &str| {
            let output = directory.path().join(name);
            let script = format!(
                "cd {0}; export HOME={0} TMPDIR={0}; exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"",
                directory.path().display()
            );
            let job = Job::new(mpi, 2, &program).args(args).launched_by(["sh", "-c", &script, "sh"]);
            let job = job.env("MEL_OUTPUT", &output).env("MEL_PROFILE", "queues");
            // MPICH's UCX opens /proc/PID/fd too, unless it is set not to.
            let job = job.env("UCX_POSIX_USE_PROC_LINK", "n");
            let run = job.through_env("LD_PRELOAD", &library).run();
            run.expect(
                run.code == Some(0) && run.stdout.ends_with("OK\n"),
                &format!("{name} on {}", mpi.name),
            );
            let profile = Profile::read(&output);
            assert_eq!(profile.contradictions(2), [""; 0], "{}: {}", mpi.name, profile.json());
            assert_eq!(profile.total("truth.matched"), 40, "{}: {name}", mpi.name);
            run.mel_lines().filter(|line| line.contains("cannot share memory")).count()
        };
        assert_eq!(run(&[], "run-open"), 0, "{}", mpi.name);
        assert_eq!(run(&["closed"], "run-closed"), 1, "{}: warned once", mpi.name);
    }
}
