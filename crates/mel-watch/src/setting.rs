//! Has ranks of a run that goes on set control variables, and says what came of it.
//!
//! Only this writes into the directory of a run: a small file for each rank that is asked ([`mel_log::control`]), which the rank takes away.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::ensure;
use mel_log::control::{self, Answer, Request, Verdict};
use mel_log::profile::Ended;
use mel_log::profile::text::layout::ranks as ranks_in_words;
use mel_log::setting::Setting;

use serde::{Deserialize, Serialize};

use super::elsewhere::{Elsewhere, Report};
use super::feed::Frames;

/// How long an answer is waited for. A rank answers in its next MPI call.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// The same of a rank whose process seems to be gone.
const SHORT: Duration = Duration::from_secs(1);
/// Between two looks for answers.
const TURN: Duration = Duration::from_millis(50);
/// The lines that are kept of earlier settings.
const LINES: usize = 6;

/// What came of a setting on some ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The ranks, ascending; none where there is no rank that it is for.
    pub ranks: Vec<u32>,
    /// `NAME=VALUE`
    pub setting: String,
    /// None where there was no answer.
    pub verdict: Option<Verdict>,
    /// In a line.
    pub text: String,
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(ranks) = ranks_in_words(&self.ranks) {
            write!(f, "{ranks}: ")?;
        }
        write!(f, "{}: {}", self.setting, self.text)
    }
}

/// Whether all have their values.
pub fn all_set(told: &[Told]) -> bool {
    !told.is_empty() && told.iter().all(|told| told.verdict.is_some_and(Verdict::is_success))
}

/// What came of each setting, by its place: the ranks that say the same together.
type Together = BTreeMap<(usize, Option<Verdict>, String), Vec<u32>>;

fn in_order(together: Together, settings: &[Setting]) -> Vec<Told> {
    let line = |((place, verdict, text), mut ranks): ((usize, Option<Verdict>, String), Vec<u32>)| {
        ranks.sort_unstable();
        ranks.dedup();
        Told { ranks, setting: settings[place].to_string(), verdict, text }
    };
    together.into_iter().map(line).collect()
}

/// Has the ranks that the settings are for set them, those in this directory and those elsewhere, and waits for what they say; ranks that
/// say the same together.
///
/// # Errors
/// No rank of that run can be asked; the system has no random numbers.
pub fn set(directory: &Path, elsewhere: &[Elsewhere], settings: &[Setting]) -> anyhow::Result<Vec<Told>> {
    let shown = directory.display();
    ensure!(
        directory.is_dir() || !elsewhere.is_empty(),
        "{shown} is not there; the run makes it when it starts"
    );
    let (here, there) = std::thread::scope(|scope| {
        let there: Vec<_> = elsewhere.iter().map(|node| scope.spawn(|| node.ask(settings))).collect();
        let here = Report::of(directory, settings);
        let panicked = || Err("it was not asked".to_owned());
        (here, there.into_iter().map(|node| node.join().unwrap_or_else(|_| panicked())).collect::<Vec<_>>())
    });
    let here = here?;
    let (mut ranks, mut told) = (here.ranks, Together::new());
    let mut all = here.told;
    let mut silent = Vec::new();
    for (node, report) in elsewhere.iter().zip(there) {
        match report {
            Ok(report) => {
                // Of a disk that several see, the first that has asked a rank tells of it.
                let is_new = |rank: &u32| !ranks.contains(rank);
                all.extend(report.told.into_iter().filter_map(|told| {
                    let ranks: Vec<u32> = told.ranks.iter().copied().filter(is_new).collect();
                    (!ranks.is_empty()).then_some(Told { ranks, ..told })
                }));
                ranks.extend(report.ranks);
            }
            Err(why) => silent.push(format!("{} cannot be asked: {why}", node.host)),
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    ensure!(
        !ranks.is_empty(),
        "nothing can be set in {shown}: no rank of it runs that was started with `mel run --settable`{}",
        silent.iter().map(|why| format!("; {why}")).collect::<String>()
    );
    for one in all {
        // Nothing else was asked for.
        let Some(place) = settings.iter().position(|setting| setting.to_string() == one.setting) else {
            continue;
        };
        told.entry((place, one.verdict, one.text)).or_default().extend(one.ranks);
    }
    for (place, setting) in settings.iter().enumerate() {
        if let Some(missing) = missing(setting, &ranks) {
            let text = format!(
                "{missing} cannot be asked: not there, ended, not started with `mel run --settable`, or on another node's own disk \
                 (--node HOST)"
            );
            told.entry((place, None, text)).or_default();
        }
        silent.iter().for_each(|why| _ = told.entry((place, None, why.clone())).or_default());
    }
    Ok(in_order(told, settings))
}

/// Has those of these ranks set them, whose files are in this directory, that the settings are for.
///
/// # Errors
/// The system has no random numbers.
pub(super) fn ask(directory: &Path, ranks: &[u32], settings: &[Setting]) -> anyhow::Result<Vec<Told>> {
    let mut told = Together::new();
    let gone = if ranks.is_empty() { Vec::new() } else { gone(directory) };
    let mut asked: Vec<Asked> = Vec::new();
    for &rank in ranks {
        let of_rank: Vec<usize> =
            (0..settings.len()).filter(|place| settings[*place].is_for(rank.into())).collect();
        if of_rank.is_empty() {
            continue;
        }
        let mut id = [0; 8];
        getrandom::fill(&mut id)?;
        let set = of_rank.iter().map(|place| settings[*place].to_string()).collect();
        let request = Request { id: u64::from_le_bytes(id).max(1), set };
        asked.push(Asked { rank, request, of_rank, is_left: false, is_gone: gone.contains(&rank) });
    }
    let begun = Instant::now();
    while !asked.is_empty() {
        asked.retain_mut(|asked| match asked.turn(directory, begun.elapsed()) {
            None => true,
            Some(lines) => {
                for (place, (verdict, text)) in asked.of_rank.iter().zip(lines) {
                    told.entry((*place, verdict, text)).or_default().push(asked.rank);
                }
                false
            }
        });
        if !asked.is_empty() {
            std::thread::sleep(TURN);
        }
    }
    Ok(in_order(told, settings))
}

/// A rank that is asked.
struct Asked {
    rank: u32,
    request: Request,
    /// The places of its settings.
    of_rank: Vec<usize>,
    is_left: bool,
    is_gone: bool,
}

type Line = (Option<Verdict>, String);

impl Asked {
    /// What has come until now of each of its settings; `None` as long as it is waited for.
    fn turn(&mut self, directory: &Path, waited: Duration) -> Option<Vec<Line>> {
        let all = |text: String| Some(vec![(None, text); self.of_rank.len()]);
        if self.is_left {
            if let Ok(answer) = Answer::read(directory, self.rank)
                && answer.id == self.request.id
            {
                let line = |place: usize| match answer.outcomes.get(place) {
                    Some(outcome) => (Some(outcome.verdict), outcome.text.clone()),
                    None => (None, "nothing was said of it".to_owned()),
                };
                return Some((0..self.of_rank.len()).map(line).collect());
            }
        } else {
            match self.request.leave(directory, self.rank) {
                Ok(()) => self.is_left = true,
                // Another watcher was first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return all(format!("it cannot be asked: {error}")),
            }
        }
        if !control::answer_file(directory, self.rank).exists() {
            self.withdraw(directory);
            return all("it has ended".into());
        }
        if waited < if self.is_gone { SHORT } else { PATIENCE } {
            return None;
        }
        let seconds = waited.as_secs();
        all(match (self.withdraw(directory), self.is_gone) {
            (_, true) => "no answer: its process is gone".into(),
            (true, _) => format!("no answer within {seconds} s; it was not set"),
            (false, _) => format!("no answer within {seconds} s: it is set in the rank's next MPI call"),
        })
    }

    /// Takes the request back; whether the rank had not taken it.
    fn withdraw(&self, directory: &Path) -> bool {
        !self.is_left || std::fs::remove_file(control::request_file(directory, self.rank)).is_ok()
    }
}

/// The ranks that a setting is for by number and that cannot be asked, in words.
fn missing(setting: &Setting, ranks: &[u32]) -> Option<String> {
    let is_known = |rank: u64| u32::try_from(rank).is_ok_and(|rank| ranks.binary_search(&rank).is_ok());
    let wanted = setting.ranks().iter().flat_map(|&(first, last)| first..=last.min(first + 100_000));
    let missing: Vec<u32> =
        wanted.filter(|rank| !is_known(*rank)).filter_map(|rank| rank.try_into().ok()).collect();
    ranks_in_words(&missing)
}

/// The ranks whose processes are gone without a word.
fn gone(directory: &Path) -> Vec<u32> {
    let frame = Frames::new(directory).read();
    let killed = frame.ranks.iter().filter(|row| row.reading.ended == Ended::Killed);
    killed.map(|row| row.reading.rank).collect()
}

/// Sets what a user of the terminal, or of the page, types, each in a thread of its own; and keeps what came of it.
#[derive(Clone, Debug)]
pub struct Setter {
    directory: PathBuf,
    elsewhere: Arc<[Elsewhere]>,
    lines: Arc<Mutex<Lines>>,
}

#[derive(Debug, Default)]
struct Lines {
    /// Changes with each line.
    number: u64,
    lines: VecDeque<String>,
    under_way: usize,
}

/// Settings that may be under way at the same time.
const MOST_UNDER_WAY: usize = 8;

impl Setter {
    /// For the run in this directory, and elsewhere.
    pub fn new(directory: &Path, elsewhere: Vec<Elsewhere>) -> Setter {
        Setter { directory: directory.to_owned(), elsewhere: elsewhere.into(), lines: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: String) {
        let mut lines = self.lock();
        lines.number += 1;
        lines.lines.push_back(line);
        while lines.lines.len() > LINES {
            lines.lines.pop_front();
        }
    }

    /// The last lines of what came of it, and a number that changes with them.
    pub fn lines(&self) -> (u64, Vec<String>) {
        let lines = self.lock();
        (lines.number, lines.lines.iter().cloned().collect())
    }

    /// Begins to set what the user has typed.
    ///
    /// # Errors
    /// It is no setting, or too many are under way; in a line.
    pub fn ask(&self, text: &str) -> Result<(), String> {
        let setting: Setting = text.trim().parse().map_err(|how: &str| format!("{}: {how}", text.trim()))?;
        {
            let mut lines = self.lock();
            if lines.under_way >= MOST_UNDER_WAY {
                return Err("others are being set: wait for what comes of them".into());
            }
            lines.under_way += 1;
        }
        let setter = self.clone();
        let run = move || {
            match set(&setter.directory, &setter.elsewhere, std::slice::from_ref(&setting)) {
                Ok(told) => told.iter().for_each(|told| setter.say(told.to_string())),
                Err(error) => setter.say(format!("{setting}: {error}")),
            }
            setter.lock().under_way -= 1;
        };
        let started = std::thread::Builder::new().name("set".into()).spawn(run);
        started.map(drop).map_err(|error| {
            self.lock().under_way -= 1;
            error.to_string()
        })
    }

    /// The same; what is wrong with it becomes a line, too.
    pub fn ask_or_say(&self, text: &str) {
        if let Err(line) = self.ask(text) {
            self.say(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use mel_log::control::Outcome;

    use super::*;

    fn settings(texts: &[&str]) -> Vec<Setting> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// A rank that answers each request once.
    fn rank(directory: &Path, rank: u32, verdict: Verdict) -> std::thread::JoinHandle<()> {
        Answer::default().leave(directory, rank).unwrap();
        let directory = directory.to_owned();
        std::thread::spawn(move || {
            let request = loop {
                match Request::take(&directory, rank).unwrap() {
                    Some(request) => break request,
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            };
            let outcome = |setting: String| Outcome { setting, verdict, text: format!("{verdict:?}") };
            let outcomes = request.set.into_iter().map(outcome).collect();
            Answer { id: request.id, outcomes }.leave(&directory, rank).unwrap();
        })
    }

    #[test]
    fn ranks_that_say_the_same_are_told_together() {
        let room = tempfile::tempdir().unwrap();
        let verdicts = [Verdict::Set, Verdict::Set, Verdict::Refused];
        let all: Vec<_> = (0..3).map(|number| rank(room.path(), number, verdicts[number as usize])).collect();
        let told = set(room.path(), &[], &settings(&["a=1", "b=2@1"])).unwrap();
        all.into_iter().for_each(|thread| thread.join().unwrap());
        let lines: Vec<String> = told.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{lines:?}");
        assert_eq!((&*told[0].ranks, told[0].verdict), (&[0, 1][..], Some(Verdict::Set)));
        assert_eq!((&*told[1].ranks, told[1].verdict), (&[2][..], Some(Verdict::Refused)));
        assert_eq!((&*told[2].ranks, &*told[2].setting), (&[1][..], "b=2"));
        assert!(!all_set(&told) && all_set(&told[..1]) && !all_set(&[]));
        assert_eq!(lines[2], "rank 1: b=2: Set");
    }

    #[test]
    fn who_cannot_be_asked_is_named() {
        let room = tempfile::tempdir().unwrap();
        let error = set(&room.path().join("never"), &[], &settings(&["a=1"])).unwrap_err().to_string();
        assert!(error.contains("is not there"), "{error}");
        let error = set(room.path(), &[], &settings(&["a=1"])).unwrap_err().to_string();
        assert!(error.contains("mel run --settable"), "{error}");
        Answer::default().leave(room.path(), 0).unwrap();
        let told = set(room.path(), &[], &settings(&["a=1@5-6"])).unwrap();
        assert!(told.len() == 1 && told[0].text.contains("ranks 5, 6 cannot be asked"), "{told:?}");
    }

    #[test]
    fn what_another_node_tells_is_told_with_the_rest() {
        let room = tempfile::tempdir().unwrap();
        let told = Told {
            ranks: vec![0, 1],
            setting: "a=1".into(),
            verdict: Some(Verdict::Set),
            text: "Set".into(),
        };
        let report = serde_json::to_string(&Report { ranks: vec![0, 1], told: vec![told] }).unwrap();
        let node = |host: &str, script: String| Elsewhere {
            host: host.into(),
            words: vec!["sh".into(), "-c".into(), script],
        };
        let nodes = [node("b", format!("echo '{report}'")), node("c", "exit 3".into())];
        // Rank 0 is on a disk that both see.
        let thread = rank(room.path(), 0, Verdict::Set);
        let told = set(room.path(), &nodes, &settings(&["a=1"])).unwrap();
        thread.join().unwrap();
        let lines: Vec<String> = told.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("c cannot be asked: exit status: 3"), "{lines:?}");
        assert_eq!(lines[1], "ranks 0, 1: a=1: Set");
        assert!(!all_set(&told));
        // Where none is here, those elsewhere are asked all the same.
        let told = set(&room.path().join("none"), &nodes[..1], &settings(&["a=1"])).unwrap();
        assert!(all_set(&told) && told[0].ranks == [0, 1], "{told:?}");
    }

    #[test]
    fn what_is_typed_is_a_setting_or_becomes_a_line() {
        let room = tempfile::tempdir().unwrap();
        let setter = Setter::new(room.path(), Vec::new());
        setter.ask_or_say("nonsense");
        let (number, lines) = setter.lines();
        assert!(number == 1 && lines[0].contains("NAME=VALUE"), "{lines:?}");
        let thread = rank(room.path(), 0, Verdict::Set);
        setter.ask(" a=1@0 ").unwrap();
        thread.join().unwrap();
        while setter.lines().0 < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(setter.lines().1[1], "rank 0: a=1: Set");
    }
}
