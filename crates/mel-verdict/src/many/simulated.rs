//! Simulated ranks: joining in a tree, in any order, gives the same as joining all at once; what is sent stays small; and the rank that
//! is slow is found.

use mel_log::profile::{CallSite, LeftOut, Profile, columns};
use mel_log::table::{ContextKey, ContextRow, IntervalKind, IntervalRow, TableRows, WaitKey, WaitRow};
use mel_log::{Definition, Members};
use proptest::prelude::*;
use ranks::tree::{self, Tree};
use ranks::{Processes as _, on_threads};

use super::rank::Detail;
use super::{Judgement, OfRank, Part, Selection, fill};

const RUN: u64 = 1_000_000_000;
const ALLREDUCE: u16 = 2;
const WAITALL: u16 = 1;

/// A ring with a sum over all and one over each row of a grid, in which one rank computes longer: all wait for it. The call sites lie at
/// other addresses in each process.
fn table(rank: u32, size: u32, late: u32) -> TableRows {
    let module = 0x40_0000 + u64::from(rank) * 0x1000;
    let row = 32.min(size);
    let place = rank / row;
    let members = place * row..(place * row + row).min(size);
    let communicator = |index, context, name: &str, ranks: std::ops::Range<u32>| Definition::Communicator {
        index,
        context,
        name: name.into(),
        members: Members::from_ranks(ranks.map(|rank| rank as i32)),
        remote: None,
    };
    let jitter = u64::from(rank.wrapping_mul(2_654_435_761) >> 22);
    let waited = if rank == late { 1000 } else { 400_000_000 + jitter };
    let summed = if rank == late { 5_000_000 } else { 205_000_000 + jitter };
    let context = |site: u64, communicator, function, ticks, received| ContextRow {
        key: ContextKey { site: module + site, communicator, function, ..ContextKey::default() },
        calls: 100,
        ticks,
        longest: ticks / 50,
        received,
        bins: vec![0; 32],
        ..ContextRow::default()
    };
    let neighbour = (rank + size - 1) % size;
    let wait =
        WaitKey { context: 1, peer: neighbour as i32, peer_context: 1, kind: IntervalKind::LateSender };
    let operation = |context| IntervalRow {
        begin: 10,
        end: 20,
        key: WaitKey { context, peer: 0, peer_context: 0, kind: IntervalKind::Collective },
    };
    TableRows {
        rank,
        world_size: size,
        ticks_per_second: 1_000_000_000,
        started: 0,
        runs_since: 1000,
        runs_until: 1000 + RUN,
        contexts: vec![
            ContextRow { bins: vec![0; 32], ..ContextRow::default() },
            context(0x10, 1, WAITALL, waited + 1_000_000, 8192),
            context(0x20, 1, ALLREDUCE, summed, 800),
            context(0x30, 2, ALLREDUCE, 2_000_000 + jitter, 800),
        ],
        waits: vec![WaitRow { key: wait, count: 100, ticks: waited, longest: waited / 50, bytes: 8192 }],
        collectives: vec![operation(2), operation(3)],
        definitions: vec![
            Definition::Module { start: module, end: module + 0x100, bias: module, path: "/bin/halo".into() },
            Definition::Function { number: WAITALL, name: "MPI_Waitall".into() },
            Definition::Function { number: ALLREDUCE, name: "MPI_Allreduce".into() },
            communicator(1, 1, "MPI_COMM_WORLD", 0..size),
            communicator(2, 100 + u64::from(place), "row", members),
        ],
        ..TableRows::default()
    }
}

fn rank(rank: u32, size: u32, late: u32) -> OfRank {
    let host = format!("node{}", rank / 128);
    OfRank::new(TableRows { host, ..table(rank, size, late) })
}

fn site(module: &str, offset: u64) -> CallSite {
    CallSite { file: format!("{module}.c"), line: offset as u32, ..CallSite::default() }
}

/// What rank 0 gets along the tree, every part written and read again as on the way; and the most bytes of a message.
fn in_a_tree<T: serde::Serialize + serde::de::DeserializeOwned>(
    tree: Tree,
    of: &dyn Fn(u32) -> T,
    join: &dyn Fn(&mut T, T),
) -> (T, usize) {
    let (mut all, mut most) = (of(tree.rank), 0);
    for below in tree.children() {
        let (part, within) = in_a_tree(Tree { rank: below.start, ..tree }, of, join);
        let bytes = tree::encode(&part).unwrap();
        most = most.max(within).max(bytes.len());
        join(&mut all, tree::decode(&bytes).unwrap());
    }
    (all, most)
}

/// The profile of a simulated run, and the most bytes of a message.
fn run(size: u32, late: u32) -> (Profile, usize) {
    let tree = Tree { rank: 0, size };
    let (part, most) = in_a_tree(tree, &|place| rank(place, size, late).part(), &Part::join);
    let judgement = Judgement::of(part);
    let selection = judgement.selection(true, false, false);
    let (detail, more) = in_a_tree(tree, &|place| rank(place, size, late).detail(&selection), &Detail::join);
    let mut profile = Profile { world_size: size, profiled: vec!["calls".into()], ..Profile::default() };
    fill(&mut profile, &judgement, &detail, site);
    (profile, most.max(more).max(tree::encode(&selection).unwrap().len()))
}

#[track_caller]
fn names_the_late_rank(profile: &Profile, size: u32, late: u32) {
    let verdict = profile.verdict.as_ref().unwrap();
    let rules: Vec<(&str, Option<u32>)> =
        verdict.iter().map(|finding| (finding.rule.as_str(), finding.cause_rank)).collect();
    assert_eq!(rules, [("late_sender", Some(late)), ("wait_at_nxn", Some(late))], "{verdict:?}");
    assert!((verdict[0].share - 0.4).abs() < 0.01 && (verdict[1].share - 0.2).abs() < 0.01, "{verdict:?}");
    assert!(verdict[0].text.contains(&format!("and {} more lost", size - 3)), "{}", verdict[0].text);
    assert!(verdict[1].text.contains("MPI_Allreduce at halo.c:32"), "{}", verdict[1].text);
    assert_eq!(verdict[0].cause_site.as_deref(), Some("halo.c:16"));
    let reduced = profile.reduced.as_ref().unwrap();
    assert_eq!((reduced.ranks, reduced.hosts, reduced.left_out), (size, size.div_ceil(128), 0));
    assert_eq!(profile.sites.len(), 3);
    assert_eq!(reduced.calls.iter().map(|calls| calls.calls).sum::<u64>(), 300 * u64::from(size));
}

#[test]
fn of_a_thousand_ranks_the_late_one_is_named() {
    let (profile, most) = run(1000, 17);
    names_the_late_rank(&profile, 1000, 17);
    assert!(most < 200_000, "{most} bytes");
}

#[test]
#[ignore = "slow"]
fn a_hundred_thousand_ranks_take_some_megabytes() {
    let (profile, most) = run(100_000, 77_777);
    names_the_late_rank(&profile, 100_000, 77_777);
    assert!(most < 8 << 20, "{most} bytes");
    assert!(serde_json::to_vec(&profile).unwrap().len() < 64 << 10);
}

#[test]
fn where_all_are_alike_nobody_is_named() {
    let size = 500;
    // No rank is that one.
    let (profile, _) = run(size, size);
    let verdict = profile.verdict.unwrap();
    assert!(verdict.iter().all(|finding| finding.cause_rank.is_none()), "{verdict:?}");
}

#[test]
fn the_protocol_among_ranks_gives_what_joining_gives() {
    let size = 37;
    let part = on_threads(size, |ranks| {
        let own = rank(ranks.rank(), size, 5);
        let part = tree::reduce(&ranks, own.part(), Part::join).unwrap();
        let selection = part.as_ref().map(|part| Judgement::of(part.clone()).selection(true, false, false));
        let bytes = tree::encode(&selection.unwrap_or_default()).unwrap();
        let selection: Selection = tree::decode(&tree::broadcast(&ranks, bytes).unwrap()).unwrap();
        assert!(selection.causes.contains(&5));
        part
    });
    let mut all = Part::default();
    (0..size).for_each(|place| all.join(rank(place, size, 5).part()));
    assert_eq!(part[0].as_ref(), Some(&all));
}

#[test]
fn what_is_sent_is_what_arrives() {
    let mut part = rank(3, 8, 5).part();
    part.join(rank(5, 8, 5).part());
    let selection = Judgement::of(part.clone()).selection(true, true, true);
    let detail = rank(4, 8, 5).detail(&Selection { causes: [3, 4].into(), ..selection.clone() });
    // With and without what found no space: of zeros nothing may be left out.
    for left_out in [LeftOut::default(), LeftOut { waits: 7, definitions: 300, ..LeftOut::default() }] {
        part.tables_left_out = left_out;
        assert_eq!(tree::decode::<Part>(&tree::encode(&part).unwrap()).unwrap(), part);
    }
    assert_eq!(tree::decode::<Selection>(&tree::encode(&selection).unwrap()).unwrap(), selection);
    assert!(detail != Detail::default());
    assert_eq!(tree::decode::<Detail>(&tree::encode(&detail).unwrap()).unwrap(), detail);
}

#[test]
fn nobody_is_late_before_all_are_out_of_mpi_init() {
    let size = 8;
    let of = |place: u32| {
        let mut table = table(place, size, size);
        // In the sum of all from 1000 on, and rank 7 later by half a second.
        let entered = if place == 7 { 500_000_000 } else { 1000 };
        table.runs_since = entered;
        for operation in &mut table.collectives {
            (operation.begin, operation.end) = (entered, 501_000_000);
        }
        table.contexts[2].ticks = 501_000_000 - entered;
        table.contexts[3].ticks = 501_000_000 - entered;
        OfRank::new(table)
    };
    let latest = (0..size).map(|place| of(place).out_of_init()).max().unwrap();
    assert_eq!(latest, 500_000_000);
    let mut part = Part::default();
    (0..size).for_each(|place| part.join(of(place).since(latest).part()));
    assert!(part.closed.is_empty(), "{:?}", part.closed);
    let mut part = Part::default();
    (0..size).for_each(|place| part.join(of(place).part()));
    assert_eq!(part.closed.values().map(super::part::Group::last).collect::<Vec<_>>(), [Some(7); 2]);
}

#[test]
fn rows_have_what_the_rank_spent_and_lost() {
    let size = 64;
    let mut part = Part::default();
    (0..size).for_each(|place| part.join(rank(place, size, 9).part()));
    let judgement = Judgement::of(part);
    let selection = judgement.selection(true, false, false);
    assert_eq!(selection.functions, ["MPI_Waitall", "MPI_Allreduce"]);
    let columns = &selection.columns;
    let of = |place: u32, name: &str| {
        let row = rank(place, size, 9).row(&selection);
        row[columns.iter().position(|column| column.name == name).unwrap()]
    };
    assert!((of(3, columns::RUN) - 1.0).abs() < 1e-9);
    assert!((of(3, columns::WAITING) - 0.6).abs() < 1e-4, "{}", of(3, columns::WAITING));
    assert!(of(9, columns::WAITING) < 1e-3 && of(9, "MPI_Allreduce") < 0.01);
    assert_eq!(
        judgement.caused(9) / 100_000_000,
        130,
        "64 ms of each rank for the sum, and 400 ms of its neighbour"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn joining_in_any_order_is_joining_at_once(
        size in 2u32..200,
        late in 0u32..200,
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
    ) {
        let mut once = Part::default();
        (0..size).for_each(|place| once.join(rank(place, size, late).part()));
        // Any two parts that are left, until there is one.
        let mut parts: Vec<Part> = (0..size).map(|place| rank(place, size, late).part()).collect();
        for index in order.iter().cycle() {
            if parts.len() == 1 {
                break;
            }
            let one = parts.swap_remove(index.index(parts.len()));
            let other = index.index(parts.len());
            parts[other].join(one);
        }
        prop_assert_eq!(&parts[0], &once);
        let selection = Judgement::of(once).selection(true, false, false);
        let mut details: Vec<Detail> = (0..size).map(|place| rank(place, size, late).detail(&selection)).collect();
        let mut all = Detail::default();
        details.iter().for_each(|detail| all.join(detail.clone()));
        while let Some(last) = details.pop() {
            match details.len() {
                0 => prop_assert_eq!(&last, &all),
                left => details[left / 2].join(last),
            }
        }
    }
}
