//! Who sends what to whom, in 100 columns: a square where it fits, else what ranks or hosts send in all, and the greatest pairs.

use mel_log::number::size;
use mel_log::profile::TrafficKind;
use mel_log::profile::text::COLUMNS;
use mel_log::profile::text::layout::{percent, table, wrapped};
use mel_traffic::functions::{By, Named};
use mel_traffic::sizes::OfSize;
use mel_traffic::{Cell, Hosts, Matrix, Of};

/// More ranks or hosts than that are no square.
const MOST_IN_SQUARE: u32 = 16;
/// More have no line of their own.
const MOST_LINES: usize = 16;
/// So many pairs are shown.
const MOST_PAIRS: usize = 10;

/// What is shown.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    /// Between ranks.
    pub matrix: &'a Matrix,
    /// The hosts of the ranks.
    pub hosts: &'a Hosts,
    /// Whether hosts are shown instead of ranks.
    pub by_host: bool,
    /// Which number.
    pub of: Of,
    /// The kinds that are in it.
    pub kinds: &'a [TrafficKind],
    /// What belongs to each MPI function, or region, shown instead of who sends to whom.
    pub named: Option<(By, Vec<Named<'a>>)>,
    /// How many messages have which size, shown instead of either.
    pub sizes: Option<Vec<OfSize>>,
}

/// Sentences and tables. No line is longer than [`COLUMNS`], but where names of hosts are.
pub fn matrix(shown: &Shown<'_>) -> String {
    let grouped = shown.by_host.then(|| shown.matrix.grouped(&shown.hosts.of_rank, shown.hosts.len()));
    let matrix = grouped.as_ref().unwrap_or(shown.matrix);
    let mut text: String = sentences(shown).iter().map(|sentence| wrapped("- ", sentence)).collect();
    if matrix.cells.is_empty() {
        return text;
    }
    text.push('\n');
    if let Some((by, named)) = &shown.named {
        return text + &by_name(*by, named);
    }
    if let Some(sizes) = &shown.sizes {
        return text + &by_size(sizes);
    }
    match square(shown, matrix) {
        Some(square) => text += &square,
        None => {
            text += &sums(shown, matrix);
            text += &pairs(shown, matrix);
        }
    }
    text
}

/// A row for each MPI function, or region.
fn by_name(by: By, all_named: &[Named<'_>]) -> String {
    let all = all_named.iter().fold(0u64, |sum, named| sum.saturating_add(named.total.bytes));
    let head = [by.head(), "messages", "bytes", "of all", "mean size", "the greatest pair"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for Named { name, total, greatest } in all_named.iter().take(MOST_LINES) {
        let pair = greatest.map(|(from, to, cell)| format!("{from} to {to}: {}", size(cell.bytes as f64)));
        rows.push(vec![
            (*name).to_owned(),
            total.messages.to_string(),
            size(total.bytes as f64),
            percent(share(total.bytes, all)),
            size(total.mean()),
            pair.unwrap_or_default(),
        ]);
    }
    let mut text = table(&rows, &[0, 5]);
    let more = all_named.len().saturating_sub(MOST_LINES);
    if more > 0 {
        text += &format!(" and {more} more; --csv has all\n");
    }
    text
}

/// A row for each power of two between the smallest messages and the largest, with a bar.
fn by_size(sizes: &[OfSize]) -> String {
    const LONGEST_BAR: f64 = 40.0;
    let all = sizes.iter().fold(0u64, |sum, of| sum.saturating_add(of.messages));
    let most = sizes.iter().map(|of| of.messages).max().unwrap_or(0);
    let head = ["bytes of a message", "messages", "of all", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for OfSize { bytes: (least, greatest), messages } in sizes {
        let of = match least == greatest {
            true => least.to_string(),
            false => format!("{least} to {greatest}"),
        };
        let bar = (LONGEST_BAR * share(*messages, most)).ceil() as usize;
        rows.push(vec![of, messages.to_string(), percent(share(*messages, all)), "#".repeat(bar)]);
    }
    table(&rows, &[3])
}

fn name(shown: &Shown<'_>, place: u32) -> String {
    match shown.hosts.names.get(place as usize) {
        Some(host) if shown.by_host => host.clone(),
        _ => place.to_string(),
    }
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What the numbers say, each in a sentence.
fn sentences(shown: &Shown<'_>) -> Vec<String> {
    let (matrix, total) = (shown.matrix, shown.matrix.total());
    let kinds: Vec<&str> = shown.kinds.iter().map(|kind| kind.name()).collect();
    let collective = shown.kinds.contains(&TrafficKind::Collective);
    let mut sentences = Vec::new();
    sentences.push(format!(
        "who sends what to whom ({}): observed{}",
        kinds.join(", "),
        if collective {
            "; pairs of collective operations are estimated, from what the operations mean"
        } else {
            ""
        }
    ));
    if matrix.cells.is_empty() {
        sentences.push("no rank has sent anything to another".into());
    } else {
        let senders = matrix.receivers();
        let (least, most) = (senders.iter().min().unwrap_or(&0), senders.iter().max().unwrap_or(&0));
        let others = match (least, most) {
            (least, most) if least == most => many(u64::from(*most), "other"),
            _ => format!("{least} to {most} others"),
        };
        sentences.push(format!(
            "{} with {} (mean size {}); a rank sends to {others}",
            many(total.messages, "message"),
            size(total.bytes as f64),
            size(total.mean())
        ));
        sentences.extend(uneven(shown));
    }
    if shown.hosts.len() > 1 && total.bytes > 0 {
        let by_host = matrix.grouped(&shown.hosts.of_rank, shown.hosts.len());
        let within = by_host.cells.iter().filter(|(from, to, _)| from == to).map(|cell| cell.2.bytes);
        let between = total.bytes.saturating_sub(within.sum());
        sentences.push(format!(
            "{} of the bytes go from one host to another ({} hosts)",
            percent(share(between, total.bytes)),
            shown.hosts.len()
        ));
    }
    let own = matrix.total_own();
    if own.messages > 0 {
        sentences.push(format!(
            "{} with {} from ranks to themselves are in none of these numbers",
            many(own.messages, "message"),
            size(own.bytes as f64)
        ));
    }
    if matrix.unplaced.calls > 0 {
        sentences.push(format!(
            "of {} it is not known who is in the communicator or which rank is the root: left out",
            many(matrix.unplaced.calls, "call")
        ));
    }
    sentences
}

/// Who sends most, and the greatest pair.
fn uneven(shown: &Shown<'_>) -> Option<String> {
    let (matrix, total) = (shown.matrix, shown.matrix.total());
    let sent = matrix.sent();
    let (rank, most) = sent.iter().enumerate().max_by_key(|(rank, sum)| (sum.bytes, usize::MAX - rank))?;
    let mean = total.bytes as f64 / sent.len() as f64;
    let (from, to, cell) = *matrix.greatest(Of::Bytes, 1).first()?;
    if mean <= 0.0 {
        return None;
    }
    Some(format!(
        "rank {rank} sends most, {} ({:.1} times the mean of a rank); the greatest pair is {from} to {to} with {} ({})",
        size(most.bytes as f64),
        most.bytes as f64 / mean,
        size(cell.bytes as f64),
        percent(share(cell.bytes, total.bytes))
    ))
}

fn value(of: Of, cell: Cell) -> String {
    match of {
        _ if cell == Cell::default() => ".".into(),
        Of::Messages => cell.messages.to_string(),
        Of::Bytes => size(cell.bytes as f64),
        Of::Mean => size(cell.mean()),
    }
}

/// A line for each sender with a column for each receiver, and the sums; none if it is too wide.
fn square(shown: &Shown<'_>, matrix: &Matrix) -> Option<String> {
    if matrix.size > MOST_IN_SQUARE {
        return None;
    }
    let what = match shown.of {
        Of::Messages => "messages",
        Of::Bytes => "bytes",
        Of::Mean => "bytes of a message",
    };
    let last = if shown.of == Of::Mean { "all" } else { "sum" };
    let (sent, received) = (matrix.sent(), matrix.received());
    let mut rows = vec![vec!["from".to_owned()]];
    rows[0].extend((0..matrix.size).map(|to| format!("to {}", name(shown, to))));
    rows[0].push(last.into());
    for from in 0..matrix.size {
        let mut row = vec![name(shown, from)];
        row.extend((0..matrix.size).map(|to| value(shown.of, matrix.cell(from, to))));
        row.push(value(shown.of, sent[from as usize]));
        rows.push(row);
    }
    let mut sums = vec![last.to_owned()];
    sums.extend(received.iter().map(|sum| value(shown.of, *sum)));
    sums.push(value(shown.of, matrix.total()));
    rows.push(sums);
    let text = table(&rows, if shown.by_host { &[0] } else { &[] });
    let fits = text.lines().all(|line| line.chars().count() <= COLUMNS);
    fits.then(|| format!(" {what} by sender and receiver\n{text}"))
}

/// What each sends and receives; of many those with the most.
fn sums(shown: &Shown<'_>, matrix: &Matrix) -> String {
    let (sent, received, receivers) = (matrix.sent(), matrix.received(), matrix.receivers());
    let mut places: Vec<usize> = (0..sent.len()).collect();
    let all = places.len();
    if all > MOST_LINES {
        let most = |place: &usize| {
            let mut both = sent[*place];
            both.add(received[*place]);
            shown.of.value(both)
        };
        places.sort_by(|a, b| most(b).total_cmp(&most(a)).then(a.cmp(b)));
        places.truncate(MOST_LINES);
    }
    let unit = if shown.by_host { "host" } else { "rank" };
    let mut rows = vec![
        [unit, "sends", "messages", "mean size", "to", "receives", "messages", "mean size", "host"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for place in places {
        let (out, back) = (sent[place], received[place]);
        let host = shown.hosts.of_rank.get(place).and_then(|host| shown.hosts.names.get(*host as usize));
        rows.push(vec![
            name(shown, place as u32),
            size(out.bytes as f64),
            out.messages.to_string(),
            size(out.mean()),
            receivers[place].to_string(),
            size(back.bytes as f64),
            back.messages.to_string(),
            size(back.mean()),
            host.cloned().unwrap_or_default(),
        ]);
    }
    if shown.by_host {
        rows.iter_mut().for_each(|row| row.truncate(8));
    }
    let texts: &[usize] = if shown.by_host { &[0] } else { &[8] };
    let title = match all > MOST_LINES {
        true => format!(" what {unit}s send and receive: the {MOST_LINES} of {all} with the most"),
        false => format!(" what {unit}s send and receive"),
    };
    format!("{title}\n{}", table(&rows, texts))
}

/// The greatest pairs.
fn pairs(shown: &Shown<'_>, matrix: &Matrix) -> String {
    let total = matrix.total();
    let mut rows =
        vec![["from", "to", "bytes", "messages", "mean size", "of all bytes"].map(str::to_owned).to_vec()];
    let greatest = matrix.greatest(shown.of, MOST_PAIRS);
    for (from, to, cell) in &greatest {
        rows.push(vec![
            name(shown, *from),
            name(shown, *to),
            size(cell.bytes as f64),
            cell.messages.to_string(),
            size(cell.mean()),
            percent(share(cell.bytes, total.bytes)),
        ]);
    }
    let texts: &[usize] = if shown.by_host { &[0, 1] } else { &[] };
    let title = match matrix.cells.len() > greatest.len() {
        true => format!(" the greatest of {} pairs", matrix.cells.len()),
        false => " all pairs".into(),
    };
    format!("{title}\n{}", table(&rows, texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;
    use mel_traffic::{Choice, Rows};

    fn text(ranks: u32, by_host: bool, of: Of) -> String {
        let profile = sample::traffic(ranks);
        let rows = Rows::of(&profile);
        let kinds = [TrafficKind::P2p, TrafficKind::Collective];
        let between = Matrix::of(&rows, &Choice::of_kinds(&kinds));
        let hosts = Hosts::of(&profile, rows.size());
        let (named, sizes) = (None, None);
        matrix(&Shown { matrix: &between, hosts: &hosts, by_host, of, kinds: &kinds, named, sizes })
    }

    #[test]
    fn sizes_have_a_row_and_a_bar_each() {
        let of = |bytes, messages| OfSize { bytes, messages };
        let text = by_size(&[of((0, 0), 10), of((8, 15), 40), of((1 << 20, (1 << 21) - 1), 1)]);
        let bars: Vec<usize> = text.lines().map(|line| line.matches('#').count()).collect();
        assert_eq!(bars, [0, 10, 40, 1], "{text}");
        assert!(text.contains("1048576 to 2097151         1   2.0 %  #"), "{text}");
    }

    fn words(text: &str, line: &str) -> String {
        let found = text.lines().rfind(|found| found.trim_start().starts_with(line)).unwrap_or_default();
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn few_ranks_are_a_square_with_sums() {
        let text = text(4, false, Of::Messages);
        assert_eq!(words(&text, "from"), "from to 0 to 1 to 2 to 3 sum", "{text}");
        let row = words(&text, "1 ");
        let numbers: Vec<u64> = row.split(' ').filter_map(|word| word.parse().ok()).collect();
        // Rank, three others, and the sum; nothing to itself.
        assert_eq!(numbers.len(), 5, "{text}");
        assert_eq!(numbers[1..4].iter().sum::<u64>(), numbers[4]);
        assert!(row.contains(" . "), "{text}");
        assert!(text.contains("7 messages with 168 B from ranks to themselves"), "{text}");
    }

    #[test]
    fn many_ranks_are_those_with_the_most_and_the_greatest_pairs() {
        let text = text(1024, false, Of::Bytes);
        assert!(text.contains("the 16 of 1024 with the most") && text.contains("the greatest of "), "{text}");
        assert!(text.contains("observed; pairs of collective operations are estimated"), "{text}");
        assert!(text.contains("of the bytes go from one host to another (256 hosts)"), "{text}");
        assert!(text.lines().count() < 50);
    }

    #[test]
    fn no_line_is_longer_than_a_terminal_is_wide() {
        for ranks in [1, 2, 4, 9, 16, 17, 300] {
            for by_host in [false, true] {
                for of in [Of::Messages, Of::Bytes, Of::Mean] {
                    let text = text(ranks, by_host, of);
                    assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{ranks}: {text}");
                }
            }
        }
    }

    #[test]
    fn hosts_have_names_and_what_flows_within_them() {
        let text = text(8, true, Of::Bytes);
        assert_eq!(words(&text, "from"), "from to node0 to node1 sum", "{text}");
        assert!(!words(&text, "node0").contains(" . "), "{text}");
    }
}
