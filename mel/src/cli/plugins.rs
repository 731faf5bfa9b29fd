//! Plugins as `mel run` gets them: where their files are, and whether they can be plugins at all.

use std::env;
use std::path::{Path, PathBuf};

use mel_log::plugin_list::PluginName;
use mel_log::settings;

use super::elf;

/// The function by which a plugin begins.
const INIT: &[u8] = b"mel_plugin_init";

fn of_environment(variable: &str) -> String {
    env::var_os(variable).and_then(|value| value.into_string().ok()).unwrap_or_default()
}

/// Where plugins are looked for.
fn directories() -> String {
    of_environment(settings::PLUGINS_PATH.name)
}

/// The plugins that a run is to have: those of the command line, else those of the environment.
fn wanted(given: &[String]) -> Vec<PluginName> {
    match given.is_empty() {
        true => PluginName::list(&of_environment(settings::PLUGINS.name)),
        false => given.iter().filter_map(|text| PluginName::parse(text)).collect(),
    }
}

/// A plugin on the command line.
pub fn plugin(text: &str) -> Result<String, &'static str> {
    match PluginName::parse(text) {
        None => Err("give a name, or the path of a shared object, and what it is to get: NAME,a,b=1"),
        Some(_) if text.contains(':') => {
            Err("there must be no colon in it; give several plugins by several --plugin")
        }
        Some(_) => Ok(text.to_owned()),
    }
}

/// The plugins of the command line as `MEL_PLUGINS` has them: each by the path of its file, so that it is found wherever the program's
/// processes are. `None` where there are none.
pub fn variable(given: &[String]) -> Option<String> {
    let directories = directories();
    let written = |plugin: PluginName| {
        let found =
            plugin.find(&directories).and_then(|path| std::path::absolute(path).map_err(|e| e.to_string()));
        let path = found.ok().and_then(|path: PathBuf| path.into_os_string().into_string().ok());
        // In a path, a colon or a comma would end it.
        let path = path.filter(|path| !path.contains([':', ',']));
        let name = path.unwrap_or_else(|| plugin.name.clone());
        plugin.written(&name)
    };
    let list: Vec<String> = given.iter().filter_map(|text| PluginName::parse(text)).map(written).collect();
    (!list.is_empty()).then(|| list.join(":"))
}

/// Why the run is not to start: a line for each plugin that cannot be one.
pub fn objections(given: &[String]) -> Vec<String> {
    let directories = directories();
    wanted(given).iter().filter_map(|plugin| objection(plugin, &directories)).collect()
}

fn objection(plugin: &PluginName, directories: &str) -> Option<String> {
    let path = match plugin.find(directories) {
        Ok(path) => path,
        Err(line) => return Some(line),
    };
    why_not(&path).map(|why| format!("plugin {}: {why}", path.display()))
}

fn why_not(path: &Path) -> Option<String> {
    if elf::look(path).is_ok_and(|kind| kind == elf::Program::OtherWordSize) {
        return Some("it is a shared object of another word size".into());
    }
    match elf::exports(path, INIT) {
        Ok(true) => None,
        Ok(false) => Some("it has no function mel_plugin_init: it is no plugin of MEL".into()),
        Err(error) => Some(format!("it is no shared object: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_plugin_is_refused_before_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("libtry.so");
        let compile = |text: &str| {
            let source = directory.path().join("a.c");
            std::fs::write(&source, text).unwrap();
            let mut command = std::process::Command::new("cc");
            let status = command.args(["-shared", "-fPIC", "-o"]).arg(&file).arg(source).status();
            assert!(status.unwrap().success());
        };
        let place = directory.path().to_str().unwrap();
        let of = |name: &str| objection(&PluginName::parse(name).unwrap(), place);
        assert!(of("try").unwrap().contains("libtry.so or try.so in"));
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        assert!(of("try,1").unwrap().contains("is no shared object"));
        compile("int other(void) { return 0; }");
        assert!(of("try").unwrap().contains("no function mel_plugin_init"));
        compile("int mel_plugin_init(void) { return 0; }");
        assert_eq!(of("try"), None);
        let path = file.to_str().unwrap().to_owned();
        assert_eq!(variable(&[format!("{path},a=1")]), Some(format!("{path},a=1")));
        assert_eq!(variable(&["./nowhere,a".into()]), Some("./nowhere,a".into()));
        assert!(plugin("a:b").is_err() && plugin(",b").is_err() && plugin("a,b").is_ok());
    }
}
