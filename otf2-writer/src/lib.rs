//! OTF2 archives in safe Rust: locations, regions, attributes, messages. It knows nothing of MPI_T.
