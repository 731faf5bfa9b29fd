//! A source of events, a tool that hears them, and what is known of its handles.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, LazyLock};

use mpit_events::{
    BindKind, Clock, Deferred, EventIndex, EventType, Object, Ordering, Safety, Source, SourceIndex, Token,
    core, event_payload,
};

use crate::calls;
use crate::input::byte;

event_payload! {
    /// An event with elements of different sizes.
    pub struct Mixed { "wide" wide: u64, "source" source: i32, "tag" tag: i32, "number" number: u32 }
}

/// `MPI_COMM_WORLD` of the mock MPI.
pub(crate) const WORLD: u32 = 0x4400_0000;

struct Mock {
    unbound: EventIndex,
    bound: EventIndex,
    empty: EventIndex,
    deferred: &'static Deferred,
    sources: [SourceIndex; 2],
    object: Arc<Object>,
}

static MOCK: LazyLock<Mock> = LazyLock::new(|| {
    let core = core();
    let source =
        |name: &str, ordering| core.add_source(Source::new(name, "a source", ordering, Clock::Monotonic));
    let sources = [source("ordered", Ordering::Ordered), source("unordered", Ordering::Unordered)];
    let add = |event_type| core.add_type(event_type).expect("the core is not full");
    let nothing = EventType {
        elements: Vec::new(),
        extent: 0,
        ..EventType::of::<Mixed>("mock_empty", "no elements", BindKind::None)
    };
    Mock {
        unbound: add(EventType::of::<Mixed>("mock_unbound", "bound to nothing", BindKind::None)),
        bound: add(EventType::of::<Mixed>("mock_bound", "bound to a communicator", BindKind::Comm)),
        empty: add(nothing),
        deferred: core
            .add_deferred("mock_deferred", "", sources[0], Safety::ThreadSafe)
            .expect("the core is not full"),
        sources,
        object: core.bind(BindKind::Comm, Token(WORLD.into())),
    }
});

thread_local! {
    /// All handles that were given out since the beginning, and whatever else looks like one.
    static HANDLES: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// Free callbacks that must come, and that have come.
    static FREES: [Cell<u64>; 2] = const { [Cell::new(0), Cell::new(0)] };
}

pub(crate) fn begin() {
    LazyLock::force(&MOCK);
    HANDLES.with_borrow_mut(|handles| {
        handles.clear();
        handles.extend([0, 1, usize::MAX]);
    });
    FREES.with(|frees| frees.iter().for_each(|count| count.set(0)));
}

/// A handle: live, stale or made up.
pub(crate) fn handle() -> usize {
    let (choice, change) = (usize::from(byte()), byte());
    let handle = HANDLES.with_borrow(|handles| handles[choice % handles.len()]);
    if change < 16 { handle ^ 1 << (change * 4) } else { handle }
}

pub(crate) fn made(handle: usize) {
    HANDLES.with_borrow_mut(|handles| handles.push(handle));
}

pub(crate) fn all_handles() -> Vec<usize> {
    HANDLES.with_borrow(Clone::clone)
}

pub(crate) fn expect_free() {
    FREES.with(|[expected, _]| expected.set(expected.get() + 1));
}

pub(crate) fn raise() {
    let mock = &*MOCK;
    let core = core();
    let source = mock.sources[usize::from(byte() % 2)];
    let safety = Safety::ALL[usize::from(byte() % 4)];
    let now = core.source(source).expect("it was added").now();
    let payload = Mixed { wide: 1, source: 2, tag: 3, number: 4 };
    let section = core.raise_section(source, safety);
    match byte() % 5 {
        0 => section.event(mock.bound, &mock.object, now, &payload),
        1 => section.event_bytes(mock.empty, &core.no_object(), now, &[]),
        2 => section.lost(mock.unbound, &core.no_object(), u64::MAX - 1),
        3 => mock.deferred.note(core, 3),
        _ => section.event(mock.unbound, &core.no_object(), now, &payload),
    }
}

/// The object that bound events are of is no more, and another one has its handle.
pub(crate) fn renew_object() {
    core().unbind(&MOCK.object);
}

pub(crate) unsafe extern "C" fn on_event(event: *const c_void, handle: usize, _: c_int, data: *mut c_void) {
    assert!(data.is_null() || data as usize == 8, "user data of another");
    made(handle);
    for _ in 0..byte() % 4 {
        calls::call_in_callback(event);
    }
}

pub(crate) unsafe extern "C" fn on_free(_: usize, level: c_int, data: *mut c_void) {
    assert!(level == 0 && (data.is_null() || data as usize == 8));
    FREES.with(|[_, came]| came.set(came.get() + 1));
    if byte() % 4 == 1 {
        calls::call(byte());
    }
}

pub(crate) unsafe extern "C" fn on_dropped(count: i64, handle: usize, _: c_int, _: c_int, data: *mut c_void) {
    assert!(count > 0 && data.is_null());
    made(handle);
    if byte() % 4 == 1 {
        calls::call(byte());
    }
}

pub(crate) unsafe extern "C" fn on_dropped_x(count: c_int, handle: usize, _: c_int, data: *mut c_void) {
    assert!(count > 0 && (data.is_null() || data as usize == 8));
    made(handle);
    if byte() % 4 == 1 {
        calls::call(byte());
    }
}

/// After everything was freed outside of all sections: every free callback has come, once.
pub(crate) fn check_end() {
    // What was freed in a section that must not release is released with the next one.
    let last = core().alloc(MOCK.unbound, None).expect("the core is not full");
    core().free(last, None).expect("it is live");
    FREES.with(|[expected, came]| assert_eq!(expected.get(), came.get(), "free callbacks"));
    assert!(!core().has_registrations(), "registrations are left");
}
