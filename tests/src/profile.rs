//! `profile.json` of a run, as a user of the file would read it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::artifacts::mel;

/// A run's profile.
#[derive(Clone, Debug)]
pub struct Profile(Value);

/// The two queues, as they are called in the profile.
pub const QUEUES: [&str; 2] = ["posted", "unexpected"];

impl Profile {
    /// Reads `profile.json` in a run's directory.
    ///
    /// # Panics
    ///
    /// If it is missing or no JSON.
    pub fn read(directory: &Path) -> Profile {
        let path = directory.join("profile.json");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Profile(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    /// What `mel report DIRECTORY --json` prints: also of a run that has left the numbers of each rank.
    ///
    /// # Panics
    ///
    /// If the command fails, or prints no JSON.
    pub fn reported(directory: &Path) -> Profile {
        let output = Command::new(mel()).arg("report").arg(directory).arg("--json").output();
        let output = output.expect("mel can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Profile(serde_json::from_slice(&output.stdout).expect("mel report --json prints JSON"))
    }

    /// The whole document.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The numbers of the ranks, in the order of the file.
    pub fn ranks(&self) -> Vec<u64> {
        self.0["ranks"].as_array().into_iter().flatten().filter_map(|rank| rank["rank"].as_u64()).collect()
    }

    /// A number of one rank, for instance `count(1, "posted.messages")`.
    ///
    /// # Panics
    ///
    /// If the rank or the field is missing.
    pub fn count(&self, rank: u32, field: &str) -> u64 {
        let value = self.field(rank, field);
        value.as_u64().unwrap_or_else(|| panic!("rank {rank}: {field} is {value}, not a count"))
    }

    /// A time of one rank in seconds, for instance `seconds(1, "posted.max_s")`.
    ///
    /// # Panics
    ///
    /// If the rank or the field is missing.
    pub fn seconds(&self, rank: u32, field: &str) -> f64 {
        let value = self.field(rank, field);
        value.as_f64().unwrap_or_else(|| panic!("rank {rank}: {field} is {value}, not a time"))
    }

    /// A count added up over all ranks.
    pub fn total(&self, field: &str) -> u64 {
        (0..self.ranks().len() as u32).map(|rank| self.count(rank, field)).sum()
    }

    /// Whether one-sided communication was counted.
    pub fn counts_windows(&self) -> bool {
        self.0["profiled"].as_array().is_some_and(|profiled| profiled.iter().any(|part| part == "rma"))
    }

    /// Times added up over all ranks, in seconds.
    pub fn total_seconds(&self, field: &str) -> f64 {
        (0..self.ranks().len() as u32).map(|rank| self.seconds(rank, field)).sum()
    }

    /// The largest count of any rank.
    pub fn most(&self, field: &str) -> u64 {
        (0..self.ranks().len() as u32).map(|rank| self.count(rank, field)).max().unwrap_or(0)
    }

    /// What is wrong with the numbers by themselves: each rank once and in order, averages between the extremes,
    /// totals that fit, nothing negative, as many searches as queue operations need, a clean truth check.
    pub fn contradictions(&self, ranks: u32) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.ranks() != (0..u64::from(ranks)).collect::<Vec<_>>() {
            wrong.push(format!("ranks are {:?}, expected {ranks}", self.ranks()));
            return wrong;
        }
        for rank in 0..ranks {
            for queue in QUEUES {
                self.check_times(rank, queue, "messages", &mut wrong);
                self.check_times(rank, &format!("{queue}_search"), "searches", &mut wrong);
                let (messages, longest) = (
                    self.count(rank, &format!("{queue}.messages")),
                    self.count(rank, &format!("{queue}.max_length")),
                );
                if longest > messages || (messages > 0 && longest == 0) {
                    wrong.push(format!("rank {rank}: {queue}: {messages} messages, length up to {longest}"));
                }
            }
            // What is queued as posted was searched for among the unexpected before, and the other way round. Where
            // the library gave a wildcard receive another message, the receive that lost it is queued once more.
            let rematched = self.count(rank, "truth.rematched");
            for (queue, search) in [("posted", "unexpected_search"), ("unexpected", "posted_search")] {
                let messages = self.count(rank, &format!("{queue}.messages"));
                let searches = self.count(rank, &format!("{search}.searches"));
                if searches + rematched < messages {
                    wrong.push(format!("rank {rank}: {messages} {queue} but {searches} in {search}"));
                }
            }
            for count in ["envelopes_lost", "never_received", "dropped"] {
                let value = self.count(rank, &format!("truth.{count}"));
                if value != 0 {
                    wrong.push(format!("rank {rank}: truth.{count} is {value}"));
                }
            }
        }
        wrong
    }

    fn check_times(&self, rank: u32, part: &str, counted: &str, wrong: &mut Vec<String>) {
        let number = |field: &str| self.seconds(rank, &format!("{part}.{field}"));
        let (count, total) = (self.count(rank, &format!("{part}.{counted}")), number("total_s"));
        let (mean, min, max) = (number("mean_s"), number("min_s"), number("max_s"));
        let fits = if count == 0 {
            [total, mean, min, max] == [0.0; 4]
        } else {
            // The means may have been rounded in the file.
            let slack = 1.0 + 1e-6;
            0.0 <= min
                && min <= mean * slack
                && mean <= max * slack
                && max <= total * slack
                && (mean * count as f64 - total).abs() <= 1e-6 * total + 1e-12
        };
        if !fits {
            wrong
                .push(format!("rank {rank}: {part}: {count} {counted}, {total} s, {min} <= {mean} <= {max}"));
        }
    }

    fn field(&self, rank: u32, field: &str) -> &Value {
        let ranks = self.0["ranks"].as_array().map_or(&[][..], Vec::as_slice);
        let entry = ranks
            .iter()
            .find(|entry| entry["rank"] == rank)
            .unwrap_or_else(|| panic!("the profile has no rank {rank}: {}", self.0));
        entry
            .pointer(&format!("/{}", field.replace('.', "/")))
            .unwrap_or_else(|| panic!("no {field} in {entry}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Value {
        let queue = json!({"messages": 2, "max_length": 1, "populated_s": 3.0, "total_s": 3.0, "mean_s": 1.5,
                           "min_s": 1.0, "max_s": 2.0});
        let search = json!({"searches": 2, "total_s": 3.0, "mean_s": 1.5, "min_s": 1.0, "max_s": 2.0});
        json!({"ranks": [{"rank": 0, "host": "h", "posted": queue, "unexpected": queue, "posted_search": search,
               "unexpected_search": search,
               "truth": {"matched": 2, "rematched": 0, "envelopes_lost": 0, "never_received": 0, "dropped": 0}}]})
    }

    #[test]
    fn a_sound_profile_has_no_contradictions() {
        let profile = Profile(sample());
        assert_eq!(profile.contradictions(1), [""; 0]);
        assert_eq!((profile.count(0, "posted.messages"), profile.total("truth.matched")), (2, 2));
    }

    #[test]
    fn each_contradiction_is_found() {
        let changes = [
            ("/ranks/0/rank", json!(1)),
            ("/ranks/0/posted/max_length", json!(3)),
            ("/ranks/0/posted/mean_s", json!(2.5)),
            ("/ranks/0/unexpected/min_s", json!(-1.0)),
            ("/ranks/0/unexpected_search/searches", json!(1)),
            ("/ranks/0/posted_search/total_s", json!(30.0)),
            ("/ranks/0/truth/dropped", json!(1)),
        ];
        for (place, value) in changes {
            let mut changed = sample();
            *changed.pointer_mut(place).unwrap() = value;
            assert!(!Profile(changed).contradictions(1).is_empty(), "{place}");
        }
    }
}
