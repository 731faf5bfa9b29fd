//! The numbers of each rank as comma-separated values (RFC 4180), for spreadsheets and scripts.

use mel_log::profile::schema::{Ended, Profile};
use mel_log::profile::summary::{Unit, quantities};

/// A line of names, then a line per rank. Times are in seconds: the names of their columns end with `_s`.
/// A number that a rank does not have, as the mean of nothing, is empty.
pub fn csv(profile: &Profile) -> String {
    let mut text = String::from("rank,host,ended");
    for quantity in quantities(profile) {
        let unit = if quantity.unit == Unit::Seconds { "_s" } else { "" };
        text += &format!(
            ",{}_{}{unit}",
            quantity.group.replace([' ', '-'], "_"),
            quantity.name.replace(' ', "_")
        );
    }
    text.push('\n');
    for rank in &profile.ranks {
        let ended = match rank.ended {
            Ended::Finalised => "finalised",
            Ended::Aborted => "aborted",
            Ended::Exited => "exited",
            Ended::Killed => "killed",
        };
        text += &format!("{},{},{ended}", rank.rank, quoted(&rank.host));
        for quantity in quantities(profile) {
            text.push(',');
            if let Some(value) = (quantity.of)(rank) {
                text += &value.to_string();
            }
        }
        text.push('\n');
    }
    text
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::WindowProfile;
    use mel_log::profile::{QueueStats, RankProfile};

    #[test]
    fn each_rank_is_a_line_with_as_many_fields_as_the_first() {
        let rank = RankProfile {
            rank: 7,
            host: "a,\"b\"".into(),
            ended: Ended::Killed,
            posted: QueueStats { messages: 3, mean_s: 1.5e-6, ..QueueStats::default() },
            ..RankProfile::default()
        };
        let text = csv(&Profile { ranks: vec![rank], ..Profile::default() });
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(names[..5], ["rank", "host", "ended", "posted_queue_receives", "posted_queue_max_length"]);
        let line = lines.next().unwrap();
        let rest = line.strip_prefix("7,\"a,\"\"b\"\"\",killed,3,0,0,0.0000015,").expect(line);
        assert_eq!(rest.split(',').count(), names.len() - 7);
        assert!(names.contains(&"posted_queue_mean_lifetime_s"), "{names:?}");
        // There is no mean of no messages.
        let mean = names.iter().position(|name| *name == "unexpected_queue_mean_lifetime_s").unwrap();
        assert_eq!(rest.split(',').nth(mean - 7), Some(""));
    }

    #[test]
    fn what_was_not_counted_has_no_columns() {
        let window = WindowProfile { windows: 1, ..WindowProfile::default() };
        let rank = RankProfile { windows: vec![window], ..RankProfile::default() };
        let of_windows = Profile { profiled: vec!["rma".into()], ranks: vec![rank], ..Profile::default() };
        let text = csv(&of_windows);
        let names = text.lines().next().unwrap();
        assert!(names.starts_with("rank,host,ended,one_sided_operations_operations,"), "{names}");
        assert!(names.ends_with(",one_sided_operations_synchronising_s"), "{names}");
        assert!(!names.contains("queue"), "{names}");
        let both = csv(&Profile { profiled: vec!["queues".into(), "rma".into()], ..of_windows });
        assert!(both.contains(",posted_queue_receives,") && both.contains("one_sided"), "{both}");
    }
}
