//! Makes a test of each hostile program, so that a new one is a file and nothing else.

use std::fmt::Write;
use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("hostile");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = std::fs::read_dir(&folder).expect("tests/hostile is there");
    let mut names: Vec<String> = files
        .map(|file| file.expect("tests/hostile can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    let mut tests = String::new();
    for name in names {
        let _ = writeln!(tests, "#[test]\nfn {name}() {{\n    is_not_hurt(\"{name}\");\n}}\n");
    }
    let place = std::env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    std::fs::write(Path::new(&place).join("hostile.rs"), tests).expect("OUT_DIR can be written");
}
