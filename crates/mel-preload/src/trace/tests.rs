//! The recorder, without MPI: collected events written, and read back.

use mpit_events::{Clock, Core, MAX_EVENT_TYPES, Ordering, Record, Source, Ticks};
use mpit_sources::matching::{Event, Ob1Events, Queued, Searched};

use super::recorder::{Kind, Objects, Place, Queue, Recorder};
use mel_log::{Definition, HeaderInfo, LogFile, RankLog, State, kind};

fn info() -> HeaderInfo {
    HeaderInfo {
        rank: 0,
        world_size: 1,
        pid: 1,
        ticks_per_second: 1_000_000,
        origin_ticks: 0,
        origin_realtime_nanos: 0,
        host: String::new(),
    }
}

#[test]
fn a_search_that_comes_late_stands_where_it_comes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let core: &'static Core = Box::leak(Box::default());
    let types = Ob1Events::register(core, "").unwrap();
    let source = core.add_source(Source::new("model", "", Ordering::Ordered, Clock::best()));
    let [begin, end, remove] = [Event::SearchPostedBegin, Event::SearchPostedEnd, Event::PostedRemove]
        .map(|event| types.index(event));
    let number = |event: mpit_events::EventIndex| event.get() as u16;

    let log = LogFile::create(&path, &info()).unwrap();
    let pair = Definition::Pair { begin: number(begin), end: number(end), inserts: None, removes: None };
    log.define(&pair).unwrap();
    let mut kinds = [Kind::None; MAX_EVENT_TYPES];
    kinds[end.get()] = Kind::Pair(number(begin), number(end));
    kinds[remove.get()] =
        Kind::Queue(Queue { number: number(remove), search: number(begin), place: Place::Apart });

    let search = |from, until, late| {
        let message = Searched { source: 1, tag: 2, sequence: 3 };
        Record::new(end, 0, Ticks(until), late, &message).ending(Ticks(from))
    };
    let removal = |since, time, late| {
        let receive = Queued { request: 9, source: 1, tag: 2 };
        Record::new(remove, 0, Ticks(time), late, &receive).ending(Ticks(since))
    };
    let recorder = Recorder::new(log, core);
    let records = [
        search(100, 110, false),
        // Both happened before what is recorded already, then after it.
        removal(20, 60, true),
        search(50, 60, true),
        search(120, 125, false),
        removal(115, 130, true),
        search(128, 130, true),
        search(140, 145, false),
    ];
    recorder.events(source, &records, &kinds, &Objects::default());
    recorder.finish(State::Finalised);

    let read = RankLog::open(&path).unwrap();
    let found: Vec<_> = read.records(0).map(|record| (record.time, record.kind - kind::EVENT)).collect();
    let (begin, end, remove) = (number(begin), number(end), number(remove));
    let in_order = |from, until| vec![(from, begin), (until, end)];
    let late = |time| vec![(time, remove), (time, begin), (time, end)];
    let expected = [in_order(100, 110), late(110), in_order(120, 125), late(130), in_order(140, 145)];
    assert_eq!(found, expected.concat());
}

#[test]
fn a_thread_that_ends_leaves_its_streams_to_a_later_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let core: &'static Core = Box::leak(Box::default());
    let log = LogFile::create(&path, &info()).unwrap();
    let recorder: &'static Recorder = Box::leak(Box::new(Recorder::new(log, core)));
    for function in 0..32 {
        std::thread::spawn(move || recorder.enter(function, None)).join().unwrap();
    }
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 4 << 20, "32 threads that have ended take {bytes} bytes");
}
