//! The rows of some ranks, in groups that are encoded as soon as they are full.

use std::rc::Rc;

use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use rustc_hash::FxHashMap;

use super::Shapes;
use super::columns::{Calls, Collectives, Encoder, Messages, Name, Samples, Searches, Table};
use super::rank::Sites;
use super::waiting::{Place, Waiting};

/// Texts, each with its number.
#[derive(Default)]
pub(super) struct Names {
    numbers: FxHashMap<Rc<str>, Name>,
    texts: Vec<ByteArray>,
}

impl Names {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> Name {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let name = Name(self.texts.len() as u32);
        self.texts.push(text.as_bytes().to_vec().into());
        self.numbers.insert(text.into(), name);
        name
    }
}

/// The columns of a group of rows, encoded.
pub(super) type Group = Vec<(Place, ColumnCloseResult)>;

/// The groups of a table, and how many rows they have.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) list: Vec<Group>,
    pub(super) rows: u64,
}

/// A table while it is filled.
pub(super) struct Filling<'a, T> {
    table: T,
    encoders: &'a [Encoder],
    waiting: &'a Waiting,
    /// Rows that a group has.
    most: usize,
    /// Rows that are not encoded yet.
    rows: usize,
    done: Groups,
    /// The first one; no row is added afterwards.
    error: Option<parquet::errors::ParquetError>,
}

impl<'a, T: Table> Filling<'a, T> {
    fn new(encoders: &'a [Encoder], shapes: &'a Shapes) -> Self {
        let Shapes { waiting, rows_in_group, .. } = shapes;
        let (table, done) = (T::default(), Groups::default());
        Filling { table, encoders, waiting, most: *rows_in_group, rows: 0, done, error: None }
    }

    /// Adds a row.
    #[inline]
    pub(super) fn push(&mut self, row: &T::Row, names: &Names) {
        if self.error.is_some() {
            return;
        }
        self.table.push(row);
        self.rows += 1;
        if self.rows == self.most {
            self.error = self.encode(names).err();
        }
    }

    fn encode(&mut self, names: &Names) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = Group::with_capacity(self.encoders.len());
        for column in self.table.encode(&names.texts, self.encoders)? {
            group.push((self.waiting.keep(column.bytes)?, column.close));
        }
        self.done.list.push(group);
        self.done.rows += self.rows as u64;
        self.rows = 0;
        Ok(())
    }

    fn finish(mut self, names: &Names) -> Result<Groups> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.encode(names).map(|()| self.done),
        }
    }
}

/// The tables of some ranks.
pub(super) struct Part<'a> {
    pub(super) names: Names,
    pub(super) sites: Sites,
    pub(super) calls: Filling<'a, Calls>,
    pub(super) messages: Filling<'a, Messages>,
    pub(super) collectives: Filling<'a, Collectives>,
    pub(super) searches: Filling<'a, Searches>,
    pub(super) samples: Filling<'a, Samples>,
}

impl<'a> Part<'a> {
    pub(super) fn new(shapes: &'a Shapes) -> Part<'a> {
        let [calls, messages, collectives, searches, samples] = &shapes.encoders;
        Part {
            names: Names::default(),
            sites: Sites::default(),
            calls: Filling::new(calls, shapes),
            messages: Filling::new(messages, shapes),
            collectives: Filling::new(collectives, shapes),
            searches: Filling::new(searches, shapes),
            samples: Filling::new(samples, shapes),
        }
    }

    /// What is encoded of each table.
    pub(super) fn finish(self) -> Result<[Groups; 5]> {
        let Part { names, calls, messages, collectives, searches, samples, .. } = self;
        Ok([
            calls.finish(&names)?,
            messages.finish(&names)?,
            collectives.finish(&names)?,
            searches.finish(&names)?,
            samples.finish(&names)?,
        ])
    }
}
