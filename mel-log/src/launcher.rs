//! What the program that started this process says of it, before MPI does.

use std::env;

/// Whether this process is rank 0, as far as the launcher says. Without a launcher it is.
pub fn is_first_rank() -> bool {
    let variables = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "ALPS_APP_PE"];
    variables.iter().find_map(env::var_os).is_none_or(|rank| rank == "0")
}
