//! What was done on each communicator, a line each.

use super::layout::table;
use crate::profile::communicators::{CommunicatorProfile, by_communicator};
use crate::profile::quantities::communicators::COMMUNICATORS;
use crate::profile::quantities::{Basis, Fold, Quantity};
use crate::profile::schema::Profile;

/// The most communicators that have a line.
const MOST: usize = 16;

/// The table; nothing where there is one communicator at most: its numbers are those of the run.
pub fn communicators(profile: &Profile) -> String {
    let all = by_communicator(profile);
    if all.len() < 2 {
        return String::new();
    }
    let has_any = |quantity: &&Quantity<CommunicatorProfile>| {
        quantity.head.is_some()
            && all.iter().any(|of| (quantity.of)(&of.sum).is_some_and(|value| value != 0.0))
    };
    let shown: Vec<&Quantity<CommunicatorProfile>> = COMMUNICATORS.iter().filter(has_any).collect();
    let head = ["communicator", "size"].into_iter().chain(shown.iter().filter_map(|quantity| quantity.head));
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    for CommunicatorProfile { name, size, .. } in all.iter().take(MOST).map(|of| &of.sum) {
        rows.push(vec![name.clone(), if *size == 0 { "-".into() } else { size.to_string() }]);
    }
    for (row, of) in rows.iter_mut().skip(1).zip(&all) {
        let text = |quantity: &&Quantity<CommunicatorProfile>| {
            (quantity.of)(&of.sum).map_or_else(|| "-".into(), |value| quantity.unit.text(value))
        };
        row.extend(shown.iter().map(text));
    }
    let is_shown =
        |basis, fold| shown.iter().any(|quantity| (quantity.basis, quantity.fold) == (basis, fold));
    let queues = if is_shown(Basis::Modelled, Fold::Max) { ", queues at their longest" } else { "" };
    let waiting = if is_shown(Basis::Estimated, Fold::Sum) { ", waiting is estimated" } else { "" };
    let mut text = format!("\n communicators: sums over ranks{waiting}{queues}\n{}", table(&rows, &[0]));
    if all.len() > MOST {
        text += &format!("   and {} communicators with less\n", all.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Queues, sample};

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
