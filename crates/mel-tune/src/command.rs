//! The command of a job: where in it the program stands, and how it is written in a shell.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;

/// The place of the program among the words of a launcher's command: before it `mel run` can be put. None where no word is a program.
///
/// The first word with a slash that can be run is taken; else the first that is found in `PATH` and does not stand behind an option; else
/// the first that is found there.
pub fn program(command: &[OsString]) -> Option<usize> {
    let words = || command.iter().enumerate().skip(1);
    let is_option = |word: &OsStr| word.as_encoded_bytes().starts_with(b"-");
    let with_slash =
        words().find(|(_, word)| word.as_encoded_bytes().contains(&b'/') && can_run(Path::new(word)));
    let named = |(_, word): &(usize, &OsString)| {
        !word.as_encoded_bytes().contains(&b'/') && !is_option(word) && in_path(word)
    };
    let after_a_value =
        words().filter(|(place, _)| *place < 2 || !is_option(&command[place - 1])).find(named);
    let found = match (with_slash, after_a_value) {
        // A command such as env or a wrapper stands before the program.
        (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
        (a, b) => a.or(b),
    };
    found.or_else(|| words().find(named)).map(|(place, _)| place)
}

fn can_run(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn in_path(name: &OsStr) -> bool {
    !name.is_empty()
        && env::var_os("PATH")
            .is_some_and(|path| env::split_paths(&path).any(|folder| can_run(&folder.join(name))))
}

/// The command with `mel run` before the program, counting what `profile` says, into this directory. None where no word is a program.
///
/// # Errors
/// This command's own file cannot be found.
pub fn under_mel(
    command: &[OsString],
    profile: &str,
    directory: &Path,
) -> anyhow::Result<Option<Vec<OsString>>> {
    let Some(place) = program(command) else { return Ok(None) };
    let mel = env::current_exe().context("cannot find this command itself")?;
    let words = [
        mel.as_os_str(),
        "run".as_ref(),
        "--profile".as_ref(),
        profile.as_ref(),
        "-o".as_ref(),
        directory.as_os_str(),
    ];
    let (launcher, program) = command.split_at(place);
    let between = words.into_iter().chain(["--".as_ref()]).map(OsStr::to_owned);
    Ok(Some(launcher.iter().cloned().chain(between).chain(program.iter().cloned()).collect()))
}

/// A command with its environment variables as one types it.
pub fn typed(environment: &[(String, String)], command: &[OsString]) -> String {
    let set = environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let words = command.iter().map(|word| quoted(&word.to_string_lossy()));
    set.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_program_is_found_behind_the_options_of_launchers() {
        for (line, found) in [
            ("mpirun -n 4 /bin/sh in.txt", Some("/bin/sh")),
            ("mpirun --oversubscribe --bind-to none -n 4 /bin/sh", Some("/bin/sh")),
            ("srun -n 4 sh -c /bin/true", Some("sh")),
            ("mpirun -n 4 env A=1 /bin/sh", Some("env")),
            ("mpirun --quiet sh", Some("sh")),
            ("mpirun -x PATH --map-by sh -n 4 /bin/true", Some("/bin/true")),
            ("mpirun -n 4 ./no-such-program", None),
            ("mpirun", None),
        ] {
            let command = words(line);
            let place = program(&command).map(|place| command[place].to_str().unwrap());
            assert_eq!(place, found, "{line}");
        }
    }

    #[test]
    fn a_command_is_written_as_a_shell_reads_it() {
        let set = [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "a b".to_owned())];
        assert_eq!(typed(&set, &words("mpirun -n 4 ./a it's")), r"A=1 B='a b' mpirun -n 4 ./a 'it'\''s'");
    }
}
