//! What variables there are.

use std::ffi::{c_int, c_void};

use mpi_abi::{Abi, Datatype, HandlePtr};
use mpit_vars::{Bind, Class, Description, Element, Error, Numbered as _, Owner, variables};

use super::{LISTED, num_of_mpi};
use crate::args::{InOut, Name, Out, Text};
use crate::enumeration::EnumHandle;
use crate::failure::{Failure, numbers};
use crate::forward::forward;
use crate::init::ready;
use crate::variables::answer;

/// All classes, in the order of their numbers.
pub(super) const CLASSES: [Class; 10] = [
    Class::State,
    Class::Level,
    Class::Size,
    Class::Percentage,
    Class::HighWatermark,
    Class::LowWatermark,
    Class::Counter,
    Class::Aggregate,
    Class::Timer,
    Class::Generic,
];

entry_points! {
    /// The number of performance variables; it may grow, it never shrinks.
    fn MPI_T_pvar_get_num = PMPI_T_pvar_get_num[profiling](num_pvar: Out<c_int>) {
        ready()?;
        let num_pvar = num_pvar.required()?;
        let number = variables().refresh(num_of_mpi(profiling));
        num_pvar.set(c_int::try_from(number).unwrap_or(c_int::MAX));
        Ok(())
    }

    /// The description of a variable. Outputs that are null are not given for ours; the MPI's are described by the MPI.
    fn MPI_T_pvar_get_info = PMPI_T_pvar_get_info[profiling](
        pvar_index: c_int,
        name: Text,
        name_len: InOut<c_int>,
        verbosity: Out<c_int>,
        var_class: Out<c_int>,
        datatype: *mut c_void,
        enumtype: Out<EnumHandle>,
        desc: Text,
        desc_len: InOut<c_int>,
        bind: Out<c_int>,
        readonly: Out<c_int>,
        continuous: Out<c_int>,
        atomic: Out<c_int>,
    ) {
        ready()?;
        let ours = match LISTED.owner(pvar_index, profiling)? {
            Owner::Ours(index) => variables().description(index)?,
            Owner::Mpi(index) => return answer(
                forward!(c"MPI_T_pvar_get_info", profiling, (
                    index as c_int => c_int,
                    name => Text,
                    name_len => InOut<c_int>,
                    verbosity => Out<c_int>,
                    var_class => Out<c_int>,
                    datatype => *mut c_void,
                    enumtype => Out<EnumHandle>,
                    desc => Text,
                    desc_len => InOut<c_int>,
                    bind => Out<c_int>,
                    readonly => Out<c_int>,
                    continuous => Out<c_int>,
                    atomic => Out<c_int>,
                )),
                Error::InvalidIndex,
            ),
        };
        let numbers = numbers();
        name.set(name_len, &ours.name);
        verbosity.set(numbers.verbosity[ours.verbosity as usize]);
        var_class.set(numbers.pvar_class[ours.class as usize]);
        let place = HandlePtr::<Datatype>::new(datatype);
        if !place.is_null() {
            // SAFETY: not null, so the caller has promised room for a handle of its MPI.
            unsafe { place.set(0, datatype_of(&ours)?) };
        }
        enumtype.set(EnumHandle(0));
        desc.set(desc_len, &ours.description);
        bind.set(numbers.bind[match ours.bind {
            Bind::Nothing => 0,
            Bind::Comm => 1,
        }]);
        readonly.set(c_int::from(ours.readonly));
        continuous.set(c_int::from(ours.continuous));
        atomic.set(c_int::from(ours.atomic));
        Ok(())
    }

    /// The number of the variable of this name and class: the MPI's, where it has such a one.
    fn MPI_T_pvar_get_index = PMPI_T_pvar_get_index[profiling](
        name: Name,
        var_class: c_int,
        pvar_index: Out<c_int>,
    ) {
        ready()?;
        let (text, pvar_index) = (name.get()?, pvar_index.required()?);
        let mut index: c_int = -1;
        let code = forward!(c"MPI_T_pvar_get_index", profiling,
            (name => Name, var_class => c_int, &raw mut index => *mut c_int));
        if code == Some(0) && index >= 0 {
            pvar_index.set(LISTED.number_of_mpi(index, profiling)?);
            return Ok(());
        }
        let class = numbers().pvar_class.iter().position(|&number| number == var_class);
        let ours = class.and_then(|class| variables().of_name(text, CLASSES[class]).ok());
        match ours.and_then(|ours| LISTED.refreshed(profiling).number_of(Owner::Ours(ours))) {
            Some(number) => {
                pvar_index.set(number);
                Ok(())
            }
            None => answer(code.filter(|&code| code != 0), Error::InvalidName),
        }
    }
}

fn datatype_of(ours: &Description) -> Result<Datatype, Failure> {
    let constants = &Abi::current().ok_or(Failure::Internal)?.constants;
    Ok(match ours.element {
        Element::Char => constants.char,
        Element::UnsignedLong => constants.unsigned_long,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_in_the_order_of_their_numbers() {
        for (number, class) in CLASSES.into_iter().enumerate() {
            assert_eq!(class as usize, number);
        }
    }
}
