//! The sentences.

use std::collections::BTreeMap;

use mel_log::number::{duration, size};
use mel_log::profile::text::verdict::sentence;
use mel_verdict::run::Run;
use mel_verdict::words::ranks as named;

use mpi_functions::{Kind as About, Step};

use super::Job;
use super::messages::{Came, Differs, Need, place_of};
use super::positions::{Call, Position, State, has_counted_all};
use super::waiting::{Kind, Meeting, is_of_another_group};

/// `1st`, `12th`, `51st`.
pub(crate) fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// One or several.
fn number<'a>(ranks: &[u32], one: &'a str, several: &'a str) -> &'a str {
    if ranks.len() == 1 { one } else { several }
}

fn are(ranks: &[u32]) -> &'static str {
    number(ranks, "is", "are")
}

fn have(ranks: &[u32]) -> &'static str {
    number(ranks, "has", "have")
}

fn communicator(run: &Run, place: u32) -> String {
    let name = run.communicators.get(place as usize).map(|communicator| communicator.name.as_str());
    name.filter(|name| !name.is_empty()).unwrap_or("a communicator without a name").to_owned()
}

/// `MPI_Recv at a.c:3 (f)`.
fn call_at(run: &Run, call: &Call) -> String {
    run.site(call.site)
        .map_or_else(|| call.function.to_string(), |site| format!("{} at {site}", call.function))
}

/// `ranks 0 and 1 are in MPI_Bcast at a.c:3, their 5th operation on MPI_COMM_WORLD`.
pub(crate) fn in_call(run: &Run, ranks: &[u32], call: &Call) -> String {
    let on = call.communicator.map(|place| communicator(run, place));
    let on = match (on, call.number) {
        (Some(on), Some(of)) => {
            format!(", {} {} operation on {on}", number(ranks, "its", "their"), ordinal(of))
        }
        (Some(on), None) => format!(" on {on}"),
        _ => String::new(),
    };
    format!("{} {} in {}{on}", named(ranks), are(ranks), call_at(run, call))
}

/// What the job does.
pub(crate) fn of_job(job: Job, still_s: f64, polls: bool) -> String {
    match job {
        Job::EndedWell => {
            "The run has ended well: all ranks have called MPI_Finalize, and none is stuck.".into()
        }
        Job::Gone => {
            "No process of the run is there any more; this is where its ranks were when they were last seen."
                .into()
        }
        Job::Moves => "The job moves: a rank has entered or left a call within the last second.".into(),
        Job::Still if polls => format!(
            "No rank has entered or left a call for {}, but for tests without success.",
            duration(still_s)
        ),
        Job::Still => format!("No rank has entered or left a call for {}.", duration(still_s)),
    }
}

/// The sentence about a job that hung and has ended since.
pub(crate) fn before_the_end(still_s: f64) -> String {
    let still = duration(still_s);
    format!(
        "No process of the run is there any more; before, no rank had entered or left a call for {still}."
    )
}

/// What to say where nothing is concluded.
pub(crate) fn nothing_found(job: Job) -> String {
    match job {
        Job::Moves => "Nothing has been under way for long enough to be called stuck; ask again.".into(),
        _ => "No rank is in a call that waits: they compute, are lost in a loop, or are in MPI_Finalize, which the tables do not tell apart.".into(),
    }
}

/// Where a rank is in the program.
pub(crate) fn stack(rank: u32, frames: &[String]) -> Option<String> {
    const SHOWN: usize = 3;
    let (first, callers) = frames.split_first()?;
    let mut text = format!("rank {rank} is at {first}");
    if !callers.is_empty() {
        let shown: Vec<&str> = callers.iter().take(SHOWN).map(String::as_str).collect();
        text += &format!(", called from {}", shown.join(", that from "));
    }
    Some(sentence(&text))
}

/// Different operations, of which each should be the same.
pub(crate) fn mismatch(run: &Run, meeting: &Meeting<'_>) -> String {
    let mut calls: Vec<(&&Call, &Vec<u32>)> = meeting.calls.iter().collect();
    calls.sort_by_key(|(_, ranks)| (std::cmp::Reverse(ranks.len()), ranks[0]));
    // The first of each function: they are at one line mostly.
    let mut seen = Vec::new();
    calls.retain(|(call, _)| {
        let is_new = !seen.contains(&&call.function);
        seen.push(&call.function);
        is_new
    });
    let first = calls.first().map(|(call, ranks)| in_call(run, ranks, call));
    let others = calls.iter().skip(1).map(|(call, ranks)| {
        let whose = number(ranks, "its", "their");
        format!(
            "{} {} in {}, {whose} {} there",
            named(ranks),
            are(ranks),
            call_at(run, call),
            ordinal(meeting.number)
        )
    });
    let all: Vec<String> = first.into_iter().chain(others).collect();
    sentence(&format!("{}: they never meet", all.join("; ")))
}

/// One operation with different roots: who has which, in the communicator.
pub(crate) fn roots(run: &Run, meeting: &Meeting<'_>, roots: &BTreeMap<i32, Vec<u32>>) -> String {
    let each = roots
        .iter()
        .map(|(root, ranks)| format!("{} {} root {root}", named(ranks), number(ranks, "gives", "give")));
    sentence(&format!("{}: {}", those_in(run, meeting), each.collect::<Vec<_>>().join("; ")))
}

/// A rank that has completed an operation of this number, and one of another function.
pub(crate) fn other_operations(
    run: &Run,
    meeting: &Meeting<'_>,
    past: u32,
    (function, completed, called): (&str, u64, u64),
) -> String {
    let times = |number: u64| if number == 1 { "once".to_owned() } else { format!("{number} times") };
    let here = those_in(run, meeting);
    let (completed, called) =
        (if completed == 0 { "never".to_owned() } else { times(completed) }, times(called));
    sentence(&format!(
        "{here}; rank {past} is past that number, and has completed {function} there {completed}, which they have called {called}: \
         it has called another function in its place"
    ))
}

/// Operations that wait for each other's ranks.
pub(crate) fn cycle(run: &Run, meetings: &[&Meeting<'_>]) -> String {
    let mut parts = Vec::new();
    for (place, meeting) in meetings.iter().enumerate() {
        let next = meetings[(place + 1) % meetings.len()].ranks();
        let awaited: Vec<u32> =
            meeting.missing.iter().copied().filter(|rank| next.binary_search(rank).is_ok()).collect();
        let Some((call, ranks)) = meeting.calls.iter().next() else { continue };
        parts.push(format!(
            "{}, to which {} {} not come",
            in_call(run, ranks, call),
            named(&awaited),
            have(&awaited)
        ));
    }
    sentence(&format!("{}: they wait for each other in a circle", parts.join("; ")))
}

/// Who is in an operation: of several lines the one of most ranks.
fn those_in(run: &Run, meeting: &Meeting<'_>) -> String {
    let ranks = meeting.ranks();
    let most = meeting.calls.iter().max_by_key(|(_, ranks)| ranks.len());
    most.map_or(String::new(), |(call, at)| {
        let several = if at.len() < ranks.len() { " and at other lines" } else { "" };
        in_call(run, &ranks, call).replacen(&call_at(run, call), &(call_at(run, call) + several), 1)
    })
}

/// A member that has not come to an operation.
pub(crate) fn missing(
    run: &Run,
    meeting: &Meeting<'_>,
    causes: &[u32],
    first: &Position,
    others: &[u32],
) -> String {
    let who = named(causes);
    let others = and_neither(others);
    let root = if meeting.is_for_all() {
        ""
    } else {
        "; whether those wait for that rank depends on the root, which the tables do not have"
    };
    sentence(&format!(
        "{}; {who} {} not come to it{others}: {}{root}",
        those_in(run, meeting),
        have(causes),
        place(run, causes, first)
    ))
}

/// Where ranks are: `it is outside of MPI for 3.00 s`.
fn place(run: &Run, ranks: &[u32], position: &Position) -> String {
    let (it, is, has) = (number(ranks, "it", "they"), are(ranks), have(ranks));
    let last = position.call.as_ref().map(|call| call_at(run, call));
    let after = last.as_ref().map_or(String::new(), |last| format!(", last in {last}"));
    match position.state {
        State::InCall => match &position.call {
            Some(call) if call.number.is_some() => in_call(run, ranks, call).replacen(&named(ranks), it, 1),
            Some(call) => match position.holds.as_ref().and_then(|holds| holds.needs.first()) {
                Some(need) => waits_for(run, call, ranks, need).replacen(&named(ranks), it, 1),
                None => format!(
                    "{}, and whom that waits for is not in the tables",
                    in_call(run, ranks, call).replacen(&named(ranks), it, 1)
                ),
            },
            None => format!("{it} {is} in a call"),
        },
        State::Outside => format!(
            "{it} {has} been in no call that is counted for {}{after}: slow, lost in a loop, or in MPI_Finalize",
            duration(position.seconds)
        ),
        State::Polls => format!(
            "{it} {} again and again{}, without success for {}",
            number(ranks, "tests", "test"),
            last.as_ref().map_or(String::new(), |last| format!(" with {last}")),
            duration(position.seconds)
        ),
        State::Moves => format!("{it} {} calls{after}", number(ranks, "makes", "make")),
        State::Finalised => format!("{it} {has} called MPI_Finalize"),
        State::Aborted => format!("{it} {has} called MPI_Abort{after}"),
        State::Exited => format!("{it} {has} exited without MPI_Finalize{after}"),
        State::Killed => format!("{it} {} killed or {has} crashed{after}", number(ranks, "was", "were")),
        State::OnAnotherNode => format!("{it} {has} no table on this node"),
        State::Unknown => format!("{it} {has} left no table"),
    }
}

/// An operation in which all members are, or of which it is not known who lacks.
pub(crate) fn no_one_missing(run: &Run, meeting: &Meeting<'_>) -> String {
    let why = if meeting.is_whole {
        "no member has still to come to it; roots, counts and what the MPI does inside are not in the tables"
    } else {
        "how far the other members are is not in the tables"
    };
    sentence(&format!("{}: {why}", those_in(run, meeting)))
}

/// A call of which the tables do not say whom it waits for.
pub(crate) fn apart(
    run: &Run,
    call: &Call,
    ranks: &[u32],
    seconds: f64,
    ended: &[u32],
    is_certain: bool,
) -> String {
    let here = format!("{} for {}", in_call(run, ranks, call), duration(seconds));
    let what = if is_certain {
        "all who could answer have ended, or are in MPI_Finalize".to_owned()
    } else if !ended.is_empty() {
        format!(
            "{} {} ended or {} in MPI_Finalize; whether {} for {} is not in the tables",
            named(ended),
            have(ended),
            are(ended),
            number(ranks, "it waits", "they wait"),
            number(ended, "that one", "one of these"),
        )
    } else if is_of_another_group(call) {
        "operations on windows and files are not counted, so who has not come is not known".to_owned()
    } else {
        "whom that waits for is not in the tables".to_owned()
    };
    sentence(&format!("{here}: {what}"))
}

/// And others, who do something else.
fn and_neither(others: &[u32]) -> String {
    if others.is_empty() {
        String::new()
    } else {
        format!(", and neither {} {}", have(others), named(others))
    }
}

/// A function that all processes of a window or of a file call, by how often each has.
pub(crate) fn behind(
    run: &Run,
    (call, ranks, seconds): (&Call, &[u32], f64),
    (before, are_members): (u64, bool),
    (causes, first): (&[u32], &Position),
    others: &[u32],
) -> String {
    let times = match before {
        0 => "not been there before".to_owned(),
        1 => "been there once before".to_owned(),
        times => format!("been there {times} times before"),
    };
    let not = if are_members {
        "come to it"
    } else {
        "called it more often, and so not come to it, if all of them take part"
    };
    sentence(&format!(
        "{} for {}, and {} {times}; {} {} not {not}{}: {}",
        in_call(run, ranks, call),
        duration(seconds),
        have(ranks),
        named(causes),
        have(causes),
        and_neither(others),
        place(run, causes, first)
    ))
}

/// Who may have to call the function that a group of a window has to call, or has to for certain.
pub(crate) fn of_group(
    run: &Run,
    (call, ranks, seconds): (&Call, &[u32], f64),
    function: &str,
    (others, first): (&[u32], &Position),
    is_certain: bool,
) -> String {
    let waits = format!("{} for {}, which needs {function}", in_call(run, ranks, call), duration(seconds));
    sentence(&if is_certain {
        format!(
            "{waits} in its group; {}, which alone can be in it, has called that less often than it was needed: {}",
            named(others),
            place(run, others, first)
        )
    } else {
        format!("{waits} in its group; which of {} are in it is not known", named(others))
    })
}

/// Who has locked a window where others wait for a lock.
pub(crate) fn locks(
    run: &Run,
    (call, ranks, seconds): (&Call, &[u32], f64),
    (causes, first): (&[u32], &Position),
    others: &[u32],
) -> String {
    let others = match others {
        [] => String::new(),
        others => format!(", as {} {}", named(others), have(others)),
    };
    sentence(&format!(
        "{} for {}; {} {} locked it more often than unlocked{others}, and {} a lock, exclusive or shared: {}",
        in_call(run, ranks, call),
        duration(seconds),
        named(causes),
        have(causes),
        number(causes, "holds", "hold"),
        place(run, causes, first)
    ))
}

/// The communicator of this identity.
fn of_identity(run: &Run, identity: u64) -> String {
    place_of(run, identity)
        .map_or_else(|| "a communicator without a name".into(), |place| communicator(run, place))
}

/// `a message with tag 7 of rank 1`.
fn message(tag: Option<i32>, sender: Option<u32>) -> String {
    let what = tag.map_or_else(|| "any message".into(), |tag| format!("a message with tag {tag}"));
    sender.map_or_else(|| format!("{what} of any rank"), |sender| format!("{what} of rank {sender}"))
}

/// `for a message with tag 7 of rank 1`, `with a message for rank 1 with tag 7`.
fn wish(run: &Run, need: &Need) -> String {
    let on = of_identity(run, need.identity);
    match (need.sends, need.peer, need.tag) {
        (true, Some(peer), Some(tag)) => format!("with a message for rank {peer} with tag {tag} on {on}"),
        (true, ..) => format!("with a message on {on}"),
        _ => format!("for {} on {on}", message(need.tag, need.peer)),
    }
}

/// `rank 0 is in MPI_Recv at a.c:3, for a message with tag 7 of rank 1 on halo`.
pub(crate) fn waits_for(run: &Run, call: &Call, ranks: &[u32], need: &Need) -> String {
    let of_sender = need.peer.filter(|_| !need.sends).and_then(|sender| prepared(run, sender));
    let (call, wish) = (call_at(run, call), wish(run, need));
    format!("{} {} in {call}, {wish}{}", named(ranks), are(ranks), of_sender.unwrap_or_default())
}

/// A message that differs in one thing from what a rank waits for.
pub(crate) fn near(
    run: &Run,
    (call, rank, seconds): (&Call, u32, f64),
    need: &Need,
    came: &Came,
    differs: Differs,
) -> String {
    let on = of_identity(run, came.identity);
    let alone = match differs {
        Differs::Tag => "the tag",
        Differs::Communicator => "the communicator",
        Differs::Sender => "the sender",
    };
    sentence(&format!(
        "{} for {}; {} on {on} has come, for which no receive asks: the two differ in {alone} alone",
        waits_for(run, call, &[rank], need),
        duration(seconds),
        message(Some(came.tag), Some(came.sender)),
    ))
}

/// Ranks that wait for each other; of standard sends the most bytes of a message, where that is known.
pub(crate) fn circle(parts: &[String], sends: Option<Option<u64>>, one_of: bool) -> String {
    let why = match sends {
        Some(Some(bytes)) => format!(
            "; each sends first, which ends only as long as the MPI buffers the message, and this one has {}",
            size(bytes as f64)
        ),
        Some(None) => "; each sends first, which ends only as long as the MPI buffers the message".into(),
        None => String::new(),
    };
    let others = if one_of { ", and so do all others who could answer" } else { "" };
    match parts {
        [one] => sentence(&format!("{one}: it waits for itself{why}")),
        [first @ .., last] if parts.len() > 4 => {
            let shown = first[..3].join("; ");
            sentence(&format!(
                "{shown}; and so on until {last}: {} ranks wait for each other in a circle{others}{why}",
                parts.len()
            ))
        }
        _ => sentence(&format!("{}: they wait for each other in a circle{others}{why}", parts.join("; "))),
    }
}

/// Ranks that wait for a message of one who does not send it.
pub(crate) fn awaits(
    run: &Run,
    (call, ranks, seconds): (&Call, &[u32], f64),
    need: &Need,
    (kind, causes): (Kind, &[u32]),
    place_of_first: Option<&Position>,
) -> String {
    let here = format!("{} for {}", waits_for(run, call, ranks, need), duration(seconds));
    let why = match (kind, place_of_first) {
        (Kind::NobodyLeft, _) => "all who could answer have ended, or are in MPI_Finalize".to_owned(),
        (_, Some(position)) => {
            let one = &causes[..1];
            format!("{}: {}", named(one), place(run, one, position))
        }
        _ => "nobody has sent it, and not all who could wait themselves".to_owned(),
    };
    sentence(&format!("{here}; {why}"))
}

/// Of a rank that has prepared a send, and never started one.
fn prepared(run: &Run, rank: u32) -> Option<String> {
    if !has_counted_all(run.rank(rank)?) {
        return None;
    }
    let contexts = (0..).zip(&run.rank(rank)?.contexts);
    let of: Vec<_> = contexts
        .filter_map(|(number, of)| Some((number, of, mpi_functions::named(&of.function)?)))
        .filter(|(number, ..)| run.rank(rank).is_some_and(|rank| rank.returned(*number) > 0))
        .collect();
    if of.iter().any(|(_, _, about)| about.kind == About::Start) {
        return None;
    }
    let (_, context, about) =
        of.iter().find(|(_, _, about)| about.step == Step::Prepares && about.sends())?;
    let at = run.site(context.site).map_or_else(String::new, |site| format!(" at {site}"));
    Some(format!(" (rank {rank} has prepared a send with {}{at}, and has started none)", about.name))
}

/// A rank that waits for sends or collective operations, and one that has a message of it for which no receive asks.
pub(crate) fn of_others(
    run: &Run,
    (call, rank, seconds): (&Call, u32, f64),
    requests: u32,
    came: &Came,
    receiver: &Position,
) -> String {
    let what =
        if requests == 1 { "a send or a collective operation" } else { "sends or collective operations" };
    let on = of_identity(run, came.identity);
    sentence(&format!(
        "{} for {}, for {what}; {} of {} on {on} has come to rank {}, and no receive asks for it: {}",
        in_call(run, &[rank], call),
        duration(seconds),
        message(Some(came.tag), Some(came.sender)),
        size(came.bytes as f64),
        receiver.rank,
        place(run, &[receiver.rank], receiver)
    ))
}
