//! The events interface that the MPI of this process has itself: `MPI_T_event_*`, `MPI_T_source_*`.
//!
//! Open MPI before 6 and MPICH before 4 have no such functions; MPICH 4 has them, and events only
//! where it was built with them. The functions are found once; descriptions come as owned
//! values, so that only this file handles what MPIs do with null pointers and short buffers.
//!
//! MPI's own rules hold: the tool information interface must be initialised
//! ([`ToolEvents::initialise`]), and what is called inside a callback must be allowed at its level.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::{Abi, Datatype, Error, Family, HandlePtr, Result, next, questions};

/// `MPI_T_event_cb_function`: instance, registration, safety level, user data.
pub type ToolEventFn = unsafe extern "C" fn(usize, usize, c_int, *mut c_void);
/// `MPI_T_event_free_cb_function`: registration, safety level, user data.
pub type ToolFreeFn = unsafe extern "C" fn(usize, c_int, *mut c_void);
/// `MPI_T_event_dropped_cb_function`: count, registration, source, safety level, user data.
pub type ToolDroppedFn = unsafe extern "C" fn(i64, usize, c_int, c_int, *mut c_void);

macro_rules! functions {
    ($($field:ident = $name:literal ($($type:ty),* $(,)?);)*) => {
        /// The functions, all of them. Handles are machine words, as everywhere here.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the names are MPI's own")]
        pub struct ToolEvents {
            $(pub $field: unsafe extern "C-unwind" fn($($type),*) -> c_int,)*
        }

        impl ToolEvents {
            /// All functions as `look_up` finds them; `None` where one is missing.
            fn find(look_up: fn(&CStr) -> *mut c_void) -> Option<Self> {
                Some(ToolEvents { $($field: {
                    let address = look_up($name);
                    if address.is_null() {
                        return None;
                    }
                    // SAFETY: the function of this name has this signature in every MPI that has it
                    // (MPI-4.0 and later), with handles as machine words.
                    unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type),*) -> c_int>(address)
                    }
                }),* })
            }
        }
    };
}

functions! {
    init_thread = c"MPI_T_init_thread" (c_int, *mut c_int);
    event_get_num = c"MPI_T_event_get_num" (*mut c_int);
    event_get_info = c"MPI_T_event_get_info" (
        c_int, *mut c_char, *mut c_int, *mut c_int, *mut c_void, *mut isize, *mut c_int, *mut usize,
        *mut c_void, *mut c_char, *mut c_int, *mut c_int,
    );
    event_get_index = c"MPI_T_event_get_index" (*const c_char, *mut c_int);
    event_handle_alloc = c"MPI_T_event_handle_alloc" (c_int, *mut c_void, usize, *mut usize);
    event_handle_set_info = c"MPI_T_event_handle_set_info" (usize, usize);
    event_handle_get_info = c"MPI_T_event_handle_get_info" (usize, *mut c_void);
    event_handle_free = c"MPI_T_event_handle_free" (usize, *mut c_void, Option<ToolFreeFn>);
    event_register_callback = c"MPI_T_event_register_callback" (
        usize, c_int, usize, *mut c_void, Option<ToolEventFn>,
    );
    event_callback_set_info = c"MPI_T_event_callback_set_info" (usize, c_int, usize);
    event_callback_get_info = c"MPI_T_event_callback_get_info" (usize, c_int, *mut c_void);
    event_set_dropped_handler = c"MPI_T_event_set_dropped_handler" (usize, Option<ToolDroppedFn>);
    event_read = c"MPI_T_event_read" (usize, c_int, *mut c_void);
    event_copy = c"MPI_T_event_copy" (usize, *mut c_void);
    event_get_timestamp = c"MPI_T_event_get_timestamp" (usize, *mut i64);
    event_get_source = c"MPI_T_event_get_source" (usize, *mut c_int);
    source_get_num = c"MPI_T_source_get_num" (*mut c_int);
    source_get_info = c"MPI_T_source_get_info" (
        c_int, *mut c_char, *mut c_int, *mut c_char, *mut c_int, *mut c_int, *mut i64, *mut i64, *mut c_void,
    );
    source_get_timestamp = c"MPI_T_source_get_timestamp" (c_int, *mut i64);
    category_get_num_events = c"MPI_T_category_get_num_events" (c_int, *mut c_int);
    category_get_events = c"MPI_T_category_get_events" (c_int, c_int, *mut c_int);
    enum_get_info = c"MPI_T_enum_get_info" (usize, *mut c_int, *mut c_char, *mut c_int);
    enum_get_item = c"MPI_T_enum_get_item" (usize, c_int, *mut c_int, *mut c_char, *mut c_int);
}

/// An event type of the MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolEventType {
    /// Its unique name.
    pub name: String,
    /// What it means.
    pub description: String,
    /// `MPI_T_VERBOSITY_*`, in the MPI's own numbers.
    pub verbosity: c_int,
    /// The data types of its elements.
    pub datatypes: Vec<Datatype>,
    /// The elements' places from the start of the event, in bytes; as many as there are datatypes.
    pub displacements: Vec<isize>,
    /// The `MPI_T_enum` of the elements' names; 0 (`MPI_T_ENUM_NULL`) for none.
    pub enumeration: usize,
    /// `MPI_T_BIND_*`, in the MPI's own numbers.
    pub bind: c_int,
}

impl ToolEventType {
    /// The bytes of an element; `None` where there is no such element, or where only a running MPI knows the
    /// size of its datatype.
    pub fn element_size(&self, index: usize) -> Option<usize> {
        let datatype = *self.datatypes.get(index)?;
        questions::type_size_at_any_time(datatype)
    }

    /// The bytes of an event: where its last element ends. Elements of unknown size count as the largest
    /// that MPI has.
    pub fn extent(&self) -> usize {
        let displacements = self.displacements.iter().map(|&place| usize::try_from(place).unwrap_or(0));
        let ends = displacements
            .enumerate()
            .map(|(index, place)| place + self.element_size(index).unwrap_or(LARGEST_ELEMENT));
        ends.max().unwrap_or(0)
    }
}

/// `MPI_C_LONG_DOUBLE_COMPLEX`, in bytes: no predefined datatype of one value is larger.
pub const LARGEST_ELEMENT: usize = 32;

/// A source of events of the MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSource {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// `MPI_T_source_order`, in the MPI's own numbers.
    pub ordering: c_int,
    /// Ticks in a second.
    pub ticks_per_second: i64,
    /// The largest time stamp.
    pub max_ticks: i64,
}

fn check(function: &'static str, code: c_int) -> Result<()> {
    // MPI_SUCCESS is zero in every MPI.
    if code == 0 { Ok(()) } else { Err(Error::Code { function, code }) }
}

/// Both texts that a function returns, one after the other: MPICH refuses null outputs, so the other one gets a
/// buffer of length zero.
fn name_and_description(
    mut ask: impl FnMut(*mut c_char, *mut c_int, *mut c_char, *mut c_int) -> Result<()>,
) -> Result<(String, String)> {
    let (mut none, mut zero): (c_char, c_int) = (0, 0);
    let name = text(|name, length| {
        zero = 0;
        ask(name, length, &raw mut none, &raw mut zero)
    })?;
    let description = text(|desc, length| {
        zero = 0;
        ask(&raw mut none, &raw mut zero, desc, length)
    })?;
    Ok((name, description))
}

/// A string that an MPI writes: asked for its length first.
fn text(mut get: impl FnMut(*mut c_char, *mut c_int) -> Result<()>) -> Result<String> {
    // Some MPIs refuse null pointers, and none writes into a buffer of length zero.
    let mut none: c_char = 0;
    let mut length: c_int = 0;
    get(&raw mut none, &raw mut length)?;
    let mut bytes = vec![0u8; usize::try_from(length).unwrap_or(0).max(1)];
    length = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
    get(bytes.as_mut_ptr().cast(), &raw mut length)?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

impl ToolEvents {
    /// The MPI's functions, as a tool calls them (`MPI_T_*`, which other tools may see) or unseen
    /// (`PMPI_T_*`). `None` where the MPI has no events interface. Found once.
    pub fn get(profiling: bool) -> Option<&'static Self> {
        static FOUND: [OnceLock<Option<ToolEvents>>; 2] = [const { OnceLock::new() }; 2];
        let look_up = if profiling { next::unseen } else { next::next };
        FOUND[usize::from(profiling)].get_or_init(|| ToolEvents::find(look_up)).as_ref()
    }

    /// Initialises the tool information interface once more, for several threads.
    ///
    /// # Errors
    /// Those of MPI.
    pub fn initialise(&self) -> Result<()> {
        let multiple = Abi::current().ok_or(Error::NoMpi)?.constants.thread.multiple;
        let mut provided = 0;
        // SAFETY: a valid output.
        check("MPI_T_init_thread", unsafe { (self.init_thread)(multiple, &raw mut provided) })
    }

    /// The number of event types now; none where the interface is not initialised.
    pub fn num_events(&self) -> c_int {
        let mut number = 0;
        // SAFETY: a valid output.
        let code = unsafe { (self.event_get_num)(&raw mut number) };
        if code == 0 { number.max(0) } else { 0 }
    }

    /// The number of sources now; none where the interface is not initialised.
    pub fn num_sources(&self) -> c_int {
        let mut number = 0;
        // SAFETY: a valid output.
        let code = unsafe { (self.source_get_num)(&raw mut number) };
        if code == 0 { number.max(0) } else { 0 }
    }

    /// The event type of this name; `None` where there is none.
    pub fn event_of_name(&self, name: &CStr) -> Option<c_int> {
        let mut index = -1;
        // SAFETY: a C string and a valid output.
        let code = unsafe { (self.event_get_index)(name.as_ptr(), &raw mut index) };
        (code == 0 && index >= 0).then_some(index)
    }

    /// The description of an event type. Allocates.
    ///
    /// # Errors
    /// Those of MPI: the index is not one of an event type.
    pub fn event_type(&self, index: c_int) -> Result<ToolEventType> {
        let (mut verbosity, mut enumeration, mut bind, mut elements) = (0, 0usize, 0, 0);
        // Resized for all elements once their number is known; eight bytes hold any MPI's handle.
        let (mut handles, mut displacements) = (Vec::<u64>::new(), Vec::<isize>::new());
        let mut ask = |name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int| {
            handles.resize(usize::try_from(elements).unwrap_or(0), 0);
            displacements.resize(handles.len(), 0);
            elements = c_int::try_from(handles.len()).unwrap_or(c_int::MAX);
            // SAFETY: outputs are valid, the strings are as long as their lengths say, and the
            // arrays that of `elements`; the info object is not wanted.
            check("MPI_T_event_get_info", unsafe {
                (self.event_get_info)(
                    index,
                    name,
                    name_len,
                    &raw mut verbosity,
                    handles.as_mut_ptr().cast(),
                    displacements.as_mut_ptr(),
                    &raw mut elements,
                    &raw mut enumeration,
                    std::ptr::null_mut(),
                    desc,
                    desc_len,
                    &raw mut bind,
                )
            })
        };
        let (name, description) = name_and_description(&mut ask)?;
        let array = HandlePtr::<Datatype>::new(handles.as_mut_ptr().cast());
        // SAFETY: the MPI has filled that many handles of its width.
        let datatypes = (0..handles.len()).map(|index| unsafe { array.get(index) }).collect();
        // MPICH has a place for this and never writes to it.
        if is_mpich() {
            enumeration = 0;
        }
        Ok(ToolEventType { name, description, verbosity, datatypes, displacements, enumeration, bind })
    }

    /// The description of a source. Allocates.
    ///
    /// # Errors
    /// Those of MPI: the index is not one of a source.
    pub fn source(&self, index: c_int) -> Result<ToolSource> {
        let (mut ordering, mut ticks_per_second, mut max_ticks) = (0, 0i64, 0i64);
        let mut ask = |name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int| {
            // SAFETY: outputs are valid, the strings are as long as their lengths say; the info
            // object is not wanted.
            check("MPI_T_source_get_info", unsafe {
                (self.source_get_info)(
                    index,
                    name,
                    name_len,
                    desc,
                    desc_len,
                    &raw mut ordering,
                    &raw mut ticks_per_second,
                    &raw mut max_ticks,
                    std::ptr::null_mut(),
                )
            })
        };
        let (name, description) = name_and_description(&mut ask)?;
        Ok(ToolSource { name, description, ordering, ticks_per_second, max_ticks })
    }

    /// Whether an event has data that can be read. MPICH 4.0 gives `unexp_message_dequeued` a wild address
    /// instead of its data, and would follow it: it is one of a member of a structure at address 0.
    ///
    /// Signal-safe where the MPI's own functions are.
    ///
    /// # Safety
    /// `event` is an instance that the MPI has given to a callback, which is running.
    #[inline]
    pub unsafe fn has_data(&self, event: usize) -> bool {
        const LOWEST_ADDRESS: usize = 1 << 16;
        if !is_mpich() {
            return true;
        }
        let mut stamp = 0;
        // SAFETY: a live instance, as the caller promises, and a valid output.
        if unsafe { (self.event_get_timestamp)(event, &raw mut stamp) } != 0 {
            return true;
        }
        // SAFETY: MPICH's instances are structures on the stack: a kind (in some builds), the type, the
        // time stamp, and the address of the data.
        let words = unsafe { std::ptr::with_exposed_provenance::<[usize; 4]>(event).read_unaligned() };
        let place = words[1..3].iter().position(|&word| word == stamp as usize);
        place.is_none_or(|place| words[place + 2] >= LOWEST_ADDRESS)
    }

    /// The time now on a source's clock, in its ticks.
    ///
    /// # Errors
    /// Those of MPI: no such source, or one whose clock cannot be read at any time.
    #[inline]
    pub fn source_timestamp(&self, index: c_int) -> Result<i64> {
        let mut ticks = 0;
        // SAFETY: a valid output.
        check("MPI_T_source_get_timestamp", unsafe { (self.source_get_timestamp)(index, &raw mut ticks) })?;
        Ok(ticks)
    }

    /// The name of an item of an enumeration. Allocates.
    ///
    /// # Errors
    /// Those of MPI: there is no such item.
    ///
    /// # Safety
    /// `enumeration` is one that the MPI has given and is not null.
    pub unsafe fn item_name(&self, enumeration: usize, index: c_int) -> Result<String> {
        let mut value = 0;
        text(|name, length| {
            // SAFETY: a valid enumeration, as the caller promises, and valid outputs.
            let code = unsafe { (self.enum_get_item)(enumeration, index, &raw mut value, name, length) };
            check("MPI_T_enum_get_item", code)
        })
    }
}

/// Whether this is MPICH or what is built from it, as far as is known.
fn is_mpich() -> bool {
    Abi::current().is_none_or(|abi| abi.family == Family::Mpich || abi.library.contains("MPICH"))
}
