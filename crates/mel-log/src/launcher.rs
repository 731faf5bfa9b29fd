//! What the program that started this process says of it in the environment, before MPI does: which of how many it is, and in which job
//! of a batch system.

use std::env;
use std::sync::OnceLock;

/// Variables with the number of a process among those that were started together, with their number, and with the process's number on its node.
struct Launcher {
    /// What users type.
    name: &'static str,
    rank: &'static str,
    size: Option<&'static str>,
    on_node: Option<&'static str>,
    /// The number of the first process.
    first: u64,
}

const fn launcher(
    name: &'static str,
    rank: &'static str,
    size: Option<&'static str>,
    on_node: Option<&'static str>,
) -> Launcher {
    Launcher { name, rank, size, on_node, first: 0 }
}

/// Those that have their variables from a protocol that others speak, too.
const PRTERUN: &str = "prterun";
const MPIEXEC: &str = "mpiexec";
const SRUN: &str = "srun";
/// What Hydra sets beside those of the protocol, and srun does not.
const OF_HYDRA: &str = "MPI_LOCALRANKID";

/// Those that start ranks come before those that start the others' daemons, whose variables the ranks inherit.
const LAUNCHERS: &[Launcher] = &[
    // mpirun of Open MPI, and what is made of it; jsrun has its own, too.
    launcher(
        "mpirun",
        "OMPI_COMM_WORLD_RANK",
        Some("OMPI_COMM_WORLD_SIZE"),
        Some("OMPI_COMM_WORLD_LOCAL_RANK"),
    ),
    launcher("jsrun", "JSM_NAMESPACE_RANK", Some("JSM_NAMESPACE_SIZE"), Some("JSM_NAMESPACE_LOCAL_RANK")),
    // mpirun_rsh of MVAPICH 2 and 3.
    launcher(
        "mpirun_rsh",
        "MV2_COMM_WORLD_RANK",
        Some("MV2_COMM_WORLD_SIZE"),
        Some("MV2_COMM_WORLD_LOCAL_RANK"),
    ),
    launcher(
        "mpirun_rsh",
        "MVP_COMM_WORLD_RANK",
        Some("MVP_COMM_WORLD_SIZE"),
        Some("MVP_COMM_WORLD_LOCAL_RANK"),
    ),
    // srun --mpi=pmix, prterun.
    launcher(PRTERUN, "PMIX_RANK", None, None),
    // Hydra (mpiexec of MPICH and Intel MPI), srun --mpi=pmi2, aprun and mpiexec of Cray.
    launcher(MPIEXEC, "PMI_RANK", Some("PMI_SIZE"), Some(OF_HYDRA)),
    launcher(MPIEXEC, "PALS_RANKID", None, Some("PALS_LOCAL_RANKID")),
    launcher("aprun", "ALPS_APP_PE", None, None),
    launcher("flux run", "FLUX_TASK_RANK", Some("FLUX_JOB_SIZE"), Some("FLUX_TASK_LOCAL_ID")),
    // mpirun and mpiexec_mpt of HPE name only the rank on its node.
    launcher("mpirun", "MPT_LRANK", None, Some("MPT_LRANK")),
    // Not SLURM_NTASKS, which is of the job: a job script has it, too.
    launcher(SRUN, "SLURM_PROCID", Some("SLURM_STEP_NUM_TASKS"), Some("SLURM_LOCALID")),
    // blaunch of LSF.
    Launcher { first: 1, ..launcher("blaunch", "LSF_PM_TASKID", Some("LSB_DJOB_NUMPROC"), None) },
];

/// A process among those that were started together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number among them, from 0.
    pub rank: u64,
    /// How many they are, where the launcher says so.
    pub size: Option<u64>,
    /// The launcher, as users type its name.
    pub launcher: &'static str,
}

impl Place {
    /// That of this process; `None` without a launcher. As it was when it was first asked for: an Open MPI that is started by no launcher of
    /// its own sets the variables in `MPI_Init` to what it makes of itself.
    pub fn here() -> Option<Place> {
        static HERE: OnceLock<Option<Place>> = OnceLock::new();
        *HERE.get_or_init(|| Place::read(variable))
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Place> {
        let number = |name: &str| variable(name)?.parse::<u64>().ok();
        let rank = |launcher: &Launcher| number(launcher.rank)?.checked_sub(launcher.first);
        let (known, first) = LAUNCHERS.iter().find_map(|known| Some((known, rank(known)?)))?;
        // A launcher that does not say it may have been started by one that does.
        let of_same = LAUNCHERS.iter().filter(|other| rank(other) == Some(first));
        let size = match known.size {
            Some(size) => number(size),
            None => of_same.filter_map(|other| number(other.size?)).next(),
        };
        // A step of Slurm speaks PMIx or PMI: it counts its processes as they are counted there.
        let of_step = number("SLURM_PROCID") == Some(first) && size == number("SLURM_STEP_NUM_TASKS");
        let may_be_srun = known.name == PRTERUN || (known.name == MPIEXEC && variable(OF_HYDRA).is_none());
        let launcher = if may_be_srun && of_step && size.is_some() { SRUN } else { known.name };
        Some(Place { rank: first, size: size.filter(|size| *size > first), launcher })
    }
}

/// Whether this process is rank 0, as far as the launcher says. Without a launcher it is.
pub fn is_first_rank() -> bool {
    Place::here().is_none_or(|place| place.rank == 0)
}

/// Whether this process is the first of its node, as far as the launcher says; where it says nothing, each is.
pub fn is_first_of_node() -> bool {
    Place::here().is_none() || first_of_node(variable)
}

fn first_of_node(variable: impl Fn(&str) -> Option<String>) -> bool {
    let number = LAUNCHERS.iter().find_map(|known| variable(known.on_node?)?.parse::<u64>().ok());
    number.is_none_or(|number| number == 0)
}

/// How this process was started, in a few words: `mpirun`, `srun in job 4711`; empty where no launcher has.
pub fn in_words() -> String {
    let launcher = Place::here().map_or("", |place| place.launcher);
    words(launcher, Job::here())
}

fn words(launcher: &str, job: Option<Job>) -> String {
    match job {
        Some(job) if !launcher.is_empty() => format!("{launcher} in job {}", job.name()),
        _ => launcher.to_owned(),
    }
}

/// A job of a batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number, without the name of a server; of an array, that of the whole.
    pub id: String,
    /// Its index in an array of jobs.
    pub index: Option<String>,
}

impl Job {
    /// The job that this process is in: of Slurm, PBS, LSF or Grid Engine.
    pub fn here() -> Option<Job> {
        Job::read(variable)
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Job> {
        // They become a part of a file's name.
        let plain = |text: String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect::<String>()
        };
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(id) = set("SLURM_JOB_ID") {
            let of_array = set("SLURM_ARRAY_JOB_ID").zip(set("SLURM_ARRAY_TASK_ID"));
            let (id, index) = of_array.map_or((id, None), |(id, index)| (id, Some(index)));
            return Some(Job { id: plain(id), index: index.map(plain) });
        }
        if let Some(id) = set("PBS_JOBID") {
            // As 4711.server, or 4711[3].server in an array.
            let id = id.split(['.', '[']).next().unwrap_or_default().to_owned();
            let index = set("PBS_ARRAY_INDEX").or_else(|| set("PBS_ARRAYID"));
            return Some(Job { id: plain(id), index: index.map(plain) });
        }
        if let Some(id) = set("LSB_JOBID") {
            let index = set("LSB_JOBINDEX").filter(|index| index != "0");
            return Some(Job { id: plain(id), index: index.map(plain) });
        }
        // The variable with the number has a name that anybody may use.
        let index = set("SGE_TASK_ID")?;
        Some(Job { id: plain(set("JOB_ID")?), index: Some(index).filter(|i| i != "undefined").map(plain) })
    }

    /// Its name as Slurm writes it: `4711`, or `4711_3` in an array.
    pub fn name(&self) -> String {
        match &self.index {
            Some(index) => format!("{}_{index}", self.id),
            None => self.id.clone(),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn place(variables: &[(&str, &str)]) -> Option<(u64, Option<u64>)> {
        Place::read(set(variables)).map(|place| (place.rank, place.size))
    }

    #[test]
    fn each_launcher_is_known() {
        assert_eq!(place(&[]), None);
        for (rank, size) in [
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
            ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
            ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
            ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        ] {
            assert_eq!(place(&[(rank, "3"), (size, "8")]), Some((3, Some(8))), "{rank}");
            assert_eq!(place(&[(rank, "0")]), Some((0, None)), "{rank}");
        }
        for rank in ["PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE", "MPT_LRANK"] {
            assert_eq!(place(&[(rank, "3")]), Some((3, None)), "{rank}");
        }
        assert_eq!(place(&[("LSF_PM_TASKID", "1"), ("LSB_DJOB_NUMPROC", "4")]), Some((0, Some(4))));
    }

    #[test]
    fn srun_with_pmix_says_how_many_in_variables_of_its_own() {
        let variables = [("PMIX_RANK", "2"), ("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "8")];
        assert_eq!(place(&variables), Some((2, Some(8))));
        // prterun, whose daemon was started by srun on each node.
        let variables = [("PMIX_RANK", "2"), ("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "2")];
        assert_eq!(place(&variables), Some((2, None)));
    }

    #[test]
    fn ranks_are_those_of_the_launcher_and_not_of_its_daemons() {
        let in_slurm = [
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "2"),
        ];
        assert_eq!(place(&in_slurm), Some((5, Some(8))));
        let in_lsf = [("PMI_RANK", "5"), ("PMI_SIZE", "8"), ("LSF_PM_TASKID", "2")];
        assert_eq!(place(&in_lsf), Some((5, Some(8))));
    }

    #[test]
    fn launchers_are_called_by_what_users_type() {
        let name =
            |variables: &[(&str, &str)]| Place::read(set(variables)).map_or("", |place| place.launcher);
        assert_eq!(name(&[]), "");
        assert_eq!(name(&[("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")]), "mpirun");
        let step = [("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "8")];
        assert_eq!(name(&step), "srun");
        assert_eq!(name(&[&step[..], &[("PMIX_RANK", "2")]].concat()), "srun");
        assert_eq!(name(&[&step[..], &[("PMI_RANK", "2"), ("PMI_SIZE", "8")]].concat()), "srun");
        let hydra = [("PMI_RANK", "2"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "2")];
        assert_eq!(name(&[&step[..], &hydra].concat()), "mpiexec");
        assert_eq!(
            name(&[("PMIX_RANK", "5"), ("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "2")]),
            "prterun"
        );
        let job = Job { id: "4711".into(), index: Some("3".into()) };
        assert_eq!(
            (words("srun", Some(job.clone())), words("", Some(job))),
            ("srun in job 4711_3".into(), String::new())
        );
    }

    #[test]
    fn the_first_of_a_node_is_known_where_the_launcher_says_it() {
        assert!(first_of_node(set(&[])) && first_of_node(set(&[("PMIX_RANK", "3")])));
        assert!(first_of_node(set(&[("MPI_LOCALRANKID", "0"), ("PMI_RANK", "4")])));
        // Those of the daemon that mpirun has started on the node through srun come after its own.
        let second = [("OMPI_COMM_WORLD_LOCAL_RANK", "1"), ("SLURM_LOCALID", "0")];
        assert!(!first_of_node(set(&second)));
        assert!(!first_of_node(set(&[("SLURM_LOCALID", "3")])));
    }

    #[test]
    fn a_job_script_is_one_process() {
        assert_eq!(place(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), Some((0, None)));
        assert_eq!(place(&[("PMI_RANK", "many")]), None);
        assert_eq!(place(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), Some((2, None)), "this cannot be");
    }

    fn job(variables: &[(&str, &str)]) -> Option<String> {
        Job::read(set(variables)).map(|job| job.name())
    }

    #[test]
    fn jobs_have_a_name_in_each_batch_system() {
        assert_eq!(job(&[("OMPI_COMM_WORLD_RANK", "0"), ("JOB_ID", "7")]), None);
        assert_eq!(job(&[("SLURM_JOB_ID", "4711")]).unwrap(), "4711");
        let array = [("SLURM_JOB_ID", "4714"), ("SLURM_ARRAY_JOB_ID", "4711"), ("SLURM_ARRAY_TASK_ID", "3")];
        assert_eq!(job(&array).unwrap(), "4711_3");
        assert_eq!(job(&[("PBS_JOBID", "4711.server.site")]).unwrap(), "4711");
        assert_eq!(job(&[("PBS_JOBID", "4711[3].server"), ("PBS_ARRAY_INDEX", "3")]).unwrap(), "4711_3");
        assert_eq!(job(&[("PBS_JOBID", "4711.server"), ("PBS_ARRAYID", "3")]).unwrap(), "4711_3");
        assert_eq!(job(&[("LSB_JOBID", "4711"), ("LSB_JOBINDEX", "0")]).unwrap(), "4711");
        assert_eq!(job(&[("LSB_JOBID", "4711"), ("LSB_JOBINDEX", "3")]).unwrap(), "4711_3");
        assert_eq!(job(&[("JOB_ID", "4711"), ("SGE_TASK_ID", "undefined")]).unwrap(), "4711");
        assert_eq!(job(&[("JOB_ID", "4711"), ("SGE_TASK_ID", "3")]).unwrap(), "4711_3");
        assert_eq!(job(&[("SLURM_JOB_ID", "../x")]).unwrap(), "___x", "no other directory");
    }
}
