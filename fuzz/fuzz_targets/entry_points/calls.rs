//! One call for each choice.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use crate::c::*;
use crate::input::{byte, int};
use crate::mock::{self, WORLD};
use crate::output::{Output, Text};

/// The codes of the mock MPI: success, argument, not initialised, index, handle, out of handles, name.
const CODES: [c_int; 7] = [0, 12, 60, 62, 64, 65, 73];

fn known(code: c_int) -> c_int {
    assert!(CODES.contains(&code), "code {code}");
    code
}

/// A call with one output.
fn one<T>(call: impl FnOnce(*mut T) -> c_int) {
    let mut output = Output::of::<T>();
    let code = known(call(output.place()));
    output.check(code);
}

fn user_data() -> *mut c_void {
    if byte() % 2 == 0 { null_mut() } else { std::ptr::without_provenance_mut(8) }
}

fn name() -> *const std::ffi::c_char {
    match byte() % 8 {
        0 => c"mock_bound".as_ptr(),
        1 => c"ompi_mock_unbound".as_ptr(),
        2 => c"mpit_events".as_ptr(),
        3 => c"second".as_ptr(),
        4 => c"\xff\xfe".as_ptr(),
        5 => c"".as_ptr(),
        _ => std::ptr::null(),
    }
}

fn level() -> c_int {
    if byte() % 4 == 0 { int() } else { c_int::from(byte() % 4) }
}

/// Calls a function; `choice` says which.
pub(crate) fn call(choice: u8) {
    // SAFETY: each pointer is null or that of an output of the size that is passed, each string is terminated,
    // functions have the type of the parameter, and take any of the user data.
    unsafe {
        match choice % 48 {
            0..=2 => one(|provided| MPI_T_init_thread(3, provided)),
            3 => _ = known(MPI_T_finalize()),
            4 => one(|num| MPI_T_event_get_num(num)),
            5 => one(|num| MPIX_T_event_get_num(num)),
            6 => event_info(false),
            7 => event_info(true),
            8 => one(|index| MPI_T_event_get_index(name(), index)),
            9 => one(|index| MPIX_T_event_get_index(name(), index)),
            10..=13 => alloc(false),
            14..=17 => alloc(true),
            18 => _ = known(MPI_T_event_handle_set_info(mock::handle(), 0)),
            19 => one(|info: *mut c_int| MPI_T_event_handle_get_info(mock::handle(), info.cast())),
            20 | 21 => {
                let function = (byte() % 4 != 0).then_some(mock::on_event as EventFn);
                known(MPI_T_event_register_callback(mock::handle(), level(), 0, user_data(), function));
            }
            22 => _ = known(MPI_T_event_callback_set_info(mock::handle(), level(), 0)),
            23 => one(|info: *mut c_int| MPI_T_event_callback_get_info(mock::handle(), level(), info.cast())),
            24 => {
                let function = (byte() % 4 != 0).then_some(mock::on_free as FreeFn);
                if known(MPI_T_event_handle_free(mock::handle(), user_data(), function)) == 0
                    && function.is_some()
                {
                    mock::expect_free();
                }
            }
            25 => {
                let function = (byte() % 4 != 0).then_some(mock::on_free as FreeFn);
                if known(MPIX_T_event_handle_free(mock::handle(), function)) == 0 && function.is_some() {
                    mock::expect_free();
                }
            }
            26 => {
                let function = (byte() % 4 != 0).then_some(mock::on_dropped as DroppedFn);
                known(MPI_T_event_set_dropped_handler(mock::handle(), function));
            }
            27 => {
                let function = (byte() % 4 != 0).then_some(mock::on_dropped_x as DroppedXFn);
                known(MPIX_T_event_set_dropped_handler(mock::handle(), function));
            }
            28 => one(|num| MPI_T_source_get_num(num)),
            29 => one(|num| MPIX_T_source_get_num(num)),
            30 => source_info(false),
            31 => source_info(true),
            32 => one(|stamp| MPI_T_source_get_timestamp(int(), stamp)),
            33 => one(|stamp| MPIX_T_source_get_timestamp(int(), stamp)),
            34 => enumeration(),
            35 => one(|num| MPI_T_category_get_num(num)),
            36 => category_info(),
            37 => one(|index| MPI_T_category_get_index(name(), index)),
            38 => list(MPI_T_category_get_cvars),
            39 => list(MPI_T_category_get_pvars),
            40 => list(MPI_T_category_get_categories),
            41 => list(MPI_T_category_get_events),
            42 => one(|num| MPI_T_category_get_num_events(int(), num)),
            43 => one(|stamp| MPI_T_category_changed(stamp)),
            44 => mock::renew_object(),
            _ => mock::raise(),
        }
    }
}

/// Calls a function as a callback may: often one on its event.
pub(crate) fn call_in_callback(event: *const c_void) {
    // SAFETY: outputs are null or as large as the size that is passed; the event is that of the callback that we are
    // in.
    unsafe {
        match byte() % 12 {
            0 => buffer(|element, place, _| MPI_T_event_read(event, element, place), 8),
            1 => buffer(|_, place, _| MPI_T_event_copy(event, place), 20),
            2 => buffer(|element, place, size| MPIX_T_event_read(event, element, place, size), 0),
            3 => buffer(|_, place, size| MPIX_T_event_copy(event, place, size), 0),
            4 => one(|stamp| MPI_T_event_get_timestamp(event, stamp)),
            5 => one(|source| MPI_T_event_get_source(event, source)),
            6 => one(|stamp| MPIX_T_event_get_timestamp(event, stamp)),
            7 => one(|source| MPIX_T_event_get_source(event, source)),
            _ => call(byte()),
        }
    }
}

/// A call with an element and a buffer: of `fixed` bytes, or, for 0, of the size that is passed.
fn buffer(call: impl FnOnce(c_int, *mut c_void, c_int) -> c_int, fixed: c_int) {
    let (element, size) = (int(), int());
    let mut output = Output::sized(if fixed == 0 { size } else { fixed }, 1);
    let code = known(call(element, output.place(), size));
    output.check(code);
}

unsafe fn alloc(proposal: bool) {
    let mut object = [WORLD, 0x4400_0001, 0x0400_0000, int() as u32][usize::from(byte() % 4)];
    let object = if byte() % 8 == 0 { null_mut() } else { (&raw mut object).cast() };
    let mut output = Output::of::<usize>();
    // SAFETY: each pointer is null or that of an output of the size that is passed, or of an own variable; functions
    // have the type of the parameter, and take any of the user data.
    let code = unsafe {
        if proposal {
            let function = (byte() % 8 != 0).then_some(mock::on_event as EventFn);
            MPIX_T_event_handle_alloc(int(), object, user_data(), function, output.place())
        } else {
            MPI_T_event_handle_alloc(int(), object, 0, output.place())
        }
    };
    output.check(known(code));
    if let Some(handle) = output.value().filter(|_| code == 0) {
        mock::made(handle);
    }
}

unsafe fn event_info(proposal: bool) {
    let (mut name, mut desc) = (Text::new(), Text::new());
    let [mut verbosity, mut bind] = [(); 2].map(|()| Output::of::<c_int>());
    let (mut elements, sized) = (int(), byte() % 4 != 0);
    let length = if sized { elements } else { 0 };
    let (mut types, mut displacements) = (Output::sized(length, 4), Output::sized(length, 8));
    let elements = if sized { &raw mut elements } else { null_mut() };
    let (mut names, mut info, mut extent) =
        (Output::of::<usize>(), Output::of::<c_int>(), Output::of::<isize>());
    // SAFETY: each pointer is null or that of an output of the size that is passed, or of an own variable; functions
    // have the type of the parameter, and take any of the user data.
    let code = unsafe {
        if proposal {
            MPIX_T_event_get_info(
                int(),
                name.text(),
                name.length(),
                verbosity.place(),
                types.place(),
                displacements.place(),
                elements,
                names.place(),
                extent.place(),
                desc.text(),
                desc.length(),
                bind.place(),
            )
        } else {
            MPI_T_event_get_info(
                int(),
                name.text(),
                name.length(),
                verbosity.place(),
                types.place(),
                displacements.place(),
                elements,
                names.place(),
                info.place(),
                desc.text(),
                desc.length(),
                bind.place(),
            )
        }
    };
    known(code);
    [&name, &desc].iter().for_each(|text| text.check(code));
    [&verbosity, &types, &displacements, &names, &info, &extent, &bind]
        .iter()
        .for_each(|output| output.check(code));
}

unsafe fn source_info(proposal: bool) {
    let (mut name, mut desc) = (Text::new(), Text::new());
    let (mut ordering, mut rate, mut most) =
        (Output::of::<c_int>(), Output::of::<i64>(), Output::of::<i64>());
    let mut info = Output::of::<c_int>();
    // SAFETY: each pointer is null or that of an output of the size that is passed, or of an own variable; functions
    // have the type of the parameter, and take any of the user data.
    let code = unsafe {
        if proposal {
            MPIX_T_source_get_info(int(), desc.text(), desc.length(), ordering.place(), rate.place())
        } else {
            MPI_T_source_get_info(
                int(),
                name.text(),
                name.length(),
                desc.text(),
                desc.length(),
                ordering.place(),
                rate.place(),
                most.place(),
                info.place(),
            )
        }
    };
    known(code);
    [&name, &desc].iter().for_each(|text| text.check(code));
    [&ordering, &rate, &most, &info].iter().for_each(|output| output.check(code));
}

unsafe fn category_info() {
    let (mut name, mut desc) = (Text::new(), Text::new());
    let mut numbers = [(); 3].map(|()| Output::of::<c_int>());
    let [cvars, pvars, categories] = numbers.each_mut().map(Output::place);
    // SAFETY: each pointer is null or that of an output of the size that is passed, or of an own variable; functions
    // have the type of the parameter, and take any of the user data.
    let code = unsafe {
        MPI_T_category_get_info(
            int(),
            name.text(),
            name.length(),
            desc.text(),
            desc.length(),
            cvars,
            pvars,
            categories,
        )
    };
    known(code);
    [&name, &desc].iter().for_each(|text| text.check(code));
    numbers.iter().for_each(|output| output.check(code));
}

unsafe fn list(function: unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int) {
    let (index, length) = (int(), int());
    let mut output = Output::sized(length, 4);
    // SAFETY: the output is null or has `length` elements.
    let code = known(unsafe { function(index, length, output.place()) });
    output.check(code);
}

/// The enumeration of an event type's elements.
unsafe fn enumeration() {
    let mut names = 0usize;
    let absent = null_mut::<c_int>();
    // SAFETY: each pointer is null or that of an output of the size that is passed, or of an own variable; functions
    // have the type of the parameter, and take any of the user data.
    unsafe {
        let code = MPI_T_event_get_info(
            int(),
            null_mut(),
            absent,
            absent,
            null_mut(),
            null_mut(),
            absent,
            &raw mut names,
            null_mut(),
            null_mut(),
            absent,
            absent,
        );
        if known(code) != 0 || names == 0 {
            return;
        }
        let (mut text, mut number) = (Text::new(), Output::of::<c_int>());
        let code = if byte() % 2 == 0 {
            MPI_T_enum_get_info(names, number.place(), text.text(), text.length())
        } else {
            MPI_T_enum_get_item(names, int(), number.place(), text.text(), text.length())
        };
        known(code);
        text.check(code);
        number.check(code);
    }
}

/// Ends everything: afterwards no function does anything.
pub(crate) fn end() {
    // SAFETY: null outputs are allowed, and handles may be any value.
    unsafe {
        MPI_T_init_thread(3, null_mut());
        for handle in mock::all_handles() {
            known(MPIX_T_event_handle_free(handle, None));
        }
        while known(MPI_T_finalize()) == 0 {}
        let mut number = -7;
        assert_eq!((MPI_T_event_get_num(&raw mut number), number), (60, -7));
    }
}
