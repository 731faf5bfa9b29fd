//! Where nothing or little is measured because of how the program was started, one line says so, with the remedy.

use mel_tests::artifacts::{absent, fresh_dir};
use mel_tests::{Finished, Job, Mpi, Program};

/// Runs a program in an empty directory under `mel run`.
fn run(job: Job<'_>, options: &[&str]) -> Finished {
    let directory = fresh_dir();
    job.current_dir(directory.path()).under_mel(options).run()
}

#[test]
fn the_launcher_of_another_mpi_is_told_once() {
    let all = Mpi::all();
    let named = |name: &str| all.iter().find(|mpi| mpi.name == name);
    let (Some(open_mpi), Some(mpich)) = (named("openmpi"), named("mpich")) else {
        return absent("Open MPI or MPICH", "scripts/install-deps installs both");
    };
    for (launcher, linked, remedy) in [(open_mpi, mpich, "--mpi=pmi2"), (mpich, open_mpi, "--mpi=pmix")] {
        let executable = Program::named("selfsend").compile(linked);
        for options in [&[][..], &["-o", "run"]] {
            // As the launcher of the other does, so that it may start as root.
            let job = Job::new(launcher, 2, &executable).env("OMPI_ALLOW_RUN_AS_ROOT", "1");
            let run = run(job.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"), options);
            let what = format!("a program of {} started by {}", linked.name, launcher.name);
            run.expect(run.code == Some(0) && run.stdout.matches("OK").count() == 2, &what);
            let lines: Vec<&str> = run.mel_lines().filter(|line| line.contains("2 processes")).collect();
            run.expect(lines.len() == 1 && lines[0].contains(remedy), &what);
            run.expect(!run.stderr.contains("--force"), &what);
        }
    }
}

#[test]
fn a_program_of_one_process_is_no_mistake() {
    for mpi in &Mpi::all() {
        let run = run(Job::new(mpi, 1, Program::named("selfsend").compile(mpi)), &[]);
        run.expect(run.code == Some(0) && !run.stderr.contains("is alone in"), mpi.name);
    }
}

#[test]
fn a_program_that_does_not_initialise_mpi_says_so_once() {
    for mpi in &Mpi::all() {
        let run = run(Job::new(mpi, 2, Program::named("never_init").compile(mpi)), &[]);
        let lines: Vec<&str> = run.mel_lines().collect();
        run.expect(lines.len() == 1 && lines[0].contains("ended without a call of MPI_Init"), mpi.name);
    }
}

#[test]
fn a_shell_around_the_program_is_no_mistake() {
    for mpi in &Mpi::all() {
        let program = Program::named("selfsend").compile(mpi);
        let script = format!("{}; exit 0", program.display());
        let run = run(Job::new(mpi, 1, "bash").args(["-c", &script]), &[]);
        run.expect(run.code == Some(0) && !run.stderr.contains("MPI_Init"), mpi.name);
    }
}
