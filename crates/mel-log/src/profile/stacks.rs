//! Where ranks are while they compute: samples of their stacks, observed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::why::median;
use super::{CallSite, RankProfile};

/// Samples in a second that a rank is on a processor, where the user asks for them.
pub const PER_SECOND: u32 = 100;
/// The same where nobody has asked: each counts as [`UNASKED_STEP`].
pub const UNASKED_PER_SECOND: u32 = PER_SECOND / UNASKED_STEP as u32;
/// How many hundredths of a second a sample stands for that nobody has asked for.
pub const UNASKED_STEP: u64 = 5;

/// Samples of one stack, in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StackProfile {
    /// The phase of the program, as a place in the profile's `phases`.
    pub phase: u32,
    /// Hundredths of a second on a processor outside of MPI and of the operating system.
    pub samples: u64,
    /// The call sites, as places in the profile's `sites`: the innermost first.
    pub frames: Vec<u32>,
}

/// A function of the program, with the line in it that has most of its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InFunction {
    /// The function.
    pub function: String,
    /// The line, as `file:line`.
    pub line: String,
    /// The time in it and in all that it calls, in seconds.
    pub seconds: f64,
    /// How many functions it has called on average where it is.
    depth: f64,
}

/// Libraries of the system in which programs are by the way: their callers are named.
const BY_THE_WAY: [&str; 11] = [
    "libc.",
    "libm.",
    "libmvec.",
    "libpthread.",
    "ld-linux",
    "linux-vdso",
    "libgcc_s.",
    "libstdc++.",
    "libgfortran.",
    "libquadmath.",
    "libgomp.",
];

/// Whether a file, with its path, is one of these libraries.
#[must_use]
pub fn is_by_the_way(module: &str) -> bool {
    let file = module.rsplit('/').next().unwrap_or_default();
    BY_THE_WAY.iter().any(|name| file.starts_with(name))
}

/// Whether a frame is in the program, or in a library that is no matter of course.
fn is_of_program(site: &CallSite) -> bool {
    let is_start = site.line == 0 && site.function == "_start";
    !is_start && !is_by_the_way(&site.module)
}

/// The time of a rank by the functions of the program that were under way, the callers among them.
#[must_use]
pub fn functions(rank: &RankProfile, sites: &[CallSite]) -> BTreeMap<String, InFunction> {
    let mut lines: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut found: BTreeMap<String, InFunction> = BTreeMap::new();
    for stack in &rank.stacks {
        let frames: Vec<&CallSite> =
            stack.frames.iter().filter_map(|site| sites.get(*site as usize)).collect();
        let own: Vec<&CallSite> = frames.iter().copied().filter(|site| is_of_program(site)).collect();
        let mut seen = BTreeSet::new();
        for (depth, site) in if own.is_empty() { frames } else { own }.into_iter().enumerate() {
            let name = if site.function.is_empty() { "a function without a name" } else { &site.function };
            if !seen.insert(name) {
                continue;
            }
            let of = found.entry(name.to_owned()).or_default();
            of.seconds += stack.samples as f64 / f64::from(PER_SECOND);
            of.depth += depth as f64 * stack.samples as f64;
            let line = site.to_string();
            let line = line.split(" (").next().unwrap_or_default().to_owned();
            *lines.entry((name.to_owned(), line)).or_default() += stack.samples;
        }
    }
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for ((function, line), samples) in lines {
        let most = most.entry(function.clone()).or_default();
        if let (Some(of), true) = (found.get_mut(&function), samples > *most) {
            (*most, of.line, of.function) = (samples, line, function);
        }
    }
    found.values_mut().for_each(|of| of.depth /= (of.seconds * f64::from(PER_SECOND)).max(1.0));
    found
}

/// The innermost function that has this part of what is longer is the one to look at.
const MOST_OF_IT: f64 = 0.8;

/// The function in which a rank is longer than the others, with their median; none where nothing was sampled. Of several that call each other
/// the innermost one that has most of it.
#[must_use]
pub fn longer(cause: &RankProfile, others: &[&RankProfile], sites: &[CallSite]) -> Option<(InFunction, f64)> {
    let usual: Vec<BTreeMap<String, InFunction>> = others.iter().map(|rank| functions(rank, sites)).collect();
    let with_usual = |of: InFunction| {
        let of_others = usual.iter().map(|all| all.get(&of.function).map_or(0.0, |of| of.seconds));
        let usual = median(of_others).unwrap_or(0.0);
        (of, usual)
    };
    let own: Vec<(InFunction, f64)> = functions(cause, sites).into_values().map(with_usual).collect();
    let more = |(of, usual): &(InFunction, f64)| of.seconds - usual;
    let most = own.iter().map(more).fold(0.0, f64::max);
    let worth = own.into_iter().filter(|of| more(of) > 0.0 && more(of) >= MOST_OF_IT * most);
    worth.min_by(|a, b| a.0.depth.total_cmp(&b.0.depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_function_that_has_most_of_what_is_longer_is_named() {
        let site = |file: &str, line, function: &str| CallSite {
            file: file.into(),
            line,
            function: function.into(),
            ..CallSite::default()
        };
        let sites = [
            CallSite { module: "/lib/libc.so.6".into(), ..site("", 0, "memset") },
            site("a.c", 7, "fill"),
            site("a.c", 9, "fill"),
            site("a.c", 20, "main"),
            site("a.c", 30, "other"),
        ];
        let stack = |samples, frames: &[u32]| StackProfile { phase: 0, samples, frames: frames.to_vec() };
        let rank = |stacks| RankProfile { stacks, ..RankProfile::default() };
        let slow = rank(vec![stack(80, &[0, 2, 3]), stack(20, &[1, 3]), stack(10, &[3]), stack(1, &[0])]);
        let found = functions(&slow, &sites);
        let fill = &found["fill"];
        assert_eq!((fill.line.as_str(), fill.seconds), ("a.c:9", 1.0));
        assert_eq!((found["main"].line.as_str(), found["main"].seconds), ("a.c:20", 1.1));
        assert_eq!(found["memset"].seconds, 0.01, "it has no caller");
        let usual = rank(vec![stack(10, &[1, 3]), stack(50, &[4, 3])]);
        let (of, usual_s) = longer(&slow, &[&usual, &usual], &sites).unwrap();
        assert_eq!((of.function.as_str(), usual_s), ("fill", 0.1));
        assert_eq!(longer(&rank(Vec::new()), &[&usual], &sites), None);
        // What is spread over functions that one function calls is that one's.
        let spread = rank(vec![stack(40, &[1, 3]), stack(40, &[4, 3])]);
        let (of, _) = longer(&spread, &[&rank(Vec::new())], &sites).unwrap();
        assert_eq!(of.function, "main");
    }
}
