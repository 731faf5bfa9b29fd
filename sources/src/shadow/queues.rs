//! Doubly linked lists in a slab: the queues of the twin.
//!
//! Cost: ob1's queues are linked lists, and so are these, because the *length of a search* is what
//! is observed. Appending and removing are constant; nothing is allocated once the slab has grown
//! to the largest number of entries.

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<T> {
    next: u32,
    prev: u32,
    value: Option<T>,
}

/// Entries that may be in one [`List`] each.
#[derive(Debug)]
pub(super) struct Slab<T> {
    nodes: Vec<Node<T>>,
    vacant: u32,
    len: usize,
}

/// A list of a slab's entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: List = List { head: NONE, tail: NONE };

    pub(super) fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// The first entry.
    #[inline]
    pub(super) fn first(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

impl<T> Slab<T> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Slab { nodes: Vec::with_capacity(capacity), vacant: NONE, len: 0 }
    }

    #[inline]
    pub(super) fn insert(&mut self, value: T) -> u32 {
        self.len += 1;
        let node = Node { next: NONE, prev: NONE, value: Some(value) };
        if self.vacant == NONE {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let index = self.vacant;
        let slot = &mut self.nodes[index as usize];
        self.vacant = slot.next;
        *slot = node;
        index
    }

    /// Removes an entry that is in no list.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let node = self.nodes.get_mut(index as usize)?;
        let value = node.value.take()?;
        node.next = self.vacant;
        self.vacant = index;
        self.len -= 1;
        Some(value)
    }

    /// Like [`remove`](Slab::remove), without moving the value out.
    #[inline]
    pub(super) fn discard(&mut self, index: u32) {
        if let Some(node) = self.nodes.get_mut(index as usize)
            && node.value.is_some()
        {
            node.value = None;
            node.next = self.vacant;
            self.vacant = index;
            self.len -= 1;
        }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.nodes.get(index as usize)?.value.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.nodes.get_mut(index as usize)?.value.as_mut()
    }

    /// The entry after `index` in its list.
    #[inline]
    pub(super) fn next(&self, index: u32) -> Option<u32> {
        let next = self.nodes[index as usize].next;
        (next != NONE).then_some(next)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| Some((index as u32, node.value.as_ref()?)))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends an entry that is in no list.
    #[inline]
    pub(super) fn append(&mut self, list: &mut List, index: u32) {
        self.insert_before(list, index, None);
    }

    /// Puts an entry that is in no list before `next`, or at the end.
    pub(super) fn insert_before(&mut self, list: &mut List, index: u32, next: Option<u32>) {
        let prev = next.map_or(list.tail, |next| self.nodes[next as usize].prev);
        let next = next.unwrap_or(NONE);
        let node = &mut self.nodes[index as usize];
        (node.prev, node.next) = (prev, next);
        self.link(list, prev, index, index);
        self.link_back(list, next, index);
    }

    /// Takes an entry out of its list; it stays in the slab.
    #[inline]
    pub(super) fn unlink(&mut self, list: &mut List, index: u32) {
        let (prev, next) = {
            let node = &mut self.nodes[index as usize];
            (std::mem::replace(&mut node.prev, NONE), std::mem::replace(&mut node.next, NONE))
        };
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

    proptest! {
        #[test]
        fn lists_behave_like_vectors(steps in prop::collection::vec((0..3u8, 0..8usize), 0..200)) {
            let (mut slab, mut list, mut model) = (Slab::with_capacity(0), List::EMPTY, Vec::<(u32, u32)>::new());
            for (count, (what, place)) in steps.into_iter().enumerate() {
                let count = count as u32;
                match what {
                    0 => {
                        let index = slab.insert(count);
                        slab.append(&mut list, index);
                        model.push((index, count));
                    }
                    1 if !model.is_empty() => {
                        let place = place % model.len();
                        let index = slab.insert(count);
                        slab.insert_before(&mut list, index, Some(model[place].0));
                        model.insert(place, (index, count));
                    }
                    _ if !model.is_empty() => {
                        let (index, value) = model.remove(place % model.len());
                        slab.unlink(&mut list, index);
                        prop_assert_eq!(slab.remove(index), Some(value));
                    }
                    _ => {}
                }
                prop_assert_eq!(values(&slab, list), model.iter().map(|m| m.1).collect::<Vec<_>>());
                prop_assert_eq!(slab.len(), model.len());
            }
        }
    }
}
