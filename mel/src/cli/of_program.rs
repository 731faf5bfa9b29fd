//! The MPI library that a program is linked with, as the dynamic linker finds it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, bail};

use super::elf;

/// The file of the MPI library, as the dynamic linker finds it for a program.
///
/// # Errors
/// The program is not linked with an MPI library, or the linker does not find it.
pub fn library_of(program: &Path) -> anyhow::Result<PathBuf> {
    let listed = Command::new("ldd").arg(program).output().context("cannot run ldd")?;
    let text = String::from_utf8_lossy(&listed.stdout);
    if let Some(missing) = missing_among(&text) {
        bail!(
            "{} needs {missing}, which the dynamic linker does not find; load the module of its MPI, or add the library's \
             folder to LD_LIBRARY_PATH",
            program.display()
        );
    }
    mpi_among(&text).ok_or_else(|| {
        anyhow!("{} is not linked with an MPI library; name a program that is", program.display())
    })
}

/// Whether a file of this name is an MPI library: not one of its other languages, such as libmpi_cxx and libmpifort.
pub fn is_mpi_library(name: &str) -> bool {
    ["libmpi.so", "libmpich.so", "libmpi_abi.so"].iter().any(|known| name.starts_with(known))
}

/// The MPI library in a list of libraries as `ldd` prints it, one `name => path (address)` in a line.
fn mpi_among(listed: &str) -> Option<PathBuf> {
    mpi_in(listed).find(|(_, path)| path.starts_with('/')).map(|(_, path)| path.into())
}

/// The MPI library in such a list that the linker has not found.
fn missing_among(listed: &str) -> Option<&str> {
    mpi_in(listed).find(|(_, path)| *path == "not found").map(|(name, _)| name)
}

/// The names and paths of MPI libraries in such a list.
fn mpi_in(listed: &str) -> impl Iterator<Item = (&str, &str)> {
    let named = listed.lines().filter_map(|line| line.trim().split_once(" => "));
    named
        .filter(|(name, _)| is_mpi_library(name))
        .map(|(name, path)| (name, path.split(" (").next().unwrap_or(path)))
}

/// Whether the MPI of a program may have event types of its own; yes where its library is not known. No MPI runs for that.
pub fn may_have_events(program: &Path) -> bool {
    library_of(program).map_or(true, |library| elf::exports(&library, b"MPI_T_event_get_num").unwrap_or(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mpi_library_is_found_among_others() {
        let of_mpich = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpifort.so.12 => /opt/lib/libmpifort.so.12 (0x1)\n\
                        \tlibmpi.so.12 => /opt/lib/libmpi.so.12 (0x00007f0c)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n";
        assert_eq!(mpi_among(of_mpich), Some("/opt/lib/libmpi.so.12".into()));
        assert_eq!(
            mpi_among("\tlibmpich.so.12 => /lib/libmpich.so.12 (0x1)"),
            Some("/lib/libmpich.so.12".into())
        );
        assert_eq!(mpi_among("\tlibmpi.so.40 => not found"), None);
        assert_eq!(missing_among("\tlibmpi.so.40 => not found"), Some("libmpi.so.40"));
        assert_eq!(missing_among(of_mpich), None);
        assert_eq!(mpi_among("\tlibc.so.6 => /lib/libc.so.6 (0x2)"), None);
        assert_eq!(mpi_among("\tstatically linked"), None);
    }

    #[test]
    fn a_program_without_mpi_is_refused() {
        let error = library_of("/bin/true".as_ref()).unwrap_err().to_string();
        assert!(error.starts_with("/bin/true is not linked with an MPI library"), "{error}");
    }
}
