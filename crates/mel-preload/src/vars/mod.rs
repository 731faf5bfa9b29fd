//! Performance variables, sampled while the program runs: the MPI's own and ours.
//!
//! - [`mod@sampler`]: which variables are read for which objects, when, and by whom.
//! - [`series`]: a variable on one object, and a sample of it; what was read goes into the profile table.
//! - `consumer`: from `MPI_Init*` to the end.
//! - [`mel_sample`]: the C function by which a program asks for a sample; `include/mel.h` and `include/mel.f90` find it at run time.
//!
//! Handles are made and ended in the program's MPI calls. A thread of ours reads all that any thread may read; what the MPI allows
//! only those threads to read that may call it is read at the entry of the program's next call. What was read goes through a bounded queue
//! to the one that keeps it; what finds no space there is counted. The interface of the MPI stays open: MPICH's collectives break
//! where it is ended before `MPI_Finalize`.
//!
//! Must not know: what a variable counts.

mod consumer;
mod sampler;
mod series;

pub(crate) use consumer::{consumer, sampler};
pub(crate) use series::class_name;

use sampler::Sampler;

/// A sample of all variables that are sampled is taken now. Nothing where none are. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_sample() {
    mpi_intercept::asked(|| {
        sampler().into_iter().for_each(Sampler::sample);
    });
}
