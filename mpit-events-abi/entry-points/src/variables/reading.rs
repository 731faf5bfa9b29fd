//! Performance variables for a consumer in Rust: the same list that tools see, without a session of a tool.
//!
//! A consumer of this process reads with a session of the MPI's of its own. It does not count as a tool: what `MPI_T_finalize` of the
//! program's last tool ends stays, and after that the program's own calls are refused as without the consumer. The interface of the MPI is
//! never ended here: MPICH's collectives break where that happens before `MPI_Finalize`, and Open MPI crashes where it happens after.
//!
//! Handles are made and ended where the program may call MPI. [`Bound::read`] may be called by any thread, one at a time, where
//! [`Bound::is_for_any_thread`] says so.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use mpi_abi::{Abi, Comm, Datatype, Family, Handle as _, HandlePtr, Win, pmpi};
use mpit_events::BindKind;
use mpit_vars::direct::Direct;
use mpit_vars::{Bind, Class, Contents, Element, Handle, Numbered as _, Owner, variables};

use super::num_of_mpi;
use super::query::CLASSES;
use crate::failure::numbers;
use crate::forward::{forward, forward_often};

/// The most bytes of a name or a description that are read.
const TEXT: usize = 4096;

/// The type of a variable's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Without a sign, of so many bytes.
    Unsigned(u8),
    /// With a sign, of so many bytes.
    Signed(u8),
    /// `double`.
    Double,
}

impl Number {
    const fn bytes(self) -> usize {
        match self {
            Number::Unsigned(bytes) | Number::Signed(bytes) => bytes as usize,
            Number::Double => 8,
        }
    }

    /// The element at the beginning of these bytes. Whole numbers beyond 2^53 are rounded.
    fn value(self, bytes: &[u8]) -> f64 {
        let mut word = [0; 8];
        let length = self.bytes().min(bytes.len());
        word[..length].copy_from_slice(&bytes[..length]);
        match self {
            Number::Unsigned(_) => u64::from_ne_bytes(word) as f64,
            Number::Signed(4) => f64::from(i32::from_ne_bytes([word[0], word[1], word[2], word[3]])),
            Number::Signed(_) => i64::from_ne_bytes(word) as f64,
            Number::Double => f64::from_ne_bytes(word),
        }
    }

    /// Where values begin again at zero, if they do.
    #[must_use]
    pub fn wraps_at(self) -> Option<f64> {
        match self {
            Number::Unsigned(bytes) => Some(2f64.powi(8 * i32::from(bytes))),
            _ => None,
        }
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its number among all variables.
    pub number: usize,
    /// Its name; another one of another class may have the same.
    pub name: String,
    /// What it means, in a sentence or two.
    pub description: String,
    /// What its values mean.
    pub class: Class,
    /// The kind of object that its handles are bound to.
    pub bind: BindKind,
    /// The type of its elements; none for texts, types that are not known, and variables that some MPIs crash with.
    pub element: Option<Number>,
    /// Whether it is one of ours.
    pub is_ours: bool,
    continuous: bool,
}

/// Reads performance variables: those of the MPI and ours.
#[derive(Debug)]
pub struct Reading {
    session: Option<usize>,
    any_thread: bool,
}

/// A handle of a variable, started.
#[derive(Debug)]
pub struct Bound {
    what: What,
    element: Number,
    count: usize,
    any_thread: bool,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum What {
    Ours(Arc<Handle>),
    Mpi { session: usize, handle: usize },
    Ended,
}

impl Reading {
    /// Opens the interface of the MPI. Where the program may call MPI, between `MPI_Init*` and `MPI_Finalize`.
    #[must_use]
    pub fn open(abi: &Abi) -> Reading {
        mpi_intercept::start();
        let levels = abi.constants.thread;
        // Open MPI takes the level for that of the program from then on.
        let required = match abi.family {
            Family::OpenMpi => pmpi::query_thread().unwrap_or(levels.single),
            _ => levels.multiple,
        };
        let mut provided: c_int = -1;
        let opened = forward!(c"MPI_T_init_thread", true,
            (required => c_int, &raw mut provided => *mut c_int));
        let mut session = 0usize;
        let made = (opened == Some(0))
            .then(|| forward!(c"MPI_T_pvar_session_create", true, (&raw mut session => *mut usize)));
        let session = (made.flatten() == Some(0)).then_some(session);
        Reading { session, any_thread: provided == levels.multiple }
    }

    /// Whether any thread may read variables of the MPI.
    #[must_use]
    pub fn is_for_any_thread(&self) -> bool {
        self.any_thread
    }

    /// How many variables there are now.
    #[must_use]
    pub fn count(&self) -> usize {
        variables().refresh(if self.session.is_some() { num_of_mpi(true) } else { 0 })
    }

    /// What the variable of this number is; `None` where there is none that can be used now.
    #[must_use]
    pub fn describe(&self, number: usize) -> Option<Described> {
        match variables().owner(c_int::try_from(number).ok()?).ok()? {
            Owner::Mpi(index) => self.session.and_then(|_| of_mpi(number, c_int::try_from(index).ok()?)),
            Owner::Ours(index) => {
                let ours = variables().description(index).ok()?;
                Some(Described {
                    number,
                    name: ours.name.to_string(),
                    description: ours.description.to_string(),
                    class: ours.class,
                    bind: match ours.bind {
                        Bind::Nothing => BindKind::None,
                        Bind::Comm => BindKind::Comm,
                    },
                    element: match ours.element {
                        Element::Char => None,
                        Element::UnsignedLong => Some(Number::Unsigned(8)),
                    },
                    is_ours: true,
                    continuous: ours.continuous,
                })
            }
        }
    }

    /// What a variable of ours is for the whole process, where a load or two read it; counted from now on at the latest. Where the program
    /// may call MPI.
    #[must_use]
    pub fn direct(&self, variable: &Described) -> Option<Direct> {
        match variables().owner(c_int::try_from(variable.number).ok()?).ok()? {
            Owner::Ours(index) => variables().direct(index),
            Owner::Mpi(_) => None,
        }
    }

    /// A started handle of a variable for the object with this handle. `None` where the variable has none for it, is no number, or is of a
    /// class whose handles do something (`GENERIC`). Where the program may call MPI.
    #[must_use]
    pub fn bind(&self, variable: &Described, object: Option<usize>) -> Option<Bound> {
        let element = variable.element.filter(|_| variable.class != Class::Generic)?;
        match variables().owner(c_int::try_from(variable.number).ok()?).ok()? {
            Owner::Ours(index) => {
                let handle = variables().bind(index, object.map(|object| object as u64)).ok()?;
                if !variable.continuous {
                    handle.start().ok()?;
                }
                let count = handle.count();
                Some(Bound { what: What::Ours(handle), element, count, any_thread: true, bytes: Vec::new() })
            }
            Owner::Mpi(index) => {
                let session = self.session?;
                let (handle, count) = alloc(session, c_int::try_from(index).ok()?, variable.bind, object)?;
                if !variable.continuous {
                    let _ = forward!(c"MPI_T_pvar_start", true, (session => usize, handle => usize));
                }
                let bytes = vec![0; count * element.bytes()];
                let what = What::Mpi { session, handle };
                Some(Bound { what, element, count, any_thread: self.any_thread, bytes })
            }
        }
    }

    /// Ends the session. Its handles were ended before. Where the program may call MPI.
    pub fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            let _ = forward!(c"MPI_T_pvar_session_free", true, (&raw mut session => *mut usize));
        }
    }
}

impl Bound {
    /// Whether any thread may read it; else only one that may call MPI, where it may.
    #[must_use]
    pub fn is_for_any_thread(&self) -> bool {
        self.any_thread
    }

    /// The number of its elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The type of its elements.
    #[must_use]
    pub fn element(&self) -> Number {
        self.element
    }

    /// Reads the elements into `values`, which is emptied before; whether that succeeded.
    pub fn read(&mut self, values: &mut Vec<f64>) -> bool {
        values.clear();
        match &self.what {
            What::Ended => false,
            What::Ours(handle) => handle
                .read(|contents| match contents {
                    Contents::Numbers(numbers) => values.extend(numbers.iter().map(|number| *number as f64)),
                    Contents::Text(_) => {}
                })
                .is_ok(),
            What::Mpi { session, handle } => {
                let code = forward_often!(c"MPI_T_pvar_read", true, (
                    *session => usize,
                    *handle => usize,
                    self.bytes.as_mut_ptr().cast::<c_void>() => *mut c_void,
                ));
                let element = self.element;
                values.extend(self.bytes.chunks_exact(element.bytes()).map(|bytes| element.value(bytes)));
                code == Some(0)
            }
        }
    }

    /// Ends it: nothing is read any more. Where the program may call MPI.
    pub fn end(&mut self) {
        if let What::Mpi { session, mut handle } = std::mem::replace(&mut self.what, What::Ended) {
            let _ =
                forward!(c"MPI_T_pvar_handle_free", true, (session => usize, &raw mut handle => *mut usize));
        }
    }
}

/// A handle of a variable of the MPI, and the number of its elements.
fn alloc(session: usize, index: c_int, bind: BindKind, object: Option<usize>) -> Option<(usize, usize)> {
    let mut place = 0usize;
    let address: *mut c_void = (&raw mut place).cast();
    let object = match (bind, object) {
        (BindKind::None, _) => std::ptr::null_mut(),
        (BindKind::Comm, Some(word)) => {
            // SAFETY: a word has room for a handle.
            unsafe { HandlePtr::<Comm>::new(address).set(0, Comm::from_word(word)) };
            address
        }
        (BindKind::Win, Some(word)) => {
            // SAFETY: as above.
            unsafe { HandlePtr::<Win>::new(address).set(0, Win::from_word(word)) };
            address
        }
        _ => return None,
    };
    let (mut handle, mut count): (usize, c_int) = (0, 0);
    let code = forward!(c"MPI_T_pvar_handle_alloc", true, (
        session => usize,
        index => c_int,
        object => *mut c_void,
        &raw mut handle => *mut usize,
        &raw mut count => *mut c_int,
    ));
    (code == Some(0)).then_some((handle, usize::try_from(count).ok()?))
}

/// What the MPI says of its variable with this index.
fn of_mpi(number: usize, index: c_int) -> Option<Described> {
    let (mut name, mut description) = (vec![0u8; TEXT], vec![0u8; TEXT]);
    let (mut name_length, mut description_length) = (TEXT as c_int, TEXT as c_int);
    let [mut verbosity, mut class, mut bind, mut readonly, mut continuous, mut atomic]: [c_int; 6] = [0; 6];
    let (mut datatype, mut enumeration) = (0usize, 0usize);
    let code = forward!(c"MPI_T_pvar_get_info", true, (
        index => c_int,
        name.as_mut_ptr().cast::<c_char>() => *mut c_char,
        &raw mut name_length => *mut c_int,
        &raw mut verbosity => *mut c_int,
        &raw mut class => *mut c_int,
        (&raw mut datatype).cast::<c_void>() => *mut c_void,
        &raw mut enumeration => *mut usize,
        description.as_mut_ptr().cast::<c_char>() => *mut c_char,
        &raw mut description_length => *mut c_int,
        &raw mut bind => *mut c_int,
        &raw mut readonly => *mut c_int,
        &raw mut continuous => *mut c_int,
        &raw mut atomic => *mut c_int,
    ));
    // Open MPI has numbers of variables whose component was closed: those are refused.
    if code != Some(0) {
        return None;
    }
    // SAFETY: the MPI has written a handle there.
    let datatype = unsafe { HandlePtr::<Datatype>::new((&raw mut datatype).cast()).read() };
    let numbers = numbers();
    let place = numbers.pvar_class.iter().position(|&number| number == class)?;
    let kinds = [
        BindKind::None,
        BindKind::Comm,
        BindKind::Datatype,
        BindKind::Errhandler,
        BindKind::File,
        BindKind::Group,
        BindKind::Op,
        BindKind::Request,
        BindKind::Win,
        BindKind::Message,
        BindKind::Info,
        BindKind::Session,
    ];
    let bind = numbers.bind.iter().position(|&number| number == bind).and_then(|place| kinds.get(place))?;
    let text = |bytes: Vec<u8>| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let name = text(name);
    // Open MPI registers variables of components that were not chosen, when its interface is opened after `MPI_Init`; those of the
    // MTL for PSM2 crash then as soon as there is a handle.
    let is_trap = name.starts_with("mtl_") && Abi::current()?.family == Family::OpenMpi;
    Some(Described {
        number,
        name,
        description: text(description),
        class: CLASSES[place],
        bind: *bind,
        element: number_of(datatype).filter(|_| !is_trap),
        is_ours: false,
        continuous: continuous != 0,
    })
}

/// How to read a datatype of the MPI: one of those that the standard allows.
fn number_of(datatype: Datatype) -> Option<Number> {
    let known = &Abi::current()?.constants;
    let all = [
        (known.int, Number::Signed(4)),
        (known.unsigned, Number::Unsigned(4)),
        (known.unsigned_long, Number::Unsigned(8)),
        (known.unsigned_long_long, Number::Unsigned(8)),
        (known.count, Number::Signed(8)),
        (known.int64, Number::Signed(8)),
        (known.uint64, Number::Unsigned(8)),
        (known.double, Number::Double),
    ];
    all.into_iter().find(|(known, _)| *known == datatype).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_by_their_types() {
        assert_eq!(Number::Unsigned(4).value(&u32::MAX.to_ne_bytes()), 4_294_967_295.0);
        assert_eq!(Number::Signed(4).value(&(-3i32).to_ne_bytes()), -3.0);
        assert_eq!(Number::Signed(8).value(&(-3i64).to_ne_bytes()), -3.0);
        assert_eq!(Number::Double.value(&1.5f64.to_ne_bytes()), 1.5);
        assert_eq!(Number::Unsigned(8).value(&7u64.to_ne_bytes()), 7.0);
        assert_eq!(Number::Unsigned(4).wraps_at(), Some(4_294_967_296.0));
        assert_eq!(Number::Double.wraps_at(), None);
    }
}
