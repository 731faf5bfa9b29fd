//! The C function by which a program asks for a sample. `include/mel.h` finds it at run time; `include/mel.f90` does, too.

use super::sampler::Sampler;

/// A sample of all variables that are sampled is taken now. Nothing where none are. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_sample() {
    mpi_intercept::asked(|| {
        super::sampler().into_iter().for_each(Sampler::sample);
    });
}
