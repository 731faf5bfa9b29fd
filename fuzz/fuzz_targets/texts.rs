//! What users and watchers write: policies, rules, settings, requests and answers, topologies, lists of hosts. Reading ends with a value
//! or an error, and what is written again reads the same.
//!
//! The first byte of the input says which of them the rest is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mel_log::control::{Answer, Request};
use mel_log::profile::sample;
use mel_log::setting::Setting;
use mel_place::Topology;
use mel_place::topology::{synthetic, xml};
use mel_rules::policy::Policy;

fn topology(topology: Topology) {
    let machines = match topology {
        Topology::Each(machine) => vec![machine],
        Topology::Nodes(machines) => machines,
    };
    for machine in machines {
        assert!(machine.cores().len() <= machine.leaves.len());
        let _ = machine.sockets();
    }
}

/// A short text may describe millions of processors: they are allowed, and slow to try.
fn is_small(words: &str) -> bool {
    let numbers = words.split(|letter: char| !letter.is_ascii_digit());
    numbers.filter_map(|number| number.parse::<u64>().ok()).fold(1, u64::saturating_mul) < 4096
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match kind {
        b'p' => {
            let Ok(policies) = Policy::decode(&text) else { return };
            let again = Policy::encode(&policies);
            let decoded = Policy::decode(&again).expect("what was encoded");
            assert_eq!(Policy::encode(&decoded), again);
            policies.iter().for_each(|policy| policy.variables().for_each(drop));
        }
        b'r' => {
            if let Ok(rules) = mel_rules::file::parse(&text, "rules.toml") {
                let _ = mel_rules::advice::advise(&rules, &sample::late_rank(3, 1));
            }
        }
        b's' => {
            for setting in Setting::split(&text) {
                let _ = (setting.environment(), setting.ranks().len());
            }
            if let Ok(setting) = text.parse::<Setting>() {
                assert_eq!(setting.whole().parse(), Ok(setting));
            }
        }
        b'q' => {
            if let Ok(request) = Request::from_bytes(rest) {
                assert!(request.settings().count() <= 64);
            }
            let _ = serde_json::from_slice::<Answer>(rest);
        }
        b'w' => {
            if is_small(&text)
                && let Ok(found) = synthetic::parse(&text)
            {
                topology(found);
            }
        }
        _ => {
            if let Ok(found) = xml::parse(&text) {
                topology(found);
            }
        }
    }
});
