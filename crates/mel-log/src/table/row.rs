//! What a row is made of, declared once: from the declaration come the row in mapped memory, the row as plain values, and how it is read,
//! cleared, copied, added up and documented.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A number that one thread at a time adds to, and that any may read.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Column(AtomicU64);

impl Column {
    /// Its value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets it.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds to it.
    #[inline(always)]
    pub fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    /// Raises it to this value, if it is less, whatever other threads do at the same time; what it was before.
    #[inline(always)]
    pub fn fetch_max(&self, value: u64) -> u64 {
        self.0.fetch_max(value, Relaxed)
    }

    /// Adds to it, whatever other threads do at the same time.
    #[inline(always)]
    pub fn fetch_add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// Raises it to this value, if it is less.
    #[inline(always)]
    pub fn raise(&self, value: u64) {
        if value > self.get() {
            self.set(value);
        }
    }
}

/// What lies in mapped memory: atomics, of which every bit pattern is valid.
pub trait Cell: Sized {
    /// Its value.
    type Plain;
    /// How the documentation calls it.
    const NAME: &'static str;
    /// How many there are.
    const COUNT: usize = 1;

    /// From the first bytes of a file, which are taken away; zero where there are too few.
    fn take(bytes: &mut &[u8]) -> Self;
    /// Its value.
    fn plain(&self) -> Self::Plain;
    /// Sets it to zero.
    fn clear(&self);
    /// Sets it to what another one is.
    fn copy(&self, from: &Self);
    /// Adds a value to it.
    fn more(&self, more: &Self::Plain);
}

/// The first bytes, taken away; zeros where there are too few.
fn first<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    match bytes.split_first_chunk() {
        Some((first, rest)) => {
            *bytes = rest;
            *first
        }
        None => {
            *bytes = &[];
            [0; N]
        }
    }
}

impl Cell for Column {
    type Plain = u64;
    const NAME: &'static str = "64 bits";

    fn take(bytes: &mut &[u8]) -> Self {
        Column(AtomicU64::new(u64::from_ne_bytes(first(bytes))))
    }

    fn plain(&self) -> u64 {
        self.get()
    }

    fn clear(&self) {
        self.set(0);
    }

    fn copy(&self, from: &Self) {
        self.set(from.get());
    }

    fn more(&self, more: &u64) {
        self.add(*more);
    }
}

impl Cell for AtomicU32 {
    type Plain = u32;
    const NAME: &'static str = "32 bits";

    fn take(bytes: &mut &[u8]) -> Self {
        AtomicU32::new(u32::from_ne_bytes(first(bytes)))
    }

    fn plain(&self) -> u32 {
        self.load(Relaxed)
    }

    fn clear(&self) {
        self.store(0, Relaxed);
    }

    fn copy(&self, from: &Self) {
        self.store(from.plain(), Relaxed);
    }

    fn more(&self, more: &u32) {
        self.store(self.plain().saturating_add(*more), Relaxed);
    }
}

impl<C: Cell, const N: usize> Cell for [C; N] {
    type Plain = Vec<C::Plain>;
    const NAME: &'static str = C::NAME;
    const COUNT: usize = N * C::COUNT;

    fn take(bytes: &mut &[u8]) -> Self {
        std::array::from_fn(|_| C::take(bytes))
    }

    fn plain(&self) -> Vec<C::Plain> {
        self.iter().map(C::plain).collect()
    }

    fn clear(&self) {
        self.iter().for_each(C::clear);
    }

    fn copy(&self, from: &Self) {
        self.iter().zip(from).for_each(|(to, from)| to.copy(from));
    }

    fn more(&self, more: &Vec<C::Plain>) {
        self.iter().zip(more).for_each(|(to, more)| to.more(more));
    }
}

/// What the documentation tells of a column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnOf {
    /// Its name.
    pub name: &'static str,
    /// What a value is, and how many there are.
    pub cell: (&'static str, usize),
    /// Bytes of all of them.
    pub bytes: usize,
    /// How two rows are put together: see [`row`].
    pub fold: &'static str,
    /// What it means.
    pub meaning: &'static [&'static str],
}

/// A row of a table.
///
/// # Safety
/// It consists of atomics, in the order of the file, without bytes between them: every bit pattern is valid, and shared references may write.
pub unsafe trait Row: Sized {
    /// What it stands for; `()` where its place says that.
    type Key;
    /// The row as plain values.
    type Plain;
    /// Its columns, in the order of the file.
    const COLUMNS: &'static [ColumnOf];

    /// From the bytes of a file; what is missing is zero.
    fn of_bytes(bytes: &[u8]) -> Self;
    /// The row as plain values, with what it stands for.
    fn plain(&self, key: Self::Key) -> Self::Plain;
    /// Forgets what was counted; what it stands for stays.
    fn clear(&self);
    /// Sets it to what another one is.
    fn copy(&self, from: &Self);
    /// Adds what another row has counted that stands for the same. One thread at a time.
    fn add(&self, more: &Self::Plain);
}

/// Declares a row. Columns are declared by how two rows are put together:
///
/// | | plain value | cleared | two rows |
/// |---|---|---|---|
/// | `sum` | as the cell's | yes | their sum |
/// | `max` | `u64` | yes | the greater |
/// | `least` | `Option<u64>`: all bits are stored inverted, and 0 is none | yes | the lesser |
/// | `shortest` | `u64`, 0 is none | yes | the lesser that is one |
/// | `last` | `u64`, 0 is none | yes | the second, if it is one |
/// | `filled` | of a number of counts those that are not 0, with their places | yes | their sums |
/// | `kept` | as the cell's | no | the first |
/// | `key` | none: part of what the row stands for | no | the first |
/// | `own` | none: distributions are read by themselves | no | the first |
/// | `unused` | none | no | the first |
///
/// A cell is a [`Column`] if nothing else is said. `=> Name` is the row of plain values; `=> Name of Key` has what the row stands for, too.
macro_rules! row {
    ($(#[$meta:meta])* pub struct $row:ident => $(#[$plain:meta])* $Plain:ident $(of $Key:ty)?; $($columns:tt)*) => {
        $crate::table::row::row!(@ { [$(#[$meta])*] $row [$(#[$plain])*] $Plain [$($Key)?] }
            [] [] [] [] [] [] $($columns)*);
    };

    // What a column is stored in.
    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ $fold:ident $name:ident; $($rest:tt)*) => {
        $crate::table::row::row!(@ $head $a $b $c $d $e $f $(#[doc = $doc])+ $fold $name: $crate::table::row::Column; $($rest)*);
    };

    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ sum $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@plain $head $a $b $c $d $e $f sum [$($doc)+] $name [$cell]
            [<$cell as $crate::table::row::Cell>::Plain]
            [|own: &$cell| own.plain()] [|own: &$cell, more| own.more(more)] [|own: &$cell| own.clear()] $($rest)*);
    };
    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ max $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@plain $head $a $b $c $d $e $f max [$($doc)+] $name [$cell] [u64]
            [|own: &$cell| own.get()] [|own: &$cell, more: &u64| own.raise(*more)] [|own: &$cell| own.clear()] $($rest)*);
    };
    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ least $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@plain $head $a $b $c $d $e $f least [$($doc)+] $name [$cell] [Option<u64>]
            [|own: &$cell| (own.get() != 0).then(|| !own.get())]
            [|own: &$cell, more: &Option<u64>| own.raise(more.map_or(0, |more| !more))]
            [|own: &$cell| own.clear()] $($rest)*);
    };
    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ shortest $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@plain $head $a $b $c $d $e $f shortest [$($doc)+] $name [$cell] [u64]
            [|own: &$cell| own.get()]
            [|own: &$cell, more: &u64| if *more != 0 && (own.get() == 0 || *more < own.get()) { own.set(*more) }]
            [|own: &$cell| own.clear()] $($rest)*);
    };
    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ last $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@plain $head $a $b $c $d $e $f last [$($doc)+] $name [$cell] [u64]
            [|own: &$cell| own.get()] [|own: &$cell, more: &u64| if *more != 0 { own.set(*more) }]
            [|own: &$cell| own.clear()] $($rest)*);
    };
    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ filled $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@plain $head $a $b $c $d $e $f filled [$($doc)+] $name [$cell] [Vec<(u8, u64)>]
            [|own: &$cell| (0..).zip(own.plain()).filter(|(_, count)| *count > 0).collect()]
            [|own: &$cell, more: &Vec<(u8, u64)>| more.iter().for_each(|(place, count)| {
                own.get(usize::from(*place)).into_iter().for_each(|own| own.add(*count));
            })]
            [|own: &$cell| own.clear()] $($rest)*);
    };
    (@ $head:tt $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $(#[doc = $doc:literal])+ kept $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@plain $head $a $b $c $d $e $f kept [$($doc)+] $name [$cell]
            [<$cell as $crate::table::row::Cell>::Plain]
            [|own: &$cell| own.plain()] [|_, _| ()] [|_| ()] $($rest)*);
    };
    (@ $head:tt [$($cells:tt)*] $plain:tt $reads:tt $adds:tt $clears:tt [$($told:tt)*]
        $(#[doc = $doc:literal])+ $fold:ident $name:ident: $cell:ty; $($rest:tt)*) => {
        $crate::table::row::row!(@ $head [$($cells)* $(#[doc = $doc])+ $fold $name [$cell];] $plain $reads $adds $clears
            [$($told)* { $fold $name [$cell] $($doc)+ }] $($rest)*);
    };

    (@plain $head:tt [$($cells:tt)*] [$($plain:tt)*] [$($reads:tt)*] [$($adds:tt)*] [$($clears:tt)*] [$($told:tt)*]
        $fold:ident [$($doc:literal)+] $name:ident [$cell:ty] [$value:ty] [$read:expr] [$add:expr] [$clear:expr] $($rest:tt)*) => {
        $crate::table::row::row!(@ $head
            [$($cells)* $(#[doc = $doc])+ $fold $name [$cell];]
            [$($plain)* $(#[doc = $doc])+ pub $name: $value,]
            [$($reads)* { $name $read }]
            [$($adds)* { $name $add }]
            [$($clears)* { $name $clear }]
            [$($told)* { $fold $name [$cell] $($doc)+ }]
            $($rest)*);
    };

    // All columns are there.
    (@ { [$($meta:tt)*] $row:ident [$($plain_meta:tt)*] $Plain:ident [$($Key:ty)?] }
        [$($(#[$doc:meta])+ $fold:ident $cell:ident [$kind:ty];)*] [$($plain:tt)*] [$({ $read:ident $reads:expr })*]
        [$({ $add:ident $adds:expr })*] [$({ $clear:ident $clears:expr })*]
        [$({ $told_fold:ident $told:ident [$told_cell:ty] $($meaning:literal)+ })*]) => {
        $($meta)*
        #[derive(Debug)]
        pub struct $row { $($(#[$doc])+ pub $cell: $kind,)* }

        $($plain_meta)*
        pub struct $Plain {
            $(
                /// What the row stands for.
                pub key: $Key,
            )?
            $($plain)*
        }

        // SAFETY: cells are atomics, and the assertion says that nothing lies between them.
        unsafe impl $crate::table::row::Row for $row {
            #[allow(unused_parens, reason = "nothing, or a type")]
            type Key = ($($Key)?);
            type Plain = $Plain;
            const COLUMNS: &'static [$crate::table::row::ColumnOf] = {
                assert!(size_of::<$row>() == 0 $(+ size_of::<$kind>())*);
                &[$($crate::table::row::ColumnOf {
                    name: stringify!($told),
                    cell: (<$told_cell as $crate::table::row::Cell>::NAME, <$told_cell as $crate::table::row::Cell>::COUNT),
                    bytes: size_of::<$told_cell>(),
                    fold: stringify!($told_fold),
                    meaning: &[$($meaning),+],
                }),*]
            };

            fn of_bytes(mut bytes: &[u8]) -> Self {
                $row { $($cell: $crate::table::row::Cell::take(&mut bytes),)* }
            }

            #[allow(unused, clippy::redundant_closure_call, reason = "each column says how it is read; the key may be nothing, or all")]
            fn plain(&self, key: Self::Key) -> $Plain {
                use $crate::table::row::Cell as _;
                $Plain { $(key: { let key: $Key = key; key },)? $($read: ($reads)(&self.$read),)* }
            }

            #[allow(unused, clippy::redundant_closure_call, reason = "each column says how it is cleared; nothing may be counted")]
            fn clear(&self) {
                use $crate::table::row::Cell as _;
                $(($clears)(&self.$clear);)*
            }

            fn copy(&self, from: &Self) {
                $($crate::table::row::Cell::copy(&self.$cell, &from.$cell);)*
            }

            #[allow(unused, clippy::redundant_closure_call, reason = "each column says how it is added; nothing may be counted")]
            fn add(&self, more: &$Plain) {
                use $crate::table::row::Cell as _;
                $(($adds)(&self.$add, &more.$add);)*
            }
        }

        impl Default for $row {
            fn default() -> Self {
                $crate::table::row::Row::of_bytes(&[])
            }
        }
    };
}
pub(crate) use row;
