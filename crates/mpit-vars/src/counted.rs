//! Values that count while they are started.

use crate::{Contents, Error, Value};

/// Counts that only grow, from any time on.
pub trait Tally: Send {
    /// How many there are; it never changes.
    fn count(&self) -> usize;

    /// Somebody is about to read them, and again later: from now on they must grow.
    ///
    /// # Errors
    /// [`Error::Failed`] where they cannot.
    fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Writes the counts now. They wrap around.
    fn now(&mut self, into: &mut [u64]);
}

/// What a tally has counted while the handle was started. Every handle counts for itself, whatever others do.
#[derive(Debug)]
pub struct Counted<T> {
    tally: T,
    /// What was counted until the last start.
    before: Vec<u64>,
    /// The tally at the last start.
    since: Vec<u64>,
    /// What is given to the reader.
    value: Vec<u64>,
    started: bool,
}

impl<T: Tally> Counted<T> {
    /// Stopped, and zero.
    pub fn new(tally: T) -> Self {
        let zero = vec![0; tally.count()];
        Counted { tally, before: zero.clone(), since: zero.clone(), value: zero, started: false }
    }

    fn take_value(&mut self) {
        if !self.started {
            return self.value.copy_from_slice(&self.before);
        }
        self.tally.now(&mut self.value);
        for ((value, since), before) in self.value.iter_mut().zip(&self.since).zip(&self.before) {
            *value = value.wrapping_sub(*since).wrapping_add(*before);
        }
    }

    fn count_from_now(&mut self) {
        if self.started {
            self.tally.now(&mut self.since);
        }
    }
}

impl<T: Tally> Value for Counted<T> {
    fn count(&self) -> usize {
        self.before.len()
    }

    fn start(&mut self) -> Result<(), Error> {
        self.tally.begin()?;
        self.started = true;
        self.count_from_now();
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.take_value();
        self.before.copy_from_slice(&self.value);
        self.started = false;
        Ok(())
    }

    fn read(&mut self) -> Result<Contents<'_>, Error> {
        self.take_value();
        Ok(Contents::Numbers(&self.value))
    }

    fn write(&mut self, contents: Contents<'_>) -> Result<(), Error> {
        let Contents::Numbers(numbers) = contents else { return Err(Error::Failed) };
        if numbers.len() != self.before.len() {
            return Err(Error::Failed);
        }
        self.before.copy_from_slice(numbers);
        self.count_from_now();
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.before.fill(0);
        self.count_from_now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct One(Arc<AtomicU64>);

    impl Tally for One {
        fn count(&self) -> usize {
            1
        }

        fn now(&mut self, into: &mut [u64]) {
            into[0] = self.0.load(Ordering::Relaxed);
        }
    }

    fn read(value: &mut dyn Value) -> u64 {
        match value.read() {
            Ok(Contents::Numbers(&[number])) => number,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_what_happens_while_it_is_started_counts() {
        let tally = Arc::new(AtomicU64::new(5));
        let mut value = Counted::new(One(tally.clone()));
        tally.store(7, Ordering::Relaxed);
        assert_eq!(read(&mut value), 0);
        value.start().unwrap();
        tally.store(10, Ordering::Relaxed);
        assert_eq!(read(&mut value), 3);
        value.stop().unwrap();
        tally.store(20, Ordering::Relaxed);
        assert_eq!(read(&mut value), 3);
        value.start().unwrap();
        tally.store(21, Ordering::Relaxed);
        assert_eq!(read(&mut value), 4);
        value.reset().unwrap();
        assert_eq!(read(&mut value), 0);
        tally.store(23, Ordering::Relaxed);
        value.write(Contents::Numbers(&[100])).unwrap();
        tally.store(24, Ordering::Relaxed);
        assert_eq!(read(&mut value), 101);
    }

    #[test]
    fn a_count_that_overflows_is_still_the_difference() {
        let tally = Arc::new(AtomicU64::new(u64::MAX - 1));
        let mut value = Counted::new(One(tally.clone()));
        value.start().unwrap();
        tally.store(2, Ordering::Relaxed);
        assert_eq!(read(&mut value), 4);
    }

    #[test]
    fn what_is_no_value_of_it_is_refused() {
        let mut value = Counted::new(One(Arc::default()));
        assert_eq!(value.write(Contents::Numbers(&[1, 2])), Err(Error::Failed));
        assert_eq!(value.write(Contents::Text("1")), Err(Error::Failed));
    }
}
