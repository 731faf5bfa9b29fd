//! The statistics of each rank as lines of text, in the wording of the paper (section 5.2).

use std::fmt::Write;

use super::schema::{QueueStats, RankProfile, SearchStats};
use crate::number::general;

/// The four lines of a rank: both queues, and the searches of both.
pub fn lines(rank: &RankProfile) -> String {
    let mut text = String::new();
    for (queue, stats) in [("Posted", &rank.posted), ("Unexpected", &rank.unexpected)] {
        queue_line(&mut text, queue, rank.rank, stats);
    }
    for (queue, stats) in [("Posted", &rank.posted_search), ("Unexpected", &rank.unexpected_search)] {
        search_line(&mut text, queue, rank.rank, stats);
    }
    text
}

fn queue_line(text: &mut String, queue: &str, rank: u32, stats: &QueueStats) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "[MEL] {queue} queue statistics rank: {rank} Num Messages: {} Max length of message queue: {} \
         Total time of messages in queue: {} s Average time of message in queue: {} s \
         Min time of message in queue: {} s Max time of message in queue: {} s",
        stats.messages,
        stats.max_length,
        general(stats.total_s),
        general(stats.mean_s),
        general(stats.min_s),
        general(stats.max_s),
    );
}

fn search_line(text: &mut String, queue: &str, rank: u32, stats: &SearchStats) {
    let _ = writeln!(
        text,
        "[MEL] {queue} queue search statistics rank: {rank} Num Searches in queue: {} \
         Total time searching in queue: {} s Average time of a search: {} s \
         Min time of a search: {} s Max time of a search: {} s",
        stats.searches,
        general(stats.total_s),
        general(stats.mean_s),
        general(stats.min_s),
        general(stats.max_s),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wording_is_the_papers() {
        let rank = RankProfile {
            rank: 21,
            posted: QueueStats {
                messages: 14559,
                max_length: 14,
                total_s: 625.01,
                mean_s: 0.0429294,
                min_s: 5.16e-7,
                max_s: 0.571345,
                ..QueueStats::default()
            },
            unexpected_search: SearchStats {
                searches: 29284,
                total_s: 0.0351296,
                mean_s: 1.19962e-6,
                min_s: 7.8e-8,
                max_s: 3.0116e-5,
                ..SearchStats::default()
            },
            ..RankProfile::default()
        };
        let text = lines(&rank);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "[MEL] Posted queue statistics rank: 21 Num Messages: 14559 Max length of message queue: 14 Total time of messages in queue: 625.01 s Average time of message in queue: 0.0429294 s Min time of message in queue: 5.16e-07 s Max time of message in queue: 0.571345 s"
        );
        assert!(lines[1].starts_with("[MEL] Unexpected queue statistics rank: 21 Num Messages: 0 "));
        assert!(lines[2].starts_with("[MEL] Posted queue search statistics rank: 21 Num Searches"));
        assert_eq!(
            lines[3],
            "[MEL] Unexpected queue search statistics rank: 21 Num Searches in queue: 29284 Total time searching in queue: 0.0351296 s Average time of a search: 1.19962e-06 s Min time of a search: 7.8e-08 s Max time of a search: 3.0116e-05 s"
        );
    }
}
