//! A square of numbers, and a sparse matrix in the format Matrix Market (<https://math.nist.gov/MatrixMarket/formats.html>).

use std::io::{self, Write};

use crate::matrix::{Cell, Matrix, Of};

/// What a mean size is written as: a whole number of bytes.
fn whole(of: Of, cell: Cell) -> u64 {
    match of {
        Of::Messages => cell.messages,
        Of::Bytes => cell.bytes,
        Of::Mean => cell.mean().round() as u64,
    }
}

/// Writes as many lines as there are senders, with a number for each receiver, separated by blanks: what placement tools such as TreeMatch
/// read. Means are rounded to bytes.
///
/// # Errors
/// Those of `out`.
pub fn square(mut out: impl Write, matrix: &Matrix, of: Of) -> io::Result<()> {
    let mut cells = matrix.cells.iter().peekable();
    for from in 0..matrix.size {
        for to in 0..matrix.size {
            let value = match cells.peek() {
                Some((a, b, cell)) if (*a, *b) == (from, to) => {
                    cells.next();
                    whole(of, *cell)
                }
                _ => 0,
            };
            write!(out, "{}{value}", if to == 0 { "" } else { " " })?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes a line for each pair: sender, receiver, both from 1, and the number. `comments` are lines on what it is. Means are not rounded.
///
/// # Errors
/// Those of `out`.
pub fn matrix_market(mut out: impl Write, matrix: &Matrix, of: Of, comments: &[String]) -> io::Result<()> {
    let field = if of == Of::Mean { "real" } else { "integer" };
    writeln!(out, "%%MatrixMarket matrix coordinate {field} general")?;
    for line in comments.iter().flat_map(|comment| comment.lines()) {
        writeln!(out, "% {line}")?;
    }
    writeln!(out, "{0} {0} {1}", matrix.size, matrix.cells.len())?;
    for (from, to, cell) in &matrix.cells {
        match of {
            Of::Mean => writeln!(out, "{} {} {}", from + 1, to + 1, cell.mean())?,
            _ => writeln!(out, "{} {} {}", from + 1, to + 1, whole(of, *cell))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Matrix {
        let cell = |messages, bytes| Cell { messages, bytes };
        Matrix { size: 3, cells: vec![(0, 1, cell(2, 5)), (2, 0, cell(1, 0))], ..Matrix::default() }
    }

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_are_senders() {
        assert_eq!(text(|out| square(out, &matrix(), Of::Bytes)), "0 5 0\n0 0 0\n0 0 0\n");
        assert_eq!(text(|out| square(out, &matrix(), Of::Messages)), "0 2 0\n0 0 0\n1 0 0\n");
        assert_eq!(text(|out| square(out, &matrix(), Of::Mean)), "0 3 0\n0 0 0\n0 0 0\n");
    }

    #[test]
    fn a_sparse_matrix_counts_from_one() {
        let comments = ["bytes\nof p2p".to_owned()];
        assert_eq!(
            text(|out| matrix_market(out, &matrix(), Of::Mean, &comments)),
            "%%MatrixMarket matrix coordinate real general\n% bytes\n% of p2p\n3 3 2\n1 2 2.5\n3 1 0\n"
        );
        let whole = text(|out| matrix_market(out, &matrix(), Of::Messages, &[]));
        assert_eq!(whole, "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 2\n3 1 1\n");
    }
}
