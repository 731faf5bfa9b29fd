//! Numbers of ours for the whole process, read without a handle: by a load or two, in the middle of the program's calls.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::gauge::{Gauge, Mark};

/// Messages that were sent, and their bytes: by any number of threads, each of which has its own counts. Reading takes no lock.
#[derive(Debug, Default)]
pub struct Sent {
    first: AtomicPtr<OfThread>,
}

/// What one thread has sent. Lives as long as the process.
#[derive(Debug)]
pub struct OfThread {
    thread: u16,
    messages: AtomicU64,
    bytes: AtomicU64,
    next: Option<&'static OfThread>,
}

impl OfThread {
    /// Counts a message of so many bytes. On the thread that these counts are of.
    #[inline(always)]
    pub fn count(&self, bytes: u64) {
        let add = |count: &AtomicU64, more: u64| {
            count.store(count.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        };
        add(&self.bytes, bytes);
        // Last: by it others see that something was sent.
        add(&self.messages, 1);
    }
}

impl Sent {
    /// Nothing was sent.
    #[must_use]
    pub const fn new() -> Sent {
        Sent { first: AtomicPtr::new(std::ptr::null_mut()) }
    }

    fn all(&self) -> Option<&'static OfThread> {
        let first = self.first.load(Ordering::Acquire);
        // SAFETY: null, or what `of_thread` has put there, which is never freed.
        unsafe { first.as_ref() }
    }

    /// The counts of a thread, made if there are none. One thread at a time calls this.
    pub fn of_thread(&self, thread: u16) -> &'static OfThread {
        let mut next = self.all();
        while let Some(known) = next {
            if known.thread == thread {
                return known;
            }
            next = known.next;
        }
        let made: &'static OfThread = Box::leak(Box::new(OfThread {
            thread,
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            next: self.all(),
        }));
        self.first.store(std::ptr::from_ref(made).cast_mut(), Ordering::Release);
        made
    }

    /// Messages that all threads have sent: where this is the same, so are the bytes.
    #[inline]
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.sum(|thread| &thread.messages)
    }

    /// Messages, or their bytes, that all threads have sent.
    #[inline]
    fn sum(&self, of: impl Fn(&OfThread) -> &AtomicU64) -> u64 {
        let (mut sum, mut next) = (0u64, self.all());
        while let Some(thread) = next {
            sum = sum.wrapping_add(of(thread).load(Ordering::Relaxed));
            next = thread.next;
        }
        sum
    }
}

/// A number that is read directly. What it counts in, its variable says; times are ticks.
#[derive(Clone, Copy, Debug)]
pub enum Direct {
    /// A count.
    Count(&'static AtomicU64),
    /// A time, in ticks.
    Ticks(&'static AtomicU64),
    /// A level.
    Level(&'static Gauge),
    /// The highest that a level has been.
    Highest(&'static Gauge, Mark),
    /// Envelopes that were lost.
    Lost(&'static AtomicU64),
    /// Messages that were sent.
    Messages(&'static Sent),
    /// Bytes that were sent.
    Bytes(&'static Sent),
}

impl Direct {
    /// Its value now. For any thread.
    #[inline(always)]
    #[must_use]
    pub fn read(&self) -> u64 {
        match self {
            Direct::Count(count) | Direct::Ticks(count) | Direct::Lost(count) => {
                count.load(Ordering::Relaxed)
            }
            Direct::Level(gauge) => gauge.level(),
            Direct::Highest(gauge, mark) => gauge.highest(*mark),
            Direct::Messages(sent) => sent.messages(),
            Direct::Bytes(sent) => sent.sum(|thread| &thread.bytes),
        }
    }

    /// Whether it is a time in ticks.
    #[must_use]
    pub fn is_ticks(&self) -> bool {
        matches!(self, Direct::Ticks(_))
    }

    /// What it is about, if that is what was sent; otherwise it is about the queues, and whoever reads it lets the model follow first.
    #[must_use]
    pub fn sent(&self) -> Option<&'static Sent> {
        match self {
            Direct::Messages(sent) | Direct::Bytes(sent) => Some(sent),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_have_sent_adds_up() {
        let sent: &'static Sent = Box::leak(Box::default());
        assert_eq!(Direct::Messages(sent).read(), 0);
        sent.of_thread(0).count(8);
        sent.of_thread(3).count(5);
        sent.of_thread(0).count(2);
        assert_eq!((Direct::Messages(sent).read(), Direct::Bytes(sent).read()), (3, 15));
        assert!(std::ptr::eq(sent.of_thread(3), sent.of_thread(3)));
    }
}
