//! What connections have carried by interface, as samples in the event log: bytes out, bytes in and retransmissions since the begin, each
//! time that connections are read and some of them have carried something. Observed.

use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

use mel_log::{Definition, Sample};
use mpit_events::Clock;
use mpit_sources::netops::{Link, Numbers, Port};

use crate::trace::SampleLog;

/// The numbers of these variables in the log begin here: those of performance variables are below.
const FIRST: u32 = 1 << 31;

/// What is counted of an interface, by name, with unit and what it means.
const COUNTERS: [(&str, &str, &str); 3] = [
    (
        "net_bytes_sent",
        "bytes",
        "Bytes that connections of the MPI library have sent over this interface and that were acknowledged.",
    ),
    (
        "net_bytes_received",
        "bytes",
        "Bytes that connections of the MPI library have received over this interface.",
    ),
    (
        "net_retransmissions",
        "segments",
        "Segments that connections of the MPI library have sent again over this interface.",
    ),
];

/// What the interface counts itself, of all that passes it.
const PORT_COUNTERS: [(&str, &str, &str); 2] = [
    (
        "port_bytes_sent",
        "bytes",
        "Bytes that this interface has sent, of this program and of others, as it counts itself.",
    ),
    (
        "port_bytes_received",
        "bytes",
        "Bytes that this interface has received, of this program and of others, as it counts itself.",
    ),
];

/// Counts by interface. Memory: a few words for each.
#[derive(Default)]
pub(super) struct Interfaces {
    log: OnceLock<&'static SampleLog>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    interfaces: Vec<Interface>,
    /// How many variables are defined.
    defined: u32,
}

struct Interface {
    name: String,
    /// The number of its first variable.
    first: u32,
    counted: [u64; COUNTERS.len()],
    changed: bool,
}

impl Interfaces {
    /// Samples go into this log from now on.
    pub(super) fn begin(&self, log: &'static SampleLog) {
        let _ = self.log.set(log);
    }

    /// A connection has carried so much more. Called by one thread at a time, possibly inside MPI.
    pub(super) fn carried(&self, link: &Link, more: &Numbers) {
        let (Some(log), false) = (self.log.get(), link.is_control) else { return };
        let Some(mut known) = self.try_lock() else { return };
        let known = &mut *known;
        let place = known.interfaces.iter().position(|of| of.name == link.interface);
        let place = place.unwrap_or_else(|| {
            let first = define(log, &mut known.defined, &link.interface, &COUNTERS);
            let name = link.interface.clone();
            known.interfaces.push(Interface { name, first, counted: [0; COUNTERS.len()], changed: true });
            known.interfaces.len() - 1
        });
        let Interface { counted, changed, .. } = &mut known.interfaces[place];
        for (sum, more) in counted.iter_mut().zip([more.sent, more.received, more.retransmissions]) {
            *changed |= more > 0;
            *sum += more;
        }
    }

    /// What was told until now is as of this time.
    pub(super) fn has_read(&self) {
        let Some(log) = self.log.get() else { return };
        let Some(mut known) = self.try_lock() else { return };
        let at = Clock::best().now().0;
        for of in known.interfaces.iter_mut().filter(|of| of.changed) {
            of.changed = false;
            take(log, at, of.first, &of.counted);
        }
        log.write();
    }

    /// What the interfaces of this host have counted themselves, from one time to another, in ticks.
    pub(super) fn ports(&self, ports: &[Port], (from, until): (u64, u64)) {
        let (Some(log), Some(mut known)) = (self.log.get(), self.try_lock()) else { return };
        let numbers =
            ports.iter().map(|port| define(log, &mut known.defined, &port.interface, &PORT_COUNTERS));
        let numbers: Vec<u32> = numbers.collect();
        // In the order of time.
        numbers.iter().for_each(|first| take(log, from, *first, &[0; PORT_COUNTERS.len()]));
        for (first, port) in numbers.iter().zip(ports) {
            take(log, until, *first, &[port.sent, port.received]);
        }
        log.write();
    }

    /// Only one thread at a time needs it; a handler of a signal may have interrupted that.
    fn try_lock(&self) -> Option<MutexGuard<'_, Known>> {
        match self.known.try_lock() {
            Ok(known) => Some(known),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Defines the counters of an interface, and gives the number of the first.
fn define(log: &SampleLog, defined: &mut u32, interface: &str, counters: &[(&str, &str, &str)]) -> u32 {
    let first = FIRST + *defined;
    for (number, (name, unit, description)) in (first..).zip(counters) {
        log.define(&Definition::Variable {
            number,
            name: (*name).into(),
            description: (*description).into(),
            class: "counter".into(),
            object: if interface.is_empty() { "an unknown interface".into() } else { interface.into() },
            of_mpi: false,
            unit: (*unit).into(),
            is_whole: true,
        });
        *defined += 1;
    }
    first
}

fn take(log: &SampleLog, at: u64, first: u32, values: &[u64]) {
    for (variable, value) in (first..).zip(values) {
        log.take(at, Sample { variable, element: None, value: *value as f64 });
    }
}
