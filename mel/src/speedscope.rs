//! Sampled stacks as a profile of speedscope (<https://www.speedscope.app/file-format-schema.json>): one sampled profile for each rank.

use std::io::{self, Write};

use mel_log::profile::stacks::PER_SECOND;
use mel_log::profile::{CallSite, Profile, RankProfile};
use serde_json::{Value, json};

/// Writes the stacks of a profile.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, profile: &Profile) -> io::Result<()> {
    let frames: Vec<Value> = profile.sites.iter().map(frame).collect();
    let sampled = profile.ranks.iter().filter(|rank| !rank.stacks.is_empty());
    let profiles: Vec<Value> = sampled.map(of_rank).collect();
    let all = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": profile.command.join(" "),
        "exporter": format!("mel {}", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    });
    serde_json::to_writer(&mut *out, &all)?;
    writeln!(out)
}

fn frame(site: &CallSite) -> Value {
    let module = site.module.rsplit('/').next().unwrap_or_default();
    let name = if site.function.is_empty() { module } else { &site.function };
    match site.line {
        0 => json!({ "name": name, "file": site.module }),
        line => json!({ "name": name, "file": site.file, "line": line }),
    }
}

/// The stacks of a rank, the outermost frame of each first.
fn of_rank(rank: &RankProfile) -> Value {
    let seconds = |samples: u64| samples as f64 / f64::from(PER_SECOND);
    let samples = rank.stacks.iter().map(|stack| stack.frames.iter().rev().copied().collect());
    let samples: Vec<Vec<u32>> = samples.collect();
    let weights: Vec<f64> = rank.stacks.iter().map(|stack| seconds(stack.samples)).collect();
    json!({
        "type": "sampled",
        "name": format!("rank {}", rank.rank),
        "unit": "seconds",
        "startValue": 0.0,
        "endValue": seconds(rank.stacks.iter().map(|stack| stack.samples).sum()),
        "samples": samples,
        "weights": weights,
    })
}

#[cfg(test)]
mod tests {
    use mel_log::profile::StackProfile;

    use super::*;

    #[test]
    fn each_rank_is_a_profile_with_the_outermost_frame_first() {
        let site = |function: &str| CallSite {
            function: function.into(),
            file: "a.c".into(),
            line: 3,
            ..CallSite::default()
        };
        let stack = |samples, frames: &[u32]| StackProfile { phase: 0, samples, frames: frames.to_vec() };
        let rank = |rank, stacks| RankProfile { rank, stacks, ..RankProfile::default() };
        let profile = Profile {
            sites: vec![site("fill"), site("main")],
            ranks: vec![rank(0, Vec::new()), rank(1, vec![stack(150, &[0, 1]), stack(50, &[1])])],
            ..Profile::default()
        };
        let mut text = Vec::new();
        write(&mut text, &profile).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["shared"]["frames"][0], json!({ "name": "fill", "file": "a.c", "line": 3 }));
        let profiles = value["profiles"].as_array().unwrap();
        assert_eq!((profiles.len(), &profiles[0]["name"]), (1, &json!("rank 1")));
        assert_eq!(profiles[0]["samples"], json!([[1, 0], [1]]));
        assert_eq!((&profiles[0]["weights"], &profiles[0]["endValue"]), (&json!([1.5, 0.5]), &json!(2.0)));
    }
}
