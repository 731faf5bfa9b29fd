//! Rows of what was sent, and what variables read from them. It knows no MPI.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hashbrown::HashMap;
use mpit_vars::direct::OfThread;
use mpit_vars::store::{Amount, BINS, Everything, Kind, OfCommunicator, Shape, bin};
use rustc_hash::FxBuildHasher;

/// `MPI_COMM_WORLD` among the communicators.
pub(super) const WORLD: u64 = 0;
/// Of communication through a window.
pub(super) const NO_COMMUNICATOR: u64 = u64::MAX;
/// Rows beyond that are not made: programs that make communicators again and again would fill the memory.
const MOST_ROWS: usize = 1 << 20;

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// The rank of this process in it; none in the other group of an intercommunicator.
    pub(super) own: Option<usize>,
    /// The ranks in `MPI_COMM_WORLD` of the processes that data goes to; negative for those of another job.
    pub(super) ranks: Vec<i32>,
}

/// Whom data goes to, or comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whom {
    /// A process, with its rank in the communicator and in `MPI_COMM_WORLD`; negative where it has none.
    One { rank: i32, world: i32 },
    /// Each other one.
    Each,
    /// Each one of higher rank.
    Above,
}

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) communicator: u64,
    pub(super) whom: Whom,
    /// Of a collective operation: its number, and its shape.
    pub(super) operation: Option<(u16, Shape)>,
    /// The only thread that writes it.
    pub(super) thread: u16,
}

/// What was sent to one process, or in one kind of collective operation, by one thread.
#[derive(Debug)]
pub(super) struct Row {
    place: Place,
    messages: AtomicU64,
    /// To each destination.
    bytes: AtomicU64,
    sizes: Option<Box<[AtomicU64; BINS]>>,
    /// What the thread has sent in all, where this counts there, too.
    total: Option<&'static OfThread>,
}

impl Row {
    fn new(place: Place, total: Option<&'static OfThread>) -> Row {
        let sizes = (place.kind == Kind::Message).then(|| Box::new([const { AtomicU64::new(0) }; BINS]));
        Row { place, messages: AtomicU64::new(0), bytes: AtomicU64::new(0), sizes, total }
    }

    /// Counts a message of so many bytes. On the thread that the row is of.
    #[inline]
    pub(super) fn count(&self, bytes: u64) {
        let add = |count: &AtomicU64, more: u64| count.store(count.load(Relaxed).wrapping_add(more), Relaxed);
        add(&self.messages, 1);
        add(&self.bytes, bytes);
        if let Some(sizes) = &self.sizes {
            add(&sizes[bin(bytes)], 1);
        }
        if let Some(total) = self.total {
            total.count(bytes);
        }
    }

    fn amount(&self) -> Amount {
        Amount { messages: self.messages.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }
}

/// All rows. They live as long as the process.
#[derive(Debug, Default)]
pub(super) struct Counts {
    rows: HashMap<Place, &'static Row, FxBuildHasher>,
    groups: Vec<Group>,
    /// Whether messages and one-sided operations to this process itself count, too.
    pub(super) counts_self: bool,
    /// All-to-one operations with this process as root, by communicator.
    to_here: HashMap<u64, Amount, FxBuildHasher>,
}

impl Counts {
    /// A communicator that was not there before; the first one is `MPI_COMM_WORLD`.
    pub(super) fn add(&mut self, group: Group) -> u64 {
        self.groups.push(group);
        self.groups.len() as u64 - 1
    }

    pub(super) fn group(&self, communicator: u64) -> Option<&Group> {
        self.groups.get(usize::try_from(communicator).ok()?)
    }

    /// The row for this; `None` where there are too many.
    pub(super) fn row(&mut self, place: Place) -> Option<&'static Row> {
        self.counted_row(place, None)
    }

    /// The same, of what counts in a total of the thread, too.
    pub(super) fn counted_row(
        &mut self,
        place: Place,
        total: Option<&'static OfThread>,
    ) -> Option<&'static Row> {
        if let Some(row) = self.rows.get(&place) {
            return Some(row);
        }
        if self.rows.len() >= MOST_ROWS {
            return None;
        }
        let row: &'static Row = Box::leak(Box::new(Row::new(place, total)));
        self.rows.insert(place, row);
        Some(row)
    }

    /// This process was the root of an all-to-one operation, and has got so many bytes.
    pub(super) fn received_as_root(&mut self, communicator: u64, bytes: u64) {
        let amount = self.to_here.entry(communicator).or_default();
        *amount = amount.plus(Amount { messages: 1, bytes });
    }

    /// Whether what goes there goes to this process itself.
    pub(super) fn is_self(&self, communicator: u64, whom: Whom) -> bool {
        let Whom::One { rank, world } = whom else { return false };
        let own_world = self.group(WORLD).and_then(|world| world.own).map_or(-1, |own| own as i32);
        let own = self.group(communicator).and_then(|group| group.own).map_or(-1, |own| own as i32);
        if world >= 0 { world == own_world } else { rank >= 0 && rank == own }
    }

    /// The destinations of a row, by rank in its communicator and in `MPI_COMM_WORLD`. Not this process itself, unless that counts, too.
    fn destinations(&self, place: &Place, mut each: impl FnMut(i32, i32)) {
        let group = self.group(place.communicator);
        let first = match place.whom {
            Whom::One { rank, world } => {
                let counts_self = self.counts_self && place.kind != Kind::Collective;
                if counts_self || !self.is_self(place.communicator, place.whom) {
                    each(rank, world);
                }
                return;
            }
            Whom::Each => 0,
            Whom::Above => group.and_then(|group| group.own).map_or(0, |own| own + 1),
        };
        let Some(group) = group else { return };
        for (rank, &world) in group.ranks.iter().enumerate().skip(first) {
            if Some(rank) != group.own {
                each(rank as i32, world);
            }
        }
    }

    /// What of a kind went to each process of a communicator: of `MPI_COMM_WORLD` on whatever communicator, of others on
    /// that one; through windows by process.
    pub(super) fn by_peer(&self, communicator: u64, kind: Kind, each: &mut dyn FnMut(usize, Amount)) {
        let through_windows = matches!(kind, Kind::Put | Kind::Get);
        let ranks: HashMap<i32, usize, FxBuildHasher> = match self.group(communicator) {
            Some(group) if through_windows && communicator != WORLD => {
                group.ranks.iter().enumerate().map(|(rank, &world)| (world, rank)).collect()
            }
            _ => HashMap::default(),
        };
        let rows = self.rows.values().filter(|row| {
            let all = communicator == WORLD || through_windows;
            row.place.kind == kind && (all || row.place.communicator == communicator)
        });
        for row in rows {
            let amount = row.amount();
            self.destinations(&row.place, |rank, world| {
                let place = if communicator == WORLD {
                    usize::try_from(world).ok()
                } else if through_windows {
                    ranks.get(&world).copied()
                } else {
                    usize::try_from(rank).ok()
                };
                place.into_iter().for_each(|place| each(place, amount));
            });
        }
    }

    /// The collective operations of a shape on a communicator. Where a call has several rows, because its destinations get
    /// different parts, the one with the most messages says how many calls there were.
    pub(super) fn operations(&self, communicator: u64, shape: Shape) -> Amount {
        if shape == Shape::AllToOne {
            return self.to_here.get(&communicator).copied().unwrap_or_default();
        }
        let (mut sum, mut parts) = (Amount::default(), BTreeMap::<(u16, u16), u64>::new());
        for row in self.rows.values() {
            let Some((number, of)) = row.place.operation else { continue };
            if of != shape || row.place.communicator != communicator {
                continue;
            }
            let amount = row.amount();
            self.destinations(&row.place, |_, _| sum.bytes = sum.bytes.wrapping_add(amount.bytes));
            if let Whom::One { .. } = row.place.whom {
                let most = parts.entry((number, row.place.thread)).or_default();
                *most = (*most).max(amount.messages);
            } else {
                sum.messages = sum.messages.wrapping_add(amount.messages);
            }
        }
        sum.messages = parts.values().fold(sum.messages, |sum, most| sum.wrapping_add(*most));
        sum
    }

    /// All of it, without the names of communicators. Processes of other jobs have no rank to stand under.
    pub(super) fn everything(&self) -> Everything {
        let rank = self.group(WORLD).and_then(|world| world.own).unwrap_or(0) as u32;
        let mut everything = Everything { rank, ..Everything::default() };
        for row in self.rows.values() {
            let amount = row.amount();
            self.destinations(&row.place, |_, world| {
                let Ok(world) = u32::try_from(world) else { return };
                let peer = everything.peers.entry((row.place.kind, world)).or_default();
                peer.amount = peer.amount.plus(amount);
                let Some(sizes) = &row.sizes else { return };
                peer.sizes.resize(BINS, 0);
                for (sum, count) in peer.sizes.iter_mut().zip(sizes.iter()) {
                    *sum = sum.wrapping_add(count.load(Relaxed));
                }
            });
        }
        for (id, group) in (0..).zip(&self.groups) {
            let ranks = group.ranks.iter().filter_map(|&rank| u32::try_from(rank).ok()).collect();
            let operations =
                [Shape::OneToAll, Shape::AllToOne, Shape::AllToAll].map(|shape| self.operations(id, shape));
            let of = OfCommunicator { name: String::new(), ranks, operations };
            everything.communicators.insert(id, of);
        }
        everything
    }
}

#[cfg(test)]
#[path = "counts_tests.rs"]
mod tests;
