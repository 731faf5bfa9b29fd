//! Windows and what is done with them are there again.

mod support;

use otf2_writer::*;

#[test]
fn every_kind_of_event() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let defs = archive.definitions_mut();
    let ranks = support::two_ranks(defs);
    let members = GroupMembers::CommGroup(&[1]);
    let group = defs.group(Group { name: "partner", paradigm: Paradigm::Mpi, members });
    let window =
        defs.rma_window(RmaWindow { name: "window 0", comm: ranks.world, create_destroy_events: true });
    let (target, lock, kind) = (LockTarget::Rank(1), 0, LockType::Exclusive);
    let (level, root) = (RmaSyncLevel::ProcessAndMemory, CollectiveRoot::None);
    let all = LockTarget::All;
    let written = [
        Event::RmaWinCreate { window },
        Event::RmaRequestLock { window, target, lock, kind },
        Event::RmaAcquireLock { window, target, lock, kind },
        Event::RmaPut { window, target: 1, bytes: 100, matching: 7 },
        Event::RmaGet { window, target: 0, bytes: 200, matching: 8 },
        Event::RmaAtomic {
            window,
            target: 1,
            op: RmaAtomicType::CompareAndSwap,
            sent_bytes: 16,
            received_bytes: 8,
            matching: 9,
        },
        Event::RmaOpCompleteBlocking { window, matching: 7 },
        Event::RmaOpCompleteNonBlocking { window, matching: 8 },
        Event::RmaReleaseLock { window, target, lock },
        Event::RmaAcquireLock { window, target: all, lock, kind: LockType::Shared },
        Event::RmaGroupSync { level: RmaSyncLevel::Process, window, group },
        Event::RmaCollectiveBegin,
        Event::RmaCollectiveEnd {
            op: CollectiveOp::Barrier,
            level,
            window,
            root,
            sent_bytes: 0,
            received_bytes: 0,
        },
        Event::RmaWinDestroy { window },
    ];
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    for (time, event) in (10..).zip(&written) {
        events.write(Ticks(time), event).unwrap();
    }
    events.close().unwrap();
    archive.event_writer(ranks.threads[1]).unwrap().close().unwrap();
    archive.finish().unwrap();

    let seen = support::events(directory.path());
    let kinds: Vec<&str> = seen.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        kinds,
        [
            "RMA_WIN_CREATE",
            "RMA_REQUEST_LOCK",
            "RMA_ACQUIRE_LOCK",
            "RMA_PUT",
            "RMA_GET",
            "RMA_ATOMIC",
            "RMA_OP_COMPLETE_BLOCKING",
            "RMA_OP_COMPLETE_NON_BLOCKING",
            "RMA_RELEASE_LOCK",
            "RMA_ACQUIRE_LOCK",
            "RMA_GROUP_SYNC",
            "RMA_COLLECTIVE_BEGIN",
            "RMA_COLLECTIVE_END",
            "RMA_WIN_DESTROY",
        ]
    );
    assert!(seen[3].contains("100") && seen[3].contains("Matching: 7"), "{}", seen[3]);
    assert!(seen[5].contains("COMPARE_AND_SWAP"), "{}", seen[5]);
    assert!(seen[1].contains("EXCLUSIVE") && seen[9].contains("SHARED"), "{seen:?}");
    assert!(support::definitions(directory.path()).iter().any(|line| line.starts_with("RMA_WIN 0")));
}
