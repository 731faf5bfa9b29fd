//! Every MPI function as an interposed symbol, with one hook interface.
