//! Doubly linked lists in a slab: the queues of the model.
//!
//! Cost: ob1's queues are linked lists, and so are these, because the *length of a search* is what
//! is observed. Appending and removing are constant; nothing is allocated once the slab has grown
//! to the largest number of entries. Entries are filled in place, field by field: a value that is
//! put together elsewhere and then copied is loaded before its stores have left the processor.

const NONE: u32 = u32::MAX;

/// An entry, with what links it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node<T> {
    next: u32,
    prev: u32,
    live: bool,
    value: T,
}

/// Entries that may be in one [`List`] each.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    nodes: Vec<Node<T>>,
    vacant: u32,
    len: usize,
    /// How many are in a list.
    listed: usize,
}

/// A list of a slab's entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(crate) const EMPTY: List = List { head: NONE, tail: NONE };

    pub(crate) fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// The first entry.
    #[inline]
    pub(crate) fn first(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

impl<T> Node<T> {
    /// The value, if the entry is in use.
    pub(crate) fn value(&self) -> Option<&T> {
        self.live.then_some(&self.value)
    }
}

impl<T: Default> Slab<T> {
    /// Where the entries of a slab are, without a look at it.
    pub(crate) fn place(slab: *const Slab<T>) -> *const Vec<Node<T>> {
        // Nothing is read: it is an address.
        slab.wrapping_byte_add(std::mem::offset_of!(Slab<T>, nodes)).cast()
    }

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Slab { nodes: Vec::with_capacity(capacity), vacant: NONE, len: 0, listed: 0 }
    }

    /// Takes an entry into use, whose value is what it was when it was last used: fill it in.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> (u32, &mut T) {
        self.len += 1;
        if self.vacant == NONE {
            self.grow();
        }
        let index = self.vacant;
        let node = &mut self.nodes[index as usize];
        self.vacant = node.next;
        node.next = NONE;
        node.prev = NONE;
        node.live = true;
        (index, &mut node.value)
    }

    /// Whether an entry can be taken without asking for memory.
    pub(crate) fn has_room(&self) -> bool {
        self.vacant != NONE || self.nodes.len() < self.nodes.capacity()
    }

    /// Makes room for as many more entries.
    pub(crate) fn reserve(&mut self, entries: usize) {
        self.nodes.reserve(entries);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.nodes.push(Node { next: NONE, ..Node::default() });
        self.vacant = (self.nodes.len() - 1) as u32;
    }

    /// Gives an entry back that is in no list; its value stays until it is taken again.
    #[inline]
    pub(crate) fn discard(&mut self, index: u32) {
        if let Some(node) = self.nodes.get_mut(index as usize)
            && node.live
        {
            node.live = false;
            node.next = self.vacant;
            self.vacant = index;
            self.len -= 1;
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.nodes.get(index as usize).filter(|node| node.live).map(|node| &node.value)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.nodes.get_mut(index as usize).filter(|node| node.live).map(|node| &mut node.value)
    }

    /// The entry after `index` in its list.
    #[inline]
    pub(crate) fn next(&self, index: u32) -> Option<u32> {
        let next = self.nodes[index as usize].next;
        (next != NONE).then_some(next)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.live)
            .map(|(index, node)| (index as u32, &node.value))
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many entries are in no list.
    pub(crate) fn apart(&self) -> usize {
        self.len - self.listed
    }

    /// Appends an entry that is in no list.
    #[inline]
    pub(crate) fn append(&mut self, list: &mut List, index: u32) {
        self.insert_before(list, index, None);
    }

    /// Puts an entry that is in no list before `next`, or at the end.
    pub(crate) fn insert_before(&mut self, list: &mut List, index: u32, next: Option<u32>) {
        let prev = next.map_or(list.tail, |next| self.nodes[next as usize].prev);
        let next = next.unwrap_or(NONE);
        self.listed += 1;
        let node = &mut self.nodes[index as usize];
        (node.prev, node.next) = (prev, next);
        self.link(list, prev, index, index);
        self.link_back(list, next, index);
    }

    /// Takes an entry out of its list; it stays in the slab.
    #[inline]
    pub(crate) fn unlink(&mut self, list: &mut List, index: u32) {
        let (prev, next) = {
            let node = &mut self.nodes[index as usize];
            (std::mem::replace(&mut node.prev, NONE), std::mem::replace(&mut node.next, NONE))
        };
        self.listed -= 1;
        self.link(list, prev, next, next);
        self.link_back(list, next, prev);
    }

    #[inline]
    fn link(&mut self, list: &mut List, prev: u32, next: u32, head: u32) {
        if prev == NONE {
            list.head = head;
        } else {
            self.nodes[prev as usize].next = next;
        }
    }

    #[inline]
    fn link_back(&mut self, list: &mut List, next: u32, prev: u32) {
        if next == NONE {
            list.tail = prev;
        } else {
            self.nodes[next as usize].prev = prev;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(slab: &Slab<u32>, list: List) -> Vec<u32> {
        std::iter::successors(list.first(), |index| slab.next(*index))
            .map(|i| *slab.get(i).unwrap())
            .collect()
    }

    fn put(slab: &mut Slab<u32>, value: u32) -> u32 {
        let (index, place) = slab.take();
        *place = value;
        index
    }

    proptest! {
        #[test]
        fn lists_behave_like_vectors(steps in prop::collection::vec((0..3u8, 0..8usize), 0..200)) {
            let (mut slab, mut list, mut model) = (Slab::with_capacity(0), List::EMPTY, Vec::<(u32, u32)>::new());
            for (count, (what, place)) in steps.into_iter().enumerate() {
                let count = count as u32;
                match what {
                    0 => {
                        let index = put(&mut slab, count);
                        slab.append(&mut list, index);
                        model.push((index, count));
                    }
                    1 if !model.is_empty() => {
                        let place = place % model.len();
                        let index = put(&mut slab, count);
                        slab.insert_before(&mut list, index, Some(model[place].0));
                        model.insert(place, (index, count));
                    }
                    _ if !model.is_empty() => {
                        let (index, value) = model.remove(place % model.len());
                        slab.unlink(&mut list, index);
                        prop_assert_eq!(slab.get(index), Some(&value));
                        prop_assert_eq!(slab.apart(), 1);
                        slab.discard(index);
                        prop_assert_eq!(slab.get(index), None);
                    }
                    _ => {}
                }
                prop_assert_eq!(values(&slab, list), model.iter().map(|m| m.1).collect::<Vec<_>>());
                prop_assert_eq!(slab.len(), model.len());
                prop_assert_eq!(slab.apart(), 0);
            }
        }
    }
}
