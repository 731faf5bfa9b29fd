//! Nobody takes a function's name apart but the table's generator: what a function is, `crates/mpi-functions` says. And nobody repeats
//! the name of a setting: `crates/mel-settings` has it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// How names are taken apart.
const APART: [&str; 16] = [
    "strip_suffix(\"_c\")",
    "trim_end_matches(\"_c\")",
    "ends_with(\"_c\")",
    "strip_suffix(\"_init\")",
    "trim_end_matches(\"_init\")",
    "ends_with(\"_init\")",
    "strip_prefix(\"MPI_",
    "trim_start_matches(\"MPI_",
    "starts_with(\"MPI_",
    "starts_with(\"Win_",
    "starts_with(\"File_",
    "strip_prefix(\"neighbor_\")",
    "strip_prefix('I')",
    "strip_prefix(\"I\")",
    "contains(\"recv\")",
    "contains(\"Recv\")",
];

/// Lines that look so, and what they are.
const OTHERS: [(&str, &str, &str); 2] = [
    ("crates/mel-preload/src/offers/variables.rs", "trim_start_matches(\"MPI_", "names of datatypes"),
    ("crates/mel-log/src/choice.rs", "starts_with(\"MPI_", "a message about a pattern"),
];

/// Fails where a name is taken apart in the sources below `root`. Tests of the whole system read what programs print, and may.
pub(crate) fn check(root: &Path) -> Result<()> {
    let (mut files, mut found, mut literal) = (Vec::new(), Vec::new(), Vec::new());
    collect(root, &mut files)?;
    let catalogue =
        fs::read_to_string(root.join(CATALOGUE)).with_context(|| format!("reading {CATALOGUE}"))?;
    let settings = settings(&catalogue);
    if settings.is_empty() {
        bail!("there are no settings in {CATALOGUE}");
    }
    for path in &files {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let text = fs::read_to_string(path).with_context(|| format!("reading {name}"))?;
        found.extend(lines(&name, &text));
        if name != CATALOGUE {
            literal.extend(literals(&name, &text, &settings));
        }
    }
    if files.is_empty() {
        bail!("there are no sources below {}", root.display());
    }
    if !found.is_empty() {
        bail!("names of functions are taken apart: ask crates/mpi-functions\n{}", found.join("\n"));
    }
    if !literal.is_empty() {
        bail!("settings have their names in {CATALOGUE} alone: take them from there\n{}", literal.join("\n"));
    }
    println!(
        "no name of a function is taken apart, and none of a setting repeated, in {} files",
        files.len()
    );
    Ok(())
}

/// The lines of a file that take a name apart.
fn lines(name: &str, text: &str) -> Vec<String> {
    let is_other = |way: &str| OTHERS.iter().any(|(file, other, _)| *file == name && *other == way);
    let takes_apart = |line: &str| APART.iter().any(|way| line.contains(way) && !is_other(way));
    let found = (1..).zip(text.lines()).filter(|(_, line)| takes_apart(line));
    found.map(|(number, line)| format!("{name}:{number}: {}", line.trim())).collect()
}

/// Where settings have their names.
const CATALOGUE: &str = "crates/mel-settings/src/catalogue.rs";

/// The variables of the catalogue, as they stand there, in quotation marks.
fn settings(catalogue: &str) -> Vec<String> {
    let names = catalogue.lines().filter_map(|line| line.trim().strip_prefix("name: ")?.strip_suffix(','));
    names.filter(|name| name.len() > 2).map(str::to_owned).collect()
}

/// The lines of a file, before its tests, that have the name of a setting.
fn literals(name: &str, text: &str, settings: &[String]) -> Vec<String> {
    let before_tests = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let found =
        (1..).zip(before_tests).filter(|(_, line)| settings.iter().any(|setting| line.contains(setting)));
    found.map(|(number, line)| format!("{name}:{number}: {}", line.trim())).collect()
}

/// All files in Rust in folders named `src`, but tests, and those of the table and of its generator.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    const NOT: [&str; 6] = ["target", "xtask", "mpi-functions", "tests", "fuzz", "fidelity"];
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let is_in_src = folder.components().any(|part| part.as_os_str() == "src");
        if entry.file_type()?.is_dir() {
            if (is_in_src || !NOT.contains(&&*name)) && !name.starts_with('.') {
                collect(&path, files)?;
            }
        } else if is_in_src && name.ends_with(".rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_apart_is_found() {
        let text = "let a = 1;\n    let plain = name.strip_suffix(\"_c\").unwrap_or(name);\n";
        let found = lines("mel-x/src/a.rs", text);
        assert_eq!(found, ["mel-x/src/a.rs:2: let plain = name.strip_suffix(\"_c\").unwrap_or(name);"]);
        let other = "variable.datatype.trim_start_matches(\"MPI_\")";
        assert_eq!(lines("crates/mel-preload/src/offers/variables.rs", other), [""; 0]);
        assert_eq!(lines("mel/src/cli/other.rs", other).len(), 1);
    }

    #[test]
    fn the_name_of_a_setting_is_found_before_the_tests_of_a_file() {
        let settings = settings("  name: \"\",\n        name: \"MEL_X\",\n");
        assert_eq!(settings, ["\"MEL_X\""]);
        let text = "let a = env(\"MEL_X\");\nlet b = \"MEL_XY\";\n#[cfg(test)]\nlet c = \"MEL_X\";\n";
        assert_eq!(literals("a.rs", text, &settings), ["a.rs:1: let a = env(\"MEL_X\");"]);
    }

    #[test]
    fn no_source_takes_one_apart() {
        check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()).unwrap();
    }
}
