//! The regions of the program that a thread is in: they lie in each other, and a log has the path of the innermost one.

/// The regions that a thread is in, the outer ones first, with what is kept of each.
#[derive(Debug)]
pub struct Nested<T> {
    /// The path of the innermost.
    path: String,
    /// How long the path of each is.
    open: Vec<(usize, T)>,
}

impl<T> Default for Nested<T> {
    fn default() -> Self {
        Nested { path: String::new(), open: Vec::new() }
    }
}

/// Whether the region of `path` is the region of `outer`, or lies in it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl<T> Nested<T> {
    /// Takes out the next region that is left on the way to the region of this path, the inner ones first; all where that is none.
    pub fn leave(&mut self, to: &str) -> Option<T> {
        let (length, _) = self.open.last()?;
        if is_within(to, &self.path[..*length]) {
            return None;
        }
        let (_, kept) = self.open.pop()?;
        self.path.truncate(self.open.last().map_or(0, |(length, _)| *length));
        Some(kept)
    }

    /// The path of the next region that is entered on the way to the region of this path; to be asked when all have been left that are.
    pub fn entered<'p>(&self, to: &'p str) -> Option<&'p str> {
        if self.path.len() == to.len() {
            return None;
        }
        let rest = if self.open.is_empty() { 0 } else { self.path.len() + 1 };
        Some(to[rest..].find('/').map_or(to, |end| &to[..rest + end]))
    }

    /// The thread is in this region from now on, which lies in those that it was in.
    pub fn enter(&mut self, path: &str, kept: T) {
        path.clone_into(&mut self.path);
        self.open.push((path.len(), kept));
    }
}

/// The name of a region without those that it lies in.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left and entered on a way through regions.
    fn steps(ways: &[&str]) -> Vec<String> {
        let mut nested = Nested::default();
        let mut steps = Vec::new();
        for to in ways {
            while let Some(path) = nested.leave(to) {
                steps.push(format!("-{path}"));
            }
            while let Some(path) = nested.entered(to) {
                nested.enter(path, path.to_owned());
                steps.push(format!("+{path}"));
            }
        }
        steps
    }

    #[test]
    fn regions_are_left_and_entered_in_order() {
        assert_eq!(steps(&["a/b", "a", "a/b", ""]), ["+a", "+a/b", "-a/b", "+a/b", "-a/b", "-a"]);
        assert_eq!(
            steps(&["a/b/c", "a/d/e", "f"]),
            ["+a", "+a/b", "+a/b/c", "-a/b/c", "-a/b", "+a/d", "+a/d/e", "-a/d/e", "-a/d", "-a", "+f"]
        );
        assert_eq!(steps(&["ab", "a", "a", ""]), ["+ab", "-ab", "+a", "-a"]);
        assert_eq!(steps(&["", ""]), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_the_last_of_a_path() {
        assert_eq!(["a", "a/b", "a/b/c", ""].map(name), ["a", "b", "c", ""]);
    }
}
