//! Categories (MPI-5.0, section 15.3.9): MPI's own, and one that has all events of this library.
//!
//! MPI's categories keep their indices, and ours follows; where MPI adds more after the tool has asked
//! for the first time, ours stays where it is and they are counted behind it. So no index that was told
//! ever means another category.

use std::ffi::c_int;
use std::sync::OnceLock;

use mpit_events::{Core, Error, core};

use crate::args::{InOut, Name, Out, OutArray, Text};
use crate::compose;
use crate::controls;
use crate::failure::Failure;
use crate::forward::forward;
use crate::init::ready;
use crate::variables;

const NAME: &str = "mpit_events";
const DESCRIPTION: &str = "Events of MPI's message queues, as a model of them beside MPI tells them.";

/// A category as MPI or we know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    Ours,
    /// With MPI's own index, which need not exist.
    Mpi(c_int),
}

entry_points! {
    /// The number of categories; it may grow, it never shrinks.
    fn MPI_T_category_get_num = PMPI_T_category_get_num[profiling](num_cat: Out<c_int>) {
        ready()?;
        num_cat.required()?.set(num_of_mpi(profiling)? + c_int::from(place().is_some()));
        Ok(())
    }

    /// The description of a category. Outputs that are null are not given.
    fn MPI_T_category_get_info = PMPI_T_category_get_info[profiling](
        cat_index: c_int,
        name: Text,
        name_len: InOut<c_int>,
        desc: Text,
        desc_len: InOut<c_int>,
        num_cvars: Out<c_int>,
        num_pvars: Out<c_int>,
        num_categories: Out<c_int>,
    ) {
        ready()?;
        match existing(cat_index)? {
            Category::Ours => {
                name.set(name_len, NAME);
                desc.set(desc_len, DESCRIPTION);
                [num_cvars, num_pvars, num_categories].iter().for_each(|number| number.set(0));
                Ok(())
            }
            Category::Mpi(index) => answer(forward!(c"MPI_T_category_get_info", profiling, (
                index => c_int,
                name => Text,
                name_len => InOut<c_int>,
                desc => Text,
                desc_len => InOut<c_int>,
                num_cvars => Out<c_int>,
                num_pvars => Out<c_int>,
                num_categories => Out<c_int>,
            ))),
        }
    }

    /// The index of the category of this name.
    fn MPI_T_category_get_index = PMPI_T_category_get_index[profiling](name: Name, cat_index: Out<c_int>) {
        ready()?;
        let (text, cat_index) = (name.get()?, cat_index.required()?);
        if let Some(place) = place().filter(|_| text == NAME.as_bytes()) {
            cat_index.set(place);
            return Ok(());
        }
        let mut index: c_int = 0;
        let code = forward!(c"MPI_T_category_get_index", profiling,
            (name => Name, &raw mut index => *mut c_int));
        answer(Some(code.ok_or(Error::InvalidName)?))?;
        cat_index.set(counted(place(), index));
        Ok(())
    }

    /// The control variables in a category.
    fn MPI_T_category_get_cvars = PMPI_T_category_get_cvars[profiling](
        cat_index: c_int,
        len: c_int,
        indices: OutArray<c_int>,
    ) {
        ready()?;
        let Category::Mpi(index) = existing(cat_index)? else { return Ok(()) };
        let indices = indices.required_for(len)?;
        let mut inner = vec![0; room(len).min(cvars_inside(index, profiling)?)];
        answer(forward!(c"MPI_T_category_get_cvars", profiling,
            (index => c_int, inner.len() as c_int => c_int, inner.as_mut_ptr() => *mut c_int)))?;
        let numbers: Result<Vec<c_int>, Failure> =
            inner.into_iter().map(|index| controls::LISTED.number_of_mpi(index, profiling)).collect();
        // SAFETY: these are at most `len`, for which the caller has promised room.
        unsafe { indices.fill(numbers?.into_iter()) };
        Ok(())
    }

    /// The performance variables in a category.
    fn MPI_T_category_get_pvars = PMPI_T_category_get_pvars[profiling](
        cat_index: c_int,
        len: c_int,
        indices: OutArray<c_int>,
    ) {
        ready()?;
        let Category::Mpi(index) = existing(cat_index)? else { return Ok(()) };
        let indices = indices.required_for(len)?;
        let mut inner = vec![0; room(len).min(pvars_inside(index, profiling)?)];
        answer(forward!(c"MPI_T_category_get_pvars", profiling,
            (index => c_int, inner.len() as c_int => c_int, inner.as_mut_ptr() => *mut c_int)))?;
        let numbers: Result<Vec<c_int>, Failure> =
            inner.into_iter().map(|index| variables::LISTED.number_of_mpi(index, profiling)).collect();
        // SAFETY: these are at most `len`, for which the caller has promised room.
        unsafe { indices.fill(numbers?.into_iter()) };
        Ok(())
    }

    /// The categories in a category.
    fn MPI_T_category_get_categories = PMPI_T_category_get_categories[profiling](
        cat_index: c_int,
        len: c_int,
        indices: OutArray<c_int>,
    ) {
        ready()?;
        let Category::Mpi(index) = existing(cat_index)? else { return Ok(()) };
        let indices = indices.required_for(len)?;
        let mut inner = vec![0; room(len).min(num_inside(index, profiling)?)];
        answer(forward!(c"MPI_T_category_get_categories", profiling,
            (index => c_int, inner.len() as c_int => c_int, inner.as_mut_ptr() => *mut c_int)))?;
        // SAFETY: these are at most `len`, for which the caller has promised room.
        unsafe { indices.fill(inner.into_iter().map(|index| counted(place(), index))) };
        Ok(())
    }

    /// A number that becomes another one when a category has changed.
    fn MPI_T_category_changed = PMPI_T_category_changed[profiling](update_number: Out<c_int>) {
        let core = ready()?;
        let update_number = update_number.required()?;
        let mut of_mpi: c_int = 0;
        match forward!(c"MPI_T_category_changed", profiling, (&raw mut of_mpi => *mut c_int)) {
            Some(0) | None => {}
            failed => return answer(failed),
        }
        // Neither ever becomes less. Ours changes when event types are added.
        update_number.set(of_mpi.wrapping_add(core.num_types() as c_int));
        Ok(())
    }

    /// The number of events in a category.
    fn MPI_T_category_get_num_events = PMPI_T_category_get_num_events[profiling](
        cat_index: c_int,
        num_events: Out<c_int>,
    ) {
        let core = ready()?;
        let category = existing(cat_index)?;
        let num_events = num_events.required()?;
        let Category::Mpi(index) = category else {
            num_events.set(ours(core).count() as c_int);
            return Ok(());
        };
        num_events.set(events_inside(index, profiling)? as c_int);
        Ok(())
    }

    /// The events in a category.
    fn MPI_T_category_get_events = PMPI_T_category_get_events[profiling](
        cat_index: c_int,
        len: c_int,
        indices: OutArray<c_int>,
    ) {
        let core = ready()?;
        let category = existing(cat_index)?;
        let indices = indices.required_for(len)?;
        match category {
            Category::Ours => {
                // SAFETY: these are at most `len`, for which the caller has promised room.
                unsafe { indices.fill(ours(core).take(room(len))) };
                Ok(())
            }
            Category::Mpi(index) => {
                let mut inner = vec![0; room(len).min(events_inside(index, profiling)?)];
                if !inner.is_empty() {
                    answer(forward!(c"MPI_T_category_get_events", profiling,
                        (index => c_int, inner.len() as c_int => c_int, inner.as_mut_ptr() => *mut c_int)))?;
                }
                let numbers: Result<Vec<c_int>, Failure> =
                    inner.into_iter().map(compose::number_of_mpi_event).collect();
                // SAFETY: these are at most `len`, for which the caller has promised room.
                unsafe { indices.fill(numbers?.into_iter()) };
                Ok(())
            }
        }
    }
}

/// The numbers of our event types.
fn ours(core: &Core) -> impl Iterator<Item = c_int> {
    compose::refresh();
    core.event_types().filter_map(|(index, _)| compose::number_of_event(index))
}

/// How many events there are in one of MPI's categories.
fn events_inside(index: c_int, profiling: bool) -> Result<usize, Failure> {
    let mut number: c_int = 0;
    match forward!(c"MPI_T_category_get_num_events", profiling,
        (index => c_int, &raw mut number => *mut c_int))
    {
        // An MPI without events has none in its categories.
        None => Ok(0),
        code => answer(code).map(|()| room(number)),
    }
}

fn room(len: c_int) -> usize {
    usize::try_from(len).unwrap_or(0)
}

/// What MPI has answered; where it has no such function, it has no such category either.
fn answer(code: Option<c_int>) -> Result<(), Failure> {
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Mpi(code)),
        None => Err(Error::InvalidIndex.into()),
    }
}

/// How many categories MPI has now.
fn num_of_mpi(profiling: bool) -> Result<c_int, Failure> {
    let mut number: c_int = 0;
    match forward!(c"MPI_T_category_get_num", profiling, (&raw mut number => *mut c_int)) {
        Some(0) | None => Ok(number),
        Some(code) => Err(Failure::Mpi(code)),
    }
}

/// How many categories there are in one of MPI's.
fn num_inside(index: c_int, profiling: bool) -> Result<usize, Failure> {
    inside(index, profiling).map(|[_, _, categories]| room(categories))
}

/// How many control variables there are in one of MPI's.
fn cvars_inside(index: c_int, profiling: bool) -> Result<usize, Failure> {
    inside(index, profiling).map(|[cvars, ..]| room(cvars))
}

/// How many performance variables there are in one of MPI's.
fn pvars_inside(index: c_int, profiling: bool) -> Result<usize, Failure> {
    inside(index, profiling).map(|[_, pvars, _]| room(pvars))
}

/// How many control variables, performance variables and categories there are in one of MPI's.
fn inside(index: c_int, profiling: bool) -> Result<[c_int; 3], Failure> {
    let (mut name_len, mut desc_len): (c_int, c_int) = (0, 0);
    let [mut cvars, mut pvars, mut categories]: [c_int; 3] = [0; 3];
    answer(forward!(c"MPI_T_category_get_info", profiling, (
        index => c_int,
        Text::UNWANTED => Text,
        &raw mut name_len => *mut c_int,
        Text::UNWANTED => Text,
        &raw mut desc_len => *mut c_int,
        &raw mut cvars => *mut c_int,
        &raw mut pvars => *mut c_int,
        &raw mut categories => *mut c_int,
    )))?;
    Ok([cvars, pvars, categories])
}

/// The index of our category: behind those that MPI had when this was first asked. There is none where
/// another copy of this library has the events.
fn place() -> Option<c_int> {
    static PLACE: OnceLock<c_int> = OnceLock::new();
    if core().num_types() == 0 {
        return None;
    }
    match PLACE.get() {
        Some(&place) => Some(place),
        // Where MPI cannot tell now, it will be asked again.
        None => num_of_mpi(true).ok().map(|number| *PLACE.get_or_init(|| number)),
    }
}

/// The category that a tool means by an index.
fn told(place: Option<c_int>, index: c_int) -> Category {
    match place {
        Some(place) if index == place => Category::Ours,
        Some(place) if index > place => Category::Mpi(index - 1),
        _ => Category::Mpi(index),
    }
}

/// The index under which tools know a category of MPI's.
fn counted(place: Option<c_int>, index_of_mpi: c_int) -> c_int {
    match place {
        Some(place) if index_of_mpi >= place => index_of_mpi + 1,
        _ => index_of_mpi,
    }
}

/// The category that a tool means, which must exist: MPICH 5 does not check negative indices itself.
fn existing(index: c_int) -> Result<Category, Failure> {
    let category = told(place(), index);
    match category {
        Category::Mpi(of_mpi) if !(0..num_of_mpi(true)?).contains(&of_mpi) => Err(Error::InvalidIndex.into()),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_was_told_keeps_its_meaning_when_mpi_adds_categories() {
        // MPI had three, so ours is the fourth; then MPI adds two.
        let place = Some(3);
        let meant: Vec<Category> = (0..6).map(|index| told(place, index)).collect();
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(Category::Mpi);
        assert_eq!(meant, [a, b, c, Category::Ours, d, e]);
        for index in [0, 1, 2, 4, 5] {
            let Category::Mpi(of_mpi) = told(place, index) else { panic!("{index} is MPI's") };
            assert_eq!(counted(place, of_mpi), index);
        }
    }

    #[test]
    fn bad_indices_stay_bad() {
        assert_eq!(told(Some(3), -1), Category::Mpi(-1));
        assert_eq!(told(Some(3), c_int::MIN), Category::Mpi(c_int::MIN));
        assert_eq!(told(None, 7), Category::Mpi(7));
        assert_eq!(counted(None, 7), 7);
    }
}
