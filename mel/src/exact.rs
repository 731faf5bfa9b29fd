//! The verdict on a run from each call of its trace.

use mel_analyze::{Options, analyze};
use mel_convert::Run;
use mel_log::StreamKind;
use mel_log::profile::Finding;

use crate::progress_bar::ProgressBar;

/// Findings with a smaller share of the run are not worth a word.
const LEAST_SHARE: f64 = 0.01;

/// The findings of a trace, worst first. None where the logs hold no calls, or not all of the run, or no lines (`--callsites`): then
/// sums over the whole run know more.
pub fn verdict(run: &Run) -> Option<Vec<Finding>> {
    let has_calls = |log: &mel_log::RankLog| {
        log.definitions.streams.values().any(|stream| stream.kind == StreamKind::Calls)
    };
    let is_whole =
        run.filters().is_empty() && run.lost() == 0 && run.ended_early() == 0 && run.left_out.is_empty();
    if !is_whole || !run.ranks.iter().any(has_calls) {
        return None;
    }
    let progress = ProgressBar::new("analysing the trace", run.records_at_most());
    let options = Options { epsilon: None, delta_sr: None };
    let mut findings = analyze(run, options, &|records| progress.advance(records)).verdict;
    findings.retain(|finding| finding.share >= LEAST_SHARE);
    let names_lines = findings.is_empty() || findings.iter().any(|finding| finding.site.is_some());
    names_lines.then_some(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::{HeaderInfo, LogFile, State};

    #[test]
    fn logs_without_calls_give_no_verdict() {
        let directory = tempfile::tempdir().unwrap();
        let info = HeaderInfo {
            rank: 0,
            world_size: 1,
            pid: 1,
            ticks_per_second: 1,
            origin_ticks: 0,
            origin_realtime_nanos: 0,
            host: "node".into(),
        };
        let log = LogFile::create(&directory.path().join(mel_log::file_name(0)), &info).unwrap();
        let verdict_of = || verdict(&Run::open(directory.path()).unwrap());
        log.stream(StreamKind::Events, 0, None);
        log.finish(State::Finalised, 1);
        assert_eq!(verdict_of(), None);
        let log = LogFile::create(&directory.path().join(mel_log::file_name(0)), &info).unwrap();
        log.stream(StreamKind::Calls, 0, None);
        // It is still running: not all of its calls are there.
        assert_eq!(verdict_of(), None);
        log.finish(State::Finalised, 1);
        assert_eq!(verdict_of(), Some(Vec::new()));
    }
}
