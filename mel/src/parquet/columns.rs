//! What the columns of tables are, and how a table is declared: once, with its row, its columns and their units.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Whole numbers of 32 bits.
    Int32,
    /// Whole numbers of 64 bits.
    Int64,
    /// Real numbers of 64 bits.
    Real,
    /// Texts: the file has each once, and its number in the rows.
    Text,
}

/// A column as a table declares it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// The unit of its numbers; numbers that are names have none.
    pub(super) unit: Option<&'static str>,
    /// What its values are.
    pub(super) what: What,
    /// Whether rows may be without one.
    pub(super) nullable: bool,
    /// Whether the same values come again and again, so that numbering them makes the file smaller.
    pub(super) repeats: bool,
}

impl Column {
    /// The same as Parquet has it.
    pub(super) fn parquet_type(&self) -> Result<Type> {
        let physical = match self.what {
            What::Int32 => Physical::INT32,
            What::Int64 => Physical::INT64,
            What::Real => Physical::DOUBLE,
            What::Text => Physical::BYTE_ARRAY,
        };
        let repetition = if self.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let of = Type::primitive_type_builder(self.name, physical).with_repetition(repetition);
        match self.what {
            What::Text => {
                of.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8)
            }
            _ => of,
        }
        .build()
    }
}

/// The values of a column, encoded, with what the file says of them.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) close: ColumnCloseResult,
}

/// How a column is to be encoded.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    pub(super) column: ColumnDescPtr,
    pub(super) properties: WriterPropertiesPtr,
}

impl Encoder {
    fn encode<T: DataType>(&self, values: &[T::T], levels: Option<&[i16]>) -> Result<Encoded> {
        let mut sink = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut sink));
        let writer = get_column_writer(self.column.clone(), self.properties.clone(), pages);
        let mut writer = get_typed_column_writer::<T>(writer);
        writer.write_batch(values, levels, None)?;
        let close = writer.close()?;
        Ok(Encoded { bytes: sink.into_inner()?, close })
    }
}

/// A column while it is filled.
pub(super) trait Values: Default {
    /// A value.
    type Value: Copy + std::fmt::Debug;
    /// What its values are.
    const WHAT: What;
    /// Whether rows may be without one.
    const NULLABLE: bool;
    /// Whether the same values come again and again.
    const REPEATS: bool;

    /// Adds a value.
    fn push(&mut self, value: Self::Value);
    /// The values since it was called last, encoded; `names` has all texts.
    fn encode(&mut self, names: &[ByteArray], encoder: &Encoder) -> Result<Encoded>;
}

/// A table while it is filled.
pub(super) trait Table: Default {
    /// A row.
    type Row: std::fmt::Debug;
    /// The name of its file, without `.parquet`.
    const NAME: &'static str;
    /// Its columns.
    const COLUMNS: &'static [Column];

    /// Adds a row.
    fn push(&mut self, row: &Self::Row);
    /// The columns of the rows since it was called last, encoded; `names` has all texts.
    fn encode(&mut self, names: &[ByteArray], encoders: &[Encoder]) -> Result<Vec<Encoded>>;
}

/// The number of a text among those of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(pub(super) u32);

/// Declares kinds of columns with a value in each row.
macro_rules! always {
    ($($(#[$about:meta])* $name:ident: $value:ty as $type:ident $what:ident, $repeats:literal;)*) => {
        $(
            $(#[$about])*
            #[derive(Default)]
            pub(super) struct $name(Vec<$value>);

            impl Values for $name {
                type Value = $value;
                const WHAT: What = What::$what;
                const NULLABLE: bool = false;
                const REPEATS: bool = $repeats;

                #[inline]
                fn push(&mut self, value: $value) {
                    self.0.push(value);
                }

                fn encode(&mut self, names: &[ByteArray], encoder: &Encoder) -> Result<Encoded> {
                    let encoded = encoder.encode::<$type>(&<$value>::stored(&self.0, names), None);
                    self.0.clear();
                    encoded
                }
            }
        )*
    };
}

/// Declares kinds of columns with a value in some rows.
macro_rules! sometimes {
    ($($(#[$about:meta])* $name:ident: $value:ty as $type:ident $what:ident, $repeats:literal;)*) => {
        $(
            $(#[$about])*
            #[derive(Default)]
            pub(super) struct $name {
                values: Vec<$value>,
                /// Of each row: whether it has a value.
                levels: Vec<i16>,
            }

            impl Values for $name {
                type Value = Option<$value>;
                const WHAT: What = What::$what;
                const NULLABLE: bool = true;
                const REPEATS: bool = $repeats;

                #[inline]
                fn push(&mut self, value: Option<$value>) {
                    self.values.extend(value);
                    self.levels.push(value.is_some().into());
                }

                fn encode(&mut self, names: &[ByteArray], encoder: &Encoder) -> Result<Encoded> {
                    let values = <$value>::stored(&self.values, names);
                    let encoded = encoder.encode::<$type>(&values, Some(&self.levels));
                    self.values.clear();
                    self.levels.clear();
                    encoded
                }
            }
        )*
    };
}

/// What becomes of a value in the file.
trait Stored: Sized + Clone {
    type As: Clone;

    fn stored<'a>(values: &'a [Self], names: &[ByteArray]) -> std::borrow::Cow<'a, [Self::As]>;
}

macro_rules! as_they_are {
    ($($value:ty),*) => {
        $(impl Stored for $value {
            type As = $value;

            fn stored<'a>(values: &'a [$value], _: &[ByteArray]) -> std::borrow::Cow<'a, [$value]> {
                values.into()
            }
        })*
    };
}

as_they_are!(i32, i64, f64);

impl Stored for Name {
    type As = ByteArray;

    fn stored<'a>(values: &'a [Name], names: &[ByteArray]) -> std::borrow::Cow<'a, [ByteArray]> {
        let text = |name: &Name| names.get(name.0 as usize).cloned().unwrap_or_default();
        values.iter().map(text).collect::<Vec<_>>().into()
    }
}

always! {
    /// A rank, a thread, a tag.
    Number: i32 as Int32Type Int32, true;
    /// A size, a count.
    Count: i64 as Int64Type Int64, true;
    /// A time, a value.
    Real: f64 as DoubleType Real, false;
    /// A text.
    Text: Name as ByteArrayType Text, true;
}

sometimes! {
    /// A rank, an element.
    NumberOrNone: i32 as Int32Type Int32, true;
    /// A count.
    CountOrNone: i64 as Int64Type Int64, true;
    /// A number that hardly comes twice.
    SerialOrNone: i64 as Int64Type Int64, false;
    /// A time.
    RealOrNone: f64 as DoubleType Real, false;
    /// A text.
    TextOrNone: Name as ByteArrayType Text, true;
}

/// Declares a table: the name of its file, its row, and its columns.
macro_rules! table {
    (
        $(#[$about:meta])*
        $file:literal: $row:ident in $table:ident {
            $($(#[$doc:meta])* $name:ident: $values:ident $(in $unit:literal)?,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $row {
            $($(#[$doc])* pub(super) $name: <$values as Values>::Value,)*
        }

        $(#[$about])*
        #[derive(Default)]
        pub(super) struct $table {
            $($name: $values,)*
        }

        impl Table for $table {
            type Row = $row;
            const NAME: &'static str = $file;
            const COLUMNS: &'static [Column] = &[$(Column {
                name: stringify!($name),
                unit: [$(Some($unit),)? None][0],
                what: $values::WHAT,
                nullable: $values::NULLABLE,
                repeats: $values::REPEATS,
            }),*];

            #[inline]
            fn push(&mut self, row: &$row) {
                $(self.$name.push(row.$name);)*
            }

            fn encode(&mut self, names: &[ByteArray], encoders: &[Encoder]) -> Result<Vec<Encoded>> {
                let mut encoders = encoders.iter();
                let mut all = Vec::with_capacity(encoders.len());
                $(if let Some(encoder) = encoders.next() {
                    all.push(self.$name.encode(names, encoder)?);
                })*
                Ok(all)
            }
        }
    };
}

table! {
    /// MPI calls.
    "calls": Call in Calls {
        /// In `MPI_COMM_WORLD`.
        rank: Number,
        /// 0 for the one that initialised MPI.
        thread: Number,
        function: Text,
        /// The line that it is called from.
        site: TextOrNone,
        /// Of its collective operation, or of the first message that it sent or received.
        communicator: TextOrNone,
        /// The phase of the program in which it began; empty where that has no name.
        phase: Text,
        /// The region of the program that its thread was in: `a/b/c`; empty where that is none.
        region: Text,
        begin_s: Real in "s",
        duration_s: Real in "s",
        /// Calls of the same thread that it lies in.
        depth: Number in "1",
        /// Of messages, and of its collective operation.
        bytes_sent: Count in "B",
        bytes_received: Count in "B",
    }
}

table! {
    /// Messages, once for each side.
    "messages": Message in Messages {
        rank: Number,
        thread: Number,
        /// `sent` or `received`.
        direction: Text,
        /// In `MPI_COMM_WORLD`.
        peer: NumberOrNone,
        /// In the communicator, or in the remote group of an intercommunicator.
        peer_in_communicator: Number,
        tag: Number,
        communicator: TextOrNone,
        bytes: Count in "B",
        /// When the call began that sent it, or ended that received it.
        time_s: Real in "s",
        /// That call.
        function: TextOrNone,
        site: TextOrNone,
        /// Nonblocking: the number of its request.
        request: SerialOrNone,
        /// How long it waited in the unexpected queue, if it did.
        unexpected_s: RealOrNone in "s",
    }
}

table! {
    /// Calls of collective operations.
    "collectives": Collective in Collectives {
        rank: Number,
        thread: Number,
        communicator: TextOrNone,
        function: Text,
        site: TextOrNone,
        phase: Text,
        region: Text,
        /// In the communicator, or in the remote group of an intercommunicator.
        root: NumberOrNone,
        bytes_sent: Count in "B",
        bytes_received: Count in "B",
        begin_s: Real in "s",
        duration_s: Real in "s",
        /// Nonblocking: the number of its request.
        request: SerialOrNone,
    }
}

table! {
    /// Searches of the message queues.
    "searches": Search in Searches {
        rank: Number,
        thread: Number,
        /// Which search: the name of its events, without `_begin`.
        search: Text,
        communicator: TextOrNone,
        begin_s: Real in "s",
        duration_s: Real in "s",
        /// Entries of this communicator in the queue when it began, where their coming and going was logged.
        queue_length: CountOrNone in "1",
    }
}

table! {
    /// Values of variables that were sampled.
    "samples": Sampled in Samples {
        rank: Number,
        variable: Text,
        /// Its communicator, window or interface.
        object: TextOrNone,
        /// Which of several elements; none of the only one, and of the sum of all.
        element: NumberOrNone,
        time_s: Real in "s",
        value: Real,
        /// Of the value.
        unit: TextOrNone,
    }
}
