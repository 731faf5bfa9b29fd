//! The calls that the program's threads are in, seen by another thread: for who wants to know what calls wait for that last long.
//!
//! The threads do nothing for it. Their memory is copied by the system, as that of another process would be: an address that is not there any more
//! gives nothing. What was copied is believed if the call was under way before and after: between the entries and the exits of its hooks a
//! thread changes neither its state here nor what hooks keep of it.

use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::depth::{self, Seen, Thread};
use crate::{FunctionId, at_thread_end, hook};

/// Where the state of each thread is that has called MPI.
static THREADS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn threads() -> MutexGuard<'static, Vec<usize>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread can be seen until it ends. Once in its life, or a few times.
pub(crate) fn show_this_thread() {
    let place = depth::place();
    let mut all = threads();
    if !all.contains(&place) {
        all.push(place);
        drop(all);
        at_thread_end(move || threads().retain(|other| *other != place));
    }
}

/// Copies this process's memory at an address; `None` where there is none, or the system forbids it.
fn copy<T>(address: usize) -> Option<MaybeUninit<T>> {
    let mut all = copy_many(address, 1)?;
    all.pop()
}

fn copy_many<T>(address: usize, count: usize) -> Option<Vec<MaybeUninit<T>>> {
    let mut copy: Vec<MaybeUninit<T>> = Vec::with_capacity(count);
    let bytes = count * size_of::<T>();
    let to = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: bytes };
    let from = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: bytes };
    // SAFETY: what is written to is the new list's; where is read from, the system checks.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0) };
    if usize::try_from(read) != Ok(bytes) {
        return None;
    }
    // SAFETY: so many have space, and may hold anything.
    unsafe { copy.set_len(count) };
    Some(copy)
}

/// A call that a thread is in.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    thread: usize,
    seen: Seen,
}

/// The calls of the program's that threads are in, of functions whose entries hooks want the time of. Not in a hook: takes a lock for a moment.
pub fn calls() -> Vec<UnderWay> {
    let all = threads().clone();
    all.into_iter().filter_map(|thread| Some(UnderWay { thread, seen: look(thread)? })).collect()
}

fn look(thread: usize) -> Option<Seen> {
    let copy = copy::<Thread>(thread)?;
    // SAFETY: it consists of numbers and addresses, which may be anything.
    depth::seen(unsafe { copy.assume_init_ref() })
}

impl UnderWay {
    /// The function.
    #[must_use]
    pub fn function(&self) -> FunctionId {
        self.seen.function
    }

    /// When the real function was called, by the clock of the hooks.
    #[must_use]
    pub fn entered(&self) -> u64 {
        self.seen.entered
    }

    /// The address that its thread has in the slot of [`Contexts`](crate::Contexts).
    #[must_use]
    pub fn of_contexts(&self) -> usize {
        self.seen.of_contexts
    }

    /// Whether it is still under way.
    #[must_use]
    pub fn lasts(&self) -> bool {
        look(self.thread) == Some(self.seen)
    }

    /// A copy of a value that nobody changes while the call is under way but hooks; `None` where there is none, or the call has ended.
    ///
    /// # Safety
    /// As long as the call is under way there is a value of this type at the address, or nothing that can be read.
    #[must_use]
    pub unsafe fn copy<T: Copy>(&self, address: *const T) -> Option<T> {
        let copy = copy::<T>(address.addr())?;
        // SAFETY: the call was under way when it was copied, and so the caller promises a value.
        self.lasts().then(|| unsafe { copy.assume_init() })
    }

    /// Copies of so many values that lie one after the other, likewise.
    ///
    /// # Safety
    /// As of [`copy`](UnderWay::copy), for each.
    #[must_use]
    pub unsafe fn copy_all<T: Copy>(&self, address: *const T, count: usize) -> Option<Vec<T>> {
        let copies = copy_many::<T>(address.addr(), count)?;
        // SAFETY: as above.
        self.lasts().then(|| copies.into_iter().map(|copy| unsafe { copy.assume_init() }).collect())
    }

    /// Copies of the values of a list, but of no more than `most`, likewise.
    ///
    /// # Safety
    /// As of [`copy`](UnderWay::copy), for the list and each of its values.
    #[must_use]
    pub unsafe fn copy_list<T: Copy>(&self, list: *const Vec<T>, most: usize) -> Option<Vec<T>> {
        let header = copy::<Vec<T>>(list.addr())?;
        if !self.lasts() {
            return None;
        }
        // SAFETY: the caller promises a list, whose values stay another's: the copy is never dropped.
        let header = unsafe { header.assume_init_ref() };
        let (begin, count) = (header.as_ptr(), header.len().min(most));
        // SAFETY: the caller's promise.
        unsafe { self.copy_all(begin, count) }
    }

    /// The arguments of the call, where they are in memory.
    ///
    /// # Safety
    /// The type is that of the arguments of [`function`](UnderWay::function).
    #[must_use]
    pub unsafe fn arguments<A: Copy>(&self) -> Option<A> {
        let in_memory = hook::wanted(self.seen.function, hook::present()).enter != 0;
        let place: *const A = std::ptr::without_provenance(self.seen.arguments);
        // SAFETY: the wrapper has put them there before it called hooks, if one wants the entry.
        if in_memory { unsafe { self.copy(place) } } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_copied_where_there_is_some() {
        // Some sandboxes forbid it.
        let values = [3u32, 1, 4];
        let Some(copies) = copy_many::<u32>(values.as_ptr().addr(), 3) else { return };
        // SAFETY: they are copies of values.
        let copies: Vec<u32> = copies.into_iter().map(|copy| unsafe { copy.assume_init() }).collect();
        assert_eq!(copies, values);
        assert!(copy::<u64>(8).is_none() && copy_many::<u8>(usize::MAX - 1, 4).is_none());
    }
}
