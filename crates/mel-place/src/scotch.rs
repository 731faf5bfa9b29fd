//! The mapping of libscotch (Pellegrini and Roman, HPCN 1996), where it is installed. It is opened when it is asked for, and MEL needs it
//! neither to be built nor to run.

use std::ffi::{c_double, c_int};

use libloading::{Library, Symbol};
use thiserror::Error;

use crate::{Graph, Placement, Slots};

/// Under which names it is found: that of Debian, those of others.
const NAMES: [&str; 4] = ["libscotch-7.0.so", "libscotch.so.7.0", "libscotch.so.7", "libscotch.so"];
/// What has the function by which it reports errors, in releases that do not say themselves that they need it.
const ERRORS: [&str; 3] = ["libscotcherr-7.0.so", "libscotcherr.so.7.0", "libscotcherr.so"];
/// `SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE`.
const QUALITY_AND_BALANCE: i64 = 0x1 | 0x4;

/// Why there is no placement by libscotch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScotchError {
    /// It cannot be opened.
    #[error("not installed (Debian: libscotch-7.0)")]
    Absent,
    /// It lacks a function, or counts in numbers of an unknown size.
    #[error("of another version than 7.0")]
    OtherVersion,
    /// Its trees have the same number of branches everywhere.
    #[error("the nodes are not alike")]
    Uneven,
    /// It has given up.
    #[error("it has found nothing")]
    Failed,
}

/// A placement by libscotch. It is not safe to call it from several threads at once: libscotch has one generator of random numbers.
///
/// # Errors
/// [`ScotchError`].
pub fn scotch(graph: &Graph, slots: &Slots) -> Result<Placement, ScotchError> {
    let levels = slots.uniform().ok_or(ScotchError::Uneven)?;
    // SAFETY: opening a library runs its initialisers; those of libscotch's are none beyond the C library's.
    let open = |names: &[&str]| names.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
    // Stays open as long as the other one.
    let _errors = open(&ERRORS);
    let library = open(&NAMES).ok_or(ScotchError::Absent)?;
    // SAFETY: `SCOTCH_numSizeof` is `int (void)` in all releases that have it.
    let number =
        unsafe { library.get::<unsafe extern "C" fn() -> c_int>(b"SCOTCH_numSizeof\0").map(|size| size()) };
    let parts = match number {
        Ok(4) => map::<i32>(&library, graph, &levels)?,
        Ok(8) => map::<i64>(&library, graph, &levels)?,
        _ => return Err(ScotchError::OtherVersion),
    };
    Ok(spread(&parts, slots.len()))
}

/// The type `SCOTCH_Num` of a build.
trait Number: Copy + TryFrom<i64> + TryInto<i64> + 'static {}
impl Number for i32 {}
impl Number for i64 {}

/// Memory for one of libscotch's objects: larger than any of them in any release (the largest of 7.0 has 136 bytes), and aligned for it.
#[repr(C, align(16))]
struct Object([u8; 4096]);

impl Object {
    fn new() -> Box<Object> {
        Box::new(Object([0; 4096]))
    }
}

type Init = unsafe extern "C" fn(*mut Object) -> c_int;
type Exit = unsafe extern "C" fn(*mut Object);

/// Calls what releases an object when it goes.
struct Owned<'l> {
    object: Box<Object>,
    exit: Symbol<'l, Exit>,
}

impl<'l> Owned<'l> {
    fn new(library: &'l Library, init: &[u8], exit: &[u8]) -> Result<Owned<'l>, ScotchError> {
        // SAFETY: `SCOTCH_graphInit`, `SCOTCH_archInit` and `SCOTCH_stratInit` are `int (T *)`, their counterparts `void (T *)`.
        let (init, exit) = unsafe { (function::<Init>(library, init)?, function::<Exit>(library, exit)?) };
        let mut object = Object::new();
        // SAFETY: the object is memory of enough bytes (`Object`), which stays in its place as long as the box.
        match unsafe { init(&raw mut *object) } {
            0 => Ok(Owned { object, exit }),
            _ => Err(ScotchError::Failed),
        }
    }

    fn pointer(&mut self) -> *mut Object {
        &raw mut *self.object
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        let object = self.pointer();
        // SAFETY: the object was initialised by `new`, and nothing uses it any more.
        unsafe { (self.exit)(object) }
    }
}

/// A function of the library.
///
/// # Safety
/// `F` is its type.
unsafe fn function<'l, F>(library: &'l Library, name: &[u8]) -> Result<Symbol<'l, F>, ScotchError> {
    // SAFETY: the caller answers for the type.
    unsafe { library.get(name) }.map_err(|_| ScotchError::OtherVersion)
}

/// The leaf of the tree for each rank. Several ranks may get the same one.
fn map<N: Number>(
    library: &Library,
    graph: &Graph,
    levels: &[(usize, u64)],
) -> Result<Vec<i64>, ScotchError> {
    type Build<N> = unsafe extern "C" fn(
        *mut Object,
        N,
        N,
        *const N,
        *const N,
        *const N,
        *const N,
        N,
        *const N,
        *const N,
    ) -> c_int;
    type Tleaf<N> = unsafe extern "C" fn(*mut Object, N, *const N, *const N) -> c_int;
    type Strategy<N> = unsafe extern "C" fn(*mut Object, N, N, c_double) -> c_int;
    type Map<N> = unsafe extern "C" fn(*mut Object, *const Object, *mut Object, *mut N) -> c_int;
    // SAFETY: `void (void)`.
    unsafe { function::<unsafe extern "C" fn()>(library, b"SCOTCH_randomReset\0")?() };
    // SAFETY: the types are those of scotch.h of release 7.0 with a `SCOTCH_Num` of the size that the library has just said.
    let (build, tleaf, strategy, map) = unsafe {
        (
            function::<Build<N>>(library, b"SCOTCH_graphBuild\0")?,
            function::<Tleaf<N>>(library, b"SCOTCH_archTleaf\0")?,
            function::<Strategy<N>>(library, b"SCOTCH_stratGraphMapBuild\0")?,
            function::<Map<N>>(library, b"SCOTCH_graphMap\0")?,
        )
    };
    let number = |value: i64| N::try_from(value).map_err(|_| ScotchError::Failed);
    let numbers = |values: &mut dyn Iterator<Item = i64>| values.map(number).collect::<Result<Vec<N>, _>>();

    let ranks = graph.ranks();
    let weights = weights(graph);
    let mut begin = 0;
    let starts = numbers(&mut (0..=ranks).map(|rank| {
        let start = begin;
        begin += if rank < ranks { graph.neighbours(rank as u32).len() as i64 } else { 0 };
        start
    }))?;
    let all = |rank| graph.neighbours(rank as u32).iter();
    let others = numbers(&mut (0..ranks).flat_map(|rank| all(rank).map(|edge| i64::from(edge.0))))?;
    let weights = numbers(&mut weights.into_iter())?;
    let sizes = numbers(&mut levels.iter().map(|level| level.0 as i64))?;
    let links = numbers(&mut levels.iter().map(|level| level.1.max(1) as i64))?;
    let mut parts = vec![number(0)?; ranks];
    let (zero, vertices, edges) = (number(0)?, number(ranks as i64)?, number(others.len() as i64)?);

    let mut of_graph = Owned::new(library, b"SCOTCH_graphInit\0", b"SCOTCH_graphExit\0")?;
    let mut of_tree = Owned::new(library, b"SCOTCH_archInit\0", b"SCOTCH_archExit\0")?;
    let mut of_strategy = Owned::new(library, b"SCOTCH_stratInit\0", b"SCOTCH_stratExit\0")?;
    // SAFETY: all objects are initialised. The graph borrows `starts`, `others` and `weights`, which live until the end of this function,
    // longer than the call that reads them; they have `ranks` + 1, `edges` and `edges` entries, as `SCOTCH_graphBuild` wants them with no
    // separate array of ends and neither weights nor names of vertices. Sizes and links have an entry for each level; `parts` has room for
    // each rank.
    let failed = unsafe {
        let none = std::ptr::null();
        build(
            of_graph.pointer(),
            zero,
            vertices,
            starts.as_ptr(),
            none,
            none,
            none,
            edges,
            others.as_ptr(),
            weights.as_ptr(),
        ) != 0
            || tleaf(of_tree.pointer(), number(levels.len() as i64)?, sizes.as_ptr(), links.as_ptr()) != 0
            || strategy(of_strategy.pointer(), number(QUALITY_AND_BALANCE)?, vertices, 0.0) != 0
            || map(of_graph.pointer(), of_tree.pointer(), of_strategy.pointer(), parts.as_mut_ptr()) != 0
    };
    if failed {
        return Err(ScotchError::Failed);
    }
    Ok(parts.into_iter().map(|part| part.try_into().unwrap_or(-1)).collect())
}

/// The weights of all edges, so small that their sum times the greatest distance fits into 31 bits; none is 0.
fn weights(graph: &Graph) -> Vec<i64> {
    const MOST: u128 = 1 << 25;
    let total = graph.total().max(1);
    let all = (0..graph.ranks() as u32).flat_map(|rank| graph.neighbours(rank));
    let scaled = all.map(|(_, bytes)| match total {
        small if small <= MOST => *bytes as i64,
        _ => (u128::from(*bytes) * MOST / total) as i64,
    });
    scaled.map(|weight| weight.max(1)).collect()
}

/// A placement from leaves: where several ranks have the same one, all but the first go to the nearest in order that is free.
fn spread(parts: &[i64], slots: usize) -> Placement {
    let mut order: Vec<u32> = (0..parts.len() as u32).collect();
    order.sort_by_key(|rank| parts[*rank as usize]);
    let mut placement = vec![0; parts.len()];
    for (slot, rank) in order.into_iter().enumerate().take(slots) {
        placement[rank as usize] = slot as u32;
    }
    placement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic;

    #[test]
    fn each_rank_gets_a_slot_of_its_own() {
        assert_eq!(spread(&[3, 0, 0, 2], 4), [3, 0, 1, 2]);
        assert_eq!(spread(&[0, 0, 3, -1], 4), [1, 2, 3, 0]);
    }

    #[test]
    fn where_it_is_installed_it_maps() {
        let slots = Slots::new(&synthetic::parse("node:2 pack:2 core:2").unwrap(), &["a"; 8], &[]);
        // A ring whose ranks are far from each other.
        let graph = Graph::new(8, (0..8).map(|rank| (rank, (rank + 3) % 8, 1 << 40)));
        match scotch(&graph, &slots) {
            Ok(placement) => {
                let mut taken = placement.clone();
                taken.sort_unstable();
                assert_eq!(taken, (0..8).collect::<Vec<_>>());
                assert_eq!(crate::cost(&graph, &slots, &placement).between_nodes, 2 << 40);
            }
            Err(error) => assert_eq!(error, ScotchError::Absent),
        }
    }
}
