//! Numbers per rank and how many ranks have such a number: the paper's Figures 3 and 4 (section 5.2).

use plotters::prelude::*;

use super::canvas::{Area, Drawn, GRID, INK, color, text, tick, unit};
use crate::view::class::Class;
use crate::view::figures::Figures;

/// Bars of a histogram.
const BINS: usize = 14;

/// The longest lifetimes or searches: for both queues the value of each rank, and the histogram.
pub(super) fn draw(area: &Area<'_>, figures: &Figures, groups: [&str; 2]) -> Drawn {
    let panels = area.split_evenly((2, 2));
    for (row, group) in groups.into_iter().enumerate() {
        let class = [Class::SearchPosted, Class::SearchUnexpected][row];
        let longest =
            figures.quantities.iter().position(|q| q.group == group && q.name.starts_with("longest"));
        let Some(longest) = longest else { continue };
        let points: Vec<(u32, f64)> =
            figures.ranks.iter().filter_map(|rank| Some((rank.rank, rank.values[longest]?))).collect();
        if points.is_empty() {
            panels[2 * row].draw(&Text::new(
                format!("{group}: nothing on any rank"),
                (40, 40),
                text(34, INK),
            ))?;
            continue;
        }
        let what = if group.ends_with("searches") { "longest search" } else { "longest lifetime" };
        let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
        let (unit, per_second) = unit(most);
        let scaled: Vec<(u32, f64)> =
            points.iter().map(|(rank, value)| (*rank, value * per_second)).collect();
        let letters = [["(a)", "(b)"], ["(c)", "(d)"]][row];
        let title = |letter: &str| format!("{letter} {group}");
        // Ranks without such a value are gaps.
        let all = figures.ranks.iter().map(|rank| rank.rank);
        let ranks = (all.clone().min().unwrap_or(0), all.max().unwrap_or(0));
        per_rank(
            &panels[2 * row],
            ranks,
            &scaled,
            &title(letters[0]),
            &format!("{what} [{unit}]"),
            color(class),
        )?;
        histogram(
            &panels[2 * row + 1],
            &scaled,
            &title(letters[1]),
            &format!("{what} [{unit}]"),
            color(class),
        )?;
    }
    Ok(())
}

fn per_rank(
    area: &Area<'_>,
    (first, last): (u32, u32),
    points: &[(u32, f64)],
    title: &str,
    what: &str,
    fill: RGBColor,
) -> Drawn {
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let x = f64::from(first) - 0.5..f64::from(last) + 0.5;
    let bars = points.iter().map(|(rank, value)| {
        let rank = f64::from(*rank);
        [(rank - 0.4, 0.0), (rank + 0.4, *value)]
    });
    chart(area, title, x, most, "rank", what, bars.collect(), fill)
}

fn histogram(area: &Area<'_>, points: &[(u32, f64)], title: &str, what: &str, fill: RGBColor) -> Drawn {
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let width = most / BINS as f64;
    let mut counts = [0u32; BINS];
    for (_, value) in points {
        counts[((value / width) as usize).min(BINS - 1)] += 1;
    }
    let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, count)| {
        let bin = bin as f64;
        [((bin + 0.04) * width, 0.0), ((bin + 0.96) * width, f64::from(*count))]
    });
    let tallest = f64::from(counts.iter().copied().max().unwrap_or(0));
    chart(area, title, 0.0..most, tallest, what, "ranks", bars.collect(), fill)
}

#[expect(clippy::too_many_arguments, reason = "a chart has two axes with two texts")]
fn chart(
    area: &Area<'_>,
    title: &str,
    x: std::ops::Range<f64>,
    tallest: f64,
    x_text: &str,
    y_text: &str,
    bars: Vec<[(f64, f64); 2]>,
    fill: RGBColor,
) -> Drawn {
    let tallest = if tallest > 0.0 { tallest * 1.05 } else { 1.0 };
    // Ranks and numbers of ranks are whole: there are no more marks than such numbers.
    let whole = |most: f64, count: usize, text: &str| {
        if text.starts_with("rank") { (most.ceil() as usize + 1).clamp(2, count) } else { count }
    };
    let number = |text: &str, value: &f64| match text {
        "rank" | "ranks" if value.fract() != 0.0 => String::new(),
        _ => tick(value),
    };
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(34, INK))
        .margin(18)
        .x_label_area_size(72)
        .y_label_area_size(104)
        .build_cartesian_2d(x.clone(), 0.0..tallest)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .x_labels(whole(x.end - x.start, 9, x_text))
        .y_labels(whole(tallest, 7, y_text))
        .x_label_formatter(&|value| number(x_text, value))
        .y_label_formatter(&|value| number(y_text, value))
        .x_desc(x_text)
        .y_desc(y_text)
        .label_style(text(26, INK))
        .axis_desc_style(text(28, INK))
        .draw()?;
    chart.draw_series(bars.into_iter().map(|corners| Rectangle::new(corners, fill.filled())))?;
    Ok(())
}
