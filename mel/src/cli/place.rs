//! `mel place`: a better placement of the ranks of a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use mel_place::{Topology, files};
use mel_traffic::choice::Asked;

use super::of_run::{complain, missing};
use super::output::{to_stdout, write_text};
use crate::place::terminal::terminal;
use crate::place::{Found, Of, OnLinks, graph, json, trial};
use mel_run::profile as run_profile;
use mel_tune::candidates::Candidate;
use mel_tune::job::Jobs;
use mel_tune::measure::{Measure, Runner};
use mel_tune::{Plan, Stopped, Tuning, try_all};

/// Finds a placement of the ranks that sends less over the network and between sockets
///
/// From who has sent how much to whom (`mel run --profile matrix`) and the topology of the nodes it finds which rank
/// should be on which node and core. It compares the run's own placement, the orders of launchers, and two better
/// ones by Σ bytes x distance: an estimate. Where the best saves less than 5 %, it says to keep what there is. It
/// changes nothing itself: it writes files for launchers, and with --try starts a command without and with the best one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mpirun -n 64 mel run --profile matrix ./app
      a run that counts who sends how much to whom, in the directory mel-app-1
  mel place mel-app-1
      whether another placement is better, if all nodes are like this machine
  lstopo --of xml node.xml        (on a compute node)
  mel place mel-app-1 --topology node.xml
      the same, if all nodes are like that one
  mel place mel-app-1 --topology \"node:4 pack:2 core:16\"
      on four nodes with two sockets of 16 cores; also numa, l3, l2, pu
  mel place mel-app-1 --rankfile ranks && mpirun -n 64 --rankfile ranks ./app
      Open MPI
  mel place mel-app-1 --hostfile hosts && mpiexec -n 64 -f hosts ./app
      MPICH: which node, not which core
  mel place mel-app-1 --slurm hosts
  SLURM_HOSTFILE=hosts srun -n 64 --distribution=arbitrary ./app
      Slurm: which node, not which core
  mel place mel-app-1 --try -- mpirun -n 64 ./app
      measures the gain: pairs of runs without and with the placement, as `mel tune` does
  mel place mel-app-1 --phase solve
      from the bytes of one phase, that the program has named
  mel place mel-app-1 --fabric net.txt routes.txt
      only placements that make no link of the network hotter than the run's hottest (docs/network.md)
  mel place mel-app-1 --keys keys
      the new rank of each process, for MPI_Comm_split: examples/reorder")]
pub struct Args {
    /// The directory of a run that was measured with `--profile matrix`
    #[arg(value_name = "DIR", value_parser = super::of_run::directory)]
    pub directory: PathBuf,
    /// The nodes: `auto` (like this machine), a file of `lstopo --of xml`, or words such as "node:2 pack:2 core:4"
    #[arg(long, value_name = "auto|FILE.xml|WORDS", default_value = "auto")]
    pub topology: String,
    /// The network, as for `mel net`: looks for a placement that cools the hottest link, and advises none that makes it hotter
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub fabric: Vec<PathBuf>,
    /// Which hosts of the network are those of the run, where names do not fit: lines such as `c001 = node1`
    #[arg(long, value_name = "FILE", requires = "fabric")]
    pub map: Option<PathBuf>,
    /// Write Open MPI's rankfile (mpirun --rankfile FILE)
    #[arg(long, value_name = "FILE")]
    pub rankfile: Option<PathBuf>,
    /// Write MPICH's list of hosts (mpiexec -f FILE); a host in several lines counts as several nodes there
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<PathBuf>,
    /// Write a list with the host of each rank, for Slurm (SLURM_HOSTFILE=FILE srun --distribution=arbitrary) and Open MPI (mpirun
    /// --hostfile FILE --map-by seq)
    #[arg(long, value_name = "FILE")]
    pub slurm: Option<PathBuf>,
    /// Write the new rank of each process, a line each, as keys for MPI_Comm_split
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// What is to stay near: many bytes, or many messages
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub of: Of,
    /// Only these kinds of communication: p2p, put, get and collective, which add up, or one of internal, carried, carried-in
    #[arg(long, value_name = "LIST")]
    pub kind: Option<String>,
    /// Only on these communicators, by name; wildcards are * and ?
    #[arg(long, value_name = "LIST")]
    pub comm: Option<String>,
    /// Only in these phases, by name; (no phase) is what came before the first that has a name
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Measure what the placement gains, in paired runs of the command behind --
    #[arg(long = "try", requires = "command")]
    pub tries: bool,
    /// How long the runs may take, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = super::tune::budget, requires = "tries")]
    pub budget: Duration,
    /// Print all numbers as JSON
    #[arg(long)]
    pub json: bool,
    /// The command of the job, with its launcher, for --try
    #[arg(value_name = "COMMAND", last = true, requires = "tries")]
    pub command: Vec<OsString>,
}

/// For so many ranks of a run at least one must have left what it sends.
const MOST_FOR_A_KNOWN: usize = 16;

/// Compares placements, and writes the files that were asked for. The exit code is 3 where something of the run is missing.
///
/// # Errors
/// There is no profile, it does not say who sends what to whom, or has too few ranks; the topology cannot be read; a file cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    let cannot = || format!("cannot place the ranks of {}", directory.display());
    let profile = run_profile::read_with_traffic(directory).with_context(cannot)?;
    let asked = Asked {
        kinds: args.kind.as_deref(),
        communicators: args.comm.as_deref(),
        phases: args.phase.as_deref(),
    };
    let (known, all) = (profile.ranks.len(), profile.world_size as usize);
    ensure!(
        all / MOST_FOR_A_KNOWN <= known,
        "{}: {known} of {all} ranks have left what they send, which are too few for a placement: \
         `mel collect` brings the files of all nodes together",
        cannot()
    );
    let graph = graph(&profile, asked, args.of).with_context(cannot)?;
    let topology = Topology::of_argument(&args.topology).with_context(cannot)?;
    let mut found = Found::new(&profile, args.of, graph, &topology, &source(&args.topology, &topology));
    if !args.fabric.is_empty() {
        let (network, map) = mel_net::of_run::read(&args.fabric, args.map.as_deref(), &[&profile])?;
        let links =
            OnLinks::of(&profile, (&network, &map), asked, &found.graph, (&found.slots, &mut found.advice));
        found.score_on(links.with_context(cannot)?);
    }
    // What cannot be tried is told before anything is shown.
    let trial = (args.tries && found.is_worth_it()).then(|| tell_launcher(args, &found)).transpose()?;
    if !args.json {
        to_stdout(|out| out.write_all(terminal(&found, directory).as_bytes()))?;
    }
    let (slots, placement) = (&found.slots, found.placement());
    let write = |path: &Option<PathBuf>, text: &dyn Fn() -> String| match path {
        Some(path) => write_text(path, |out| std::io::Write::write_all(out, text().as_bytes())),
        None => Ok(()),
    };
    write(&args.rankfile, &|| files::rankfile(slots, placement))?;
    write(&args.hostfile, &|| files::mpich_hosts(slots, placement))?;
    write(&args.slurm, &|| files::slurm_hosts(slots, placement))?;
    write(&args.keys, &|| files::keys(slots.run(), placement))?;
    let tuning = trial.map(|candidate| tried(args, candidate)).transpose()?;
    if args.json {
        let mut all = json(&found);
        all["tried"] = tuning.as_ref().map_or(serde_json::Value::Null, mel_tune::json::json);
        let text = serde_json::to_string_pretty(&all)? + "\n";
        to_stdout(|out| out.write_all(text.as_bytes()))?;
    } else if let Some(tuning) = &tuning {
        to_stdout(|out| write!(out, "\n{}", mel_tune::text::text(tuning)))?;
    } else if args.tries {
        to_stdout(|out| {
            out.write_all(b"\nThere is nothing to try: no placement is better than the run's by enough.\n")
        })?;
    }
    match tuning.and_then(|tuning| tuning.stopped) {
        Some(Stopped::Interrupted) => Ok(ExitCode::from(super::tune::INTERRUPTED)),
        _ => Ok(complain(&missing(&profile))),
    }
}

/// Writes the file that tells the launcher of the placement into the run's directory, so that the command that is faster may be used afterwards.
fn tell_launcher(args: &Args, found: &Found<'_>) -> anyhow::Result<Candidate> {
    let directory = args.directory.canonicalize().context("cannot tell the launcher of the placement")?;
    let path = directory.join("placement");
    let told = trial::told(found, &path).context("cannot try the placement")?;
    write_text(&path, |out| std::io::Write::write_all(out, told.text.as_bytes()))?;
    Ok(trial::candidate(told))
}

/// Runs the command without and with the placement.
fn tried(args: &Args, candidate: Candidate) -> anyhow::Result<Tuning> {
    let begin = Instant::now();
    let jobs = Jobs::new()?;
    let runner = Runner::new(&jobs, &args.command, Measure::Job, None)?;
    let plan = Plan { command: &args.command, measure: Measure::Job, begin, budget: args.budget };
    try_all(&runner, &plan, vec![candidate])
}

/// Where the topology is from, in words.
fn source(argument: &str, topology: &Topology) -> String {
    let name = match argument {
        "auto" => "this machine".to_owned(),
        file if Path::new(file).exists() => file.to_owned(),
        words => format!("\"{words}\""),
    };
    match topology {
        Topology::Each(_) => format!("each host is taken to be like {name}").replace(" like \"", " \""),
        Topology::Nodes(_) => name,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use mel_log::profile::{Profile, RankProfile, Traffic, file};

    use super::*;
    use crate::cli::{Cli, Command};

    /// A ring in which each rank sends to the one three further, on two hosts.
    fn ring(ranks: u32, step: u32) -> Profile {
        let of = |rank| RankProfile {
            rank,
            host: if rank < ranks / 2 { "left" } else { "right" }.into(),
            traffic: vec![Traffic {
                peer: Some((rank + step) % ranks),
                messages: 1,
                bytes: 1000,
                ..Traffic::default()
            }],
            ..RankProfile::default()
        };
        Profile {
            world_size: ranks,
            command: vec!["./ring".into()],
            ranks: (0..ranks).map(of).collect(),
            ..Profile::default()
        }
    }

    fn args(words: &[&str]) -> Args {
        match Cli::try_parse_from(["mel", "place"].iter().chain(words)).unwrap().command {
            Command::Place(args) => args,
            _ => panic!(),
        }
    }

    fn found(profile: &Profile) -> Found<'_> {
        let topology = Topology::of_argument("pack:2 core:2").unwrap();
        Found::new(
            profile,
            Of::Bytes,
            graph(profile, Asked::default(), Of::Bytes).unwrap(),
            &topology,
            &source("pack:2 core:2", &topology),
        )
    }

    #[test]
    fn a_torn_ring_is_moved_and_a_whole_one_is_kept() {
        let torn = ring(8, 3);
        let found_torn = found(&torn);
        let text = terminal(&found_torn, Path::new("mel-ring-1"));
        assert!(text.contains("Move: the best placement") && text.contains("(estimated)"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("between nodes: 1.95 KiB instead of 5.86 KiB."), "{text}");
        assert!(text.contains("2 nodes with 2 sockets and 4 cores each"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let value = json(&found_torn);
        assert_eq!((&value["move"], &value["after"]["bytes_between_nodes"]), (&true.into(), &2000.into()));
        assert_eq!((value["bytes"].as_u64(), value["placement"].as_array().unwrap().len()), (Some(8000), 8));

        let whole = ring(8, 1);
        let text = terminal(&found(&whole), Path::new("mel-ring-1"));
        assert!(text.contains("Keep the placement: none was found that costs less."), "{text}");
        assert_eq!(found(&whole).map_by(), Some("core"));
    }

    #[test]
    fn a_placement_that_makes_the_hottest_link_hotter_is_not_advised() {
        let torn = ring(8, 3);
        let mut found_torn = found(&torn);
        assert!(found_torn.advice.is_worth_it());
        let mut peaks = vec![2.0; found_torn.advice.candidates.len()];
        peaks[0] = 1.0;
        found_torn.score_on(OnLinks { peaks, by_time: false });
        assert_eq!(found_torn.advice.best, 0);
        let text = terminal(&found_torn, Path::new("mel-ring-1"));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("Keep the placement") && words.contains("would make it hotter"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

        // On a network of one switch, the torn ring loads each host with four messages, the whole one with one.
        let text = "[[host]]\nname = \"left,right\"\n[[switch]]\nname = \"s\"\n[[link]]\nfrom = \"left,right\"\nto = \"s\"\n";
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.toml");
        std::fs::write(&path, text).unwrap();
        let (network, map) = mel_net::of_run::read(&[path], None, &[&torn]).unwrap();
        let mut found_torn = found(&torn);
        let links = OnLinks::of(
            &torn,
            (&network, &map),
            Asked::default(),
            &found_torn.graph,
            (&found_torn.slots, &mut found_torn.advice),
        )
        .unwrap();
        let best = found_torn.advice.best;
        assert_eq!((links.peaks[0], links.peaks[best], links.by_time), (3000.0, 1000.0, false));
        found_torn.score_on(links);
        assert!(found_torn.advice.is_worth_it() && found_torn.advice.best == best);
    }

    #[test]
    fn files_are_written_and_errors_name_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let run_place = |words: &[&str]| {
            let all: Vec<&str> = [&[directory.path().to_str().unwrap()], words].concat();
            run(&args(&all))
        };
        assert!(format!("{:#}", run_place(&[]).unwrap_err()).contains("`mel run`"));
        let write =
            |profile: &Profile| file::write(&directory.path().join(file::FILE_NAME), profile).unwrap();
        let mut silent = ring(2, 1);
        silent.ranks.iter_mut().for_each(|rank| rank.traffic.clear());
        write(&silent);
        assert!(format!("{:#}", run_place(&[]).unwrap_err()).contains("--profile matrix"));
        write(&ring(8, 3));
        let error = format!("{:#}", run_place(&["--topology", "pack=2"]).unwrap_err());
        assert!(error.contains("for example \"node:2"), "{error}");
        assert!(format!("{:#}", run_place(&["--topology", "no.xml"]).unwrap_err()).contains("lstopo"));
        let names = [path("ranks"), path("hosts"), path("slurm"), path("keys")];
        let options = [
            "--topology",
            "pack:2 core:2",
            "--rankfile",
            &names[0],
            "--hostfile",
            &names[1],
            "--slurm",
            &names[2],
        ];
        let code = run_place(&[&options[..], &["--keys", &names[3]]].concat()).unwrap();
        assert_eq!(code, ExitCode::SUCCESS);
        let lines = |name: &String| {
            std::fs::read_to_string(name).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(lines(&names[0]).iter().all(|line| line.starts_with("rank ") && line.contains(" slot=")));
        assert_eq!(lines(&names[2]).iter().filter(|host| *host == "left").count(), 4);
        let mut keys: Vec<u32> = lines(&names[3]).iter().map(|key| key.parse().unwrap()).collect();
        keys.sort_unstable();
        assert_eq!(keys, (0..8).collect::<Vec<_>>());
    }
}
