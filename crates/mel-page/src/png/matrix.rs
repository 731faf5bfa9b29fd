//! Who sends to whom: a square of colours.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{Area, Drawn, GRID, INK, text};
use crate::view::matrix::{Cell, Matrix};

const LOW: RGBColor = RGBColor(220, 235, 247);
const HIGH: RGBColor = RGBColor(8, 61, 119);
const LEFT: i32 = 110;
const TOP: i32 = 120;
const SIDE: i32 = 840;

/// Unexpected messages where there were any, else all messages; colours by powers of ten.
pub(super) fn draw(area: &Area<'_>, matrix: &Matrix) -> Drawn {
    let unexpected = matrix.unexpected_known && matrix.cells.iter().any(|cell| cell.unexpected > 0);
    let what = if unexpected { "unexpected messages" } else { "messages" };
    let value = |cell: &Cell| if unexpected { cell.unexpected } else { cell.messages };
    let most = matrix.cells.iter().map(value).max().unwrap_or(0);
    let share = |value: u64| if most <= 1 { 1.0 } else { (value as f64).ln() / (most as f64).ln() };
    let edge = |i: u32| (f64::from(i) * f64::from(SIDE) / f64::from(matrix.size.max(1))) as i32;
    let centered = |size, color| text(size, color).pos(Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new(format!("{what} by sender and receiver"), (LEFT, 14), text(34, INK)))?;
    area.draw(&Rectangle::new([(LEFT, TOP), (LEFT + SIDE, TOP + SIDE)], GRID))?;
    let narrow = edge(1) > 6;
    for cell in matrix.cells.iter().filter(|cell| value(cell) > 0) {
        let (x, y) = (LEFT + edge(cell.receiver), TOP + edge(cell.sender));
        let (right, bottom) = (LEFT + edge(cell.receiver + 1), TOP + edge(cell.sender + 1));
        let gap = i32::from(narrow);
        let corners = [(x, y), ((right - 1 - gap).max(x), (bottom - 1 - gap).max(y))];
        area.draw(&Rectangle::new(corners, mix(share(value(cell))).filled()))?;
        if edge(1) >= 90 {
            let color = if share(value(cell)) > 0.5 { WHITE } else { INK };
            let middle = (i32::midpoint(x, right), i32::midpoint(y, bottom));
            area.draw(&Text::new(value(cell).to_string(), middle, centered(26, color)))?;
        }
    }
    let step = matrix.size.div_ceil(12).max(1);
    for i in (0..matrix.size).step_by(step as usize) {
        let (rank, middle) = (i * matrix.block, i32::midpoint(edge(i), edge(i + 1)));
        area.draw(&Text::new(rank.to_string(), (LEFT + middle, TOP - 18), centered(24, INK)))?;
        let right = text(24, INK).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(rank.to_string(), (LEFT - 10, TOP + middle), right))?;
    }
    area.draw(&Text::new("receiver", (LEFT + SIDE / 2, TOP - 48), centered(28, INK)))?;
    let turned = text(28, INK).transform(FontTransform::Rotate270).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new("sender", (18, TOP + SIDE / 2), turned))?;
    scale(area, most)
}

/// The colours and what they stand for.
fn scale(area: &Area<'_>, most: u64) -> Drawn {
    let (x, height) = (LEFT + SIDE + 24, 300);
    for y in 0..height {
        let shade = mix(1.0 - f64::from(y) / f64::from(height)).filled();
        area.draw(&Rectangle::new([(x, TOP + y), (x + 20, TOP + y + 1)], shade))?;
    }
    area.draw(&Text::new(most.to_string(), (x + 28, TOP), text(24, INK)))?;
    if most > 1 {
        area.draw(&Text::new("1", (x + 28, TOP + height - 24), text(24, INK)))?;
        area.draw(&Text::new("log scale", (x, TOP + height + 10), text(24, INK)))?;
    }
    Ok(())
}

/// A colour between the palest and the darkest.
pub(super) fn mix(share: f64) -> RGBColor {
    let part = |low: u8, high: u8| (f64::from(low) + (f64::from(high) - f64::from(low)) * share) as u8;
    RGBColor(part(LOW.0, HIGH.0), part(LOW.1, HIGH.1), part(LOW.2, HIGH.2))
}
