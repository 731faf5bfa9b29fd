//! Every wrapper has as many parameters as the function in the header of each installed MPI, each
//! of the same width.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

use mel_tests::artifacts::absent;
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// Name, and the widths of the parameters with handles left open (`None`), of each wrapper.
///
/// A machine word is a handle, except that files are pointers in all families.
fn wrappers() -> BTreeMap<String, Vec<Option<usize>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated.rs");
    let text = fs::read_to_string(path).expect("the generated file");
    text.lines()
        .filter_map(|line| {
            let line =
                ["plain ", "start ", "variadic "].iter().find_map(|how| line.trim().strip_prefix(how))?;
            let (name, rest) = line.split_once(" = ")?;
            let parameters = rest.split_once('(')?.1.strip_suffix(");")?;
            let widths = parameters
                .split(", ")
                .filter(|parameter| !parameter.is_empty())
                .map(|parameter| match parameter.split_once(": ").expect("a type") {
                    ("fh" | "file", "usize") => "pointer",
                    (_, ty) => ty,
                })
                .map(|ty| match ty {
                    "c_int" => Some(4),
                    "usize" => None,
                    _ => Some(8),
                })
                .collect();
            Some((name.to_owned(), widths))
        })
        .collect()
}

#[test]
fn widths_are_those_of_mpi_h() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let wrappers = wrappers();
    assert!(wrappers.len() > 500, "the list of wrappers was not understood");
    for mpi in common::installed() {
        if !common::present(mpi.cxx) {
            absent(mpi.cxx, "scripts/install-deps installs it");
            continue;
        }
        let handle = if mpi.has_integer_handles() { 4 } else { 8 };
        let declared = declared(mpi, wrappers.keys());
        assert!(declared.len() > 300, "the header of {} was not understood", mpi.name);
        let list = directory.path().join("functions.h");
        fs::write(&list, declared.iter().map(|name| format!("SHOW({name})\n")).collect::<String>())
            .expect("a list of functions");
        let functions = format!("-DFUNCTIONS=\"{}\"", list.display());
        let flags = ["-std=c++17", "-Wno-deprecated-declarations", &functions];
        let program = mpi.compile(directory.path(), "widths.cc", &flags);
        let outcome = mpi.run(1, &program, &[]).succeeded();
        for line in outcome.stdout.lines() {
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default();
            let header: Vec<usize> = words.map(|word| word.parse().expect("a width")).collect();
            let ours: Vec<usize> = wrappers[name].iter().map(|width| width.unwrap_or(handle)).collect();
            assert_eq!(ours, header, "{name} of {}", mpi.name);
        }
        assert_eq!(outcome.stdout.lines().count(), declared.len());
    }
}

/// Those of `names` that the header declares as functions.
fn declared<'a>(mpi: common::Mpi, names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let preprocessed = Command::new(mpi.cc)
        .args(["-E", "-include", "mpi.h", "-x", "c", "/dev/null"])
        .output()
        .expect("the preprocessor");
    let text = String::from_utf8_lossy(&preprocessed.stdout).into_owned();
    names.filter(|name| text.contains(&format!("int {name}("))).collect()
}
