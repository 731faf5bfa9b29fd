//! Do the launcher and the MPI belong together? A program that another MPI's launcher starts runs as many jobs of one rank.

use std::path::{Path, PathBuf};

use super::command::{on_path, output};
use super::{Finding, Mpi};

const WHAT: &str = "launcher";

/// Launchers that come with an MPI, and know nothing of another one.
const OF_AN_MPI: [&str; 2] = ["mpirun", "mpiexec"];
/// Those of batch systems.
const OF_BATCH_SYSTEMS: [&str; 4] = ["srun", "jsrun", "aprun", "flux"];

/// Whose launcher it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OpenMpi,
    /// Hydra, of MPICH and its relatives.
    Hydra,
    Unknown,
}

impl Kind {
    fn of_version(printed: &str) -> Kind {
        let printed = printed.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| printed.contains(word));
        if has(&["open mpi", "openrte", "prte"]) {
            Kind::OpenMpi
        } else if has(&["hydra", "mpich", "intel(r) mpi", "mvapich"]) {
            Kind::Hydra
        } else {
            Kind::Unknown
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::OpenMpi => "Open MPI",
            Kind::Hydra => "MPICH and its relatives",
            Kind::Unknown => "an MPI that is not known here",
        }
    }
}

pub(super) fn examine(mpis: &[Mpi]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let launcher = OF_AN_MPI.iter().find_map(|name| on_path(name));
    if let Some(launcher) = &launcher {
        let printed = output(launcher, &["--version"], 20);
        let kind = printed.map_or(Kind::Unknown, |ended| Kind::of_version(&(ended.out + &ended.err)));
        findings.push(judge(launcher, kind, mpis));
    }
    let of_batch: Vec<PathBuf> = OF_BATCH_SYSTEMS.iter().filter_map(|name| on_path(name)).collect();
    findings.extend(of_batch.iter().map(|path| Finding::ok(WHAT, path.display().to_string())));
    if findings.is_empty() {
        findings.push(Finding::less(
            WHAT,
            "no mpirun, mpiexec or srun on the path",
            "programs can be started only one process at a time",
            "load the module of an MPI or of the batch system",
        ));
    }
    findings
}

/// Whether a launcher starts the programs of the MPI that the user most probably means: that of `mpicc`, or the only one.
fn judge(launcher: &Path, kind: Kind, mpis: &[Mpi]) -> Finding {
    let at = launcher.display();
    let meant = match mpis {
        [only] => Some(only),
        several => several.iter().find(|mpi| mpi.of.iter().any(|of| of == "mpicc")),
    };
    let (Some(answer), Some(mpi)) = (meant.and_then(|mpi| mpi.answer.as_ref()), meant) else {
        return Finding::ok(WHAT, format!("{at}, of {}", kind.name()));
    };
    let open_mpi = answer.name.contains("Open MPI");
    if kind == Kind::Unknown || open_mpi == (kind == Kind::OpenMpi) {
        return Finding::ok(WHAT, format!("{at}, of {}", kind.name()));
    }
    Finding::less(
        WHAT,
        format!("{at} is of {}, but {} of {}", kind.name(), mpi.of.join(", "), answer.name),
        "with this launcher each process is a job of one rank",
        "start programs with the launcher of their MPI, such as mpirun.openmpi or mpiexec.mpich",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use mel_log::offers::Library;

    fn mpi(name: &str, of: &str) -> Mpi {
        let answer = Library {
            name: name.into(),
            interface: String::new(),
            open_mpi: name.starts_with("Open"),
            events: 0,
            peruse: false,
            why: String::new(),
            inside: mel_log::offers::Inside::Nobody,
        };
        Mpi { library: "/l/libmpi.so".into(), of: vec![of.into()], answer: Some(answer) }
    }

    #[test]
    fn launchers_are_known_by_their_versions() {
        assert_eq!(Kind::of_version("mpirun (Open MPI) 4.1.4"), Kind::OpenMpi);
        assert_eq!(Kind::of_version("HYDRA build details:\n Version: 4.0.2"), Kind::Hydra);
        assert_eq!(Kind::of_version("Intel(R) MPI Library for Linux* OS, Version 2021.8"), Kind::Hydra);
        assert_eq!(Kind::of_version(""), Kind::Unknown);
    }

    #[test]
    fn the_launcher_of_another_mpi_is_named() {
        let launcher = Path::new("/b/mpirun");
        let both = [mpi("MPICH 4.0", "mpicc.mpich"), mpi("Open MPI v4.1.4", "mpicc")];
        assert_eq!(judge(launcher, Kind::OpenMpi, &both).level, Level::Ok);
        let finding = judge(launcher, Kind::Hydra, &both);
        assert!(finding.level == Level::Less && finding.found.contains("Open MPI v4.1.4"), "{finding:?}");
        assert_eq!(judge(launcher, Kind::OpenMpi, &both[..1]).level, Level::Less);
        assert_eq!(judge(launcher, Kind::Unknown, &both[..1]).level, Level::Ok);
        assert_eq!(judge(launcher, Kind::Hydra, &[]).level, Level::Ok);
    }
}
