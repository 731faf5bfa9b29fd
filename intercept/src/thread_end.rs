//! What is done when a thread ends.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

type Action = Box<dyn FnOnce()>;

/// What a thread does when it ends, in the order in which it was said.
struct Actions(RefCell<Vec<Action>>);

impl Drop for Actions {
    fn drop(&mut self) {
        for action in self.0.get_mut().drain(..) {
            // A panic that leaves here would end the process.
            let _ = panic::catch_unwind(AssertUnwindSafe(action));
        }
    }
}

thread_local!(static ACTIONS: Actions = const { Actions(RefCell::new(Vec::new())) });

/// Does this when the calling thread ends, outside of hooks: to give back what is kept for it. Where the thread is ending
/// already it is never done, nor for the thread that the process began with: that one ends before what is done at the process's
/// exit, which still needs it. Other destructors of the thread may call MPI afterwards. Allocates.
pub fn at_thread_end(action: impl FnOnce() + 'static) {
    if is_first() {
        return;
    }
    let _ = ACTIONS.try_with(|actions| actions.0.borrow_mut().push(Box::new(action)));
}

/// Whether this is the thread that the process began with.
fn is_first() -> bool {
    // By its number: the C library has a function for that since 2.30 only.
    // SAFETY: neither takes arguments.
    unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn what_was_said_is_done_in_order_when_the_thread_ends() {
        let (told, heard) = mpsc::channel();
        thread::spawn(move || {
            for number in 0..3 {
                let told = told.clone();
                at_thread_end(move || told.send(number).unwrap());
            }
            told.send(-1).unwrap();
        })
        .join()
        .unwrap();
        assert_eq!(heard.iter().collect::<Vec<_>>(), [-1, 0, 1, 2]);
    }
}
