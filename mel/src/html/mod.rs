//! A run as one page for a browser, which needs no network.
//!
//! The page is a [`View`] as JSON, a style sheet and scripts of its own. Knows no log and no profile.

use std::io::{self, Write};

use crate::view::View;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 26] = [
    include_str!("units.js"),
    include_str!("places.js"),
    include_str!("verdict.js"),
    include_str!("balance.js"),
    include_str!("sorted_table.js"),
    include_str!("sites.js"),
    include_str!("waits.js"),
    include_str!("figures.js"),
    include_str!("over.js"),
    include_str!("stretch.js"),
    include_str!("lanes.js"),
    include_str!("slice_tip.js"),
    include_str!("pauses.js"),
    include_str!("shares.js"),
    include_str!("arrows.js"),
    include_str!("selection.js"),
    include_str!("timeline.js"),
    include_str!("lengths.js"),
    include_str!("square.js"),
    include_str!("matrix.js"),
    include_str!("network.js"),
    include_str!("traffic_sums.js"),
    include_str!("traffic.js"),
    include_str!("variables.js"),
    include_str!("attribution.js"),
    include_str!("page.js"),
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
        ("{{scripts}}", &SCRIPTS.concat()),
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
