//! The MPI_T events core: types, sources, registrations, dispatch. It knows no MPI: bound objects are opaque tokens.
