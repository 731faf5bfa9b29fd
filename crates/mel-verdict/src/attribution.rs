//! What performance variables did in each context of a rank, with names.

use std::collections::HashMap;

use mel_log::Definition;
use mel_log::profile::attribution::{AttributedProfile, ELSEWHERE, NOT_READ, ShareProfile};
use mel_log::table::attributed::OUTSIDE;
use mel_log::table::layout::STOPPED;
use mel_log::table::{Arithmetic, AttributedRow, AttributedVariableRow};

use crate::regions;
use crate::run::Rank;

/// The variables of a rank. `phases` has the places of its phases in the profile; `observes` says whether its queues were observed.
pub(crate) fn of(rank: &Rank, phases: &[u32], observes: bool) -> Vec<AttributedProfile> {
    let definitions = &rank.rows.definitions;
    let regions = regions::paths(definitions);
    let variables = definitions.iter().filter_map(|definition| match definition {
        Definition::Attributed { place, name, description, class, object, of_mpi, parts } => {
            let variable = AttributedProfile {
                name: name.clone(),
                description: description.clone(),
                class: class.clone(),
                object: object.clone(),
                of_mpi: *of_mpi,
                basis: basis(name, *of_mpi, observes).into(),
                ..AttributedProfile::default()
            };
            Some((*place, variable, if *parts > 0.0 { *parts } else { 1.0 }))
        }
        _ => None,
    });
    variables
        .map(|(place, mut variable, parts)| {
            let arithmetic = Arithmetic::of_class(&variable.class);
            let row = place.and_then(|place| rank.rows.attributed_variables.get(usize::from(place)));
            if let (Some(place), Some(arithmetic), Some(row)) = (place, arithmetic, row) {
                let values = Values { row, parts, arithmetic };
                fill(&mut variable, rank, &values, (usize::from(place), phases, &regions));
            }
            variable
        })
        .collect()
}

/// What the numbers of a variable are.
fn basis(name: &str, of_mpi: bool, observes: bool) -> &'static str {
    match name {
        "mel_wait_time" => "estimated",
        "mel_messages_sent" | "mel_bytes_sent" => "observed",
        _ if of_mpi || observes || !name.starts_with("mel_") => "observed",
        _ => "modelled",
    }
}

/// How a variable's numbers in the table are to be read.
struct Values<'a> {
    row: &'a AttributedVariableRow,
    parts: f64,
    arithmetic: Arithmetic,
}

fn fill(
    variable: &mut AttributedProfile,
    rank: &Rank,
    values: &Values<'_>,
    (place, phases, regions): (usize, &[u32], &HashMap<u16, &str>),
) {
    let Values { row, parts, arithmetic } = *values;
    let number = |value: u64| value as f64 / parts;
    let loaded = row.reads == 0;
    variable.first = number(row.first);
    variable.last = number(row.last);
    variable.every = row.most_every.max(1);
    variable.reads = row.reads;
    variable.read_s = rank.seconds(row.ticks);
    let contexts = || {
        let contexts = rank.rows.contexts.iter().zip(&rank.contexts).zip(&rank.rows.attributed).enumerate();
        contexts.filter_map(|(number, ((context, named), of))| {
            of.variables.get(place).map(|row| (number, context.key, named, of, row))
        })
    };
    let stopped = |key: &mel_log::table::ContextKey| key.phase == STOPPED;
    let (mut weighted, mut left_out) = (0u64, 0u64);
    for (_, key, _, _, of) in contexts() {
        if stopped(&key) {
            left_out = left_out.wrapping_add(of.sum);
        } else {
            weighted = weighted.wrapping_add(of.weighted);
        }
    }
    let grown = if loaded { row.last.saturating_sub(row.first) } else { row.grown };
    let grown = grown.saturating_sub(left_out);
    if arithmetic == Arithmetic::Difference {
        variable.grown = Some(number(grown));
    }
    for (context, key, named, of, row) in contexts() {
        if stopped(&key) || *row == AttributedRow::default() {
            continue;
        }
        // Where the process did not look at all calls, they are counted in the profile of calls alone.
        let times = of.times.max(rank.rows.contexts[context].calls);
        let read = if loaded { times } else { of.read };
        let mean = |sum: u64, count: u64| (count > 0).then(|| number(sum) / count as f64);
        let (least, greatest) = (row.least.map(number), Some(number(row.greatest)));
        let mut share = ShareProfile {
            function: match context {
                _ if key.function == OUTSIDE => String::new(),
                0 => ELSEWHERE.into(),
                _ => named.function.to_string(),
            },
            site: named.site,
            communicator: named.communicator,
            phase: phases.get(named.phase as usize).copied().unwrap_or(0),
            region: regions.get(&key.region).map(|path| (*path).to_owned()).unwrap_or_default(),
            thread: named.thread,
            times,
            read,
            changes: row.count,
            ..ShareProfile::default()
        };
        match arithmetic {
            Arithmetic::Difference => {
                let exact = variable.every == 1;
                let estimated = || grown as f64 * (row.weighted as f64 / weighted.max(1) as f64) / parts;
                share.amount = Some(if exact { number(row.sum) } else { estimated() });
                share.min = if row.count < read { Some(0.0) } else { least };
                (share.mean, share.max) = (mean(row.sum, read), greatest);
            }
            Arithmetic::Level => {
                // Each that was read has a value.
                share.read = row.count;
                (share.min, share.mean, share.max) = (least, mean(row.sum, row.count), greatest);
                share.value = Some(number(row.value));
            }
            Arithmetic::Watermark => {
                share.amount = Some(row.sum as i64 as f64 / parts);
                (share.min, share.max, share.value) = (least, greatest, Some(number(row.value)));
            }
            Arithmetic::State => share.value = Some(number(row.value)),
        }
        variable.shares.push(share);
    }
    if arithmetic == Arithmetic::Difference && weighted == 0 && grown > 0 {
        let (function, amount) = (NOT_READ.into(), variable.grown);
        variable.shares.push(ShareProfile { function, amount, ..ShareProfile::default() });
    }
    let size = |share: &ShareProfile| share.amount.or(share.mean).unwrap_or(0.0).abs();
    variable.shares.sort_by(|a, b| size(b).total_cmp(&size(a)));
}

#[cfg(test)]
mod tests {
    use mel_log::profile::CallSite;
    use mel_log::table::{ContextKey, Identity, ProfileTable};

    use super::*;

    /// A process with a counter in parts of a half, and a level: two calls of MPI_Send in `main`, what is outside, and what was stopped.
    fn table(every: u64) -> ProfileTable {
        let identity = Identity { ticks_per_second: 1000, ..Identity::default() };
        let table = ProfileTable::in_memory(&identity).unwrap();
        assert!(table.begin_attribution(2));
        table.define(&Definition::Function { number: 7, name: "MPI_Send".into() });
        table.define(&Definition::Region { number: 1, path: "main".into() });
        for (place, name, class, parts) in [
            (Some(0), "num_frees", "counter", 2.0),
            (Some(1), "length", "level", 1.0),
            (None, "flush", "generic", 1.0),
        ] {
            table.define(&Definition::Attributed {
                place,
                name: name.into(),
                description: String::new(),
                class: class.into(),
                object: String::new(),
                of_mpi: true,
                parts,
            });
        }
        let key = |function, phase| ContextKey { function, phase, region: 1, ..ContextKey::default() };
        for (key, by) in [(key(7, 0), 30), (key(OUTSIDE, 0), 10), (key(7, STOPPED), 4)] {
            let of = table.attributed(table.add_context(key));
            of.context.times.set(5);
            of.context.read.set(2);
            of.variables[0].grew(by, every);
            of.variables[1].was_read(Arithmetic::Level, 0, by);
        }
        let variable = table.attributed_variable(0);
        variable.first.set(100);
        variable.last.set(144);
        variable.grown.set(44);
        variable.reads.set(6);
        variable.most_every.set(every);
        table
    }

    fn profile(every: u64) -> Vec<AttributedProfile> {
        let mut profile = crate::profile(vec![table(every).rows()], |_, _| CallSite::default());
        std::mem::take(&mut profile.ranks[0].attributed)
    }

    #[test]
    fn shares_add_up_to_the_growth_and_what_was_stopped_is_left_out() {
        let all = profile(1);
        let [frees, length, flush] = &all[..] else { panic!("{all:?}") };
        assert_eq!((frees.first, frees.last, frees.grown, frees.every), (50.0, 72.0, Some(20.0), 1));
        let shares: Vec<_> = frees
            .shares
            .iter()
            .map(|of| (&*of.function, &*of.region, of.amount, of.times, of.read))
            .collect();
        assert_eq!(shares, [("MPI_Send", "main", Some(15.0), 5, 2), ("", "main", Some(5.0), 5, 2)]);
        assert_eq!(
            (frees.shares[0].min, frees.shares[0].mean, frees.shares[0].max),
            (Some(0.0), Some(7.5), Some(15.0))
        );
        let send = &length.shares[0];
        assert_eq!((send.mean, send.value, send.amount, length.grown), (Some(30.0), Some(30.0), None, None));
        assert_eq!((flush.every, flush.shares.len()), (0, 0));
    }

    #[test]
    fn where_some_calls_were_read_shares_are_those_of_the_exact_total() {
        let all = profile(4);
        let amounts: Vec<_> = all[0].shares.iter().map(|of| of.amount).collect();
        assert_eq!((amounts, all[0].grown), (vec![Some(15.0), Some(5.0)], Some(20.0)));
        assert!(all[0].is_estimated());
    }
}
