//! Samples that the kernel writes into a ring.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_TASK_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_RECORD_LOST, PERF_RECORD_SAMPLE,
    PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_TYPE_SOFTWARE, perf_event_attr, perf_event_mmap_page,
};

/// Bytes of the stack in a sample.
const STACK_BYTES: usize = 4096;
/// Bytes of a sample beside those of the stack, at most.
const BESIDE_STACK: usize = 128;
/// Bytes of the ring: at 100 samples a second those of more than a second. Users may have 516 KiB each without a right of their own.
const RING_BYTES: usize = 512 << 10;
/// The same where the limit allows no more.
const SMALL_RING_BYTES: usize = 64 << 10;

/// The registers that a sample has, as the kernel numbers them, in ascending order: what [`Sample::registers`] has.
#[cfg(target_arch = "x86_64")]
pub(crate) const REGISTERS: [u32; 3] = [6, 7, 8];
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const REGISTERS: [u32; 4] = [29, 30, 31, 32];

/// A sample.
#[derive(Debug)]
pub struct Sample<'a> {
    /// On x86-64: frame pointer, stack pointer, instruction pointer. Else: frame pointer, link register, stack pointer, program counter.
    pub registers: [u64; REGISTERS.len()],
    /// The stack, from the stack pointer on.
    pub stack: &'a [u8],
}

/// A look at a ring that costs two loads, for whoever asks often whether somebody should drain it.
#[derive(Debug)]
pub struct Glance(AtomicPtr<perf_event_mmap_page>);

impl Glance {
    /// At no ring: there is never more.
    #[must_use]
    pub const fn nowhere() -> Glance {
        Glance(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// At this ring from now on.
    ///
    /// # Safety
    /// The ring stays where it is until the process ends, or this looks [away](Glance::away) and nobody is looking.
    pub(crate) unsafe fn at(&self, ring: &Ring) {
        self.0.store(ring.page, Ordering::Release);
    }

    /// At no ring any more, as in a child of a fork, which does not have the mapping.
    pub fn away(&self) {
        self.0.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Whether the ring has records. Async-signal-safe.
    #[inline(always)]
    #[must_use]
    pub fn has_more(&self) -> bool {
        let page = self.0.load(Ordering::Acquire);
        if page.is_null() {
            return false;
        }
        // SAFETY: whoever made this look at a ring promised that it is still there.
        let (head, tail) = unsafe { (head(page), tail(page)) };
        head.load(Ordering::Relaxed) != tail.load(Ordering::Relaxed)
    }
}

/// Up to where the kernel has written.
///
/// # Safety
/// The page of an event, which stays mapped for this lifetime.
unsafe fn head<'a>(page: *mut perf_event_mmap_page) -> &'a AtomicU64 {
    // SAFETY: an aligned word of the mapping; the kernel writes it at any time, as an atomic does.
    unsafe { AtomicU64::from_ptr(&raw mut (*page).data_head) }
}

/// Up to where somebody has read.
///
/// # Safety
/// As for [`head`].
unsafe fn tail<'a>(page: *mut perf_event_mmap_page) -> &'a AtomicU64 {
    // SAFETY: likewise; the kernel reads it.
    unsafe { AtomicU64::from_ptr(&raw mut (*page).data_tail) }
}

/// The ring of one thread's samples.
#[derive(Debug)]
pub struct Ring {
    page: *mut perf_event_mmap_page,
    bytes: usize,
    data: *const u8,
    size: usize,
    /// Where a record is put together that goes around the end.
    record: Vec<u8>,
    lost: u64,
}

// SAFETY: the mapping belongs to the process, and whoever has the ring alone reads it.
unsafe impl Send for Ring {}
// SAFETY: only `has_more` is called on a shared one, which loads two atomics.
unsafe impl Sync for Ring {}

impl Ring {
    /// Samples of the calling thread, at this rate for each second that it is on a processor.
    ///
    /// # Errors
    /// Those of `perf_event_open` and `mmap`.
    pub fn of_this_thread(per_second: u32) -> io::Result<Ring> {
        let mut attr = perf_event_attr {
            type_: PERF_TYPE_SOFTWARE,
            size: size_of::<perf_event_attr>() as u32,
            config: PERF_COUNT_SW_TASK_CLOCK.into(),
            sample_type: u64::from(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER),
            sample_regs_user: REGISTERS.iter().map(|register| 1u64 << register).sum(),
            sample_stack_user: STACK_BYTES as u32,
            ..perf_event_attr::default()
        };
        attr.__bindgen_anon_1.sample_period = 1_000_000_000 / u64::from(per_second.max(1));
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
        let flags = PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: the attributes are of the size that they say.
        let number = unsafe { perf_event_open_sys::perf_event_open(&raw mut attr, 0, -1, -1, flags) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened, and belongs to nobody else.
        let event = unsafe { OwnedFd::from_raw_fd(number) };
        // SAFETY: it has no memory of ours.
        let page_bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let (page, bytes) =
            map(&event, page_bytes, RING_BYTES).or_else(|_| map(&event, page_bytes, SMALL_RING_BYTES))?;
        // SAFETY: the data begin behind the first page.
        let data = unsafe { page.cast::<u8>().add(page_bytes) };
        // The mapping keeps the event: there is no descriptor that a program could close.
        drop(event);
        Ok(Ring { page, bytes, data, size: bytes - page_bytes, record: Vec::new(), lost: 0 })
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the mapping lives as long as this.
        unsafe { head(self.page) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: likewise.
        unsafe { tail(self.page) }
    }

    /// Whether there are records.
    #[inline]
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.head().load(Ordering::Acquire) != self.tail().load(Ordering::Relaxed)
    }

    /// Whether the next sample may find no space.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let used = self.head().load(Ordering::Acquire) - self.tail().load(Ordering::Relaxed);
        self.size as u64 - used < (STACK_BYTES + BESIDE_STACK) as u64
    }

    /// Throws all records away until now.
    pub fn skip(&mut self) {
        let head = self.head().load(Ordering::Acquire);
        self.tail().store(head, Ordering::Release);
    }

    /// Gives each sample until now.
    pub fn drain(&mut self, take: &mut dyn FnMut(Sample<'_>)) {
        let head = self.head().load(Ordering::Acquire);
        let mut at = self.tail().load(Ordering::Relaxed);
        let mut record = std::mem::take(&mut self.record);
        while at < head {
            let mut header = [0; 8];
            self.copy(at, &mut header);
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let length = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            // What makes no sense is no reason to read beyond: the rest is thrown away.
            if length < header.len() || at + length as u64 > head {
                break;
            }
            record.resize(length, 0);
            self.copy(at, &mut record);
            at += length as u64;
            match kind {
                PERF_RECORD_SAMPLE => _ = sample(&record[header.len()..]).map(&mut *take),
                PERF_RECORD_LOST => self.lost += word(&record, 16).unwrap_or(0),
                _ => {}
            }
        }
        self.record = record;
        self.tail().store(head, Ordering::Release);
    }

    /// How many samples found no space.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Copies bytes of the ring from a place on.
    fn copy(&self, at: u64, into: &mut [u8]) {
        let begin = (at % self.size as u64) as usize;
        let first = into.len().min(self.size - begin);
        // SAFETY: both parts lie in the data of the mapping; the kernel does not write between tail and head.
        unsafe {
            std::ptr::copy_nonoverlapping(self.data.add(begin), into.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(self.data, into.as_mut_ptr().add(first), into.len() - first);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has an address of it any more.
        unsafe { libc::munmap(self.page.cast(), self.bytes) };
    }
}

/// Maps the page of an event, and a ring of this size behind it.
fn map(event: &OwnedFd, page_bytes: usize, ring: usize) -> io::Result<(*mut perf_event_mmap_page, usize)> {
    let bytes = page_bytes + ring.next_multiple_of(page_bytes).next_power_of_two();
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    let page =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, libc::MAP_SHARED, event.as_raw_fd(), 0) };
    if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok((page.cast(), bytes)) }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The sample in the payload of a record: the kind of registers, the registers, the stack with its length, and how much of it is there.
fn sample(payload: &[u8]) -> Option<Sample<'_>> {
    // Of 0 the thread has no registers in user space.
    if word(payload, 0)? == 0 {
        return None;
    }
    let mut registers = [0; REGISTERS.len()];
    for (place, register) in registers.iter_mut().enumerate() {
        *register = word(payload, 8 + 8 * place)?;
    }
    let stack = 8 + 8 * registers.len();
    let length = usize::try_from(word(payload, stack)?).ok()?;
    let bytes = payload.get(stack + 8..)?.get(..length)?;
    let there = word(payload, stack + 8 + length).map_or(0, |there| there as usize);
    Some(Sample { registers, stack: &bytes[..there.min(length)] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_is_cut_off_is_no_sample() {
        let mut payload = vec![2u64, 10, 20, 30];
        if REGISTERS.len() == 4 {
            payload.push(40);
        }
        payload.extend([16, 7, 8, 8]);
        let bytes: Vec<u8> = payload.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let of = sample(&bytes).unwrap();
        assert_eq!((of.registers[0], of.stack.len()), (10, 8));
        for length in 0..bytes.len() - 8 {
            assert!(sample(&bytes[..length]).is_none_or(|of| of.stack.is_empty()), "{length}");
        }
    }
}
