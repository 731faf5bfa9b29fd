//! The generic events log: one line per event instance.
//!
//! ```text
//! [ 0.002151416] 'pml_ob1_message_arrived' context id=0 source=0 tag=201 sequence number=10 communicator='MPI_COMM_WORLD'
//! ```
//!
//! The time is in seconds since the start of the process's run. Behind the elements of its payload an event has the object that it is
//! bound to, and, where several threads have raised events, its source. What is said about a rank as a whole
//! stands in lines that begin with `#`. A line is what its record says by itself: nothing here follows from other records, so
//! it is made of [contents](super::content), not of facts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::callsites::CallSites;
use super::content::{Content, Noted, RequestStep, Transfer};
use super::run::{Merged, Run};
use super::{one_sided, value};
use mel_log::definitions::{Definitions, EventType, Stream};
use mel_log::format::NO_OBJECT;
use mel_log::printable::name;
use mel_log::{
    Collective, Described, Message, Overlap, RankLog, Record, Sample, State, StreamKind, Switch,
    UnseenEvents, UnseenMessages,
};
use mpi_functions::REDUCTIONS;

/// What is written besides events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// MPI calls and messages too.
    pub calls: bool,
}

/// Writes the events of all ranks, one rank after the other, each in the order of time.
///
/// # Errors
/// Those of `out`.
pub fn write_run(out: &mut impl Write, run: &Run, options: Options, tick: impl Fn(u64)) -> io::Result<()> {
    let mut sites = CallSites::default();
    for log in &run.ranks {
        write_with(out, log, options, &mut sites, &tick)?;
    }
    Ok(())
}

/// Writes the events of one rank. `tick` is called with 4096 at every 4096th record.
///
/// # Errors
/// Those of `out`.
pub fn write_rank(
    out: &mut impl Write,
    log: &RankLog,
    options: Options,
    tick: impl Fn(u64),
) -> io::Result<()> {
    write_with(out, log, options, &mut CallSites::default(), tick)
}

fn write_with(
    out: &mut impl Write,
    log: &RankLog,
    options: Options,
    sites: &mut CallSites,
    tick: impl Fn(u64),
) -> io::Result<()> {
    let info = &log.info;
    writeln!(out, "# rank {} of {}, {}, {}", info.rank, info.world_size, name(&info.host), ending(log))?;
    if let Some(what) = log.incomplete() {
        writeln!(out, "# {}", name(&what))?;
    }
    let streams = log.streams().into_iter().filter(|stream| {
        let kind = log.definitions.streams.get(stream).map(|stream| stream.kind);
        options.calls || kind != Some(StreamKind::Calls)
    });
    let sources = sources(log);
    for (number, (stream, record)) in Merged::new(log, streams).enumerate() {
        let from = sources.get(&stream).copied();
        write_record(out, log, (stream, from, &record), options, sites)?;
        super::advance(&tick, number);
    }
    match log.dropped_total() {
        0 => Ok(()),
        lost => writeln!(out, "# {lost} records are missing: the disk was full, or --limit reached"),
    }
}

fn ending(log: &RankLog) -> &'static str {
    match log.state {
        State::Finalised => "finalised",
        State::Aborted => "ended before MPI_Finalize",
        State::Running => "ended early (killed, crashed, or still running): everything until then follows",
    }
}

fn write_record(
    out: &mut impl Write,
    log: &RankLog,
    (stream, from, record): (u32, Option<&str>, &Record),
    options: Options,
    sites: &mut CallSites,
) -> io::Result<()> {
    let content = Content::of(record);
    if !options.calls && !matches!(content, Content::Event(_) | Content::Sample(_) | Content::LostEvents(_)) {
        return Ok(());
    }
    write_time(out, log, record.time)?;
    let object = record.object;
    match content {
        Content::Event(number) => match log.definitions.event_types.get(&number) {
            Some(event_type) => {
                write_event(out, event_type, &record.payload)?;
                write_object(out, log, event_type, object)?;
                match from {
                    Some(source) => writeln!(out, " from='{}'", name(source)),
                    None => writeln!(out),
                }
            }
            None => writeln!(out, " 'event type {number}'"),
        },
        Content::LostEvents(count) => {
            let stream = log.definitions.streams.get(&stream);
            match stream.is_some_and(|stream| stream.kind == StreamKind::Samples) {
                true => writeln!(out, " # {count} samples were lost until here"),
                false => writeln!(out, " # {count} events were lost before this one"),
            }
        }
        Content::Sample(sample) => write_sample(out, log, sample),
        Content::Enter(entry) => {
            write!(out, " enter {}", function(log, entry.function))?;
            match sites.of(log, log.definitions.returns_to(entry)) {
                Some(site) => writeln!(out, " from {}", name(&site)),
                None => writeln!(out),
            }
        }
        Content::Worked => writeln!(out, " worked between its tests"),
        Content::Noted(noted) => write_noted(out, log, noted),
        Content::Leave(number) => writeln!(out, " leave {}", function(log, number)),
        Content::Message(transfer) => write_message(out, object, transfer),
        Content::Request(step, request) => writeln!(out, " {} request={request}", request_step(step)),
        Content::Collective(Collective { root, sent, received }) => {
            writeln!(out, " collective communicator={object} root={root} sent={sent} received={received}")
        }
        Content::Window(step) => one_sided::write(out, object, step),
        Content::Recording(Switch { on, .. }) => {
            writeln!(out, " recording {}", if on { "on" } else { "off" })
        }
        Content::Phase(number) => {
            let phase = log.definitions.phase_names.get(&number);
            writeln!(out, " phase '{}'", name(phase.map_or("", String::as_str)))
        }
        Content::Region(number) => {
            let region = log.definitions.regions.get(&number);
            writeln!(out, " region '{}'", name(region.map_or("", String::as_str)))
        }
        Content::UnseenMessages(UnseenMessages { peer, tag, sent, received }) => writeln!(
            out,
            " unseen communicator={object} peer={peer} tag={tag} sent={sent} received={received}"
        ),
        Content::UnseenEvents(UnseenEvents { event_type, count, .. }) => {
            let event = log.definitions.event_types.get(&event_type).map_or("?", |of| of.name.as_str());
            writeln!(out, " unseen communicator={object} '{}' count={count}", name(event))
        }
        Content::Unknown => writeln!(out, " record of kind {}", record.kind),
    }
}

fn write_sample(out: &mut impl Write, log: &RankLog, sample: Sample) -> io::Result<()> {
    let Sample { variable: number, element, value } = sample;
    let Some(variable) = log.definitions.variables.get(&number) else {
        return writeln!(out, " sample variable={number} value={value}");
    };
    write!(out, " sample '{}'", name(&variable.name))?;
    if !variable.object.is_empty() {
        write!(out, " object={}", name(&variable.object))?;
    }
    if let Some(element) = element {
        write!(out, " element={element}")?;
    }
    write!(out, " value={value}")?;
    if variable.unit.is_empty() { writeln!(out) } else { writeln!(out, " {}", name(&variable.unit)) }
}

fn write_noted(out: &mut impl Write, log: &RankLog, noted: Noted) -> io::Result<()> {
    match noted {
        Noted::Described(Described { sent, received, reduction }) => {
            write!(out, " data sent={sent:#010x} received={received:#010x}")?;
            match usize::from(reduction).checked_sub(1).map(|place| REDUCTIONS.get(place)) {
                None => writeln!(out),
                Some(known) => writeln!(out, " reduction={}", known.unwrap_or(&"own")),
            }
        }
        Noted::Overlap(Overlap { function: first, other, .. }) => {
            writeln!(out, " buffers of {} and {} overlapped", function(log, first), function(log, other))
        }
        Noted::Truncated => writeln!(out, " failed: the message is longer than the receive"),
        Noted::Failed => writeln!(out, " failed"),
    }
}

fn function(log: &RankLog, number: u16) -> Cow<'_, str> {
    name(log.definitions.functions.get(&number).map_or("an MPI function", String::as_str))
}

fn write_message(out: &mut impl Write, communicator: u16, transfer: Transfer) -> io::Result<()> {
    let Transfer { sent, has_request, message: Message { peer, tag, bytes, request } } = transfer;
    let what = match (sent, has_request) {
        (true, false) => "send",
        (true, true) => "isend",
        (false, true) => "irecv",
        (false, false) => "recv",
    };
    write!(out, " {what} communicator={communicator} peer={peer} tag={tag} bytes={bytes}")?;
    if has_request { writeln!(out, " request={request}") } else { writeln!(out) }
}

fn request_step(step: RequestStep) -> &'static str {
    match step {
        RequestStep::SendComplete => "isend complete",
        RequestStep::ReceivePosted => "irecv posted",
        RequestStep::Cancelled => "cancelled",
        RequestStep::Tested => "tested, not complete",
        RequestStep::CollectiveStarted => "collective",
        RequestStep::CollectiveComplete => "collective complete",
    }
}

/// Nine decimals, in a field of twelve characters.
fn write_time(out: &mut impl Write, log: &RankLog, time: u64) -> io::Result<()> {
    let ticks = i128::from(time) - i128::from(log.info.origin_ticks);
    let nanos = ticks * 1_000_000_000 / i128::from(log.info.ticks_per_second);
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let seconds = format!("{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    write!(out, "[{seconds:>12}]")
}

fn write_event(out: &mut impl Write, event_type: &EventType, payload: &[u8]) -> io::Result<()> {
    write!(out, " '{}'", name(&event_type.name))?;
    for element in &event_type.elements {
        match value::read(element, payload) {
            Some(value) => write!(out, " {}={value}", name(&element.name))?,
            None => write!(out, " {}=?", name(&element.name))?,
        }
    }
    Ok(())
}

/// The object that an event is bound to: a communicator by its name, a window by its number in the process.
fn write_object(out: &mut impl Write, log: &RankLog, event_type: &EventType, object: u16) -> io::Result<()> {
    if object == NO_OBJECT {
        return Ok(());
    }
    if event_type.bind == "MPI_WIN" {
        return write!(out, " window='{object}'");
    }
    match log.definitions.communicators.get(&object) {
        Some(communicator) => write!(out, " communicator='{}'", name(&communicator.name)),
        None => Ok(()),
    }
}

/// The source of each stream of events, by the stream's number; none where the process has one such stream.
fn sources(log: &RankLog) -> BTreeMap<u32, &str> {
    let Definitions { streams, sources, .. } = &log.definitions;
    let of_events: Vec<_> = streams.iter().filter(|(_, stream)| stream.kind == StreamKind::Events).collect();
    if of_events.len() < 2 {
        return BTreeMap::new();
    }
    let named =
        |(number, stream): (&u32, &Stream)| Some((*number, sources.get(&stream.source?)?.name.as_str()));
    of_events.into_iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::{Definition, Element, HeaderInfo, LogFile, kind};

    fn written(options: Options, write: impl FnOnce(&LogFile)) -> String {
        let directory = tempfile::tempdir().unwrap();
        let info = HeaderInfo {
            rank: 1,
            world_size: 2,
            pid: 1,
            ticks_per_second: 2_000_000_000,
            origin_ticks: 5_000,
            origin_realtime_nanos: 0,
            host: "node".into(),
        };
        let log = LogFile::create(&directory.path().join("rank-1.mlog"), &info).unwrap();
        let element = |name: &str, datatype: &str, displacement| Element {
            name: name.into(),
            datatype: datatype.into(),
            displacement,
        };
        let definition = Definition::EventType {
            number: 0,
            name: "pml_ob1_message_arrived".into(),
            description: String::new(),
            bind: "MPI_COMM".into(),
            elements: vec![
                element("context id", "MPI_UNSIGNED", 0),
                element("source", "MPI_INT", 4),
                element("tag", "MPI_INT", 8),
                element("sequence number", "MPI_UNSIGNED", 12),
            ],
        };
        log.define(&definition).unwrap();
        log.define(&Definition::Function { number: 3, name: "MPI_Isend".into() }).unwrap();
        let members = mel_log::Members::from_ranks([0, 1]);
        let halo =
            Definition::Communicator { index: 0, context: 7, name: "halo".into(), members, remote: None };
        log.define(&halo).unwrap();
        for index in 0..2 {
            let (name, ordering) = (format!("ob1 thread {index}"), "ordered".into());
            let of =
                Definition::Source { index, name, description: String::new(), ordering, ticks_per_second: 1 };
            log.define(&of).unwrap();
        }
        write(&log);
        let run = Run::open(directory.path()).unwrap();
        let mut out = Vec::new();
        write_run(&mut out, &run, options, |_| {}).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn payload(numbers: [i32; 4]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    #[test]
    fn an_event_is_told_as_in_the_paper() {
        let text = written(Options::default(), |log| {
            let mut events = log.stream(StreamKind::Events, 0, Some(0));
            let mut others = log.stream(StreamKind::Events, 1, Some(1));
            let mut calls = log.stream(StreamKind::Calls, 0, None);
            calls.append(5_001, kind::ENTER, NO_OBJECT, &3u16.to_le_bytes());
            events.append(5_000 + 4_302_832, kind::EVENT, 0, &payload([0, 0, 201, 10]));
            others.append(4_998, kind::EVENT, 0, &payload([1, -1, -2, 0]));
            others.append(2_000_005_000_000_000, kind::EVENT + 9, 0, &[]);
            others.append(2_000_005_000_000_000, kind::DROPPED, 0, &12u64.to_le_bytes());
            log.finish(State::Finalised, 9);
        });
        assert_eq!(
            text,
            "# rank 1 of 2, node, finalised
[-0.000000001] 'pml_ob1_message_arrived' context id=1 source=-1 tag=-2 sequence number=0 communicator='halo' from='ob1 thread 1'
[ 0.002151416] 'pml_ob1_message_arrived' context id=0 source=0 tag=201 sequence number=10 communicator='halo' from='ob1 thread 0'
[1000002.499997500] 'event type 9'
[1000002.499997500] # 12 events were lost before this one
"
        );
    }

    #[test]
    fn a_sample_is_told_with_its_object_element_and_unit() {
        let text = written(Options::default(), |log| {
            for (number, name, object, unit) in [(3, "bytes_sent", "the halo", "bytes"), (4, "share", "", "")]
            {
                log.define(&Definition::Variable {
                    number,
                    name: name.into(),
                    description: String::new(),
                    class: "level".into(),
                    object: object.into(),
                    of_mpi: false,
                    unit: unit.into(),
                    is_whole: unit == "bytes",
                })
                .unwrap();
            }
            let mut samples = log.stream(StreamKind::Samples, 0, None);
            for (variable, element, value) in
                [(3, None, 1_048_576.0), (3, Some(1), 4.0), (4, None, 0.25), (9, None, 1.0)]
            {
                let sample = Sample { variable, element, value };
                samples.append(7_000, kind::SAMPLE, NO_OBJECT, &sample.to_payload());
            }
            samples.append(7_000, kind::DROPPED, NO_OBJECT, &12u64.to_le_bytes());
            log.finish(State::Finalised, 9);
        });
        assert_eq!(
            text,
            "# rank 1 of 2, node, finalised
[ 0.000001000] sample 'bytes_sent' object=the halo value=1048576 bytes
[ 0.000001000] sample 'bytes_sent' object=the halo element=1 value=4 bytes
[ 0.000001000] sample 'share' value=0.25
[ 0.000001000] sample variable=9 value=1
[ 0.000001000] # 12 samples were lost until here
"
        );
    }

    #[test]
    fn calls_are_told_on_request_and_an_early_end_always() {
        let text = written(Options { calls: true }, |log| {
            let mut calls = log.stream(StreamKind::Calls, 0, None);
            let message = Message { peer: 1, tag: 7, bytes: 80, request: 4 };
            calls.append(7_000, kind::ENTER, NO_OBJECT, &3u16.to_le_bytes());
            calls.append(7_200, kind::MPI_ISEND, 2, &message.to_payload());
            calls.append(7_400, kind::LEAVE, NO_OBJECT, &3u16.to_le_bytes());
            calls.append(9_000, kind::MPI_ISEND_COMPLETE, 2, &4u32.to_le_bytes());
        });
        assert_eq!(
            text,
            "# rank 1 of 2, node, ended early (killed, crashed, or still running): everything until then follows
[ 0.000001000] enter MPI_Isend
[ 0.000001100] isend communicator=2 peer=1 tag=7 bytes=80 request=4
[ 0.000001200] leave MPI_Isend
[ 0.000002000] isend complete request=4
"
        );
    }

    #[test]
    fn a_directory_without_logs_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let error = Run::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("mel run --trace"), "{error}");
        let error = Run::open(&directory.path().join("none")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read"), "{error}");
    }
}
