//! Can a preloaded library reach a program? Told from the program's ELF header.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What a program file is, as far as preloading is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// It asks for the dynamic linker: preloading works.
    Dynamic,
    /// It has no interpreter: preloading does nothing.
    Static,
    /// It is of another word size than this tool: preloading fails.
    OtherWordSize,
    /// It is no ELF file, for example a script.
    Other,
}

/// Looks into a program file.
///
/// # Errors
/// Those of the file system.
pub fn look(path: &Path) -> io::Result<Program> {
    // The program headers follow the file header in every linker's output.
    let mut start = Vec::new();
    File::open(path)?.take(1 << 16).read_to_end(&mut start)?;
    Ok(classify(&start))
}

fn classify(bytes: &[u8]) -> Program {
    const INTERPRETER: u32 = 3;
    if !bytes.starts_with(b"\x7fELF") || bytes.len() < 64 {
        return Program::Other;
    }
    if bytes[4] != if cfg!(target_pointer_width = "64") { 2 } else { 1 } {
        return Program::OtherWordSize;
    }
    if bytes[4] != 2 {
        return Program::Dynamic; // 32-bit tools: not looked into
    }
    let number = |at: usize, width: usize| {
        let bytes = bytes.get(at..at.checked_add(width)?)?;
        let bytes = bytes.iter();
        let digits: Vec<u8> = if cfg!(target_endian = "little") {
            bytes.rev().copied().collect()
        } else {
            bytes.copied().collect()
        };
        Some(digits.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let (Some(table), Some(size), Some(count)) = (table, size, count) else { return Program::Other };
    let kinds = (0..count).map(|i| {
        let at = table.checked_add(i * size)?;
        number(usize::try_from(at).ok()?, 4)
    });
    let mut kinds = kinds.peekable();
    let seen_all = kinds.peek().is_some_and(Option::is_some);
    match kinds.any(|kind| kind == Some(u64::from(INTERPRETER))) {
        true => Program::Dynamic,
        false if seen_all => Program::Static,
        false => Program::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_linked_dynamically() {
        assert_eq!(look(&std::env::current_exe().unwrap()).unwrap(), Program::Dynamic);
    }

    #[test]
    fn a_statically_linked_program_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let (source, program) = (directory.path().join("a.c"), directory.path().join("a"));
        std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let status =
            std::process::Command::new("cc").arg("-static").args([&source]).arg("-o").arg(&program).status();
        assert!(status.unwrap().success());
        assert_eq!(look(&program).unwrap(), Program::Static);
    }

    #[test]
    fn scripts_and_broken_files_are_left_alone() {
        assert_eq!(classify(b"#!/bin/sh\n"), Program::Other);
        assert_eq!(classify(b"\x7fELF"), Program::Other);
        let mut broken = [0u8; 64];
        broken[..5].copy_from_slice(b"\x7fELF\x02");
        broken[32..40].fill(0xff);
        broken[54..58].fill(0xff);
        assert_eq!(classify(&broken), Program::Other);
        broken[4] = 1;
        assert_eq!(classify(&broken), Program::OtherWordSize);
        assert!(look(Path::new("/nonexistent")).is_err());
    }
}
