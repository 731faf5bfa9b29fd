//! Two runs on one network, as text and as comma-separated values: which links carry more than before, and which less.

use std::io;
use std::path::Path;

use mel_log::number::{duration, size};
use mel_log::profile::phases;
use mel_log::profile::text::header::header;
use mel_log::profile::text::layout::{cut, percent, table, wrapped};
use mel_net::levels::{level_of, levels};
use mel_net::load::is_by_time;
use mel_net::{Fabric, LinkEnd};
use rustc_hash::FxHashMap;

use super::terminal::name_of;
use mel_net::of_run::Found;

/// So many link ends have a line.
const MOST_ENDS: usize = 12;
/// More columns than that has no name.
const NAME: usize = 24;

/// The whole text: both runs, the hottest link of each, what stands out in each, the links that have changed most, and the levels.
pub fn terminal(runs: [(&Path, &Found<'_>); 2]) -> String {
    let mut text = String::new();
    let found = runs.map(|(_, found)| found);
    for (letter, (directory, found)) in ["A  ", "B  "].into_iter().zip(runs) {
        text += &header(found.profile, Some(directory), letter);
        text += &wrapped(letter, &hottest(found));
        for finding in &found.findings {
            text += &wrapped(letter, &format!("{} {}", finding.text, finding.advice));
        }
    }
    let planes = found[0].network.fabric.planes.len();
    if planes > 1 && found.iter().any(|found| !found.shares.is_observed()) {
        text += &wrapped(
            "   ",
            "which plane bytes take was not seen in both runs: where it was not, assumed is an even division",
        );
    }
    text + &ends(found) + &of_levels(found)
}

/// The hottest end, in a sentence.
fn hottest(found: &Found<'_>) -> String {
    let (fabric, load) = (&found.network.fabric, &found.load);
    let Some(end) = load.hottest(fabric).first().copied() else {
        return "nothing goes between hosts".into();
    };
    let [from, to] = fabric.nodes_of(end).map(|node| &fabric.graph[node].name);
    let bytes = load.ends[end.place()];
    let at_least = match is_by_time(fabric) {
        true => format!(", {} at least", duration(load.weight(fabric, end, true))),
        false => String::new(),
    };
    format!(
        "hottest link (modelled): {from} to {to}, {}, {} of what goes between hosts{at_least}",
        size(bytes as f64),
        percent(bytes as f64 / load.between.max(1) as f64)
    )
}

/// The ends that carry anything in one of the runs, those that have changed most first: by time where all capacities are known.
pub fn changed(fabric: &Fabric, found: [&Found<'_>; 2]) -> Vec<LinkEnd> {
    let by_time = is_by_time(fabric);
    let change = |end: &LinkEnd| {
        let [a, b] = found.map(|found| found.load.weight(fabric, *end, by_time));
        (b - a).abs()
    };
    let is_used = |end: &LinkEnd| found.iter().any(|found| found.load.ends[end.place()] > 0);
    let mut ends: Vec<LinkEnd> = fabric.ends().filter(is_used).collect();
    ends.sort_by(|a, b| change(b).total_cmp(&change(a)).then(a.cmp(b)));
    ends
}

fn change(a: f64, b: f64) -> [String; 2] {
    let relative = if a > 0.0 { format!("{:+.1} %", (b / a - 1.0) * 100.0) } else { String::new() };
    let sign = if b < a { "-" } else { "+" };
    [format!("{sign}{}", size((b - a).abs())), relative]
}

/// The ends that have changed.
fn ends(found: [&Found<'_>; 2]) -> String {
    let fabric = &found[0].network.fabric;
    let all = changed(fabric, found);
    let of = |end: &LinkEnd| found.map(|found| found.load.ends[end.place()]);
    let changed: Vec<&LinkEnd> = all.iter().filter(|end| of(end)[0] != of(end)[1]).collect();
    if changed.is_empty() {
        return "\n no link carries more or less than before\n".into();
    }
    let several = fabric.planes.len() > 1;
    let mut rows = vec![["from", "to", "A", "B", "change", ""].map(str::to_owned).to_vec()];
    rows[0].extend(several.then(|| "plane".to_owned()));
    for end in changed.iter().take(MOST_ENDS) {
        let [a, b] = of(end).map(|bytes| bytes as f64);
        let mut row: Vec<String> =
            fabric.nodes_of(**end).iter().map(|node| cut(&fabric.graph[*node].name, NAME)).collect();
        row.extend([size(a), size(b)]);
        row.extend(change(a, b));
        row.extend(several.then(|| cut(&fabric.planes[fabric.graph[end.edge()].plane as usize].name, 12)));
        rows.push(row);
    }
    let texts: &[usize] = if several { &[0, 1, 6] } else { &[0, 1] };
    let mut text = format!("\n links whose load has changed most (modelled)\n{}", table(&rows, texts));
    if changed.len() > MOST_ENDS {
        text += &format!(" and {} more that have changed; --csv has all\n", changed.len() - MOST_ENDS);
    }
    text
}

/// A row for each level and direction that carries anything in one of the runs.
fn of_levels(found: [&Found<'_>; 2]) -> String {
    let fabric = &found[0].network.fabric;
    let both = found.map(|found| levels(fabric, &found.load));
    let mut all: Vec<_> = both.iter().flatten().map(|of| of.level).collect();
    all.sort_unstable_by_key(|level| (level.lower, level.upper, level.plane, !level.up));
    all.dedup();
    let mut rows = vec![
        ["level", "plane", "bytes A", "B", "max A", "B", "max / mean A", "B"].map(str::to_owned).to_vec(),
    ];
    for level in all {
        let of = both.each_ref().map(|list| list.iter().find(|of| of.level == level));
        let mut row = vec![name_of(level), cut(&fabric.planes[level.plane as usize].name, NAME)];
        row.extend(of.map(|of| of.map_or("-".into(), |of| size(of.bytes as f64))));
        row.extend(of.map(|of| of.map_or("-".into(), |of| size(of.most as f64))));
        row.extend(of.map(|of| of.map_or("-".into(), |of| format!("{:.2}", of.imbalance()))));
        rows.push(row);
    }
    if rows.len() == 1 {
        return String::new();
    }
    format!("\n by level and direction (modelled)\n{}", table(&rows, &[0, 1]))
}

/// Writes a line for each end of a link that carries anything in one of the runs, in each phase by its name, in the order of links: `from`,
/// `port`, `to`, `to_port`, `plane`, `from_level`, `to_level`, `phase`, `bytes_a`, `bytes_b`, `change`, `capacity_bytes_per_s`.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: impl io::Write, found: [&Found<'_>; 2]) -> io::Result<()> {
    let fabric = &found[0].network.fabric;
    let mut rows = FxHashMap::<(LinkEnd, &str), [u64; 2]>::default();
    for (place, found) in found.iter().enumerate() {
        let names = &found.profile.phases;
        for ((end, phase), bytes) in &found.load.by_phase {
            let name = phases::name_of(names, *phase);
            rows.entry((*end, name)).or_default()[place] += bytes;
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_unstable();
    let mut writer = mel_log::csv::Writer::new(out);
    writer.write_record([
        "from",
        "port",
        "to",
        "to_port",
        "plane",
        "from_level",
        "to_level",
        "phase",
        "bytes_a",
        "bytes_b",
        "change",
        "capacity_bytes_per_s",
    ])?;
    for ((end, phase), [a, b]) in rows {
        let [from, to] = fabric.nodes_of(end).map(|node| &fabric.graph[node]);
        let link = &fabric.graph[end.edge()];
        let port =
            |side: usize| if link.ports[side] == 0 { String::new() } else { link.ports[side].to_string() };
        writer.write_record([
            &from.name,
            &port(end.side()),
            &to.name,
            &port(1 - end.side()),
            &fabric.planes[level_of(fabric, end).plane as usize].name,
            &from.level.to_string(),
            &to.level.to_string(),
            phase,
            &a.to_string(),
            &b.to_string(),
            &(i128::from(b) - i128::from(a)).to_string(),
            &link.capacity.map_or(String::new(), |capacity| capacity.to_string()),
        ])?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{Profile, RankProfile, Traffic};
    use mel_net::ranks::Map;
    use mel_traffic::choice::Asked;
    use std::path::PathBuf;

    const TREE: &str = "[[host]]\nname = \"n[1-4]\"\n[[switch]]\nname = \"leaf[1-2],root\"\n[[link]]\nfrom = \"n[1-2]\"\nto = \"leaf1\"\n[[link]]\nfrom = \"n[3-4]\"\nto = \"leaf2\"\n[[link]]\nfrom = \"leaf[1-2]\"\nto = \"root\"\n";

    /// Each rank sends a MiB to the one so many further.
    fn profile(step: u32, phases: &[&str]) -> Profile {
        let of = |rank| RankProfile {
            rank,
            host: format!("n{}", rank + 1),
            traffic: vec![Traffic {
                peer: Some((rank + step) % 4),
                messages: 1,
                bytes: 1 << 20,
                phase: phases.len().saturating_sub(1) as u32,
                ..Traffic::default()
            }],
            ..RankProfile::default()
        };
        let phases = phases.iter().map(|&name| name.to_owned()).collect();
        Profile { world_size: 4, ranks: (0..4).map(of).collect(), phases, ..Profile::default() }
    }

    fn found(profile: &Profile) -> Found<'_> {
        let network = mel_net::read::of_texts(&[(PathBuf::from("t.toml"), TREE.to_owned())]).unwrap();
        Found::new(profile, network, &Map::default(), Asked::default()).unwrap()
    }

    #[test]
    fn links_that_carry_less_come_first_and_the_hottest_of_each_is_named() {
        let (torn, near) = (profile(2, &[]), profile(1, &[]));
        let (a, b) = (found(&torn), found(&near));
        let text = terminal([(Path::new("torn"), &a), (Path::new("near"), &b)]);
        assert!(text.contains("A  directory torn") && text.contains("B  directory near"), "{text}");
        assert!(text.contains("A  hottest link (modelled): leaf1 to root, 2.00 MiB, 50.0 %"), "{text}");
        assert!(text.contains("B  hottest link (modelled): n1 to leaf1, 1.00 MiB, 25.0 %"), "{text}");
        let first = text.lines().skip_while(|line| !line.contains("changed most")).nth(2).unwrap();
        let words: Vec<&str> = first.split_whitespace().collect();
        assert_eq!(words[..2], ["leaf1", "root"], "{text}");
        assert!(first.contains("-1.00 MiB") && first.contains("-50.0 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(terminal([(Path::new("a"), &a), (Path::new("a"), &a)]).contains("no link carries more"));
    }

    #[test]
    fn lines_of_both_runs_come_together_by_the_name_of_the_phase() {
        let (torn, near) = (profile(2, &["", "solve"]), profile(1, &["", "init", "solve"]));
        let mut out = Vec::new();
        csv(&mut out, [&found(&torn), &found(&near)]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\nleaf1,,root,,t,1,2,solve,2097152,1048576,-1048576,\n"), "{text}");
        assert_eq!(text.lines().count(), 1 + 12, "{text}");
    }
}
