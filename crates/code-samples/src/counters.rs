//! What the processor counts of a thread in user space: instructions, cycles, cache misses.
//!
//! [`Counters`] is where readings come from: the [`kernel`](KernelCounters), or for tests [rates](MadeUp) that somebody names, by which
//! numbers grow with the thread's time on a processor. Virtual machines mostly have none of the first kind.
//!
//! Cost of a reading of the kernel's: two system calls, about a microsecond; a few dozen nanoseconds where the processor lets the
//! program read its counters itself.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd};

use in_process::own_file;
use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_FLAG_FD_CLOEXEC,
    PERF_FORMAT_GROUP, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_TYPE_HARDWARE,
    perf_event_attr,
};
use perf_event_open_sys::ioctls;

use crate::pages::{Count, Page};

/// How many numbers there are.
pub const KINDS: usize = 3;
/// The events of the kernel in the order of all readings: the first one leads the group.
const EVENTS: [u32; KINDS] =
    [PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_CACHE_MISSES];

/// What they are called.
const NAMES: [&str; KINDS] = ["instructions", "cycles", "cache misses"];

/// All counters of a thread at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Nanoseconds in which the thread was on a processor, in the program or in the kernel.
    pub on_processor: u64,
    /// The part of them in which it was counted: all of them but where others use the counters, too.
    pub counted: u64,
    /// Instructions, cycles, cache misses in user space; 0 where that is not counted.
    pub counts: [u64; KINDS],
}

/// What was counted between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Nanoseconds in which the thread was on a processor.
    pub on_processor: u64,
    /// Instructions, cycles, cache misses in user space; 0 where that is not counted.
    pub counts: [u64; KINDS],
}

impl Reading {
    /// What was counted since an earlier reading. Where the thread was counted for a part of its time alone, numbers are those of that part
    /// times what is missing: estimated. `None` where it was not counted at all though it was on a processor.
    #[must_use]
    pub fn since(&self, earlier: &Reading) -> Option<Counted> {
        let on_processor = self.on_processor.saturating_sub(earlier.on_processor);
        let counted = self.counted.saturating_sub(earlier.counted);
        if counted == 0 {
            return (on_processor == 0).then(Counted::default);
        }
        let mut counts = [0; KINDS];
        for (place, count) in counts.iter_mut().enumerate() {
            let of_part = u128::from(self.counts[place].saturating_sub(earlier.counts[place]));
            *count = (of_part * u128::from(on_processor.max(counted)) / u128::from(counted)) as u64;
        }
        Some(Counted { on_processor, counts })
    }
}

/// Where readings of a thread come from. Only that thread reads them.
pub trait Counters: Send {
    /// All of them now; `None` where they are gone, and come no more. Allocates nothing.
    fn read(&mut self) -> Option<Reading>;

    /// This is the child of a fork: what belongs to the parent is left alone.
    fn forget(self: Box<Self>);
}

/// Counters that the kernel keeps.
///
/// Of all but the first the descriptors are closed: a mapping keeps them. The first has a high number, ends with `exec`, and is used only
/// while it leads to this event.
#[derive(Debug)]
pub struct KernelCounters {
    leader: Option<OwnedFd>,
    /// The kernel's number of the event that it leads to.
    id: u64,
    /// Which of [`EVENTS`] there are, in the order of a reading.
    places: [usize; KINDS],
    /// That of the leader, where the counters are read without the kernel.
    first: Option<Page>,
    others: Vec<Page>,
}

impl KernelCounters {
    /// Those of the calling thread, from now on, in user space.
    ///
    /// # Errors
    /// Those of `perf_event_open`: the processor has no counters (`ENOENT`), or the kernel does not let this process have them (`EACCES`,
    /// `EPERM`, `ENOSYS`).
    pub fn of_this_thread() -> io::Result<KernelCounters> {
        let leader = File::from(open(PERF_TYPE_HARDWARE, EVENTS[0], -1)?);
        let leader = OwnedFd::from(own_file::out_of_the_way(leader));
        let id = id_of(leader.as_raw_fd()).ok_or_else(io::Error::last_os_error)?;
        let first = Page::of(&leader).ok();
        let mut all = KernelCounters { leader: None, id, places: [0; KINDS], first, others: Vec::new() };
        for (place, event) in EVENTS.into_iter().enumerate().skip(1) {
            // A processor may have some and not others.
            let other = open(PERF_TYPE_HARDWARE, event, leader.as_raw_fd());
            if let Ok(page) = other.and_then(|event| Page::of(&event)) {
                all.others.push(page);
                all.places[all.others.len()] = place;
            }
        }
        all.leader = Some(leader);
        if !all.agree() {
            all.first = None;
        }
        Ok(all)
    }

    /// Whether what is read without the kernel lies between what the kernel says before and after.
    fn agree(&mut self) -> bool {
        let readings = (self.ask(), self.look(), self.ask());
        matches!(readings, (Some(before), Some(now), Some(after)) if lies_between(&now, &before, &after))
    }

    /// Reads the counters by their pages; `None` where the kernel must be asked.
    #[inline]
    fn look(&self) -> Option<Reading> {
        let Count { count, enabled, running } = self.first.as_ref()?.read()?;
        let mut all = Reading { on_processor: enabled, counted: running, counts: [0; KINDS] };
        all.counts[self.places[0]] = count;
        for (page, place) in self.others.iter().zip(&self.places[1..]) {
            all.counts[*place] = page.read()?.count;
        }
        Some(all)
    }

    /// Asks the kernel for them; `None` where the descriptor leads to them no more.
    fn ask(&self) -> Option<Reading> {
        if !self.is_ours() {
            return None;
        }
        let mut bytes = [0; 8 * (3 + KINDS)];
        // SAFETY: an open descriptor of ours, which is not closed here.
        let mut file =
            std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(self.leader.as_ref()?.as_raw_fd()) });
        let length = file.read(&mut bytes).ok()?;
        reading(bytes.get(..length)?, &self.places)
    }

    /// What there is of them, in words.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.places.iter().take(1 + self.others.len()).map(|place| NAMES[*place]).collect()
    }

    /// Whether the descriptor still leads to the event.
    fn is_ours(&self) -> bool {
        self.leader.as_ref().is_some_and(|leader| id_of(leader.as_raw_fd()) == Some(self.id))
    }
}

impl Counters for KernelCounters {
    fn read(&mut self) -> Option<Reading> {
        self.look().or_else(|| self.ask())
    }

    fn forget(mut self: Box<Self>) {
        // The kernel has given the child no mappings: there is nothing to be taken away.
        std::mem::forget(self.first.take());
        std::mem::take(&mut self.others).into_iter().for_each(std::mem::forget);
    }
}

impl Drop for KernelCounters {
    fn drop(&mut self) {
        if !self.is_ours()
            && let Some(leader) = self.leader.take()
        {
            // It is the program's now.
            let _ = leader.into_raw_fd();
        }
    }
}

/// Whether all numbers of a reading lie between those of two others.
fn lies_between(reading: &Reading, before: &Reading, after: &Reading) -> bool {
    let numbers = |reading: &Reading| {
        let [first, second, third] = reading.counts;
        [reading.on_processor, reading.counted, first, second, third]
    };
    let (least, most) = (numbers(before), numbers(after));
    numbers(reading)
        .iter()
        .zip(least.iter().zip(most))
        .all(|(now, (least, most))| (*least..=most).contains(now))
}

/// Takes apart what the kernel writes of a group: how many numbers there are, two times, and each number.
fn reading(bytes: &[u8], places: &[usize; KINDS]) -> Option<Reading> {
    let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(8 * at..8 * at + 8)?.try_into().ok()?));
    let mut all = Reading { on_processor: word(1)?, counted: word(2)?, ..Reading::default() };
    for (at, place) in places.iter().enumerate().take(word(0)? as usize) {
        all.counts[*place] = word(3 + at)?;
    }
    Some(all)
}

/// An event of the calling thread, in the group of another one, or the first of its group where `leader` is -1.
fn open(kind: u32, event: u32, leader: RawFd) -> io::Result<OwnedFd> {
    let mut attr = perf_event_attr {
        type_: kind,
        size: size_of::<perf_event_attr>() as u32,
        config: event.into(),
        read_format: u64::from(
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        ),
        ..perf_event_attr::default()
    };
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    let flags = PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: the attributes are of the size that they say.
    let number = unsafe { perf_event_open_sys::perf_event_open(&raw mut attr, 0, -1, leader, flags) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The kernel's number of the event behind a descriptor; `None` where there is no event behind it.
fn id_of(descriptor: RawFd) -> Option<u64> {
    let mut id = 0;
    // SAFETY: a valid output; the system checks the descriptor, and other files do not know this request.
    let done = unsafe { ioctls::ID(descriptor, &raw mut id) };
    (done == 0).then_some(id)
}

/// Counters that grow by rates that somebody names, for each second of the calling thread on a processor: instructions, cycles, cache
/// misses. For tests on machines without counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MadeUp {
    /// For each second.
    pub rates: [f64; KINDS],
}

impl Counters for MadeUp {
    fn read(&mut self) -> Option<Reading> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: it writes into `time`.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0 {
            return None;
        }
        let seconds = time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9;
        let nanos = (seconds * 1e9) as u64;
        let counts = self.rates.map(|rate| (rate * seconds) as u64);
        Some(Reading { on_processor: nanos, counted: nanos, counts })
    }

    fn forget(self: Box<Self>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_for_a_part_of_the_time_is_scaled() {
        let earlier = Reading { on_processor: 100, counted: 100, counts: [10, 20, 30] };
        let all = Reading { on_processor: 300, counted: 300, counts: [110, 20, 31] };
        assert_eq!(all.since(&earlier), Some(Counted { on_processor: 200, counts: [100, 0, 1] }));
        let half = Reading { on_processor: 300, counted: 200, counts: [110, 30, 30] };
        assert_eq!(half.since(&earlier), Some(Counted { on_processor: 200, counts: [200, 20, 0] }));
        let none = Reading { on_processor: 300, counted: 100, ..earlier };
        assert_eq!(none.since(&earlier), None, "it ran, and was not counted");
        assert_eq!(earlier.since(&earlier), Some(Counted::default()), "it was asleep");
        // Numbers that make no sense are none.
        assert_eq!(earlier.since(&all), Some(Counted::default()));
        let most = Reading { on_processor: u64::MAX, counted: 1, counts: [u64::MAX; KINDS] };
        assert!(most.since(&Reading::default()).is_some());
    }

    #[test]
    fn a_reading_is_believed_where_it_lies_between_two_of_the_kernel() {
        let before = Reading { on_processor: 100, counted: 90, counts: [10, 20, 30] };
        let after = Reading { on_processor: 200, counted: 190, counts: [110, 20, 31] };
        assert!(lies_between(&before, &before, &after) && lies_between(&after, &before, &after));
        assert!(!lies_between(&Reading { counts: [111, 20, 30], ..before }, &before, &after));
        assert!(!lies_between(&Reading { on_processor: 99, ..before }, &before, &after));
        assert!(!lies_between(&Reading { counted: 191, ..after }, &before, &after));
    }

    #[test]
    fn a_reading_has_its_numbers_in_the_places_of_what_there_is() {
        let bytes = |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_ne_bytes()).collect() };
        let all = bytes(&[2, 500, 400, 7, 9]);
        // No cycles.
        assert_eq!(
            reading(&all, &[0, 2, 0]),
            Some(Reading { on_processor: 500, counted: 400, counts: [7, 0, 9] })
        );
        assert_eq!(reading(&all[..all.len() - 1], &[0, 2, 0]), None);
        assert_eq!(reading(&[], &[0, 1, 2]), None);
    }

    #[test]
    fn counters_that_are_made_up_grow_with_the_time_on_a_processor() {
        let mut counters = MadeUp { rates: [2e9, 1e9, 0.0] };
        let before = counters.read().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let asleep = counters.read().unwrap().since(&before).unwrap();
        let began = std::time::Instant::now();
        while began.elapsed().as_millis() < 50 {}
        let awake = counters.read().unwrap().since(&before).unwrap();
        assert!(asleep.on_processor < 25_000_000, "{asleep:?}");
        assert!(awake.counts[0] > asleep.counts[0] && awake.counts[2] == 0, "{awake:?}");
        let pace = awake.counts[0] as f64 / awake.counts[1] as f64;
        assert!((pace - 2.0).abs() < 1e-6, "{pace}");
    }

    /// The descriptors of this process.
    fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    /// An event that every kernel has that lets this process have any, in place of the counters.
    fn of_software() -> Option<OwnedFd> {
        use perf_event_open_sys::bindings::{PERF_COUNT_SW_TASK_CLOCK, PERF_TYPE_SOFTWARE};
        open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, -1).ok()
    }

    #[test]
    fn a_descriptor_that_is_another_event_or_the_programs_is_left_alone() {
        let (Some(event), Some(other)) = (of_software(), of_software()) else { return };
        let id = id_of(event.as_raw_fd()).expect("it is an event");
        let number = event.as_raw_fd();
        let page = Page::of(&other).expect("an event has a page");
        let mut counters =
            KernelCounters { leader: Some(event), id, places: [0, 1, 2], first: None, others: vec![page] };
        let first = counters.read().expect("it is read");
        let began = std::time::Instant::now();
        while began.elapsed().as_millis() < 20 {}
        let counted = counters.read().unwrap().since(&first).unwrap();
        assert!(counted.counts[0] > 1_000_000 && counted.on_processor > 1_000_000, "{counted:?}");
        // SAFETY: what a program does that closes ours and opens an event of its own.
        assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), number) }, number);
        assert_eq!(counters.read(), None, "it is another event");
        drop(counters);
        assert_eq!(id_of(number), id_of(other.as_raw_fd()), "it is left open");
        // SAFETY: the descriptor that was made above, which nobody uses.
        unsafe { libc::close(number) };
    }

    /// Where the processor has counters that the program may read: they are read so, and agree with the kernel also after some work.
    #[test]
    fn what_is_read_without_the_kernel_is_what_the_kernel_says() {
        let Ok(counters) = KernelCounters::of_this_thread() else { return };
        let may = std::fs::read_to_string("/sys/bus/event_source/devices/cpu/rdpmc");
        if !cfg!(target_arch = "x86_64") || may.is_ok_and(|may| may.trim() == "0") || counters.ask().is_none()
        {
            return;
        }
        assert!(counters.first.is_some(), "what was read at the start did not agree");
        for _ in 0..1000 {
            let before = counters.ask().unwrap();
            (0..1000u64).for_each(|number| {
                std::hint::black_box(number);
            });
            let Some(now) = counters.look() else { continue };
            assert!(lies_between(&now, &before, &counters.ask().unwrap()), "{now:?} after {before:?}");
        }
    }

    #[test]
    fn no_descriptor_stays_behind() {
        // Another test may open some at the same time: what is opened here is counted where there is one thread alone.
        let before = open_descriptors();
        for _ in 0..50 {
            match KernelCounters::of_this_thread() {
                Ok(mut counters) => assert!(counters.read().is_some()),
                Err(error) => {
                    let known = [libc::ENOENT, libc::EACCES, libc::EPERM, libc::ENOSYS, libc::EOPNOTSUPP];
                    assert!(known.contains(&error.raw_os_error().unwrap_or(0)), "{error}");
                }
            }
        }
        assert!(open_descriptors() < before + 25, "{before}, {}", open_descriptors());
    }
}
