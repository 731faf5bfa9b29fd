//! MEL, the MPI_T Events Logger: what happens inside MPI's message queues.
