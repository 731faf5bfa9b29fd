//! Comma-separated values (RFC 4180) that a spreadsheet takes for values: what a program has named is no formula there.

use std::io::{self, Write};

use csv::{ByteRecord, ReaderBuilder, WriterBuilder};
use serde::Serialize;

use crate::printable::cell;

/// Rows are gathered up to so many bytes before their cells are looked at.
const GATHERED: usize = 1 << 16;

/// Writes rows; their cells are [`cell`]s.
#[derive(Debug)]
pub struct Writer<W: Write> {
    rows: csv::Writer<Vec<u8>>,
    out: csv::Writer<W>,
}

fn gathered(has_header: bool) -> csv::Writer<Vec<u8>> {
    WriterBuilder::new().has_headers(has_header).flexible(true).from_writer(Vec::new())
}

impl<W: Write> Writer<W> {
    /// The first row that is [serialised](Self::serialize) follows a line with the names of its columns.
    pub fn new(out: W) -> Writer<W> {
        Writer { rows: gathered(true), out: csv::Writer::from_writer(out) }
    }

    /// Without names of columns.
    pub fn without_header(out: W) -> Writer<W> {
        Writer { rows: gathered(false), out: csv::Writer::from_writer(out) }
    }

    /// A row of what is serialised.
    ///
    /// # Errors
    /// Those of the output; it is no row.
    pub fn serialize(&mut self, row: impl Serialize) -> io::Result<()> {
        self.rows.serialize(row)?;
        self.pass_on(GATHERED)
    }

    /// A row of these cells.
    ///
    /// # Errors
    /// Those of the output; it has not as many cells as those before.
    pub fn write_record<T: AsRef<[u8]>>(&mut self, cells: impl IntoIterator<Item = T>) -> io::Result<()> {
        self.rows.write_record(cells)?;
        self.pass_on(GATHERED)
    }

    /// Writes what was gathered.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.rows.flush()?;
        self.pass_on(1)?;
        self.out.flush()
    }

    fn pass_on(&mut self, least: usize) -> io::Result<()> {
        if self.rows.get_ref().len() < least {
            return Ok(());
        }
        // The names of columns were among the first rows.
        let rows = std::mem::replace(&mut self.rows, gathered(false));
        let rows = rows.into_inner().map_err(|error| error.into_error())?;
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&rows[..]);
        let mut row = ByteRecord::new();
        while reader.read_byte_record(&mut row)? {
            let cells = row.iter().map(String::from_utf8_lossy);
            let cells: Vec<String> = cells.map(|text| cell(&text).into_owned()).collect();
            self.out.write_record(cells)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row<'a> {
        name: &'a str,
        change: i64,
        share: Option<f64>,
    }

    #[test]
    fn rows_are_as_they_were_but_for_formulas_and_control_characters() {
        let mut text = Vec::new();
        let mut out = Writer::new(&mut text);
        out.serialize(Row { name: "=cmd(),\"x\"\n\x1b", change: -3, share: Some(-0.5) }).unwrap();
        out.serialize(Row { name: "", change: 0, share: None }).unwrap();
        out.write_record(["-a", "-1", "@"]).unwrap();
        out.flush().unwrap();
        let expected = "name,change,share\n\"'=cmd(),\"\"x\"\"\\u000a\\u001b\",-3,-0.5\n,0,\n'-a,-1,'@\n";
        drop(out);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn many_rows_have_one_header() {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut out, mut plain) = (Writer::new(&mut ours), csv::Writer::from_writer(&mut theirs));
        for change in 0..20_000 {
            out.serialize(Row { name: "ä,b", change, share: Some(1.5) }).unwrap();
            plain.serialize(Row { name: "ä,b", change, share: Some(1.5) }).unwrap();
        }
        out.flush().unwrap();
        plain.flush().unwrap();
        drop((out, plain));
        assert!(ours == theirs && ours.len() > 3 * GATHERED);
    }
}
