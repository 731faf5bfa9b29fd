//! Plugins as users name them: `MEL_PLUGINS`, a list with colons between them of names with arguments, and where their files are.

use std::path::{Path, PathBuf};

use crate::access::objection_to_code;
use crate::settings::PLUGINS_PATH;

/// A plugin, and what it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginName {
    /// Its name, or the path of its file.
    pub name: String,
    /// What follows it.
    pub arguments: Vec<String>,
}

impl PluginName {
    /// As the user has written it: `NAME,a,b=1`. `None` where it has no name.
    #[must_use]
    pub fn parse(text: &str) -> Option<PluginName> {
        let mut parts = text.split(',');
        let name = parts.next().map(str::trim).filter(|name| !name.is_empty())?;
        Some(PluginName { name: name.into(), arguments: parts.map(str::to_owned).collect() })
    }

    /// Those of `MEL_PLUGINS`.
    #[must_use]
    pub fn list(text: &str) -> Vec<PluginName> {
        text.split(':').filter_map(PluginName::parse).collect()
    }

    /// As `MEL_PLUGINS` has it, with another name.
    #[must_use]
    pub fn written(&self, name: &str) -> String {
        let words: Vec<&str> =
            std::iter::once(name).chain(self.arguments.iter().map(String::as_str)).collect();
        words.join(",")
    }

    /// What it is called in lines for the user: its file without directory, `lib` and `.so`.
    #[must_use]
    pub fn title(&self) -> &str {
        let file = self.name.rsplit('/').next().unwrap_or(&self.name);
        let stem = file.strip_suffix(".so").unwrap_or(file);
        stem.strip_prefix("lib").filter(|rest| !rest.is_empty()).unwrap_or(stem)
    }

    /// Where its file may be: with a slash it is a path; else it is looked for as `NAME`, `libNAME.so` and `NAME.so` in each directory
    /// of `MEL_PLUGINS_PATH`, and nowhere else.
    #[must_use]
    pub fn candidates(&self, directories: &str) -> Vec<PathBuf> {
        if self.name.contains('/') {
            return vec![PathBuf::from(&self.name)];
        }
        let places = directories.split(':').filter(|place| !place.is_empty());
        let names = [self.name.clone(), format!("lib{}.so", self.name), format!("{}.so", self.name)];
        places.flat_map(|place| names.iter().map(move |name| Path::new(place).join(name))).collect()
    }

    /// Its file.
    ///
    /// # Errors
    /// A line for the user: there is none, or others could have written it.
    pub fn find(&self, directories: &str) -> Result<PathBuf, String> {
        let found = self.candidates(directories).into_iter().find(|path| path.is_file());
        let found = found.ok_or_else(|| match (self.name.contains('/'), directories.is_empty()) {
            (true, _) => format!("plugin {}: there is no such file", self.name),
            (false, true) => format!(
                "plugin {0}: give its path, such as ./lib{0}.so, or the directory that it is in as {PLUGINS_PATH}",
                self.name
            ),
            (false, false) => format!(
                "plugin {0}: there is no {0}, lib{0}.so or {0}.so in {directories}; give its path, or its directory in \
                 {PLUGINS_PATH}",
                self.name,
            ),
        })?;
        match objection_to_code(&found) {
            None => Ok(found),
            Some(objection) => Err(format!("plugin {}: {objection}", self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_names_and_arguments() {
        let list = PluginName::list("advise:./libfree.so,pool=4,verbose::");
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].title(), list[0].arguments.len()), ("advise", 0));
        assert_eq!(
            (list[1].title(), &list[1].arguments[..]),
            ("free", &["pool=4".to_owned(), "verbose".into()][..])
        );
        assert_eq!(list[1].written("/x/libfree.so"), "/x/libfree.so,pool=4,verbose");
        assert_eq!(PluginName::parse(",a"), None);
        assert_eq!(PluginName::parse("lib.so").unwrap().title(), "lib");
    }

    #[test]
    fn a_name_is_looked_for_in_the_directories_and_a_path_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        std::fs::write(directory.path().join("libb.so"), "").unwrap();
        let of = |name: &str| PluginName { name: name.into(), ..PluginName::default() };
        assert_eq!(of("b").find(&format!("/nowhere:{place}")).unwrap(), directory.path().join("libb.so"));
        assert_eq!(of("libb.so").find(place).unwrap(), directory.path().join("libb.so"));
        assert!(of("c").find(place).unwrap_err().contains("no c, libc.so or c.so in"));
        assert!(of("./c").find(place).unwrap_err().contains("no such file"));
        assert!(of("b").find("").unwrap_err().contains("give its path, such as ./libb.so"));
        assert_eq!(of("b").candidates(""), [""; 0].map(PathBuf::from), "not the current directory");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(directory.path().join("libb.so"), mode).unwrap();
        assert!(of("b").find(place).unwrap_err().contains("others can write to "));
    }
}
