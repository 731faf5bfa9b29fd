//! A tool in forty lines: counts the calls of each MPI function, and prints the counts of each
//! process in `MPI_Finalize`, on standard error.
//!
//! ```text
//! cargo build -p mpi-intercept --example count_calls
//! mpirun -n 2 env LD_PRELOAD=target/debug/examples/libcount_calls.so ./app
//! ```

use std::{
    ffi::c_int,
    fmt::Write as _,
    io::Write as _,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use mpi_abi::Abi;
use mpi_intercept::{Call, FunctionId, Hook};

struct Counter {
    begun: [AtomicU64; FunctionId::COUNT],
    ended: [AtomicU64; FunctionId::COUNT],
}

static COUNTER: Counter = Counter {
    begun: [const { AtomicU64::new(0) }; FunctionId::COUNT],
    ended: [const { AtomicU64::new(0) }; FunctionId::COUNT],
};

impl Hook for Counter {
    fn enter(&self, function: FunctionId, _: &mut Call<'_>) {
        self.begun[function.index()].fetch_add(1, Relaxed);
        if function == FunctionId::Finalize {
            self.print();
        }
    }

    fn leave(&self, function: FunctionId, _: &mut Call<'_>, _: c_int) {
        self.ended[function.index()].fetch_add(1, Relaxed);
    }
}

impl Counter {
    fn print(&self) {
        let mut text = String::new();
        for function in FunctionId::all() {
            let begun = self.begun[function.index()].load(Relaxed);
            let ended = self.ended[function.index()].load(Relaxed);
            if begun > 0 {
                let _ = writeln!(text, "{} {begun} {ended}", function.name());
            }
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Runs at the first `MPI_Init*`.
fn startup(_: &'static Abi) {
    let _ = mpi_intercept::register(&COUNTER);
}

/// Runs when the library is loaded, and only says what to run later.
extern "C" fn constructor() {
    mpi_intercept::on_startup(startup);
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;
