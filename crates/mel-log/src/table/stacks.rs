//! Rows of stacks: where the thread that calls MPI was while it was outside of MPI.

use super::row::{Column, row};

/// The most frames of a stack that a row has: the innermost ones.
pub const MAX_FRAMES: usize = 13;

/// What a row of stacks stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackKey {
    /// The phase.
    pub phase: u16,
    /// Addresses behind the instructions, the innermost first; 0 beyond the last one.
    pub frames: [u64; MAX_FRAMES],
}

row! {
    /// Samples with one stack, in one phase: 128 bytes.
    #[repr(C, align(64))]
    pub struct Stack =>
    /// A row as plain values.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    StackRow of StackKey;
    /// How many samples.
    sum samples;
    /// The phase.
    key phase: Column;
    /// Addresses behind the instructions, the innermost first; 0 beyond the last one.
    key frames: [Column; MAX_FRAMES];
    /// Not used.
    unused unused: Column;
}

impl Stack {
    /// What it stands for.
    pub(super) fn key(&self) -> StackKey {
        StackKey { phase: self.phase.get() as u16, frames: self.frames.each_ref().map(Column::get) }
    }

    pub(super) fn set_key(&self, key: &StackKey) {
        self.phase.set(key.phase.into());
        self.frames.iter().zip(key.frames).for_each(|(column, frame)| column.set(frame));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Identity, ProfileTable, TableRows};

    #[test]
    fn a_row_comes_back() {
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        let mut key = StackKey { phase: 3, ..StackKey::default() };
        key.frames[..2].copy_from_slice(&[70, 80]);
        let row = table.add_stack(&key).unwrap();
        table.stack(row).samples.add(5);
        let rows = table.rows();
        assert_eq!(rows.stacks, [StackRow { key, samples: 5 }]);
        assert_eq!(TableRows::of_image(&table.image(0)).unwrap().stacks, rows.stacks);
        table.clear(0);
        assert_eq!(table.rows().stacks[0].samples, 0);
    }
}
