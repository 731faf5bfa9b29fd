//! Messages whose ends do not fit, and buffers that two operations use at the same time: what `mel run --check` records of types and
//! addresses.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::profile::quantities::Basis;
use mel_log::profile::remarks::{Mistake, Remark};
use mel_log::profile::text::layout::ranks as ranks_in_words;
use mpi_functions::signature::Signature;

use super::{elements, times};
use crate::model::Site;
use crate::units::Unit;

/// What the check inside the program has noticed, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noticed {
    /// The second call has used the buffer of an operation that the first one had started, and that was not complete.
    Overlap(Site, Site),
    /// A call has received a message that is longer than there was room for.
    Truncated(Site),
    /// It is not known any more which messages of the rank are which.
    Shifted,
}

/// Who, and how often.
#[derive(Clone, Debug, Default)]
struct Who {
    ranks: BTreeSet<u32>,
    /// The other side, of messages.
    others: BTreeSet<u32>,
    count: u64,
}

/// What is kept of the run for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// By the calls that send and receive, with what was sent and received in them first.
    types: BTreeMap<(Site, Site), (Signature, Signature, Who)>,
    noticed: BTreeMap<Noticed, Who>,
}

impl Data {
    /// Messages of a call are complete: those that it receives are looked at.
    pub(super) fn unit(&mut self, unit: &Unit) {
        for part in unit.parts.iter().filter(|part| !part.sends && part.own.bytes > 0) {
            let (sent, received) = (part.other.signature, part.own.signature);
            if sent.may_match(received) {
                continue;
            }
            let sites = (part.other.call.site, part.own.call.site);
            let new = || (sent, received, Who::default());
            let (_, _, who) = self.types.entry(sites).or_insert_with(new);
            who.ranks.insert(part.other.call.rank);
            who.others.insert(part.own.call.rank);
            who.count += 1;
        }
    }

    /// Something was noticed about a rank.
    pub(super) fn noticed(&mut self, rank: u32, noticed: Noticed) {
        let who = self.noticed.entry(noticed).or_default();
        who.ranks.insert(rank);
        who.count += 1;
    }

    /// A remark for each pair of calls whose types do not fit. `at` names a call by its site.
    pub(super) fn types(&mut self, at: &dyn Fn(Site) -> String) -> Vec<Remark> {
        let types = std::mem::take(&mut self.types);
        let remarks = types.into_iter().filter_map(|((send, receive), (sent, received, who))| {
            let count = who.count;
            who.remark(Mistake::TypesDiffer, &|ranks, others| {
                format!(
                    "{ranks} sent {} in {} that {others} received as {} in {}{}",
                    elements(sent),
                    at(send),
                    elements(received),
                    at(receive),
                    times(count),
                )
            })
        });
        remarks.collect()
    }

    /// A remark for each thing that was noticed.
    pub(super) fn noticed_remarks(self, at: &dyn Fn(Site) -> String) -> Vec<Remark> {
        let remarks = self.noticed.into_iter().filter_map(|(noticed, who)| {
            let count = who.count;
            match noticed {
                Noticed::Shifted => None,
                Noticed::Overlap(first, second) => who.remark(Mistake::BufferInUse, &|ranks, _| {
                    format!(
                        "{ranks} used in {} the buffer of {}, which was not complete{}",
                        at(second),
                        at(first),
                        times(count),
                    )
                }),
                Noticed::Truncated(site) => who.remark(Mistake::Truncated, &|ranks, _| {
                    format!(
                        "{ranks} had too little room in {} for a message, which was cut off{}",
                        at(site),
                        times(count),
                    )
                }),
            }
        });
        remarks.collect()
    }
}

impl Who {
    /// A remark about them; `text` is given both sides in words.
    fn remark(self, kind: Mistake, text: &dyn Fn(&str, &str) -> String) -> Option<Remark> {
        let words = |ranks: &BTreeSet<u32>| ranks_in_words(&ranks.iter().copied().collect::<Vec<_>>());
        let text = text(&words(&self.ranks)?, &words(&self.others).unwrap_or_default());
        let ranks: BTreeSet<u32> = self.ranks.union(&self.others).copied().collect();
        let basis = Basis::Observed.word("").into();
        Some(Remark { kind, ranks: ranks.into_iter().collect(), count: self.count, basis, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Call;
    use crate::testing::{call, side};
    use crate::units::Part;
    use mpi_functions::signature::Basic;

    fn of(name: &str, bytes: u64) -> Signature {
        Signature::of(&[Basic::named(name, bytes).unwrap().0])
    }

    #[test]
    fn a_message_whose_ends_have_other_types_is_told_once_with_both_calls() {
        let unit = |sends, sent, received| {
            let at = |rank, site| Call { site, ..call(rank, (0, 1)) };
            let mut own = side(0, (0, 1), 1);
            let mut other = side(1, (0, 1), 0);
            (own.call, own.signature, other.call, other.signature) = (at(0, 1), received, at(1, 0), sent);
            Unit { call: own.call, entered: 0, parts: vec![Part { sends, own, other }] }
        };
        let (int, double) = (of("MPI_INT", 4), of("MPI_DOUBLE", 8));
        let mut data = Data::default();
        data.unit(&unit(false, int, double));
        data.unit(&unit(false, int, double));
        data.unit(&unit(true, double, int));
        data.unit(&unit(false, int, int));
        data.unit(&unit(false, int, Signature::default()));
        data.noticed(2, Noticed::Overlap(0, 1));
        data.noticed(3, Noticed::Truncated(1));
        let at = |site| format!("call {site}");
        let mut remarks = data.types(&at);
        remarks.extend(data.noticed_remarks(&at));
        let text: Vec<String> = remarks.into_iter().map(|remark| remark.text).collect();
        assert_eq!(
            text,
            [
                "rank 1 sent 4-byte integers in call 0 that rank 0 received as 8-byte floating-point numbers in call 1 (2 times)",
                "rank 2 used in call 1 the buffer of call 0, which was not complete",
                "rank 3 had too little room in call 1 for a message, which was cut off",
            ]
        );
    }
}
