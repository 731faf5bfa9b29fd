//! `mpirun -n K mel convert --otf2 DIR`: several processes of the command write one archive.
//!
//! Each has a share of the ranks. Process 0 looks at the directory and at what is in the way, shows how far it is with its own share, and says what
//! there is at the end. What fails is said once, by the first process that is still there.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};

use super::convert::{Args, make_room, remarks, summarised};
use super::incomplete::complain;
use super::output::{to_stdout, warn};
use crate::progress_bar::ProgressBar;
use crate::together::Together;
use crate::together::meeting::Meeting;
use crate::together::messages::Messages;
use mel_convert::Run;
use mel_convert::otf2::{self, Remarks};
use mel_log::RankLog;
use mel_log::launcher::Place;

/// The folder in which the processes talk, beside the archive: as long as it is there, that is not whole.
const FOLDER: &str = "traces.unfinished";

/// A launcher ends all processes when one has ended with an error: the one that says why comes first.
const OTHERS_SPEAK: Duration = Duration::from_secs(1);

/// How many processes convert, where a launcher has started several.
pub(super) fn size(args: &Args) -> Option<Place> {
    let place = Place::here()?;
    let is_one = place.rank == 0 && place.size.is_none_or(|size| size <= 1);
    (args.otf2 && !args.alone && !is_one).then_some(place)
}

/// Converts as one of the processes.
///
/// # Errors
/// As `mel convert`; process 0 returns it, or the first one that is there.
pub(super) fn run(args: &Args, place: Place) -> anyhow::Result<ExitCode> {
    let process = u32::try_from(place.rank)?;
    let Some(size) = place.size else {
        if process == 1 {
            warn(
                "the launcher does not say how many processes there are: process 0 converts with all its cores",
            );
        }
        return Ok(ExitCode::SUCCESS);
    };
    let seen = std::fs::read_dir(&args.directory)
        .with_context(|| format!("cannot read {}", args.directory.display()));
    if let Err(error) = seen {
        if process == 0 {
            return Err(error);
        }
        // If it is so for all, process 0 has said it by then, and the launcher ends this one.
        std::thread::sleep(OTHERS_SPEAK);
        return Err(error.context(format!("process {process} of {size}: does its node see the directory?")));
    }
    let patience = Duration::from_secs(args.wait.into());
    let folder = args.place().join(FOLDER);
    let meeting = Meeting { folder: &folder, process, size: u32::try_from(size)?, patience };
    let mut run = None;
    let begin = |was_left: bool| {
        // Each process looks at the checksums of its own share.
        let all = Run::look(&args.directory)?;
        if was_left && !args.place().join(otf2::FILE_NAME).exists() {
            otf2::remove(args.place())?;
        }
        make_room(args)?;
        let ranks = all.ranks.iter().map(|log| log.info.rank).collect();
        let world = otf2::world_size(&all);
        run = Some(all);
        Ok((world, ranks))
    };
    let Some(together) = meeting.begin(begin)? else {
        std::thread::sleep(OTHERS_SPEAK);
        return Ok(ExitCode::FAILURE);
    };
    if together.plan().threads(process).is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    convert(args, Arc::new(together), run)
}

fn convert(args: &Args, together: Arc<Together>, mut whole: Option<Run>) -> anyhow::Result<ExitCode> {
    let of_share = together.plan().ranks(together.process());
    let own = match &mut whole {
        Some(run) => {
            run.check(|rank| of_share.contains(&rank));
            Ok(None)
        }
        None => own_logs(args, &together).map(Some),
    };
    let written = own.and_then(|own| {
        let run = whole.as_ref().or(own.as_ref()).ok_or_else(|| anyhow!("no logs"))?;
        // The first one sees all that is missing, but for what is damaged in the shares of others.
        let damaged =
            || run.ranks.iter().filter(|log| log.missing.damaged > 0).filter_map(RankLog::incomplete);
        let code = match &whole {
            Some(run) => complain(&run.incomplete()),
            None => complain(&damaged().collect::<Vec<_>>()),
        };
        let plan = together.plan();
        let ranks = plan.ranks(together.process());
        let of_share = |log: &&RankLog| ranks.contains(&log.info.rank);
        let records = run.ranks.iter().filter(of_share).map(RankLog::records_at_most).sum();
        let progress = whole.as_ref().map(|_| ProgressBar::new("writing the trace", records));
        let tick = |records| progress.iter().for_each(|progress| progress.advance(records));
        let find = || remarks(run);
        let remarks = if args.no_markers { Remarks::Known(&[]) } else { Remarks::Sought(&find) };
        let group = Messages::group(&together);
        let summary = otf2::write_as(group, (&run.ranks, plan.world), args.place(), remarks, &tick)?;
        drop(progress);
        if whole.is_some() {
            to_stdout(|out| write!(out, "{}", summarised(args, run, &summary)))?;
        }
        Ok(code)
    });
    let Err(error) = written else { return written };
    // What this process has found itself is more than that it heard of an error.
    let why = together.failure().unwrap_or_else(|| format!("{error:#}"));
    together.fail(&why);
    if together.is_first_alive() {
        return Err(anyhow!(why));
    }
    drop(together);
    std::thread::sleep(OTHERS_SPEAK);
    Ok(ExitCode::FAILURE)
}

/// The logs of the ranks of this process.
fn own_logs(args: &Args, together: &Together) -> anyhow::Result<Run> {
    let (process, plan) = (together.process(), together.plan());
    let ranks = plan.ranks(process);
    let run = Run::open_ranks(&args.directory, |rank| ranks.contains(&rank))?;
    let expected = plan.logs.get(process as usize).copied().unwrap_or(0);
    ensure!(
        run.ranks.len() == expected as usize,
        "process {process} of {} finds {} of the {expected} event logs that process 0 sees for it: do all nodes see {}?",
        together.size(),
        run.ranks.len(),
        args.directory.display()
    );
    Ok(run)
}
