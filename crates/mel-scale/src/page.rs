//! A study as a page that needs nothing else: figures of the efficiencies and of what grows, and of earlier studies.

use std::fmt::Write as _;

use mel_log::number::{date, duration};

use super::history::Entry;
use super::text::{MOST_THREATS, ahead, threat};
use super::{Part, Study, growth};

/// The most parts in the figure.
const MOST: usize = 6;
/// Width and height of a figure, and the space for its axes, in pixels.
const SIZE: (f64, f64) = (720.0, 320.0);
const SPACE: (f64, f64) = (64.0, 36.0);

/// A curve: its name, points, and whether it is drawn broken, as what is expected is.
struct Curve {
    name: String,
    color: usize,
    points: Vec<(f64, f64)>,
    is_expected: bool,
}

/// The page.
#[must_use]
pub fn page(study: &Study, history: &[Entry]) -> String {
    let mut body = String::new();
    let _ = write!(
        body,
        "<h1>How {} scales</h1><p>{} to {} ranks, {}</p>",
        escaped(&study.program),
        study.sizes[0].ranks,
        study.largest(),
        escaped(&study.mpis.join(", "))
    );
    for (part, model) in study.threats().take(MOST_THREATS) {
        let _ = write!(body, "<p class=finding>{}.</p>", escaped(&threat(study, part, model)));
    }
    body += &efficiencies(study);
    body += &times(study);
    if history.len() > 1 {
        body += &of_history(history);
    }
    format!(
        "{}<title>How {} scales</title></head><body>{body}</body></html>\n",
        HEAD,
        escaped(&study.program)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number of a size by its name.
type OfSize = (&'static str, fn(&super::Size) -> Option<f64>);

/// Table and figure of the efficiencies.
fn efficiencies(study: &Study) -> String {
    let shown: [OfSize; 7] = [
        ("global efficiency", |of| Some(of.global_efficiency)),
        ("parallel efficiency", |of| Some(of.parallel_efficiency)),
        ("load balance", |of| Some(of.load_balance)),
        ("communication efficiency", |of| Some(of.communication_efficiency)),
        ("serialisation", |of| of.serialisation),
        ("transfer", |of| of.transfer),
        ("computation scalability", |of| Some(of.computation_scalability)),
    ];
    let known = shown.iter().filter(|(_, of)| study.sizes.iter().any(|size| of(size).is_some()));
    let mut rows = String::new();
    let cell = |value: Option<f64>| {
        value.map_or_else(|| "<td>-</td>".into(), |value| format!("<td>{:.1} %</td>", value * 100.0))
    };
    let cells = |of: &dyn Fn(&super::Size) -> String| study.sizes.iter().map(of).collect::<String>();
    let _ = write!(
        rows,
        "<tr><th scope=row>time</th>{}</tr>",
        cells(&|of| format!("<td>{}</td>", duration(of.run_s)))
    );
    let _ = write!(
        rows,
        "<tr><th scope=row>speedup</th>{}</tr>",
        cells(&|of| format!("<td>{:.2}</td>", of.speedup))
    );
    let mut curves = Vec::new();
    for (color, (name, of)) in known.enumerate() {
        let _ = write!(rows, "<tr><th scope=row>{name}</th>{}</tr>", cells(&|size| cell(of(size))));
        let points = study.sizes.iter().filter_map(|size| Some((f64::from(size.ranks), of(size)?)));
        curves.push(Curve { name: (*name).to_owned(), color, points: points.collect(), is_expected: false });
    }
    let heads: String = study.sizes.iter().map(|of| format!("<th scope=col>{}</th>", of.ranks)).collect();
    format!(
        "<h2>Efficiencies</h2>{}<table><thead><tr><th scope=col>ranks</th>{heads}</tr></thead><tbody>{rows}</tbody></table>",
        figure("Efficiencies by the number of ranks", &curves, percent, false)
    )
}

/// Table and figure of what the time of a rank goes for, with what models expect up to 16 times as many ranks.
fn times(study: &Study) -> String {
    let ahead = f64::from(ahead(study));
    let mut curves = Vec::new();
    let shown: Vec<&Part> = study.parts.iter().filter(|part| !part.is_phase).take(MOST).collect();
    for (color, part) in shown.iter().enumerate() {
        let points: Vec<(f64, f64)> =
            part.seconds.iter().map(|(ranks, time)| (f64::from(*ranks), *time)).collect();
        curves.push(Curve { name: part.name.clone(), color, points, is_expected: false });
        if let Some(model) = &part.model {
            let (first, mut points) = (f64::from(study.sizes[0].ranks), Vec::new());
            for step in 0..=48 {
                let ranks = first * (ahead / first).powf(f64::from(step) / 48.0);
                points.push((ranks, model.at(ranks)));
            }
            curves.push(Curve { name: String::new(), color, points, is_expected: true });
        }
    }
    let row = |part: &Part| {
        let model = part.model.as_ref();
        format!(
            "<tr><th scope=row>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&part.name),
            part.seconds.last().map_or_else(String::new, |of| duration(of.1)),
            model.map_or_else(String::new, |of| duration(of.at(ahead))),
            model.map_or_else(|| "not known".into(), |of| escaped(&growth(of.term))),
            model.map_or_else(String::new, |of| format!("{:.0} %", of.error * 100.0)),
        )
    };
    let rows: String = study.parts.iter().map(row).collect();
    format!(
        "<h2>What the time of a rank goes for</h2><p>Points are measured; broken lines and what is said of more ranks are estimated by models.</p>{}<table><thead><tr><th scope=col>part</th><th scope=col>at {}</th><th scope=col>at {ahead}</th><th scope=col>how it grows</th><th scope=col>error</th></tr></thead><tbody>{rows}</tbody></table>",
        figure("Time of a rank by the number of ranks", &curves, duration, true),
        study.largest()
    )
}

/// The parallel efficiency of each size, study after study.
fn of_history(history: &[Entry]) -> String {
    let mut ranks: Vec<u32> = history.iter().flat_map(|entry| entry.sizes.iter().map(|of| of.0)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let curve = |(color, ranks): (usize, &u32)| {
        let points = history.iter().enumerate().filter_map(|(at, entry)| {
            Some((at as f64 + 1.0, entry.sizes.iter().find(|of| of.0 == *ranks)?.2))
        });
        Curve { name: format!("{ranks} ranks"), color, points: points.collect(), is_expected: false }
    };
    let curves: Vec<Curve> = ranks.iter().enumerate().map(curve).collect();
    let row = |(at, entry): (usize, &Entry)| {
        let threats: Vec<String> =
            entry.threats.iter().map(|(name, term)| format!("{name}: {term}")).collect();
        let largest = entry.sizes.last();
        format!(
            "<tr><td>{}</td><th scope=row>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            at + 1,
            escaped(&entry.label),
            date(entry.started_unix_s),
            largest.map_or_else(String::new, |of| format!("{} of {} ranks", duration(of.1), of.0)),
            largest.map_or_else(String::new, |of| format!("{:.1} %", of.2 * 100.0)),
            escaped(&threats.join("; "))
        )
    };
    let rows: String = history.iter().enumerate().map(row).collect();
    format!(
        "<h2>Studies so far</h2>{}<table><thead><tr><th scope=col>study</th><th scope=col>label</th><th scope=col>date</th><th scope=col>time</th><th scope=col>parallel efficiency</th><th scope=col>comes to take most</th></tr></thead><tbody>{rows}</tbody></table>",
        figure("Parallel efficiency by study", &curves, percent, false)
    )
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Curves over an axis that doubles from mark to mark, or over few steps.
fn figure(title: &str, curves: &[Curve], y_text: fn(f64) -> String, by_tens: bool) -> String {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let (least, most) =
        all().fold((f64::MAX, f64::MIN), |(least, most), of| (least.min(of.0), most.max(of.0)));
    let highest = all().map(|of| of.1).fold(0.0, f64::max);
    if least >= most || highest <= 0.0 {
        return String::new();
    }
    let (width, height) = (SIZE.0 - SPACE.0 - 12.0, SIZE.1 - SPACE.1 - 12.0);
    let x = |of: f64| SPACE.0 + width * (of / least).log2() / (most / least).log2();
    // Of times the powers of ten are as far from each other, as far as five of them.
    let top = if by_tens { 10f64.powf(highest.log10().ceil()) } else { highest };
    let y = |of: f64| {
        let share = if by_tens { 1.0 + (of.max(top * 1e-5) / top).log10() / 5.0 } else { of / top };
        12.0 + height * (1.0 - share)
    };
    let marks: Vec<f64> = match by_tens {
        true => (0..=5).map(|power| top * 10f64.powi(-power)).collect(),
        false => (0..=4).map(|quarter| top * f64::from(quarter) / 4.0).collect(),
    };
    let mut svg = String::new();
    for value in marks {
        let _ = write!(
            svg,
            "<line class=grid x1={} x2={} y1={:.1} y2={:.1} /><text x={} y={:.1} text-anchor=end>{}</text>",
            SPACE.0,
            SPACE.0 + width,
            y(value),
            y(value),
            SPACE.0 - 6.0,
            y(value) + 4.0,
            y_text(value)
        );
    }
    let mut mark = least;
    while mark <= most * 1.0001 {
        let _ = write!(
            svg,
            "<text x={:.1} y={} text-anchor=middle>{}</text>",
            x(mark),
            SIZE.1 - 14.0,
            mark.round()
        );
        mark *= 2.0;
    }
    let mut names = String::new();
    for curve in curves {
        let points: Vec<String> =
            curve.points.iter().map(|of| format!("{:.1},{:.1}", x(of.0), y(of.1))).collect();
        let kind = if curve.is_expected { "expected" } else { "measured" };
        let color = curve.color % 7;
        let _ = write!(svg, "<polyline class=\"{kind} c{color}\" points=\"{}\" />", points.join(" "));
        if !curve.is_expected {
            for of in &curve.points {
                let _ = write!(
                    svg,
                    "<circle class=c{color} cx={:.1} cy={:.1} r=3><title>{}: {} at {}</title></circle>",
                    x(of.0),
                    y(of.1),
                    escaped(&curve.name),
                    y_text(of.1),
                    of.0
                );
            }
            let _ = write!(names, "<li class=c{color}>{}</li>", escaped(&curve.name));
        }
    }
    format!(
        "<figure><svg viewBox=\"0 0 {} {}\" role=img aria-label=\"{}\">{svg}</svg><ul class=names>{names}</ul></figure>",
        SIZE.0,
        SIZE.1,
        escaped(title)
    )
}

const HEAD: &str = "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><style>
:root{color-scheme:light dark;--fore:#1a1a1a;--back:#fff;--soft:#d8d8d8;--c0:#0b62a4;--c1:#b3470e;--c2:#2b7d32;--c3:#7a3b9d;--c4:#8a6d00;--c5:#a8124a;--c6:#00707a}
@media(prefers-color-scheme:dark){:root{--fore:#e8e8e8;--back:#161616;--soft:#444;--c0:#6db3f2;--c1:#f2a36d;--c2:#7fd087;--c3:#cf9cf0;--c4:#e0c35a;--c5:#f585b0;--c6:#63d0da}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--fore);background:var(--back);max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid var(--soft)}th[scope=row]{text-align:left;font-weight:400;overflow-wrap:anywhere}
figure{margin:1rem 0}svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--fore)}.grid{stroke:var(--soft)}polyline{fill:none;stroke-width:2}polyline.expected{stroke-dasharray:3 5}
.names{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:square;padding-left:1.2rem;margin:0}.finding{border-left:4px solid var(--c1);padding-left:.8rem}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}.c6{stroke:var(--c6)}
li.c0::marker{color:var(--c0)}li.c1::marker{color:var(--c1)}li.c2::marker{color:var(--c2)}li.c3::marker{color:var(--c3)}li.c4::marker{color:var(--c4)}li.c5::marker{color:var(--c5)}li.c6::marker{color:var(--c6)}
circle{fill:var(--back);stroke-width:2}@media print{thead{display:table-header-group}figure{break-inside:avoid}}
</style>";

#[cfg(test)]
mod tests {
    use super::super::tests::profile;
    use super::*;

    #[test]
    fn the_page_has_figures_and_nothing_of_a_name_is_code() {
        let runs: Vec<_> = [2, 4, 8, 16]
            .map(|ranks| {
                let (name, mut profile) = profile(ranks, 1.0, 0.01 * f64::from(ranks));
                profile.sites[0].file = "<script>.c".into();
                (name, profile)
            })
            .into();
        let study = Study::of(&runs, None).unwrap();
        let entries = [Entry::of(&study, "first"), Entry::of(&study, "<b>")];
        let page = page(&study, &entries);
        assert!(
            !page.contains("<script>") && page.contains("&lt;script&gt;.c") && page.contains("&lt;b&gt;")
        );
        assert_eq!(page.matches("<svg").count(), 3);
        assert!(page.contains("class=\"expected c1\"") && page.contains("grows like p"), "{page}");
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }
}
