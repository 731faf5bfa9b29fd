//! What variables there are.

use std::ffi::{c_int, c_void};

use mpi_abi::{Abi, Datatype, HandlePtr};
use mpit_vars::control::{Description, Domain};
use mpit_vars::controls::controls;
use mpit_vars::{Error, Numbered as _, Owner};

use super::{LISTED, num_of_mpi};
use crate::args::{InOut, Name, Out, Text};
use crate::enumeration::{EnumHandle, of_control};
use crate::failure::{Failure, numbers};
use crate::forward::forward;
use crate::init::ready;
use crate::variables::answer;

entry_points! {
    /// The number of control variables; it may grow, it never shrinks.
    fn MPI_T_cvar_get_num = PMPI_T_cvar_get_num[profiling](num_cvar: Out<c_int>) {
        ready()?;
        let num_cvar = num_cvar.required()?;
        let number = controls().refresh(num_of_mpi(profiling));
        num_cvar.set(c_int::try_from(number).unwrap_or(c_int::MAX));
        Ok(())
    }

    /// The description of a variable. Outputs that are null are not given for ours; the MPI's are described by the MPI.
    fn MPI_T_cvar_get_info = PMPI_T_cvar_get_info[profiling](
        cvar_index: c_int,
        name: Text,
        name_len: InOut<c_int>,
        verbosity: Out<c_int>,
        datatype: *mut c_void,
        enumtype: Out<EnumHandle>,
        desc: Text,
        desc_len: InOut<c_int>,
        bind: Out<c_int>,
        scope: Out<c_int>,
    ) {
        ready()?;
        let ours = match LISTED.owner(cvar_index, profiling)? {
            Owner::Ours(index) => controls().entry(index)?,
            Owner::Mpi(index) => return answer(
                forward!(c"MPI_T_cvar_get_info", profiling, (
                    index as c_int => c_int,
                    name => Text,
                    name_len => InOut<c_int>,
                    verbosity => Out<c_int>,
                    datatype => *mut c_void,
                    enumtype => Out<EnumHandle>,
                    desc => Text,
                    desc_len => InOut<c_int>,
                    bind => Out<c_int>,
                    scope => Out<c_int>,
                )),
                Error::InvalidIndex,
            ),
        };
        let (numbers, described) = (numbers(), &*ours.description);
        name.set(name_len, &described.name);
        verbosity.set(numbers.verbosity[described.verbosity as usize]);
        let place = HandlePtr::<Datatype>::new(datatype);
        if !place.is_null() {
            // SAFETY: not null, so the caller has promised room for a handle of its MPI.
            unsafe { place.set(0, datatype_of(described)?) };
        }
        enumtype.set(of_control(&ours));
        desc.set(desc_len, &described.description);
        bind.set(numbers.bind[0]);
        scope.set(numbers.scope[described.scope as usize]);
        Ok(())
    }

    /// The number of the variable of this name: the MPI's, where it has such a one.
    fn MPI_T_cvar_get_index = PMPI_T_cvar_get_index[profiling](name: Name, cvar_index: Out<c_int>) {
        ready()?;
        let (text, cvar_index) = (name.get()?, cvar_index.required()?);
        let mut index: c_int = -1;
        let code = forward!(c"MPI_T_cvar_get_index", profiling, (name => Name, &raw mut index => *mut c_int));
        if code == Some(0) && index >= 0 {
            cvar_index.set(LISTED.number_of_mpi(index, profiling)?);
            return Ok(());
        }
        let ours = controls().of_name(text).ok();
        match ours.and_then(|ours| LISTED.refreshed(profiling).number_of(Owner::Ours(ours.index))) {
            Some(number) => {
                cvar_index.set(number);
                Ok(())
            }
            None => answer(code.filter(|&code| code != 0), Error::InvalidName),
        }
    }
}

fn datatype_of(ours: &Description) -> Result<Datatype, Failure> {
    let constants = &Abi::current().ok_or(Failure::Internal)?.constants;
    Ok(match ours.domain {
        Domain::Choice(_) => constants.int,
        Domain::Number { .. } => constants.unsigned_long,
        Domain::Text(_) => constants.char,
    })
}
