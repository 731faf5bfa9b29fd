//! Lines and columns of plain text.

use crate::printable;

/// The most columns of a line where nobody says how wide a terminal is.
pub const COLUMNS: usize = 100;
/// The least columns that a text is cut to.
const LEAST: usize = 8;

/// The lines of a text, none longer than [`COLUMNS`] where words allow it. The first begins with `mark`, the others with as many blanks.
pub fn wrapped(mark: &str, text: &str) -> String {
    wrapped_to(COLUMNS, mark, text)
}

/// The same in so many columns.
pub fn wrapped_to(columns: usize, mark: &str, text: &str) -> String {
    let indent = " ".repeat(mark.chars().count());
    let (mut lines, mut column, mut empty) = (mark.to_owned(), indent.len(), true);
    for word in text.split_whitespace() {
        let word = printable::name(word);
        let length = word.chars().count();
        if !empty && column + 1 + length > columns {
            lines.push('\n');
            lines += &indent;
            column = indent.len();
        } else if !empty {
            lines.push(' ');
            column += 1;
        }
        lines += &word;
        column += length;
        empty = false;
    }
    lines.truncate(lines.trim_end().len());
    lines + "\n"
}

/// A text in at most so many columns; where it is longer, its end is cut off and marked.
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    kept + "…"
}

/// A name in at most so many columns; where it is longer, its middle is left out: names of one program differ at their ends.
pub fn shortened(name: &str, columns: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= columns {
        return name.to_owned();
    }
    let kept = columns.saturating_sub(1);
    let (first, last) = (kept.div_ceil(2), kept / 2);
    letters[..first].iter().chain(&['…']).chain(&letters[letters.len() - last..]).collect()
}

/// A part of a whole in per cent: `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Ranks in a few words: `rank 3`, `ranks 1, 2, 5`, `ranks 1, 2, 3 and 17 more`; none for nobody.
pub fn ranks(ranks: &[u32]) -> Option<String> {
    let list = |ranks: &[u32]| ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match ranks {
        [] => None,
        [one] => Some(format!("rank {one}")),
        few if few.len() <= 8 => Some(format!("ranks {}", list(few))),
        many => Some(format!("ranks {} and {} more", list(&many[..3]), many.len() - 3)),
    }
}

/// The same of so many, of which the first are known.
pub fn ranks_of(first: &[u32], all: usize) -> Option<String> {
    if all <= first.len() || first.len() < 3 {
        return ranks(first);
    }
    let named: Vec<String> = first[..3].iter().map(u32::to_string).collect();
    Some(format!("ranks {} and {} more", named.join(", "), all - 3))
}

/// Rows of cells as columns with two blanks between them, each line indented by one; none longer than [`COLUMNS`]. The first row is the
/// header. Columns whose numbers are in `texts` are aligned to the left, and the widest of them are [`shortened`] where it is too much; all
/// others are aligned to the right.
pub fn table(rows: &[Vec<String>], texts: &[usize]) -> String {
    table_to(COLUMNS, rows, texts)
}

/// The same in so many columns.
pub fn table_to(most: usize, rows: &[Vec<String>], texts: &[usize]) -> String {
    let printable = |row: &Vec<String>| row.iter().map(|cell| printable::name(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(printable).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..columns).map(width).collect();
    while 1 + widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1) > most {
        let widest =
            texts.iter().copied().filter(|column| *column < columns).max_by_key(|column| widths[*column]);
        match widest {
            Some(widest) if widths[widest] > LEAST => widths[widest] -= 1,
            _ => break,
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::from(" ");
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let (between, cell) = (if column == 0 { "" } else { "  " }, shortened(cell, *width));
            line += &match texts.contains(&column) {
                true => format!("{between}{cell:<width$}"),
                false => format!("{between}{cell:>width$}"),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_and_none_is_lost() {
        let long = "word ".repeat(60);
        let text = wrapped("[MEL] ", &long);
        assert_eq!(text.split_whitespace().count(), 61);
        assert!(text.lines().skip(1).all(|line| line.starts_with("      word")), "{text}");
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        assert_eq!(wrapped("", ""), "\n");
    }

    #[test]
    fn no_name_ends_a_line_or_reaches_a_terminal_as_it_is() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let text = table(&[row(["name", "time"]), row(["a\n[MEL] b\x1b[2J", "1 s"])], &[0]);
        assert_eq!(text, " name                     time\n a\\u000a[MEL] b\\u001b[2J   1 s\n");
        assert_eq!(wrapped("- ", "a\x1b[2J\nb"), "- a\\u001b[2J b\n");
    }

    #[test]
    fn columns_are_aligned_and_only_texts_are_cut() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let text = table(&[row(["site", "function", "time"]), row(["a.c:1", "MPI_Recv", "1.00 s"])], &[0, 1]);
        assert_eq!(text, " site   function    time\n a.c:1  MPI_Recv  1.00 s\n");
        let long = "x".repeat(200);
        let text = table(&[row(["site", "function", "time"]), row([&long, "MPI_Recv", "123 ms"])], &[0, 1]);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.contains("x…x") && text.contains("x  MPI_Recv  123 ms"), "{text}");
        assert_eq!(shortened("LAMMPS_NS::CommBrick::exchange+0x33", 15), "LAMMPS_…ge+0x33");
        assert_eq!(
            (shortened("short", 5), shortened("ab", 1), shortened("abc", 0)),
            ("short".into(), "…".into(), "…".into())
        );
        assert_eq!(table(&[], &[0]), "");
    }

    #[test]
    fn many_ranks_are_a_few_words() {
        assert_eq!(ranks(&[]), None);
        assert_eq!(ranks(&[3]).unwrap(), "rank 3");
        assert_eq!(ranks(&[1, 2]).unwrap(), "ranks 1, 2");
        assert_eq!(ranks(&[4; 20]).unwrap(), "ranks 4, 4, 4 and 17 more");
    }
}
