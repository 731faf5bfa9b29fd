//! What is sent from a node to the watcher: a line, before which there may be others (of a shell that greets), then messages, each with
//! its length before it.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

/// The line. Its number is that of the form of what follows.
const BEGIN: &str = "mel gather 1";
/// So much may come before that line.
const MOST_BEFORE: u64 = 256 * 1024;
/// No message is longer.
const LONGEST: usize = 16 << 20;
/// A page of a file, in bytes.
pub const PAGE: usize = 4096;

/// What a node tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Which node it is. All files are told afresh after that.
    Hello {
        /// Its host name.
        host: String,
    },
    /// A file that is there.
    File {
        /// Its name in the directory.
        name: String,
        /// Its bytes.
        length: u64,
        /// Whether a process holds it, and so runs.
        is_held: bool,
    },
    /// What has changed in a file that was told of: pages of zeros at first.
    Page {
        /// The file.
        name: String,
        /// Which page, from 0.
        number: u64,
        /// Its bytes, at most [`PAGE`].
        #[serde(with = "bytes")]
        bytes: Vec<u8>,
    },
    /// A file that is there no more.
    Gone {
        /// Its name.
        name: String,
    },
    /// All was told that there is now.
    Now {
        /// Whether the directory is there at all.
        is_there: bool,
    },
}

/// As one piece, and not number by number.
mod bytes {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Vec::<u8>::deserialize(from)
    }
}

/// Writes the line.
///
/// # Errors
/// Those of the output.
pub fn begin(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{BEGIN}")
}

/// Writes a message.
///
/// # Errors
/// Those of the output.
pub fn write(out: &mut impl Write, message: &Message) -> io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&bytes)
}

/// Reads up to the line and behind it.
///
/// # Errors
/// There is none.
pub fn expect_begin(from: &mut impl BufRead) -> io::Result<()> {
    let mut from = from.take(MOST_BEFORE);
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            let what = "it did not say what `mel gather` says: is it there, of this version, and does nothing else write?";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text == BEGIN {
            return Ok(());
        }
        if text.starts_with("mel gather ") {
            return Err(io::Error::other("the mel there is of another version than this one"));
        }
    }
}

/// Reads a message; `None` at the end.
///
/// # Errors
/// Those of the input; what comes is no message.
pub fn read(from: &mut impl Read) -> io::Result<Option<Message>> {
    let mut length = [0; 4];
    let mut got = 0;
    while got < length.len() {
        match from.read(&mut length[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "something else than `mel gather` has written",
        ));
    }
    // As much memory as comes, and not as much as is announced.
    let mut bytes = Vec::new();
    if from.take(length as u64).read_to_end(&mut bytes)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_as_they_were_written_behind_what_a_shell_says() {
        let all = [
            Message::Hello { host: "node-b".into() },
            Message::File { name: "rank-1.table".into(), length: 1 << 40, is_held: true },
            Message::Page { name: "rank-1.table".into(), number: 7, bytes: vec![0xff; PAGE] },
            Message::Gone { name: "rank-1.table".into() },
            Message::Now { is_there: true },
        ];
        let mut bytes = b"Welcome to node-b\r\n\n".to_vec();
        begin(&mut bytes).unwrap();
        all.iter().for_each(|message| write(&mut bytes, message).unwrap());
        let mut from = &bytes[..];
        expect_begin(&mut from).unwrap();
        let read_all: Vec<Message> = std::iter::from_fn(|| read(&mut from).unwrap()).collect();
        assert_eq!(read_all, all);
        // Cut off anywhere, there are fewer, and then an error or the end.
        for cut in 0..bytes.len() {
            let mut from = &bytes[..cut];
            if expect_begin(&mut from).is_ok() {
                let mut count = 0;
                while let Ok(Some(message)) = read(&mut from) {
                    assert_eq!(message, all[count]);
                    count += 1;
                }
            }
        }
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let error = |text: &str| expect_begin(&mut text.as_bytes()).unwrap_err().to_string();
        assert!(error("bash: mel: command not found\n").contains("is it there"));
        assert!(error("mel gather 99\n").contains("another version"));
        assert!(expect_begin(&mut io::BufReader::new(io::repeat(b'x'))).is_err());
        assert!(read(&mut &b"hello, world"[..]).is_err());
    }
}
