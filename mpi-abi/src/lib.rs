//! Which MPI runs in this process: its handles, constants, status layout and next functions.
