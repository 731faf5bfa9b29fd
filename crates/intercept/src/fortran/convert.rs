//! From Fortran's arguments to the fields that hooks see, one type for each way.
//!
//! A conversion lives for one call, in one place: fields may point into it. The real function gets
//! the argument as it came, but for a status that a hook has replaced.

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    marker::PhantomData,
    ptr,
    thread::LocalKey,
};

use mpi_abi::{Handle, HandlePtr, StatusPtr};

use super::mpi::{Kind, Mpi};

/// An argument as it came.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    /// Its address.
    pub(super) address: *mut c_void,
    /// The address of its number of elements, for arrays whose elements are converted; else null.
    pub(super) count: *mut c_void,
    pub(super) mpi: &'static Mpi,
}

impl Passed {
    /// The default integer at the address.
    ///
    /// # Safety
    /// One is there.
    #[inline(always)]
    unsafe fn integer(self) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { self.address.cast::<c_int>().read_unaligned() }
    }

    /// Element `place` of an array of default integers.
    ///
    /// # Safety
    /// It has so many.
    #[inline(always)]
    unsafe fn element(self, place: usize) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { self.address.cast::<c_int>().add(place).read_unaligned() }
    }

    /// How many elements there are; none where the count is negative, as `MPI_UNDEFINED` is.
    ///
    /// # Safety
    /// An integer is at the address of the count.
    #[inline(always)]
    unsafe fn elements(self) -> usize {
        // SAFETY: the caller's promise.
        usize::try_from(unsafe { self.count.cast::<c_int>().read_unaligned() }).unwrap_or(0)
    }
}

/// An argument on its way to a field and back.
///
/// # Safety of its functions
/// `passed` is what a Fortran program gave for such a parameter: the same at all calls.
pub(super) trait Conversion {
    /// The field that hooks see.
    type Field;

    /// Before the real function.
    unsafe fn before(passed: Passed) -> Self;

    /// The field; where it is an address, it may be that of `self`, which does not move from now on.
    unsafe fn field(&self, passed: Passed) -> Self::Field;

    /// What the real function gets.
    #[inline(always)]
    fn pass(passed: Passed, field: &Self::Field) -> *mut c_void {
        let _ = field;
        passed.address
    }

    /// After the real function, which succeeded or not: outputs become visible in the field.
    #[inline(always)]
    unsafe fn after(&self, passed: Passed, success: bool, field: &mut Self::Field) {
        let _ = (passed, success, field);
    }
}

/// Numbers, by value in C: what stands in memory, and the field.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $stored:ty => $field:ty;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name($field);

        impl Conversion for $name {
            type Field = $field;

            #[inline(always)]
            unsafe fn before(passed: Passed) -> Self {
                // SAFETY: the program passes the address of a number of this kind.
                Self(unsafe { passed.address.cast::<$stored>().read_unaligned() } as $field)
            }

            #[inline(always)]
            unsafe fn field(&self, _: Passed) -> $field {
                self.0
            }
        }
    )*};
}

numbers! {
    /// A default integer, or a logical.
    Int: c_int => c_int;
    /// A count that is a default integer.
    Count: c_int => i64;
    /// A number of kind `MPI_ADDRESS_KIND`.
    Aint: isize => isize;
    /// The same in functions that MPI-3 removed, where Fortran has a default integer.
    AintOfInteger: c_int => isize;
    /// A number of kind `MPI_ADDRESS_KIND`, `MPI_OFFSET_KIND` or `MPI_COUNT_KIND`.
    Large: i64 => i64;
}

/// An address that means the same in both languages, or that no hook can use: attributes, functions,
/// outputs that are numbers.
pub(super) struct AsItIs<P>(PhantomData<P>);

macro_rules! as_it_is {
    ($($pointer:tt)*) => {
        impl<T> Conversion for AsItIs<*$($pointer)* T> {
            type Field = *$($pointer)* T;

            #[inline(always)]
            unsafe fn before(_: Passed) -> Self {
                Self(PhantomData)
            }

            #[inline(always)]
            unsafe fn field(&self, passed: Passed) -> Self::Field {
                passed.address.cast()
            }
        }

        /// Hooks see the sentinels of C.
        impl<T> Conversion for Buffer<*$($pointer)* T> {
            type Field = *$($pointer)* T;

            #[inline(always)]
            unsafe fn before(_: Passed) -> Self {
                Self(PhantomData)
            }

            #[inline(always)]
            unsafe fn field(&self, passed: Passed) -> Self::Field {
                passed.mpi.buffer(passed.address).cast()
            }
        }

        impl<T> Nothing for *$($pointer)* T {
            const NOTHING: Self = ptr::null_mut::<T>() as Self;
        }
    };
}

as_it_is!(const);
as_it_is!(mut);

/// A choice buffer.
pub(super) struct Buffer<P>(PhantomData<P>);

/// What is not converted: strings, which have no end in Fortran, and arrays of handles of unknown
/// length. Hooks see null.
pub(super) struct Unread<P>(PhantomData<P>);

/// What a field holds for which Fortran has no argument, or none that is converted.
pub(super) trait Nothing {
    /// Null, or zero.
    const NOTHING: Self;
}

impl Nothing for c_int {
    const NOTHING: Self = 0;
}

impl<H: Handle> Nothing for HandlePtr<H> {
    const NOTHING: Self = Self::new(ptr::null_mut());
}

impl<P: Nothing> Conversion for Unread<P> {
    type Field = P;

    #[inline(always)]
    unsafe fn before(_: Passed) -> Self {
        Self(PhantomData)
    }

    #[inline(always)]
    unsafe fn field(&self, _: Passed) -> P {
        P::NOTHING
    }
}

/// A handle that C passes by value.
pub(super) struct Value<H>(H);

impl<H: Kind> Conversion for Value<H> {
    type Field = H;

    #[inline(always)]
    unsafe fn before(passed: Passed) -> Self {
        // SAFETY: a handle is a default integer.
        Self(passed.mpi.handle(unsafe { passed.integer() }))
    }

    #[inline(always)]
    unsafe fn field(&self, _: Passed) -> H {
        self.0
    }
}

/// The handles themselves, where they are the same integers in both languages.
#[inline(always)]
fn in_place<H: Kind>(passed: Passed) -> Option<HandlePtr<H>> {
    Mpi::same_handles::<H>().then(|| HandlePtr::new(passed.address))
}

/// A handle that the function reads and may change.
pub(super) struct OneHandle<H>(Cell<usize>, PhantomData<H>);

impl<H: Kind> Conversion for OneHandle<H> {
    type Field = HandlePtr<H>;

    #[inline(always)]
    unsafe fn before(passed: Passed) -> Self {
        // SAFETY: a handle is a default integer.
        let handle = passed.mpi.handle::<H>(unsafe { passed.integer() });
        Self(Cell::new(handle.word()), PhantomData)
    }

    #[inline(always)]
    unsafe fn field(&self, passed: Passed) -> HandlePtr<H> {
        in_place(passed).unwrap_or_else(|| HandlePtr::new(self.0.as_ptr().cast()))
    }

    #[inline(always)]
    unsafe fn after(&self, passed: Passed, _: bool, _: &mut Self::Field) {
        // SAFETY: a handle is a default integer.
        self.0.set(passed.mpi.handle::<H>(unsafe { passed.integer() }).word());
    }
}

/// A handle that the function makes.
pub(super) struct NewHandle<H>(Cell<usize>, PhantomData<H>);

impl<H: Kind> Conversion for NewHandle<H> {
    type Field = HandlePtr<H>;

    #[inline(always)]
    unsafe fn before(_: Passed) -> Self {
        Self(Cell::new(0), PhantomData)
    }

    #[inline(always)]
    unsafe fn field(&self, passed: Passed) -> HandlePtr<H> {
        in_place(passed).unwrap_or_else(|| HandlePtr::new(self.0.as_ptr().cast()))
    }

    #[inline(always)]
    unsafe fn after(&self, passed: Passed, success: bool, _: &mut Self::Field) {
        // What a function that failed has left there is no handle.
        if success {
            // SAFETY: MPI has filled it, because the call succeeded.
            self.0.set(passed.mpi.handle::<H>(unsafe { passed.integer() }).word());
        }
    }
}

/// A handle that MPI may fill as late as a request is complete, so hooks may read it then: it has a
/// place that stays. Open MPI fills it at once.
pub(super) struct LateHandle<H>(&'static Cell<usize>, PhantomData<H>);

impl<H: Kind> Conversion for LateHandle<H> {
    type Field = HandlePtr<H>;

    unsafe fn before(_: Passed) -> Self {
        // A few bytes for each duplicate of a communicator, beside the thousands that it takes.
        Self(Box::leak(Box::new(Cell::new(0))), PhantomData)
    }

    #[inline(always)]
    unsafe fn field(&self, passed: Passed) -> HandlePtr<H> {
        in_place(passed).unwrap_or_else(|| HandlePtr::new(self.0.as_ptr().cast()))
    }

    #[inline(always)]
    unsafe fn after(&self, passed: Passed, success: bool, _: &mut Self::Field) {
        if success {
            // SAFETY: MPI has filled it, or will: it is the program's own variable, and any bits are a number.
            self.0.set(passed.mpi.handle::<H>(unsafe { passed.integer() }).word());
        }
    }
}

/// An array that a thread uses again in each call.
struct Reused {
    array: Cell<Vec<usize>>,
    home: &'static LocalKey<Cell<Vec<usize>>>,
}

impl Reused {
    fn take(home: &'static LocalKey<Cell<Vec<usize>>>) -> Self {
        // A thread that is ending has none: then it is one for this call.
        Self { array: Cell::new(home.try_with(Cell::take).unwrap_or_default()), home }
    }

    /// Fills it; the address of its first element.
    #[inline]
    fn fill(&self, elements: impl Iterator<Item = usize>) -> *mut c_void {
        let mut array = self.array.take();
        array.clear();
        array.extend(elements);
        let address = array.as_mut_ptr();
        self.array.set(array);
        address.cast()
    }
}

impl Drop for Reused {
    fn drop(&mut self) {
        let array = self.array.take();
        let _ = self.home.try_with(|home| home.set(array));
    }
}

thread_local! {
    static HANDLES: Cell<Vec<usize>> = const { Cell::new(Vec::new()) };
    static INDICES: Cell<Vec<usize>> = const { Cell::new(Vec::new()) };
}

/// An array of handles that the function reads and may change.
pub(super) struct Handles<H>(Reused, PhantomData<H>);

impl<H: Kind> Handles<H> {
    #[inline]
    unsafe fn read(&self, passed: Passed) -> HandlePtr<H> {
        if let Some(handles) = in_place(passed) {
            return handles;
        }
        // SAFETY: the program passes the count, and so many handles, which are default integers.
        let handles = (0..unsafe { passed.elements() })
            .map(|place| unsafe { passed.mpi.handle::<H>(passed.element(place)).word() });
        HandlePtr::new(self.0.fill(handles))
    }
}

impl<H: Kind> Conversion for Handles<H> {
    type Field = HandlePtr<H>;

    #[inline(always)]
    unsafe fn before(_: Passed) -> Self {
        Self(Reused::take(&HANDLES), PhantomData)
    }

    #[inline(always)]
    unsafe fn field(&self, passed: Passed) -> HandlePtr<H> {
        // SAFETY: the caller's promise.
        unsafe { self.read(passed) }
    }

    #[inline(always)]
    unsafe fn after(&self, passed: Passed, _: bool, field: &mut Self::Field) {
        // SAFETY: the caller's promise.
        *field = unsafe { self.read(passed) };
    }
}

/// Which request is complete: Fortran counts from one.
pub(super) struct Index(Cell<c_int>);

impl Conversion for Index {
    type Field = *mut c_int;

    #[inline(always)]
    unsafe fn before(_: Passed) -> Self {
        Self(Cell::new(0))
    }

    #[inline(always)]
    unsafe fn field(&self, _: Passed) -> *mut c_int {
        self.0.as_ptr()
    }

    #[inline(always)]
    unsafe fn after(&self, passed: Passed, _: bool, _: &mut Self::Field) {
        // SAFETY: the program passes a variable, which it may not have set, but any bits are a number.
        self.0.set(passed.mpi.index(unsafe { passed.integer() }));
    }
}

/// Which requests are complete: Fortran counts from one. Before the call hooks see the program's own.
pub(super) struct Indices(Reused);

impl Conversion for Indices {
    type Field = *mut c_int;

    #[inline(always)]
    unsafe fn before(_: Passed) -> Self {
        Self(Reused::take(&INDICES))
    }

    #[inline(always)]
    unsafe fn field(&self, passed: Passed) -> *mut c_int {
        passed.address.cast()
    }

    unsafe fn after(&self, passed: Passed, _: bool, field: &mut Self::Field) {
        // SAFETY: MPI has filled the count.
        let count = unsafe { passed.elements() };
        let index = |place: usize| {
            // SAFETY: MPI has filled so many indices.
            if place < count { passed.mpi.index(unsafe { passed.element(place) }) } else { 0 }
        };
        let pairs = (0..count).step_by(2).map(|place| pair(index(place), index(place + 1)));
        *field = self.0.fill(pairs).cast();
    }
}

/// Two integers as they lie in memory, one after the other.
#[inline]
fn pair(first: c_int, second: c_int) -> usize {
    let [first, second] = [first, second].map(|integer| u64::from(integer as u32));
    (if cfg!(target_endian = "little") { first | second << 32 } else { first << 32 | second }) as usize
}

/// A logical that the function sets: whatever is true in Fortran is 1 in C.
pub(super) struct Flag(Cell<c_int>);

impl Conversion for Flag {
    type Field = *mut c_int;

    #[inline(always)]
    unsafe fn before(_: Passed) -> Self {
        Self(Cell::new(0))
    }

    #[inline(always)]
    unsafe fn field(&self, _: Passed) -> *mut c_int {
        self.0.as_ptr()
    }

    #[inline(always)]
    unsafe fn after(&self, passed: Passed, _: bool, _: &mut Self::Field) {
        // SAFETY: a default logical is as large as a default integer; any bits are a number.
        self.0.set(c_int::from(unsafe { passed.integer() } != 0));
    }
}

/// One status or an array of them: the same layout in both languages.
pub(super) struct Status;

impl Conversion for Status {
    type Field = StatusPtr;

    #[inline(always)]
    unsafe fn before(_: Passed) -> Self {
        Self
    }

    #[inline(always)]
    unsafe fn field(&self, passed: Passed) -> StatusPtr {
        StatusPtr(passed.mpi.status(passed.address))
    }

    #[inline(always)]
    fn pass(passed: Passed, field: &StatusPtr) -> *mut c_void {
        if field.0 == passed.mpi.status(passed.address) { passed.address } else { field.0 }
    }
}
