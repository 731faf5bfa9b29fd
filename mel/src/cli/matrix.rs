//! `mel report --matrix`: who sends what to whom, as tables, files and a picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use mel_analyze::sent;
use mel_convert::Run;
use mel_convert::run::RunError;

use super::of_run::{code, complain, missing};
use super::output::{to_stdout, write_text};
use crate::progress_bar::ProgressBar;
use crate::tables;
use mel_log::profile::Profile;
use mel_log::profile::text::header::header;
use mel_log::profile::text::layout::wrapped;
use mel_page::png;
use mel_run::profile as run_profile;
use mel_traffic::choice::Asked;
use mel_traffic::write::{csv, plain, prof};
use mel_traffic::{Choice, Hosts, Matrix, Of, Rows, functions, sizes};

/// What is between whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Ranks in `MPI_COMM_WORLD`.
    #[default]
    Rank,
    /// Hosts.
    Host,
    /// MPI functions: collective operations, and what was under way as the library moved data.
    Function,
    /// Regions of the program, as it names them.
    Region,
    /// Calls that send messages, with their lines: of a traced run.
    Site,
    /// Sizes of messages, in powers of two.
    Size,
}

/// Which number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Number {
    /// How many messages.
    Messages,
    /// Their bytes.
    #[default]
    Bytes,
    /// Bytes of a message.
    Mean,
}

/// The options of `--matrix`.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Communication matrix")]
pub struct Args {
    /// Print who sends what to whom, where it was counted (`mel run --profile matrix`); also with --csv, and with --png FILE for a picture
    #[arg(long, conflicts_with_all = ["json", "lines", "estimated", "html", "from", "to"])]
    pub matrix: bool,
    /// Only these kinds: p2p, put, get and collective, which add up, or one of internal, carried, carried-in
    #[arg(long, value_name = "LIST", requires = "matrix")]
    pub kind: Option<String>,
    /// Only these communicators, by name; wildcards are * and ?
    #[arg(long, value_name = "LIST", requires = "matrix")]
    pub comm: Option<String>,
    /// Between ranks, between hosts, by MPI function, by region of the program, by call site (of a traced run), or how many messages have which
    /// size
    #[arg(
        long,
        value_name = "WHAT",
        requires = "matrix",
        default_value = "rank",
        hide_possible_values = false
    )]
    pub by: By,
    /// Which number
    #[arg(long, value_name = "NUMBER", requires = "matrix", default_value = "bytes")]
    pub of: Number,
    /// Write a square of numbers, separated by blanks: a line for each sender
    #[arg(long, value_name = "FILE", requires = "matrix")]
    pub mat: Option<PathBuf>,
    /// Write a sparse matrix in the format Matrix Market
    #[arg(long, value_name = "FILE", requires = "matrix")]
    pub matrix_market: Option<PathBuf>,
    /// Write the files of Open MPI's monitoring, NAME.RANK.prof, into a directory
    #[arg(long, value_name = "DIR", requires = "matrix")]
    pub prof: Option<PathBuf>,
}

/// Prints and writes what was asked for.
///
/// # Errors
/// The directory holds no profile with traffic, nothing of such a name is there, or a file cannot be written.
pub fn run(
    directory: &Path,
    args: &Args,
    phase: Option<&str>,
    (as_csv, picture): (bool, Option<&Path>),
) -> anyhow::Result<ExitCode> {
    let profile = match args.by {
        By::Site => by_site(directory)?,
        _ => run_profile::read_with_traffic(directory)?,
    };
    let rows = Rows::of(&profile);
    let asked = Asked { kinds: args.kind.as_deref(), communicators: args.comm.as_deref(), phases: phase };
    if as_csv {
        let apart = Choice::apart(&rows, asked)?;
        to_stdout(|out| match args.by {
            By::Function => functions::csv(out, &rows, &apart, functions::By::Function),
            By::Region => functions::csv(out, &rows, &apart, functions::By::Region),
            By::Site => functions::csv(out, &rows, &apart, functions::By::Site),
            By::Size => sizes::csv(out, &rows, &apart),
            By::Rank | By::Host => csv::csv(out, &rows, &apart),
        })?;
    }
    let mut files = Vec::new();
    if let Some(into) = &args.prof {
        write_prof((into, phase), &profile, &rows, &Choice::apart(&rows, asked)?, &mut files)?;
    }
    if as_csv && args.mat.is_none() && args.matrix_market.is_none() && picture.is_none() {
        return Ok(complain(&missing(&profile)));
    }
    let choice = Choice::of(&rows, asked)?;
    let matrix = Matrix::of(&rows, &choice);
    let hosts = Hosts::of(&profile, rows.size());
    let of = match args.of {
        Number::Messages => Of::Messages,
        Number::Bytes => Of::Bytes,
        Number::Mean => Of::Mean,
    };
    let grouped = (args.by == By::Host).then(|| matrix.grouped(&hosts.of_rank, hosts.len()));
    let shown = grouped.as_ref().unwrap_or(&matrix);
    if let Some(path) = &args.mat {
        write_text(path, |out| plain::square(out, shown, of))?;
        files.push(path.clone());
    }
    if let Some(path) = &args.matrix_market {
        let comments = comments(&profile, args, phase, (&choice, &hosts));
        write_text(path, |out| plain::matrix_market(out, shown, of, &comments))?;
        files.push(path.clone());
    }
    if let Some(path) = picture {
        png::traffic(
            path,
            &png::Traffic {
                matrix: shown,
                hosts: &hosts,
                by_host: args.by == By::Host,
                of,
                kinds: &choice.kinds,
            },
        )?;
        files.push(path.to_owned());
    }
    if !files.is_empty() {
        if !as_csv {
            to_stdout(|out| files.iter().try_for_each(|file| writeln!(out, "{}", file.display())))?;
        }
        return Ok(complain(&missing(&profile)));
    }
    let mut text = header(&profile, Some(directory), "");
    let by_host = args.by == By::Host;
    let named = match args.by {
        By::Function => Some(functions::By::Function),
        By::Region => Some(functions::By::Region),
        By::Site => Some(functions::By::Site),
        By::Rank | By::Host | By::Size => None,
    };
    text += &tables::matrix::matrix(&tables::matrix::Shown {
        matrix: &matrix,
        hosts: &hosts,
        by_host,
        of,
        kinds: &choice.kinds,
        named: named.map(|by| (by, functions::by_name(&rows, &choice, by))),
        sizes: (args.by == By::Size).then(|| sizes::by_size(&rows, &choice)),
    });
    for sentence in missing(&profile) {
        text += &wrapped("- ", &sentence);
    }
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(code(profile.is_whole()))
}

/// The messages of a trace by call site.
fn by_site(directory: &Path) -> anyhow::Result<Profile> {
    let path = directory.display();
    let mut run = match Run::open(directory) {
        Err(RunError::Empty(_)) => {
            bail!("{path} holds no trace: which line sends what is known with `mel run --trace`")
        }
        run => run?,
    };
    let profile = run_profile::read(directory).unwrap_or_default();
    run.name_communicators(&profile.communicators);
    let progress = ProgressBar::new("reading the trace", run.records_at_most());
    let mut profile = sent::by_site(&run, profile, &|records| progress.advance(records));
    profile.incomplete.extend(run.incomplete());
    Ok(profile)
}

/// What a file of numbers is about, for its head.
fn comments(
    profile: &Profile,
    args: &Args,
    phase: Option<&str>,
    (choice, hosts): (&Choice, &Hosts),
) -> Vec<String> {
    let kinds: Vec<&str> = choice.kinds.iter().map(|kind| kind.name()).collect();
    let number = match args.of {
        Number::Messages => "messages",
        Number::Bytes => "bytes",
        Number::Mean => "bytes of a message",
    };
    let mut comments = vec![
        profile.command.join(" "),
        format!("{number}, kinds: {}; rows are senders, columns receivers", kinds.join(", ")),
    ];
    comments.extend(args.comm.as_ref().map(|comm| format!("communicators: {comm}")));
    comments.extend(phase.map(|phase| format!("phase: {phase}")));
    if args.by == By::Host {
        comments.push(format!("hosts: {}", hosts.names.join(", ")));
    }
    comments
}

/// The file of each rank, named after the program, and after the phases that were asked for.
fn write_prof(
    (directory, phase): (&Path, Option<&str>),
    profile: &Profile,
    rows: &Rows<'_>,
    choice: &Choice,
    files: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let program = profile.command.first().map_or("", String::as_str);
    let name = program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("mel");
    let of_all = prof::Prof::of(rows, choice);
    let of_file_not = |letter: char| !letter.is_alphanumeric() && !"-.".contains(letter);
    let phase = phase.map_or_else(String::new, |phase| "_".to_owned() + &phase.replace(of_file_not, "_"));
    for rank in &profile.ranks {
        let path = directory.join(prof::Prof::file_name(&format!("{name}{phase}"), rank.rank));
        write_text(&path, |out| of_all.write(out, rank.rank))?;
        files.push(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use mel_log::profile::{file, sample};

    fn report(directory: &Path, options: &str) -> anyhow::Result<()> {
        let line = format!("mel report {} --matrix {options}", directory.display());
        let cli = Cli::try_parse_from(line.split_whitespace()).map_err(|error| anyhow::anyhow!("{error}"))?;
        let Command::Report(args) = cli.command else { panic!("another command") };
        crate::cli::report::run(&args).map(|_| ())
    }

    #[test]
    fn each_output_is_a_file_that_has_the_matrix() {
        let run = tempfile::tempdir().unwrap();
        let path = |name: &str| run.path().join(name);
        file::write(&path(file::FILE_NAME), &sample::traffic(8)).unwrap();
        let options = format!(
            "--kind p2p --of messages --mat {} --matrix-market {} --prof {} --png {}",
            path("a.mat").display(),
            path("a.mtx").display(),
            path("prof").display(),
            path("a.png").display()
        );
        report(run.path(), &options).unwrap();
        let square = fs::read_to_string(path("a.mat")).unwrap();
        let numbers =
            |text: &str| text.split_whitespace().map(|word| word.parse().unwrap()).collect::<Vec<u64>>();
        let dense = numbers(&square);
        assert_eq!((square.lines().count(), dense.len()), (8, 64));
        let sparse = fs::read_to_string(path("a.mtx")).unwrap();
        let entries: Vec<Vec<u64>> =
            sparse.lines().filter(|line| !line.starts_with('%')).map(numbers).collect();
        assert_eq!(entries[0][..2], [8, 8]);
        for entry in &entries[1..] {
            assert_eq!(dense[((entry[0] - 1) * 8 + entry[1] - 1) as usize], entry[2]);
        }
        assert_eq!(entries[1..].iter().map(|entry| entry[2]).sum::<u64>(), dense.iter().sum::<u64>());
        let prof = fs::read_to_string(path("prof/halo.3.prof")).unwrap();
        let sent: u64 = prof
            .lines()
            .filter(|line| line.starts_with("E\t3\t"))
            .map(|line| numbers(line.split('\t').nth(4).unwrap().trim_end_matches(" msgs sent"))[0])
            .sum();
        assert_eq!(sent, dense[24..32].iter().sum::<u64>());
        assert!(fs::metadata(path("a.png")).unwrap().len() > 1000);
        // By host, two of four ranks each.
        report(run.path(), &format!("--by host --mat {}", path("h.mat").display())).unwrap();
        assert_eq!(fs::read_to_string(path("h.mat")).unwrap().lines().count(), 2);
    }

    #[test]
    fn what_is_not_there_says_what_is() {
        let run = tempfile::tempdir().unwrap();
        file::write(&run.path().join(file::FILE_NAME), &sample::traffic(4)).unwrap();
        let error = |options| report(run.path(), options).unwrap_err().to_string();
        assert!(error("--kind all").contains("p2p, put, get, collective"), "{}", error("--kind all"));
        assert!(error("--comm world").contains("MPI_COMM_WORLD, halo"));
        assert!(error("--phase x").contains("solve"));
        assert!(error("--kind p2p,carried").contains("not to be added up"));
        assert!(report(run.path(), "--json").is_err() && report(run.path(), "--csv").is_ok());
        file::write(&run.path().join(file::FILE_NAME), &sample::healthy(4)).unwrap();
        assert!(error("").contains("mel run --profile matrix"));
    }
}
