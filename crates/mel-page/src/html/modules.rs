//! ES modules as one script: from `file://` a browser imports no file.
//!
//! A module imports with `import { NAMES } from "./NAME.js";` and exports declarations of one name, each on
//! a line of its own. It becomes a function whose result are its exports; `modules.NAME` has these.

use std::fmt::Write;

/// A file of ours.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// What others import it by: the file's name without `.js`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// The modules as one script. Each has those before it that it imports.
pub fn bundle(modules: &[Module]) -> String {
    let mut script = "const modules = {};\n".to_owned();
    for module in modules {
        let mut exports = Vec::new();
        _ = writeln!(script, "modules.{} = (() => {{", module.name);
        for line in module.text.lines() {
            match Line::of(line) {
                Line::Import { names, from } => _ = writeln!(script, "const {{ {names} }} = modules.{from};"),
                Line::Export { name, declaration } => {
                    exports.push(name);
                    _ = writeln!(script, "{declaration}");
                }
                Line::Other => _ = writeln!(script, "{line}"),
            }
        }
        _ = writeln!(script, "return {{ {} }};\n}})();", exports.join(", "));
    }
    script
}

/// What a line is to a module.
enum Line<'a> {
    Import { names: &'a str, from: &'a str },
    Export { name: &'a str, declaration: &'a str },
    Other,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Line<'a> {
        let import = line.strip_prefix("import { ").and_then(|rest| rest.strip_suffix(".js\";"));
        if let Some((names, from)) = import.and_then(|rest| rest.split_once(" } from \"./")) {
            return Line::Import { names, from };
        }
        let Some(declaration) = line.strip_prefix("export ") else { return Line::Other };
        let name = declaration.split_once(' ').map_or("", |(_, rest)| rest);
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap_or("");
        Line::Export { name, declaration }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::html::MODULES;

    #[test]
    fn a_module_has_what_it_imports_and_hides_what_it_does_not_export() {
        let first = "const own = 1;\nexport const $ = own;\nexport function two() {\n}\n";
        let modules = [
            Module { name: "first", text: first },
            Module { name: "second", text: "import { $, two } from \"./first.js\";\n\ntwo($);\n" },
        ];
        let expected = "const modules = {};\nmodules.first = (() => {\nconst own = 1;\nconst $ = own;\nfunction two() {\n}\n\
                        return { $, two };\n})();\nmodules.second = (() => {\nconst { $, two } = modules.first;\n\ntwo($);\n\
                        return {  };\n})();\n";
        assert_eq!(bundle(&modules), expected);
    }

    #[test]
    fn what_is_imported_is_used_and_exported_by_a_module_before() {
        let mut exported: HashMap<&str, Vec<&str>> = HashMap::new();
        for module in &MODULES {
            let mut own = Vec::new();
            let body: Vec<&str> = module.text.lines().filter(|line| !line.starts_with("import ")).collect();
            let body = body.join("\n");
            let words: Vec<&str> =
                body.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').collect();
            for line in module.text.lines() {
                match Line::of(line) {
                    Line::Import { names, from } => {
                        for name in names.split(", ") {
                            let known = exported.get(from).is_some_and(|names| names.contains(&name));
                            assert!(known, "{}: {from} exports no {name} before", module.name);
                            assert!(words.contains(&name), "{}: {name} is not used", module.name);
                        }
                    }
                    Line::Export { name, .. } => {
                        assert!(!name.is_empty(), "{}: {line}", module.name);
                        own.push(name);
                    }
                    Line::Other => {
                        assert!(!line.starts_with("import"), "{}: {line}", module.name);
                    }
                }
            }
            exported.insert(module.name, own);
        }
    }
}
