//! A placement tried: how the launcher of a run is told of it, without a change of the command.

use std::path::Path;

use anyhow::bail;
use mel_place::files;
use mel_tune::candidates::Candidate;

use super::Found;

/// What makes a launcher place ranks: the text of its file, and the environment variables that name it.
#[derive(Debug, PartialEq)]
pub struct Told {
    /// What is in the file.
    pub text: String,
    /// Names and values.
    pub environment: Vec<(String, String)>,
}

/// How the launcher of the run is told of the placement that was found, by a file at this path.
///
/// # Errors
/// It is not known how, or the launcher's file cannot say it.
pub fn told(found: &Found<'_>, path: &Path) -> anyhow::Result<Told> {
    let (slots, placement) = (&found.slots, found.placement());
    let path = path.display().to_string();
    let named = |text, names: &[(&str, String)]| Told {
        text,
        environment: names.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    };
    let (mpi, launcher) = (found.profile.mpi.as_str(), found.profile.launcher.as_str());
    let of_hosts = launcher.starts_with("srun") || mpi.starts_with("MPICH");
    if of_hosts && slots.hosts.len() == 1 {
        bail!(
            "the launcher of this run is told hosts, and not cores, and all ranks were on one host: give the order in the command \
             (srun --cpu-bind, mpiexec -bind-to user:...), and compare with `mel diff`"
        );
    }
    if launcher.starts_with("srun") {
        let names = [("SLURM_HOSTFILE", path), ("SLURM_DISTRIBUTION", "arbitrary".into())];
        return Ok(named(files::slurm_hosts(slots, placement), &names));
    }
    if mpi.starts_with("Open MPI") {
        let major: u32 = mpi
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .split('.')
            .next()
            .unwrap_or("")
            .parse()
            .unwrap_or(0);
        let name = match major < 5 {
            true => ("OMPI_MCA_rmaps_rank_file_path", path),
            false => ("PRTE_MCA_rmaps_default_mapping_policy", format!("rankfile:file={path}")),
        };
        return Ok(named(files::rankfile(slots, placement), &[name]));
    }
    if mpi.starts_with("MPICH") {
        return Ok(named(files::mpich_hosts(slots, placement), &[("HYDRA_HOST_FILE", path)]));
    }
    bail!(
        "it is not known how the launcher of this run is told where ranks are to be: write a file (--rankfile, --hostfile, --slurm), start \
         the program with it, and compare with `mel diff`"
    )
}

/// The trial of it.
#[must_use]
pub fn candidate(told: Told) -> Candidate {
    Candidate {
        rule: Some("mel place".into()),
        because: "the placement that was found".into(),
        setting: Vec::new(),
        launcher: told.environment,
    }
}
