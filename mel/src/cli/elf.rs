//! Can a preloaded library reach a program? Seen from the program's file.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use object::elf::PT_INTERP;
use object::read::elf::{ElfFile32, ElfFile64, FileHeader, ProgramHeader};
use object::{FileKind, Object, ObjectSymbol, ReadCache, ReadRef};

/// What a program file is, as far as preloading is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// It asks for the dynamic linker: preloading works.
    Dynamic,
    /// It has no interpreter: preloading does nothing.
    Static,
    /// It asks for the dynamic linker, but has the MPI in it: its calls never leave it.
    MpiInside,
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
    Ok(classify(File::open(path)?))
}

/// Whether a library has a function of this name for others.
///
/// # Errors
/// Those of the file system; the file is no library.
pub fn exports(library: &Path, name: &[u8]) -> io::Result<bool> {
    let file = ReadCache::new(File::open(library)?);
    let library = object::File::parse(&file).map_err(io::Error::other)?;
    Ok(library
        .dynamic_symbols()
        .any(|symbol| symbol.is_definition() && symbol.name_bytes().is_ok_and(|known| known == name)))
}

/// Reads those parts of a file that it needs; of most programs that is little.
fn classify(file: impl Read + Seek) -> Program {
    let file = ReadCache::new(file);
    let (wanted, other) = if cfg!(target_pointer_width = "64") {
        (FileKind::Elf64, FileKind::Elf32)
    } else {
        (FileKind::Elf32, FileKind::Elf64)
    };
    let program = match FileKind::parse(&file) {
        Ok(kind) if kind == wanted && kind == FileKind::Elf64 => {
            ElfFile64::<object::Endianness, _>::parse(&file).map(|elf| by_linking(&elf))
        }
        Ok(kind) if kind == wanted => {
            ElfFile32::<object::Endianness, _>::parse(&file).map(|elf| by_linking(&elf))
        }
        Ok(kind) if kind == other => Ok(Program::OtherWordSize),
        _ => Ok(Program::Other),
    };
    program.unwrap_or(Program::Other)
}

fn by_linking<'data, H: FileHeader, R: ReadRef<'data>>(
    elf: &object::read::elf::ElfFile<'data, H, R>,
) -> Program {
    let headers = elf.elf_program_headers();
    if headers.is_empty() {
        Program::Other
    } else if !headers.iter().any(|header| header.p_type(elf.endian()) == PT_INTERP) {
        Program::Static
    } else if has_mpi_inside(elf) {
        Program::MpiInside
    } else {
        Program::Dynamic
    }
}

/// Whether a program defines functions by those names that only an MPI library defines. A program with wrappers of its
/// own defines `MPI_Init` too, but not these. Of a program without symbols it cannot be known.
fn has_mpi_inside<'data>(elf: &impl Object<'data>) -> bool {
    const OF_LIBRARIES: [&[u8]; 2] = [b"PMPI_Init", b"PMPI_Init_thread"];
    elf.symbols().chain(elf.dynamic_symbols()).any(|symbol| {
        symbol.is_definition() && symbol.name_bytes().is_ok_and(|name| OF_LIBRARIES.contains(&name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::process::Command;

    #[test]
    fn this_test_is_linked_dynamically() {
        assert_eq!(look(&std::env::current_exe().unwrap()).unwrap(), Program::Dynamic);
    }

    /// A program from source text in C.
    fn compiled(directory: &Path, text: &str, options: &[&str]) -> PathBuf {
        let (source, program) = (directory.join("a.c"), directory.join("a"));
        std::fs::write(&source, text).unwrap();
        let status = Command::new("cc").arg(&source).arg("-o").arg(&program).args(options).status();
        assert!(status.unwrap().success());
        program
    }

    #[test]
    fn what_a_library_exports_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let text =
            "int here(void) { return 0; }\nint elsewhere(void);\nint call(void) { return elsewhere(); }\n";
        let library = compiled(directory.path(), text, &["-shared", "-fPIC"]);
        let exported = |name: &str| exports(&library, name.as_bytes()).unwrap();
        assert!(exported("here") && !exported("elsewhere") && !exported("nowhere"));
        assert!(exports("/etc/passwd".as_ref(), b"here").is_err());
    }

    #[test]
    fn a_statically_linked_program_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let program = compiled(directory.path(), "int main(void) { return 0; }\n", &["-static"]);
        assert_eq!(look(&program).unwrap(), Program::Static);
    }

    #[test]
    fn an_mpi_inside_the_program_is_seen_where_there_are_symbols() {
        let directory = tempfile::tempdir().unwrap();
        let mpi = "int PMPI_Init(void) { return 0; }\n\
                   int MPI_Init(void) __attribute__((weak, alias(\"PMPI_Init\")));\n";
        let text = format!("{mpi}int main(void) {{ return MPI_Init(); }}\n");
        for (options, wanted) in [
            (&[][..], Program::MpiInside),
            (&["-s"], Program::Dynamic),
            (&["-s", "-rdynamic"], Program::MpiInside),
        ] {
            assert_eq!(look(&compiled(directory.path(), &text, options)).unwrap(), wanted, "{options:?}");
        }
    }

    #[test]
    fn wrappers_of_the_program_are_no_mpi() {
        let directory = tempfile::tempdir().unwrap();
        let text = "int PMPI_Init(void); int MPI_Init(void) { return PMPI_Init(); }\n\
                    int main(void) { return MPI_Init(); }\n";
        let options = ["-rdynamic", "-Wl,--unresolved-symbols=ignore-all"];
        assert_eq!(look(&compiled(directory.path(), text, &options)).unwrap(), Program::Dynamic);
    }

    #[test]
    fn scripts_and_broken_files_are_left_alone() {
        let of = |bytes: &[u8]| classify(io::Cursor::new(bytes.to_vec()));
        assert_eq!(of(b""), Program::Other);
        assert_eq!(of(b"#!/bin/sh\n"), Program::Other);
        assert_eq!(of(b"\x7fELF"), Program::Other);
        let mut broken = [0u8; 64];
        broken[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        broken[32..40].fill(0xff);
        broken[54..58].fill(0xff);
        assert_eq!(of(&broken), Program::Other);
        broken[4] = 1;
        assert_eq!(of(&broken), Program::OtherWordSize);
        assert!(look(Path::new("/nonexistent")).is_err());
    }

    /// Whatever is cut off or changed in a file, the answer is an answer.
    #[test]
    fn half_a_file_is_no_reason_to_stop() {
        let whole = std::fs::read("/bin/sh").unwrap();
        for length in (0..whole.len()).step_by(whole.len() / 97) {
            let mut changed = whole[..length].to_vec();
            classify(io::Cursor::new(changed.clone()));
            for byte in changed.iter_mut().step_by(61) {
                *byte ^= 0x55;
            }
            classify(io::Cursor::new(changed));
        }
    }
}
