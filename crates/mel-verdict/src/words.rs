//! What findings have in common in their wording.

/// `rank 3`, `ranks 1, 2 and 5`, `ranks 1, 2, 3 and 17 more`; empty for nobody.
pub fn ranks(ranks: &[u32]) -> String {
    let list = |ranks: &[u32]| ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match ranks {
        [] => String::new(),
        [one] => format!("rank {one}"),
        [first @ .., last] if ranks.len() <= 6 => format!("ranks {} and {last}", list(first)),
        _ => format!("ranks {} and {} more", list(&ranks[..3]), ranks.len() - 3),
    }
}

/// `ranks 1, 2, 3 and 17 more`, of so many ranks of which the first are known.
pub fn ranks_of(first: &[u32], all: usize) -> String {
    let named = &first[..first.len().min(3)];
    match all.checked_sub(named.len()) {
        Some(more) if all > first.len() && more > 0 => {
            let list: Vec<String> = named.iter().map(u32::to_string).collect();
            format!("ranks {} and {more} more", list.join(", "))
        }
        _ => ranks(first),
    }
}

/// A share (0 to 1) in percent: one decimal below ten.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranks_are_few_words() {
        assert_eq!(ranks(&[3]), "rank 3");
        assert_eq!(ranks(&[1, 2, 5]), "ranks 1, 2 and 5");
        assert_eq!(ranks(&[0, 1, 2, 3, 4, 5, 6]), "ranks 0, 1, 2 and 4 more");
        assert_eq!(ranks_of(&[0, 1, 2, 3], 100_000), "ranks 0, 1, 2 and 99997 more");
        assert_eq!(ranks_of(&[3, 4], 2), "ranks 3 and 4");
        assert_eq!((percent(0.5).as_str(), percent(0.0123).as_str()), ("50 %", "1.2 %"));
    }
}
