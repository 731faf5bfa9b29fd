//! The numbers of each rank in columns, and the file that holds them where there are too many ranks for `profile.json`: `ranks.table`.
//!
//! Bytes of the file, numbers in the byte order of the machine that wrote it: `MELRANKS`; version, number of ranks, length of a text, and
//! checksum of the three and the text, 64 bits each; the text, which is JSON and names the columns and the hosts; blanks up to a multiple
//! of eight bytes; then each column without a gap: a 64-bit floating-point number of each rank, by rank. What a rank does not have is not a
//! number (NaN). The last two columns are the place of its host, and the checksum of its numbers.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::ProfileError;
use super::over_ranks::OverRanks;
use super::quantities::Unit;
use super::quantities::budget::BUDGET;
use super::quantities::times::TIMES;
use super::schema::{Profile, RankProfile};
use super::summary;
use super::sums;
use crate::checksum;
use crate::ranks::MOST_RANKS;

/// Its name in the directory of a run.
pub const FILE_NAME: &str = "ranks.table";

const MAGIC: [u8; 8] = *b"MELRANKS";
const VERSION: u64 = 2;
/// Bytes before the text.
const HEAD: usize = 40;
/// The most bytes of its text.
const MOST_TEXT: u64 = 64 << 20;

/// Times of a rank as a whole.
pub const TIME: &str = "time";
/// Times in MPI functions.
pub const FUNCTIONS: &str = "MPI functions";
/// The names of the columns of [`TIME`].
pub const RUN: &str = "run";
/// See [`RUN`].
pub const IN_MPI: &str = "in MPI";
/// See [`RUN`].
pub const WAITING: &str = "waiting";
/// See [`RUN`].
pub const CAUSED: &str = "others wait for it";

/// What is in a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// What it is a number of, as [`OverRanks::group`].
    pub group: String,
    /// Its name within the group.
    pub name: String,
    /// What it is counted in.
    pub unit: Unit,
}

impl Column {
    fn of(quantity: &summary::OfRank) -> Column {
        Column { group: quantity.group.into(), name: quantity.name.into(), unit: quantity.unit }
    }
}

/// The columns of a run that counts this: times, the time in each of some functions, the quantities of queues and windows.
pub fn columns(
    has_calls: bool,
    functions: &[String],
    quantities: impl Iterator<Item = &'static summary::OfRank>,
) -> Vec<Column> {
    let mut columns = Vec::new();
    if has_calls {
        let times = TIMES.iter().chain(BUDGET);
        columns.extend(times.filter(|quantity| quantity.over_ranks).map(Column::of));
        columns.extend(functions.iter().map(|name| Column {
            group: FUNCTIONS.into(),
            name: name.clone(),
            unit: Unit::Seconds,
        }));
    }
    columns.extend(quantities.map(Column::of));
    columns
}

/// The numbers of a rank in these columns; those of times from its calls.
pub fn row(columns: &[Column], rank: &RankProfile) -> Vec<f64> {
    let value = |Column { group, name, .. }: &Column| {
        if group == FUNCTIONS {
            return sums::calls(rank).filter(|call| call.function == *name).map(|call| call.total_s).sum();
        }
        let mut known = TIMES.iter().chain(BUDGET).chain(summary::all());
        let quantity = known.find(|known| known.group == group && known.name == name);
        quantity.and_then(|known| (known.of)(rank)).unwrap_or(f64::NAN)
    };
    columns.iter().map(value).collect()
}

/// What the text of a file says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    /// What each column is.
    pub columns: Vec<Column>,
    /// Names of hosts; the last column has the place of a rank's host in this list.
    pub hosts: Vec<String>,
}

/// The numbers of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// The ranks, ascending.
    pub ranks: Vec<u32>,
    /// What each column is, and its values in the order of `ranks`; NaN for none.
    pub columns: Vec<(Column, Vec<f64>)>,
    /// Names of hosts.
    pub hosts: Vec<String>,
    /// The place of each rank's host in [`Columns::hosts`]; NaN for none.
    pub host: Vec<f64>,
    /// The ranks whose numbers are damaged: they have none.
    pub damaged: Vec<u32>,
}

impl Columns {
    /// Those of a profile that has all of its ranks.
    pub fn of(profile: &Profile) -> Columns {
        let functions: Vec<String> =
            sums::by_function(profile).into_iter().map(|function| function.function).collect();
        let names = columns(profile.has_calls(), &functions, summary::quantities(profile));
        let rows: Vec<Vec<f64>> = profile.ranks.iter().map(|rank| row(&names, rank)).collect();
        let of_column = |place: usize| rows.iter().map(|row| row[place]).collect();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let (mut hosts, mut host) = (Vec::new(), Vec::new());
        for rank in &profile.ranks {
            let place = *places.entry(&rank.host).or_insert_with(|| {
                hosts.push(rank.host.clone());
                hosts.len() - 1
            });
            host.push(place as f64);
        }
        let columns = (0..).zip(names).map(|(place, name)| (name, of_column(place))).collect();
        let ranks = profile.ranks.iter().map(|rank| rank.rank).collect();
        Columns { ranks, columns, hosts, host, damaged: Vec::new() }
    }

    /// Those of a run's directory.
    ///
    /// # Errors
    /// [`ProfileError::Io`].
    pub fn read(directory: &Path) -> Result<Columns, ProfileError> {
        let path = directory.join(FILE_NAME);
        let table = RankTable::open(&path).map_err(|error| ProfileError::Io { path: path.clone(), error })?;
        let io = |error| ProfileError::Io { path: path.clone(), error };
        let mut all = Columns { ranks: (0..table.ranks).collect(), ..Columns::default() };
        for (place, column) in table.description.columns.iter().enumerate() {
            all.columns.push((column.clone(), table.column(place).map_err(io)?));
        }
        all.host = table.column(table.description.columns.len()).map_err(io)?;
        all.hosts = table.description.hosts;
        all.damaged = table.damaged;
        Ok(all)
    }

    /// A sentence on ranks whose numbers are damaged, if there are any.
    pub fn incomplete(&self) -> Option<String> {
        let who = super::text::layout::ranks(&self.damaged)?;
        Some(format!("{FILE_NAME} is damaged: the numbers of {who} are left out"))
    }

    /// Each column over the ranks.
    pub fn over_ranks(&self) -> Vec<OverRanks> {
        let of = |(column, values): &(Column, Vec<f64>)| {
            let values = self.ranks.iter().copied().zip(values.iter().copied());
            OverRanks::of(values).named(&column.group, &column.name, column.unit)
        };
        self.columns.iter().map(of).filter(|over| over.ranks > 0).collect()
    }
}

/// The file, which is written by consecutive ranks at a time and read by column.
#[derive(Debug)]
pub struct RankTable {
    file: File,
    /// The number of ranks.
    pub ranks: u32,
    /// Columns and hosts.
    pub description: Description,
    /// The ranks whose numbers have another checksum than their own, ascending.
    damaged: Vec<u32>,
    first: u64,
}

impl RankTable {
    /// Makes the file for that many ranks, all of which are to be written.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, ranks: u32, description: Description) -> io::Result<RankTable> {
        let text = serde_json::to_vec(&description)?;
        let numbers = [VERSION, ranks.into(), text.len() as u64].map(u64::to_ne_bytes);
        let mut head = MAGIC.to_vec();
        head.extend(numbers.as_flattened());
        head.extend(u64::from(checksum::of([numbers.as_flattened(), &text])).to_ne_bytes());
        head.extend(text);
        head.resize(head.len().next_multiple_of(8), b' ');
        let file = crate::access::replace(path)?;
        file.write_all_at(&head, 0)?;
        let table = RankTable { file, ranks, description, damaged: Vec::new(), first: head.len() as u64 };
        table.file.set_len(table.length())?;
        Ok(table)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Those of the file system; that it is no such file.
    pub fn open(path: &Path) -> io::Result<RankTable> {
        let none =
            || io::Error::new(io::ErrorKind::InvalidData, "not a table of ranks of this version of mel");
        let file = crate::regular_file::open(path)?;
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0).map_err(|_| none())?;
        let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().unwrap_or_default());
        let (version, ranks, length, sum) = (number(8), number(16), number(24), number(32));
        if head[..8] != MAGIC || version != VERSION || ranks > MOST_RANKS.into() || length > MOST_TEXT {
            return Err(none());
        }
        let bytes = file.metadata()?.len();
        if bytes < HEAD as u64 + length {
            return Err(none());
        }
        let mut text = vec![0; length as usize];
        file.read_exact_at(&mut text, HEAD as u64).map_err(|_| none())?;
        if sum != u64::from(checksum::of([&head[8..32], &text])) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the beginning of the table of ranks is damaged",
            ));
        }
        let description: Description = serde_json::from_slice(&text).map_err(|_| none())?;
        let first = (HEAD as u64 + length).next_multiple_of(8);
        let mut table = RankTable { file, ranks: ranks as u32, description, damaged: Vec::new(), first };
        let wanted = table.length();
        if bytes < wanted {
            let what =
                format!("the table of ranks is cut off or damaged: {bytes} of {wanted} bytes are there");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        table.damaged = table.find_damaged()?;
        Ok(table)
    }

    /// The ranks whose numbers have another checksum than their own. Reads the file once; one column at a time is in memory.
    fn find_damaged(&self) -> io::Result<Vec<u32>> {
        let mut sums = vec![crc32fast::Hasher::new(); self.ranks as usize];
        for place in 0..=self.description.columns.len() {
            let bytes = self.bytes(place)?;
            sums.iter_mut().zip(bytes.chunks_exact(8)).for_each(|(sum, number)| sum.update(number));
        }
        let written = self.bytes(self.description.columns.len() + 1)?;
        let is_damaged = |(sum, bytes): (crc32fast::Hasher, &[u8])| {
            let written = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
            written != 0 && written != u64::from(checksum::not_none(sum.finalize()))
        };
        let damaged = sums.into_iter().zip(written.chunks_exact(8)).map(is_damaged);
        Ok((0..).zip(damaged).filter_map(|(rank, is_damaged)| is_damaged.then_some(rank)).collect())
    }

    fn length(&self) -> u64 {
        self.at(self.description.columns.len() + 2, 0)
    }

    /// Writes the rows of consecutive ranks from this one on. Each has a number for each column, and the place of its host.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, first: u32, rows: &[Vec<f64>]) -> io::Result<()> {
        for place in 0..=self.description.columns.len() {
            let value = |row: &Vec<f64>| row.get(place).copied().unwrap_or(f64::NAN).to_ne_bytes();
            let bytes: Vec<u8> = rows.iter().flat_map(value).collect();
            self.file.write_all_at(&bytes, self.at(place, first))?;
        }
        let sum = |row: &Vec<f64>| {
            let value = |place| row.get(place).copied().unwrap_or(f64::NAN).to_ne_bytes();
            let bytes: Vec<[u8; 8]> = (0..=self.description.columns.len()).map(value).collect();
            u64::from(checksum::of([bytes.as_flattened()])).to_ne_bytes()
        };
        let sums: Vec<u8> = rows.iter().flat_map(sum).collect();
        self.file.write_all_at(&sums, self.at(self.description.columns.len() + 1, first))
    }

    /// A column; after the last one, the places of hosts.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn column(&self, place: usize) -> io::Result<Vec<f64>> {
        let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let mut numbers: Vec<f64> = self.bytes(place)?.chunks_exact(8).map(number).collect();
        self.damaged.iter().for_each(|rank| numbers[*rank as usize] = f64::NAN);
        Ok(numbers)
    }

    /// The bytes of a column.
    fn bytes(&self, place: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.ranks as usize * 8];
        self.file.read_exact_at(&mut bytes, self.at(place, 0))?;
        Ok(bytes)
    }

    /// Each column over the ranks. One column at a time is in memory.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn over_ranks(&self) -> io::Result<Vec<OverRanks>> {
        let mut all = Vec::new();
        for (place, column) in self.description.columns.iter().enumerate() {
            let over = OverRanks::of((0..).zip(self.column(place)?));
            if over.ranks > 0 {
                all.push(over.named(&column.group, &column.name, column.unit));
            }
        }
        Ok(all)
    }

    fn at(&self, column: usize, rank: u32) -> u64 {
        self.first + 8 * (column as u64 * u64::from(self.ranks) + u64::from(rank))
    }
}

/// Where the table of a run lies.
pub fn path_in(directory: &Path) -> PathBuf {
    directory.join(FILE_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    #[test]
    fn a_table_has_what_a_profile_has() {
        let profile = sample::late_rank(300, 17);
        let columns = Columns::of(&profile);
        let directory = tempfile::tempdir().unwrap();
        let names: Vec<Column> = columns.columns.iter().map(|(name, _)| name.clone()).collect();
        let description = Description { columns: names.clone(), hosts: columns.hosts.clone() };
        let table = RankTable::create(&path_in(directory.path()), 300, description).unwrap();
        let row = |place: usize| {
            let mut row = row(&names, &profile.ranks[place]);
            row.push(columns.host[place]);
            row
        };
        for (from, to) in [(256, 300), (0, 256)] {
            let rows: Vec<Vec<f64>> = (from..to).map(row).collect();
            table.write(from as u32, &rows).unwrap();
        }
        let read = Columns::read(directory.path()).unwrap();
        // What is not a number is not equal to itself.
        assert_eq!(format!("{read:?}"), format!("{columns:?}"));
        assert_eq!(table.over_ranks().unwrap(), columns.over_ranks());
        let caused = columns.over_ranks().into_iter().find(|over| over.name == CAUSED).unwrap();
        assert_eq!(caused.highest[0].0, 17);
    }

    #[test]
    fn damage_is_an_error_or_leaves_out_the_numbers_of_the_rank() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_in(directory.path());
        let column = Column::of(&TIMES[0]);
        let description = Description { columns: vec![column], hosts: vec!["a".into()] };
        let table = RankTable::create(&path, 4, description).unwrap();
        // Rank 3 has left nothing.
        table.write(0, &[vec![1.0, 0.0], vec![2.0, 0.0], vec![3.0, 0.0]]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let numbers = whole.len() - 3 * 4 * 8;
        assert!(Columns::read(directory.path()).unwrap().damaged.is_empty());
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x21;
            std::fs::write(&path, &bytes).unwrap();
            let read = Columns::read(directory.path());
            let padding = numbers - whole[..numbers].iter().rev().take_while(|byte| **byte == b' ').count();
            match at {
                _ if at < padding => assert!(read.is_err(), "byte {at}"),
                _ if at < numbers => assert!(read.is_ok(), "byte {at}"),
                _ => {
                    let (rank, columns) = ((at - numbers) / 8 % 4, read.unwrap());
                    // What was not written has no checksum.
                    let is_noticed = rank < 3 || at >= numbers + 64;
                    assert_eq!(
                        columns.damaged,
                        if is_noticed { vec![rank as u32] } else { vec![] },
                        "byte {at}"
                    );
                    assert_eq!(columns.incomplete().is_some(), is_noticed);
                    assert_eq!(columns.columns[0].1[rank].is_nan(), is_noticed);
                }
            }
        }
    }

    #[test]
    fn what_is_no_table_is_said_to_be_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_in(directory.path());
        assert!(Columns::read(directory.path()).is_err());
        for bytes in [
            &b""[..],
            b"MELRANKS",
            &[0xff; 100],
            b"MELRANKS\x01\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = Columns::read(directory.path()).unwrap_err().to_string();
            assert!(error.contains("not a table of ranks"), "{error}");
        }
    }

    #[test]
    fn a_table_that_is_cut_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_in(directory.path());
        let column = Column::of(&TIMES[0]);
        let description = Description { columns: vec![column], hosts: Vec::new() };
        let table = RankTable::create(&path, 1000, description).unwrap();
        table.write(0, &[vec![1.0, 0.0]]).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(5000).unwrap();
        assert!(Columns::read(directory.path()).is_err());
    }
}
