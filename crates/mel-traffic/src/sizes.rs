//! How many messages of a pair have which size.

use std::collections::BTreeMap;

use crate::choice::Choice;
use crate::rows::Rows;

/// The chosen messages from one rank to another by the bin of their size ([`mel_log::profile::traffic::sizes_of_bin`]).
pub fn sizes(rows: &Rows<'_>, choice: &Choice, from: u32, to: u32) -> BTreeMap<u8, u64> {
    let mut sizes = BTreeMap::new();
    for (rank, row) in rows.chosen(choice) {
        let mut flows = false;
        rows.pairs(rank, row, |a, b| flows |= (a, b) == (from, to));
        if flows {
            for (bin, count) in &row.sizes {
                let sum: &mut u64 = sizes.entry(*bin).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use mel_log::profile::sample;
    use mel_log::profile::traffic::sizes_of_bin;

    #[test]
    fn sizes_are_those_of_the_messages_of_a_cell() {
        let profile = sample::traffic(6);
        let rows = Rows::of(&profile);
        let choice = Choice::of_kinds(&crate::choice::OF_PROGRAM);
        for (from, to, cell) in Matrix::of(&rows, &choice).cells {
            let sizes = sizes(&rows, &choice, from, to);
            assert_eq!(sizes.values().sum::<u64>(), cell.messages, "{from} to {to}");
            let least: u64 = sizes.iter().map(|(bin, count)| sizes_of_bin(usize::from(*bin)).0 * count).sum();
            let most: u64 = sizes.iter().map(|(bin, count)| sizes_of_bin(usize::from(*bin)).1 * count).sum();
            assert!((least..=most).contains(&cell.bytes), "{from} to {to}");
        }
    }
}
