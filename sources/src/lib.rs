//! Producers of events: the twin of Open MPI's ob1 matching.
