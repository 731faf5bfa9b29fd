//! Placements as text.

use std::path::Path;

use mel_log::number::{duration, size};
use mel_log::profile::text::header::header;
use mel_log::profile::text::layout::{percent, table, wrapped};
use mel_place::advice::{Candidate, LEAST_GAIN};

use super::{Found, Of};

/// The whole text: the run, the machine, what to do, and all placements beside each other. No line is longer than
/// [`mel_log::profile::text::COLUMNS`], but where a name is.
pub fn terminal(found: &Found<'_>, directory: &Path) -> String {
    let mut text = header(found.profile, Some(directory), "");
    text += &wrapped("", &machine(found));
    text += &wrapped("", &advice(found));
    for remark in remarks(found) {
        text += &wrapped("", &remark);
    }
    let of = found.of.name();
    text + &format!("\n placements: the {of} are observed, what they cost is estimated\n")
        + &placements(found)
}

/// What the nodes are made of.
fn machine(found: &Found<'_>) -> String {
    let slots = &found.slots;
    let machines: Vec<_> = (0..slots.hosts.len() as u32).map(|host| slots.machine(host)).collect();
    let number = |number: usize, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    let nodes = match machines.split_first() {
        Some((first, others)) if others.iter().all(|other| other.leaves.len() == first.leaves.len()) => {
            let each = if others.is_empty() { "" } else { " each" };
            let (sockets, cores) = (first.sockets() as usize, first.cores().len());
            format!(
                "{} with {} and {}{each}",
                number(machines.len(), "node"),
                number(sockets, "socket"),
                number(cores, "core")
            )
        }
        _ => number(machines.len(), "node"),
    };
    format!("topology: {nodes} ({})", found.source)
}

/// One sentence or two: what to do.
fn advice(found: &Found<'_>) -> String {
    let advice = &found.advice;
    let (before, after) = (&advice.before().cost, &advice.after().cost);
    let (gain, of) = (percent(advice.gain()), found.of.name());
    if advice.is_silent {
        return format!("Keep the placement: the ranks have sent each other no {of}.");
    }
    if !found.is_worth_it() {
        return match advice.best {
            0 => "Keep the placement: none was found that costs less.".into(),
            _ => format!(
                "Keep the placement: the best that was found saves {gain} of {of} x distance, and less than {:.0} % is \
                 not worth it.",
                LEAST_GAIN * 100.0
            ),
        };
    }
    let between = |what: &str, before: u128, after: u128| match before == after {
        true => String::new(),
        false => {
            let name = if found.of == Of::Bytes { "Bytes" } else { "Messages" };
            format!(
                " {name} between {what}: {} instead of {}.",
                found.of.amount(after),
                found.of.amount(before)
            )
        }
    };
    let how = match found.map_by() {
        Some(order) => format!(" With Open MPI: mpirun --map-by {order} --bind-to core."),
        None => " --rankfile, --hostfile, --slurm and --keys write it.".into(),
    };
    let mut cools = String::new();
    if let Some(links) = found.links.as_ref().filter(|_| found.link_gain() >= LEAST_GAIN) {
        let of = |peak: f64| if links.by_time { duration(peak) } else { size(peak) };
        cools = format!(
            " Hottest link: {} instead of {} (modelled).",
            of(links.peaks[advice.best]),
            of(links.peaks[0])
        );
    }
    let saves = match advice.is_worth_it() {
        true => {
            format!("Move: the best placement that was found saves {gain} of {of} x distance (estimated).")
        }
        false => "Move: the best placement that was found cools the network.".into(),
    };
    saves
        + &cools
        + &between("nodes", before.between_nodes, after.between_nodes)
        + &between("sockets", before.between_sockets, after.between_sockets)
        + &how
}

/// What is assumed, and what is missing.
fn remarks(found: &Found<'_>) -> Vec<String> {
    let slots = &found.slots;
    let assumed = "within a node, the run had its ranks in ascending order over sockets and cores";
    let start = match slots.bound_hosts() {
        0 => format!("Assumed: {assumed}."),
        all if all == slots.hosts.len() => "The run's ranks are where they were bound.".into(),
        some => format!(
            "On {some} of {} nodes the run's ranks are where they were bound. Assumed of the others: {assumed}.",
            slots.hosts.len()
        ),
    };
    let mut remarks = vec![format!("{start} Each node keeps its number of ranks.")];
    if !found.inside.is_empty() {
        remarks.push(format!(
            "As the library sends them (observed): the messages of {}. Other collective operations are logical pairs.",
            found.inside.join(", ")
        ));
    }
    let crowded: Vec<&str> = slots.crowded().collect();
    if let Some(first) = crowded.first() {
        let others = match crowded.len() {
            1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        remarks.push(format!(
            "More ranks than processors on {first}{others}: within such a node no placement is better than another."
        ));
    }
    if found.slots.names_made_up {
        remarks.push(
            "The topology has another number of nodes than the run had: their names are made up, and the ranks are taken \
             to have been spread over them in order."
                .into(),
        );
    }
    if let Some(links) = &found.links {
        let hotter = links.peaks.iter().filter(|peak| **peak > links.peaks[0]).count();
        let what = if links.by_time {
            "the time that the most loaded link needs at least"
        } else {
            "what the most loaded link carries"
        };
        remarks.push(match hotter {
            0 => format!("Hottest link (modelled): {what}. No placement makes it hotter."),
            _ => format!("Hottest link (modelled): {what}. {hotter} of the placements would make it hotter: these are not advised."),
        });
    }
    if let Some(reason) = &found.advice.without_scotch {
        remarks.push(format!("Without libscotch: {reason}."));
    }
    remarks
}

/// A row for each placement.
fn placements(found: &Found<'_>) -> String {
    let weight = format!("{} x distance", found.of.name());
    let head = ["placement", &weight, "of the run's", "between nodes", "between sockets"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    // There is no space for both.
    rows[0].push(if found.links.is_some() { "hottest link" } else { "within sockets" }.to_owned());
    let before = found.advice.before().cost.bytes_times_distance as f64;
    for (place, candidate) in found.advice.candidates.iter().enumerate() {
        let cost = &candidate.cost;
        let share = cost.bytes_times_distance as f64 / before;
        rows.push(vec![
            name(candidate) + if place == found.advice.best { " *" } else { "" },
            found.of.amount(cost.bytes_times_distance),
            if before > 0.0 { percent(share) } else { String::new() },
            found.of.amount(cost.between_nodes),
            found.of.amount(cost.between_sockets),
            match &found.links {
                Some(links) if links.by_time => duration(links.peaks[place]),
                Some(links) => size(links.peaks[place]),
                None => found.of.amount(cost.within_sockets),
            },
        ]);
    }
    table(&rows, &[0]) + " * the best\n"
}

/// What a user calls a placement.
fn name(candidate: &Candidate) -> String {
    match candidate.name {
        "run" => "the run's".into(),
        "hierarchical" => "hierarchical".into(),
        "scotch" => "by libscotch".into(),
        "links" => "cooler links".into(),
        order => format!("--map-by {order}"),
    }
}
