//! `mel manual`: man pages and completions for shells, made from the command line itself.
//!
//! `make install` calls it; whoever has the command alone can call it, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::{Generator, Shell};

use super::Cli;
use super::output::to_stdout;

/// Where man pages lie below a prefix.
const PAGES: &str = "share/man/man1";
/// Where each shell searches below a prefix for completions.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions"),
    (Shell::Zsh, "share/zsh/site-functions"),
    (Shell::Fish, "share/fish/vendor_completions.d"),
];

/// Writes man pages and shell completions
///
/// They go where `man` and the shells search for them below the prefix. `make install` has done this already.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel manual ~/.local
      ~/.local/share/man/man1/mel.1, mel-run.1 …, and completions for bash, zsh and fish
  mel manual --completions bash > mel.bash
      the completions for one shell, to standard output")]
pub struct Args {
    /// The prefix below which the files are written, such as /usr/local
    #[arg(required_unless_present = "completions")]
    prefix: Option<PathBuf>,
    /// Print the completions for this shell, and write nothing
    #[arg(long, value_name = "SHELL", conflicts_with = "prefix")]
    completions: Option<Shell>,
}

/// Writes the files, or prints the completions for one shell.
///
/// # Errors
/// Those of the file system and of standard output.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(shell) = args.completions {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "mel", &mut text);
        to_stdout(|out| out.write_all(&text))?;
    }
    if let Some(prefix) = &args.prefix {
        write_below(prefix)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes all files below a prefix.
fn write_below(prefix: &Path) -> anyhow::Result<()> {
    let folder = |name: &str| {
        let folder = prefix.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        anyhow::Ok(folder)
    };
    let pages = folder(PAGES)?;
    let mut command = Cli::command();
    command.build();
    write_page(&command, "mel", &pages)?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        // The page of `help` would repeat that of `mel`.
        if subcommand.get_name() != "help" {
            write_page(subcommand, &format!("mel-{}", subcommand.get_name()), &pages)?;
        }
    }
    for (shell, place) in COMPLETIONS {
        let path = folder(place)?.join(file_name(shell));
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "mel", &mut text);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The name under which a shell finds the completions. Bash loads files on demand by the command's name alone.
fn file_name(shell: Shell) -> String {
    if shell == Shell::Bash { "mel".into() } else { shell.file_name("mel") }
}

fn write_page(command: &Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(format!("{name}.1"));
    let page = clap_mangen::Man::new(command.clone().display_name(name.to_owned()))
        .title(name.to_uppercase())
        .section("1")
        .source(concat!("MEL ", env!("CARGO_PKG_VERSION")))
        .manual("MEL manual");
    let mut text = Vec::new();
    page.render(&mut text)?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_that_help_lists_has_a_page() {
        let directory = tempfile::tempdir().unwrap();
        write_below(directory.path()).unwrap();
        let page = |name: &str| fs::read_to_string(directory.path().join(PAGES).join(name)).unwrap();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let text = page(&format!("mel-{}.1", command.get_name()));
            assert!(text.contains(&format!(".TH MEL-{} 1", command.get_name().to_uppercase())), "{text}");
            assert!(text.contains("Examples:"), "{text}");
        }
        assert!(page("mel.1").contains(r"mel\-run(1)"), "{}", page("mel.1"));
        assert!(!directory.path().join(PAGES).join("mel-help.1").exists());
    }

    #[test]
    fn each_shell_knows_the_commands_and_options() {
        let directory = tempfile::tempdir().unwrap();
        write_below(directory.path()).unwrap();
        for (file, option) in [
            ("share/bash-completion/completions/mel", "--only-calls"),
            ("share/zsh/site-functions/_mel", "--only-calls"),
            ("share/fish/vendor_completions.d/mel.fish", "-l only-calls"),
        ] {
            let text = fs::read_to_string(directory.path().join(file)).unwrap();
            assert!(text.contains("analyze") && text.contains(option), "{file}");
        }
    }
}
