//! Calls and searches of each rank over time (the paper's Figure 5), and the lengths of the queues.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{Area, Drawn, FAINT, GRID, INK, color, text, unit};
use crate::view::class::Class;
use crate::view::events::Events;
use crate::view::lengths::Lengths;
use crate::view::timeline::{Row, RowKind};

/// Where recording was off.
const PAUSED: RGBColor = RGBColor(201, 206, 214);

const WIDTH: u32 = 2000;
/// Where the plot begins and ends, and the room above and below it.
const LEFT: i32 = 130;
const RIGHT: i32 = WIDTH as i32 - 30;
const TOP: i32 = 84;
const BOTTOM: i32 = 80;
/// More ranks than that would make a picture that no page holds.
const MOST_RANKS: usize = 128;

/// The heights of calls, of searches and of the gap between ranks.
fn heights(ranks: usize) -> [i32; 3] {
    match ranks {
        0..=16 => [30, 16, 14],
        17..=40 => [18, 10, 8],
        _ => [10, 6, 4],
    }
}

fn ranks(events: &Events) -> Vec<u32> {
    let mut ranks: Vec<u32> = events.rows.iter().map(|row| row.rank).collect();
    ranks.dedup();
    ranks.truncate(MOST_RANKS);
    ranks
}

/// The rows of the ranks that are shown, with the place of each.
fn places(events: &Events) -> (Vec<(&Row, i32, i32)>, i32) {
    let ranks = ranks(events);
    let [calls, searches, gap] = heights(ranks.len());
    let (mut placed, mut y) = (Vec::new(), TOP);
    let shown: Vec<&Row> =
        events.rows.iter().filter(|row| ranks.contains(&row.rank) && row.kind != RowKind::Regions).collect();
    for (i, row) in shown.iter().enumerate() {
        let height = if row.kind == RowKind::Calls { calls } else { searches };
        placed.push((*row, y, height));
        let last = shown.get(i + 1).is_none_or(|next| next.rank != row.rank);
        y += height + if last { gap } else { 1 };
    }
    (placed, y)
}

/// Pixels of the timeline.
pub(super) fn size(events: &Events) -> (u32, u32) {
    (WIDTH, (places(events).1 + BOTTOM) as u32)
}

/// Time on the horizontal axis.
struct Axis {
    from: u64,
    span: f64,
}

impl Axis {
    fn of(events: &Events) -> Axis {
        let from = events.first_look_ns;
        Axis { from, span: events.to_ns.saturating_sub(from).max(1) as f64 }
    }

    fn x(&self, nanos: u64) -> f64 {
        let share = nanos.saturating_sub(self.from) as f64 / self.span;
        f64::from(LEFT) + share.min(1.0) * f64::from(RIGHT - LEFT)
    }

    fn draw(&self, area: &Area<'_>, bottom: i32) -> Drawn {
        let to = (self.from as f64 + self.span) * 1e-9;
        let (unit, per_second) = unit(to);
        let (low, high) = (self.from as f64 * 1e-9 * per_second, to * per_second);
        let rough = (high - low) / 8.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(power);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let centered = text(24, INK).pos(Pos::new(HPos::Center, VPos::Top));
        // At most so many: far from zero, a number may be too coarse to count up.
        for mark in 0..20 {
            let value = ((low / step).ceil() + f64::from(mark)) * step;
            if value > high {
                break;
            }
            let x = self.x((value / per_second * 1e9) as u64) as i32;
            area.draw(&PathElement::new([(x, TOP - 6), (x, bottom)], GRID))?;
            area.draw(&Text::new(format!("{value:.decimals$}"), (x, bottom + 8), centered.clone()))?;
        }
        let middle = i32::midpoint(LEFT, RIGHT);
        area.draw(&Text::new(format!("time [{unit}]"), (middle, bottom + 40), centered))?;
        Ok(())
    }
}

fn legend(area: &Area<'_>, entries: &[(RGBColor, &str)]) -> Drawn {
    let (mut x, mut y) = (LEFT, 14);
    let style = text(24, FAINT).pos(Pos::new(HPos::Left, VPos::Center));
    for (fill, name) in entries {
        let wide = 28 + area.estimate_text_size(name, &style)?.0 as i32;
        if x + wide > RIGHT {
            (x, y) = (LEFT, y + 30);
        }
        area.draw(&Rectangle::new([(x, y), (x + 20, y + 20)], fill.filled()))?;
        area.draw(&Text::new((*name).to_owned(), (x + 28, y + 10), style.clone()))?;
        x += wide + 34;
    }
    Ok(())
}

fn label(area: &Area<'_>, rank: u32, middle: i32, room: i32) -> Drawn {
    let size = (room - 2).clamp(12, 24);
    let style = text(size, INK).pos(Pos::new(HPos::Right, VPos::Center));
    area.draw(&Text::new(format!("rank {rank}"), (LEFT - 12, middle), style))?;
    Ok(())
}

/// Draws the timeline. What shares a pixel gives it the colour of the longest: calls are paler where there are less, searches lower.
pub(super) fn draw(area: &Area<'_>, events: &Events) -> Drawn {
    let (placed, bottom) = places(events);
    let axis = Axis::of(events);
    axis.draw(area, bottom)?;
    let names = [
        (Class::Wait, "waits, receives, tests"),
        (Class::Send, "sends"),
        (Class::Post, "posts receives"),
        (Class::Collective, "collectives"),
        (Class::OneSided, "one-sided"),
        (Class::Other, "other MPI"),
        (Class::SearchPosted, "searches the posted queue"),
        (Class::SearchUnexpected, "searches the unexpected queue"),
        (Class::Epoch, "epochs of windows"),
    ];
    let used = |class: &Class| events.names.iter().any(|name| name.class == *class);
    let used: Vec<(Class, &str)> = names.into_iter().filter(|(class, _)| used(class)).collect();
    let mut used: Vec<(RGBColor, &str)> =
        used.into_iter().map(|(class, name)| (color(class), name)).collect();
    used.extend((!events.pauses.is_empty()).then_some((PAUSED, "recording off")));
    legend(area, &used)?;
    let mut before = None;
    for (row, y, height) in placed {
        draw_pauses(area, &axis, events, row.rank, (y, height))?;
        if before.replace(row.rank) != Some(row.rank) {
            let [calls, searches, gap] = heights(ranks(events).len());
            label(area, row.rank, y + calls / 2 + searches / 2, calls + searches + gap)?;
        }
        draw_row(area, &axis, row, y, height, events)?;
    }
    Ok(())
}

/// Where recording of a rank was off.
fn draw_pauses(area: &Area<'_>, axis: &Axis, events: &Events, rank: u32, (y, height): (i32, i32)) -> Drawn {
    let of_rank = events.pauses.iter().filter(|row| row.rank == rank);
    for slice in of_rank.flat_map(Row::slices).filter(|slice| slice.end >= axis.from) {
        let (left, right) = (axis.x(slice.start) as i32, axis.x(slice.end) as i32);
        let corners = [(left, y), (right.max(left + 1), y + height)];
        area.draw(&Rectangle::new(corners, PAUSED.filled()))?;
    }
    Ok(())
}

fn draw_row(area: &Area<'_>, axis: &Axis, row: &Row, y: i32, height: i32, events: &Events) -> Drawn {
    #[derive(Clone, Copy, Default)]
    struct Pixel {
        busy: f64,
        longest: u64,
        name: u16,
    }
    let mut pixels = vec![Pixel::default(); (RIGHT - LEFT) as usize + 1];
    for slice in row.slices().iter().filter(|slice| slice.end >= axis.from) {
        let (left, right) = (axis.x(slice.start) - f64::from(LEFT), axis.x(slice.end) - f64::from(LEFT));
        let share = slice.busy as f64 / (slice.end - slice.start).max(1) as f64;
        // What takes no time that could be measured is there, too.
        let longest = slice.longest.max(1);
        for at in left as usize..=(right as usize).min(pixels.len() - 1) {
            let covered = (right.min(at as f64 + 1.0) - left.max(at as f64)).max(0.0);
            let pixel = &mut pixels[at];
            pixel.busy += covered * share;
            if longest >= pixel.longest && (covered > 0.0 || pixel.longest == 0) {
                (pixel.longest, pixel.name) = (longest, slice.name);
            }
        }
    }
    // Searches are short: however pale, a colour would look like much of the time.
    let low = row.kind == RowKind::Searches;
    let least = match row.kind {
        RowKind::Calls => 0.15,
        RowKind::Searches => 1.0,
        RowKind::Regions | RowKind::Epochs | RowKind::Pauses => 0.85,
    };
    let shade = |pixel: &Pixel| least + (1.0 - least) * pixel.busy.min(1.0);
    let tall = |pixel: &Pixel| {
        if low { ((pixel.busy.min(1.0) * f64::from(height)).round() as i32).max(1) } else { height }
    };
    let mut at = 0;
    while at < pixels.len() {
        let pixel = pixels[at];
        let alike = |other: &Pixel| {
            let same = other.name == pixel.name && tall(other) == tall(&pixel);
            same && (shade(other) - shade(&pixel)).abs() < 0.02
        };
        let run = pixels[at..].iter().take_while(|other| alike(other) && other.longest > 0).count();
        if pixel.longest > 0 {
            let class = events.names.get(usize::from(pixel.name)).map_or(Class::Other, |name| name.class);
            // The right and the lower edge are not part of what is filled.
            let corners =
                [(LEFT + at as i32, y + height - tall(&pixel)), (LEFT + (at + run) as i32, y + height)];
            area.draw(&Rectangle::new(corners, color(class).mix(shade(&pixel)).filled()))?;
        }
        at += run.max(1);
    }
    Ok(())
}

fn strip(events: &Events) -> (usize, i32) {
    let shown = events.lengths.len().min(MOST_RANKS);
    (
        shown,
        if shown <= 16 {
            90
        } else if shown <= 40 {
            50
        } else {
            26
        },
    )
}

/// Pixels of the lengths.
pub(super) fn lengths_size(events: &Events) -> (u32, u32) {
    let (shown, height) = strip(events);
    (WIDTH, (TOP + BOTTOM + shown as i32 * height) as u32)
}

/// Draws the lengths of the queues: posted receives upwards, unexpected messages downwards, all to one scale.
pub(super) fn draw_lengths(area: &Area<'_>, events: &Events) -> Drawn {
    let (shown, height) = strip(events);
    let bottom = TOP + shown as i32 * height;
    let axis = Axis::of(events);
    axis.draw(area, bottom)?;
    let longest = |lengths: &Lengths| lengths.steps().iter().map(|step| step.most).max().unwrap_or(0);
    let most =
        events.lengths.iter().map(|of| longest(&of.posted).max(longest(&of.unexpected))).max().unwrap_or(0);
    let up = format!("posted receives (upwards, at most {most})");
    legend(
        area,
        &[
            (color(Class::SearchPosted), up.as_str()),
            (color(Class::SearchUnexpected), "unexpected messages (downwards, same scale)"),
            (PAUSED, "recording off: not known"),
        ][..if events.pauses.is_empty() { 2 } else { 3 }],
    )?;
    let half = f64::from(height / 2 - 3);
    for (i, of) in events.lengths.iter().take(shown).enumerate() {
        let middle = TOP + i as i32 * height + height / 2;
        label(area, of.rank, middle, height)?;
        area.draw(&PathElement::new([(LEFT, middle), (RIGHT, middle)], GRID))?;
        for (lengths, class, sign) in
            [(&of.posted, Class::SearchPosted, -1.0), (&of.unexpected, Class::SearchUnexpected, 1.0)]
        {
            let bar = |from: u64, to: u64, length: u32| -> Drawn {
                if length == 0 {
                    return Ok(());
                }
                let (left, right) = (axis.x(from) as i32, axis.x(to) as i32);
                let tall = (half * f64::from(length) / f64::from(most.max(1))).max(1.0);
                let tip = middle + (sign * tall) as i32;
                let corners = [(left, middle.min(tip)), (right.max(left + 1), middle.max(tip))];
                area.draw(&Rectangle::new(corners, color(class).filled()))?;
                Ok(())
            };
            for (i, step) in lengths.steps().iter().enumerate() {
                bar(step.start, step.end, step.most)?;
                let next = lengths.steps().get(i + 1).map_or(events.to_ns, |next| next.start);
                bar(step.end, next, step.last)?;
            }
        }
        draw_pauses(area, &axis, events, of.rank, (middle - height / 2 + 3, height - 6))?;
    }
    Ok(())
}
