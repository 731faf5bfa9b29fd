//! Reads a run at intervals, in a thread of its own, and keeps the past for curves.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use mel_log::choice::Choice;

use super::frame::Frame;
use super::quantities::QUANTITIES;
use super::reading::{Reader, Reading, Stage};
use crate::gather::supervisor::Gathering;

/// The most points of a curve.
pub const MOST_POINTS: usize = 240;
/// The most values that are kept of the past, of all ranks and quantities together: some 32 MiB.
const MOST_VALUES: usize = 8 << 20;
/// Of the time at most this part goes into reading: many ranks are read less often than was asked for.
const PART_FOR_READING: u32 = 3;

/// The frames of a run, one after the other.
#[derive(Debug)]
pub struct Frames {
    reader: Reader,
    before: Option<Reading>,
    /// Where the directory is on a disk of each node: what brings copies.
    gathering: Option<Gathering>,
}

impl Frames {
    /// Of the run in this directory.
    pub fn new(directory: &Path) -> Frames {
        Frames { reader: Reader::new(directory), before: None, gathering: None }
    }

    /// Of a run whose directory is on a disk of each node.
    pub fn gathered(mut gathering: Gathering) -> Frames {
        let (copies, _) = gathering.read(Path::to_owned);
        let reader = Reader::of_copies(&copies, gathering.shown());
        Frames { reader, before: None, gathering: Some(gathering) }
    }

    /// The same, which shows these performance variables only.
    #[must_use]
    pub fn showing(self, variables: Choice) -> Frames {
        Frames { reader: self.reader.showing(variables), ..self }
    }

    /// What the directory says now, and what has changed since the last time.
    pub fn read(&mut self) -> Frame {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs_f64();
        let reading = match &mut self.gathering {
            None => self.reader.read(now),
            Some(gathering) => {
                let (mut reading, remarks) = gathering.read(|_| self.reader.read(now));
                reading.remarks.extend(remarks);
                reading
            }
        };
        let frame = Frame::of(&reading, self.before.as_ref());
        if reading.stage != Stage::Waiting {
            self.before = Some(reading);
        }
        frame
    }
}

/// The past of each quantity, of each rank.
#[derive(Debug, Default)]
pub struct History {
    ranks: HashMap<u32, VecDeque<[f32; QUANTITIES.len()]>>,
}

impl History {
    /// Adds a frame of a run that goes on.
    pub fn add(&mut self, frame: &Frame) {
        let most = (MOST_VALUES / QUANTITIES.len() / frame.ranks.len().max(1)).clamp(2, MOST_POINTS);
        for row in &frame.ranks {
            let points = self.ranks.entry(row.reading.rank).or_default();
            let mut point = [f32::NAN; QUANTITIES.len()];
            for (to, value) in point.iter_mut().zip(&row.values) {
                *to = value.map_or(f32::NAN, |value| value as f32);
            }
            points.push_back(point);
            while points.len() > most {
                points.pop_front();
            }
        }
    }

    /// One quantity of one rank over time, the latest last; `None` where it was not known.
    pub fn curve(&self, rank: u32, quantity: usize) -> Vec<Option<f64>> {
        let points = self.ranks.get(&rank).into_iter().flatten();
        points.map(|point| Some(f64::from(point[quantity])).filter(|value| !value.is_nan())).collect()
    }
}

/// What the thread that reads shares with those that show.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    number: u64,
    frame: Arc<Frame>,
    history: History,
    /// Whether it shall end.
    ends: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frames that come by themselves. The thread that reads ends when this is dropped.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// A hold on what a [`Feed`] has read last, for other threads.
#[derive(Clone, Debug)]
pub struct View(Arc<Shared>);

impl Feed {
    /// Begins to read the run in this directory each `every`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(directory: &Path, every: Duration) -> std::io::Result<Feed> {
        let directory = directory.to_owned();
        Feed::of(move || Frames::new(&directory), every)
    }

    /// The same with other frames, which the thread makes.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn of(make: impl FnOnce() -> Frames + Send + 'static, every: Duration) -> std::io::Result<Feed> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("read".into()).spawn(move || {
            let mut frames = make();
            loop {
                let began = Instant::now();
                let frame = frames.read();
                let took = began.elapsed();
                {
                    let mut state = of_thread.lock();
                    // What does not change any more makes no curve longer.
                    if frame.stage == Stage::Running || state.frame.stage == Stage::Running {
                        state.history.add(&frame);
                    }
                    state.number += 1;
                    state.frame = Arc::new(frame);
                }
                of_thread.changed.notify_all();
                let rest = every.saturating_sub(took).max(took * (PART_FOR_READING - 1));
                let state = of_thread.lock();
                let waited = of_thread.changed.wait_timeout_while(state, rest, |state| !state.ends);
                let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if state.ends {
                    return;
                }
            }
        })?;
        Ok(Feed { shared, thread: Some(thread) })
    }

    /// For other threads.
    pub fn view(&self) -> View {
        View(Arc::clone(&self.shared))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl View {
    /// The last frame, with its number: 0 as long as there is none.
    pub fn latest(&self) -> (u64, Arc<Frame>) {
        let state = self.0.lock();
        (state.number, Arc::clone(&state.frame))
    }

    /// One quantity of one rank over time, as [`History::curve`].
    pub fn curve(&self, rank: u32, quantity: usize) -> Vec<Option<f64>> {
        self.0.lock().history.curve(rank, quantity)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::reading;
    use super::*;

    #[test]
    fn curves_have_the_latest_points() {
        let mut history = History::default();
        let mut before = reading(2, 1.0);
        for second in 2..MOST_POINTS + 20 {
            let now = reading(2, second as f64);
            history.add(&Frame::of(&now, Some(&before)));
            before = now;
        }
        let curve = history.curve(1, 0);
        assert_eq!(curve.len(), MOST_POINTS);
        assert!(curve.iter().all(|value| (value.unwrap() - 0.1).abs() < 1e-6));
        let unknown = QUANTITIES.iter().position(|quantity| quantity.name == "messages_per_s").unwrap();
        assert!(history.curve(1, unknown).iter().all(Option::is_none));
        assert_eq!(history.curve(7, 0), []);
    }

    #[test]
    fn a_directory_that_is_not_there_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let feed = Feed::start(&directory.path().join("later"), Duration::from_millis(1)).unwrap();
        let view = feed.view();
        let mut seen = view.latest();
        while seen.0 < 3 {
            std::thread::yield_now();
            seen = view.latest();
        }
        assert_eq!(seen.1.stage, Stage::Waiting);
        assert!(seen.1.remarks[0].contains("not there yet"), "{:?}", seen.1.remarks);
    }
}
