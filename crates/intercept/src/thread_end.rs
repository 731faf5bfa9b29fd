//! Actions at the end of a thread.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

type Action = Box<dyn FnOnce()>;

/// The actions of a thread, in the order of registration.
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

/// Runs `action` when the calling thread ends, outside of hooks: to release the thread's state. Allocates.
///
/// The action never runs where the thread is ending already, nor on the thread that the process began with: that thread
/// ends before the handlers of the process's exit, which still need its state. Other destructors of the thread may call
/// MPI afterwards.
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
    fn actions_run_in_order_when_the_thread_ends() {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for number in 0..3 {
                let sender = sender.clone();
                at_thread_end(move || sender.send(number).unwrap());
            }
            sender.send(-1).unwrap();
        })
        .join()
        .unwrap();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [-1, 0, 1, 2]);
    }
}
