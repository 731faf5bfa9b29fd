//! A run on its network as text.

use std::path::Path;

use mel_log::number::{duration, size};
use mel_log::profile::text::header::header;
use mel_log::profile::text::layout::{cut, percent, table, wrapped};
use mel_net::LinkEnd;
use mel_net::advice::pairs;
use mel_net::levels::{Level, level_of, levels};
use mel_net::load::is_by_time;
use mel_net::routes::How;

use mel_net::of_run::Found;

/// So many link ends have a line.
const MOST_ENDS: usize = 12;
/// So many MPI functions are named.
const MOST_FUNCTIONS: usize = 5;
/// More columns than that has no name.
const NAME: usize = 24;

/// The whole text: the run, the network, what stands out, the most loaded link ends, levels and planes.
pub fn terminal(found: &Found<'_>, directory: &Path) -> String {
    let mut text = header(found.profile, Some(directory), "");
    for sentence in sentences(found) {
        text += &wrapped("", &sentence);
    }
    for (place, finding) in found.findings.iter().enumerate() {
        text += &wrapped(&format!("{}. ", place + 1), &format!("{} {}", finding.text, finding.advice));
    }
    if found.load.between == 0 {
        return text;
    }
    text + &ends(found) + &of_levels(found) + &crossings(found) + &planes(found)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn many(count: usize, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{count} {what}{}", if count == 1 { "" } else { plural })
}

/// What the numbers are about, and what is missing in them.
fn sentences(found: &Found<'_>) -> Vec<String> {
    let (fabric, load) = (&found.network.fabric, &found.load);
    let mut planes = String::new();
    if fabric.planes.len() > 1 {
        planes = format!(", {}", many(fabric.planes.len(), "plane"));
    }
    let mut sentences = vec![format!(
        "network: {}, {} in {}, {}{planes}",
        many(fabric.hosts().count(), "host"),
        many(fabric.switches(), "switch"),
        many(fabric.levels() as usize, "level"),
        many(fabric.graph.edge_count(), "link"),
    )];
    let kinds: Vec<&str> = found.flows.kinds.iter().map(|kind| kind.name()).collect();
    let from = if found.flows.is_carried { "as seen below the calls" } else { "as the calls say" };
    let all = load.within.saturating_add(load.between);
    sentences.push(format!(
        "bytes between ranks ({}): observed, {from}; {} of {} go between hosts ({})",
        kinds.join(", "),
        size(load.between as f64),
        size(all as f64),
        percent(share(load.between, all))
    ));
    if load.between > 0 {
        let hows: Vec<&str> = [
            (How::Named, "the file's own"),
            (How::Tables, "forwarding tables"),
            (How::Shortest, "the only shortest ways"),
            (How::OneOfSeveral, "one of several shortest ways, chosen by destination"),
        ]
        .into_iter()
        .filter(|(how, _)| load.by_how.get(how).is_some_and(|bytes| *bytes > 0))
        .map(|(_, words)| words)
        .collect();
        sentences
            .push(format!("what links carry is modelled from these bytes and routes: {}", hows.join("; ")));
    }
    if fabric.planes.len() > 1 && load.between > 0 {
        sentences.push(match found.shares.is_observed() {
            true => "which plane they take is observed, by interface and host".into(),
            false => "which plane they take was not seen: assumed is an even division over those that both hosts are in".into(),
        });
    }
    let mut lost: Vec<_> = load.lost.iter().collect();
    lost.sort_unstable();
    for (why, (bytes, from, to)) in lost {
        let [from, to] = [from, to].map(|host| &fabric.graph[*host].name);
        sentences.push(format!(
            "{} have no route and are on no link, such as those from {from} to {to}: {}",
            size(*bytes as f64),
            why.words()
        ));
    }
    if !found.placed.unknown.is_empty() {
        sentences.push(format!(
            "{} of the run are not in the network ({}): {} of or to their ranks are on no link; --map says which they are",
            many(found.placed.unknown.len(), "host"),
            cut(&found.placed.unknown.join(", "), 40),
            size(load.unplaced as f64)
        ));
    }
    if found.flows.unplaced_calls > 0 {
        let calls = many(found.flows.unplaced_calls as usize, "call");
        sentences.push(format!(
            "of {calls} it is not known who is in the communicator or which rank is the root: left out"
        ));
    }
    sentences.extend(found.network.notes.iter().cloned());
    sentences
}

/// Names of a level, such as `host > 1`.
pub(super) fn name_of(level: Level) -> String {
    let of = |level: u32| if level == 0 { "host".to_owned() } else { format!("level {level}") };
    let (from, to) = if level.up { (level.lower, level.upper) } else { (level.upper, level.lower) };
    format!("{} to {}", of(from), of(to))
}

/// The most loaded ends.
fn ends(found: &Found<'_>) -> String {
    let (fabric, load) = (&found.network.fabric, &found.load);
    let (hottest, by_time, all) = (load.hottest(fabric), is_by_time(fabric), levels(fabric, load));
    let several = fabric.planes.len() > 1;
    let mut head = vec!["from", "to", "bytes", "of all", "x mean"];
    head.extend(by_time.then_some("at least"));
    head.extend(several.then_some("plane"));
    head.push("most between ranks");
    let row = |end: &LinkEnd| {
        let [from, to] = fabric.nodes_of(*end).map(|node| cut(&fabric.graph[node].name, NAME));
        let bytes = load.ends[end.place()];
        let of_level = all.iter().find(|of| of.level == level_of(fabric, *end));
        let mut row = vec![from, to, size(bytes as f64), percent(share(bytes, load.between))];
        row.push(of_level.map_or(String::new(), |of| format!("{:.2}", bytes as f64 / of.mean())));
        row.extend(by_time.then(|| duration(load.weight(fabric, *end, true))));
        row.extend(several.then(|| cut(&fabric.planes[fabric.graph[end.edge()].plane as usize].name, 12)));
        row.push(pairs(load, *end, 1));
        row
    };
    let mut rows = vec![head.iter().map(|&head| head.to_owned()).collect::<Vec<_>>()];
    rows.extend(hottest.iter().take(MOST_ENDS).map(row));
    let last = head.len() - 1;
    let texts: Vec<usize> = if several { vec![0, 1, last - 1, last] } else { vec![0, 1, last] };
    let more = hottest.len().saturating_sub(MOST_ENDS);
    let mut text = format!(
        "\n hottest ends of links: what the first node sends to the second (modelled)\n{}",
        table(&rows, &texts)
    );
    if more > 0 {
        text += &format!(" and {more} more that carry something; --csv has all\n");
    }
    text += &hottest.first().map_or_else(String::new, |end| functions(found, *end));
    text
}

/// Which MPI functions load the hottest end.
fn functions(found: &Found<'_>, end: LinkEnd) -> String {
    let all = found.load.ends[end.place()];
    let parts: Vec<String> = found
        .functions
        .at(end)
        .take(MOST_FUNCTIONS)
        .map(|(name, bytes)| format!("{name} {}", percent(share(bytes, all))))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    let [from, to] = fabric_names(found, end);
    let how = if found.flows.is_carried { ", those that were under way as the library moved it" } else { "" };
    wrapped(" ", &format!("from {from} to {to} by MPI function{how}: {}", parts.join(", ")))
}

fn fabric_names(found: &Found<'_>, end: LinkEnd) -> [String; 2] {
    let fabric = &found.network.fabric;
    fabric.nodes_of(end).map(|node| cut(&fabric.graph[node].name, NAME))
}

/// A row for each level and direction.
fn of_levels(found: &Found<'_>) -> String {
    let fabric = &found.network.fabric;
    let mut rows = vec![
        ["level", "plane", "links", "used", "bytes", "mean", "max", "max / mean"].map(str::to_owned).to_vec(),
    ];
    for of in levels(fabric, &found.load) {
        rows.push(vec![
            name_of(of.level),
            cut(&fabric.planes[of.level.plane as usize].name, NAME),
            of.ends.to_string(),
            of.used.to_string(),
            size(of.bytes as f64),
            size(of.mean()),
            size(of.most as f64),
            format!("{:.2}", of.imbalance()),
        ]);
    }
    format!(
        "\n by level and direction: links of nodes with traffic of the run (modelled)\n{}",
        table(&rows, &[0, 1])
    )
}

/// How high the bytes go.
fn crossings(found: &Found<'_>) -> String {
    let load = &found.load;
    let all = load.within.saturating_add(load.between);
    let mut rows = vec![["highest level", "bytes", "of all"].map(str::to_owned).to_vec()];
    rows.push(vec!["within hosts".into(), size(load.within as f64), percent(share(load.within, all))]);
    for (level, bytes) in load.by_top_level.iter().enumerate().skip(1).filter(|(_, bytes)| **bytes > 0) {
        rows.push(vec![format!("up to level {level}"), size(*bytes as f64), percent(share(*bytes, all))]);
    }
    format!("\n the highest level that bytes reach\n{}", table(&rows, &[0]))
}

/// The planes beside each other.
fn planes(found: &Found<'_>) -> String {
    let (fabric, load) = (&found.network.fabric, &found.load);
    if fabric.planes.len() < 2 {
        return String::new();
    }
    let mut rows = vec![["plane", "hosts", "links", "bytes", "of all"].map(str::to_owned).to_vec()];
    for (place, plane) in fabric.planes.iter().enumerate() {
        let hosts = fabric.hosts().filter(|host| fabric.is_in(*host, place as u32)).count();
        let links = fabric.graph.edge_weights().filter(|link| link.plane as usize == place).count();
        let bytes = load.by_plane[place];
        rows.push(vec![
            cut(&plane.name, NAME),
            hosts.to_string(),
            links.to_string(),
            size(bytes as f64),
            percent(share(bytes, load.between)),
        ]);
    }
    let basis = if found.shares.is_observed() { "observed" } else { "assumed: an even division" };
    format!("\n planes: bytes between hosts ({basis})\n{}", table(&rows, &[0]))
}
