//! A safe layer for plugins in Rust: a type with [`Plugin`], and [`plugin!`](crate::plugin) with how it is made.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::raw;
pub use raw::Calls;

/// What a plugin does when MEL tells it something; by default nothing. All but the making runs on one thread of MEL's, and a panic
/// ends the callback alone.
pub trait Plugin: Send + 'static {
    /// Performance variables to be sampled beside those of `mel run --vars`: names with `*` and `?`, separated by commas.
    fn variables(&self) -> String {
        String::new()
    }

    /// `FUNCTION_REGISTRATION`: an MPI function, a phase or a region is there for the first time.
    fn function_registration(&mut self, _: &Mel, _: Function<'_>) {}

    /// `ATOMIC_EVENT_REGISTRATION`: a variable on one object was taken up.
    fn atomic_event_registration(&mut self, _: &Mel, _: Variable<'_>) {}

    /// `ATOMIC_EVENT_TRIGGER`: a variable was read.
    fn atomic_event_trigger(&mut self, _: &Mel, _: Sample<'_>) {}

    /// `INTERRUPT_TRIGGER`: the sampling interval has passed: for the how many-th time, from 1.
    fn interrupt_trigger(&mut self, _: &Mel, _seconds: f64, _number: u64) {}

    /// `END_OF_EXECUTION`: what is measured has ended, and is written after this.
    fn end_of_execution(&mut self, _: &Mel, _: End) {}

    /// What has become of a control variable that this plugin has set.
    fn control_set(&mut self, _: &Mel, _: Control<'_>) {}
}

/// What is there for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function<'a> {
    /// An MPI function.
    Mpi(&'a str),
    /// A phase of the program.
    Phase(&'a str),
    /// A region of the program: a path of names.
    Region(&'a str),
}

/// A performance variable on one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Variable<'a> {
    pub number: u32,
    pub of_mpi: bool,
    pub name: &'a str,
    pub description: &'a str,
    pub class: &'a str,
    pub object: &'a str,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// Of which variable.
    pub variable: Variable<'a>,
    /// When: seconds since `MPI_Init*` was called.
    pub seconds: f64,
    /// The only value, or the sum.
    pub value: f64,
    /// Each element, of small arrays.
    pub elements: &'a [f64],
}

/// The end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// Seconds since `MPI_Init*` was called.
    pub seconds: f64,
    /// Whether the program called `MPI_Finalize`.
    pub finalized: bool,
}

/// What has become of a control variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Control<'a> {
    pub name: &'a str,
    pub value: &'a str,
    pub read_back: &'a str,
    pub has_value: bool,
    pub outcome: &'a str,
}

/// What MEL does for a plugin.
#[derive(Debug)]
pub struct Mel {
    services: *const raw::Services,
    /// The services are for the thread that the callbacks run on.
    _one_thread: PhantomData<*const ()>,
}

fn c(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Mel {
    /// # Safety
    ///
    /// The services are MEL's, and this is the thread of the callbacks, or `mel_plugin_init`.
    unsafe fn of(services: *const raw::Services) -> Mel {
        Mel { services, _one_thread: PhantomData }
    }

    fn services(&self) -> &raw::Services {
        // SAFETY: MEL's services stay as long as the process.
        unsafe { &*self.services }
    }

    /// The rank of this process in `MPI_COMM_WORLD`.
    pub fn rank(&self) -> i32 {
        self.services().rank
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> i32 {
        self.services().ranks
    }

    /// The last sample of a variable on `MPI_COMM_WORLD`, or bound to nothing; empty where there was none.
    pub fn read(&self, name: &str) -> Vec<f64> {
        let (mut values, name) = (vec![0.0; 64], c(name));
        let Some(read) = self.services().read else { return Vec::new() };
        // SAFETY: the strings end with a zero, and there is room for so many.
        let count = unsafe {
            read(self.services().plugin, name.as_ptr(), values.as_mut_ptr(), values.len() as c_int)
        };
        values.truncate(count.max(0) as usize);
        values
    }

    /// Sets a control variable at the next MPI call of the program; whether that can be done.
    pub fn set(&self, name: &str, value: &str) -> bool {
        let (name, value) = (c(name), c(value));
        // SAFETY: the strings end with a zero.
        self.services()
            .set
            .is_some_and(|set| unsafe { set(self.services().plugin, name.as_ptr(), value.as_ptr()) == 0 })
    }

    /// Adds a line to the profile of this rank; whether there was space.
    pub fn metadata(&self, name: &str, value: &str) -> bool {
        let (name, value) = (c(name), c(value));
        // SAFETY: the strings end with a zero.
        self.services()
            .metadata
            .is_some_and(|add| unsafe { add(self.services().plugin, name.as_ptr(), value.as_ptr()) == 0 })
    }

    /// Writes a line on standard error.
    pub fn warn(&self, line: &str) {
        let line = c(line);
        if let Some(warn) = self.services().warn {
            // SAFETY: the string ends with a zero.
            unsafe { warn(self.services().plugin, line.as_ptr()) };
        }
    }

    /// The calls of an MPI function until now; `None` where calls are not counted.
    pub fn calls(&self, function: &str) -> Option<Calls> {
        let (name, mut calls) = (c(function), Calls::default());
        // SAFETY: the string ends with a zero, and the structure is this function's.
        let found = unsafe { self.services().calls?(self.services().plugin, name.as_ptr(), &raw mut calls) };
        (found == 0).then_some(calls)
    }
}

/// A plugin and what MEL does for it.
struct Held {
    mel: Mel,
    plugin: Box<dyn Plugin>,
    /// What MEL reads once after the making.
    _variables: CString,
}

/// For [`plugin!`](crate::plugin): makes the plugin and registers it. What MEL is to get.
///
/// # Safety
///
/// The arguments are those of `mel_plugin_init`.
#[doc(hidden)]
pub unsafe fn init(
    services: *const raw::Services,
    callbacks: *mut raw::Callbacks,
    argc: c_int,
    argv: *mut *mut c_char,
    make: impl FnOnce(&Mel, &[String]) -> Option<Box<dyn Plugin>>,
) -> c_int {
    let made = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: this is `mel_plugin_init`.
        let mel = unsafe { Mel::of(services) };
        if mel.services().version != raw::VERSION {
            return None;
        }
        let arguments: Vec<String> =
            // SAFETY: there are so many strings.
            (0..argc.max(0) as usize).map(|place| unsafe { text(*argv.add(place)) }.to_owned()).collect();
        let plugin = make(&mel, &arguments)?;
        let variables = c(&plugin.variables());
        let data = Box::leak(Box::new(Held { mel, plugin, _variables: variables }));
        Some(raw::Callbacks {
            size: size_of::<raw::Callbacks>(),
            version: raw::VERSION,
            variables: data._variables.as_ptr(),
            data: std::ptr::from_mut(data).cast(),
            function_registration: Some(function_registration),
            atomic_event_registration: Some(atomic_event_registration),
            atomic_event_trigger: Some(atomic_event_trigger),
            interrupt_trigger: Some(interrupt_trigger),
            end_of_execution: Some(end_of_execution),
            control_set: Some(control_set),
        })
    }));
    match made {
        Ok(Some(filled)) => {
            // SAFETY: MEL has given room for them.
            unsafe { callbacks.write(filled) };
            0
        }
        _ => 1,
    }
}

/// # Safety
///
/// A null pointer, or a string that lives long enough.
unsafe fn text<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// Runs a callback.
///
/// # Safety
///
/// The data are those of [`init`], on MEL's thread.
unsafe fn told(data: *mut c_void, tell: impl FnOnce(&mut dyn Plugin, &Mel)) {
    // SAFETY: leaked by `init`, and used by one callback at a time.
    let held = unsafe { &mut *data.cast::<Held>() };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| tell(&mut *held.plugin, &held.mel))) {
        // Its destructor might panic in turn.
        std::mem::forget(panic);
    }
}

/// # Safety
///
/// As MEL calls it.
unsafe fn variable<'a>(of: *const raw::Variable) -> Variable<'a> {
    // SAFETY: there until the callback returns.
    unsafe {
        let of = &*of;
        Variable {
            number: of.number,
            of_mpi: of.of_mpi != 0,
            name: text(of.name),
            description: text(of.description),
            class: text(of.class_name),
            object: text(of.object),
        }
    }
}

unsafe extern "C" fn function_registration(data: *mut c_void, of: *const raw::Function) {
    // SAFETY: MEL gives what the header says.
    unsafe {
        let name = text((*of).name);
        let function = match (*of).kind {
            raw::PHASE => Function::Phase(name),
            raw::REGION => Function::Region(name),
            _ => Function::Mpi(name),
        };
        told(data, |plugin, mel| plugin.function_registration(mel, function));
    }
}

unsafe extern "C" fn atomic_event_registration(data: *mut c_void, of: *const raw::Variable) {
    // SAFETY: MEL gives what the header says.
    unsafe {
        let of = variable(of);
        told(data, |plugin, mel| plugin.atomic_event_registration(mel, of));
    }
}

unsafe extern "C" fn atomic_event_trigger(data: *mut c_void, of: *const raw::Sample) {
    // SAFETY: MEL gives what the header says.
    unsafe {
        let of = &*of;
        let elements = match of.elements.is_null() {
            true => &[][..],
            false => std::slice::from_raw_parts(of.elements, of.count as usize),
        };
        let sample = Sample { variable: variable(of.variable), seconds: of.time, value: of.value, elements };
        told(data, |plugin, mel| plugin.atomic_event_trigger(mel, sample));
    }
}

unsafe extern "C" fn interrupt_trigger(data: *mut c_void, of: *const raw::Interrupt) {
    // SAFETY: MEL gives what the header says.
    unsafe {
        let (seconds, number) = ((*of).time, (*of).number);
        told(data, |plugin, mel| plugin.interrupt_trigger(mel, seconds, number));
    }
}

unsafe extern "C" fn end_of_execution(data: *mut c_void, of: *const raw::End) {
    // SAFETY: MEL gives what the header says.
    unsafe {
        let end = End { seconds: (*of).time, finalized: (*of).how == raw::FINALIZED };
        told(data, |plugin, mel| plugin.end_of_execution(mel, end));
    }
}

unsafe extern "C" fn control_set(data: *mut c_void, of: *const raw::Control) {
    // SAFETY: MEL gives what the header says.
    unsafe {
        let of = &*of;
        let control = Control {
            name: text(of.name),
            value: text(of.value),
            read_back: text(of.read_back),
            has_value: of.has_value != 0,
            outcome: text(of.outcome),
        };
        told(data, |plugin, mel| plugin.control_set(mel, control));
    }
}

/// Makes a shared object a plugin: with a function of `(&Mel, &[String]) -> Option<Box<dyn Plugin>>` that makes it from its arguments, the
/// first of which is its name. `None`: the plugin does not want to run.
#[macro_export]
macro_rules! plugin {
    ($make:path) => {
        /// What MEL looks for in a plugin.
        ///
        /// # Safety
        ///
        /// For MEL alone, with what `mel_plugin.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn mel_plugin_init(
            services: *const $crate::raw::Services,
            callbacks: *mut $crate::raw::Callbacks,
            argc: ::std::ffi::c_int,
            argv: *mut *mut ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            // SAFETY: the arguments are those of this function.
            unsafe { $crate::safe::init(services, callbacks, argc, argv, $make) }
        }
    };
}
