//! `mel collect`: what nodes have left on disks of their own, in one directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

use super::output::to_stdout;
use crate::progress_bar::ProgressBar;
use mel_convert::Run;
use mel_convert::otf2;
use mel_log::profile::columns;
use mel_log::ranks::RankRanges;
use mel_log::{access, regular_file};

/// Joins the directories of one run that lie on the disks of several nodes
///
/// Where the directory of a run is on a disk that other nodes do not see, each node has its part of the
/// run there: event logs, profile tables, and its files of the trace. Copy the directories to where you
/// are, and join them: report, analyze and convert read the result like any run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel collect node-a/mel-app-1 node-b/mel-app-1 -o mel-app-1
      one directory from two; then: mel report mel-app-1
  for n in $(scontrol show hostnames); do rsync -a $n:/tmp/run/ parts/$n/; done
  mel collect parts/* -o mel-app-1
      on a Slurm cluster, with the local directories /tmp/run of all nodes")]
pub struct Args {
    /// The directories of the nodes
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// The directory to make, which must not hold a run
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
}

/// Collects.
///
/// # Errors
/// There is nothing of a run, two directories have different files of one name, or a file cannot be copied.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut files: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for directory in &args.directories {
        for name in of_run(directory)? {
            let from = directory.join(&name);
            if let Some(other) = files.get(&name) {
                ensure!(
                    is_same(other, &from)?,
                    "{} and {} differ: are they of one run? Give the directories of one run only",
                    other.display(),
                    from.display()
                );
                continue;
            }
            files.insert(name, from);
        }
    }
    if files.is_empty() {
        bail!("{} holds nothing of a run", args.directories[0].display());
    }
    if of_run(&args.output).is_ok_and(|names| !names.is_empty()) {
        bail!("{} holds a run; choose another place with -o", args.output.display());
    }
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let progress = ProgressBar::new("collecting", files.values().map(size).sum::<u64>() as usize);
    for (name, from) in &files {
        let to = args.output.join(name);
        let copied = copy(from, &to);
        copied.with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        progress.advance(size(from));
    }
    drop(progress);
    to_stdout(|out| std::io::Write::write_all(out, summary(&args.output, &files).as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the copy and the directory that it is in.
fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let mut from = regular_file::open(from)?;
    to.parent().map_or(Ok(()), access::create_directories)?;
    io::copy(&mut from, &mut access::create(to)?)
}

/// The files of a run in a directory, by their paths in it.
fn of_run(directory: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let list = |path: &Path| -> anyhow::Result<Vec<(String, bool)>> {
        let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let of = |entry: fs::DirEntry| {
            Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?.is_dir()))
        };
        Ok(entries.flatten().filter_map(of).collect())
    };
    let mut names = BTreeSet::new();
    for (name, is_directory) in list(directory)? {
        match (&*name, is_directory) {
            ("traces", true) => {
                let of_trace = list(&directory.join(&name))?.into_iter();
                names.extend(of_trace.map(|(file, _)| Path::new("traces").join(file)));
            }
            (_, false) if is_of_run(&name) => {
                names.insert(name.into());
            }
            _ => {}
        }
    }
    Ok(names)
}

fn is_of_run(name: &str) -> bool {
    let of_rank = |prefix: &str, endings: &[&str]| {
        let rest = name.strip_prefix(prefix);
        let rank = rest.and_then(|rest| endings.iter().find_map(|ending| rest.strip_suffix(ending)));
        rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
    };
    name == "profile.json"
        || name == columns::FILE_NAME
        || name.starts_with("traces.")
        || of_rank("rank-", &[".mlog", ".table"])
        || of_rank("events-", &[".txt"])
}

/// Whether two files are one, or hold the same.
fn is_same(one: &Path, other: &Path) -> anyhow::Result<bool> {
    if fs::canonicalize(one)? == fs::canonicalize(other)? {
        return Ok(true);
    }
    Ok(fs::metadata(one)?.len() == fs::metadata(other)?.len()
        && regular_file::read(one)? == regular_file::read(other)?)
}

/// What is there now, and what is missing.
fn summary(output: &Path, files: &BTreeMap<PathBuf, PathBuf>) -> String {
    let path = output.display();
    let mut text = format!("{path}: {} files\n", files.len());
    if let Ok(run) = Run::open(output) {
        let there: BTreeSet<u32> = run.ranks.iter().map(|log| log.info.rank).collect();
        let world = otf2::world_size(&run);
        let missing = RankRanges::missing(there.iter().copied(), world);
        text += &format!("  event logs of {} of {world} ranks\n", there.len());
        if let Some((first, last)) = missing.ends() {
            text += &format!(
                "  {} have none here, from rank {first} to rank {last}: is a directory missing?\n",
                missing.len()
            );
        }
        if !output.join(otf2::FILE_NAME).exists() {
            text += &format!("  without a trace; `mel convert --otf2 {path}` makes it from the logs\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(directories: &[&Path], output: &Path) -> Args {
        Args {
            directories: directories.iter().map(|path| path.to_path_buf()).collect(),
            output: output.into(),
        }
    }

    #[test]
    fn what_lies_apart_is_joined_and_nothing_else_comes_along() {
        let room = tempfile::tempdir().unwrap();
        let [a, b, out] = ["a", "b", "out"].map(|name| room.path().join(name));
        for (directory, files) in [
            (&a, &["rank-0.mlog", "profile.json", "ranks.table", "traces.otf2", "traces/0.evt", "notes"][..]),
            (&b, &["rank-1.table", "events-1.txt", "traces/1.evt", "rank-x.mlog"]),
        ] {
            fs::create_dir_all(directory.join("traces")).unwrap();
            files.iter().for_each(|file| fs::write(directory.join(file), file).unwrap());
        }
        fs::write(b.join("profile.json"), "profile.json").unwrap();
        run(&args(&[&a, &b], &out)).unwrap();
        let found: Vec<String> =
            of_run(&out).unwrap().iter().map(|path| path.display().to_string()).collect();
        let expected = [
            "events-1.txt",
            "profile.json",
            "rank-0.mlog",
            "rank-1.table",
            "ranks.table",
            "traces/0.evt",
            "traces/1.evt",
            "traces.otf2",
        ];
        assert_eq!(found, expected);
        assert!(!out.join("notes").exists() && !out.join("rank-x.mlog").exists());
        assert_eq!(fs::read_to_string(out.join("traces/1.evt")).unwrap(), "traces/1.evt");
        let again = run(&args(&[&a, &b], &out)).unwrap_err().to_string();
        assert!(again.contains("holds a run"), "{again}");
    }

    #[test]
    fn two_runs_are_not_joined() {
        let room = tempfile::tempdir().unwrap();
        let [a, b, out] = ["a", "b", "out"].map(|name| room.path().join(name));
        for (directory, text) in [(&a, "one"), (&b, "two")] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("rank-0.mlog"), text).unwrap();
        }
        let error = run(&args(&[&a, &b], &out)).unwrap_err().to_string();
        assert!(error.contains("differ") && !out.exists(), "{error}");
        fs::create_dir(room.path().join("empty")).unwrap();
        let error = run(&args(&[&room.path().join("empty")], &out)).unwrap_err().to_string();
        assert!(error.contains("nothing of a run"), "{error}");
    }
}
