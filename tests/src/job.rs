//! One run of a program under an MPI's launcher, without or with MEL.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::artifacts::{fresh_dir, libmel, mel};
use crate::{Mpi, compile_preloadable};

/// No test program takes longer than this, unless it says so, even on a machine that is busy with other things.
const TIME_LIMIT: Duration = Duration::from_secs(180);

/// A run that has not been started yet.
#[derive(Debug)]
pub struct Job<'a> {
    mpi: &'a Mpi,
    ranks: u32,
    /// What stands before the launcher.
    front: Vec<OsString>,
    /// What stands between the launcher and the program.
    prefix: Vec<OsString>,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    time_limit: Duration,
}

/// A run that goes on.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: Command,
    captured: tempfile::TempDir,
    limit: Duration,
}

impl Running {
    /// The process of the launcher.
    pub fn launcher(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// If it does not end in time; what it printed until then is shown.
    pub fn wait(self) -> Finished {
        let Running { mut child, command, captured, limit } = self;
        let status = wait(&mut child, limit).unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let text = |name| {
            String::from_utf8_lossy(&fs::read(captured.path().join(name)).unwrap_or_default()).into_owned()
        };
        let (stdout, stderr) = (text("out"), text("err"));
        match status {
            Some(status) => Finished { code: status.code(), stdout, stderr },
            None => panic!("{command:?} did not end within {limit:?}\n{stdout}\n{stderr}"),
        }
    }
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The launcher's exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output of all ranks.
    pub stdout: String,
    /// Standard error of all ranks and of the launcher.
    pub stderr: String,
}

/// What one process wrote.
#[derive(Clone, Debug)]
pub struct Output {
    /// To standard output.
    pub stdout: String,
    /// To standard error.
    pub stderr: String,
}

impl<'a> Job<'a> {
    /// A plain run of `program` on `ranks` ranks.
    pub fn new(mpi: &'a Mpi, ranks: u32, program: impl Into<PathBuf>) -> Job<'a> {
        Job {
            mpi,
            ranks,
            front: Vec::new(),
            prefix: Vec::new(),
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            directory: None,
            time_limit: TIME_LIMIT,
        }
    }

    /// Appends arguments of the program.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable for the launcher, which hands it to every rank.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Runs in `directory`.
    #[must_use]
    pub fn current_dir(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Ends the run when it has taken this long, instead of three minutes.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Lets ranks that wait give up their processor, which those of MPICH do not do by themselves.
    #[must_use]
    pub fn patient(self) -> Self {
        if self.mpi.name != "mpich" {
            return self;
        }
        let library = compile_preloadable(self.mpi, "patient");
        self.env("LD_PRELOAD", library)
    }

    /// Puts `mel run OPTIONS` before the program.
    #[must_use]
    pub fn under_mel<S: AsRef<OsStr>>(self, options: impl IntoIterator<Item = S>) -> Self {
        self.under_mel_at(mel(), options)
    }

    /// The same, with another `mel` than the one that was built.
    #[must_use]
    pub fn under_mel_at<S: AsRef<OsStr>>(
        mut self,
        mel: impl Into<OsString>,
        options: impl IntoIterator<Item = S>,
    ) -> Self {
        self.prefix = vec![mel.into(), "run".into()];
        self.prefix.extend(options.into_iter().map(|option| option.as_ref().to_owned()));
        self.prefix.push("--".into());
        self
    }

    /// Puts a command before the launcher, which it starts with the launcher's arguments.
    #[must_use]
    pub fn launched_by<S: AsRef<OsStr>>(mut self, command: impl IntoIterator<Item = S>) -> Self {
        self.front = command.into_iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// Sets an environment variable for the ranks alone.
    #[must_use]
    pub fn through_env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let mut set = OsString::from(format!("{name}="));
        set.push(value);
        self.prefix = vec!["env".into(), set];
        self
    }

    /// Preloads `libmel.so` into the program without the `mel` command, with the given variables set.
    #[must_use]
    pub fn preloaded(mut self, variables: &[(&str, &str)]) -> Self {
        let mut preload = OsString::from("LD_PRELOAD=");
        preload.push(libmel());
        self.prefix = vec!["env".into(), preload];
        self.prefix.extend(variables.iter().map(|(name, value)| OsString::from(format!("{name}={value}"))));
        self
    }

    /// Starts the run and waits for its end.
    ///
    /// # Panics
    ///
    /// If the launcher cannot be started or does not end in time; what it printed until then is shown.
    pub fn run(self) -> Finished {
        self.start().wait()
    }

    /// Starts the run.
    ///
    /// # Panics
    ///
    /// If the launcher cannot be started.
    pub fn start(self) -> Running {
        let mut command = self.command();
        let captured = fresh_dir();
        if self.mpi.name.starts_with("openmpi") {
            // Launchers that start at once would make and remove one folder: each has its own. By its name others than us
            // may use it, for jobs of another user.
            let own = captured.path().join("s");
            let made =
                fs::create_dir(&own).and_then(|()| fs::set_permissions(&own, Permissions::from_mode(0o1777)));
            made.and_then(|()| fs::set_permissions(captured.path(), Permissions::from_mode(0o711)))
                .expect("a folder of ours");
            command.envs(["OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"].map(|name| (name, &own)));
        }
        start_in(command, self.time_limit, captured)
    }

    /// Like [`run`](Job::run), with what each process wrote in a file of its own: launchers mix the output of
    /// processes in the middle of lines. The order of processes is any.
    ///
    /// # Panics
    ///
    /// As [`run`](Job::run), and if not every process was started.
    pub fn run_apart(mut self) -> (Finished, Vec<Output>) {
        let outputs = fresh_dir();
        let script = r#"to=$1; shift; exec "$@" >"$to/$$.out" 2>"$to/$$.err""#;
        let mut prefix = ["sh", "-c", script, "sh"].map(OsString::from).to_vec();
        prefix.push(outputs.path().into());
        prefix.append(&mut self.prefix);
        self.prefix = prefix;
        let (ranks, name) = (self.ranks as usize, self.mpi.name);

        let mut finished = self.run();
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let files = fs::read_dir(outputs.path()).expect("the directory is there");
        let files = files.map(|file| file.expect("a file").path());
        let outputs: Vec<Output> = files
            .filter(|path| path.extension().is_some_and(|extension| extension == "out"))
            .map(|path| Output { stdout: text(&path), stderr: text(&path.with_extension("err")) })
            .collect();
        for output in &outputs {
            finished.stdout += &output.stdout;
            finished.stderr += &output.stderr;
        }
        finished.expect(outputs.len() == ranks, &format!("{name}: every process runs: {outputs:#?}"));
        (finished, outputs)
    }

    fn command(&self) -> Command {
        let mut command = self.mpi.launcher(self.ranks);
        if let Some((first, others)) = self.front.split_first() {
            let launcher = command;
            command = Command::new(first);
            command.args(others).arg(launcher.get_program()).args(launcher.get_args());
            let set = launcher.get_envs().filter_map(|(name, value)| Some((name, value?)));
            command.envs(set);
        }
        command.args(&self.prefix).arg(&self.program).args(&self.args);
        // Tests read all that there is to say of a run; `one_screen_at_the_end` has what is shown without it.
        command.env("MEL_FULL", "1");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

/// The sentences that MEL marks, each without its mark and in one line: longer ones go on in the next lines.
#[must_use]
pub fn marked_sentences(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("[MEL] "), all.last_mut()) {
            (Some(begin), _) => all.push(begin.trim().to_owned()),
            (None, Some(last)) if line.starts_with("      ") => *last += &format!(" {}", line.trim()),
            _ => {}
        }
    }
    all
}

impl Finished {
    /// The lines of standard error that MEL wrote.
    pub fn mel_lines(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter(|line| line.starts_with("[MEL]"))
    }

    /// Panics with everything the run printed unless `condition` holds.
    ///
    /// # Panics
    ///
    /// If the condition is false.
    #[track_caller]
    pub fn expect(&self, condition: bool, what: &str) {
        assert!(
            condition,
            "{what}\nexit code {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.code, self.stdout, self.stderr
        );
    }
}

/// Starts a command, with its output captured.
///
/// # Panics
///
/// If it cannot be started.
pub(crate) fn start(command: Command, limit: Duration) -> Running {
    start_in(command, limit, fresh_dir())
}

fn start_in(mut command: Command, limit: Duration, captured: tempfile::TempDir) -> Running {
    let file = |name| fs::File::create(captured.path().join(name)).expect("output can be captured");
    command.stdin(Stdio::null());
    command.stdout(file("out"));
    command.stderr(file("err"));
    // A group of its own, so that a run that hangs can be ended with everything that it started.
    command.process_group(0);
    let child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    Running { child, command, captured, limit }
}

/// Waits for the launcher; `None` when it took too long and was ended with all its processes.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            for signal in ["-TERM", "-KILL"] {
                // The launchers pass the first one on to their ranks, which may be in groups of their own.
                let group = format!("-{}", child.id());
                Command::new("kill").args([signal, "--", &group]).status()?;
                thread::sleep(Duration::from_secs(2));
            }
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
