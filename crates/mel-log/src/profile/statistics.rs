//! The statistics of each rank as lines of text, in the wording of the paper (section 5.2).

use super::quantities::{self, queues};
use super::schema::RankProfile;
use crate::settings::MARK;

/// The four lines of a rank: both queues, and the searches of both.
pub fn lines(rank: &RankProfile) -> String {
    let groups = [
        ("Posted queue", queues::POSTED),
        ("Unexpected queue", queues::UNEXPECTED),
        ("Posted queue search", queues::POSTED_SEARCHES),
        ("Unexpected queue search", queues::UNEXPECTED_SEARCHES),
    ];
    let line = |(what, of): (&str, _)| {
        format!("{MARK}{what} statistics rank: {}{}\n", rank.rank, quantities::line(of, rank))
    };
    groups.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{QueueStats, SearchStats};

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
