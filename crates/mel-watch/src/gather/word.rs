//! Texts as words that no shell on the way to a node changes, however many there are: `ssh` gives its words to one, `srun` does not.

/// What no shell changes. A word does not begin with `-`, as an option does.
fn is_plain(place: usize, byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_=,./:+@".contains(&byte) || (byte == b'-' && place > 0)
}

/// Whether no shell changes that word, as it is.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().enumerate().all(|(place, byte)| is_plain(place, byte))
}

/// The word for these bytes: what a shell might change is `%` and two hexadecimal digits.
pub fn encoded(bytes: &[u8]) -> String {
    let part = |(place, byte): (usize, &u8)| match is_plain(place, *byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02x}"),
    };
    bytes.iter().enumerate().map(part).collect()
}

/// The bytes that such a word stands for.
///
/// # Errors
/// Behind a `%` there are no two digits.
pub fn decoded(word: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::new();
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => match (digit(rest.next()), digit(rest.next())) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err("behind % there are two hexadecimal digits: a percent sign is %25"),
            },
            byte => byte,
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_plain_stays() {
        assert_eq!(encoded(b"/scratch/me/run-4711_3.d"), "/scratch/me/run-4711_3.d");
        assert_eq!(encoded("run;touch PWNED;echo".as_bytes()), "run%3btouch%20PWNED%3becho");
        assert_eq!((encoded(b"-rf"), encoded(b"~/a")), ("%2drf".into(), "%7e/a".into()));
        assert!(decoded("a%4").is_err() && decoded("a%zz").is_err());
        assert!(is_word("node-a.b") && !is_word("-oProxyCommand=x") && !is_word("a b") && !is_word(""));
    }

    proptest! {
        #[test]
        fn any_bytes_arrive_and_are_one_word_for_a_shell(bytes in proptest::collection::vec(any::<u8>(), 1..40)) {
            let word = encoded(&bytes);
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_=,./:+@-%".contains(&byte)));
            prop_assert!(!word.starts_with('-'));
            prop_assert_eq!(decoded(&word).unwrap(), bytes);
        }
    }
}
