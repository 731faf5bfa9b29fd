//! A thread of ours has something to do where the program may call MPI: the program's next call does it, before its hooks run. Calls look at
//! nothing for that which they do not look at anyway.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::FunctionId;
use crate::depth::Depth;
use crate::dispatch::{self, ACTIVE, ATTENDING, Running, SHARED};
use crate::hook;

/// Whether somebody has asked and no call has come since.
static ASKED: AtomicBool = AtomicBool::new(false);

/// The program's next call, in whatever thread, runs [`Hook::attend`](crate::Hook::attend) of all hooks: not one of `MPI_Init`,
/// `MPI_Init_thread`, `MPI_Session_init`, `MPI_Finalize` and `MPI_Abort`, nor of those that any thread may call at any time, nor one that comes
/// from inside of MPI. Where measurement [has ended](crate::stop), none does; where calls [pass by](crate::pass_until), one does when that is
/// over. For any thread, in hooks too.
pub fn attend() {
    ASKED.store(true, Ordering::SeqCst);
    take_up();
}

/// Calls are attended to from now on, if somebody has asked for that.
pub(crate) fn take_up() {
    if ASKED.load(Ordering::SeqCst) {
        let _ = SHARED.state.compare_exchange(ACTIVE, ATTENDING, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// Whether a function's calls may do what waits: the program may call MPI in them, in this thread, and neither begins nor ends it there.
fn may_attend(function: FunctionId) -> bool {
    use FunctionId as F;
    !matches!(
        function,
        F::Init | F::Init_thread | F::Session_init | F::Finalize | F::Abort
            // Any thread may ask these at any time (MPI-5.0 section 11.6.1).
            | F::Initialized | F::Finalized | F::Query_thread | F::Is_thread_main
            | F::Get_version | F::Get_library_version
    )
}

/// A call of this function begins, which has something `here` on the stack. Whether hooks run.
#[cold]
#[inline(never)]
pub(crate) fn look(function: FunctionId, here: usize) -> bool {
    if !may_attend(function) || !Depth::begins_at_top(here) {
        return is_called();
    }
    // First, so that who asks from now on is heard. The state alone says whether this call attends: it must not stay as it is.
    ASKED.store(false, Ordering::SeqCst);
    if SHARED.state.compare_exchange(ATTENDING, ACTIVE, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        // Another call attends, or hooks pause: then it is to be taken up once more.
        ASKED.store(true, Ordering::SeqCst);
    } else {
        let present = hook::present();
        Depth::before_call(|depth| {
            dispatch::guarded(depth, Running::Hook(function), || {
                hook::ascending(present, |_, hook| hook.attend());
            });
        });
    }
    is_called()
}

fn is_called() -> bool {
    matches!(SHARED.state.load(Ordering::Relaxed), ACTIVE | ATTENDING)
}
