//! What costs time in a traced run, from each of its calls.

use std::collections::BTreeSet;

use mel_analyze::{Analysis, Options, analyze};
use mel_convert::Run;
use mel_log::StreamKind;
use mel_log::profile::efficiency::{OfPhase, OfRegion};
use mel_log::profile::{Efficiencies, Efficiency, Finding, RankProfile};
use mel_verdict::findings::LEAST_SHARE;

/// What costs less than that share of the run is not shown.
const LEAST_SHARE_SHOWN: f64 = 0.001;
/// More findings are not shown.
const MOST: usize = 60;

/// What a trace says: the findings that are shown, worst first, and how well the ranks are used; none where the logs have no calls.
pub fn analysis(run: &Run, tick: &(dyn Fn(u64) + Sync)) -> Option<Analysis> {
    let mut streams = run.ranks.iter().flat_map(|log| log.definitions.streams.values());
    if !streams.any(|stream| stream.kind == StreamKind::Calls) {
        return None;
    }
    let mut analysis = analyze(run, Options::default(), tick);
    analysis.verdict.retain(|finding| finding.share >= LEAST_SHARE_SHOWN);
    analysis.verdict.truncate(MOST);
    Some(analysis)
}

/// Whether the logs have the whole run.
fn is_whole(run: &Run) -> bool {
    run.filters().is_empty() && run.lost() == 0 && run.ended_early() == 0 && run.incomplete().is_empty()
}

/// How well the ranks are used: as a whole trace has it, of the run, of its phases, which have these names, and of the regions in which these
/// ranks have one thread each; else as the profile has it.
pub fn efficiency(
    run: &Run,
    exact: Option<&Analysis>,
    known: Option<Efficiencies>,
    (phases, ranks): (&[String], &[RankProfile]),
) -> Option<Efficiencies> {
    let exact = exact.filter(|exact| exact.efficiency.is_some() && is_whole(run));
    match (known, exact) {
        (Some(known), Some(exact)) => Some(with(known, exact, (phases, ranks))),
        (None, Some(exact)) => exact.efficiency.clone().map(Efficiencies::from),
        (known, None) => known,
    }
}

/// As the trace has it, with what only the profile has: its times begin and end as the trace does, so that both do not mix.
fn with(known: Efficiencies, exact: &Analysis, (names, ranks): (&[String], &[RankProfile])) -> Efficiencies {
    let add = |known: Efficiency, exact: Option<&Efficiency>| match exact {
        Some(exact) => Efficiency {
            counters: known.counters,
            busiest_site: exact.busiest_site.clone().or(known.busiest_site),
            ..exact.clone()
        },
        None => known,
    };
    let of_phase = |of: OfPhase| {
        let name = names.get(of.phase as usize);
        let exact = exact.phases.iter().find(|(known, _)| Some(known) == name);
        OfPhase { of: add(of.of, exact.map(|exact| &exact.1)), ..of }
    };
    // A trace has the regions of threads that call MPI.
    let several: BTreeSet<&str> = ranks
        .iter()
        .flat_map(|rank| &rank.regions)
        .filter(|of| of.threads > 1)
        .map(|of| of.region.as_str())
        .collect();
    let of_region = |of: OfRegion| {
        let is_it =
            |(path, _): &&(String, Efficiency)| *path == of.region && !several.contains(path.as_str());
        let exact = exact.regions.iter().find(is_it);
        OfRegion { of: add(of.of, exact.map(|exact| &exact.1)), ..of }
    };
    let phases = known.phases.into_iter().map(of_phase).collect();
    let regions = known.regions.into_iter().map(of_region).collect();
    Efficiencies { whole: add(known.whole, exact.efficiency.as_ref()), phases, regions }
}

/// The verdict on a run: from its trace, if that has all calls with their lines, else from its profile.
pub fn verdict(run: &Run, exact: Option<&[Finding]>, estimated: Option<&[Finding]>) -> Option<Vec<Finding>> {
    let exact = exact.filter(|_| is_whole(run)).map(|findings| {
        let worth = |finding: &&Finding| finding.share >= LEAST_SHARE;
        findings.iter().filter(worth).cloned().collect::<Vec<_>>()
    });
    let has_lines = |findings: &[Finding]| findings.iter().any(|finding| finding.site.is_some());
    match (exact, estimated) {
        (Some(exact), Some(estimated)) if !has_lines(&exact) => Some(estimated.to_vec()),
        (Some(mut exact), known) => {
            // Why a rank is slow is in no trace.
            for known in known.into_iter().flatten().filter(|of| of.why.is_some()) {
                if let Some(of) = exact.iter_mut().find(|of| of.cause_rank == known.cause_rank) {
                    of.why.clone_from(&known.why);
                }
            }
            Some(exact)
        }
        (None, estimated) => estimated.map(<[Finding]>::to_vec),
    }
}

#[cfg(test)]
mod tests {
    use mel_log::profile::{Basis, RegionProfile};

    use super::*;

    fn of(text: &str, site: Option<&str>) -> Vec<Finding> {
        vec![Finding { text: text.into(), site: site.map(str::to_owned), share: 0.5, ..Finding::default() }]
    }

    #[test]
    fn a_trace_adds_what_a_profile_does_not_know() {
        let of = Efficiency::of([(0, 0.5), (1, 0.25)], 1.0).unwrap();
        let exact = of.clone().with_ideal(0.8, Basis::Exact);
        let run = Run::default();
        let phases = [0, 1].map(|phase| OfPhase { phase, of: of.clone() }).into();
        let region = OfRegion { region: "main/solve".into(), of: of.clone() };
        let known = Efficiencies { phases, regions: vec![region], ..Efficiencies::from(of) };
        let trace = Analysis {
            efficiency: Some(exact.clone()),
            phases: vec![("solve".into(), exact.clone())],
            regions: vec![("main/solve".into(), exact.clone())],
            ..Analysis::default()
        };
        let names = ["".to_owned(), "solve".to_owned()];
        let both = efficiency(&run, Some(&trace), Some(known.clone()), (&names, &[])).unwrap();
        let ideal = |of: &Efficiency| (of.serialisation, of.transfer);
        assert_eq!(ideal(&both.whole), (Some(0.625), Some(0.8)));
        let phases: Vec<_> = both.phases.iter().map(|of| ideal(&of.of)).collect();
        assert_eq!(phases, [(None, None), (Some(0.625), Some(0.8))]);
        assert_eq!(ideal(&both.regions[0].of), (Some(0.625), Some(0.8)));
        assert_eq!(efficiency(&run, Some(&trace), None, (&[], &[])).unwrap().whole, exact);
        assert_eq!(efficiency(&run, None, Some(known.clone()), (&names, &[])), Some(known.clone()));
        // Of several threads the trace has one.
        let region = RegionProfile { region: "main/solve".into(), threads: 2, ..RegionProfile::default() };
        let rank = RankProfile { regions: vec![region], ..RankProfile::default() };
        let both = efficiency(&run, Some(&trace), Some(known), (&names, &[rank])).unwrap();
        assert_eq!(ideal(&both.regions[0].of), (None, None));
    }

    #[test]
    fn a_trace_is_trusted_where_it_is_whole_and_has_lines() {
        let (exact, lines, estimated) =
            (of("exact", None), of("exact", Some("a.c:3")), of("estimated", None));
        let run = Run::default();
        let text = |exact: Option<&Vec<Finding>>, estimated: Option<&Vec<Finding>>| {
            let verdict = verdict(&run, exact.map(Vec::as_slice), estimated.map(Vec::as_slice));
            verdict.map(|all| all[0].text.clone())
        };
        assert_eq!(text(Some(&exact), Some(&estimated)).unwrap(), "estimated");
        assert_eq!(text(Some(&lines), Some(&estimated)).unwrap(), "exact");
        assert_eq!(text(Some(&exact), None).unwrap(), "exact");
        assert_eq!(text(None, Some(&estimated)).unwrap(), "estimated");
        assert_eq!(text(None, None), None);
    }
}
