//! What `make install` leaves below a prefix works there, and `make uninstall` leaves nothing of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mel_tests::artifacts::{absent, fresh_dir, root};
use mel_tests::{Job, Mpi, compile_source};

/// `scripts/install`, as `make install` calls it, with these variables alone.
fn install(variables: &[(&str, &Path)], options: &[&str]) -> Output {
    let mut command = Command::new(root().join("scripts/install"));
    command.args(options);
    for name in ["PREFIX", "DESTDIR", "LIBDIR"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().expect("a script of ours can be run")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(output));
    text(output)
}

/// Everything below a folder, without the folders.
fn files(below: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(below).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_program_runs_under_what_is_installed() {
    let directory = fresh_dir();
    let prefix = directory.path().join("opt/mel");
    succeeds(&install(&[("PREFIX", &prefix)], &[]));
    for mpi in &Mpi::all() {
        let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
        let output = directory.path().join(mpi.name);
        let job = Job::new(mpi, 2, program).args(["--iterations", "5"]);
        let run = job.under_mel_at(prefix.join("bin/mel"), ["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0) && run.stderr.contains("time by rank"), mpi.name);
        assert!(output.join("profile.json").exists(), "{}", mpi.name);
    }
}

#[test]
fn lib64_is_found_too() {
    let directory = fresh_dir();
    let prefix = directory.path().join("mel");
    succeeds(&install(&[("PREFIX", &prefix), ("LIBDIR", "lib64".as_ref())], &[]));
    assert!(!prefix.join("lib").exists());
    let script = ["run", "sh", "-c", "echo $LD_PRELOAD"];
    let run = Command::new(prefix.join("bin/mel")).args(script).env_remove("MEL_LIBRARY").output();
    let printed = succeeds(&run.expect("mel is there"));
    assert!(printed.trim_end().ends_with("mel/lib64/libmel.so"), "{printed}");
}

#[test]
fn what_is_staged_names_the_prefix_and_not_the_stage() {
    let directory = fresh_dir();
    let stage = directory.path().join("the-stage");
    succeeds(&install(&[("DESTDIR", &stage), ("PREFIX", "/opt/of-mel".as_ref())], &[]));
    let below = stage.join("opt/of-mel");
    for file in files(&below) {
        let bytes = fs::read(&file).expect("a file");
        let found = bytes.windows(9).any(|bytes| bytes == b"the-stage");
        assert!(!found, "{} names the stage", file.display());
    }
    let described = fs::read_to_string(below.join("lib/pkgconfig/mel.pc")).expect("mel.pc");
    assert!(described.starts_with("prefix=/opt/of-mel\nlibdir=${prefix}/lib\n"), "{described}");
    let listed = fs::read_to_string(below.join("share/mel/installed")).expect("the list");
    assert!(listed.lines().all(|file| below.join(file).is_file()), "{listed}");
    assert_eq!(listed.lines().count(), files(&below).len(), "each file is in the list once");
}

#[test]
fn uninstalling_leaves_what_was_there_before() {
    let directory = fresh_dir();
    let prefix = directory.path();
    let others = prefix.join("share/man/man1/other.1");
    fs::create_dir_all(others.parent().expect("a folder")).expect("folders can be made");
    fs::write(&others, "of others").expect("a file can be written");
    succeeds(&install(&[("PREFIX", prefix)], &[]));
    assert!(prefix.join("share/man/man1/mel-run.1").is_file());
    succeeds(&install(&[("PREFIX", prefix)], &["--uninstall"]));
    assert_eq!(files(prefix), [others]);
    let again = install(&[("PREFIX", prefix)], &["--uninstall"]);
    assert!(!again.status.success() && text(&again).contains("was MEL installed with PREFIX="), "{again:?}");
}

#[test]
fn a_place_that_cannot_work_is_refused() {
    for (name, value) in
        [("PREFIX", "here"), ("PREFIX", "/with blank"), ("DESTDIR", "here"), ("LIBDIR", "/lib")]
    {
        let refused = install(&[("PREFIX", "/opt/x".as_ref()), (name, value.as_ref())], &[]);
        assert!(
            !refused.status.success() && text(&refused).lines().count() == 1,
            "{name}={value}: {refused:?}"
        );
    }
}

#[test]
fn manual_completions_and_build_files_are_read_by_their_readers() {
    let directory = fresh_dir();
    let prefix = directory.path().join("mel");
    succeeds(&install(&[("PREFIX", &prefix)], &[]));
    let shell = |script: &str| {
        let output = Command::new("bash").args(["-c", script]).env("PREFIX", &prefix).output();
        succeeds(&output.expect("bash is there"))
    };
    let page = shell("MANWIDTH=90 man --warnings -l $PREFIX/share/man/man1/mel-run.1 2>&1");
    assert!(page.contains("mpirun -n 4 mel run ./app in.txt") && !page.contains("warning"), "{page}");
    let page = shell("man -M $PREFIX/share/man mel");
    assert!(page.contains("mel-analyze(1)"), "{page}");
    let completion = ". $PREFIX/share/bash-completion/completions/mel; complete -p mel";
    assert!(shell(completion).contains("-F _mel"));

    // A tool of the user's is built with what pkg-config says, and finds the library by its path.
    let flags = shell("PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --cflags --libs mel");
    assert!(flags.contains(&format!("-I{}/include", prefix.display())), "{flags}");
    let source = root().join("examples/c-tool/event_logger.c");
    let tool = format!(
        "cd $PREFIX; export PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig
         {} -shared -fPIC -o libtool.so {} $(pkg-config --cflags --libs mel)
         LD_LIBRARY_PATH=$PREFIX/lib ldd libtool.so",
        if Mpi::all()[0].name == "openmpi" { "mpicc.openmpi" } else { "mpicc" },
        source.display()
    );
    let needed = shell(&tool);
    assert!(needed.contains("mel/lib/libmpit_events.so"), "{needed}");
}

#[test]
fn the_module_file_sets_the_paths_wherever_it_lies() {
    let init = ["/usr/share/modules/init/bash", "/usr/share/lmod/lmod/init/bash"];
    let Some(init) = init.into_iter().find(|init| Path::new(init).exists()) else {
        absent("environment modules", "scripts/install-deps test installs them");
        return;
    };
    let directory = fresh_dir();
    let first = directory.path().join("first");
    succeeds(&install(&[("PREFIX", &first)], &[]));
    let moved = directory.path().join("moved");
    fs::rename(&first, &moved).expect("a folder can be moved");
    let script = format!(
        ". {init}; module use $MOVED/share/modulefiles; module load mel && command -v mel && mel --version &&
         echo $MANPATH $LD_LIBRARY_PATH; module unload mel; command -v mel; module help mel"
    );
    let output =
        Command::new("bash").args(["-c", &script]).env("MOVED", &moved).env("PATH", "/usr/bin:/bin").output();
    let printed = text(&output.expect("bash is there"));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], moved.join("bin/mel").display().to_string(), "{printed}");
    for place in ["share/man", "lib"] {
        assert!(lines[2].contains(&moved.join(place).display().to_string()), "{printed}");
    }
    assert_eq!(printed.matches("/bin/mel\n").count(), 1, "unloaded, it is gone: {printed}");
    assert!(printed.contains("mpirun -n 4 mel run ./app"), "{printed}");
}
