//! What `make deb` and `make dist` make works where it is unpacked; the recipes for other packagers are well-formed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mel_tests::artifacts::{absent, fresh_dir, installed_by, mel, root};
use mel_tests::{Job, Mpi, compile_source};

fn script(name: &str, arguments: &[&str]) -> Output {
    let script = root().join("scripts").join(name);
    Command::new(script).args(arguments).output().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn succeeds(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    printed
}

/// The file that a script says it has made: `dist: PATH (size) …`.
fn made(printed: &str) -> PathBuf {
    root().join(printed.split_whitespace().nth(1).expect("a path"))
}

#[test]
#[ignore = "slow"]
fn the_archive_needs_no_newer_glibc_than_its_name_says() {
    let archive = made(&succeeds(&script("dist", &[])));
    let directory = fresh_dir();
    let unpacked = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(directory.path()).status();
    assert!(unpacked.expect("tar").success());
    let name = archive.file_name().expect("a name").to_string_lossy().replace(".tar.gz", "");
    let tree = directory.path().join(&name);
    let promised: Vec<u32> = numbers(name.rsplit("glibc").next().expect("a version"));
    assert!(cfg!(not(target_arch = "x86_64")) || promised <= vec![2, 28], "{name}");
    for file in ["bin/mel", "lib/libmel.so", "lib/libmpit_events.so"] {
        let listed = Command::new("readelf").args(["-W", "--version-info"]).arg(tree.join(file)).output();
        let listed = String::from_utf8(listed.expect("readelf (binutils)").stdout).expect("text");
        let needs = listed.lines().filter(|line| line.contains("Flags: none"));
        let versions = needs.filter_map(|line| line.split("Name: GLIBC_").nth(1)?.split_whitespace().next());
        let newest = versions.map(numbers).max().expect("it needs glibc");
        assert!(newest <= promised, "{file} needs {newest:?}, and {name} promises {promised:?}");
    }
    // And it runs from where it was unpacked, with what lies beside it.
    let mpi = &Mpi::all()[0];
    let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
    let output = directory.path().join("run");
    let job = Job::new(mpi, 2, program).args(["--iterations", "5"]);
    let run =
        job.under_mel_at(tree.join("bin/mel"), ["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0) && output.join("traces.otf2").exists(), "the archive's mel");
    let flags = Command::new("pkg-config")
        .args(["--cflags", "mel"])
        .env("PKG_CONFIG_PATH", tree.join("lib/pkgconfig"))
        .output()
        .expect("pkg-config");
    let flags = succeeds(&flags);
    let include = PathBuf::from(flags.trim().strip_prefix("-I").expect("a folder"));
    assert!(include.join("mpit_events.h").is_file(), "{flags}");
}

#[test]
#[ignore = "slow"]
fn the_wheel_measures_and_reads_where_pip_has_installed_it() {
    let Some(arrow) = installed_by("scripts/pypi-readers", Some("pyarrow")) else { return };
    let wheel = made(&succeeds(&script("wheel", &[])));
    let name = wheel.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(cfg!(not(target_arch = "x86_64")) || name.contains("-py3-none-manylinux_2_28_x86_64."), "{name}");
    let directory = fresh_dir();
    // Beside what else a user has there: an environment with pyarrow.
    let python = arrow.join("bin/python");
    let place = directory.path().join("environment");
    let run = |program: &Path, arguments: &[&OsStr]| {
        let output = Command::new(program).args(arguments).env("PIP_DISABLE_PIP_VERSION_CHECK", "1").output();
        succeeds(&output.expect("python can be started"))
    };
    run(&python, &["-m", "venv"].map(OsStr::new).into_iter().chain([place.as_os_str()]).collect::<Vec<_>>());
    let install =
        ["-m", "pip", "install", "--no-index"].map(OsStr::new).into_iter().chain([wheel.as_os_str()]);
    let own = place.join("bin/python");
    run(&own, &install.collect::<Vec<_>>());
    let mpi = &Mpi::all()[0];
    let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
    let output = directory.path().join("run");
    let job = Job::new(mpi, 4, program).args(["--iterations", "20", "--slow-rank", "1", "--slow-us", "4000"]);
    let options = ["--profile", "calls,queues,matrix", "--vars", "mel_*", "-o"].map(OsStr::new).into_iter();
    let measured = job.under_mel_at(place.join("bin/mel"), options.chain([output.as_os_str()])).run();
    measured.expect(measured.code == Some(0), "the wheel's mel");
    let reader = root().join("tests/readers/read_tables.py");
    let read = Command::new(own)
        .arg(reader)
        .arg(&output)
        .env(
            "PYTHONPATH",
            succeeds(
                &Command::new(&python)
                    .args(["-c", "import site; print(site.getsitepackages()[0])"])
                    .output()
                    .expect("python"),
            )
            .trim(),
        )
        .output();
    let tables: serde_json::Value = serde_json::from_str(&succeeds(&read.expect("python"))).expect("JSON");
    assert_eq!(
        tables["units"],
        serde_json::json!({"total_s": "s", "bytes_sent": "B", "calls": "1"}),
        "{tables}"
    );
    assert_eq!(tables["ranks"], 4, "{tables}");
    assert_eq!(tables["queues"], 16, "{tables}");
    assert_eq!(tables["sums_agree"], true, "{tables}");
    for (table, rows) in [("verdict", 1), ("waits", 1), ("matrix", 4), ("variables", 4)] {
        assert!(tables[table].as_u64() >= Some(rows), "{table}: {tables}");
    }
    assert!(tables["site"].as_str().is_some_and(|site| site.starts_with("halo2d.c:")), "{tables}");
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|number| number.parse().expect("a number")).collect()
}

#[test]
#[ignore = "slow"]
fn the_debian_package_depends_on_the_c_library_alone() {
    let package = made(&succeeds(&script("deb", &[])));
    let field = |name: &str| {
        let output = Command::new("dpkg-deb").arg("--field").arg(&package).arg(name).output();
        succeeds(&output.expect("dpkg-deb")).trim().to_owned()
    };
    assert_eq!(
        format!("mel {}", field("Version")),
        succeeds(&Command::new(mel()).arg("--version").output().expect("mel")).trim()
    );
    let depends = field("Depends");
    for needed in depends.split(',').filter_map(|needed| needed.split_whitespace().next()) {
        assert!(["libc6", "libgcc-s1"].contains(&needed), "{depends}");
    }
    let listed =
        succeeds(&Command::new("dpkg-deb").arg("--contents").arg(&package).output().expect("dpkg-deb"));
    for file in
        ["usr/bin/mel", "usr/lib/libmel.so", "usr/share/man/man1/mel-run.1.gz", "usr/share/doc/mel/copyright"]
    {
        assert!(listed.contains(&format!(" ./{file}\n")), "{file}: {listed}");
    }
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
}

#[test]
#[ignore = "slow"]
fn the_debian_package_works_on_a_clean_system() {
    let check = script("test-deb", &["--check"]);
    if !check.status.success() {
        absent("a clean system", String::from_utf8_lossy(&check.stdout).trim_end());
        return;
    }
    succeeds(&script("deb", &[]));
    let printed = succeeds(&script("test-deb", &[]));
    assert!(printed.contains("works on a clean Debian 12, and leaves nothing behind"), "{printed}");
}

#[test]
fn the_recipes_are_python() {
    let parse = "import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]";
    let recipes = ["packaging/spack/package.py", "packaging/mel-main.eb"].map(|name| root().join(name));
    succeeds(&Command::new("python3").args(["-c", parse]).args(recipes).output().expect("python3"));
}

#[test]
fn the_recipes_install_what_make_install_installs() {
    // EasyBuild checks for these files.
    let recipe = std::fs::read_to_string(root().join("packaging/mel-main.eb")).expect("a recipe");
    let files = recipe.split("'files': [").nth(1).and_then(|rest| rest.split(']').next()).expect("files");
    let directory = fresh_dir();
    let install = root().join("scripts/install");
    succeeds(&Command::new(install).env("PREFIX", directory.path()).output().expect("a script of ours"));
    for file in files.split(',').map(|file| file.trim().trim_matches('\'')) {
        assert!(directory.path().join(file).is_file(), "{file}");
    }
}

#[test]
fn the_notes_of_a_release_are_of_its_version() {
    let notes = succeeds(&script("release", &["--notes"]));
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let version =
        manifest.split("version = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a version");
    assert!(notes.starts_with(&format!("# MEL {version}\n\n### ")), "{notes:.200}");
    assert!(!notes.contains("\n## ["), "one version's");
    let recipe = std::fs::read_to_string(root().join("packaging/conda/meta.yaml")).expect("a recipe");
    assert!(
        recipe.contains(&format!("version = \"{version}\"")),
        "the recipe has another version than {version}"
    );
}

/// Cargo installs no library: the command works with results, and says what `run` lacks.
#[test]
#[ignore = "slow"]
fn cargo_installs_a_command_that_says_what_it_lacks() {
    let directory = fresh_dir();
    let install = ["cargo", "install", "--locked", "--quiet", "--path", "mel", "--root"];
    let mut build = Command::new(root().join("scripts/build"));
    succeeds(&build.args(install).arg(directory.path()).output().expect("a script of ours"));
    let mel = directory.path().join("bin/mel");
    let mpi = &Mpi::all()[0];
    let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
    let measured = directory.path().join("measured");
    let job = Job::new(mpi, 2, program).args(["--iterations", "5"]);
    let run = job.under_mel(["-o".as_ref(), measured.as_os_str()]).run();
    run.expect(run.code == Some(0), "the mel of this build");
    let report = Command::new(&mel).arg("report").arg(&measured).env_remove("MEL_LIBRARY").output();
    assert!(succeeds(&report.expect("mel")).contains("halo2d"));
    let run =
        || Command::new(&mel).args(["run", "sh", "-c", "echo it ran"]).env_remove("MEL_LIBRARY").output();
    let refused = run().expect("mel");
    let line = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && refused.stdout.is_empty(), "{line}");
    let remedy = format!("run `make install PREFIX={}` where MEL's source is", directory.path().display());
    assert!(line.lines().count() == 1 && line.contains(&remedy), "{line}");
    // The remedy.
    let install = root().join("scripts/install");
    succeeds(&Command::new(install).env("PREFIX", directory.path()).output().expect("a script of ours"));
    assert_eq!(succeeds(&run().expect("mel")), "it ran\n");
}
