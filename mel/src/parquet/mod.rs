//! The event logs of a run as tables: Parquet files that pandas, polars, DuckDB and others read.
//!
//! | file | a row for each |
//! |---|---|
//! | `calls.parquet` | MPI call |
//! | `messages.parquet` | side of a message |
//! | `collectives.parquet` | call of a collective operation |
//! | `searches.parquet` | search of a message queue |
//! | `samples.parquet` | value of a variable that was sampled |
//!
//! [`columns`] declares the tables; [`rank`] makes their rows from a log; [`part`] encodes them in groups of rows; [`waiting`] keeps
//! those until the ranks before are written; [`schema`] says units to readers of Arrow. Rows of a rank are in the order in which
//! what they say ended, and ranks ascend. Times are seconds since the first record of the run.

mod columns;
mod part;
mod rank;
mod schema;
#[cfg(test)]
mod tests;
mod waiting;

use std::fs::{self, Permissions};
use std::io::{self, BufWriter};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type, TypePtr};
use tempfile::NamedTempFile;

use self::columns::{Calls, Collectives, Column, Encoder, Messages, Samples, Searches, Table, What};
use self::part::{Groups, Part};
use self::rank::Rank;
use self::waiting::Waiting;
use crate::in_order::in_order;
use mel_convert::run::Run;
use mel_convert::spans::walk;
use mel_convert::time::Timeline;

/// How much is done, and kept, at a time.
#[derive(Clone, Copy, Debug)]
struct Limits {
    threads: usize,
    /// Rows that are encoded together: a thread has one such group of each table.
    rows_in_group: usize,
    /// Bytes of encoded rows that wait in memory for the ranks before.
    in_memory: u64,
    /// Ranks with few records share groups: as many as have so many together.
    records_in_part: usize,
}

/// A thread has up to some 50 MB of rows. More threads would wait for the file.
const LIMITS: Limits =
    Limits { threads: 16, rows_in_group: 1 << 18, in_memory: 256 << 20, records_in_part: 1 << 20 };

/// The tables, in the order in which they are written.
const TABLES: [(&str, &[Column]); 5] = [
    (Calls::NAME, Calls::COLUMNS),
    (Messages::NAME, Messages::COLUMNS),
    (Collectives::NAME, Collectives::COLUMNS),
    (Searches::NAME, Searches::COLUMNS),
    (Samples::NAME, Samples::COLUMNS),
];

/// How many rows the tables have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// MPI calls.
    pub calls: u64,
    /// Sides of messages.
    pub messages: u64,
    /// Calls of collective operations.
    pub collectives: u64,
    /// Searches of the queues.
    pub searches: u64,
    /// Samples of variables.
    pub samples: u64,
}

/// What all parts need.
struct Shapes {
    /// Of each table: its columns.
    encoders: [Vec<Encoder>; 5],
    waiting: Waiting,
    rows_in_group: usize,
}

/// A file of a table. It gets its name when it is complete.
struct TableFile {
    name: &'static str,
    writer: SerializedFileWriter<BufWriter<NamedTempFile>>,
}

impl TableFile {
    fn new(directory: &Path, name: &'static str, columns: &[Column]) -> Result<(TableFile, Vec<Encoder>)> {
        let (schema, properties) = (schema_of(columns)?, properties_of(columns));
        let descriptor = SchemaDescriptor::new(Arc::clone(&schema));
        let encoder = |column| Encoder {
            column: Arc::clone(column),
            properties: WriterPropertiesPtr::clone(&properties),
        };
        let encoders = descriptor.columns().iter().map(encoder).collect();
        let mut like_others = tempfile::Builder::new();
        // As any file that a user makes.
        let like_others =
            like_others.prefix(".").suffix(".parquet").permissions(Permissions::from_mode(0o666));
        let out = BufWriter::with_capacity(1 << 20, like_others.tempfile_in(directory)?);
        let writer = SerializedFileWriter::new(out, schema, properties)?;
        Ok((TableFile { name, writer }, encoders))
    }

    fn append(&mut self, groups: Groups, waiting: &Waiting) -> Result<()> {
        for columns in groups.list {
            let mut group = self.writer.next_row_group()?;
            for (place, close) in columns {
                group.append_column(&waiting.take(place)?, close)?;
            }
            group.close()?;
        }
        Ok(())
    }

    fn finish(self, directory: &Path) -> Result<()> {
        let file = self.writer.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(directory.join(self.name).with_extension("parquet")).map_err(|failed| failed.error)?;
        Ok(())
    }
}

/// Writes the tables into a directory, which is made where it is not there, on all cores. `tick` is given how many more records have
/// been converted, of about [`Run::records_at_most`].
///
/// # Errors
/// Those of the file system. Files that were there before are then as they were, or complete.
pub fn write(directory: &Path, run: &Run, tick: &(dyn Fn(u64) + Sync)) -> anyhow::Result<Summary> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(LIMITS.threads);
    Ok(write_with(Limits { threads, ..LIMITS }, directory, run, tick)?)
}

/// The same within these limits.
fn write_with(limits: Limits, directory: &Path, run: &Run, tick: &(dyn Fn(u64) + Sync)) -> Result<Summary> {
    fs::create_dir_all(directory)?;
    let (mut files, mut encoders) = (Vec::new(), Vec::new());
    for (name, columns) in TABLES {
        let (file, of_table) = TableFile::new(directory, name, columns)?;
        files.push(file);
        encoders.push(of_table);
    }
    let waiting = Waiting::new(directory, limits.in_memory)?;
    let mut encoders = encoders.into_iter();
    let encoders = std::array::from_fn(|_| encoders.next().unwrap_or_default());
    let shapes = Shapes { encoders, waiting, rows_in_group: limits.rows_in_group };
    let timeline = Timeline::new(&run.ranks);
    let parts = parts(run, limits.records_in_part);
    let make = |part: usize| {
        let mut tables = Part::new(&shapes);
        for position in parts[part].clone() {
            let log = &run.ranks[position];
            walk(log, &mut Rank::new(&mut tables, log, position, &timeline), &|records| tick(records));
        }
        tables.finish()
    };
    let mut rows = [0; TABLES.len()];
    in_order(parts.len(), limits.threads, make, |part: Result<[Groups; 5]>| -> Result<()> {
        for ((groups, file), rows) in part?.into_iter().zip(&mut files).zip(&mut rows) {
            *rows += groups.rows;
            file.append(groups, &shapes.waiting)?;
        }
        Ok(())
    })?;
    files.into_iter().try_for_each(|file| file.finish(directory))?;
    let [calls, messages, collectives, searches, samples] = rows;
    Ok(Summary { calls, messages, collectives, searches, samples })
}

/// Ranks that one thread converts at a time: one, or several that have few records.
fn parts(run: &Run, most: usize) -> Vec<Range<usize>> {
    let (mut parts, mut begin, mut records) = (Vec::new(), 0, 0);
    for (position, log) in run.ranks.iter().enumerate() {
        records += log.records_at_most();
        if records >= most || position + 1 == run.ranks.len() {
            parts.push(begin..position + 1);
            (begin, records) = (position + 1, 0);
        }
    }
    parts
}

fn schema_of(columns: &[Column]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| column.parquet_type().map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

fn properties_of(columns: &[Column]) -> WriterPropertiesPtr {
    let entry = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("mel {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(vec![entry(schema::KEY, schema::encoded(columns))]));
    for column in columns {
        let path = ColumnPath::from(column.name);
        if !column.repeats {
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
        }
        match column.what {
            What::Real => properties = properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT),
            // Comparing each text with the least and the greatest takes time, and hardly anybody looks for a range of texts.
            What::Text => {
                properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
            }
            What::Int32 | What::Int64 => {}
        }
    }
    Arc::new(properties.build())
}
