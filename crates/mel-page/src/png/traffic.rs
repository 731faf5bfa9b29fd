//! Who sends what to whom: a square of logarithmic colours with lines between hosts, and the sums at its edges.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{Area, Drawn, FAINT, GRID, INK, text};
use super::matrix::mix;
use mel_log::number::size as in_bytes;
use mel_log::profile::TrafficKind;
use mel_log::profile::text::layout::cut;
use mel_traffic::{Cell, Hosts, Matrix, Of};

const LEFT: i32 = 150;
const TOP: i32 = 150;
/// The least side of the square.
const SIDE: u32 = 1000;
/// More rows than that are joined.
const MOST: u32 = 2000;
/// How long the bars of the sums are.
const BARS: i32 = 110;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Traffic<'a> {
    /// Between ranks, or between hosts.
    pub matrix: &'a Matrix,
    /// The hosts.
    pub hosts: &'a Hosts,
    /// Whether rows are hosts.
    pub by_host: bool,
    /// Which number.
    pub of: Of,
    /// The kinds that are in it.
    pub kinds: &'a [TrafficKind],
}

/// Pixels of a row.
fn each(matrix: &Matrix) -> u32 {
    (SIDE / matrix.size.max(1)).clamp(1, 250)
}

/// The matrix as far as a picture shows it: of very many ranks neighbours are joined. Also how many.
pub(super) fn joined(matrix: &Matrix) -> (Matrix, u32) {
    let block = matrix.size.div_ceil(MOST).max(1);
    if block == 1 {
        return (matrix.clone(), 1);
    }
    let groups: Vec<u32> = (0..matrix.size).map(|rank| rank / block).collect();
    (matrix.grouped(&groups, matrix.size.div_ceil(block)), block)
}

/// Pixels of the picture.
pub(super) fn size(matrix: &Matrix) -> (u32, u32) {
    let side = each(matrix) * matrix.size;
    (side.max(SIDE / 2) + LEFT as u32 + BARS as u32 + 190, side.max(SIDE / 2) + TOP as u32 + BARS as u32 + 70)
}

fn value_text(of: Of, value: f64) -> String {
    if of == Of::Messages { format!("{value:.0}") } else { in_bytes(value) }
}

/// Draws it.
pub(super) fn draw(area: &Area<'_>, shown: &Traffic<'_>, block: u32) -> Drawn {
    let (matrix, of) = (shown.matrix, shown.of);
    let each = each(matrix) as i32;
    let side = each * matrix.size as i32;
    let values = || matrix.cells.iter().map(|(_, _, cell)| of.value(*cell)).filter(|value| *value > 0.0);
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    let share = |value: f64| match value {
        value if value <= low => 0.0,
        value => (value / low).ln() / (high / low).ln(),
    };
    let what = match of {
        Of::Messages => "messages",
        Of::Bytes => "bytes",
        Of::Mean => "mean size",
    };
    let kinds: Vec<&str> = shown.kinds.iter().map(|kind| kind.name()).collect();
    area.draw(&Text::new(format!("{what} by sender and receiver"), (LEFT, 14), text(34, INK)))?;
    let mut note = kinds.join(", ");
    if block > 1 {
        note += &format!("; a row: {block} ranks");
    }
    area.draw(&Text::new(note, (LEFT, 56), text(24, FAINT)))?;
    area.draw(&Rectangle::new([(LEFT, TOP), (LEFT + side, TOP + side)], GRID))?;
    let gap = i32::from(each > 6);
    for (from, to, cell) in &matrix.cells {
        let (x, y) = (LEFT + *to as i32 * each, TOP + *from as i32 * each);
        let value = of.value(*cell);
        let corners = [(x, y), (x + each - gap, y + each - gap)];
        area.draw(&Rectangle::new(corners, mix(share(value)).filled()))?;
        if each >= 110 {
            let color = if share(value) > 0.5 { WHITE } else { INK };
            let centered = text(24, color).pos(Pos::new(HPos::Center, VPos::Center));
            area.draw(&Text::new(value_text(of, value), (x + each / 2, y + each / 2), centered))?;
        }
    }
    if !shown.by_host {
        for rank in shown.hosts.borders() {
            let at = (rank / block) as i32 * each;
            let color = FAINT.mix(if each > 2 { 0.8 } else { 0.35 });
            area.draw(&PathElement::new([(LEFT + at, TOP), (LEFT + at, TOP + side)], color))?;
            area.draw(&PathElement::new([(LEFT, TOP + at), (LEFT + side, TOP + at)], color))?;
        }
    }
    labels(area, shown, block, each)?;
    edges(area, shown, each, side)?;
    scale(area, of, (low, high), side)
}

/// The ranks or hosts beside the square.
fn labels(area: &Area<'_>, shown: &Traffic<'_>, block: u32, each: i32) -> Drawn {
    let matrix = shown.matrix;
    let side = each * matrix.size as i32;
    let room = if shown.by_host { 90 } else { 70 };
    let step = ((room + each - 1) / each).max(1);
    let (above, right) = (Pos::new(HPos::Center, VPos::Center), Pos::new(HPos::Right, VPos::Center));
    for i in (0..matrix.size as i32).step_by(step as usize) {
        let name = match shown.hosts.names.get(i as usize) {
            Some(host) if shown.by_host => cut(host, 10),
            _ => (i as u32 * block).to_string(),
        };
        let middle = i * each + each / 2;
        area.draw(&Text::new(name.clone(), (LEFT + middle, TOP - 18), text(22, INK).pos(above)))?;
        area.draw(&Text::new(name, (LEFT - 8, TOP + middle), text(22, INK).pos(right)))?;
    }
    area.draw(&Text::new("receiver", (LEFT + side / 2, TOP - 48), text(26, INK).pos(above)))?;
    let turned = text(26, INK).transform(FontTransform::Rotate270).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new("sender", (14, TOP + side / 2), turned))?;
    Ok(())
}

/// The sums of rows and columns as bars, each to its own scale.
fn edges(area: &Area<'_>, shown: &Traffic<'_>, each: i32, side: i32) -> Drawn {
    let of = if shown.of == Of::Messages { Of::Messages } else { Of::Bytes };
    let length = |sums: &[Cell], sum: Cell| {
        let most = sums.iter().map(|sum| of.value(*sum)).fold(0.0, f64::max);
        (of.value(sum) / most.max(1.0) * f64::from(BARS - 16)) as i32
    };
    let (sent, received) = (shown.matrix.sent(), shown.matrix.received());
    let gap = i32::from(each > 6);
    for (i, sum) in sent.iter().enumerate() {
        let (x, y) = (LEFT + side + 8, TOP + i as i32 * each);
        let corners = [(x, y), (x + length(&sent, *sum), y + each - gap)];
        area.draw(&Rectangle::new(corners, mix(0.6).filled()))?;
    }
    for (i, sum) in received.iter().enumerate() {
        let (x, y) = (LEFT + i as i32 * each, TOP + side + 8);
        let corners = [(x, y), (x + each - gap, y + length(&received, *sum))];
        area.draw(&Rectangle::new(corners, mix(0.6).filled()))?;
    }
    let most = |sums: &[Cell]| value_text(of, sums.iter().map(|sum| of.value(*sum)).fold(0.0, f64::max));
    let below = format!("received, at most {}", most(&received));
    area.draw(&Text::new(below, (LEFT, TOP + side + BARS), text(24, FAINT)))?;
    let beside = format!("sent, at most {}", most(&sent));
    let corner = (LEFT + side + 8, TOP + side + 8);
    area.draw(&Text::new(beside, corner, text(24, FAINT)))?;
    Ok(())
}

/// The colours and what they stand for.
fn scale(area: &Area<'_>, of: Of, (low, high): (f64, f64), side: i32) -> Drawn {
    let (x, height) = (LEFT + side + BARS + 10, 300.min(side.max(80)));
    for y in 0..height {
        let shade = mix(1.0 - f64::from(y) / f64::from(height)).filled();
        area.draw(&Rectangle::new([(x, TOP + y), (x + 20, TOP + y + 1)], shade))?;
    }
    area.draw(&Text::new(value_text(of, high), (x + 28, TOP), text(24, INK)))?;
    if high > low {
        area.draw(&Text::new(value_text(of, low), (x + 28, TOP + height - 24), text(24, INK)))?;
        area.draw(&Text::new("log scale", (x, TOP + height + 10), text(24, INK)))?;
    }
    Ok(())
}
