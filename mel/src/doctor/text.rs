//! The findings in 100 columns.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};

use super::{Finding, Level, Report};

/// All findings and, as the last line, whether MEL works here.
pub fn text(report: &Report) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(100);
    for finding in &report.findings {
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Less => "less",
            Level::Broken => "BROKEN",
        };
        table.add_row([level, finding.what, &cell(finding)]);
    }
    for column in table.column_iter_mut().take(2) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let mut text = format!("MEL {}\n\n", report.version);
    text.extend(table.lines().map(|line| line.trim_end().to_owned() + "\n"));
    text + "\n" + &verdict(report) + "\n"
}

/// What was found, and below it what that means and what to do.
fn cell(finding: &Finding) -> String {
    let mut lines = finding.found.clone();
    for (head, line) in [("so", &finding.means), ("do", &finding.remedy)] {
        if !line.is_empty() {
            lines += &format!("\n{head}: {line}");
        }
    }
    lines
}

fn verdict(report: &Report) -> String {
    let less = report.findings.iter().filter(|finding| finding.level == Level::Less).count();
    match (report.usable, less) {
        (false, _) => "MEL cannot work here: see what is BROKEN.".into(),
        (true, 0) => "MEL works here.".into(),
        (true, 1) => "MEL works here; one thing could be better: see `less`.".into(),
        (true, less) => format!("MEL works here; {less} things could be better: see `less`."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(findings: Vec<Finding>) -> Report {
        let usable = findings.iter().all(|finding| finding.level != Level::Broken);
        Report { version: "1.2.3", usable, findings, mpis: Vec::new() }
    }

    #[test]
    fn each_finding_has_its_meaning_and_remedy_in_100_columns() {
        let long = "words that go on and on ".repeat(9);
        let text = text(&report(vec![
            Finding::ok("clock", "a good one"),
            Finding::less("launcher", long, "it is slow", "buy another"),
        ]));
        assert!(text.starts_with("MEL 1.2.3\n") && text.contains("do: buy another"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.ends_with("one thing could be better: see `less`.\n"), "{text}");
    }

    #[test]
    fn the_last_line_says_whether_mel_works() {
        assert!(text(&report(Vec::new())).ends_with("\nMEL works here.\n"));
        let broken = Finding::broken("MPI", "none", "nothing", "get one");
        assert!(text(&report(vec![broken])).ends_with("MEL cannot work here: see what is BROKEN.\n"));
    }
}
