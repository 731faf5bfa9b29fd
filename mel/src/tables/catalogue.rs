//! Each quantity of the catalogue arrives in JSON, in its documentation, in CSV and in the text.

use std::path::Path;

use mel_log::profile::budget::Parts;
use mel_log::profile::efficiency::{Efficiencies, Efficiency, OfPhase, OfRegion};
use mel_log::profile::quantities::calls::{CALLS, RECEIVES, WAITS};
use mel_log::profile::quantities::communicators::COMMUNICATORS;
use mel_log::profile::quantities::connections::{CONNECTIONS, PORTS};
use mel_log::profile::quantities::counters::COUNTERS;
use mel_log::profile::quantities::run::EFFICIENCY;
use mel_log::profile::quantities::times::TIMES;
use mel_log::profile::quantities::windows::WINDOWS;
use mel_log::profile::quantities::{Quantity, numbers, queues, word_of};
use mel_log::profile::text::report::{Options, report};
use mel_log::profile::{
    CallProfile, CommunicatorProfile, Connection, Ended, KindProfile, Profile, QueueStats, Queues,
    RankProfile, SearchStats, Times, WindowProfile, WindowThread,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::csv::{csv, section};
use super::terminal::terminal;

/// A row of `profile.json` in which each number of the catalogue has another value, and that value.
fn row_of<R: DeserializeOwned>(catalogues: &[&[Quantity<R>]]) -> R {
    let mut row = Map::new();
    let quantities = catalogues.iter().flat_map(|catalogue| catalogue.iter());
    for (value, quantity) in (1001..).zip(quantities.filter(|quantity| !quantity.key.is_empty())) {
        match quantity.key.split_once('.') {
            Some((group, key)) => row.entry(group).or_insert_with(|| json!({}))[key] = json!(value),
            None => drop(row.insert(quantity.key.into(), json!(value))),
        }
    }
    serde_json::from_value(Value::Object(row)).expect("each key is a number of the row")
}

/// Looks for each quantity where it has to be, given the row and a profile with it alone.
fn arrives<R: Serialize>(catalogue: &'static [Quantity<R>], row: &R, profile: &Profile, is_rank: bool) {
    let written = serde_json::to_value(row).unwrap();
    let mut bytes = Vec::new();
    csv(&mut bytes, profile).unwrap();
    let lines: Vec<std::collections::HashMap<String, String>> =
        ::csv::Reader::from_reader(&*bytes).deserialize().map(Result::unwrap).collect();
    let text =
        report(profile, Options { directory: None, lines: true }) + &terminal(profile, Path::new("run"));
    let documented = include_str!("../../../docs/profile.md");
    let mut counted = 0;
    for (quantity, value) in numbers(catalogue, row) {
        counted += 1;
        let Quantity { group, name, key, .. } = quantity;
        assert!(!quantity.sentence.is_empty() && !group.is_empty(), "{name}");
        if !key.is_empty() {
            let path = format!("/{}", key.replace('.', "/"));
            let there = written.pointer(&path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {key}"));
            let scale = if key.ends_with("_us") { 1e6 } else { 1.0 };
            assert!((there - value * scale).abs() < 1e-9, "{key} is {there}, and {name} {value}");
            let last = key.rsplit('.').next().unwrap_or_default();
            assert!(documented.contains(&format!("| `{last}` | ")), "docs/profile.md has no {key}");
        }
        let is_it = |line: &&std::collections::HashMap<String, String>| {
            line["section"].starts_with(&section(group)) && line["quantity"] == word_of(name)
        };
        if !is_rank || quantity.over_ranks {
            let line = lines.iter().find(is_it).unwrap_or_else(|| panic!("CSV has no {group}: {name}"));
            assert_eq!(line["unit"], quantity.unit.symbol(), "{name}");
            assert!((line["value"].parse::<f64>().unwrap() - value).abs() < 1e-9, "{name}: {line:?}");
        }
        let labels = [quantity.head, quantity.line, quantity.over_ranks.then_some(*name)];
        for label in labels.into_iter().flatten() {
            assert!(text.contains(label), "the text has no {label}: {text}");
        }
    }
    assert_eq!(counted, catalogue.len(), "each has a number in the row");
}

fn of_rank(rank: RankProfile) -> Profile {
    let profiled = ["queues", "calls", "rma", "net"].map(str::to_owned).to_vec();
    Profile { profiled, ranks: vec![rank], ..Profile::default() }
}

#[test]
fn each_quantity_arrives_in_json_csv_and_text() {
    let rank: RankProfile = row_of(&queues::ALL);
    for group in queues::ALL {
        arrives(group, &rank, &of_rank(rank.clone()), true);
    }

    let mut rank: RankProfile = row_of(&[COUNTERS]);
    rank.budget = Some(Parts { computing_s: 2000.0, ..Parts::default() });
    arrives(COUNTERS, &rank, &of_rank(rank.clone()), true);

    let times = Times { count: 3, total_s: 1.5, mean_s: 0.5, max_s: 0.75, ..Times::default() };
    let operations = [("put".to_owned(), KindProfile { started: 7, bytes: 56 })].into();
    let thread = WindowThread {
        operations,
        completed: 3,
        completed_for_others: 2,
        completion: times.clone(),
        synchronising_s: 0.25,
        ..WindowThread::default()
    };
    let window = WindowProfile { threads: vec![thread], locks_held: times, ..WindowProfile::default() };
    let with_windows = RankProfile { windows: vec![window], ..RankProfile::default() };
    arrives(WINDOWS, &with_windows, &of_rank(with_windows.clone()), true);

    let connection = row_of(&[CONNECTIONS]);
    let profile =
        of_rank(RankProfile { connections: vec![Connection::clone(&connection)], ..RankProfile::default() });
    arrives(CONNECTIONS, &connection, &profile, false);

    let of: Efficiency = row_of(&[EFFICIENCY]);
    let phases = vec![OfPhase { phase: 1, of: of.clone() }];
    let regions = vec![OfRegion { region: "main".into(), of: of.clone() }];
    let efficiency = Some(Efficiencies { whole: of.clone(), phases, regions });
    let profile = of_rank(RankProfile::default());
    let phases = vec![String::new(), "solve".into()];
    arrives(EFFICIENCY, &of, &Profile { efficiency, phases, ..profile }, false);

    let port = row_of(&[PORTS]);
    let profile =
        of_rank(RankProfile { ports: vec![mel_log::profile::Port::clone(&port)], ..RankProfile::default() });
    arrives(PORTS, &port, &profile, false);

    let mut of: CommunicatorProfile = row_of(&[COMMUNICATORS]);
    let posted = QueueStats { max_length: 3, ..QueueStats::default() };
    let posted_search = SearchStats { total_s: 0.5, ..SearchStats::default() };
    of.queues = Some(Queues { unexpected: posted.clone(), posted, posted_search, ..Queues::default() });
    let other = CommunicatorProfile { context: of.context + 1, ..of.clone() };
    let profile = of_rank(RankProfile { communicators: vec![of.clone(), other], ..RankProfile::default() });
    arrives(COMMUNICATORS, &of, &profile, false);

    let mut rank: RankProfile = row_of(&[TIMES]);
    (rank.calls, rank.ended) = (vec![row_of(&[CALLS])], Ended::Finalised);
    arrives(TIMES, &rank, &of_rank(rank.clone()), true);

    let wait = row_of(&[WAITS]);
    let call = CallProfile { waits: vec![wait], ..row_of(&[CALLS, RECEIVES]) };
    let profile = of_rank(RankProfile { calls: vec![call.clone()], ..RankProfile::default() });
    arrives(CALLS, &call, &profile, false);
    arrives(RECEIVES, &call, &profile, false);
    arrives(WAITS, &wait, &profile, false);
}
