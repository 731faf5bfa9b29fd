//! The directories of the installed libotf2's headers and libraries, as `otf2-config` prints them.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

const REMEDY: &str = "Remedy: install OTF2 3.0 or newer with its headers \
     (Debian, Ubuntu: apt install libotf2-trace-dev), or set OTF2_CONFIG to its otf2-config";

/// One installation of libotf2.
pub(crate) struct Install {
    /// Directories with libraries, the most specific first.
    libraries: Vec<PathBuf>,
    /// The major number of the shared library (its `soname`).
    interface: Option<u32>,
}

impl Install {
    pub(crate) fn find() -> Result<Self, String> {
        let includes = flag_values("--cflags", "-I").into_iter().chain(["/usr/include".into()]);
        let (include, header) = includes
            .map(|include: PathBuf| (include.join("otf2/otf2.h"), include))
            .find_map(|(header, include)| header.is_file().then_some((include, header)))
            .ok_or_else(|| format!("the header otf2/otf2.h was not found. {REMEDY}"))?;
        println!("cargo::rerun-if-changed={}", header.display());

        let major = version_major(&include.join("otf2/OTF2_GeneralDefinitions.h"));
        if major.is_none_or(|major| major < 3) {
            return Err(format!("{} belongs to an OTF2 older than 3.0. {REMEDY}", header.display()));
        }

        let mut libraries = flag_values("--ldflags", "-L");
        libraries.extend(system_library_directory());
        Ok(Self { libraries, interface: interface_version() })
    }

    /// The directory of `libotf2.a`, where there is one.
    pub(crate) fn static_library(&self) -> Option<&Path> {
        self.libraries.iter().map(PathBuf::as_path).find(|directory| directory.join("libotf2.a").is_file())
    }

    /// What to open at run time, in this order: where it was found at build time, then wherever
    /// the loader finds it, under its own name and under Debian's.
    pub(crate) fn shared_library_names(&self) -> Vec<String> {
        let suffix = self.interface.map_or(String::new(), |number| format!(".{number}"));
        let names = ["libotf2.so", "libopen-trace-format2.so"].map(|name| format!("{name}{suffix}"));
        let found = self
            .libraries
            .iter()
            .flat_map(|directory| names.iter().map(move |name| directory.join(name)))
            .filter(|path| path.is_file())
            .map(|path| path.display().to_string());
        found.chain(names.iter().cloned()).collect()
    }
}

fn otf2_config(option: &str) -> Option<String> {
    let program = env::var_os("OTF2_CONFIG").unwrap_or_else(|| "otf2-config".into());
    let output = Command::new(program).arg(option).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn flag_values(option: &str, flag: &str) -> Vec<PathBuf> {
    otf2_config(option)
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|word| word.strip_prefix(flag).map(PathBuf::from))
        .collect()
}

/// libtool's `current:revision:age`; the shared library carries `current - age`.
fn interface_version() -> Option<u32> {
    let text = otf2_config("--interface-version")?;
    let numbers: Vec<u32> = text.trim().split(':').filter_map(|part| part.parse().ok()).collect();
    match numbers[..] {
        [current, _, age] => current.checked_sub(age),
        _ => None,
    }
}

/// The directory in which the C compiler finds the system's libraries.
fn system_library_directory() -> Option<PathBuf> {
    let output = Command::new("cc").arg("-print-file-name=libotf2.a").output().ok()?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    path.parent().filter(|parent| parent.is_absolute()).map(Path::to_path_buf)
}

fn version_major(header: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(header).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("#define OTF2_VERSION_MAJOR"))
        .and_then(|number| number.trim().parse().ok())
}
