//! Many threads register, raise and free at once: each registration ends exactly once, nothing is
//! used after its end, nobody waits for ever.
#![allow(missing_docs)]
mod common;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{MockSource, Number};
use mpit_events::{BindKind, Error, Registration, Safety, Ticks, Token, UserData};

const THREADS: u64 = 16;
const ROUNDS: usize = if cfg!(miri) { 20 } else { 1500 };
const OBJECTS: u64 = 4;
/// Handles that the threads know at one time.
const MOST: usize = 64;

/// Numbers that differ from thread to thread and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn level(&mut self) -> Safety {
        Safety::ALL[self.below(4) as usize]
    }
}

/// What a callback owns: it knows whether it is still alive, and counts its end.
struct Owned {
    alive: u64,
    ended: Arc<AtomicUsize>,
}

const ALIVE: u64 = 0x0a11_0e5e_57a7_e000;

impl Drop for Owned {
    fn drop(&mut self) {
        assert_eq!(std::mem::replace(&mut self.alive, 0), ALIVE, "dropped once");
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

unsafe extern "C" fn count_end(_: Registration, safety: c_int, times: *mut c_void) {
    // SAFETY: the counters are leaked.
    unsafe { &*times.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
    assert_eq!(safety, Safety::None as c_int);
}

unsafe extern "C" fn count_dropped(count: i64, _: Registration, _: c_int, _: c_int, total: *mut c_void) {
    assert!(count > 0, "no report is empty");
    // SAFETY: the counters are leaked.
    unsafe { &*total.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
}

fn counter() -> &'static AtomicUsize {
    Box::leak(Box::default())
}

fn data(counter: &'static AtomicUsize) -> UserData {
    UserData(std::ptr::from_ref(counter).cast_mut().cast())
}

thread_local! {
    /// Whether a callback of this thread raises.
    static RAISING: Cell<bool> = const { Cell::new(false) };
}

/// What all threads share.
struct Stress {
    mock: MockSource,
    /// Registrations that anybody may change or free, stale ones among them.
    handles: Mutex<Vec<Registration>>,
    /// The free callback's counter of each registration that was freed.
    freed: Mutex<Vec<&'static AtomicUsize>>,
    allocated: AtomicUsize,
    installed: AtomicUsize,
    ended: Arc<AtomicUsize>,
    heard: AtomicUsize,
    reports: &'static AtomicUsize,
}

impl Stress {
    fn new() -> Arc<Self> {
        Arc::new(Stress {
            mock: MockSource::new(),
            handles: Mutex::default(),
            freed: Mutex::default(),
            allocated: AtomicUsize::new(0),
            installed: AtomicUsize::new(0),
            ended: Arc::default(),
            heard: AtomicUsize::new(0),
            reports: counter(),
        })
    }

    fn any(&self, chance: &mut Chance) -> Option<Registration> {
        let handles = self.handles.lock().unwrap();
        (!handles.is_empty()).then(|| handles[chance.below(handles.len() as u64) as usize])
    }

    fn register(self: &Arc<Self>, chance: &mut Chance) {
        let bound = chance.below(2) == 0;
        let event = if bound { self.mock.bound } else { self.mock.unbound };
        let handle = self.mock.core.alloc(event, bound.then(|| Token(chance.below(OBJECTS)))).unwrap();
        self.allocated.fetch_add(1, Ordering::Relaxed);
        self.install(handle, chance);
        let mut handles = self.handles.lock().unwrap();
        if handles.len() < MOST {
            return handles.push(handle);
        }
        let old = std::mem::replace(&mut handles[chance.below(MOST as u64) as usize], handle);
        drop(handles);
        self.free(old);
    }

    /// A callback that now and then frees, registers or raises itself.
    fn install(self: &Arc<Self>, handle: Registration, chance: &mut Chance) {
        let owned = Owned { alive: ALIVE, ended: self.ended.clone() };
        let (stress, what) = (Arc::downgrade(self), chance.below(64));
        let callback = move |instance: &mpit_events::Instance<'_>| {
            assert_eq!(owned.alive, ALIVE, "called before its end only");
            let Some(stress) = stress.upgrade() else { return };
            stress.heard.fetch_add(1, Ordering::Relaxed);
            let mut chance = Chance(instance.read::<u64>(0).unwrap() | 1);
            match what {
                0..16 => stress.free(handle),
                16..20 => stress.register(&mut chance),
                // Once: with many listeners each level more would multiply the events.
                20..24 if !RAISING.replace(true) => {
                    stress.raise(&mut chance);
                    RAISING.set(false);
                }
                24..28 => stress.install(handle, &mut chance),
                _ => {}
            }
            assert_eq!(owned.alive, ALIVE, "alive until it returns");
        };
        // One that is refused has ended with the call.
        let _ = self.mock.core.set_callback(handle, chance.level(), callback);
        self.installed.fetch_add(1, Ordering::Relaxed);
    }

    fn free(&self, handle: Registration) {
        let times = counter();
        match self.mock.core.free(handle, Some((count_end, data(times)))) {
            Ok(()) => self.freed.lock().unwrap().push(times),
            Err(error) => {
                assert_eq!(error, Error::InvalidHandle);
                assert_eq!(times.load(Ordering::Relaxed), 0, "a refused free calls nobody back");
            }
        }
    }

    fn raise(&self, chance: &mut Chance) {
        let (core, number) = (&self.mock.core, chance.below(u64::MAX));
        let object = core.bind(BindKind::Comm, Token(chance.below(OBJECTS)));
        let section = core.raise_section(self.mock.source, chance.level());
        section.event(self.mock.unbound, &core.no_object(), Ticks(number), &Number { number });
        section.event(self.mock.bound, &object, Ticks(number), &Number { number });
        if number % 16 == 0 {
            core.unbind(&object);
            section.lost(self.mock.bound, &object, 1 + number % 3);
        }
    }

    fn step(self: &Arc<Self>, chance: &mut Chance) {
        let core = &self.mock.core;
        match chance.below(8) {
            0 => self.register(chance),
            1 | 2 => self.any(chance).into_iter().for_each(|handle| self.free(handle)),
            3 => self.any(chance).into_iter().for_each(|handle| {
                let handler = (chance.below(4) != 0).then(|| (count_dropped as _, data(self.reports)));
                // SAFETY: the counter is leaked; the handler may be called anywhere.
                let _ = unsafe { core.set_dropped_handler(handle, handler) };
            }),
            4 => self.any(chance).into_iter().for_each(|handle| match chance.below(4) {
                0 => {
                    // SAFETY: nothing is installed.
                    let _ = unsafe { core.set_callback_raw(handle, chance.level(), None) };
                }
                _ => self.install(handle, chance),
            }),
            _ => self.raise(chance),
        }
    }
}

#[test]
fn every_registration_ends_once_and_nothing_is_used_afterwards() {
    let stress = Stress::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let stress = &stress;
            scope.spawn(move || {
                let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ ((thread << 32) | (thread + 1)));
                (0..ROUNDS).for_each(|_| stress.step(&mut chance));
            });
        }
    });
    let left = std::mem::take(&mut *stress.handles.lock().unwrap());
    left.iter().for_each(|&handle| stress.free(handle));
    let core = &stress.mock.core;
    assert!(left.iter().all(|&handle| core.dropped(handle) == Err(Error::InvalidHandle)));
    assert!(!core.is_active(stress.mock.bound) && !core.is_active(stress.mock.unbound));

    // Callbacks may have registered more than is known here only while they ran: `left` has all.
    let freed = stress.freed.lock().unwrap();
    assert_eq!(freed.len(), stress.allocated.load(Ordering::Relaxed), "one free succeeds for each");
    assert!(freed.iter().all(|times| times.load(Ordering::Relaxed) == 1), "called once each");
    assert_eq!(stress.ended.load(Ordering::Relaxed), stress.installed.load(Ordering::Relaxed));
    let (heard, reports) = (stress.heard.load(Ordering::Relaxed), stress.reports.load(Ordering::Relaxed));
    assert!(cfg!(miri) || heard > 1000 && reports > 10, "{heard} events, {reports} reports: no stress");
}

#[test]
fn a_handler_replaced_while_its_registration_ends_is_not_used_afterwards() {
    let (mock, reports) = (MockSource::new(), counter());
    let handler = || Some((count_dropped as _, data(reports)));
    for _ in 0..ROUNDS {
        let handle = mock.core.alloc(mock.unbound, None).unwrap();
        // SAFETY: the counter is leaked; the handler may be called anywhere.
        unsafe { mock.core.set_dropped_handler(handle, handler()) }.unwrap();
        mock.raise(1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: the counter is leaked; the handler may be called anywhere.
                while unsafe { mock.core.set_dropped_handler(handle, handler()) }.is_ok() {}
            });
            scope.spawn(|| {
                mock.raise(2);
                mock.core.free(handle, None).unwrap();
            });
        });
    }
}

#[test]
fn ten_thousand_registrations_hear_one_event_each_and_end() {
    const MANY: u64 = if cfg!(miri) { 100 } else { 10_000 };
    let (mock, heard, ended) = (MockSource::new(), Arc::new(AtomicUsize::new(0)), counter());
    let object = mock.core.bind(BindKind::Comm, Token(1));
    let handles: Vec<_> = (0..MANY)
        .map(|_| {
            let (handle, heard) = (mock.core.alloc(mock.bound, Some(Token(1))).unwrap(), heard.clone());
            let callback = move |_: &mpit_events::Instance<'_>| {
                heard.fetch_add(1, Ordering::Relaxed);
            };
            mock.core.set_callback(handle, Safety::MpiRestricted, callback).unwrap();
            handle
        })
        .collect();
    mock.raise_on(&object, 1);
    assert_eq!(heard.load(Ordering::Relaxed), MANY as usize);
    // Their object ends before they do.
    mock.core.unbind(&object);
    drop(object);
    for handle in handles {
        mock.core.free(handle, Some((count_end, data(ended)))).unwrap();
        assert_eq!(mock.core.free(handle, None), Err(Error::InvalidHandle));
    }
    assert_eq!(ended.load(Ordering::Relaxed), MANY as usize);
    assert!(!mock.core.is_active(mock.bound));
}
