//! The events of a run in text, and their comparison with what a program promises.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::Expectation;
use crate::artifacts::mel;

/// The queue events, as one list for `mel run -e`.
pub const QUEUE_EVENTS: &str = "pml_ob1_message_arrived,pml_ob1_search_posted_begin,pml_ob1_search_posted_end,\
    pml_ob1_search_unexpected_begin,pml_ob1_search_unexpected_end,pml_ob1_posted_insert,pml_ob1_posted_remove,\
    pml_ob1_unex_insert,pml_ob1_unex_remove,pml_ob1_cancel";

/// One event instance as the text log shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Seconds since the process's `MPI_Init`.
    pub seconds: f64,
    /// The event type's name.
    pub name: String,
    /// Element names and values in the order of the log.
    pub elements: Vec<(String, i64)>,
}

/// The text log of a run.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The events by rank, in the order of the lines.
    pub ranks: BTreeMap<u32, Vec<Event>>,
    /// The lines that begin with `#`: what is said about a rank as a whole.
    pub remarks: Vec<String>,
}

impl Log {
    /// What `mel convert --text` prints for a run's directory.
    ///
    /// # Panics
    ///
    /// If the conversion fails, prints something that is no event, or speaks of lost events.
    pub fn of_run(directory: &Path) -> Log {
        let output = Command::new(mel())
            .arg("convert")
            .arg(directory)
            .arg("--text")
            .output()
            .expect("mel can be started");
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "mel convert --text: {stderr}");
        Log::parse(&stdout).unwrap_or_else(|e| panic!("mel convert --text: {e}\n{stdout}"))
    }

    /// The events of one rank; none if the log has no such rank.
    pub fn rank(&self, rank: u32) -> &[Event] {
        self.ranks.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// The remark that introduces a rank, such as `# rank 1 of 2, host, finalised`.
    pub fn heading(&self, rank: u32) -> Option<&str> {
        self.remarks.iter().map(String::as_str).find(|line| rank_in(line) == Some(rank))
    }

    fn parse(text: &str) -> Result<Log, String> {
        let mut log = Log::default();
        let mut rank = None;
        for line in text.lines() {
            if line.contains("# ") && (line.contains("missing") || line.contains("lost")) {
                return Err(format!("events were lost: {line}"));
            }
            if line.starts_with('#') {
                log.remarks.push(line.to_owned());
                rank = rank_in(line).or(rank);
                log.ranks.entry(rank.ok_or("the first remark names no rank")?).or_default();
                continue;
            }
            // What was sampled beside the events.
            if line.contains("] sample '") {
                continue;
            }
            let event = line
                .strip_prefix('[')
                .and_then(parse_event)
                .ok_or_else(|| format!("not an event: {line}"))?;
            log.ranks.entry(rank.ok_or("an event before any rank")?).or_default().push(event);
        }
        Ok(log)
    }
}

fn rank_in(text: &str) -> Option<u32> {
    let after = text.split("rank ").nth(1)?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Reads `0.002151416] 'name' context id=0 source=0 communicator='halo'`. Element names may contain spaces, values are numbers; what the
/// event is bound to and where it comes from is passed over.
fn parse_event(text: &str) -> Option<Event> {
    let (seconds, rest) = text.split_once("] '")?;
    let (name, rest) = rest.split_once('\'')?;
    let mut elements = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        if let Some(quoted) = after.strip_prefix('\'') {
            rest = quoted.split_once('\'')?.1.trim_start();
            continue;
        }
        let (value, next) = after.split_once(' ').unwrap_or((after, ""));
        // Addresses are unsigned and may exceed the signed range; only their identity matters.
        let value =
            value.parse::<i64>().or_else(|_| value.parse::<u64>().map(|unsigned| unsigned as i64)).ok()?;
        elements.push((key.to_owned(), value));
        rest = next.trim_start();
    }
    Some(Event { seconds: seconds.trim().parse().ok()?, name: name.to_owned(), elements })
}

/// The events that an expectation stands for, and whether the expectation's keys are elements of each.
fn expand(word: &str) -> &'static [(&'static str, bool)] {
    match word {
        "post" => {
            &[("search_unexpected_begin", true), ("search_unexpected_end", true), ("posted_insert", true)]
        }
        "match" => &[
            ("message_arrived", true),
            ("search_posted_begin", true),
            // Bears the receive's source and tag, which may be wildcards.
            ("posted_remove", false),
            ("search_posted_end", true),
        ],
        "unexpected" => &[
            ("message_arrived", true),
            ("search_posted_begin", true),
            ("unex_insert", true),
            ("search_posted_end", true),
        ],
        // The removal bears the message's source and tag, which differ from a wild receive's.
        "claim" => {
            &[("search_unexpected_begin", true), ("unex_remove", false), ("search_unexpected_end", true)]
        }
        "cancel" => &[("posted_remove", true), ("cancel", false)],
        _ => &[],
    }
}

/// Compares one rank's events with what its program promises; the error shows both, side by side.
///
/// # Errors
///
/// If an event is missing, superfluous, out of order, or an element has another value.
pub fn compare(expected: &[Expectation], events: &[Event]) -> Result<(), String> {
    let wanted: Vec<(&str, &[(String, i64)])> = expected
        .iter()
        .flat_map(|one| {
            expand(&one.word).iter().map(|&(name, keys)| (name, if keys { &one.keys[..] } else { &[] }))
        })
        .collect();
    let fits = |wanted: &(&str, &[(String, i64)]), event: &Event| {
        event.name.ends_with(&format!("pml_ob1_{}", wanted.0))
            && wanted.1.iter().all(|key| event.elements.contains(key))
    };
    if wanted.len() == events.len() && wanted.iter().zip(events).all(|(wanted, event)| fits(wanted, event)) {
        return Ok(());
    }
    let mut table = String::from("  expected | seen\n");
    for line in 0..wanted.len().max(events.len()) {
        let (left, right) = (wanted.get(line), events.get(line));
        let sign =
            if matches!((left, right), (Some(left), Some(right)) if fits(left, right)) { ' ' } else { '!' };
        let left = left.map_or_else(String::new, |(name, keys)| format!("{name}{}", display(keys)));
        let right =
            right.map_or_else(String::new, |event| format!("{}{}", event.name, display(&event.elements)));
        table.push_str(&format!("{sign} {left} | {right}\n"));
    }
    Err(table)
}

fn display(elements: &[(String, i64)]) -> String {
    elements.iter().map(|(key, value)| format!(" {key}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectations(lines: &[(&str, i64)]) -> Vec<Expectation> {
        lines
            .iter()
            .map(|&(word, tag)| Expectation { word: word.into(), keys: vec![("tag".into(), tag)] })
            .collect()
    }

    const LOG: &str = "# rank 1 of 3, host, finalised\n\
        [ 0.002151416] 'pml_ob1_search_unexpected_begin' request=94223456789 source=0 tag=7\n\
        [ 0.002151500] 'pml_ob1_search_unexpected_end' request=94223456789 source=0 tag=7\n\
        [ 0.002151600] 'pml_ob1_posted_insert' request=94223456789 source=0 tag=7\n\
        # rank 2 of 3, host, finalised\n\
        [11.5] 'pml_ob1_message_arrived' context id=3 source=-1 tag=201 sequence number=10\n";

    #[test]
    fn a_text_log_is_read() {
        let log = Log::parse(LOG).unwrap();
        assert_eq!((log.rank(0).len(), log.rank(1).len(), log.rank(2).len()), (0, 3, 1));
        assert_eq!(log.heading(2), Some("# rank 2 of 3, host, finalised"));
        let last = &log.rank(2)[0];
        assert_eq!((last.seconds, last.name.as_str()), (11.5, "pml_ob1_message_arrived"));
        let keys: Vec<&str> = last.elements.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["context id", "source", "tag", "sequence number"]);
        assert!(Log::parse("# rank 0\n[ 0.1] 'x' tag").is_err());
        assert!(Log::parse("# rank 0\n[ 0.1] # 5 events were lost before this one").is_err());
    }

    #[test]
    fn a_promise_is_kept_only_by_the_right_events_in_the_right_order() {
        let mut events = Log::parse(LOG).unwrap().rank(1).to_vec();
        assert_eq!(compare(&expectations(&[("post", 7)]), &events), Ok(()));
        assert!(compare(&expectations(&[("post", 8)]), &events).is_err());
        assert!(compare(&expectations(&[("claim", 7)]), &events).is_err());
        assert!(compare(&[], &events).is_err());
        events.swap(0, 1);
        assert!(compare(&expectations(&[("post", 7)]), &events).unwrap_err().contains('!'));
        events.swap(0, 1);
        events.pop();
        assert!(compare(&expectations(&[("post", 7)]), &events).is_err());
    }
}
