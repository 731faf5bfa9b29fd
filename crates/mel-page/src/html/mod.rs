//! A run as one page for a browser, which needs no network.
//!
//! The page is a [`View`] as JSON, a style sheet, and [modules](Module) that are
//! bundled as one script. Knows no log and no profile.

mod modules;

use std::io::{self, Write};

pub use self::modules::{Module, bundle};
use crate::view::View;

/// A file of this folder.
macro_rules! module {
    ($name:literal) => {
        Module { name: $name, text: include_str!(concat!($name, ".js")) }
    };
}

const PAGE: &str = include_str!("page.html");
/// How pages look, that of `mel watch` too.
pub const STYLE: &str = include_str!("page.css");
/// The page's modules that the page of `mel watch` uses, too: numbers as text, elements, plots of variables.
pub const SHARED: [Module; 3] = [module!("units"), module!("dom"), module!("plots")];
/// The page, each module after those that it imports.
const MODULES: [Module; 21] = [
    SHARED[0],
    SHARED[1],
    SHARED[2],
    module!("tables"),
    module!("time"),
    module!("sites"),
    module!("verdict"),
    module!("figures"),
    module!("flames"),
    module!("balance"),
    module!("lanes"),
    module!("shares"),
    module!("selection"),
    module!("timeline"),
    module!("curves"),
    module!("square"),
    module!("traffic_sums"),
    module!("traffic"),
    module!("network"),
    module!("contents"),
    module!("page"),
];

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(mut out: impl Write, view: &View) -> io::Result<()> {
    // A name in the data must not end the script that holds it.
    let data = serde_json::to_string(view)?.replace('<', "\\u003c");
    let mut rest = PAGE;
    for (mark, text) in [
        ("{{title}}", &*escaped(&view.command)),
        ("{{style}}", STYLE),
        ("{{data}}", &data),
        ("{{script}}", &bundle(&MODULES)),
    ] {
        let Some((before, after)) = rest.split_once(mark) else { continue };
        out.write_all(before.as_bytes())?;
        out.write_all(text.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())?;
    out.flush()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Window, view};
    use mel_log::profile::Profile;

    #[test]
    fn the_page_needs_no_network_and_no_name_breaks_it() {
        let command = vec!["./a</script><b>&".to_owned()];
        let profile = Profile { command, ..Profile::default() };
        let mut page = Vec::new();
        write(&mut page, &view(Some(&profile), None, Window::default(), &|_| {})).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains("./a&lt;/script&gt;&lt;b&gt;&amp;"));
        assert!(!page.contains("./a</script>") && !page.contains("{{"));
        // What an address begins with `#` stands on the page itself.
        let page = page.replace("url(#", "");
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            let found = page.matches(outside).count();
            assert_eq!(found, 0, "the page has {outside}");
        }
    }
}
