//! The bytes and the hosts of a run.

use mel_log::profile::Profile;
use mel_place::Graph;
use mel_traffic::choice::Asked;
use mel_traffic::{Choice, ChoiceError, Matrix, Rows};

/// Who exchanges how many bytes with whom, in what was asked for; without any choice in all that the program asks for.
///
/// # Errors
/// [`ChoiceError`]: the profile does not say so, or has nothing of such a name.
pub fn graph(profile: &Profile, asked: Asked<'_>) -> Result<Graph, ChoiceError> {
    let rows = Rows::of(profile);
    let matrix = Matrix::of(&rows, &Choice::of(&rows, asked)?);
    let cells = matrix.cells.into_iter().map(|(sender, receiver, cell)| (sender, receiver, cell.bytes));
    Ok(Graph::new(rows.size(), cells))
}

/// The host of each rank. A rank that has left nothing is taken to be where the one before it was.
pub fn hosts(profile: &Profile) -> Vec<&str> {
    let mut hosts: Vec<&str> = Vec::new();
    let mut known = profile.ranks.iter().peekable();
    for rank in 0..Rows::of(profile).size() {
        let this = known.next_if(|known| known.rank == rank).map(|known| known.host.as_str());
        let first = profile.ranks.first().map_or("", |first| first.host.as_str());
        hosts.push(this.unwrap_or(hosts.last().copied().unwrap_or(first)));
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::RankProfile;

    #[test]
    fn ranks_without_a_profile_are_where_the_others_are() {
        let of = |rank, host: &str| RankProfile { rank, host: host.into(), ..RankProfile::default() };
        let profile =
            Profile { world_size: 6, ranks: vec![of(1, "a"), of(2, "b"), of(4, "c")], ..Profile::default() };
        assert_eq!(hosts(&profile), ["a", "a", "b", "b", "c", "c"]);
        assert!(graph(&profile, Asked::default()).unwrap_err().to_string().contains("--profile matrix"));
        assert!(hosts(&Profile::default()).is_empty());
    }
}
