//! Starts what tells of each node, follows it, and starts it again where it has ended.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mel_log::settings::without_mark;

use super::message::{self, Message};
use super::mirror::Mirror;
use super::sender::Sender;
use super::word::{encoded, is_word};

/// How often in a row it is started again where it has ended soon.
const AGAIN: u32 = 5;
/// What has told for so long has not ended soon.
const LONG: Duration = Duration::from_secs(60);
/// Before it is started again, at first; twice as long each time.
const PAUSE: Duration = Duration::from_millis(500);
/// Without news for so long the numbers of a node are called old.
const OLD: Duration = Duration::from_secs(5);
/// What a node may have told before it says that this is all: some hundreds of tables.
const MOST_PENDING: usize = 1 << 20;

/// A node, and where the directory is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// As the launcher knows it.
    pub host: String,
    /// The run's directory there.
    pub directory: PathBuf,
}

impl Node {
    /// As the user has written it: `HOST`, or `HOST:DIR`; without a directory it is that one.
    ///
    /// # Errors
    /// It has no name.
    pub fn parse(text: &str, directory: &Path) -> Result<Node, &'static str> {
        let (host, directory) = match text.split_once(':') {
            Some((host, other)) if !other.is_empty() => (host, Path::new(other)),
            _ => (text.trim_end_matches(':'), directory),
        };
        // No launcher takes it for an option, and no shell for more than a word.
        if !is_word(host) {
            return Err("give HOST, or HOST:DIR; a name of a host has letters, digits and _=,./+@- in it");
        }
        Ok(Node { host: host.into(), directory: directory.into() })
    }
}

/// A command with `{host}`, `{dir}`, `{every}` and `{mel}` in it, word by word. What is filled in is a word for a shell, too; that for `{dir}`
/// is one that `mel gather` understands.
///
/// # Errors
/// The path of this command is to be filled in, and a shell might change it; in a sentence.
pub fn words(command: &str, node: &Node, every: Duration) -> Result<Vec<String>, String> {
    let every = format!("{}ms", every.as_millis());
    let mel = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
    let mel = mel.unwrap_or_else(|| "mel".into());
    if command.contains("{mel}") && !is_word(&mel) {
        return Err(format!(
            "a shell on the way might change {mel}: in --gather, write in place of {{mel}} how mel is called there"
        ));
    }
    let directory = encoded(node.directory.as_os_str().as_bytes());
    let fill = |word: &str| {
        let word = word.replace("{host}", &node.host).replace("{every}", &every);
        word.replace("{mel}", &mel).replace("{dir}", &directory)
    };
    Ok(command.split_whitespace().map(fill).collect())
}

/// What is known of a node.
#[derive(Debug, Default)]
struct Known {
    /// When it told all for the last time.
    told: Option<Instant>,
    is_there: bool,
    /// What is wrong, in a sentence.
    trouble: Option<String>,
}

#[derive(Debug)]
struct State {
    mirror: Mirror,
    nodes: Vec<Known>,
    ends: bool,
}

/// Shared by the threads that follow nodes and the one that reads.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// What was started for each node.
    children: Mutex<Vec<Option<Child>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows a run on several nodes. What was started ends when this is dropped.
#[derive(Debug)]
pub struct Gathering {
    /// The directory as this machine sees it.
    here: Sender,
    shown: PathBuf,
    nodes: Vec<Node>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Gathering {
    /// Starts a command for each node, whose words are given by `command`. What this machine sees in the directory is read, too.
    ///
    /// # Errors
    /// There is no room for copies, or no thread.
    pub fn start(
        directory: &Path,
        nodes: Vec<Node>,
        command: impl Fn(&Node) -> Result<Vec<String>, String>,
    ) -> io::Result<Gathering> {
        let state = State {
            mirror: Mirror::new()?,
            nodes: nodes.iter().map(|_| Known::default()).collect(),
            ends: false,
        };
        let children = Mutex::new(nodes.iter().map(|_| None).collect());
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), children });
        let mut gathering = Gathering {
            here: Sender::new(directory),
            shown: directory.to_owned(),
            nodes,
            shared: Arc::clone(&shared),
            threads: Vec::new(),
        };
        for (place, node) in gathering.nodes.iter().enumerate() {
            let (of_thread, words) = (Arc::clone(&shared), command(node).map_err(io::Error::other)?);
            let follow = move || follow(&of_thread, place, &words);
            gathering.threads.push(thread::Builder::new().name("gather".into()).spawn(follow)?);
        }
        Ok(gathering)
    }

    /// The directory of the run, as the user has named it.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Waits until each node has told something, or cannot; not longer than that.
    pub fn wait_for_first(&self, most: Duration) {
        let is_silent =
            |state: &mut State| state.nodes.iter().any(|node| node.told.is_none() && node.trouble.is_none());
        let _ = self.shared.changed.wait_timeout_while(lock(&self.shared.state), most, is_silent);
    }

    /// Reads the copies, which nobody changes meanwhile; and what there is to say of nodes, in a sentence each.
    pub fn read<R>(&mut self, read: impl FnOnce(&Path) -> R) -> (R, Vec<String>) {
        let mut state = lock(&self.shared.state);
        // What this machine sees itself comes before what nodes tell: it is the last number, as they are counted from 0.
        let mut told = Vec::new();
        if self.here.tell(&mut told).is_ok() {
            let mut from = &told[..];
            let all = std::iter::from_fn(|| message::read(&mut from).ok().flatten()).collect();
            let _ = state.mirror.apply(self.nodes.len(), all);
        }
        let what = read(state.mirror.path());
        let remarks = self
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(place, node)| remark(node, &state.nodes[place], state.mirror.count(place)));
        let remarks = remarks.collect();
        (what, remarks)
    }
}

/// What there is to say of a node.
fn remark(node: &Node, known: &Known, files: usize) -> Option<String> {
    let host = &node.host;
    let old = known.told.map(|told| told.elapsed()).filter(|age| known.trouble.is_some() || *age > OLD);
    let mut text = match (&known.trouble, known.told) {
        (Some(trouble), _) => format!("{host}: {trouble}"),
        (None, None) => format!("{host}: not heard from yet"),
        (None, Some(_)) if old.is_some() => format!("{host}: no news"),
        (None, Some(_)) if !known.is_there => {
            return Some(format!("{host}: {} is not there", node.directory.display()));
        }
        (None, Some(_)) => return None,
    };
    if let (Some(age), 1..) = (old, files) {
        let _ = write!(text, "; its ranks are shown as they were {} s ago", age.as_secs());
    }
    Some(text)
}

impl Drop for Gathering {
    fn drop(&mut self) {
        lock(&self.shared.state).ends = true;
        self.shared.changed.notify_all();
        for child in lock(&self.shared.children).iter_mut().flatten() {
            // Its standard input has ended, too; that it ends is not waited for.
            drop(child.stdin.take());
            let _ = child.kill();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What a thread does for a node.
fn follow(shared: &Shared, place: usize, words: &[String]) {
    let mut failures = 0;
    loop {
        let began = Instant::now();
        let why = match once(shared, place, words) {
            Ok(status) => status,
            Err(error) => error.to_string(),
        };
        failures = if began.elapsed() >= LONG { 1 } else { failures + 1 };
        let given_up = failures > AGAIN;
        {
            let mut state = lock(&shared.state);
            if state.ends {
                return;
            }
            let what = words.first().map_or("", String::as_str);
            let next = match given_up {
                true => "it is not started again".to_owned(),
                false => format!("starting it again ({failures} of {AGAIN})"),
            };
            state.nodes[place].trouble = Some(format!("what tells of it has ended ({what}: {why}); {next}"));
        }
        shared.changed.notify_all();
        if given_up {
            return;
        }
        let pause = PAUSE * 2u32.saturating_pow(failures.saturating_sub(1).min(6));
        let waited = shared.changed.wait_timeout_while(lock(&shared.state), pause, |state| !state.ends);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.ends {
            return;
        }
    }
}

/// Starts what tells, and follows it to its end: how it has ended.
fn once(shared: &Shared, place: usize, words: &[String]) -> io::Result<String> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = {
        let mut children = lock(&shared.children);
        // Under this lock: who ends all sees it, or it is not started.
        if lock(&shared.state).ends {
            return Ok(String::new());
        }
        let mut child = command.spawn()?;
        let pipes = (child.stdout.take(), child.stderr.take());
        // It ends with this pipe, once it knows that there is one.
        if let Some(input) = &mut child.stdin {
            let _ = input.write_all(b"watch\n");
        }
        children[place] = Some(child);
        pipes
    };
    let said = child.1.take().map(last_line);
    let mut followed = child.0.take().map_or(Ok(()), |out| listen(shared, place, BufReader::new(out)));
    let child = lock(&shared.children)[place].take();
    let status = child.map(|mut child| {
        drop(child.stdin.take());
        // Where it was killed while it told something, that is why what it told is cut off.
        let is_cut = followed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
        if is_cut && ends_badly(&mut child) {
            followed = Ok(());
        }
        if followed.is_err() {
            let _ = child.kill();
        }
        child.wait()
    });
    // Whoever has inherited it may keep it open.
    let said = said.and_then(|said| said.join().ok()).unwrap_or_default();
    followed.map_err(
        |error| if said.is_empty() { error } else { io::Error::other(format!("{error}; {said}")) },
    )?;
    let status = status.transpose()?.map_or_else(String::new, |status| status.to_string());
    Ok(if said.is_empty() { status } else { format!("{status}; {said}") })
}

/// Whether a process that tells nothing more ends by itself within a second, and not well.
fn ends_badly(child: &mut Child) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        match child.try_wait() {
            Ok(Some(status)) => return !status.success(),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(_) => return false,
        }
    }
    false
}

/// The last line that a command writes on its standard error, once it has closed that, without MEL's mark.
pub fn last_line(from: ChildStderr) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut last = String::new();
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while let Ok(1..) = from.by_ref().take(4096).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() {
                last = without_mark(&text).chars().take(200).collect();
            }
            line.clear();
        }
        last
    })
}

/// Takes in what it tells.
fn listen(shared: &Shared, place: usize, mut from: impl BufRead) -> io::Result<()> {
    message::expect_begin(&mut from)?;
    let mut pending = Vec::new();
    while let Some(told) = message::read(&mut from)? {
        let all = match told {
            Message::Now { is_there } => Some(is_there),
            _ => None,
        };
        pending.push(told);
        if pending.len() > MOST_PENDING {
            return Err(io::Error::other("it tells without an end"));
        }
        if let Some(is_there) = all {
            let mut state = lock(&shared.state);
            state.mirror.apply(place, std::mem::take(&mut pending))?;
            let known = &mut state.nodes[place];
            (known.told, known.is_there, known.trouble) = (Some(Instant::now()), is_there, None);
            drop(state);
            shared.changed.notify_all();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str) -> Node {
        Node { host: host.into(), directory: "/run dir".into() }
    }

    #[test]
    fn a_node_has_a_directory_of_its_own_or_that_of_the_run() {
        let parse = |text: &str| Node::parse(text, Path::new("run"));
        assert_eq!(parse("a").unwrap(), Node { host: "a".into(), directory: "run".into() });
        assert_eq!(parse("me@a:/tmp/x").unwrap(), Node { host: "me@a".into(), directory: "/tmp/x".into() });
        assert_eq!(parse("a:").unwrap().directory, Path::new("run"));
        for text in ["", ":x", "-oProxyCommand=x", "a;b", "$(b)", "a b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_command_is_words_in_which_places_are_filled() {
        let words =
            words("ssh {host} mel gather {dir} --every {every}", &node("b"), Duration::from_millis(200));
        assert_eq!(words.unwrap(), ["ssh", "b", "mel", "gather", "/run%20dir", "--every", "200ms"]);
    }

    fn until(gathering: &mut Gathering, what: &str) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let (_, remarks) = gathering.read(|_| ());
            if remarks.iter().any(|remark| remark.contains(what)) {
                return remarks;
            }
            assert!(Instant::now() < deadline, "{what}: {remarks:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_cannot_tell_is_started_again_and_said() {
        let directory = tempfile::tempdir().unwrap();
        let run = |script: &'static str| {
            let command = move |_: &Node| Ok(vec!["sh".into(), "-c".into(), script.into()]);
            Gathering::start(directory.path(), vec![node("b")], command).unwrap()
        };
        let mut gathering = run("echo no such host >&2; exit 7");
        let remarks = until(&mut gathering, "starting it again (2 of 5)");
        assert!(remarks[0].starts_with("b: what tells of it has ended (sh: "), "{remarks:?}");
        drop(gathering);
        let mut gathering = run("echo no such host >&2; exit 7");
        let remarks = until(&mut gathering, "no such host");
        assert!(remarks[0].contains("it did not say what `mel gather` says"), "{remarks:?}");
        drop(gathering);
        // Half of what it tells, and then it is killed.
        let mut gathering = run("echo 'mel gather 1'; printf '{'; kill -9 $$");
        let remarks = until(&mut gathering, "starting it again");
        assert!(remarks[0].contains("signal: 9"), "{remarks:?}");
        drop(gathering);
        let mut gathering = run("echo 'mel gather 1'; printf '{'");
        let remarks = until(&mut gathering, "starting it again");
        assert!(remarks[0].contains("unexpected end of file"), "{remarks:?}");
        drop(gathering);
        // One that tells nothing is ended with the watcher.
        let mut gathering = run("exec sleep 1000");
        until(&mut gathering, "not heard from yet");
    }
}
