//! Tells plugins what was seen. On one thread at a time.

use std::collections::HashMap;
use std::ffi::CString;

use mel_log::Definition;
use mel_plugin::raw;
use smallvec::SmallVec;

use super::load::Plugin;
use super::shared::Shared;

/// What is to be told.
#[derive(Debug)]
pub(super) enum Message {
    /// An MPI function was called for the first time.
    Function(&'static str),
    /// A phase has begun for the first time.
    Phase(String),
    /// A region was begun for the first time.
    Region(String),
    /// A variable on an object was taken up, or has another object's name.
    Variable(Box<Definition>),
    /// It was read at this time: the only value, or the sum and elements.
    Sample(u32, u64, SmallVec<[f64; 2]>),
    /// The interval has passed.
    Interrupt(u64),
    /// What has become of a control variable, for the plugin at this place.
    Control(usize, Box<Outcome>),
    /// It is over: when, and how.
    End(u64, i32),
}

/// What has become of a control variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) read_back: String,
    pub(super) has_value: bool,
    pub(super) line: String,
}

/// A variable as C has it.
#[derive(Debug)]
struct Known {
    of_mpi: bool,
    name: CString,
    rust_name: String,
    description: CString,
    class: CString,
    object: CString,
    /// Whether reading it by name gives this one.
    is_whole: bool,
}

/// Knows what the plugins were told.
#[derive(Debug)]
pub(super) struct Teller {
    plugins: &'static [Plugin],
    shared: &'static Shared,
    variables: HashMap<u32, Known>,
    interrupts: u64,
    /// When `MPI_Init*` was called, and ticks in a second.
    started: u64,
    rate: f64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

fn c(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Teller {
    pub(super) fn new(
        plugins: &'static [Plugin],
        shared: &'static Shared,
        (started, ticks_per_second): (u64, u64),
    ) -> Teller {
        let rate = ticks_per_second.max(1) as f64;
        Teller { plugins, shared, variables: HashMap::new(), interrupts: 0, started, rate }
    }

    fn seconds(&self, at: u64) -> f64 {
        at.saturating_sub(self.started) as f64 / self.rate
    }

    /// Tells all plugins that want to hear it, in their order.
    pub(super) fn tell(&mut self, message: Message) {
        match message {
            Message::Function(name) => self.function(name, raw::MPI_FUNCTION),
            Message::Phase(name) => self.function(&name, raw::PHASE),
            Message::Region(path) => self.function(&path, raw::REGION),
            Message::Variable(definition) => self.variable(*definition),
            Message::Sample(number, at, values) => self.sample(number, at, &values),
            Message::Interrupt(at) => {
                self.interrupts += 1;
                let interrupt = raw::Interrupt { time: self.seconds(at), number: self.interrupts };
                for plugin in self.plugins {
                    if let Some(trigger) = plugin.callbacks.interrupt_trigger {
                        // SAFETY: the plugin has registered it with these data, and the structure is there until it returns.
                        unsafe { trigger(plugin.callbacks.data, &raw const interrupt) };
                    }
                }
            }
            Message::Control(place, outcome) => self.control(place, &outcome),
            Message::End(at, how) => {
                let end = raw::End { time: self.seconds(at), how };
                for plugin in self.plugins {
                    if let Some(ends) = plugin.callbacks.end_of_execution {
                        // SAFETY: the plugin has registered it with these data; `end` outlives the call.
                        unsafe { ends(plugin.callbacks.data, &raw const end) };
                    }
                }
            }
        }
    }

    fn function(&self, name: &str, kind: i32) {
        let name = c(name);
        let function = raw::Function { name: name.as_ptr(), kind };
        for plugin in self.plugins {
            if let Some(registration) = plugin.callbacks.function_registration {
                // SAFETY: the plugin has registered it with these data; `function` and the text of `name` outlive the call.
                unsafe { registration(plugin.callbacks.data, &raw const function) };
            }
        }
    }

    fn variable(&mut self, definition: Definition) {
        let Definition::Variable { number, name, description, class, object, of_mpi, .. } = definition else {
            return;
        };
        let known = Known {
            of_mpi,
            name: c(&name),
            description: c(&description),
            class: c(&class),
            is_whole: object.is_empty() || object == "MPI_COMM_WORLD",
            object: c(&object),
            rust_name: name,
        };
        // Another name of the same object is no other variable.
        if self.variables.insert(number, known).is_some() {
            return;
        }
        let Some(known) = self.variables.get(&number) else { return };
        let variable = known.raw(number);
        for plugin in self.plugins {
            if let Some(registration) = plugin.callbacks.atomic_event_registration {
                // SAFETY: the plugin has registered it with these data; the texts of `variable` are those of `known`, which stays.
                unsafe { registration(plugin.callbacks.data, &raw const variable) };
            }
        }
    }

    fn sample(&self, number: u32, at: u64, values: &[f64]) {
        let (Some(known), Some(value)) = (self.variables.get(&number), values.first()) else { return };
        if known.is_whole {
            self.shared.keep(&known.rust_name, values);
        }
        let variable = known.raw(number);
        let elements = &values[1..];
        let sample = raw::Sample {
            variable: &raw const variable,
            time: self.seconds(at),
            value: *value,
            count: elements.len() as u64,
            elements: if elements.is_empty() { std::ptr::null() } else { elements.as_ptr() },
        };
        for plugin in self.plugins {
            if let Some(trigger) = plugin.callbacks.atomic_event_trigger {
                // SAFETY: the plugin has registered it with these data; `sample`, `variable` and the `count` elements outlive the call.
                unsafe { trigger(plugin.callbacks.data, &raw const sample) };
            }
        }
    }

    fn control(&self, place: usize, outcome: &Outcome) {
        let Some(plugin) = self.plugins.get(place) else { return };
        let Some(told) = plugin.callbacks.control_set else { return };
        let (name, value) = (c(&outcome.name), c(&outcome.value));
        let (read_back, line) = (c(&outcome.read_back), c(&outcome.line));
        let control = raw::Control {
            name: name.as_ptr(),
            value: value.as_ptr(),
            read_back: read_back.as_ptr(),
            has_value: outcome.has_value.into(),
            outcome: line.as_ptr(),
        };
        // SAFETY: the plugin has registered it with these data; `control` and the four texts outlive the call.
        unsafe { told(plugin.callbacks.data, &raw const control) };
    }
}

impl Known {
    fn raw(&self, number: u32) -> raw::Variable {
        raw::Variable {
            number,
            of_mpi: self.of_mpi.into(),
            name: self.name.as_ptr(),
            description: self.description.as_ptr(),
            class_name: self.class.as_ptr(),
            object: self.object.as_ptr(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, c_void};

    /// What a plugin was told, in words.
    type Heard = Vec<String>;

    unsafe fn heard<'a>(data: *mut c_void) -> &'a mut Heard {
        // SAFETY: the tests give a list.
        unsafe { &mut *data.cast::<Heard>() }
    }

    unsafe fn text(text: *const std::ffi::c_char) -> String {
        // SAFETY: a text that ends with a zero.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
    }

    unsafe extern "C" fn function(data: *mut c_void, of: *const raw::Function) {
        // SAFETY: as the header says.
        unsafe { heard(data).push(format!("{} {}", text((*of).name), (*of).kind)) }
    }

    unsafe extern "C" fn registered(data: *mut c_void, of: *const raw::Variable) {
        // SAFETY: as the header says.
        unsafe { heard(data).push(format!("{} on {}", text((*of).name), text((*of).object))) }
    }

    unsafe extern "C" fn sampled(data: *mut c_void, of: *const raw::Sample) {
        // SAFETY: as the header says.
        unsafe {
            let (of, name) = (&*of, text((*(*of).variable).name));
            let elements: Vec<f64> = (0..of.count as usize).map(|place| *of.elements.add(place)).collect();
            heard(data).push(format!("{name} = {} {elements:?} at {}", of.value, of.time));
        }
    }

    unsafe extern "C" fn interrupt(data: *mut c_void, of: *const raw::Interrupt) {
        // SAFETY: as the header says.
        unsafe { heard(data).push(format!("interrupt {} at {}", (*of).number, (*of).time)) }
    }

    unsafe extern "C" fn end(data: *mut c_void, of: *const raw::End) {
        // SAFETY: as the header says.
        unsafe { heard(data).push(format!("end {}", (*of).how)) }
    }

    unsafe extern "C" fn control(data: *mut c_void, of: *const raw::Control) {
        // SAFETY: as the header says.
        unsafe { heard(data).push(format!("{} is {}", text((*of).name), text((*of).read_back))) }
    }

    fn plugin(heard: &mut Heard, is_deaf: bool) -> Plugin {
        let all = raw::Callbacks {
            data: std::ptr::from_mut(heard).cast(),
            function_registration: Some(function),
            atomic_event_registration: Some(registered),
            atomic_event_trigger: Some(sampled),
            interrupt_trigger: Some(interrupt),
            end_of_execution: Some(end),
            control_set: Some(control),
            ..raw::Callbacks::NONE
        };
        let callbacks = if is_deaf { raw::Callbacks::NONE } else { all };
        Plugin { title: "p".into(), callbacks, variables: String::new() }
    }

    #[test]
    fn plugins_hear_what_they_have_asked_for_in_order() {
        let mut all: Heard = Vec::new();
        let plugins: &'static [Plugin] =
            Vec::leak(vec![plugin(&mut Vec::new(), true), plugin(&mut all, false)]);
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(Box::new(|_| None))));
        let mut teller = Teller::new(plugins, shared, (1000, 1000));
        let variable = |object: &str| {
            Message::Variable(Box::new(Definition::Variable {
                number: 4,
                name: "queue".into(),
                description: String::new(),
                class: "level".into(),
                object: object.into(),
                of_mpi: false,
                unit: String::new(),
                is_whole: true,
            }))
        };
        let values = |values: &[f64]| SmallVec::from_slice(values);
        let outcome =
            |name: &str| Box::new(Outcome { name: name.into(), read_back: "1".into(), ..Outcome::default() });
        for message in [
            Message::Function("MPI_Send"),
            Message::Phase("solve".into()),
            Message::Region("solve/exchange".into()),
            Message::Sample(4, 1500, values(&[9.0])),
            variable("MPI_COMM_WORLD"),
            Message::Sample(4, 1500, values(&[3.0, 1.0, 2.0])),
            variable("MPI_COMM_WORLD"),
            Message::Interrupt(2000),
            Message::Interrupt(3000),
            Message::Control(0, outcome("deaf")),
            Message::Control(1, outcome("limit")),
            Message::Control(7, outcome("nobody")),
            Message::End(4000, raw::ABORTED),
        ] {
            teller.tell(message);
        }
        assert_eq!(
            all,
            [
                "MPI_Send 0",
                "solve 1",
                "solve/exchange 2",
                "queue on MPI_COMM_WORLD",
                "queue = 3 [1.0, 2.0] at 0.5",
                "interrupt 1 at 1",
                "interrupt 2 at 2",
                "limit is 1",
                "end 1"
            ]
        );
        assert_eq!(&shared.last("queue")[..], [1.0, 2.0]);
    }
}
