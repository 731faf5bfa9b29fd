//! All numbers of a profile as comma-separated values (RFC 4180) in long format: one number per line, with what it is a number of.

use std::io::{self, Write};

use mel_log::csv::Writer;
use mel_log::profile::attribution::{OUTSIDE, ShareProfile};
use mel_log::profile::columns::{self, Columns};
use mel_log::profile::phases::{part_of, shown};
use mel_log::profile::quantities::calls::{CALLS, RECEIVES, WAITS};
use mel_log::profile::quantities::communicators::COMMUNICATORS;
use mel_log::profile::quantities::connections::{CONNECTIONS, PORTS};
use mel_log::profile::quantities::{Quantity, numbers, word_of};
use mel_log::profile::summary::quantities;
use mel_log::profile::sums::Names;
use mel_log::profile::text::waits::word;
use mel_log::profile::{Ended, Profile, RankProfile};
use serde::Serialize;

/// A line. What does not apply is empty.
#[derive(Clone, Debug, Default, Serialize)]
struct Row<'a> {
    rank: u32,
    host: &'a str,
    section: String,
    quantity: String,
    unit: &'static str,
    value: f64,
    thread: Option<u32>,
    function: &'a str,
    site: &'a str,
    communicator: &'a str,
    kind: &'a str,
    peer: Option<u32>,
    peer_site: &'a str,
    /// A column only where the program has named phases. Empty for numbers of all phases together.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
}

impl Row<'_> {
    /// The same with the number of a quantity.
    fn of<R>(&self, quantity: &Quantity<R>, value: f64) -> Self {
        Row {
            section: word_of(quantity.group),
            quantity: word_of(quantity.name),
            unit: quantity.unit.symbol(),
            value,
            ..self.clone()
        }
    }
}

/// Writes a line of names, then a line per number. Times are in seconds (`s`), sizes in bytes (`bytes`). A number that a rank does not
/// have, as the mean of nothing, has no line.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: impl Write, profile: &Profile) -> io::Result<()> {
    let names = Names::of(profile);
    let mut out = Writer::new(out);
    if profile.ranks.is_empty() {
        out.write_record(COLUMNS)?;
    }
    for rank in &profile.ranks {
        let phase = (!profile.phases.is_empty()).then_some("");
        let row = Row { rank: rank.rank, host: &rank.host, phase, ..Row::default() };
        for (quantity, unit, value) in of_rank(rank) {
            let section = "rank".into();
            out.serialize(Row { section, quantity: quantity.into(), unit, value, ..row.clone() })?;
        }
        for (quantity, count, _) in rank.left_out.numbers().into_iter().filter(|(_, count, _)| *count > 0) {
            let (section, quantity, unit) = ("left_out".into(), quantity.into(), "count");
            out.serialize(Row { section, quantity, unit, value: count as f64, ..row.clone() })?;
        }
        let by_phase = rank.phases.iter().filter_map(|phase| {
            let name = profile.phases.get(phase.phase as usize).filter(|_| phase.queues.is_some())?;
            Some((Some(shown(name)), part_of(rank, phase.phase)))
        });
        for (phase, part) in std::iter::once((phase, rank.clone())).chain(by_phase) {
            for quantity in quantities(profile) {
                let Some(value) = (quantity.of)(&part) else { continue };
                out.serialize(Row { phase, ..row.of(quantity, value) })?;
            }
        }
        for connection in &rank.connections {
            let row = Row {
                kind: &connection.interface,
                peer: connection.peer,
                peer_site: match connection.peer_host.as_str() {
                    "" => &connection.peer_address,
                    host => host,
                },
                phase: phase
                    .and_then(|_| profile.phases.get(connection.phase as usize))
                    .map(|name| shown(name)),
                ..row.clone()
            };
            for (quantity, value) in numbers(CONNECTIONS, connection) {
                let section = format!("{}_{}", quantity.group, connection.purpose.name());
                out.serialize(Row { section, ..row.of(quantity, value) })?;
            }
        }
        for port in &rank.ports {
            let row = Row { kind: &port.interface, ..row.clone() };
            for (quantity, value) in numbers(PORTS, port) {
                out.serialize(row.of(quantity, value))?;
            }
        }
        for of in &rank.communicators {
            let row = Row { communicator: &of.name, ..row.clone() };
            for (quantity, value) in numbers(COMMUNICATORS, of) {
                out.serialize(row.of(quantity, value))?;
            }
        }
        for of in &rank.attributed {
            for share in &of.shares {
                let communicator =
                    share.communicator.and_then(|place| profile.communicators.get(place as usize));
                let (unit, value) = of_share(share);
                out.serialize(Row {
                    section: "attribution".into(),
                    quantity: of.name.clone(),
                    unit,
                    value,
                    thread: Some(share.thread),
                    function: if share.function.is_empty() { OUTSIDE } else { &share.function },
                    site: names.name(share.site).unwrap_or_default(),
                    communicator: communicator.map_or("", |communicator| &communicator.name),
                    kind: &share.region,
                    phase: phase
                        .and_then(|_| profile.phases.get(share.phase as usize))
                        .map(|name| shown(name)),
                    ..row.clone()
                })?;
            }
        }
        for call in &rank.calls {
            let communicator = call.communicator.and_then(|place| profile.communicators.get(place as usize));
            let row = Row {
                thread: Some(call.thread),
                function: &call.function,
                site: names.name(call.site).unwrap_or_default(),
                communicator: communicator.map_or("", |communicator| &communicator.name),
                phase: phase.and_then(|_| profile.phases.get(call.phase as usize)).map(|name| shown(name)),
                ..row.clone()
            };
            for (quantity, value) in numbers(CALLS, call).chain(numbers(RECEIVES, call)) {
                out.serialize(row.of(quantity, value))?;
            }
            for wait in &call.waits {
                let row = Row {
                    kind: word(wait.kind),
                    peer: wait.peer,
                    peer_site: names.name(wait.peer_site).unwrap_or_default(),
                    ..row.clone()
                };
                for (quantity, value) in numbers(WAITS, wait) {
                    out.serialize(row.of(quantity, value))?;
                }
            }
        }
    }
    out.flush()
}

/// What a variable did in one place: by how much it has grown, or its mean, or its last value. The column `kind` has the region.
fn of_share(share: &ShareProfile) -> (&'static str, f64) {
    match (share.amount, share.mean, share.value) {
        (Some(amount), ..) => ("sum", amount),
        (_, Some(mean), _) => ("mean", mean),
        (.., value) => ("value", value.unwrap_or(0.0)),
    }
}

/// The same of very many ranks: a line per number of the table of ranks.
///
/// # Errors
/// Those of `out`.
pub fn csv_of_many(out: impl Write, all: &Columns) -> io::Result<()> {
    let mut out = Writer::new(out);
    for (place, rank) in all.ranks.iter().enumerate() {
        let host = all
            .host
            .get(place)
            .filter(|host| host.is_finite())
            .and_then(|host| all.hosts.get(*host as usize));
        for (column, values) in &all.columns {
            let Some(value) = values.get(place).copied().filter(|value| value.is_finite()) else { continue };
            let is_function = column.group == columns::FUNCTIONS;
            let (section, quantity) = match &*column.group {
                columns::TIME => ("rank".into(), word_of(&column.name)),
                columns::FUNCTIONS => ("calls".into(), "total".into()),
                group => (word_of(group), word_of(&column.name)),
            };
            out.serialize(Row {
                rank: *rank,
                host: host.map_or("", String::as_str),
                section,
                quantity,
                unit: column.unit.symbol(),
                value,
                function: if is_function { &column.name } else { "" },
                ..Row::default()
            })?;
        }
    }
    out.flush()
}

/// The names of the columns, for a profile without ranks.
const COLUMNS: [&str; 13] = [
    "rank",
    "host",
    "section",
    "quantity",
    "unit",
    "value",
    "thread",
    "function",
    "site",
    "communicator",
    "kind",
    "peer",
    "peer_site",
];

fn of_rank(rank: &RankProfile) -> [(&'static str, &'static str, f64); 4] {
    [
        ("run", "s", rank.run_s),
        ("init", "s", rank.init_s),
        ("caused", "s", rank.caused_s),
        ("finalised", "count", f64::from(u8::from(rank.ended == Ended::Finalised))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{
        CommunicatorProfile, Connection, Port, QueueStats, Queues, WindowProfile, sample,
    };

    fn text(profile: &Profile) -> String {
        let mut bytes = Vec::new();
        csv(&mut bytes, profile).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The rows, by the names of their columns.
    fn rows(profile: &Profile) -> Vec<std::collections::HashMap<String, String>> {
        csv::Reader::from_reader(text(profile).as_bytes()).deserialize().map(Result::unwrap).collect()
    }

    #[test]
    fn numbers_of_a_section_add_up_to_those_of_the_profile() {
        let profile = sample::late_rank(4, 1);
        let sum = |section: &str, quantity: &str| -> f64 {
            let rows = rows(&profile).into_iter();
            let chosen = rows.filter(|row| row["section"] == section && row["quantity"] == quantity);
            chosen.map(|row| row["value"].parse::<f64>().unwrap()).sum()
        };
        let whole = mel_log::profile::sums::whole(&profile);
        assert!((sum("calls", "time") - whole.total_s).abs() < 1e-9);
        assert!((sum("waits", "lost") - whole.lost_s).abs() < 1e-9);
        assert_eq!(sum("calls", "bytes_sent"), whole.bytes_sent as f64);
        assert_eq!(sum("receives", "unexpected"), whole.messages.unexpected as f64);
        assert_eq!(sum("posted_queue", "receives"), 720.0);
        assert_eq!(sum("rank", "run"), 4.0);
    }

    #[test]
    fn what_was_done_on_each_communicator_has_lines() {
        let mut profile = sample::late_rank(2, 1);
        let of = CommunicatorProfile {
            name: "halo".into(),
            calls: 3,
            queues: Some(Queues::default()),
            ..CommunicatorProfile::default()
        };
        profile.ranks[1].communicators.push(of);
        let lines = text(&profile);
        assert!(lines.contains("1,node0,communicators,calls,count,3.0,,,,halo,,,\n"), "{lines}");
        assert!(lines.contains("1,node0,communicators,in_mpi,s,0.0,,,,halo,,,\n"), "{lines}");
        assert!(lines.contains("communicators,unexpected_queue_max_length,count,0.0,,,,halo"), "{lines}");
    }

    #[test]
    fn a_line_says_what_it_is_a_number_of() {
        let profile = sample::late_rank(4, 1);
        let line = "3,node0,waits,lost,s,0.4,0,MPI_Waitall,halo.c:44 (exchange),halo,late sender,1,halo.c:40 (exchange)\n";
        assert!(text(&profile).contains(line), "{}", text(&profile));
        let searches = "\n2,node0,posted_queue_searches,searches,count,200.0,,,,,,,\n";
        assert!(text(&profile).contains(searches), "{}", text(&profile));
    }

    #[test]
    fn the_columns_are_the_same_whatever_there_is() {
        let header = COLUMNS.join(",") + "\n";
        assert_eq!(text(&Profile::default()), header);
        assert!(text(&sample::healthy(2)).starts_with(&header));
    }

    #[test]
    fn connections_and_interfaces_have_lines() {
        let connection = Connection {
            interface: "eth0".into(),
            peer_address: "10.0.0.2".into(),
            peer: Some(1),
            bytes_sent: 7,
            round_trip_us: Some(50),
            ..Connection::default()
        };
        let port = Port { interface: "eth0".into(), bytes_sent: 9, ..Port::default() };
        let rank = RankProfile {
            host: "a".into(),
            connections: vec![connection],
            ports: vec![port],
            ..RankProfile::default()
        };
        let lines = text(&Profile { profiled: vec!["net".into()], ranks: vec![rank], ..Profile::default() });
        for line in [
            "\n0,a,connections_mpi,sent,bytes,7.0,,,,,eth0,1,10.0.0.2\n",
            "\n0,a,connections_mpi,round_trip,s,0.00005,,,,,eth0,1,10.0.0.2\n",
            "\n0,a,interface,sent,bytes,9.0,,,,,eth0,,\n",
        ] {
            assert!(lines.contains(line), "{line}{lines}");
        }
    }

    #[test]
    fn what_was_not_counted_has_no_line() {
        let window = WindowProfile { windows: 1, ..WindowProfile::default() };
        let rank = RankProfile {
            host: "a,\"b\"".into(),
            windows: vec![window],
            posted: QueueStats { messages: 0, ..QueueStats::default() },
            ..RankProfile::default()
        };
        let of_windows = Profile { profiled: vec!["rma".into()], ranks: vec![rank], ..Profile::default() };
        let lines = text(&of_windows);
        assert!(lines.contains("\n0,\"a,\"\"b\"\"\",one_sided_operations,operations,count,0.0,"), "{lines}");
        assert!(!lines.contains("queue") && !lines.contains("mean"), "{lines}");
        let both = text(&Profile { profiled: vec!["queues".into(), "rma".into()], ..of_windows });
        // There is no mean of no messages.
        assert!(
            both.contains(",posted_queue,receives,count,0.0,") && !both.contains("mean_lifetime"),
            "{both}"
        );
    }
}
