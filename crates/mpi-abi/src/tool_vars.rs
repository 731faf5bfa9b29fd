//! The control and performance variables that the MPI of this process has itself: `MPI_T_cvar_*`, `MPI_T_pvar_*`.
//!
//! Values come and go as text: what a variable's type is matters here only. Reading can crash in some MPIs (Open MPI's
//! `opal_common_ucx_verbose`, where the interface was initialised before MPI): who reads what nobody needs does so in a
//! process of its own.
//!
//! MPI's own rules hold: until `MPI_Finalize`, from one thread at a time. Before `MPI_Init` what is bound to an object has no value.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::{Abi, Comm, Datatype, Error, HandlePtr, Result, next, questions};

/// Calls a function of the MPI itself; an error where it has none.
macro_rules! call {
    ($name:literal, ($($arg:expr => $type:ty),* $(,)?)) => {{
        let address = CString::new($name).map_or(std::ptr::null_mut(), |name| next::unseen(&name));
        if address.is_null() {
            return Err(Error::Missing($name));
        }
        // SAFETY: the function of this name has this signature in every MPI, with handles as machine words.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type),*) -> c_int>(address)
        };
        // SAFETY: outputs are the addresses of variables of this function, with room for what MPI writes.
        match unsafe { function($($arg),*) } {
            0 => Ok(()),
            code => Err(Error::Code { function: $name, code }),
        }
    }};
}

/// What a control variable's value must be the same on (`MPI_T_SCOPE_*`), in the order of the standard.
pub const SCOPES: [&str; 7] = ["constant", "readonly", "local", "group", "group_eq", "all", "all_eq"];
/// What the values of a performance variable mean (`MPI_T_PVAR_CLASS_*`), in the order of the standard.
pub const CLASSES: [&str; 10] = [
    "state",
    "level",
    "size",
    "percentage",
    "highwatermark",
    "lowwatermark",
    "counter",
    "aggregate",
    "timer",
    "generic",
];
/// What a variable is bound to (`MPI_T_BIND_*`), in the order of the standard.
pub const BINDINGS: [&str; 12] = [
    "nothing",
    "communicator",
    "datatype",
    "errhandler",
    "file",
    "group",
    "op",
    "request",
    "window",
    "message",
    "info",
    "session",
];

/// Which of the two kinds of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarKind {
    /// `MPI_T_cvar_*`
    Control,
    /// `MPI_T_pvar_*`
    Performance,
}

/// A variable of the MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolVar {
    /// Which kind.
    pub kind: VarKind,
    /// Its number.
    pub index: c_int,
    /// Its name.
    pub name: String,
    /// What MPI says of it.
    pub description: String,
    /// Of [`CLASSES`] or [`SCOPES`].
    pub class: &'static str,
    /// Of [`BINDINGS`].
    pub bind: &'static str,
    /// The type of its elements, such as `MPI_INT`.
    pub datatype: String,
    /// Bytes of an element.
    pub size: usize,
    /// Whether it cannot be written.
    pub readonly: bool,
    /// Whether a performance variable is always started.
    pub continuous: bool,
    /// The MPI's handle of the enumeration of its values; zero where it has none.
    enumeration: usize,
}

/// Initialises the tool information interface once more. Allowed before `MPI_Init`.
///
/// # Errors
/// [`Error::Missing`] where the MPI has none; MPI's own.
pub fn initialise() -> Result<()> {
    let (mut provided, level) = (0, Abi::current().map_or(0, |abi| abi.constants.thread.single));
    call!("MPI_T_init_thread", (level => c_int, &raw mut provided => *mut c_int))
}

/// How many variables of a kind there are.
///
/// # Errors
/// As [`initialise`].
pub fn number(kind: VarKind) -> Result<c_int> {
    let mut number = 0;
    match kind {
        VarKind::Control => call!("MPI_T_cvar_get_num", (&raw mut number => *mut c_int))?,
        VarKind::Performance => call!("MPI_T_pvar_get_num", (&raw mut number => *mut c_int))?,
    }
    Ok(number)
}

/// Room for a string of MPI.
const ROOM: usize = 4096;

fn text(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).map(CStr::to_bytes).unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn of<'a>(names: &[&'a str], numbers: &[c_int], number: c_int) -> &'a str {
    numbers
        .iter()
        .position(|&known| known == number)
        .and_then(|place| names.get(place))
        .copied()
        .unwrap_or("?")
}

/// What a variable is. [`Error::Code`] is not rare: Open MPI keeps the numbers of variables that are gone.
///
/// # Errors
/// As [`initialise`].
pub fn describe(kind: VarKind, index: c_int) -> Result<ToolVar> {
    let abi = Abi::current().ok_or(Error::NoMpi)?;
    let tool = &abi.constants.tool;
    let (mut name, mut description) = (vec![0u8; ROOM], vec![0u8; ROOM]);
    let (mut name_length, mut description_length) = (ROOM as c_int, ROOM as c_int);
    let (mut verbosity, mut class, mut bind) = (0 as c_int, 0 as c_int, 0 as c_int);
    let (mut readonly, mut continuous, mut atomic) = (0 as c_int, 0 as c_int, 0 as c_int);
    // As wide as the widest handle.
    let (mut datatype, mut values) = (0usize, 0usize);
    match kind {
        VarKind::Control => call!("MPI_T_cvar_get_info", (
            index => c_int,
            name.as_mut_ptr().cast() => *mut c_char,
            &raw mut name_length => *mut c_int,
            &raw mut verbosity => *mut c_int,
            (&raw mut datatype).cast() => *mut c_void,
            &raw mut values => *mut usize,
            description.as_mut_ptr().cast() => *mut c_char,
            &raw mut description_length => *mut c_int,
            &raw mut bind => *mut c_int,
            &raw mut class => *mut c_int,
        ))?,
        VarKind::Performance => call!("MPI_T_pvar_get_info", (
            index => c_int,
            name.as_mut_ptr().cast() => *mut c_char,
            &raw mut name_length => *mut c_int,
            &raw mut verbosity => *mut c_int,
            &raw mut class => *mut c_int,
            (&raw mut datatype).cast() => *mut c_void,
            &raw mut values => *mut usize,
            description.as_mut_ptr().cast() => *mut c_char,
            &raw mut description_length => *mut c_int,
            &raw mut bind => *mut c_int,
            &raw mut readonly => *mut c_int,
            &raw mut continuous => *mut c_int,
            &raw mut atomic => *mut c_int,
        ))?,
    }
    let place = HandlePtr::<Datatype>::new((&raw mut datatype).cast());
    // SAFETY: room for the widest handle, which MPI has filled.
    let datatype = unsafe { place.get(0) };
    let class = match kind {
        VarKind::Control => of(&SCOPES, &tool.scope, class),
        VarKind::Performance => of(&CLASSES, &tool.pvar_class, class),
    };
    Ok(ToolVar {
        kind,
        index,
        name: text(&name),
        description: text(&description),
        class,
        bind: of(&BINDINGS, &tool.bind, bind),
        size: questions::type_size_at_any_time(datatype).unwrap_or(0),
        datatype: questions::type_name_at_any_time(datatype).unwrap_or_default(),
        readonly: readonly != 0 || matches!(class, "constant" | "readonly"),
        continuous: continuous != 0,
        enumeration: values,
    })
}

impl ToolVar {
    /// The numbers and names of the values that it may have; none where MPI does not say.
    pub fn items(&self) -> Vec<(c_int, String)> {
        if self.enumeration == 0 {
            return Vec::new();
        }
        self.try_items().unwrap_or_default()
    }

    /// How many algorithms MPICH has under this variable: it has them as a number, names them in the description only, and crashes
    /// with another number.
    pub fn algorithms(&self) -> Option<usize> {
        let is_one = self.name.starts_with("MPIR_CVAR_")
            && self.name.ends_with("_ALGORITHM")
            && self.datatype == "MPI_INT";
        is_one.then(|| self.description.matches(" - ").count()).filter(|count| *count > 1)
    }

    fn try_items(&self) -> Result<Vec<(c_int, String)>> {
        let (mut number, mut name, mut length) = (0 as c_int, vec![0u8; ROOM], ROOM as c_int);
        call!("MPI_T_enum_get_info", (
            self.enumeration => usize,
            &raw mut number => *mut c_int,
            name.as_mut_ptr().cast() => *mut c_char,
            &raw mut length => *mut c_int,
        ))?;
        let mut items = Vec::new();
        for item in 0..number {
            let (mut value, mut length) = (0 as c_int, ROOM as c_int);
            name.fill(0);
            call!("MPI_T_enum_get_item", (
                self.enumeration => usize,
                item => c_int,
                &raw mut value => *mut c_int,
                name.as_mut_ptr().cast() => *mut c_char,
                &raw mut length => *mut c_int,
            ))?;
            items.push((value, text(&name)));
        }
        Ok(items)
    }

    /// The value, as text: elements with commas between them. One that is bound to a communicator is that of
    /// `MPI_COMM_WORLD`; of another binding there is none.
    ///
    /// # Errors
    /// MPI's own.
    pub fn read(&self) -> Result<Option<String>> {
        let mut world = [0usize; 1];
        let Some(object) = self.object(&mut world) else { return Ok(None) };
        match self.kind {
            VarKind::Control => {
                let (mut handle, mut count) = (0usize, 0 as c_int);
                call!("MPI_T_cvar_handle_alloc", (
                    self.index => c_int,
                    object => *mut c_void,
                    &raw mut handle => *mut usize,
                    &raw mut count => *mut c_int,
                ))?;
                let mut room = self.room(count);
                let read = (|| call!("MPI_T_cvar_read", (handle => usize, room.as_mut_ptr().cast() => *mut c_void)))(
                );
                let _ = (|| call!("MPI_T_cvar_handle_free", (&raw mut handle => *mut usize)))();
                read.map(|()| Some(self.shown(&room, count)))
            }
            VarKind::Performance => self.read_performance(object),
        }
    }

    fn read_performance(&self, object: *mut c_void) -> Result<Option<String>> {
        let (mut session, mut handle, mut count) = (0usize, 0usize, 0 as c_int);
        call!("MPI_T_pvar_session_create", (&raw mut session => *mut usize))?;
        let read = (|| {
            call!("MPI_T_pvar_handle_alloc", (
                session => usize,
                self.index => c_int,
                object => *mut c_void,
                &raw mut handle => *mut usize,
                &raw mut count => *mut c_int,
            ))?;
            if !self.continuous {
                call!("MPI_T_pvar_start", (session => usize, handle => usize))?;
            }
            let mut room = self.room(count);
            call!("MPI_T_pvar_read", (
                session => usize,
                handle => usize,
                room.as_mut_ptr().cast() => *mut c_void,
            ))?;
            Ok(Some(self.shown(&room, count)))
        })();
        let _ = (|| call!("MPI_T_pvar_session_free", (&raw mut session => *mut usize)))();
        read
    }

    /// Writes a control variable.
    ///
    /// # Errors
    /// MPI's own, where it does not take the value; [`Error::NoValue`] where the text is no value of this type, [`Error::Elements`]
    /// where it has more elements than the variable, or fewer.
    pub fn write(&self, text: &str) -> Result<()> {
        let mut world = [0usize; 1];
        let object = self.object(&mut world).ok_or(Error::NoValue)?;
        let (mut handle, mut count) = (0usize, 0 as c_int);
        call!("MPI_T_cvar_handle_alloc", (
            self.index => c_int,
            object => *mut c_void,
            &raw mut handle => *mut usize,
            &raw mut count => *mut c_int,
        ))?;
        let mut room = self.room(count);
        let written = self.fill(&mut room, text, count).and_then(
            |()| call!("MPI_T_cvar_write", (handle => usize, room.as_ptr().cast() => *const c_void)),
        );
        let _ = (|| call!("MPI_T_cvar_handle_free", (&raw mut handle => *mut usize)))();
        written
    }

    /// Where MPI finds the object that the variable is bound to.
    fn object(&self, world: &mut [usize; 1]) -> Option<*mut c_void> {
        match self.bind {
            "nothing" => Some(std::ptr::null_mut()),
            "communicator" => {
                let place: *mut c_void = world.as_mut_ptr().cast();
                let abi = Abi::current().filter(|abi| abi.has_a_world())?;
                // SAFETY: room for the widest handle.
                unsafe { HandlePtr::<Comm>::new(place).set(0, abi.world()) };
                Some(place)
            }
            _ => None,
        }
    }

    /// Zeros, more than the variable has: strings may be longer than MPI says.
    fn room(&self, count: c_int) -> Vec<u64> {
        vec![0; usize::try_from(count).unwrap_or(0).max(1) * self.size.max(8) / 8 + ROOM]
    }

    fn shown(&self, room: &[u64], count: c_int) -> String {
        // SAFETY: integers are bytes.
        let bytes = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), size_of_val(room)) };
        if self.datatype == "MPI_CHAR" {
            return text(bytes);
        }
        let size = self.size.clamp(1, 8);
        let elements = bytes.chunks_exact(size).take(usize::try_from(count).unwrap_or(0));
        let one = |element: &[u8]| {
            let mut wide = [0u8; 8];
            wide[..size].copy_from_slice(element);
            let number = u64::from_le_bytes(wide);
            match (self.datatype.as_str(), size) {
                ("MPI_DOUBLE", 8) => f64::from_bits(number).to_string(),
                ("MPI_INT", 4) => (number as u32 as i32).to_string(),
                ("MPI_LONG" | "MPI_LONG_LONG" | "MPI_LONG_LONG_INT" | "MPI_COUNT", 8) => {
                    (number as i64).to_string()
                }
                _ => number.to_string(),
            }
        };
        elements.map(one).collect::<Vec<_>>().join(",")
    }

    /// Writes the elements of a text, all that the variable has.
    fn fill(&self, room: &mut [u64], text: &str, count: c_int) -> Result<()> {
        let (has, got) = (usize::try_from(count).unwrap_or(0).max(1), text.split(',').count());
        if self.datatype != "MPI_CHAR" && got != has {
            return Err(Error::Elements { has, got });
        }
        self.fill_all(room, text).ok_or(Error::NoValue)
    }

    fn fill_all(&self, room: &mut [u64], text: &str) -> Option<()> {
        let bytes: Vec<u8> = if self.datatype == "MPI_CHAR" {
            CString::new(text).ok()?.into_bytes_with_nul()
        } else {
            let size = self.size.clamp(1, 8);
            let mut bytes = Vec::new();
            for element in text.split(',') {
                let element = element.trim();
                let wide = if self.datatype == "MPI_DOUBLE" {
                    element.parse::<f64>().ok()?.to_le_bytes()
                } else {
                    element.parse::<i128>().ok().and_then(|number| match (self.datatype.as_str(), size) {
                        ("MPI_INT", 4) => {
                            i32::try_from(number).ok().map(|number| i64::from(number).to_le_bytes())
                        }
                        (_, 4) => u32::try_from(number).ok().map(|number| u64::from(number).to_le_bytes()),
                        _ => i64::try_from(number).ok().map(i64::to_le_bytes),
                    })?
                };
                bytes.extend_from_slice(&wide[..size]);
            }
            bytes
        };
        let room = room.as_mut_ptr().cast::<u8>();
        // SAFETY: `room` has at least 4096 numbers of eight bytes, and no more is copied.
        (bytes.len() <= ROOM)
            .then(|| unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), room, bytes.len()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_type(datatype: &str, size: usize) -> ToolVar {
        ToolVar {
            kind: VarKind::Control,
            index: 0,
            name: "a".into(),
            description: String::new(),
            class: "all",
            bind: "nothing",
            datatype: datatype.into(),
            size,
            readonly: false,
            continuous: false,
            enumeration: 0,
        }
    }

    #[test]
    fn a_value_reads_as_it_was_written() {
        for (datatype, size, value) in [
            ("MPI_INT", 4, "-5"),
            ("MPI_UNSIGNED", 4, "4294967295"),
            ("MPI_UNSIGNED_LONG_LONG", 8, "77"),
            ("MPI_DOUBLE", 8, "0.25"),
            ("MPI_CHAR", 1, "^tcp"),
        ] {
            let variable = of_type(datatype, size);
            let mut room = variable.room(1);
            assert_eq!(variable.fill(&mut room, value, 1), Ok(()));
            assert_eq!(variable.shown(&room, 1), value, "{datatype}");
        }
    }

    #[test]
    fn what_is_no_value_of_the_type_is_refused() {
        for (datatype, size, value) in [
            ("MPI_INT", 4, "3000000000"),
            ("MPI_UNSIGNED", 4, "-1"),
            ("MPI_DOUBLE", 8, "much"),
            ("MPI_INT", 4, ""),
        ] {
            let variable = of_type(datatype, size);
            assert_eq!(
                variable.fill(&mut variable.room(1), value, 1),
                Err(Error::NoValue),
                "{datatype} {value}"
            );
        }
    }

    #[test]
    fn a_variable_of_several_elements_takes_as_many() {
        let variable = of_type("MPI_INT", 4);
        let mut room = variable.room(3);
        assert_eq!(variable.fill(&mut room, "7, -8,9", 3), Ok(()));
        assert_eq!(variable.shown(&room, 3), "7,-8,9");
        for (value, got) in [("7", 1), ("1,2,3,4", 4)] {
            assert_eq!(variable.fill(&mut room, value, 3), Err(Error::Elements { has: 3, got }));
        }
        assert_eq!(variable.shown(&room, 3), "7,-8,9", "none is written");
    }
}
