//! The part of the page's address that nobody can guess.

use subtle::ConstantTimeEq;

/// Bytes of it.
const BYTES: usize = 24;

/// Random bytes, as hexadecimal digits. Not printed by `Debug`.
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// A fresh one.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn random() -> Result<Token, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether that is it. How long that takes says nothing of how much is right.
    pub fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::random().unwrap();
        assert_eq!(token.text().len(), 2 * BYTES);
        assert!(token.is(token.text()));
        let wrong = |text: &str| assert!(!token.is(text), "{text}");
        wrong("");
        wrong(&token.text()[1..]);
        wrong(&format!("{}0", token.text()));
        wrong(Token::random().unwrap().text());
        assert!(!format!("{token:?}").contains(token.text()));
    }
}
