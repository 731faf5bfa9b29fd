//! Every wrapper for `mpi_f08` has the arguments of the subroutine in the module of each installed MPI,
//! by number and by name.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// Arguments that a module calls otherwise than the standard.
const RENAMED: [(&str, &str); 2] = [("indx", "index"), ("info", "info_used")];

/// The arguments of each wrapper, without `ierror`, by the name of the specific procedure.
fn wrappers() -> BTreeMap<String, Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fortran/generated.rs");
    let text = fs::read_to_string(path).expect("the generated file");
    let wrapper = |line: &str| {
        let (names, rest) = line.split_once('[')?.1.split_once(']')?;
        let name = names.split_once("F08 ")?.1.split(' ').next()?.strip_suffix('_')?;
        let arguments = rest.split_once("] (")?.1.split_once(") [")?.0;
        // Each is `name: Conversion` or `name: Conversion = count`.
        let arguments = arguments.split(", ").filter_map(|argument| argument.split_once(": "));
        Some((name.to_owned(), arguments.map(|(name, _)| name.trim_end_matches('_').to_owned()).collect()))
    };
    text.lines().filter_map(wrapper).collect()
}

/// The arguments of each procedure that the module has, as gfortran prints them.
fn declared(compiler: &str, directory: &Path) -> BTreeMap<String, Vec<String>> {
    let source = directory.join("all.f90");
    fs::write(&source, "use mpi_f08\nend\n").expect("a source");
    let output = Command::new(compiler)
        .args(["-fdump-parse-tree", "-fsyntax-only"])
        .arg(&source)
        .current_dir(directory)
        .output();
    let Ok(output) = output else { return BTreeMap::new() };
    let mut procedure = "";
    let mut found = BTreeMap::new();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("symtree: '") {
            procedure = name.split('\'').next().unwrap_or_default();
        } else if let Some(arguments) = line.strip_prefix("Formal arglist:") {
            let arguments = arguments.split_whitespace().map(str::to_owned).collect();
            found.insert(procedure.to_owned(), arguments);
        }
    }
    found
}

#[test]
fn fortran_arguments_are_those_of_the_modules() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let wrappers = wrappers();
    assert!(wrappers.len() > 300, "the list of wrappers was not understood");
    for mpi in common::installed() {
        let declared = declared(&mpi.cc.replacen("mpicc", "mpifort", 1), directory.path());
        let both: Vec<_> = wrappers
            .iter()
            .filter_map(|(name, ours)| declared.get(name).map(|theirs| (name, ours, theirs)))
            .collect();
        if both.is_empty() {
            eprintln!("skipped: {} has no module mpi_f08, or its compiler does not show it", mpi.name);
            continue;
        }
        assert!(both.len() > 200, "{} procedures of {}", both.len(), mpi.name);
        for (name, ours, theirs) in both {
            let same = |(theirs, ours): (&String, &String)| {
                theirs == ours || RENAMED.contains(&(theirs.as_str(), ours.as_str()))
            };
            assert_eq!(theirs.last().map(String::as_str), Some("ierror"), "{name} of {}", mpi.name);
            assert_eq!(theirs.len() - 1, ours.len(), "{name} of {}: {theirs:?}, {ours:?}", mpi.name);
            assert!(theirs.iter().zip(ours).all(same), "{name} of {}: {theirs:?}, {ours:?}", mpi.name);
        }
    }
}
