//! The page of an event: it keeps the event without a descriptor, and says how to read its counter without the kernel
//! (`perf_event_open(2)`, "MMAP layout").
//!
//! The kernel writes the page whenever the thread comes to a processor or leaves it: which register counts, what to add to it, and for how
//! long the event was there by then. A reading that is interrupted by that is begun again. Times since then come from the processor's time
//! stamp counter. Where something of this is missing there is no reading, and the kernel is asked.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{Ordering, fence};

use perf_event_open_sys::bindings::perf_event_mmap_page;

/// The program may read the counter.
const MAY_READ: u64 = 1 << 2;
/// The page says how to compute times.
const HAS_TIME: u64 = 1 << 3;
/// So often a reading is begun again.
const TRIES: u32 = 8;

/// What a counter says, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) count: u64,
    /// Nanoseconds in which the thread was on a processor.
    pub(crate) enabled: u64,
    /// The part of them in which this was counted.
    pub(crate) running: u64,
}

/// The registers of a processor.
pub(crate) trait Registers {
    /// A counter, by its number.
    fn counter(&self, number: u32) -> u64;
    /// The time stamp counter.
    fn time(&self) -> u64;
}

/// Those of this processor.
pub(crate) struct Own;

#[cfg(target_arch = "x86_64")]
impl Registers for Own {
    #[inline]
    fn counter(&self, number: u32) -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: the instruction reads a counter, and nothing else; the kernel has allowed it to this process, as the page says whose
        // number this is.
        unsafe {
            std::arch::asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline]
    fn time(&self) -> u64 {
        // SAFETY: the instruction is there on every processor of this kind.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Registers for Own {
    fn counter(&self, _: u32) -> u64 {
        unreachable!("no page is read here")
    }

    fn time(&self) -> u64 {
        0
    }
}

/// Reads a counter by its page; `None` where the kernel must be asked: the page does not say how, the event is not on the processor, or the
/// page changed again and again.
///
/// # Safety
/// `page` is readable; only the kernel writes to it.
#[inline]
pub(crate) unsafe fn read(page: *const perf_event_mmap_page, registers: &impl Registers) -> Option<Count> {
    macro_rules! field {
        ($($name:ident).+) => {
            // SAFETY: within the page, which is readable; the kernel may write at the same time, and then the lock has changed.
            unsafe { std::ptr::read_volatile(&raw const (*page).$($name).+) }
        };
    }
    for _ in 0..TRIES {
        let lock = field!(lock);
        fence(Ordering::Acquire);
        let (enabled, running) = (field!(time_enabled), field!(time_running));
        let (number, offset, width) = (field!(index), field!(offset), u32::from(field!(pmc_width)));
        let (shift, factor, more) = (field!(time_shift), field!(time_mult), field!(time_offset));
        let may = field!(__bindgen_anon_1.capabilities);
        let is_there = number != 0 && (1..=64).contains(&width) && shift < 64;
        if may & (MAY_READ | HAS_TIME) != MAY_READ | HAS_TIME || !is_there {
            fence(Ordering::Acquire);
            if field!(lock) == lock {
                return None;
            }
            continue;
        }
        let (counted, time) = (registers.counter(number - 1), registers.time());
        fence(Ordering::Acquire);
        if field!(lock) != lock {
            continue;
        }
        // The counter is as wide as the page says, and has a sign.
        let counted = (counted << (64 - width)) as i64 >> (64 - width);
        let (whole, rest) = (time >> shift, time & ((1 << shift) - 1));
        let rest = (u128::from(rest) * u128::from(factor)) >> shift;
        let since = more.wrapping_add(whole.wrapping_mul(factor.into())).wrapping_add(rest as u64);
        return Some(Count {
            count: offset.wrapping_add(counted) as u64,
            enabled: enabled.wrapping_add(since),
            running: running.wrapping_add(since),
        });
    }
    None
}

/// The page of an event. A child of a fork does not get it.
#[derive(Debug)]
pub(crate) struct Page {
    address: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, and only the kernel writes to it.
unsafe impl Send for Page {}

impl Page {
    /// Maps it.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub(crate) fn of(event: &OwnedFd) -> io::Result<Page> {
        // SAFETY: it has no memory of ours.
        let bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let descriptor = event.as_raw_fd();
        // SAFETY: a new mapping.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0)
        };
        if address == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Page { address, bytes })
        }
    }

    /// Reads the counter without the kernel, in the thread that it counts.
    #[inline]
    pub(crate) fn read(&self) -> Option<Count> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        // SAFETY: mapped, and as large as the structure; only the kernel writes to it.
        unsafe { read(self.address.cast(), &Own) }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has an address of it.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Registers of which one is read; while it is, the kernel may write to the page.
    struct Fake<'a> {
        counter: u64,
        time: u64,
        meanwhile: &'a dyn Fn(),
    }

    impl Registers for Fake<'_> {
        fn counter(&self, number: u32) -> u64 {
            assert_eq!(number, 2, "the page counts from one");
            (self.meanwhile)();
            self.counter
        }

        fn time(&self) -> u64 {
            self.time
        }
    }

    /// A page of an event in register 2, at 1.5 nanoseconds a tick since tick 2000.
    fn page() -> perf_event_mmap_page {
        // SAFETY: of this type all zeroes are a value.
        let mut page: perf_event_mmap_page = unsafe { std::mem::zeroed() };
        (page.lock, page.index, page.offset, page.pmc_width) = (8, 3, 1_000_000, 48);
        (page.time_enabled, page.time_running) = (70_000, 50_000);
        (page.time_shift, page.time_mult) = (10, 1536);
        page.time_offset = 3000u64.wrapping_neg();
        page.__bindgen_anon_1.capabilities = MAY_READ | HAS_TIME;
        page
    }

    fn of(page: &perf_event_mmap_page, counter: u64, meanwhile: &dyn Fn()) -> Option<Count> {
        // SAFETY: it is there, and nobody writes to it but `meanwhile`, in this thread.
        unsafe { read(page, &Fake { counter, time: 2400, meanwhile }) }
    }

    #[test]
    fn a_counter_and_its_times_go_on_from_what_the_page_says() {
        let expected = Count { count: 1_000_123, enabled: 70_600, running: 50_600 };
        assert_eq!(of(&page(), 123, &|| ()), Some(expected));
    }

    #[test]
    fn a_counter_has_the_width_and_the_sign_that_the_page_says() {
        let minus_five = (1 << 48) - 5;
        assert_eq!(of(&page(), minus_five, &|| ()).map(|count| count.count), Some(999_995));
        // Bits above are no part of it.
        assert_eq!(of(&page(), 0xabcd << 48 | 7, &|| ()).map(|count| count.count), Some(1_000_007));
        let mut wide = page();
        wide.pmc_width = 64;
        assert_eq!(of(&wide, u64::MAX, &|| ()).map(|count| count.count), Some(999_999));
    }

    #[test]
    fn without_the_right_the_time_or_the_processor_there_is_no_reading() {
        for spoil in [
            |page: &mut perf_event_mmap_page| page.index = 0,
            |page: &mut perf_event_mmap_page| page.__bindgen_anon_1.capabilities = MAY_READ,
            |page: &mut perf_event_mmap_page| page.__bindgen_anon_1.capabilities = HAS_TIME,
            |page: &mut perf_event_mmap_page| page.pmc_width = 0,
            |page: &mut perf_event_mmap_page| page.pmc_width = 65,
            |page: &mut perf_event_mmap_page| page.time_shift = 64,
        ] {
            let mut page = page();
            spoil(&mut page);
            assert_eq!(of(&page, 123, &|| ()), None);
        }
    }

    #[test]
    fn a_reading_into_which_the_kernel_writes_is_begun_again() {
        let mut there = page();
        let address = &raw mut there;
        let reads = Cell::new(0);
        // The thread came back to a processor in between: the first reading has the old offset and the new counter.
        let once = || {
            if reads.replace(reads.get() + 1) == 0 {
                // SAFETY: the page of this function.
                unsafe {
                    (*address).offset = 2_000_000;
                    (*address).lock += 2;
                }
            }
        };
        // SAFETY: it is there; `once` writes to it in this thread.
        let count = unsafe { read(address, &Fake { counter: 4, time: 2400, meanwhile: &once }) };
        assert_eq!((count.map(|count| count.count), reads.get()), (Some(2_000_004), 2));
        // SAFETY: the page of this function.
        let always = || unsafe { (*address).lock += 2 };
        // SAFETY: as above.
        assert_eq!(unsafe { read(address, &Fake { counter: 4, time: 2400, meanwhile: &always }) }, None);
    }
}
