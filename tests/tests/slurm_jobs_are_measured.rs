//! Jobs of Slurm are measured as those of an MPI's own launcher are, and what they leave when they are ended is read.

use std::process::Command;

use mel_tests::artifacts::{fresh_dir, libmel, mel};
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

#[test]
#[ignore = "slow"]
fn of_a_job_that_hung_until_it_was_cancelled_it_is_known_who_waited() {
    for (mpi, plugin) in &mpis() {
        let directory = fresh_dir();
        let program = compile_special(mpi, "stuck");
        let script = format!(
            "job=$(sbatch --parsable -n 4 --ntasks-per-node=2 -o job.out --wrap \
             'srun --mpi={plugin} mel run -o run {program} mismatch')
             for second in $(seq 60); do mel stuck run 2>/dev/null | grep -q 'never meet' && break; sleep 1; done
             scancel $job; while squeue -h -j $job | grep -q .; do sleep 1; done",
            program = program.display()
        );
        in_slurm(directory.path(), &script);
        let output = Command::new(mel()).arg("stuck").arg(directory.path().join("run")).output();
        let output = output.expect("mel can be started").stdout;
        let words: Vec<String> =
            String::from_utf8_lossy(&output).split_whitespace().map(str::to_owned).collect();
        let text = words.join(" ");
        assert!(text.contains("No process of the run is there any more"), "{}: {text}", mpi.name);
        assert!(
            text.contains("never meet") && text.contains("rank 2 is in MPI_Bcast"),
            "{}: {text}",
            mpi.name
        );
    }
}

/// Each job of an array finds its own directory, by default and where `-o` names it.
#[test]
#[ignore = "slow"]
fn jobs_of_an_array_have_a_directory_each() {
    for (mpi, plugin) in &mpis() {
        let directory = fresh_dir();
        let program = Program::named("sendrecv").compile(mpi);
        let name = program.file_name().expect("a file").to_string_lossy().into_owned();
        let program = program.display();
        let run = in_slurm(
            directory.path(),
            &format!(
                "sbatch --wait --array 1-3 -n 2 -o job-%a.out --wrap 'srun --mpi={plugin} mel run {program}
                 srun --mpi={plugin} mel run -o named-%A-%a {program}'"
            ),
        );
        run.expect(run.code == Some(0), mpi.name);
        // The first job of a Slurm that has just been started.
        for index in 1..=3 {
            for name in [format!("mel-{name}-1_{index}-1"), format!("named-1-{index}")] {
                let profile = Profile::read(&directory.path().join(name));
                assert_eq!(profile.contradictions(2), [""; 0], "{}: job {index}", mpi.name);
            }
        }
    }
}

/// A node has nothing of MEL but what `sbcast` has brought there: the command alone, which is told where the library is, or both.
#[test]
#[ignore = "slow"]
fn mel_is_broadcast_to_the_nodes() {
    for (mpi, plugin) in &mpis() {
        let directory = fresh_dir();
        let program = Program::named("sendrecv").compile(mpi);
        let script = format!(
            "export ON_NODE=$PWD/node; mkdir -p node/both node/library
             sbatch --wait -N 1 -n 2 -o job.out --wrap '
             set -e
             sbcast {mel} $ON_NODE/both/mel
             sbcast {libmel} $ON_NODE/both/libmel.so
             sbcast {libmel} $ON_NODE/library/libmel.so
             srun --mpi={plugin} $ON_NODE/both/mel run -o both {program}
             MEL_LIBRARY=$ON_NODE/library/libmel.so srun --mpi={plugin} --bcast=$ON_NODE/alone mel run -o library {program}
             '; code=$?; cat job.out; ls node; exit $code",
            mel = mel().display(),
            libmel = libmel().display(),
            program = program.display()
        );
        let run = in_slurm(directory.path(), &script);
        run.expect(run.code == Some(0), mpi.name);
        for name in ["both", "library"] {
            let profile = Profile::read(&directory.path().join(name));
            assert_eq!(profile.contradictions(2), [""; 0], "{}: {name}", mpi.name);
        }
    }
}

/// `srun` ends no rank because of another one: each ends by itself, and only one says why.
#[test]
#[ignore = "slow"]
fn no_rank_waits_for_one_that_was_not_started() {
    for (mpi, plugin) in &mpis() {
        let directory = fresh_dir();
        let program = Program::named("sendrecv").compile(mpi);
        let run = in_slurm(
            directory.path(),
            &format!(
                "mkdir run; touch run/profile.json; srun --mpi={plugin} -n 8 --ntasks-per-node=2 mel run -o run {}",
                program.display()
            ),
        );
        run.expect(run.code == Some(1) && run.stdout.is_empty(), mpi.name);
        run.expect(
            run.mel_lines().count() == 1 && run.stderr.contains("--force"),
            "one line with the remedy",
        );
    }
}

/// `srun` starts the ranks of an MPI that its plugin does not know: each is alone.
#[test]
#[ignore = "slow"]
fn srun_without_a_plugin_is_told() {
    for (mpi, plugin) in mpis().iter().filter(|(mpi, _)| mpi.name == "mpich") {
        let directory = fresh_dir();
        let program = Program::named("selfsend").compile(mpi);
        let run = in_slurm(directory.path(), &format!("srun --mpi=none -n 2 mel run {}", program.display()));
        let lines: Vec<&str> = run.mel_lines().filter(|line| line.contains("2 processes")).collect();
        run.expect(
            lines.len() == 1 && lines[0].contains(&format!("--mpi={plugin}")),
            "one line with the remedy",
        );
    }
}
