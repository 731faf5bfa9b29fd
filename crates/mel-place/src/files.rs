//! Placements as the launchers read them. Each is a text; a node's name is that of the run's hosts.

use crate::Slots;

/// Open MPI's rankfile (`mpirun --rankfile FILE`): for each rank its host and its core, as a socket and the core in it, counted as hwloc does.
pub fn rankfile(slots: &Slots, placement: &[u32]) -> String {
    lines(placement.iter().enumerate().map(|(rank, slot)| {
        let slot = &slots.slots[*slot as usize];
        let (host, leaf) = (&slots.hosts[slot.host as usize], &slot.leaf);
        format!("rank {rank}={host} slot={}:{}", leaf.socket, leaf.core_in_socket)
    }))
}

/// MPICH's list of hosts (`mpiexec -f FILE`): a line for each run of ranks on the same host, with their number. MPICH starts ranks in the
/// order of the lines. It takes lines of a host that do not follow each other for different nodes (seen with 4.0).
pub fn mpich_hosts(slots: &Slots, placement: &[u32]) -> String {
    let mut runs: Vec<(u32, usize)> = Vec::new();
    for slot in placement {
        let host = slots.slots[*slot as usize].host;
        match runs.last_mut() {
            Some(last) if last.0 == host => last.1 += 1,
            _ => runs.push((host, 1)),
        }
    }
    lines(runs.into_iter().map(|(host, ranks)| format!("{}:{ranks}", slots.hosts[host as usize])))
}

/// Slurm's list of hosts (`SLURM_HOSTFILE=FILE srun --distribution=arbitrary`): the host of each rank, a line each.
pub fn slurm_hosts(slots: &Slots, placement: &[u32]) -> String {
    lines(placement.iter().map(|slot| slots.hosts[slots.slots[*slot as usize].host as usize].clone()))
}

/// Keys for `MPI_Comm_split`: for each rank of a run that is placed as `before`, a line each, the rank that it should have in the new
/// communicator.
pub fn keys(before: &[u32], after: &[u32]) -> String {
    lines(new_ranks(before, after).into_iter().map(|rank| rank.to_string()))
}

/// The new rank of each process.
pub fn new_ranks(before: &[u32], after: &[u32]) -> Vec<u32> {
    let mut rank_at = vec![0; after.len()];
    after.iter().enumerate().for_each(|(rank, slot)| rank_at[*slot as usize] = rank as u32);
    before.iter().map(|slot| rank_at[*slot as usize]).collect()
}

/// Nothing in the name of a host ends its line.
fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.flat_map(|line| [line.replace(char::is_control, "?"), "\n".into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic;

    #[test]
    fn each_launcher_has_its_words() {
        let slots = Slots::new(&synthetic::parse("pack:2 core:1").unwrap(), &["a", "a", "b", "b"], &[]);
        let placement = [0, 2, 3, 1];
        assert_eq!(
            rankfile(&slots, &placement),
            "rank 0=a slot=0:0\nrank 1=b slot=0:0\nrank 2=b slot=1:0\nrank 3=a slot=1:0\n"
        );
        assert_eq!(mpich_hosts(&slots, &placement), "a:1\nb:2\na:1\n");
        assert_eq!(slurm_hosts(&slots, &placement), "a\nb\nb\na\n");
        // The process at slot 2 is rank 2 of the run and becomes rank 1.
        assert_eq!(keys(slots.run(), &placement), "0\n3\n1\n2\n");
        let slots = Slots::new(&synthetic::parse("pack:1 core:1").unwrap(), &["a\nb"], &[]);
        assert_eq!(slurm_hosts(&slots, &[0]), "a?b\n");
    }
}
