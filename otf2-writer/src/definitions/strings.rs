//! The strings of an archive, each once.

use std::{collections::HashMap, ffi::CString};

use serde::{Deserialize, Serialize};

use crate::refs::StringRef;

/// Strings in the order of their references. The empty string is always there, as reference 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<CString>", into = "Vec<CString>")]
pub(crate) struct Strings {
    texts: Vec<CString>,
    references: HashMap<CString, StringRef>,
}

impl From<Vec<CString>> for Strings {
    fn from(texts: Vec<CString>) -> Self {
        let references = (0..).map(StringRef).zip(&texts).map(|(reference, text)| (text.clone(), reference));
        Self { references: references.collect(), texts }
    }
}

impl From<Strings> for Vec<CString> {
    fn from(strings: Strings) -> Self {
        strings.texts
    }
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { texts: Vec::new(), references: HashMap::new() };
        strings.intern("");
        strings
    }
}

impl Strings {
    pub(crate) fn intern(&mut self, text: &str) -> StringRef {
        self.intern_text(without_nul(text))
    }

    pub(crate) fn intern_text(&mut self, text: CString) -> StringRef {
        if let Some(&reference) = self.references.get(&text) {
            return reference;
        }
        let reference = StringRef(super::next_number(&self.texts));
        self.texts.push(text.clone());
        self.references.insert(text, reference);
        reference
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StringRef, &CString)> {
        (0..).map(StringRef).zip(&self.texts)
    }
}

fn without_nul(text: &str) -> CString {
    let bytes = text.bytes().filter(|&byte| byte != 0).collect::<Vec<_>>();
    // There is no NUL left, so the default, an empty string, is never taken.
    CString::new(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one() {
        let mut strings = Strings::default();
        let first = strings.intern("MPI_Send");
        assert_ne!(strings.intern("MPI_Recv"), first);
        assert_eq!(strings.intern("MPI_Send"), first);
        assert_eq!(strings.intern(""), StringRef(0));
        assert_eq!(strings.iter().count(), 3);
    }

    #[test]
    fn nul_is_left_out() {
        let mut strings = Strings::default();
        let plain = strings.intern("ab");
        assert_eq!(strings.intern("a\0b\0"), plain);
    }
}
