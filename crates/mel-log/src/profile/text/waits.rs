//! Who waits for whom.

use super::layout::{cut, percent, ranks_of, table, wrapped};
use super::many;
use crate::number::duration;
use crate::profile::calls::WaitKind;
use crate::profile::schema::{Profile, RankProfile};
use crate::profile::sums::{OfWaits, all_runs_s, share, waits as of_profile};

/// The most waits that have a line.
const MOST: usize = 6;
/// What has cost less than this share of the run is not worth a line.
const LEAST: f64 = 0.0005;
/// The most ranks that are named as causes.
pub(super) const MOST_CAUSES: usize = 5;

/// The waits that cost most, and for whom all of it was; nothing where nothing was lost.
pub fn waits(profile: &Profile) -> String {
    let (mut waits, whole_s) = (of_profile(profile), all_runs_s(profile));
    waits.retain(|wait| wait.lost_s > 0.0 && share(wait.lost_s, whole_s) >= LEAST);
    if waits.is_empty() {
        return String::new();
    }
    let mut rows =
        vec![["wait states (estimated)", "lost", "of run", "times", "longest"].map(str::to_owned).to_vec()];
    let mut places = Vec::new();
    for wait in waits.iter().take(MOST) {
        rows.push(vec![
            sentence(wait),
            duration(wait.lost_s),
            percent(share(wait.lost_s, whole_s)),
            wait.count.to_string(),
            duration(wait.max_s),
        ]);
        places.push(place(wait));
    }
    let table = table(&rows, &[0]);
    let mut lines = table.lines();
    let mut text = format!("\n{}\n", lines.next().unwrap_or_default());
    for (line, place) in lines.zip(places) {
        text += &format!("{line}\n{}\n", cut(&format!("   {place}"), super::COLUMNS));
    }
    if waits.len() > MOST {
        text += &format!("   and {} more in profile.json\n", waits.len() - MOST);
    }
    text + &causes(profile)
}

/// `late sender: ranks 0, 2 wait for rank 1`.
fn sentence(wait: &OfWaits) -> String {
    let mut victims: Vec<u32> = wait.victims.iter().map(|(rank, _)| *rank).collect();
    victims.sort_unstable();
    let who = ranks_of(&victims, wait.victims_all).unwrap_or_default();
    let verb = if wait.victims_all == 1 { "waits" } else { "wait" };
    let peer = wait.peer.map_or("others".into(), |peer| format!("rank {peer}"));
    format!("{}: {who} {verb} for {peer}", word(wait.kind))
}

/// The name of a kind of waits.
pub fn word(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::LateSender => "late sender",
        WaitKind::LateReceiver => "late receiver",
        WaitKind::WithoutProgress => "without progress",
        WaitKind::Collective => "collective",
        WaitKind::LateMember => "late member",
        WaitKind::Window => "window",
        WaitKind::Polling => "polling",
    }
}

/// Where they wait, and what ends it.
fn place(wait: &OfWaits) -> String {
    let site = wait.site.as_ref().map(|site| format!(" at {site}")).unwrap_or_default();
    let verb = match wait.kind {
        WaitKind::LateSender => "sent",
        WaitKind::LateReceiver => "received",
        WaitKind::Collective => "entered last",
        WaitKind::LateMember => "entered later",
        WaitKind::WithoutProgress | WaitKind::Window | WaitKind::Polling => "ended",
    };
    let ended = wait.peer_site.as_ref().map(|site| format!(", {verb} at {site}")).unwrap_or_default();
    format!("in {}{site}{ended}", wait.function)
}

/// For whom the others waited, the waiting followed back to its cause.
fn causes(profile: &Profile) -> String {
    if let Some(reduced) = &profile.reduced {
        return many::causes(reduced);
    }
    let all: f64 = profile.ranks.iter().map(|rank| rank.caused_s).sum();
    let mut ranks: Vec<&RankProfile> = profile.ranks.iter().filter(|rank| rank.caused_s > 0.0).collect();
    ranks.sort_by(|a, b| b.caused_s.total_cmp(&a.caused_s).then(a.rank.cmp(&b.rank)));
    let named = ranks.iter().take(MOST_CAUSES).map(|rank| {
        format!("rank {} ({}, {})", rank.rank, duration(rank.caused_s), percent(share(rank.caused_s, all)))
    });
    let mut named: Vec<String> = named.collect();
    if ranks.len() > MOST_CAUSES {
        named.push(format!("{} more", ranks.len() - MOST_CAUSES));
    }
    if named.is_empty() {
        return String::new();
    }
    wrapped(" ", &format!("followed back to its cause, the waiting was for {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;
    use crate::profile::text::COLUMNS;

    #[test]
    fn who_waits_for_whom_and_where() {
        let text = waits(&sample::late_rank(4, 1));
        let lines: Vec<String> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "late sender: ranks 0, 2, 3 wait for rank 1 1.20 s 30.0 % 300 12.0 ms",
                "in MPI_Waitall at halo.c:44 (exchange), sent at halo.c:40 (exchange)",
                "collective: ranks 0, 2, 3 wait for rank 1 600 ms 15.0 % 300 6.00 ms",
                "in MPI_Allreduce at halo.c:80 (main), entered last at halo.c:80 (main)",
                "followed back to its cause, the waiting was for rank 1 (1.80 s, 100.0 %)",
            ]
        );
    }

    #[test]
    fn many_ranks_are_few_words() {
        let text = waits(&sample::late_rank(2000, 1));
        assert!(text.contains("ranks 0, 2, 3 and 1996 more wait for rank 1"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn nothing_lost_is_nothing_to_say() {
        assert_eq!(waits(&sample::healthy(4)), "");
        assert_eq!(waits(&Profile::default()), "");
    }
}
