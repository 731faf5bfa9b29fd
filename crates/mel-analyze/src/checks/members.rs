//! Ranks that come to one collective operation with other functions, roots, amounts, operations or types.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::format::OF_THE_PROGRAM;
use mel_log::number::size;
use mel_log::profile::quantities::Basis;
use mel_log::profile::remarks::{Mistake, Remark};
use mel_log::profile::text::layout::ranks as ranks_in_words;
use mpi_functions::signature::Signature;
use mpi_functions::{Function, REDUCTIONS};

use super::{elements, times};
use crate::model::{Entry, Site};
use crate::names::{Names, Processes};
use crate::operations::Operation;

/// What does not fit in an operation, with the calls of two members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Differing {
    Function(Site, Site),
    Root((Site, i32), (Site, i32)),
    /// Members are to give the same amount.
    Bytes((Site, u64), (Site, u64)),
    /// What all send, and what all receive.
    Sums(Site, u64, u64),
    /// Operations of a reduction: places among the predefined ones plus 1.
    Reduction((Site, u16), (Site, u16)),
    Types((Site, Signature), (Site, Signature)),
}

impl Differing {
    /// What is one remark: what does not fit, in which calls. Amounts and roots may be others each time.
    fn key(&self) -> (u8, Site, Site) {
        match *self {
            Differing::Function(first, second) => (0, first, second),
            Differing::Root((first, _), (second, _)) => (1, first, second),
            Differing::Bytes((first, _), (second, _)) => (2, first, second),
            Differing::Sums(site, ..) => (3, site, site),
            Differing::Reduction((first, _), (second, _)) => (4, first, second),
            Differing::Types((first, _), (second, _)) => (5, first, second),
        }
    }
}

/// Who had what does not fit, and how often.
#[derive(Clone, Debug)]
struct Who {
    /// The first time.
    differing: Differing,
    ranks: BTreeSet<u32>,
    communicators: BTreeSet<u32>,
    count: u64,
}

/// What does not fit, by what is one remark.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(BTreeMap<(u8, Site, Site), Who>);

impl Members {
    /// A process leaves an operation, the last one to do so or not: whether it has come with the same as whoever entered first.
    pub(super) fn compare(
        &mut self,
        entry: &Entry,
        (operation, is_last): (&Operation, bool),
        names: &Names,
        of: &Processes,
    ) {
        // Which operation on a file it is, is not known where a rank has several open.
        let is_of_file = entry.number & 1 == 1;
        let Some(first) = operation.entries.first().filter(|_| of.remote.is_none() && !is_of_file) else {
            return;
        };
        let about = |entry: &Entry| names.about(entry.call.function);
        let (Some(own), Some(other)) = (about(entry), about(first)) else { return };
        let sites = (first.call.site, entry.call.site);
        let mut ranks = vec![first.call.rank, entry.call.rank];
        let differing = if own.plain() != other.plain() {
            Differing::Function(sites.0, sites.1)
        } else if first.root != entry.root && first.root.min(entry.root) >= 0 {
            Differing::Root((sites.0, first.root), (sites.1, entry.root))
        } else if first.reduction != entry.reduction && first.reduction.min(entry.reduction) > 0 {
            Differing::Reduction((sites.0, first.reduction), (sites.1, entry.reduction))
        } else if !first.signature.may_match(entry.signature) {
            Differing::Types((sites.0, first.signature), (sites.1, entry.signature))
        } else if is_alike(own) && !are_as_much(first.moved.0, entry.moved.0, of.members.len()) {
            Differing::Bytes((sites.0, first.moved.0), (sites.1, entry.moved.0))
        } else if is_last && has_sums(own) && has_root(own, entry.root, of.members.len()) {
            let sum =
                |of: &dyn Fn(&Entry) -> u64| operation.entries.iter().map(of).fold(0, u64::saturating_add);
            let (sent, received) = (sum(&|entry| entry.moved.0), sum(&|entry| entry.moved.1));
            let fits = |other: &Entry| {
                other.root == first.root && about(other).is_some_and(|about| about.plain() == own.plain())
            };
            if sent == received || !operation.entries.iter().all(fits) {
                return;
            }
            ranks = operation.entries.iter().map(|entry| entry.call.rank).collect();
            Differing::Sums(sites.0, sent, received)
        } else {
            return;
        };
        let new = || Who { differing, ranks: BTreeSet::new(), communicators: BTreeSet::new(), count: 0 };
        let who = self.0.entry(differing.key()).or_insert_with(new);
        who.ranks.extend(ranks);
        who.communicators.insert(entry.communicator);
        who.count += 1;
    }

    /// A remark for each. `at` names a call by its site.
    pub(super) fn remarks(self, names: &Names, at: &dyn Fn(Site) -> String) -> Vec<Remark> {
        self.0.into_values().filter_map(|who| who.remark(names, at)).collect()
    }
}

impl Who {
    fn remark(self, names: &Names, at: &dyn Fn(Site) -> String) -> Option<Remark> {
        let size = |bytes: u64| size(bytes as f64);
        let what = match &self.differing {
            Differing::Function(first, second) => {
                format!("came to one operation with {} and {}", at(*first), at(*second))
            }
            Differing::Root(first, second) if first.0 == second.0 => {
                format!("gave {} and {} as the root of one {}", first.1, second.1, at(first.0))
            }
            Differing::Root(first, second) => format!(
                "gave different roots to one operation, {} in {} and {} in {}",
                first.1,
                at(first.0),
                second.1,
                at(second.0)
            ),
            Differing::Bytes(first, second) => format!(
                "came to one operation with different amounts of data, {} in {} and {} in {}",
                size(first.1),
                at(first.0),
                size(second.1),
                at(second.0)
            ),
            Differing::Reduction(first, second) if first.0 == second.0 => {
                format!("gave {} and {} to one {}", reduction(first.1), reduction(second.1), at(first.0))
            }
            Differing::Reduction(first, second) => format!(
                "gave different operations to one reduction, {} in {} and {} in {}",
                reduction(first.1),
                at(first.0),
                reduction(second.1),
                at(second.0)
            ),
            Differing::Types(first, second) => format!(
                "gave different types to one operation, {} in {} and {} in {}",
                elements(first.1),
                at(first.0),
                elements(second.1),
                at(second.0)
            ),
            Differing::Sums(site, sent, received) => format!(
                "gave counts to {} that do not fit: all together send {} and receive {}",
                at(*site),
                size(*sent),
                size(*received)
            ),
        };
        let ranks: Vec<u32> = self.ranks.into_iter().collect();
        let on = match self.communicators.len() {
            1 => self.communicators.first().and_then(|of| names.communicator(*of)).map(|of| of.name.clone()),
            many => Some(format!("{many} communicators")),
        };
        let on = on.map_or(String::new(), |on| format!(", on {on}"));
        let times = times(self.count);
        let text = format!("{} {what}{on}{times}", ranks_in_words(&ranks)?);
        let basis = Basis::Observed.word("").into();
        Some(Remark { kind: Mistake::CollectivesDiffer, ranks, count: self.count, basis, text })
    }
}

/// The operation of a reduction in words.
fn reduction(number: u16) -> &'static str {
    match number {
        OF_THE_PROGRAM => "an operation of the program's own",
        number => REDUCTIONS.get(usize::from(number).wrapping_sub(1)).unwrap_or(&"an unknown operation"),
    }
}

/// Whether two of the members move as much: what one has in place it does not send to itself.
fn are_as_much(one: u64, other: u64, members: usize) -> bool {
    let (all, others) = (members as u128, members.saturating_sub(1) as u128);
    let (one, other) = (u128::from(one), u128::from(other));
    one == other || one * others == other * all || one * all == other * others
}

/// Whether each member moves as much as any other.
fn is_alike(function: &Function) -> bool {
    use mpi_functions::Operation::{Allgather, Allreduce, Alltoall, ReduceScatterBlock};
    matches!(function.operation(), Some(Allreduce | Allgather | Alltoall | ReduceScatterBlock))
}

/// Whether the operation has a root among so many members, if it has one at all: a call with another one fails, and moves nothing.
fn has_root(function: &Function, root: i32, members: usize) -> bool {
    use mpi_functions::Direction::{FromRoot, ToRoot};
    let is_rooted = function.operation().is_some_and(|of| matches!(of.direction(), FromRoot | ToRoot));
    !is_rooted || usize::try_from(root).is_ok_and(|root| root < members)
}

/// Whether all members together send what they receive.
fn has_sums(function: &Function) -> bool {
    use mpi_functions::Operation;
    match function.operation() {
        None | Some(Operation::Scan | Operation::Exscan | Operation::Barrier) => false,
        // The neighbours of an operation are not known to be the same on both sides.
        Some(operation) => operation.waits() != mpi_functions::Waits::Neighbours,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Call;
    use crate::testing::{call, named as names};
    use mpi_functions::signature::Basic;

    #[test]
    fn members_that_come_with_something_else_are_named() {
        let mut names = names(&["MPI_Bcast", "MPI_Reduce", "MPI_Bcast_c"]);
        let of = Processes { name: "world".into(), members: vec![0, 1], ..Processes::default() };
        names.communicators.push(of.clone());
        let of_rank = |rank, function, root, moved| {
            let call = Call { function, site: rank, ..call(rank, (1, 2)) };
            Entry { root, moved, ..Entry::blocking(call, 0) }
        };
        let said = |first: Entry, second: Entry| {
            let mut operation = Operation::default();
            [first, second].iter().for_each(|entry| operation.enter(*entry));
            let mut differing = Members::default();
            differing.compare(&first, (&operation, false), &names, &of);
            differing.compare(&second, (&operation, true), &names, &of);
            differing
                .remarks(&names, &|site| format!("call {site}"))
                .into_iter()
                .map(|remark| remark.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(said(of_rank(0, 0, 0, (16, 8)), of_rank(1, 2, 0, (0, 8))), [""; 0]);
        assert!(
            said(of_rank(0, 0, 0, (8, 8)), of_rank(1, 1, 0, (0, 8)))[0].contains("came to one operation")
        );
        let roots = said(of_rank(0, 0, 0, (8, 8)), of_rank(1, 0, 1, (0, 8)));
        assert!(roots.len() == 1 && roots[0].contains("different roots"), "{roots:?}");
        assert!(are_as_much(64, 48, 4) && are_as_much(48, 64, 4) && !are_as_much(64, 32, 4));
        let sums = said(of_rank(0, 0, 0, (16, 8)), of_rank(1, 0, 0, (0, 64)));
        assert!(sums[0].contains("send 16 B and receive 72 B, on world"), "{sums:?}");
        let reducing = |rank, reduction| Entry { reduction, ..of_rank(rank, 1, 0, (8, 8)) };
        assert_eq!(said(reducing(0, 1), reducing(1, 1)), [""; 0]);
        assert_eq!(said(reducing(0, 1), reducing(1, 0)), [""; 0]);
        let reductions = said(reducing(0, 1), reducing(1, OF_THE_PROGRAM));
        assert!(reductions[0].contains("MPI_SUM in call 0 and an operation of the program's own in call 1"));
        let of = |name, bytes| Signature::of(&[Basic::named(name, bytes).unwrap().0]);
        let typed = |rank, signature| Entry { signature, ..of_rank(rank, 0, 0, (8, 8)) };
        assert_eq!(said(typed(0, of("MPI_INT", 4)), typed(1, of("MPI_INTEGER", 4))), [""; 0]);
        let types = said(typed(0, of("MPI_INT", 4)), typed(1, of("MPI_FLOAT", 4)));
        assert!(types[0].contains("4-byte integers in call 0 and 4-byte floating-point numbers in call 1"));
    }
}
