//! Profiles for tests: plausible, consistent, the same each time.

use std::io;
use std::path::Path;

use super::budget::Parts;
use super::calls::{CallProfile, CallSite, MessagesFound, NamedCommunicator, WaitKind, WaitProfile};
use super::columns::{self, Columns, Description, RankTable};
use super::file;
use super::reduced::{Reduced, SumOfCalls, SumOfWaits};
use super::schema::{Profile, QueueStats, RankProfile, SearchStats};
use super::text::layout::{percent, ranks as in_words};
use super::traffic::{Traffic, TrafficKind, size_bin};
use super::verdict::Finding;
use super::{Histogram, efficiency, sums};
use crate::number::duration;
use crate::{Definition, Members};

/// Steps of the programs.
const STEPS: u64 = 100;
/// How long each runs between `MPI_Init` and `MPI_Finalize`.
const RUN_S: f64 = 1.0;

/// What a table says of the program that runs, of which this is counted.
pub fn program(profiled: &[&str]) -> Definition {
    Definition::Program {
        command: vec!["./app".into()],
        mpi: "an MPI".into(),
        backend: "model".into(),
        second: String::new(),
        mel_version: "1".into(),
        profiled: profiled.iter().map(|what| (*what).to_owned()).collect(),
        launcher: "mpirun".into(),
    }
}

/// A halo exchange of `ranks` ranks with a sum per step, in which one computes longer than the others: of the second that it runs, the
/// others wait 400 ms for its messages, and 200 ms in the sum.
pub fn late_rank(ranks: u32, late: u32) -> Profile {
    let rank =
        |rank| if rank == late { exchange(rank, late, 0.0, 0.0) } else { exchange(rank, late, 0.4, 0.2) };
    let mut profile = run((0..ranks).map(rank).collect());
    profile.ranks[late as usize].caused_s = f64::from(ranks - 1) * 0.6;
    let victims: Vec<u32> = (0..ranks).filter(|rank| *rank != late).collect();
    let finding = |rule: &str, each: f64, site: usize, cause: usize, why: &str, advice: &str| {
        let lost_s = each * victims.len() as f64;
        let share = sums::share(lost_s, RUN_S * f64::from(ranks));
        let who = in_words(&victims).unwrap_or_default();
        let [site, cause_site] = [site, cause].map(|place| profile.sites[place].to_string());
        Finding {
            rule: rule.into(),
            lost_s,
            share,
            cause_rank: Some(late),
            communicator: Some("MPI_COMM_WORLD".into()),
            count: STEPS * victims.len() as u64,
            lost_by_rank_s: vec![each; victims.len()],
            victims: victims.clone(),
            text: format!(
                "{who} lost {} ({} of the run) in {why} (its call: {cause_site})",
                duration(lost_s),
                percent(share)
            ),
            site: Some(site),
            cause_site: Some(cause_site),
            advice: advice.into(),
            ..Finding::default()
        }
    };
    let of_messages =
        format!("MPI_Waitall at halo.c:44 (exchange), waiting for messages because rank {late} is late");
    let of_sums = format!("MPI_Allreduce at halo.c:80 (main), waiting for rank {late}, which comes last");
    let findings = vec![
        finding("late_sender", 0.4, 2, 0, &of_messages, "let it send before it computes"),
        finding("wait_at_nxn", 0.2, 3, 3, &of_sums, "look at what it does before"),
    ];
    profile.verdict = Some(findings);
    profile.efficiency = efficiency::of(&profile);
    profile
}

/// The same program where nobody is late: MPI takes a little time, and the verdict has nothing to say.
pub fn healthy(ranks: u32) -> Profile {
    let mut profile = run((0..ranks).map(|rank| exchange(rank, rank, 0.0, 0.0)).collect());
    profile.verdict = Some(Vec::new());
    profile.efficiency = efficiency::of(&profile);
    profile
}

/// The same with what ranks send to whom: a halo exchange of up to 26 neighbours each, with puts, gets and collective operations, in two
/// phases; and what a library has moved for it.
pub fn traffic(ranks: u32) -> Profile {
    let mut profile = healthy(ranks);
    profile.profiled.push("matrix".into());
    profile.phases = vec![String::new(), "solve".into()];
    for communicator in &mut profile.communicators {
        communicator.members = Members::from_ranks(0..ranks as i32);
    }
    for rank in &mut profile.ranks {
        rank.traffic = sent(rank.rank, ranks);
    }
    profile
}

/// What one of so many ranks has sent.
fn sent(rank: u32, ranks: u32) -> Vec<Traffic> {
    let side = f64::from(ranks).cbrt().round().max(1.0) as i64;
    let sized = |messages: u64, each: u64| Traffic {
        messages,
        bytes: messages * each,
        sizes: vec![(size_bin(each) as u8, messages)],
        communicator: Some(1),
        phase: 1,
        ..Traffic::default()
    };
    let steps = [-1, 0, 1];
    let mut peers: Vec<(u32, u64)> = Vec::new();
    for (x, y, z) in steps.iter().flat_map(|x| steps.iter().flat_map(move |y| steps.map(|z| (*x, *y, z)))) {
        let step: i64 = x + side * (y + side * z);
        let peer = (i64::from(rank) + step).rem_euclid(i64::from(ranks)) as u32;
        let each = [0, 65536, 4096, 512][[x, y, z].iter().filter(|part| **part != 0).count()];
        if peer != rank && each > 0 && peers.iter().all(|(known, _)| *known != peer) {
            peers.push((peer, each));
        }
    }
    let mut rows: Vec<Traffic> =
        peers.into_iter().map(|(peer, each)| Traffic { peer: Some(peer), ..sized(STEPS, each) }).collect();
    let next = Some((rank + 1) % ranks);
    let of = |kind, messages, each| Traffic { kind, peer: next, phase: 0, ..sized(messages, each) };
    rows.push(of(TrafficKind::Put, 3, 1000));
    rows.push(of(TrafficKind::Get, 2, 100));
    rows.push(Traffic { communicator: None, ..of(TrafficKind::Internal, 20, 8) });
    rows.push(Traffic { communicator: None, ..of(TrafficKind::Carried, 5, 8192) });
    rows.push(Traffic { communicator: None, ..of(TrafficKind::CarriedIn, 5, 8192) });
    if rank == 0 {
        rows.push(Traffic { peer: Some(0), ..sized(7, 24) });
    }
    let operation = |name: &str, root: Option<u32>, calls, each| Traffic {
        kind: TrafficKind::Collective,
        communicator: Some(0),
        operation: name.into(),
        root,
        ..sized(calls, each)
    };
    rows.push(operation("MPI_Allreduce", None, STEPS, 8));
    rows.push(operation("MPI_Barrier", None, 2, 0));
    rows.push(operation("MPI_Gather", Some(ranks - 1), 1, 800));
    if rank == 0 {
        rows.push(Traffic { phase: 0, ..operation("MPI_Bcast", Some(0), 4, 64) });
    }
    rows
}

/// [`late_rank`] as very many ranks are kept: in sums.
pub fn reduced(ranks: u32, late: u32) -> Profile {
    reduce(late_rank(ranks, late)).0
}

/// A profile of all ranks in sums, as a library that measures makes it, and the numbers of each rank.
pub fn reduce(whole: Profile) -> (Profile, Columns) {
    let columns = Columns::of(&whole);
    let sum_of = |site: &sums::OfSite| -> SumOfCalls {
        let place = whole.sites.iter().position(|known| Some(known.to_string()) == site.site);
        SumOfCalls {
            function: site.function.clone(),
            site: place.map(|place| place as u32),
            ranks: whole.ranks.len() as u32,
            calls: site.sum.calls,
            total_s: site.sum.total_s,
            max_s: site.sum.max_s,
            bytes_sent: site.sum.bytes_sent,
            bytes_received: site.sum.bytes_received,
            bytes_given: site.sum.bytes_given,
            messages: site.sum.messages,
            lost_s: site.sum.lost_s,
        }
    };
    let wait_of = |wait: &sums::OfWaits| -> SumOfWaits {
        let place =
            |name: &Option<String>| whole.sites.iter().position(|known| Some(known.to_string()) == *name);
        SumOfWaits {
            kind: wait.kind,
            function: wait.function.clone(),
            site: place(&wait.site).map(|place| place as u32),
            peer: wait.peer,
            peer_site: place(&wait.peer_site).map(|place| place as u32),
            ranks: wait.victims.len() as u32,
            victims: wait.victims.iter().take(8).copied().collect(),
            count: wait.count,
            lost_s: wait.lost_s,
            max_s: wait.max_s,
        }
    };
    let reduced = Reduced {
        ranks: whole.ranks.len() as u32,
        hosts: columns.hosts.len() as u32,
        some_hosts: columns.hosts.iter().take(8).cloned().collect(),
        run_s: sums::all_runs_s(&whole),
        calls: sums::by_site(&whole).iter().map(sum_of).collect(),
        waits: sums::waits(&whole).iter().map(wait_of).collect(),
        over_ranks: columns.over_ranks(),
        ..Reduced::default()
    };
    let mut profile = Profile { reduced: Some(Box::new(reduced)), ranks: Vec::new(), ..whole };
    for finding in profile.verdict.iter_mut().flatten() {
        finding.victims.truncate(8);
        finding.lost_by_rank_s.truncate(8);
    }
    profile.efficiency = efficiency::of(&profile);
    (profile, columns)
}

/// Writes the directory of such a run: `profile.json` and `ranks.table`.
///
/// # Errors
/// Those of the file system.
pub fn write_many(directory: &Path, ranks: u32, late: u32) -> io::Result<()> {
    let (profile, all) = reduce(late_rank(ranks, late));
    let columns = all.columns.iter().map(|(column, _)| column.clone()).collect();
    let description = Description { columns, hosts: all.hosts.clone() };
    let table = RankTable::create(&columns::path_in(directory), ranks, description)?;
    let values = || all.columns.iter().map(|(_, values)| values).chain([&all.host]);
    for first in (0..ranks).step_by(1000) {
        let row = |rank: u32| values().map(|values| values[rank as usize]).collect();
        let rows: Vec<Vec<f64>> = (first..ranks.min(first + 1000)).map(row).collect();
        table.write(first, &rows)?;
    }
    file::write(&directory.join(file::FILE_NAME), &profile)
}

fn run(ranks: Vec<RankProfile>) -> Profile {
    let site = |line, function: &str| CallSite {
        file: "/src/halo/halo.c".into(),
        line,
        function: function.into(),
        module: "/opt/bin/halo".into(),
        offset: 0x1000 + u64::from(line),
    };
    let library =
        CallSite { module: "/opt/lib/libsolver.so.3".into(), offset: 0x4f2a, ..CallSite::default() };
    let world = NamedCommunicator {
        context: 1,
        name: "MPI_COMM_WORLD".into(),
        size: ranks.len() as u32,
        ..NamedCommunicator::default()
    };
    Profile {
        mel_version: "0.1.0".into(),
        mpi: "Open MPI v4.1.4, package: Debian OpenMPI".into(),
        backend: "model".into(),
        profiled: vec!["queues".into(), "calls".into()],
        command: vec!["./halo".into(), "-n".into(), "200".into()],
        started_unix_s: 1_700_000_000.0,
        duration_s: RUN_S + 0.02,
        world_size: ranks.len() as u32,
        sites: vec![
            site(40, "exchange"),
            site(38, "exchange"),
            site(44, "exchange"),
            site(80, "main"),
            library,
        ],
        communicators: vec![world.clone(), NamedCommunicator { context: 7, name: "halo".into(), ..world }],
        ranks,
        ..Profile::default()
    }
}

/// A rank that waits so long for the late one in all, in receives and in sums.
fn exchange(rank: u32, late: u32, receiving_s: f64, summing_s: f64) -> RankProfile {
    let call = |function: &str, site, communicator, calls, total_s: f64| CallProfile {
        function: function.into(),
        site: Some(site),
        communicator,
        calls,
        total_s,
        max_s: 3.0 * total_s / calls as f64,
        times: Histogram(vec![(1000, 2_000_000, calls)]),
        ..CallProfile::default()
    };
    let wait = |kind, peer_site, lost_s: f64| -> Vec<WaitProfile> {
        let max_s = 3.0 * lost_s / STEPS as f64;
        let wait =
            WaitProfile { kind, peer: Some(late), peer_site: Some(peer_site), count: STEPS, lost_s, max_s };
        if lost_s > 0.0 { vec![wait] } else { Vec::new() }
    };
    let messages = 2 * STEPS;
    let found = MessagesFound {
        expected: messages - 20,
        unexpected: 20,
        unexpected_bytes: 20 * 4096,
        search_s: 4e-5,
        longest_search_s: 1e-6,
    };
    let waiting_s = receiving_s + summing_s;
    let budget = Parts {
        total_s: RUN_S,
        computing_s: RUN_S - waiting_s - 0.01,
        waiting_s,
        data_s: 0.01,
        ..Parts::default()
    };
    RankProfile {
        rank,
        budget: Some(budget),
        host: format!("node{}", rank / 4),
        run_s: RUN_S,
        init_s: 0.02,
        posted: QueueStats { messages: found.expected, max_length: 2, ..QueueStats::default() },
        unexpected: QueueStats { messages: found.unexpected, max_length: 2, ..QueueStats::default() },
        posted_search: SearchStats { searches: messages, total_s: 5e-5, ..SearchStats::default() },
        unexpected_search: SearchStats { searches: messages, total_s: 4e-5, ..SearchStats::default() },
        calls: vec![
            CallProfile { bytes_sent: messages * 4096, ..call("MPI_Isend", 0, Some(1), messages, 0.002) },
            CallProfile { messages: found, ..call("MPI_Irecv", 1, Some(1), messages, 0.001) },
            call("MPI_Waitall", 2, None, STEPS, 0.004 + receiving_s),
            // What the calls above have received on this communicator.
            CallProfile {
                calls: 0,
                max_s: 0.0,
                times: Histogram::default(),
                bytes_received: messages * 4096,
                waits: wait(WaitKind::LateSender, 0, receiving_s),
                ..call("MPI_Waitall", 2, Some(1), 1, 0.0)
            },
            CallProfile {
                bytes_sent: 8 * STEPS,
                bytes_received: 8 * STEPS,
                waits: wait(WaitKind::Collective, 3, summing_s),
                ..call("MPI_Allreduce", 3, Some(0), STEPS, 0.003 + summing_s)
            },
            call("MPI_Comm_rank", 4, Some(0), 3, 1e-7),
        ],
        ..RankProfile::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_do_not_contradict_themselves() {
        for profile in [late_rank(4, 1), late_rank(300, 17), healthy(4)] {
            for rank in &profile.ranks {
                let sum = sums::of_rank(rank);
                assert!(sum.total_s < rank.run_s && sum.lost_s <= sum.total_s);
                assert!(rank.calls.iter().all(|call| (call.site.unwrap() as usize) < profile.sites.len()));
                assert!(rank.calls.iter().all(|call| call.calls == 0 || call.times.count() == call.calls));
            }
            let lost: f64 = profile.verdict.iter().flatten().map(|finding| finding.lost_s).sum();
            assert!((lost - sums::whole(&profile).lost_s).abs() < 1e-9);
            let caused: f64 = profile.ranks.iter().map(|rank| rank.caused_s).sum();
            assert!((lost - caused).abs() < 1e-9);
        }
    }
}
