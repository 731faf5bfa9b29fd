//! All numbers of a profile as comma-separated values (RFC 4180) in long format: one number per line, with what it is a number of.

use std::io::{self, Write};

use mel_log::csv::Writer;
use mel_log::profile::attribution::{OUTSIDE, ShareProfile, shown_region};
use mel_log::profile::columns::{Columns, FUNCTIONS, TIME};
use mel_log::profile::left_out::LEFT_OUT;
use mel_log::profile::phases::{part_of, shown};
use mel_log::profile::quantities::budget::{BUDGET, PROCESSORS, RESOURCES};
use mel_log::profile::quantities::calls::{CALLS, RECEIVES, WAITS};
use mel_log::profile::quantities::communicators::COMMUNICATORS;
use mel_log::profile::quantities::connections::{CONNECTIONS, PORTS};
use mel_log::profile::quantities::counters::COUNTERS;
use mel_log::profile::quantities::run::EFFICIENCY;
use mel_log::profile::quantities::times::TIMES;
use mel_log::profile::quantities::{Quantity, numbers, word_of};
use mel_log::profile::summary::quantities;
use mel_log::profile::sums::Names;
use mel_log::profile::text::waits::word;
use mel_log::profile::{Profile, RankProfile};
use serde::Serialize;

/// A line. What does not apply is empty.
#[derive(Clone, Debug, Default, Serialize)]
struct Row<'a> {
    /// Empty for numbers of the run.
    rank: Option<u32>,
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
            section: section(quantity.group),
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
    let names = &Names::of(profile);
    let mut lines = Lines { out: Writer::new(out), profile, names };
    if profile.ranks.is_empty() {
        lines.out.write_record(COLUMNS)?;
    }
    for rank in &profile.ranks {
        let phase = (!profile.phases.is_empty()).then_some("");
        let row = Row { rank: Some(rank.rank), host: &rank.host, phase, ..Row::default() };
        lines.numbers(TIMES, rank, &row)?;
        lines.numbers(LEFT_OUT, &rank.left_out, &row)?;
        lines.phases(rank, &row)?;
        lines.connections(rank, &row)?;
        for of in &rank.communicators {
            lines.numbers(COMMUNICATORS, of, &Row { communicator: &of.name, ..row.clone() })?;
        }
        lines.attributed(rank, &row)?;
        lines.calls(rank, &row)?;
    }
    if !profile.ranks.is_empty() {
        lines.efficiency()?;
    }
    lines.out.flush()
}

/// The lines of a profile that are being written.
struct Lines<'a, W: Write> {
    out: Writer<W>,
    profile: &'a Profile,
    names: &'a Names,
}

impl<'a, W: Write> Lines<'a, W> {
    /// The numbers of a row of the profile, each as a line like `row`.
    fn numbers<R>(&mut self, catalogue: &'static [Quantity<R>], of: &R, row: &Row<'_>) -> io::Result<()> {
        numbers(catalogue, of).try_for_each(|(quantity, value)| self.out.serialize(row.of(quantity, value)))
    }

    /// The name of a phase, if the program has named any.
    fn phase(&self, number: u32) -> Option<&'a str> {
        self.profile.phases.get(number as usize).map(|name| shown(name))
    }

    fn communicator(&self, place: Option<u32>) -> &'a str {
        let known = place.and_then(|place| self.profile.communicators.get(place as usize));
        known.map_or("", |known| &known.name)
    }

    /// The efficiencies of the run, of its phases and of its regions.
    fn efficiency(&mut self) -> io::Result<()> {
        let Some(all) = &self.profile.efficiency else { return Ok(()) };
        let phase = (!self.profile.phases.is_empty()).then_some("");
        let of_phases = all.phases.iter().map(|of| (self.phase(of.phase), "", &of.of));
        let of_regions = all.regions.iter().map(|of| (phase, shown_region(&of.region), &of.of));
        let all: Vec<_> =
            std::iter::once((phase, "", &all.whole)).chain(of_phases).chain(of_regions).collect();
        for (phase, kind, of) in all {
            self.numbers(EFFICIENCY, of, &Row { phase, kind, ..Row::default() })?;
        }
        Ok(())
    }

    /// The numbers of a rank that are known by phase, too.
    fn phases(&mut self, rank: &RankProfile, row: &Row<'_>) -> io::Result<()> {
        let by_phase = rank.phases.iter().filter_map(|phase| {
            let is_counted = phase.queues.is_some() || phase.counters.is_some();
            let name = self.profile.phases.get(phase.phase as usize).filter(|_| is_counted)?;
            Some((Some(shown(name)), phase.queues.is_some(), part_of(rank, phase.phase)))
        });
        let more_of_counters = COUNTERS.iter().filter(|quantity| !quantity.over_ranks);
        for (phase, has_queues, part) in std::iter::once((row.phase, true, rank.clone())).chain(by_phase) {
            let of_part =
                quantities(self.profile).filter(|known| has_queues || known.group == COUNTERS[0].group);
            let of_part = of_part.chain(more_of_counters.clone());
            for quantity in of_part.chain(BUDGET).chain(PROCESSORS).chain(RESOURCES) {
                let Some(value) = (quantity.of)(&part) else { continue };
                self.out.serialize(Row { phase, ..row.of(quantity, value) })?;
            }
        }
        Ok(())
    }

    fn connections(&mut self, rank: &RankProfile, row: &Row<'_>) -> io::Result<()> {
        for connection in &rank.connections {
            let host = connection.peer_host.as_str();
            let row = Row {
                kind: &connection.interface,
                peer: connection.peer,
                peer_site: if host.is_empty() { &connection.peer_address } else { host },
                phase: self.phase(connection.phase),
                ..row.clone()
            };
            for (quantity, value) in numbers(CONNECTIONS, connection) {
                let section = format!("{}_{}", quantity.group, connection.purpose.name());
                self.out.serialize(Row { section, ..row.of(quantity, value) })?;
            }
        }
        rank.ports
            .iter()
            .try_for_each(|port| self.numbers(PORTS, port, &Row { kind: &port.interface, ..row.clone() }))
    }

    fn attributed(&mut self, rank: &RankProfile, row: &Row<'_>) -> io::Result<()> {
        for (of, share) in
            rank.attributed.iter().flat_map(|of| of.shares.iter().map(move |share| (of, share)))
        {
            let (unit, value) = of_share(share);
            let line = Row {
                section: "attribution".into(),
                quantity: of.name.clone(),
                unit,
                value,
                thread: Some(share.thread),
                function: if share.function.is_empty() { OUTSIDE } else { &share.function },
                site: self.names.name(share.site).unwrap_or_default(),
                communicator: self.communicator(share.communicator),
                kind: &share.region,
                phase: self.phase(share.phase),
                ..row.clone()
            };
            self.out.serialize(line)?;
        }
        Ok(())
    }

    fn calls(&mut self, rank: &RankProfile, row: &Row<'_>) -> io::Result<()> {
        for call in &rank.calls {
            let row = Row {
                thread: Some(call.thread),
                function: &call.function,
                site: self.names.name(call.site).unwrap_or_default(),
                communicator: self.communicator(call.communicator),
                phase: self.phase(call.phase),
                ..row.clone()
            };
            for (quantity, value) in numbers(CALLS, call).chain(numbers(RECEIVES, call)) {
                self.out.serialize(row.of(quantity, value))?;
            }
            for wait in &call.waits {
                let row = Row {
                    kind: word(wait.kind),
                    peer: wait.peer,
                    peer_site: self.names.name(wait.peer_site).unwrap_or_default(),
                    ..row.clone()
                };
                for (quantity, value) in numbers(WAITS, wait) {
                    self.out.serialize(row.of(quantity, value))?;
                }
            }
        }
        Ok(())
    }
}

/// What the column `section` calls a group.
pub(super) fn section(group: &str) -> String {
    if group == TIME { "rank".into() } else { word_of(group) }
}

/// What a variable did in one place: by how much it has grown, or its mean, or its last value. The column `kind` has the region.
fn of_share(share: &ShareProfile) -> (&'static str, f64) {
    match (share.amount, share.mean, share.value) {
        (Some(amount), ..) => ("sum", amount),
        (_, Some(mean), _) => ("mean", mean),
        (.., value) => ("value", value.unwrap_or(0.0)),
    }
}

/// The same of very many ranks: a line per number of the table of ranks, and of the run.
///
/// # Errors
/// Those of `out`.
pub fn csv_of_many(out: impl Write, profile: &Profile, all: &Columns) -> io::Result<()> {
    let mut out = Writer::new(out);
    for (place, rank) in all.ranks.iter().enumerate() {
        let host = all
            .host
            .get(place)
            .filter(|host| host.is_finite())
            .and_then(|host| all.hosts.get(*host as usize));
        for (column, values) in &all.columns {
            let Some(value) = values.get(place).copied().filter(|value| value.is_finite()) else { continue };
            let is_function = column.group == FUNCTIONS;
            let (section, quantity) = match is_function {
                true => ("calls".into(), "total".into()),
                false => (section(&column.group), word_of(&column.name)),
            };
            out.serialize(Row {
                rank: Some(*rank),
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
    for (quantity, value) in profile.efficiency.iter().flat_map(|all| numbers(EFFICIENCY, &all.whole)) {
        out.serialize(Row::default().of(quantity, value))?;
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
        assert!(sum("rank", "finalised") >= 0.0);
        assert!((sum("rank", "in_MPI") - whole.total_s).abs() < 1e-9);
    }

    #[test]
    fn each_rank_and_very_many_have_the_same_names() {
        let (reduced, columns) = sample::reduce(sample::late_rank(300, 17));
        assert!(reduced.ranks.is_empty());
        let mut bytes = Vec::new();
        csv_of_many(&mut bytes, &reduced, &columns).unwrap();
        let mut reader = csv::Reader::from_reader(&*bytes);
        let of_many = reader.deserialize().map(Result::unwrap);
        let of_many: Vec<std::collections::HashMap<String, String>> = of_many.collect();
        let of_each = rows(&sample::late_rank(300, 17));
        for row in of_many.iter().filter(|row| row["rank"] == "17" && row["section"] == "rank") {
            let same = ["rank", "section", "quantity", "unit", "value"];
            assert!(of_each.iter().any(|one| same.iter().all(|name| one[*name] == row[*name])), "{row:?}");
        }
        let of_run = |row: &&std::collections::HashMap<String, String>| row["section"] == "efficiency";
        assert_eq!(of_many.iter().filter(of_run).count(), 3);
        assert!(of_each.iter().filter(of_run).all(|row| row["rank"].is_empty()));
    }

    #[test]
    fn what_found_no_space_has_a_line() {
        let mut profile = sample::late_rank(2, 1);
        profile.ranks[0].left_out.waits = 7;
        assert!(text(&profile).contains("0,node0,left_out,waits,count,7.0,"), "{}", text(&profile));
        assert!(!text(&profile).contains("left_out,contexts"));
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
