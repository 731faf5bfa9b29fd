//! The network: hosts in the middle, the switches of each plane above or below them, and each half of a link in the colour of its end.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{Area, Drawn, FAINT, INK, text};
use super::matrix::mix;
use crate::view::network::{End, Network, Node};
use mel_log::number::size as in_bytes;
use mel_log::profile::text::layout::cut;

const WIDTH: u32 = 2000;
const LEFT: i32 = 130;
const RIGHT: i32 = 230;
const TOP: i32 = 120;
/// A half of a link that carries nothing, while the other one does.
const IDLE: RGBColor = RGBColor(196, 202, 208);
/// Pixels of a level.
const ROW: i32 = 300;

fn levels(network: &Network) -> i32 {
    network.nodes.iter().map(|node| node.level as i32).max().unwrap_or(0).max(1)
}

/// Pixels of the picture.
pub(super) fn size(network: &Network) -> (u32, u32) {
    let rows = levels(network) * if network.planes.len() > 1 { 2 } else { 1 };
    let runs = if network.second.is_some() { 2 } else { 1 };
    (WIDTH, (runs * (TOP + rows * ROW + 70)) as u32)
}

/// Draws it; of two runs the second below the first, with the same scale.
pub(super) fn draw(area: &Area<'_>, network: &Network) -> Drawn {
    let bytes = |end: &End| end.sent.bytes;
    let Some(second) = &network.second else { return run(area, network, 0, "", &bytes) };
    run(area, network, 0, &format!("A: {}", second.names[0]), &bytes)?;
    let height = size(network).1 as i32 / 2;
    let of_second = |end: &End| end.beside.as_ref().map_or(0, |beside| beside.bytes);
    run(area, network, height, &format!("B: {}", second.names[1]), &of_second)
}

fn run(area: &Area<'_>, network: &Network, shift: i32, name: &str, bytes: &dyn Fn(&End) -> u64) -> Drawn {
    let levels = levels(network);
    let top = TOP + shift;
    let middle = top + levels * ROW;
    let below = |node: &Node| node.plane % 2 == 1;
    let place = |node: &Node| {
        let x = f64::from(LEFT) + node.x * f64::from(WIDTH as i32 - LEFT - RIGHT);
        let up = node.level as i32 * ROW;
        (x as i32, if below(node) { middle + up } else { middle - up })
    };
    let of_both = |end: &End| end.sent.bytes.max(end.beside.as_ref().map_or(0, |beside| beside.bytes));
    let most = network.ends.iter().map(of_both).max().unwrap_or(0).max(1);
    let share = |bytes: u64| bytes as f64 / most as f64;
    let title = "what each node sends into its links";
    let title = if name.is_empty() { title.to_owned() } else { format!("{}, {title}", cut(name, 60)) };
    area.draw(&Text::new(title, (LEFT, shift + 14), text(34, INK)))?;
    let note = "modelled from observed bytes between ranks and routes; grey: halves without traffic; links without any are not shown";
    area.draw(&Text::new(note, (LEFT, shift + 56), text(24, FAINT)))?;
    // The most loaded lie on top.
    let mut ends: Vec<&End> = network.ends.iter().filter(|end| bytes(end) > 0).collect();
    ends.sort_by_key(|end| bytes(end));
    let line = |end: &End| {
        let [from, to] = [end.from, end.to].map(|node| place(&network.nodes[node as usize]));
        (from, to, end.lane as i32 * 6)
    };
    for end in &ends {
        let (from, to, lane) = line(end);
        let whole = [(from.0 + lane, from.1), (to.0 + lane, to.1)];
        area.draw(&PathElement::new(whole, IDLE.stroke_width(1)))?;
    }
    for end in ends {
        let (from, to, lane) = line(end);
        let half = [(from.0 + lane, from.1), ((from.0 + to.0) / 2 + lane, (from.1 + to.1) / 2)];
        let part = share(bytes(end));
        area.draw(&PathElement::new(half, mix(part).stroke_width(1 + (4.0 * part) as u32)))?;
    }
    for node in &network.nodes {
        let beside = network
            .nodes
            .iter()
            .filter(|other| (other.level, other.plane) == (node.level, node.plane))
            .count() as i32;
        let (room, at) = ((WIDTH as i32 - LEFT - RIGHT) / beside.max(1), place(node));
        area.draw(&Circle::new(at, (room / 3).clamp(2, 8), INK.filled()))?;
        let name = cut(&node.name, 12);
        if room > 11 * name.chars().count() as i32 {
            let is_top = node.level > 0 && !below(node);
            let centered = text(20, INK).pos(Pos::new(HPos::Center, VPos::Center));
            area.draw(&Text::new(name, (at.0, if is_top { at.1 - 24 } else { at.1 + 24 }), centered))?;
        }
    }
    for level in 0..=levels {
        let name = if level == 0 { "hosts".to_owned() } else { format!("level {level}") };
        for y in if network.planes.len() > 1 {
            vec![middle - level * ROW, middle + level * ROW]
        } else {
            vec![middle - level * ROW]
        } {
            area.draw(&Text::new(name.clone(), (12, y - 10), text(22, FAINT)))?;
        }
    }
    let x = WIDTH as i32 - RIGHT + 60;
    for y in 0..200 {
        let shade = mix(1.0 - f64::from(y) / 200.0).filled();
        area.draw(&Rectangle::new([(x, top + y), (x + 20, top + y + 1)], shade))?;
    }
    area.draw(&Text::new(in_bytes(most as f64), (x + 28, top), text(22, INK)))?;
    area.draw(&Text::new("0", (x + 28, top + 180), text(22, INK)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, io};

    use super::*;
    use crate::view::network::Sent;

    #[test]
    fn a_half_without_traffic_is_grey_and_ends_at_its_node() {
        let node = |name: &str, level, x| Node { name: name.into(), level, plane: 0, x };
        let sent = Sent { bytes: 1000, ..Sent::default() };
        let end = End { from: 0, to: 1, sent, ..End::default() };
        let nodes = vec![node("node1", 0, 0.5), node("leaf", 1, 0.5)];
        let network = Network { nodes, ends: vec![end], ..Network::default() };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("network.png");
        super::super::network(&path, &network).unwrap();
        let mut reader =
            png::Decoder::new(io::BufReader::new(fs::File::open(path).unwrap())).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let x = f64::from(LEFT) + 0.5 * f64::from(WIDTH as i32 - LEFT - RIGHT);
        let at = |y: i32| {
            let first = 3 * (y as usize * WIDTH as usize + x as usize);
            [pixels[first], pixels[first + 1], pixels[first + 2]]
        };
        let (loaded, idle) = (at(TOP + 3 * ROW / 4), at(TOP + ROW / 4));
        assert_eq!(idle, [IDLE.0, IDLE.1, IDLE.2]);
        assert!(loaded != idle && loaded != [255; 3], "{loaded:?}");
    }
}
