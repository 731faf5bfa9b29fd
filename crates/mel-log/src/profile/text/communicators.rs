//! What was done on each communicator, a line each.

use super::layout::table;
use crate::number::{duration, size};
use crate::profile::communicators::by_communicator;
use crate::profile::schema::{Profile, Queues};

/// The most communicators that have a line.
const MOST: usize = 16;

/// The table; nothing where there is one communicator at most: its numbers are those of the run.
pub fn communicators(profile: &Profile) -> String {
    let all = by_communicator(profile);
    if all.len() < 2 {
        return String::new();
    }
    let has_traffic = all.iter().any(|of| of.sum.messages > 0);
    let has_queues = all.iter().any(|of| of.sum.queues.is_some());
    let mut header = vec!["communicator", "size"];
    let has_calls = profile.has_calls();
    if has_calls {
        header.extend(["calls", "in MPI", "waiting"]);
    }
    if has_traffic {
        header.extend(["messages", "bytes"]);
    }
    if has_queues {
        header.extend(["posted", "unexpected", "searching"]);
    }
    let mut rows = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for of in all.iter().take(MOST) {
        let sum = &of.sum;
        let members = if sum.size == 0 { "-".into() } else { sum.size.to_string() };
        let mut row = vec![sum.name.clone(), members];
        if has_calls {
            row.extend([sum.calls.to_string(), duration(sum.in_mpi_s), duration(sum.waiting_s)]);
        }
        if has_traffic {
            row.extend([sum.messages.to_string(), size(sum.bytes as f64)]);
        }
        if has_queues {
            row.extend(of_queues(sum.queues.as_ref()));
        }
        rows.push(row);
    }
    let queues = if has_queues { ", queues at their longest" } else { "" };
    let waiting = if has_calls { ", waiting is estimated" } else { "" };
    let mut text = format!("\n communicators: sums over ranks{waiting}{queues}\n{}", table(&rows, &[0]));
    if all.len() > MOST {
        text += &format!("   and {} communicators with less\n", all.len() - MOST);
    }
    text
}

fn of_queues(queues: Option<&Queues>) -> [String; 3] {
    let Some(queues) = queues else { return ["-"; 3].map(str::to_owned) };
    [
        queues.posted.max_length.to_string(),
        queues.unexpected.max_length.to_string(),
        duration(queues.posted_search.total_s + queues.unexpected_search.total_s),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CommunicatorProfile, sample};

    #[test]
    fn each_communicator_has_a_line_and_one_alone_has_none() {
        let mut profile = sample::late_rank(4, 1);
        let of = |name: &str, context, queues: Option<Queues>| CommunicatorProfile {
            name: name.into(),
            context,
            size: 4,
            queues,
            calls: 7,
            in_mpi_s: 1.0 / context as f64,
            messages: 1 << 20,
            bytes: 1 << 40,
            ..CommunicatorProfile::default()
        };
        profile.ranks.iter_mut().for_each(|rank| rank.communicators = vec![of("MPI_COMM_WORLD", 1, None)]);
        assert_eq!(communicators(&profile), "");
        let mut queues = Queues::default();
        (queues.posted.max_length, queues.posted_search.searches) = (9, 5);
        let long = "a communicator with a name that is much too long for such a table";
        for rank in &mut profile.ranks {
            rank.communicators.push(of(long, 2, Some(queues.clone())));
        }
        let text = communicators(&profile);
        assert!(text.contains("MPI_COMM_WORLD") && text.contains("28"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= super::super::COLUMNS), "{text}");
        for number in 3..30 {
            profile.ranks[0].communicators.push(of(&format!("c{number}"), number, None));
        }
        assert!(
            communicators(&profile).contains("and 13 communicators with less"),
            "{}",
            communicators(&profile)
        );
    }
}
