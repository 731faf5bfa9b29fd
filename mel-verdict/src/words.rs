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
        assert_eq!((percent(0.5).as_str(), percent(0.0123).as_str()), ("50 %", "1.2 %"));
    }
}
