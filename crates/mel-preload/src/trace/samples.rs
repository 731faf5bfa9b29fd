//! Samples on their way into the event log, from any thread, without waiting.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{MutexGuard, TryLockError};

use crossbeam_queue::ArrayQueue;
use mel_log::format::NO_OBJECT;
use mel_log::{Appender, Definition, Sample, kind};

use super::Recorder;

/// So many samples may be on their way.
const QUEUE: usize = 16 * 1024;

/// The samples of a process. What finds no room on the way is counted. Lives as long as the process.
pub struct SampleLog {
    recorder: &'static Recorder,
    queue: ArrayQueue<(u64, Sample)>,
    lost: AtomicU64,
    /// Only ever tried: who finds it taken leaves its samples to whoever has it, or to the next one.
    stream: Mutex<Stream>,
}

struct Stream {
    /// None before the first sample, and when the log is finished.
    appender: Option<Appender>,
    /// The time of the last record.
    latest: u64,
    finished: bool,
}

impl SampleLog {
    /// Into the log of this recorder.
    pub fn new(recorder: &'static Recorder) -> SampleLog {
        SampleLog {
            recorder,
            queue: ArrayQueue::new(QUEUE),
            lost: AtomicU64::new(0),
            stream: Mutex::new(Stream { appender: None, latest: 0, finished: false }),
        }
    }

    /// Says what a variable is, before its first sample. Allocates; takes a lock.
    pub fn define(&self, definition: &Definition) {
        self.recorder.define(definition);
    }

    /// A variable had this value at this time, in ticks. Times of one variable ascend. Neither waits nor allocates.
    pub fn take(&self, at: u64, sample: Sample) {
        if self.recorder.records() && self.queue.push((at, sample)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What was taken is written, unless another thread does so just now. Does not wait.
    pub fn write(&self) {
        if let Some(mut stream) = self.try_lock() {
            self.drain(&mut stream);
        }
    }

    /// The last samples are written, with how many were lost. To be called before the log is finished.
    pub fn finish(&self) {
        // Whoever has it needs microseconds, and may be a thread that is gone.
        for _ in 0..1000 {
            if let Some(mut stream) = self.try_lock() {
                self.drain(&mut stream);
                let lost = self.lost();
                if lost > 0 && self.recorder.records() {
                    let at = stream.latest;
                    self.append(&mut stream, at, kind::DROPPED, &lost.to_le_bytes());
                }
                stream.finished = true;
                // Gives the rest of its space back.
                stream.appender = None;
                return;
            }
            std::thread::yield_now();
        }
    }

    /// How many samples have found no room.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn drain(&self, stream: &mut Stream) {
        while let Some((at, sample)) = self.queue.pop() {
            // Samples of several threads come a little out of order: by less than a reading of all takes.
            stream.latest = stream.latest.max(at);
            if self.recorder.records() {
                let at = stream.latest;
                self.append(stream, at, kind::SAMPLE, &sample.to_payload());
            }
        }
    }

    fn append(&self, stream: &mut Stream, at: u64, kind: u16, payload: &[u8]) {
        if stream.finished {
            return;
        }
        let appender = stream.appender.get_or_insert_with(|| self.recorder.sample_stream());
        self.recorder.stored(appender.append(at, kind, NO_OBJECT, payload));
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Stream>> {
        match self.stream.try_lock() {
            Ok(stream) => Some(stream),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use mel_log::{HeaderInfo, LogFile, RankLog, State, StreamKind};

    use super::*;

    fn recorder(path: &std::path::Path) -> &'static Recorder {
        let info = HeaderInfo {
            rank: 0,
            world_size: 1,
            pid: std::process::id(),
            ticks_per_second: 1_000_000_000,
            origin_ticks: 0,
            origin_realtime_nanos: 0,
            host: "node".into(),
        };
        let log = LogFile::create(path, &info).unwrap();
        Box::leak(Box::new(Recorder::new(log, mpit_events::core())))
    }

    fn read(path: &std::path::Path) -> Vec<(u64, u16, Sample)> {
        let log = RankLog::open(path).unwrap();
        let streams = log.definitions.streams.iter().filter(|(_, stream)| stream.kind == StreamKind::Samples);
        let numbers: Vec<u32> = streams.map(|(number, _)| *number).collect();
        let records = numbers.iter().flat_map(|number| log.records(*number));
        records.map(|record| (record.time, record.kind, Sample::from_payload(&record.payload))).collect()
    }

    #[test]
    fn what_is_taken_is_in_the_log_at_once_and_its_times_ascend() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let recorder = recorder(&path);
        let samples = SampleLog::new(recorder);
        let sample = |value| Sample { variable: 3, element: Some(1), value };
        for (at, value) in [(10, 1.0), (30, 2.0), (20, 3.0)] {
            samples.take(at, sample(value));
        }
        samples.write();
        let expected = [(10, 1.0), (30, 2.0), (30, 3.0)].map(|(at, value)| (at, kind::SAMPLE, sample(value)));
        assert_eq!(read(&path), expected, "a killed process leaves them");
        // Not while the program has switched recording off.
        recorder.set_recording(false, 0);
        samples.take(40, sample(4.0));
        recorder.set_recording(true, 0);
        samples.take(50, sample(5.0));
        samples.finish();
        recorder.finish(State::Finalised);
        samples.take(60, sample(6.0));
        samples.write();
        assert_eq!(read(&path).last(), Some(&(50, kind::SAMPLE, sample(5.0))));
        assert_eq!((read(&path).len(), samples.lost()), (4, 0));
    }

    #[test]
    fn what_finds_no_room_is_counted_in_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let recorder = recorder(&path);
        let samples = SampleLog::new(recorder);
        for at in 0..QUEUE as u64 + 7 {
            samples.take(at, Sample::default());
        }
        samples.finish();
        recorder.finish(State::Finalised);
        let all = read(&path);
        assert_eq!((all.len(), samples.lost()), (QUEUE + 1, 7));
        assert_eq!(all.last().map(|(_, kind, _)| *kind), Some(kind::DROPPED));
    }

    #[test]
    fn threads_lose_nothing_while_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let recorder = recorder(&path);
        let samples = SampleLog::new(recorder);
        std::thread::scope(|scope| {
            for variable in 0..4 {
                let samples = &samples;
                scope.spawn(move || {
                    for at in 0..1000u64 {
                        samples.take(at, Sample { variable, element: None, value: at as f64 });
                        samples.write();
                    }
                });
            }
        });
        samples.finish();
        recorder.finish(State::Finalised);
        let all = read(&path);
        assert!(all.is_sorted_by_key(|(at, ..)| *at));
        for variable in 0..4 {
            let of = all.iter().filter(|(_, _, sample)| sample.variable == variable);
            assert!(of.map(|(_, _, sample)| sample.value).eq((0..1000).map(f64::from)), "{variable}");
        }
    }
}
