//! The C functions, declared as a C program sees them. The MPI behind them has integers for handles.

use std::ffi::{c_char, c_int, c_void};

pub(crate) type EventFn = unsafe extern "C" fn(*const c_void, usize, c_int, *mut c_void);
pub(crate) type FreeFn = unsafe extern "C" fn(usize, c_int, *mut c_void);
pub(crate) type DroppedFn = unsafe extern "C" fn(i64, usize, c_int, c_int, *mut c_void);
pub(crate) type DroppedXFn = unsafe extern "C" fn(c_int, usize, c_int, *mut c_void);

unsafe extern "C" {
    pub(crate) fn MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_finalize() -> c_int;
    pub(crate) fn MPI_T_event_get_num(num: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_event_get_info(
        index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        datatypes: *mut c_void,
        displacements: *mut isize,
        elements: *mut c_int,
        enumtype: *mut usize,
        info: *mut c_void,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
    ) -> c_int;
    pub(crate) fn MPI_T_event_get_index(name: *const c_char, index: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_event_handle_alloc(
        index: c_int,
        object: *mut c_void,
        info: usize,
        registration: *mut usize,
    ) -> c_int;
    pub(crate) fn MPI_T_event_handle_set_info(registration: usize, info: usize) -> c_int;
    pub(crate) fn MPI_T_event_handle_get_info(registration: usize, info: *mut c_void) -> c_int;
    pub(crate) fn MPI_T_event_register_callback(
        registration: usize,
        level: c_int,
        info: usize,
        user_data: *mut c_void,
        function: Option<EventFn>,
    ) -> c_int;
    pub(crate) fn MPI_T_event_callback_set_info(registration: usize, level: c_int, info: usize) -> c_int;
    pub(crate) fn MPI_T_event_callback_get_info(
        registration: usize,
        level: c_int,
        info: *mut c_void,
    ) -> c_int;
    pub(crate) fn MPI_T_event_handle_free(
        registration: usize,
        user_data: *mut c_void,
        function: Option<FreeFn>,
    ) -> c_int;
    pub(crate) fn MPI_T_event_set_dropped_handler(registration: usize, function: Option<DroppedFn>) -> c_int;
    pub(crate) fn MPI_T_event_read(event: *const c_void, element: c_int, buffer: *mut c_void) -> c_int;
    pub(crate) fn MPI_T_event_copy(event: *const c_void, buffer: *mut c_void) -> c_int;
    pub(crate) fn MPI_T_event_get_timestamp(event: *const c_void, timestamp: *mut i64) -> c_int;
    pub(crate) fn MPI_T_event_get_source(event: *const c_void, source: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_source_get_num(num: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_source_get_info(
        index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        desc: *mut c_char,
        desc_len: *mut c_int,
        ordering: *mut c_int,
        rate: *mut i64,
        most: *mut i64,
        info: *mut c_void,
    ) -> c_int;
    pub(crate) fn MPI_T_source_get_timestamp(index: c_int, timestamp: *mut i64) -> c_int;
    pub(crate) fn MPI_T_enum_get_info(
        enumtype: usize,
        num: *mut c_int,
        name: *mut c_char,
        name_len: *mut c_int,
    ) -> c_int;
    pub(crate) fn MPI_T_enum_get_item(
        enumtype: usize,
        index: c_int,
        value: *mut c_int,
        name: *mut c_char,
        name_len: *mut c_int,
    ) -> c_int;
    pub(crate) fn MPI_T_category_get_num(num: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_category_get_info(
        index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        desc: *mut c_char,
        desc_len: *mut c_int,
        cvars: *mut c_int,
        pvars: *mut c_int,
        categories: *mut c_int,
    ) -> c_int;
    pub(crate) fn MPI_T_category_get_index(name: *const c_char, index: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_category_get_cvars(index: c_int, len: c_int, indices: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_category_get_pvars(index: c_int, len: c_int, indices: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_category_get_categories(index: c_int, len: c_int, indices: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_category_changed(stamp: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_category_get_num_events(index: c_int, num: *mut c_int) -> c_int;
    pub(crate) fn MPI_T_category_get_events(index: c_int, len: c_int, indices: *mut c_int) -> c_int;

    pub(crate) fn MPIX_T_event_get_num(num: *mut c_int) -> c_int;
    pub(crate) fn MPIX_T_event_get_info(
        index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        datatypes: *mut c_void,
        displacements: *mut isize,
        elements: *mut c_int,
        enumtype: *mut usize,
        extent: *mut isize,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
    ) -> c_int;
    pub(crate) fn MPIX_T_event_get_index(name: *const c_char, index: *mut c_int) -> c_int;
    pub(crate) fn MPIX_T_event_handle_alloc(
        index: c_int,
        object: *mut c_void,
        user_data: *mut c_void,
        function: Option<EventFn>,
        registration: *mut usize,
    ) -> c_int;
    pub(crate) fn MPIX_T_event_handle_free(registration: usize, function: Option<FreeFn>) -> c_int;
    pub(crate) fn MPIX_T_event_set_dropped_handler(
        registration: usize,
        function: Option<DroppedXFn>,
    ) -> c_int;
    pub(crate) fn MPIX_T_event_read(
        event: *const c_void,
        element: c_int,
        buffer: *mut c_void,
        size: c_int,
    ) -> c_int;
    pub(crate) fn MPIX_T_event_copy(event: *const c_void, buffer: *mut c_void, size: c_int) -> c_int;
    pub(crate) fn MPIX_T_event_get_timestamp(event: *const c_void, timestamp: *mut i64) -> c_int;
    pub(crate) fn MPIX_T_event_get_source(event: *const c_void, source: *mut c_int) -> c_int;
    pub(crate) fn MPIX_T_source_get_num(num: *mut c_int) -> c_int;
    pub(crate) fn MPIX_T_source_get_info(
        index: c_int,
        desc: *mut c_char,
        desc_len: *mut c_int,
        ordering: *mut c_int,
        rate: *mut i64,
    ) -> c_int;
    pub(crate) fn MPIX_T_source_get_timestamp(index: c_int, timestamp: *mut i64) -> c_int;
}
