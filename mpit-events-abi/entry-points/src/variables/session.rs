//! Sessions and handles.

use std::ffi::{c_int, c_void};

use mpit_events::BindKind;
use mpit_vars::{Bind, Error, Owner, Whose, variables};

use super::LISTED;
use crate::args::{InOut, Out};
use crate::failure::Failure;
use crate::forward::forward;
use crate::init::ready;
use crate::object;
use crate::variables::answer;

entry_points! {
    /// A new session: the handles in it are independent of those of others.
    fn MPI_T_pvar_session_create = PMPI_T_pvar_session_create[profiling](pe_session: Out<usize>) {
        ready()?;
        let pe_session = pe_session.required()?;
        let mut of_mpi = 0usize;
        let created = match forward!(c"MPI_T_pvar_session_create", profiling, (&raw mut of_mpi => *mut usize)) {
            Some(0) => Some(of_mpi),
            Some(code) => return Err(Failure::Mpi(code)),
            None => None,
        };
        pe_session.set(variables().create_session(created));
        // A variable that is asked for later has what is in the queues then.
        mpi_intercept::listen();
        Ok(())
    }

    /// Ends a session with all its handles; its place gets `MPI_T_PVAR_SESSION_NULL`, which is null in every MPI.
    fn MPI_T_pvar_session_free = PMPI_T_pvar_session_free[profiling](pe_session: InOut<usize>) {
        ready()?;
        let session = pe_session.get().ok_or(Failure::Argument)?;
        let of_mpi = variables().free_session(session)?;
        pe_session.set(0);
        let Some(mut of_mpi) = of_mpi else { return Ok(()) };
        answer(
            forward!(c"MPI_T_pvar_session_free", profiling, (&raw mut of_mpi => *mut usize)),
            Error::InvalidSession,
        )
    }

    /// Makes a handle for a variable and, where that is bound to a kind of object, for the object whose handle lies at
    /// `obj_handle`, or is `obj_handle` itself. `count` gets the number of elements that a read writes.
    fn MPI_T_pvar_handle_alloc = PMPI_T_pvar_handle_alloc[profiling](
        pe_session: usize,
        pvar_index: c_int,
        obj_handle: *mut c_void,
        handle: Out<usize>,
        count: Out<c_int>,
    ) {
        let core = ready()?;
        let variables = variables();
        let of_mpi = variables.session_of_mpi(pe_session)?;
        let ours = match LISTED.owner(pvar_index, profiling)? {
            Owner::Ours(index) => index,
            Owner::Mpi(index) => {
                let handle = handle.required()?;
                let session = of_mpi.ok_or(Error::InvalidSession)?;
                let mut made = 0usize;
                answer(
                    forward!(c"MPI_T_pvar_handle_alloc", profiling, (
                        session => usize,
                        index as c_int => c_int,
                        obj_handle => *mut c_void,
                        &raw mut made => *mut usize,
                        count => Out<c_int>,
                    )),
                    Error::InvalidIndex,
                )?;
                variables.add_handle_of_mpi(pe_session, made)?;
                handle.set(made);
                return Ok(());
            }
        };
        let (handle, count) = (handle.required()?, count.required()?);
        let object = match variables.description(ours)?.bind {
            Bind::Nothing => None,
            // SAFETY: the caller has promised a communicator, or the address of one.
            Bind::Comm => unsafe { object::token(core, BindKind::Comm, obj_handle) }?,
        };
        let (made, value) = variables.alloc(pe_session, ours, object.map(|token| token.0))?;
        handle.set(made);
        count.set(c_int::try_from(value.count()).unwrap_or(c_int::MAX));
        Ok(())
    }

    /// Ends a handle; its place gets `MPI_T_PVAR_HANDLE_NULL`, which is null in every MPI.
    fn MPI_T_pvar_handle_free = PMPI_T_pvar_handle_free[profiling](
        pe_session: usize,
        handle: InOut<usize>,
    ) {
        ready()?;
        let word = handle.get().ok_or(Failure::Argument)?;
        if let Whose::Mpi(session) = variables().free(pe_session, word)? {
            let mut freed = word;
            let code = forward!(c"MPI_T_pvar_handle_free", profiling,
                (session => usize, &raw mut freed => *mut usize));
            if code != Some(0) {
                // It is still there.
                variables().add_handle_of_mpi(pe_session, word)?;
            }
            answer(code, Error::InvalidHandle)?;
        }
        handle.set(0);
        Ok(())
    }
}
