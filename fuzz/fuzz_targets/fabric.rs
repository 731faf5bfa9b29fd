//! Descriptions of networks: whatever stands in them, reading ends with a network or an error, and each route ends.

#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use mel_net::read::of_texts;
use mel_net::{Flow, Shares, load};

/// More hosts make a run slow, and find no more.
const MOST_HOSTS: usize = 12;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    // Two files, of which one may be in our own format, known by its name.
    let (first, second) = text.split_once('\u{1}').unwrap_or((&text, ""));
    for name in ["net.toml", "net"] {
        let mut texts = vec![(PathBuf::from(name), first.to_owned())];
        if !second.is_empty() {
            texts.push((PathBuf::from("tables"), second.to_owned()));
        }
        let Ok(network) = of_texts(&texts) else { continue };
        let fabric = &network.fabric;
        let hosts: Vec<_> = fabric.hosts().take(MOST_HOSTS).map(Some).collect();
        let ranks = hosts.len() as u32;
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let flows: Vec<Flow> = pairs.map(|(from, to)| Flow { from, to, phase: 0, bytes: 3 }).collect();
        let load = load(fabric, &hosts, &flows, &Shares::default());
        let lost: u64 = load.lost.values().map(|(bytes, ..)| bytes).sum();
        assert_eq!(load.within + load.between + lost, flows.len() as u64 * 3);
        assert_eq!(load.by_top_level.iter().sum::<u64>(), load.between);
    }
});
