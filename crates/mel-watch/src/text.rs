//! A frame as plain text, for pipes and scripts: no line is longer than 100 columns, but where a sentence has longer words.

use std::path::Path;

use mel_log::number::{date, duration};
use mel_log::profile::Efficiency;
use mel_log::profile::quantities::Quantity;
use mel_log::profile::text::efficiency::in_words;
use mel_log::profile::text::layout::{percent, table, wrapped};

use super::frame::{Frame, Over, Row, word};
use super::quantities::{QUANTITIES, head, text as text_of};
use super::reading::Stage;

/// The columns of the text, by name: those that fit in 100 columns.
const COLUMNS: [&str; 8] = [
    "mpi_now",
    "mpi",
    "waiting_now",
    "waiting",
    "posted_length",
    "unexpected_length",
    "unexpected_longest",
    "searches_per_s",
];

/// The most ranks that are listed; beyond, those that spend most of their time in MPI, and least.
const MOST_RANKS: usize = 40;
/// Call sites of one rank.
const SITES: usize = 3;

/// What the frame says of the run as a whole, in a line.
pub fn headline(frame: &Frame) -> String {
    if frame.stage == Stage::Waiting {
        return "waiting".into();
    }
    let here = frame.ranks.len();
    let ranks = match frame.world_size {
        size if size as usize == here => format!("{here} ranks: {}", frame.ends()),
        size => format!("{here} of {size} ranks: {}", frame.ends()),
    };
    let longest = frame.ranks.iter().map(|row| row.reading.run_s).fold(0.0, f64::max);
    let since = date(frame.started_unix_s);
    let since =
        if since.is_empty() || frame.started_unix_s == 0.0 { String::new() } else { format!(", {since}") };
    format!("{}{since}, {ranks}, after {}", frame.command.join(" "), duration(longest))
}

/// The frame of the run in that directory.
pub fn text(frame: &Frame, directory: &Path) -> String {
    let mut text = wrapped("", &headline(frame));
    text += &format!("directory {}\n", directory.display());
    efficiencies(frame).iter().for_each(|line| text += &wrapped("", line));
    if let Some(finding) = &frame.finding {
        text += &wrapped("", &format!("Costs most so far (estimated): {finding}"));
    }
    if !frame.ranks.is_empty() {
        text += &ranks(frame);
        text += &variables(frame);
        text += &sites(frame);
        text += &legend(frame);
    }
    for remark in &frame.remarks {
        text += &wrapped("- ", remark);
    }
    text
}

/// How well the ranks are used: so far, and in the last interval.
pub fn efficiencies(frame: &Frame) -> Vec<String> {
    let told = |when: &str, of: &Option<Efficiency>| Some(format!("{when}: {}", in_words(of.as_ref()?)));
    let so_far = told("So far", &frame.efficiency);
    so_far.into_iter().chain(told("Last interval", &frame.efficiency_now)).collect()
}

fn chosen() -> impl Iterator<Item = (usize, &'static Quantity<Row>)> {
    COLUMNS
        .iter()
        .filter_map(|name| QUANTITIES.iter().enumerate().find(|(_, quantity)| quantity.name == *name))
}

fn ranks(frame: &Frame) -> String {
    let mut rows = vec![["rank", "host", "state"].map(str::to_owned).to_vec()];
    rows[0].extend(chosen().map(|(_, quantity)| head(quantity).to_owned()));
    for (place, row) in frame.ranks.iter().enumerate() {
        // Of very many the first and the last.
        if frame.ranks.len() > MOST_RANKS
            && (MOST_RANKS / 2..frame.ranks.len() - MOST_RANKS / 2).contains(&place)
        {
            if place == MOST_RANKS / 2 {
                rows.push(vec!["...".into()]);
            }
            continue;
        }
        let mut cells =
            vec![row.reading.rank.to_string(), row.reading.host.clone(), word(row.reading.ended).to_owned()];
        cells.extend(chosen().map(|(place, quantity)| text_of(quantity, row.values[place])));
        rows.push(cells);
    }
    for (name, of) in [
        ("min", (|over| over.min) as fn(Over) -> f64),
        ("median", |over| over.median),
        ("max", |over| over.max),
    ] {
        let mut cells = vec![name.to_owned(), String::new(), String::new()];
        cells.extend(chosen().map(|(place, quantity)| text_of(quantity, frame.over[place].map(of))));
        rows.push(cells);
    }
    table(&rows, &[1, 2])
}

/// The variables that the run samples, over the ranks.
fn variables(frame: &Frame) -> String {
    let mut rows = vec![["variable", "min", "median", "max"].map(str::to_owned).to_vec()];
    for column in &frame.variables {
        let of = |of: fn(Over) -> f64| column.text(column.over.map(of));
        rows.push(vec![column.head(), of(|over| over.min), of(|over| over.median), of(|over| over.max)]);
    }
    if rows.len() > 1 { table(&rows, &[0]) } else { String::new() }
}

/// Of each rank, up to some, the call that it is in and the call sites where most of its time goes.
fn sites(frame: &Frame) -> String {
    let mut rows =
        vec![["rank", "call site", "function", "now", "all", "waiting", "calls"].map(str::to_owned).to_vec()];
    for row in frame.ranks.iter().take(MOST_RANKS / 5) {
        for (site, now) in
            row.reading.sites.iter().zip(&row.sites_now).take(SITES).filter(|(site, _)| site.mpi_s > 0.0)
        {
            let of_run = |seconds: f64| percent(seconds / row.reading.run_s.max(f64::MIN_POSITIVE));
            rows.push(vec![
                row.reading.rank.to_string(),
                site.site.clone().unwrap_or_default(),
                site.function.clone(),
                now.map_or("-".into(), percent),
                of_run(site.mpi_s),
                of_run(site.waiting_s),
                site.calls.to_string(),
            ]);
        }
    }
    let mut text = if rows.len() > 1 { table(&rows, &[1, 2]) } else { String::new() };
    for line in frame.ranks.iter().filter_map(in_call).take(MOST_RANKS / 5) {
        text += &wrapped("- ", &line);
    }
    text
}

/// The call that a rank is in.
pub fn in_call(row: &Row) -> Option<String> {
    let call = row.reading.in_call.as_ref()?;
    let site = call.site.as_ref().map_or(String::new(), |site| format!(" at {site}"));
    let since = if call.since_s > 0.0 { format!(", for {}", duration(call.since_s)) } else { String::new() };
    Some(format!("rank {} is in {}{site}{since}", row.reading.rank, call.function))
}

fn legend(frame: &Frame) -> String {
    let of = |word: &str| {
        let heads = chosen()
            .map(|(_, quantity)| quantity)
            .filter(|quantity| quantity.basis.word(&frame.backend) == word);
        let heads: Vec<&str> = heads.map(head).collect();
        (!heads.is_empty()).then(|| format!("{word}: {}", heads.join(", ")))
    };
    let words: Vec<String> = ["observed", "estimated", "modelled"].into_iter().filter_map(of).collect();
    wrapped("- ", &words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::sample::reading;
    use super::*;
    use mel_log::profile::Ended;
    use mel_log::profile::text::COLUMNS as WIDTH;

    #[test]
    fn a_snapshot_has_each_rank_and_the_sums_over_them() {
        let (before, mut now) = (reading(4, 10.0), reading(4, 12.0));
        now.ranks[3].ended = Ended::Killed;
        let text = text(&Frame::of(&now, Some(&before)), Path::new("mel-halo-1"));
        let line = |begin: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(begin));
            line.unwrap_or_else(|| panic!("{begin}: {text}")).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(
            text.starts_with(
                "./halo -n 200, 2023-11-14 22:13 UTC, 4 ranks: 3 running, 1 killed, after 12.0 s\n"
            ),
            "{text}"
        );
        assert_eq!(line("2 "), "2 node1 running 20.0 % 20.0 % 10.0 % 10.0 % 2 0 7 200");
        assert_eq!(line("3 "), "3 node1 killed 30.0 % 30.0 % 15.0 % 15.0 % 3 0 7 200");
        assert_eq!(line("median"), "median 15.0 % 15.0 % 7.5 % 7.5 % 1.5 0 7 200");
        assert_eq!(line("- rank 1"), "- rank 1 is in MPI_Recv at halo.c:44 (exchange), for 250 ms");
        assert!(
            text.contains("- observed: MPI now, MPI all; estimated: wait now, wait all; modelled: posted"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn very_many_ranks_are_the_first_and_the_last() {
        let frame = Frame::of(&reading(5000, 10.0), None);
        let text = text(&frame, Path::new("d"));
        assert!(text.lines().count() < 120 && text.contains("..."), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn what_is_waited_for_is_said() {
        let frame = Frame { remarks: vec!["d is not there yet".into()], ..Frame::default() };
        assert_eq!(text(&frame, Path::new("d")), "waiting\ndirectory d\n- d is not there yet\n");
    }
}
