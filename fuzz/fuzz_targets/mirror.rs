//! What a watcher makes of what nodes tell: whatever they say, its copies stay in its own directory, no longer than a file of a run, and
//! of those names; a node changes no file of another one; and one that begins anew has none but those that it tells of.
//!
//! The input is what `mel gather` writes. A byte before each message says which of two nodes it comes from.
#![no_main]

use std::cell::RefCell;
use std::fs;

use libfuzzer_sys::fuzz_target;
use mel_log::table::layout::MAX_BYTES;
use mel_watch::gather::message::{self, Message, PAGE};
use mel_watch::gather::mirror::Mirror;
use mel_watch::gather::sender::is_wanted;

const NODES: usize = 2;
/// More messages find no more.
const MOST: usize = 64;
/// A copy may be so long.
const LONGEST: u64 = if MAX_BYTES as u64 > 1 << 30 { MAX_BYTES as u64 } else { 1 << 30 };

thread_local! {
    static MIRROR: RefCell<Mirror> = RefCell::new(Mirror::new().expect("a temporary directory"));
}

fn forget(mirror: &mut Mirror, node: usize) {
    let nothing = vec![Message::Hello { host: String::new() }, Message::Now { is_there: true }];
    mirror.apply(node, nothing).expect("nothing is written");
    assert_eq!(mirror.count(node), 0);
}

fn check(mirror: &Mirror) {
    let mut count = 0;
    for entry in fs::read_dir(mirror.path()).expect("its own directory").flatten() {
        let about = fs::symlink_metadata(entry.path()).expect("nobody removes it");
        assert!(about.is_file() && about.len() <= LONGEST, "{entry:?}: {about:?}");
        assert!(entry.file_name().to_str().is_some_and(is_wanted), "{entry:?}");
        count += 1;
    }
    assert_eq!(count, (0..NODES).map(|node| mirror.count(node)).sum::<usize>());
}

fuzz_target!(|input: &[u8]| {
    MIRROR.with_borrow_mut(|mirror| {
        let (mut from, mut pending) = (input, [const { Vec::new() }; NODES]);
        for _ in 0..MOST {
            let Some((node, rest)) = from.split_first() else { break };
            from = rest;
            let node = usize::from(*node) % NODES;
            let Ok(Some(told)) = message::read(&mut from) else { break };
            if let Message::Page { bytes, .. } = &told {
                assert!(bytes.len() <= input.len());
            }
            let is_all = matches!(told, Message::Now { .. });
            pending[node].push(told);
            if !is_all {
                continue;
            }
            let other = mirror.count(1 - node);
            let all = std::mem::take(&mut pending[node]);
            let has_long =
                all.iter().any(|told| matches!(told, Message::Page { bytes, .. } if bytes.len() > PAGE));
            let applied = mirror.apply(node, all);
            assert!(applied.is_err() || !has_long);
            assert_eq!(mirror.count(1 - node), other);
            check(mirror);
        }
        (0..NODES).for_each(|node| forget(mirror, node));
        check(mirror);
    });
});
