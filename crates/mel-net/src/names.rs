//! Lists of hosts as Slurm writes them: `node[1-3,7],login`.

/// More names than that are a mistake.
const MOST: usize = 1 << 20;
/// More letters in all names together are, too.
const MOST_LETTERS: usize = 1 << 25;

/// The names of a list. Numbers keep their leading zeros.
///
/// # Errors
/// A sentence: a bracket without its other half, a range that is none, or too many names.
pub(crate) fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for part in split(list)? {
        expand_one(part.trim(), &mut names)?;
    }
    Ok(names)
}

/// The parts between commas that are in no bracket.
fn split(list: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (place, letter) in list.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..place]);
                start = place + 1;
            }
            _ => (),
        }
        if !(0..=1).contains(&depth) {
            return Err(format!("brackets do not fit in {list}: wanted is, for example, node[1-3,7]"));
        }
    }
    if depth != 0 {
        return Err(format!("a bracket is not closed in {list}: wanted is, for example, node[1-3,7]"));
    }
    parts.push(&list[start..]);
    Ok(parts.into_iter().filter(|part| !part.trim().is_empty()).collect())
}

fn expand_one(part: &str, names: &mut Vec<String>) -> Result<(), String> {
    let mut made = vec![String::new()];
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, behind) = after.split_once(']').unwrap_or((after, ""));
        let mut numbers = Vec::new();
        for range in inside.split(',') {
            numbers_of(range.trim(), &mut numbers)?;
        }
        if made.len().saturating_mul(numbers.len()) > MOST {
            return Err(format!("{part} are more than {MOST} names"));
        }
        let longest = |names: &[String]| names.iter().map(String::len).max().unwrap_or(0);
        let letters = longest(&made) + before.len() + longest(&numbers);
        if (made.len() * numbers.len()).saturating_mul(letters) > MOST_LETTERS {
            return Err(format!("the names of {part} have more than {MOST_LETTERS} letters"));
        }
        made = made
            .iter()
            .flat_map(|name| numbers.iter().map(move |number| format!("{name}{before}{number}")))
            .collect();
        rest = behind;
    }
    made.iter_mut().for_each(|name| name.push_str(rest));
    if names.len() + made.len() > MOST {
        return Err(format!("these are more than {MOST} names"));
    }
    names.append(&mut made);
    Ok(())
}

fn numbers_of(range: &str, numbers: &mut Vec<String>) -> Result<(), String> {
    let wrong = || format!("{range} is no range of numbers: wanted is, for example, 1-16 or 001-128");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    if !is_number(first) || !is_number(last) {
        return Err(wrong());
    }
    let (Ok(low), Ok(high)) = (first.parse::<u64>(), last.parse::<u64>()) else { return Err(wrong()) };
    if low > high || high - low >= MOST as u64 || numbers.len() as u64 + high - low >= MOST as u64 {
        return Err(wrong());
    }
    let digits = first.len();
    numbers.extend((low..=high).map(|number| format!("{number:0digits$}")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_of_slurm() {
        let of = |list| expand(list).unwrap();
        assert_eq!(of("a,b[1-3],c"), ["a", "b1", "b2", "b3", "c"]);
        assert_eq!(
            of("n[08-10,12]x"),
            ["n08", "n09", "n10", "n12x"].map(|n| if n.ends_with('x') { n.into() } else { format!("{n}x") })
        );
        assert_eq!(of("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert!(of("").is_empty());
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        let long = format!("{}[1-99999]", "x".repeat(MOST_LETTERS / 99999));
        for wrong in [
            long.as_str(),
            "a[1-3",
            "a]1[",
            "a[3-1]",
            "a[x]",
            "a[[1]]",
            "a[1-99999999999]",
            "a[1-99999]b[1-99999]",
            "a[]",
        ] {
            assert!(expand(wrong).is_err(), "{wrong}");
        }
    }
}
