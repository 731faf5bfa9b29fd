//! The bytes of a run.

use mel_log::profile::Profile;
use mel_place::Graph;
use mel_traffic::choice::Asked;
use mel_traffic::{Cell, Choice, ChoiceError, Matrix, Rows};

use super::Of;

/// Who exchanges how much with whom, in what was asked for; without any choice in all that the program asks for.
///
/// # Errors
/// [`ChoiceError`]: the profile does not say so, or has nothing of such a name.
pub fn graph(profile: &Profile, asked: Asked<'_>, of: Of) -> Result<Graph, ChoiceError> {
    let rows = Rows::of(profile);
    let matrix = Matrix::of(&rows, &Choice::of(&rows, asked)?);
    let weight = |cell: &Cell| match of {
        Of::Bytes => cell.bytes,
        Of::Messages => cell.messages,
    };
    let cells = matrix.cells.into_iter().map(|(sender, receiver, cell)| (sender, receiver, weight(&cell)));
    Ok(Graph::new(rows.size(), cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::RankProfile;

    #[test]
    fn a_profile_without_traffic_has_no_graph() {
        let profile = Profile { world_size: 2, ranks: vec![RankProfile::default()], ..Profile::default() };
        assert!(
            graph(&profile, Asked::default(), Of::Bytes)
                .unwrap_err()
                .to_string()
                .contains("--profile matrix")
        );
    }
}
