//! What costs time in a traced run, from each of its calls.

use mel_analyze::{Options, analyze};
use mel_convert::Run;
use mel_log::StreamKind;
use mel_log::profile::Finding;
use mel_verdict::findings::LEAST_SHARE;

/// What costs less than that share of the run is not shown.
const LEAST_SHARE_SHOWN: f64 = 0.001;
/// More findings are not shown.
const MOST: usize = 60;

/// The findings of a trace, worst first; none where the logs have no calls.
pub fn findings(run: &Run, tick: &(dyn Fn(u64) + Sync)) -> Option<Vec<Finding>> {
    let mut streams = run.ranks.iter().flat_map(|log| log.definitions.streams.values());
    if !streams.any(|stream| stream.kind == StreamKind::Calls) {
        return None;
    }
    let mut findings = analyze(run, Options::default(), tick).verdict;
    findings.retain(|finding| finding.share >= LEAST_SHARE_SHOWN);
    findings.truncate(MOST);
    Some(findings)
}

/// The verdict on a run: from its trace, if that has all calls with their lines, else from its profile.
pub fn verdict(run: &Run, exact: Option<&[Finding]>, estimated: Option<&[Finding]>) -> Option<Vec<Finding>> {
    let whole =
        run.filters().is_empty() && run.lost() == 0 && run.ended_early() == 0 && run.incomplete().is_empty();
    let exact = exact.filter(|_| whole).map(|findings| {
        let worth = |finding: &&Finding| finding.share >= LEAST_SHARE;
        findings.iter().filter(worth).cloned().collect::<Vec<_>>()
    });
    let has_lines = |findings: &[Finding]| findings.iter().any(|finding| finding.site.is_some());
    match (exact, estimated) {
        (Some(exact), Some(estimated)) if !has_lines(&exact) => Some(estimated.to_vec()),
        (Some(exact), _) => Some(exact),
        (None, estimated) => estimated.map(<[Finding]>::to_vec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, site: Option<&str>) -> Vec<Finding> {
        vec![Finding { text: text.into(), site: site.map(str::to_owned), share: 0.5, ..Finding::default() }]
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
