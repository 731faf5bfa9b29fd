//! A hook that changes arguments, panics, or registers late, as the environment variable `MEDDLE`
//! says: for the tests of this crate.

use std::{
    cell::UnsafeCell,
    ffi::c_int,
    io::Write,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use mpi_abi::{Abi, Handle, StatusLayout, StatusPtr, questions};
use mpi_intercept::{
    Call, Contexts, FunctionId, Hook, InThread, Outer, ThreadSlot, Wants, register, set_contexts, straighten,
};

/// Storage for the statuses that replace the ignored ones.
#[repr(align(8))]
struct Statuses(UnsafeCell<[u8; 16 * StatusLayout::MAX_SIZE]>);
// SAFETY: the test programs call MPI from one thread.
unsafe impl Sync for Statuses {}
static STATUSES: Statuses = Statuses(UnsafeCell::new([0; 16 * StatusLayout::MAX_SIZE]));

fn own() -> StatusPtr {
    StatusPtr(STATUSES.0.get().cast())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Replaces ignored statuses by its own, and prints what MPI wrote there.
struct ReplaceStatus;

impl Hook for ReplaceStatus {
    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        let Some(abi) = Abi::current() else { return };
        match call {
            Call::Recv(recv) if recv.status.is_ignore(abi) => recv.status = own(),
            Call::Wait(wait) if wait.status.is_ignore(abi) => wait.status = own(),
            Call::Waitall(wait) if wait.array_of_statuses.is_ignore(abi) => {
                wait.array_of_statuses = own();
            }
            _ => {}
        }
    }

    fn leave(&self, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let Some(abi) = Abi::current() else { return };
        let (status, count) = match call {
            Call::Recv(recv) => (recv.status, 1),
            Call::Wait(wait) => (wait.status, 1),
            Call::Waitall(wait) => (wait.array_of_statuses, wait.count as usize),
            _ => return,
        };
        for index in 0..count {
            // SAFETY: a completed call has filled `count` statuses there.
            let (source, tag, bytes) = unsafe {
                let status = status.at(abi, index);
                (status.source(abi), status.tag(abi), status.bytes(abi))
            };
            say(&format!("{} {code}: {source} {tag} {bytes:?}", function.name()));
        }
    }
}

/// Prints what it sees of handles and counts.
struct ShowArguments;

impl Hook for ShowArguments {
    fn leave(&self, function: FunctionId, call: &mut Call<'_>, _: c_int) {
        let Some(abi) = Abi::current() else { return };
        let constants = &abi.constants;
        match call {
            Call::Send(send) => say(&format!(
                "{} count {} world {} int {} dest {} tag {} size {:?}",
                function.name(),
                send.count,
                send.comm == constants.comm_world,
                send.datatype == constants.int,
                send.dest,
                send.tag,
                // A call of our own from inside a hook.
                questions::comm_size(send.comm),
            )),
            Call::Startall(start) => {
                let requests = start.array_of_requests;
                // SAFETY: the application gave an array of this length.
                let own = (0..start.count as usize)
                    .filter(|&index| unsafe { requests.get(index) } != constants.request_null);
                say(&format!("{} {} of {}", function.name(), own.count(), start.count));
            }
            Call::Comm_dup(dup) => {
                // SAFETY: MPI has written the new communicator.
                let new = unsafe { dup.newcomm.read() };
                let fits = abi.handle_width == 8 || new.word() >> 32 == 0;
                say(&format!("{} {} {fits}", function.name(), new != constants.comm_null));
            }
            _ => {}
        }
    }
}

/// Panics at a chosen call, after spoiling its arguments.
struct Panic {
    entering: bool,
    function: FunctionId,
    calls: AtomicU32,
}

impl Panic {
    fn third(&self, function: FunctionId) -> bool {
        function == self.function && self.calls.fetch_add(1, Relaxed) == 2
    }
}

impl Hook for Panic {
    fn enter(&self, function: FunctionId, call: &mut Call<'_>) {
        if self.entering && self.third(function) {
            if let Call::Send(send) = call {
                send.dest = -12345;
            }
            panic!("as it was asked to,\nin two lines");
        }
    }

    fn leave(&self, function: FunctionId, _: &mut Call<'_>, _: c_int) {
        if !self.entering && self.third(function) {
            panic!("as it was asked to");
        }
    }
}

/// Prints the order in which hooks run.
struct Order(&'static str);

impl Hook for Order {
    fn enter(&self, function: FunctionId, _: &mut Call<'_>) {
        say(&format!("enter {} {}", self.0, function.name()));
        if self.0 == "first" && function == FunctionId::Comm_rank {
            // Registered during a call: it sees the next one first.
            static LATE: Order = Order("late");
            let _ = register(&LATE);
        }
    }

    fn leave(&self, function: FunctionId, _: &mut Call<'_>, code: c_int) {
        say(&format!("leave {} {} {code}", self.0, function.name()));
    }
}

/// Asks in the first send to be attended to, and prints when that is, and what follows.
struct Attends;

impl Hook for Attends {
    fn wants(&self, function: FunctionId) -> Wants {
        if function == FunctionId::Send { Wants::Leave } else { Wants::Nothing }
    }

    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, _: &mut Call<'_>, _: c_int) {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        if ASKED.fetch_add(1, Relaxed) == 0 {
            std::thread::spawn(mpi_intercept::attend).join().expect("a thread of ours ends");
        }
        say(&format!("leave {} {}", function.name(), here.call_site().is_some()));
    }

    fn attend(&self) {
        let size = Abi::current().map(|abi| questions::comm_size(abi.constants.comm_world));
        say(&format!("attends {size:?}"));
    }
}

/// Prints the program's function that a call comes from.
struct Sites;

impl Hook for Sites {
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, _: &mut Call<'_>, _: c_int) {
        let mut info = libc::Dl_info {
            dli_fname: std::ptr::null(),
            dli_fbase: std::ptr::null_mut(),
            dli_sname: std::ptr::null(),
            dli_saddr: std::ptr::null_mut(),
        };
        let Some(site) = here.call_site() else { return };
        // SAFETY: `info` is valid to write to; any address may be asked for.
        let found = unsafe { libc::dladdr(site.get() as *const _, &mut info) };
        if found != 0 && !info.dli_sname.is_null() {
            // SAFETY: a name that the dynamic linker has found is a C string that stays.
            let name = unsafe { std::ffi::CStr::from_ptr(info.dli_sname) };
            say(&format!("{} from {}", function.name(), name.to_string_lossy()));
        }
    }
}

/// Gives contexts, and prints what comes its straight way.
struct Outermost;

impl Contexts for Outermost {
    fn find(&self, _: &ThreadSlot, _: usize, function: FunctionId, _: &Call<'_>) -> u32 {
        function.index() as u32 + 1
    }
}

impl Hook for Outermost {
    fn wants(&self, function: FunctionId) -> Wants {
        if function == FunctionId::Irecv { Wants::Leave } else { Wants::Both }
    }

    fn wants_time(&self, _: FunctionId) -> bool {
        true
    }

    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, _: c_int) {
        let context = here.context(function, call);
        let found = FunctionId::from_index(context.wrapping_sub(1) as usize);
        let (entered, left) = (here.entered(), here.left(|| 2));
        say(&format!("left {} {} {entered} {left}", function.name(), found == Some(function)));
    }
}

impl Outer for Outermost {
    fn now(&self) -> u64 {
        1
    }

    fn enter_last(&self, here: InThread<'_>) -> u64 {
        let function = FunctionId::from_index(here.context_found().wrapping_sub(1) as usize);
        say(&format!("straight {}", function.map_or("nowhere", FunctionId::name)));
        1
    }
}

fn startup(abi: &'static Abi) {
    static ENTERING: Panic = Panic { entering: true, function: FunctionId::Send, calls: AtomicU32::new(0) };
    static LEAVING: Panic = Panic { entering: false, function: FunctionId::Send, calls: AtomicU32::new(0) };
    static OUTERMOST: Outermost = Outermost;
    static SECOND: Order = Order("second");
    let what = std::env::var("MEDDLE").unwrap_or_default();
    let hooks: &[&'static dyn Hook] = match what.as_str() {
        "status" => &[&ReplaceStatus],
        "show" => &[&ShowArguments],
        "panic-enter" => &[&ReplaceStatus, &ENTERING, &Order("behind")],
        "panic-leave" => &[&LEAVING],
        "panic-startup" => panic!("as it was asked to"),
        "sites" => &[&Sites],
        "attend" => &[&Attends],
        "order" => &[&Order("first"), &Order("second")],
        "straight" => &[&OUTERMOST, &SECOND],
        "straight-status" => &[&OUTERMOST, &ReplaceStatus],
        "straight-panic-enter" => &[&OUTERMOST, &ENTERING],
        "straight-panic-leave" => &[&OUTERMOST, &LEAVING],
        "straight-and-another" => &[&OUTERMOST, &SECOND, &Order("third")],
        "another-and-straight" => &[&Order("third"), &OUTERMOST, &SECOND],
        "stop" => {
            let _ = register(&Order("unseen"));
            mpi_intercept::stop();
            &[]
        }
        "full" => {
            static HOOK: Order = Order("one of eight");
            let taken = (0..20).filter(|_| register(&HOOK).is_ok()).count();
            say(&format!("{taken} hooks on {}", abi.library.len().min(1)));
            mpi_intercept::stop();
            &[]
        }
        _ => &[],
    };
    for hook in hooks {
        let _ = register(*hook);
    }
    set_contexts(&OUTERMOST);
    match what.as_str() {
        "straight" | "straight-and-another" | "another-and-straight" => straighten(&OUTERMOST, &SECOND),
        "straight-status" => straighten(&OUTERMOST, &ReplaceStatus),
        "straight-panic-enter" => straighten(&OUTERMOST, &ENTERING),
        "straight-panic-leave" => straighten(&OUTERMOST, &LEAVING),
        _ => {}
    }
}

extern "C" fn constructor() {
    mpi_intercept::on_startup(startup);
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;
