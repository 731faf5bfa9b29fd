//! Jobs of Slurm are measured as those of an MPI's own launcher are, and what they leave when they are ended is read.

use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::profile::Profile;
use mel_tests::slurm::{in_slurm, mpis};
use mel_tests::{Program, compile_special};

#[test]
#[ignore = "slow"]
fn srun_starts_all_ranks_under_mel() {
    for (mpi, plugin) in &mpis() {
        let directory = fresh_dir();
        let program = Program::named("sendrecv").compile(mpi);
        let run = in_slurm(
            directory.path(),
            &format!("srun --mpi={plugin} -n 8 --ntasks-per-node=2 mel run -o run {}", program.display()),
        );
        run.expect(run.code == Some(0) && run.stdout.ends_with("OK\n"), mpi.name);
        run.expect(run.stderr.contains("8 ranks on "), "there is no verdict");
        let profile = Profile::read(&directory.path().join("run"));
        assert_eq!(profile.contradictions(8), [""; 0], "{}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn a_job_that_reaches_its_time_limit_leaves_a_report() {
    let directory = fresh_dir();
    let mut script = String::new();
    for (mpi, plugin) in &mpis() {
        let program = compile_special(mpi, "endless");
        // Both at a time, since the shortest limit is a minute.
        script += &format!(
            "sbatch --wait -t 1 -n 4 --ntasks-per-node=2 -o job-%j.out \
             --wrap 'srun --mpi={plugin} mel run -o {} {}' &\n",
            mpi.name,
            program.display()
        );
    }
    let run = in_slurm(directory.path(), &(script + "wait; cat job-*.out"));
    for (mpi, _) in &mpis() {
        run.expect(run.stdout.contains("DUE TO TIME LIMIT"), "the job was ended by something else");
        let report = Command::new(mel()).arg("report").arg(directory.path().join(mpi.name)).output();
        let report = report.expect("mel can be started");
        let text = String::from_utf8_lossy(&report.stdout);
        assert!(report.status.success(), "{}: {}", mpi.name, String::from_utf8_lossy(&report.stderr));
        assert!(text.contains("4 ranks on ") && text.contains("MPI_Sendrecv"), "{}: {text}", mpi.name);
    }
}
