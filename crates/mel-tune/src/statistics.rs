//! Whether a setting makes a program faster: from the times of pairs of runs, one without it and one with it.
//!
//! Of each pair the logarithm of the quotient counts, so that a difference is a share of the time, and what both runs of a pair have in
//! common (a machine that is warm, a neighbour that computes) is not in it. Their mean has a Student interval. Several settings are tried
//! and each is looked at several times: the interval is widened for all of these looks (Bonferroni), so that with 95 % none of what
//! is called faster or slower is so by chance.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The pairs after which a setting is judged. With fewer than three nothing is.
pub const LOOKS: [usize; 5] = [3, 5, 8, 12, 17];

/// How sure one can be of all that is said, together.
pub const CONFIDENCE: f64 = 0.95;

/// Less than this is no gain that anybody tunes for.
const LEAST_GAIN: f64 = 0.01;

/// The times of a pair of runs in seconds, without the setting and with it.
pub type Pair = (f64, f64);

/// What is known of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The time with the setting is that without it, times this.
    pub ratio: f64,
    /// It lies between these with the confidence that was asked for.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

/// What follows for the tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is faster, significantly.
    Faster,
    /// It is slower, significantly.
    Slower,
    /// More pairs are not likely to find that it is faster.
    NoBetter,
    /// Not known yet.
    Open,
}

/// The difference after some pairs, with the confidence that several of such statements are true together; none of fewer than two pairs.
pub fn difference(pairs: &[Pair], statements: usize) -> Option<Difference> {
    let (mean, error) = mean_and_error(pairs)?;
    let alpha = (1.0 - CONFIDENCE) / statements.max(1) as f64;
    let half = quantile(pairs.len(), alpha) * error;
    Some(Difference { ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() })
}

/// What is to be done with a setting after some pairs, of which `settings` are tried.
pub fn judge(pairs: &[Pair], settings: usize) -> Verdict {
    let slower = |factor: f64| pairs.iter().all(|(without, with)| *with > without * factor);
    if !LOOKS.contains(&pairs.len()) {
        // Two pairs that are far worse are enough to leave it; nothing is claimed by that.
        return if pairs.len() == 2 && slower(1.1) { Verdict::NoBetter } else { Verdict::Open };
    }
    let (Some(strict), Some((mean, error))) =
        (difference(pairs, statements(settings)), mean_and_error(pairs))
    else {
        return Verdict::Open;
    };
    if strict.high < 1.0 {
        return Verdict::Faster;
    }
    if strict.low > 1.0 {
        return Verdict::Slower;
    }
    let best = (mean - quantile(pairs.len(), 0.1) * error).exp();
    if best > 1.0 - LEAST_GAIN || pairs.len() == LOOKS[LOOKS.len() - 1] {
        Verdict::NoBetter
    } else {
        Verdict::Open
    }
}

/// How many statements are made of so many settings: one at each look.
pub fn statements(settings: usize) -> usize {
    settings.max(1) * LOOKS.len()
}

/// The mean of the logarithms, and its standard error.
fn mean_and_error(pairs: &[Pair]) -> Option<(f64, f64)> {
    let number = pairs.len() as f64;
    if pairs.len() < 2 || pairs.iter().any(|(without, with)| !(*without > 0.0 && *with > 0.0)) {
        return None;
    }
    let logs = || pairs.iter().map(|(without, with)| (with / without).ln());
    let mean = logs().sum::<f64>() / number;
    let variance = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / (number - 1.0);
    Some((mean, (variance / number).sqrt()))
}

/// How many standard errors the interval reaches to each side.
fn quantile(pairs: usize, alpha: f64) -> f64 {
    StudentsT::new(0.0, 1.0, pairs as f64 - 1.0)
        .map_or(f64::INFINITY, |student| student.inverse_cdf(1.0 - alpha / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs whose quotients are about this, with a noise that is the same each time.
    fn pairs(number: usize, ratio: f64, noise: f64) -> Vec<Pair> {
        let wave = |place: usize| ((place * 7 + 3) % 5) as f64 / 2.0 - 1.0;
        (0..number)
            .map(|place| (1.0 + place as f64, (1.0 + place as f64) * ratio * (noise * wave(place)).exp()))
            .collect()
    }

    #[test]
    fn the_interval_is_that_of_a_paired_t_test() {
        // Logarithms -1, 0, 1: their mean is 0, the standard error 1/sqrt(3), and t(2) at 97.5 % is 4.303.
        let e = std::f64::consts::E;
        let found = difference(&[(e, 1.0), (1.0, 1.0), (1.0, e)], 1).unwrap();
        assert!((found.ratio - 1.0).abs() < 1e-9);
        assert!((found.high.ln() - 4.3027 / 3f64.sqrt()).abs() < 1e-3, "{found:?}");
        assert!((found.low.ln() + found.high.ln()).abs() < 1e-9);
        let wider = difference(&[(e, 1.0), (1.0, 1.0), (1.0, e)], 10).unwrap();
        assert!(wider.high > found.high);
        assert_eq!(difference(&[(1.0, 1.0)], 1), None);
    }

    #[test]
    fn a_large_gain_is_found_early_and_a_small_one_later() {
        assert_eq!(judge(&pairs(2, 0.5, 0.01), 4), Verdict::Open);
        assert_eq!(judge(&pairs(3, 0.5, 0.01), 4), Verdict::Faster);
        assert_eq!(judge(&pairs(3, 0.93, 0.03), 4), Verdict::Open);
        assert_eq!(judge(&pairs(12, 0.93, 0.03), 4), Verdict::Faster);
    }

    #[test]
    fn what_is_no_better_is_left_and_what_is_worse_called_so() {
        assert_eq!(judge(&pairs(3, 1.0, 0.001), 4), Verdict::NoBetter);
        assert_eq!(judge(&pairs(3, 2.0, 0.01), 4), Verdict::Slower);
        assert_eq!(judge(&pairs(2, 1.5, 0.01), 4), Verdict::NoBetter);
        assert_eq!(judge(&pairs(4, 1.0, 0.001), 4), Verdict::Open, "judged after some numbers of pairs only");
        assert_eq!(judge(&pairs(17, 0.99, 0.1), 4), Verdict::NoBetter);
    }

    #[test]
    fn noise_alone_is_hardly_ever_called_a_gain() {
        // 4 settings without any effect, 2000 times: in at most 5 % may one of them be called faster or slower.
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| random()).sum::<f64>() - 6.0;
        let mut wrong = 0;
        for _ in 0..2000 {
            let mut called = false;
            for _ in 0..4 {
                let mut tried = Vec::new();
                loop {
                    tried.push(((0.05 * normal()).exp(), (0.05 * normal()).exp()));
                    match judge(&tried, 4) {
                        Verdict::Open => {}
                        verdict => {
                            called |= verdict != Verdict::NoBetter;
                            break;
                        }
                    }
                }
            }
            wrong += usize::from(called);
        }
        assert!(wrong <= 100, "{wrong} of 2000");
    }
}
