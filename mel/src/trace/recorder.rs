//! The streams of the event log, each thread its own: appending takes no lock.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mpit_events::{Clock, Core, SourceIndex, Ticks};

use crate::log::{Appender, Definition, LogFile, State, StreamKind};

/// Records into the event log of this process. Lives as long as the process.
pub struct Recorder {
    log: LogFile,
    core: &'static Core,
    clock: Clock,
    /// Nothing is recorded any more: the log is finished, or this is a forked child.
    closed: AtomicBool,
    threads: AtomicU32,
}

/// A thread's streams.
struct Thread {
    number: u32,
    calls: Option<Appender>,
    events: Vec<(SourceIndex, Appender)>,
}

thread_local! {
    static THREAD: Cell<*mut Thread> = const { Cell::new(std::ptr::null_mut()) };
}

impl Recorder {
    /// A recorder into this log.
    pub fn new(log: LogFile, core: &'static Core) -> Self {
        let (closed, threads) = (AtomicBool::new(false), AtomicU32::new(0));
        Recorder { log, core, clock: Clock::best(), closed, threads }
    }

    /// The time now.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        self.clock.now()
    }

    /// Appends a record about MPI calls or messages of this thread.
    #[inline]
    pub fn call(&self, time: Ticks, kind: u16, object: u16, payload: &[u8]) {
        if let Some(thread) = self.thread() {
            let log = &self.log;
            let number = thread.number;
            let stream = thread.calls.get_or_insert_with(|| log.stream(StreamKind::Calls, number, None));
            self.append(stream, time, kind, object, payload);
        }
    }

    /// Appends a record of an event of a source, raised on this thread.
    #[inline]
    pub fn event(&self, source: SourceIndex, time: Ticks, kind: u16, object: u16, payload: &[u8]) {
        let Some(thread) = self.thread() else { return };
        let place = match thread.events.iter().position(|(known, _)| *known == source) {
            Some(place) => place,
            None => self.add_stream(thread, source),
        };
        self.append(&mut thread.events[place].1, time, kind, object, payload);
    }

    #[inline(always)]
    fn append(&self, stream: &mut Appender, time: Ticks, kind: u16, object: u16, payload: &[u8]) {
        if !stream.append(time.0, kind, object, payload) {
            self.tell_failure();
        }
    }

    #[cold]
    fn add_stream(&self, thread: &mut Thread, source: SourceIndex) -> usize {
        if let Some(described) = self.core.source(source) {
            let definition = Definition::Source {
                index: source.get() as u32,
                name: described.name.clone(),
                description: described.description.clone(),
                ordering: match described.ordering {
                    mpit_events::Ordering::Ordered => "ordered".into(),
                    mpit_events::Ordering::Unordered => "unordered".into(),
                },
                ticks_per_second: described.clock.ticks_per_second(),
            };
            self.define(&definition);
        }
        let stream = self.log.stream(StreamKind::Events, thread.number, Some(source.get() as u32));
        thread.events.push((source, stream));
        thread.events.len() - 1
    }

    /// Writes a definition into the log.
    pub fn define(&self, definition: &Definition) {
        if let Err(error) = self.log.define(definition)
            && !self.log.is_full()
        {
            super::super::preload::tell(&format!("the event log is incomplete: {error}"));
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_failure(&self) {
        if let Some(error) = self.log.take_failure() {
            let line = format!("the event log ends here: {error}; make room or give another directory with -o");
            super::super::preload::tell(&line);
        }
    }

    /// From now on nothing is recorded; writes down how the process ended.
    pub fn finish(&self, state: State) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let thread = THREAD.replace(std::ptr::null_mut());
        if !thread.is_null() {
            // SAFETY: made by `Box::into_raw` in `make`, and taken out of this thread's cell: nobody
            // else has it. Dropping gives the unused space of its chunks back.
            drop(unsafe { Box::from_raw(thread) });
        }
        self.log.finish(state, self.now().0);
    }

    /// This is a forked child: the log belongs to its parent.
    pub fn abandon(&self) {
        self.closed.store(true, Ordering::Release);
    }

    #[inline(always)]
    fn thread(&self) -> Option<&mut Thread> {
        if self.closed.load(Ordering::Relaxed) {
            return None;
        }
        let mut thread = THREAD.get();
        if thread.is_null() {
            thread = self.make();
        }
        // SAFETY: the cell holds this thread's own streams; no record is appended inside another
        // (hooks and callbacks do not nest on a thread, and appending calls nobody).
        Some(unsafe { &mut *thread })
    }

    /// The streams stay after the thread has ended: what they hold is in the file.
    #[cold]
    #[inline(never)]
    fn make(&self) -> *mut Thread {
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        let thread = Box::into_raw(Box::new(Thread { number, calls: None, events: Vec::new() }));
        THREAD.set(thread);
        thread
    }
}
