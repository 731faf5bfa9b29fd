//! `mel net`: what the links of the network carried.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use mel_traffic::choice::Asked;

use super::of_run::{complain, missing};
use super::output::{to_stdout, write_file, write_text};
use crate::net::beside;
use crate::net::terminal::terminal;
use mel_net::of_run::{Found, read};
use mel_page::view::network::{network, network_of_two};
use mel_page::view::{Window, view};
use mel_page::{html, png};
use mel_run::profile as run_profile;

/// Shows which links of the network a run has loaded, and by how much
///
/// From who has sent how much to whom (`mel run --profile matrix`), the hosts of the ranks, and a description of the network: switches,
/// links, and routes. Bytes are observed, below the calls where that was measured (`mel run --profile matrix,net`), else by the calls. What
/// links carry is modelled: the bytes follow the forwarding tables, or shortest ways where there are none. Each end of a link has what the
/// node at that end sends into it. docs/network.md says what the files look like.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mpirun -n 64 mel run --profile matrix ./app
      a run that counts who sends how much to whom, in the directory mel-app-1
  mel net mel-app-1
      what each host sends and receives: a network of one switch is assumed
  mel net mel-app-1 --fabric /etc/slurm/topology.conf
      the switches that Slurm knows
  ibnetdiscover > net.txt; dump_fts > routes.txt        (as root, on a node with InfiniBand)
  mel net mel-app-1 --fabric net.txt routes.txt
      an InfiniBand subnet with its routes
  mel net mel-app-1 --fabric ibdiagnet2.db_csv ibdiagnet2.fdbs
      the same from ibdiagnet
  mel net mel-app-1 --fabric a.txt a.fts b.txt b.fts
      two subnets: each is a plane
  mel net mel-app-1 --fabric network.toml --map hosts
      a network described by hand; the file hosts has lines such as c001 = node1
  mel net mel-app-1 --fabric net.txt routes.txt --csv > links.csv
      each end of each link, by phase
  mel net mel-app-1 --fabric net.txt routes.txt --html app.html
      the page of the run with the network: hover, filters, phases
  mel net mel-app-1 --beside mel-app-2 --fabric net.txt routes.txt
      two runs beside each other: which links carry more, and which less")]
pub struct Args {
    /// The directory of a run that was measured with `--profile matrix`
    #[arg(value_name = "DIR", value_parser = super::of_run::directory)]
    pub directory: PathBuf,
    /// The network: output of ibnetdiscover and dump_fts, of ibdiagnet or opensm, Slurm's topology.conf, or FILE.toml; several files together
    ///
    /// Without it, each host is taken to have one cable to one switch.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub fabric: Vec<PathBuf>,
    /// A second run, measured likewise, on the same network: shows both beside each other, and what has changed
    #[arg(long, value_name = "DIR", conflicts_with = "boxfish")]
    pub beside: Option<PathBuf>,
    /// Which hosts the ranks are on, where names do not fit: lines such as `c001 = node1` or `0-3: node1`
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Only these kinds of communication: p2p, put, get and collective, which add up, or one of internal, carried, carried-in
    #[arg(long, value_name = "LIST")]
    pub kind: Option<String>,
    /// Only on these communicators, by name; wildcards are * and ?
    #[arg(long, value_name = "LIST")]
    pub comm: Option<String>,
    /// Only in these phases, by name; (no phase) is what came before the first that has a name
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Print the bytes at each end of each link, by phase, as comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Write the page of the run, with the network, for a browser
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    pub html: Option<PathBuf>,
    /// Draw the network into this file
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    pub png: Option<PathBuf>,
    /// Write the tables of Boxfish into a directory: meta.yaml, nodes.yaml, links.yaml, ranks.yaml
    #[arg(long, value_name = "DIR", conflicts_with = "csv")]
    pub boxfish: Option<PathBuf>,
}

/// Prints what was asked for. The exit code is 3 where something of the run is missing.
///
/// # Errors
/// There is no profile, or it does not say who sends what to whom; the network cannot be read, or has other hosts than the run.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    let cannot = || format!("cannot show the network of {}", directory.display());
    let profile = run_profile::read_with_traffic(directory).with_context(cannot)?;
    let asked = Asked {
        kinds: args.kind.as_deref(),
        communicators: args.comm.as_deref(),
        phases: args.phase.as_deref(),
    };
    if let Some(second) = &args.beside {
        let other = || format!("cannot show the network of {}", second.display());
        let beside = run_profile::read_with_traffic(second).with_context(other)?;
        // The same network for both: their links are compared by their places in it.
        let (fabric, map) = read(&args.fabric, args.map.as_deref(), &[&profile, &beside])?;
        let found = Found::new(&profile, fabric.clone(), &map, asked).with_context(cannot)?;
        let beside = Found::new(&beside, fabric, &map, asked).with_context(other)?;
        return beside_each_other(args, [&found, &beside], [directory, second]);
    }
    let (fabric, map) = read(&args.fabric, args.map.as_deref(), &[&profile])?;
    let found = Found::new(&profile, fabric, &map, asked).with_context(cannot)?;
    if let Some(into) = &args.boxfish {
        std::fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
        for (name, text) in mel_net::boxfish::tables(&found.network.fabric, &found.placed.host, &found.load) {
            write_text(&into.join(name), |out| std::io::Write::write_all(out, text.as_bytes()))?;
        }
    }
    if let Some(path) = &args.png {
        png::network(path, &network(&found))?;
    }
    if let Some(path) = &args.html {
        let mut page = view(Some(&profile), None, Window::default(), &|_| {});
        page.network = Some(network(&found));
        write_file(path, |out| html::write(out, &page))?;
    }
    if args.csv {
        to_stdout(|out| mel_net::write::csv(out, &found.network.fabric, &found.load, &profile.phases))?;
    } else if args.html.is_none() && args.boxfish.is_none() && args.png.is_none() {
        let text = terminal(&found, directory);
        to_stdout(|out| out.write_all(text.as_bytes()))?;
    }
    Ok(complain(&missing(&profile)))
}

/// Two runs: their page has the first one, and both in the network.
fn beside_each_other(
    args: &Args,
    found: [&Found<'_>; 2],
    directories: [&PathBuf; 2],
) -> anyhow::Result<ExitCode> {
    let names = directories.map(|directory| directory.display().to_string());
    let shown = || network_of_two(found, names.clone());
    if let Some(path) = &args.png {
        png::network(path, &shown())?;
    }
    if let Some(path) = &args.html {
        let mut page = view(Some(found[0].profile), None, Window::default(), &|_| {});
        page.network = Some(shown());
        write_file(path, |out| html::write(out, &page))?;
    }
    if args.csv {
        to_stdout(|out| beside::csv(out, found))?;
    } else if args.html.is_none() && args.png.is_none() {
        let text = beside::terminal([(directories[0], found[0]), (directories[1], found[1])]);
        to_stdout(|out| out.write_all(text.as_bytes()))?;
    }
    let of = |found: &Found<'_>, name: &str| -> Vec<String> {
        missing(found.profile).into_iter().map(|sentence| format!("{name}: {sentence}")).collect()
    };
    Ok(complain(&[of(found[0], &names[0]), of(found[1], &names[1])].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use mel_log::profile::{Profile, file, sample};
    use std::path::Path;

    fn net(run: &Path, options: &str) -> anyhow::Result<()> {
        let line = format!("mel net {} {options}", run.display());
        let cli = Cli::try_parse_from(line.split_whitespace()).map_err(|error| anyhow::anyhow!("{error}"))?;
        let Command::Net(args) = cli.command else { panic!("another command") };
        super::run(&args).map(|_| ())
    }

    const TREE: &str = "[[host]]\nname = \"n[1-4]\"\n[[switch]]\nname = \"leaf[1-2],spine\"\n[[link]]\nfrom = \"n[1-2]\"\nto = \"leaf1\"\ncapacity = \"10 Gbit/s\"\n[[link]]\nfrom = \"n[3-4]\"\nto = \"leaf2\"\ncapacity = \"10 Gbit/s\"\n[[link]]\nfrom = \"leaf[1-2]\"\nto = \"spine\"\ncapacity = \"10 Gbit/s\"\n";

    fn on_four_hosts() -> Profile {
        let mut profile = sample::traffic(8);
        profile.ranks.iter_mut().for_each(|rank| rank.host = format!("n{}.cluster", rank.rank / 2 + 1));
        profile
    }

    #[test]
    fn the_text_has_ends_levels_and_crossings_in_100_columns() {
        let profile = on_four_hosts();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tree.toml");
        std::fs::write(&path, TREE).unwrap();
        let (network, map) = read(&[path], None, &[&profile]).unwrap();
        let asked = Asked { kinds: Some("p2p"), ..Asked::default() };
        let found = Found::new(&profile, network, &map, asked).unwrap();
        let text = terminal(&found, Path::new("mel-app-1"));
        for wanted in [
            "network: 4 hosts, 3 switches in 2 levels, 6 links",
            "hottest ends of links",
            "at least",
            "host to level 1",
            "up to level 2",
            "modelled",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn what_does_not_fit_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path();
        let at = |name: &str| run.join(name).display().to_string();
        file::write(&run.join(file::FILE_NAME), &on_four_hosts()).unwrap();
        std::fs::write(run.join("tree.toml"), TREE).unwrap();
        let tree = at("tree.toml");
        net(run, &format!("--fabric {tree}")).unwrap();
        net(run, &format!("--fabric {tree} --csv --phase solve")).unwrap();
        net(run, &format!("--fabric {tree} --boxfish {}", at("boxfish"))).unwrap();
        assert!(run.join("boxfish/meta.yaml").exists());
        let beside = format!("--beside {} --fabric {tree}", run.display());
        net(run, &beside).unwrap();
        net(run, &format!("{beside} --csv")).unwrap();
        net(run, &format!("{beside} --png {} --html {}", at("two.png"), at("two.html"))).unwrap();
        assert!(std::fs::read_to_string(run.join("two.html")).unwrap().contains("\"second\":{\"names\":["));
        assert!(
            format!("{:#}", net(run, &format!("--beside {} --fabric {tree}", at("none"))).unwrap_err())
                .contains("none")
        );
        net(run, &format!("--fabric {tree} --png {}", at("network.png"))).unwrap();
        assert!(std::fs::metadata(run.join("network.png")).unwrap().len() > 1000);
        net(run, &format!("--fabric {tree} --html {}", at("page.html"))).unwrap();
        assert!(std::fs::read_to_string(run.join("page.html")).unwrap().contains("\"network\":{\"nodes\":["));
        let error = |options: &str| format!("{:#}", net(run, options).unwrap_err());
        net(run, "").unwrap();
        // Beside a run on fewer hosts, of which the first is another one.
        let mut fewer = sample::traffic(8);
        fewer.ranks.iter_mut().for_each(|rank| rank.host = format!("n{}.cluster", 5 - rank.rank / 4));
        let second = tempfile::tempdir().unwrap();
        file::write(&second.path().join(file::FILE_NAME), &fewer).unwrap();
        for (a, b) in [(run, second.path()), (second.path(), run)] {
            net(a, &format!("--beside {}", b.display())).unwrap();
            net(a, &format!("--beside {} --html {}", b.display(), at("beside.html"))).unwrap();
        }
        assert!(error(&format!("--fabric {}", at("none"))).contains("cannot read"));
        std::fs::write(run.join("text"), "nothing\n").unwrap();
        assert!(error(&format!("--fabric {}", at("text"))).contains("ibnetdiscover"));
        std::fs::write(run.join("other.toml"), TREE.replace("n[", "m[")).unwrap();
        assert!(error(&format!("--fabric {}", at("other.toml"))).contains("--map FILE"));
        std::fs::write(run.join("map"), "0-7: m1\n").unwrap();
        net(run, &format!("--fabric {} --map {}", at("other.toml"), at("map"))).unwrap();
        std::fs::write(run.join("map"), "word\n").unwrap();
        assert!(error(&format!("--fabric {tree} --map {}", at("map"))).contains("map, line 1"));
        file::write(&run.join(file::FILE_NAME), &sample::healthy(4)).unwrap();
        assert!(
            error(&format!("--fabric {tree}")).contains("mel run --profile matrix")
                || error(&format!("--fabric {tree}")).contains("--map")
        );
    }
}
