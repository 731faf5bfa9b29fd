//! Where a thread is while it computes, at a steady rate; and how fast it computes, by what the processor counts.
//!
//! The kernel takes the samples (`perf_event_open`, the clock of the task): registers and the top of the stack go into a ring that both map.
//! The thread is neither interrupted by signals, which would end its sleeps early, nor does it run code of ours when it is sampled. Whoever
//! [drains](Sampler::drain) the ring, in any thread, unwinds the stacks by the tables that compilers make for exceptions: frame pointers are
//! not needed. Time in the kernel has no samples.
//!
//! - [`ring`]: the kernel's samples.
//! - [`stacks`]: return addresses of the registers and the stack of a sample.
//! - [`other_process`]: the stack of another process, which is stopped for a moment.
//! - [`counters`]: instructions, cycles and cache misses of a thread.

pub mod counters;
pub mod other_process;
mod pages;
pub mod ring;
pub mod stacks;

use std::io;

use ring::{Glance, Ring};
use stacks::Unwinder;

/// Samples of one thread.
pub struct Sampler {
    ring: Ring,
    unwinder: Unwinder<&'static [u8]>,
}

impl Sampler {
    /// Of the calling thread, at this rate for each second that it is on a processor.
    ///
    /// # Errors
    /// The kernel refuses it: the system call is forbidden, as in many containers, or only the administrator may use it
    /// (`/proc/sys/kernel/perf_event_paranoid` above 2).
    pub fn of_this_thread(per_second: u32) -> io::Result<Sampler> {
        Ok(Sampler { ring: Ring::of_this_thread(per_second)?, unwinder: Unwinder::new() })
    }

    /// Whether there are samples that nobody has looked at. May be called while another thread drains; a load and a comparison.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.ring.has_more()
    }

    /// Looks at this sampler's ring from now on, without a lock.
    ///
    /// # Safety
    /// The sampler lives until the process ends, or `glance` looks away before.
    pub unsafe fn show(&self, glance: &Glance) {
        // SAFETY: the caller promises it.
        unsafe { glance.at(&self.ring) };
    }

    /// Whether the next sample may find no space.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.ring.is_full()
    }

    /// Gives the innermost `N` frames of each sample's stack, from the innermost outwards, and 0 beyond the last one. All are addresses behind
    /// the instruction, as return addresses are. Addresses that cannot be told end a stack. Allocates; not from a signal handler.
    pub fn drain<const N: usize>(&mut self, take: &mut dyn FnMut(&[u64; N])) {
        let (unwinder, ring) = (&mut self.unwinder, &mut self.ring);
        let mut stacks = Vec::new();
        unwinder.while_loaded(&mut |unwinder| {
            ring.drain(&mut |sample| {
                let mut frames = [0; N];
                unwinder.frames(&sample, &mut frames);
                stacks.push(frames);
            });
        });
        // Who takes them may wait for a thread that waits for the loader.
        stacks.iter().for_each(take);
    }

    /// Throws all samples away until now.
    pub fn skip(&mut self) {
        self.ring.skip();
    }

    /// How many samples found no space in the ring.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.ring.lost()
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    use super::*;

    #[inline(never)]
    fn inner(until: Instant) -> u64 {
        let mut sum = 0u64;
        while Instant::now() < until {
            for number in 0..1000u64 {
                sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
            }
        }
        sum
    }

    #[inline(never)]
    fn outer(until: Instant) -> u64 {
        black_box(inner(until)).wrapping_add(1)
    }

    fn sampler() -> Option<Sampler> {
        match Sampler::of_this_thread(500) {
            Ok(sampler) => Some(sampler),
            // Where the kernel forbids it, nobody is sampled.
            Err(error)
                if error.raw_os_error() == Some(libc::EACCES)
                    || error.raw_os_error() == Some(libc::EPERM) =>
            {
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn who_computes_is_found_in_its_functions() {
        let Some(mut sampler) = sampler() else { return };
        black_box(outer(Instant::now() + Duration::from_millis(400)));
        let (mut all, mut found) = (0, 0);
        // A function of this size has its code near its beginning.
        let is_in = |address: u64, function: fn(Instant) -> u64| {
            let begin = function as usize as u64;
            (begin..begin + 4096).contains(&address)
        };
        sampler.drain(&mut |frames: &[u64; 13]| {
            all += 1;
            let place = frames.iter().position(|address| is_in(*address, outer));
            found +=
                usize::from(place.is_some_and(|place| frames[..place].iter().any(|of| is_in(*of, inner))));
        });
        assert!(all >= 60, "{all} samples in 400 ms at 500 Hz");
        assert!(found * 10 >= all * 8, "{found} of {all} stacks have both functions");
        // The thread that drains is sampled meanwhile.
        assert_eq!(sampler.lost(), 0);
    }

    #[test]
    fn who_sleeps_is_not_sampled_and_what_is_skipped_does_not_come() {
        let Some(mut sampler) = sampler() else { return };
        black_box(outer(Instant::now() + Duration::from_millis(100)));
        let glance = ring::Glance::nowhere();
        assert!(!glance.has_more());
        // SAFETY: the sampler lives longer.
        unsafe { sampler.show(&glance) };
        assert!(glance.has_more() && !sampler.is_full());
        sampler.skip();
        assert!(!glance.has_more());
        std::thread::sleep(Duration::from_millis(200));
        let mut all = 0;
        sampler.drain(&mut |_: &[u64; 13]| all += 1);
        assert!(all < 5, "{all}");
    }

    #[test]
    fn a_full_ring_says_what_it_lacks_and_goes_on() {
        let Some(mut sampler) = Sampler::of_this_thread(5000).ok() else { return };
        for _ in 0..2 {
            black_box(outer(Instant::now() + Duration::from_millis(700)));
            assert!(sampler.is_full());
            let mut all = 0;
            sampler.drain(&mut |frames: &[u64; 13]| all += usize::from(frames[0] != 0));
            assert!(all > 50, "{all}");
        }
    }
}
