//! Pixels, the font, colours, and the file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::PictureError;
use crate::view::class::Class;

/// What is drawn on.
pub(super) type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
/// Whatever goes wrong while drawing.
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The family of all texts.
pub(super) const FONT: &str = "sans-serif";
/// The colour of texts.
pub(super) const INK: RGBColor = RGBColor(27, 31, 36);
/// The colour of what is beside the matter.
pub(super) const FAINT: RGBColor = RGBColor(92, 102, 112);
/// The colour of lines behind the matter.
pub(super) const GRID: RGBColor = RGBColor(225, 229, 233);

/// Colours that everybody can tell apart: those of Okabe and Ito.
pub(super) fn color(class: Class) -> RGBColor {
    match class {
        Class::Wait => RGBColor(0, 114, 178),
        Class::Send => RGBColor(86, 180, 233),
        Class::Post => RGBColor(240, 228, 66),
        Class::Collective => RGBColor(0, 158, 115),
        Class::OneSided => RGBColor(230, 159, 0),
        Class::Epoch => RGBColor(245, 216, 148),
        Class::Other | Class::Region | Class::ProgramRegion => RGBColor(138, 147, 156),
        Class::SearchPosted => RGBColor(204, 121, 167),
        Class::SearchUnexpected => RGBColor(213, 94, 0),
    }
}

/// Makes a picture of so many pixels, white where nothing is drawn.
pub(super) fn picture(
    path: &Path,
    (width, height): (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), PictureError> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // The font is part of the program and well formed; without it, drawing fails and says so.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let mut pixels = vec![255; 3 * width as usize * height as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        let result = draw(&area).and_then(|()| Ok(area.present()?));
        result.map_err(|error| PictureError::Draw { path: path.to_owned(), what: error.to_string() })?;
    }
    write(path, width, height, &pixels).map_err(|error| PictureError::Io { path: path.to_owned(), error })
}

fn write(path: &Path, width: u32, height: u32, pixels: &[u8]) -> io::Result<()> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}

/// A text of that size.
pub(super) fn text(size: i32, color: RGBColor) -> TextStyle<'static> {
    let mut style = TextStyle::from((FONT, size).into_font());
    style.color = color.to_backend_color();
    style
}

/// The unit for durations up to so many seconds: its name, and how many of it are a second.
pub(super) fn unit(most_seconds: f64) -> (&'static str, f64) {
    let units = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
    units.into_iter().find(|(_, per_second)| most_seconds * per_second >= 1.0).unwrap_or(("ns", 1e9))
}

/// A number beside an axis: as short as it can be.
pub(super) fn tick(value: &f64) -> String {
    if value.abs() >= 1e5 {
        return format!("{value:.0e}");
    }
    mel_log::number::general((value * 1e6).round() / 1e6)
}
