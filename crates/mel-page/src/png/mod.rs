//! A run as pictures, for papers and slides: the same plots that the page has.
//!
//! - [`figures`]: numbers per rank, and how they are distributed.
//! - [`timeline`]: calls and searches, and the lengths of the queues.
//! - [`matrix`]: whose messages a log has received from whom.
//! - [`mod@traffic`]: who sends what to whom, of a profile.
//! - [`mod@network`]: what the links of the network carried.
//! - [`canvas`]: pixels, the font, colours, and the file.
//!
//! Knows only the [`View`].

mod canvas;
mod figures;
mod matrix;
mod network;
mod timeline;
mod traffic;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::view::View;
use crate::view::network::Network;

pub use traffic::Traffic;

/// Why a picture could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The file system said no.
    #[error("cannot write {path}: {error}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the file system said.
        error: io::Error,
    },
    /// It could not be drawn.
    #[error("cannot draw {path}: {what}")]
    Draw {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// There is nothing to draw.
    #[error("the run has neither a profile of the queues nor events: there is nothing to draw")]
    Nothing,
}

/// Draws everything that there is into a directory, which is made if it is not there. Gives the files.
///
/// # Errors
/// [`PictureError`]. Pictures that were drawn before stay.
pub fn write(directory: &Path, view: &View) -> Result<Vec<PathBuf>, PictureError> {
    fs::create_dir_all(directory).map_err(|error| PictureError::Io { path: directory.to_owned(), error })?;
    let mut files = Vec::new();
    if let Some(figures) = &view.figures {
        for (name, groups) in [
            ("lifetimes.png", ["posted queue", "unexpected queue"]),
            ("search-times.png", ["posted queue searches", "unexpected queue searches"]),
        ] {
            if !figures.quantities.iter().any(|quantity| groups.contains(&quantity.group)) {
                continue;
            }
            let path = directory.join(name);
            canvas::picture(&path, (1800, 1000), |area| figures::draw(area, figures, groups))?;
            files.push(path);
        }
    }
    if let Some(events) = &view.events {
        if !events.rows.is_empty() {
            let path = directory.join("timeline.png");
            canvas::picture(&path, timeline::size(events), |area| timeline::draw(area, events))?;
            files.push(path);
        }
        if !events.lengths.is_empty() {
            let path = directory.join("queue-lengths.png");
            canvas::picture(&path, timeline::lengths_size(events), |area| {
                timeline::draw_lengths(area, events)
            })?;
            files.push(path);
        }
        if let Some(matrix) = &events.matrix {
            let path = directory.join("matrix.png");
            canvas::picture(&path, (1100, 1000), |area| matrix::draw(area, matrix))?;
            files.push(path);
        }
    }
    if files.is_empty() { Err(PictureError::Nothing) } else { Ok(files) }
}

/// Draws who sends what to whom into a file.
///
/// # Errors
/// [`PictureError`].
pub fn traffic(path: &Path, shown: &Traffic<'_>) -> Result<(), PictureError> {
    let (matrix, block) = traffic::joined(shown.matrix);
    let shown = Traffic { matrix: &matrix, ..*shown };
    canvas::picture(path, traffic::size(&matrix), |area| traffic::draw(area, &shown, block))
}

/// Draws what the links of the network carried into a file.
///
/// # Errors
/// [`PictureError`].
pub fn network(path: &Path, shown: &Network) -> Result<(), PictureError> {
    canvas::picture(path, network::size(shown), |area| network::draw(area, shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::class::Class;
    use crate::view::events::Events;
    use crate::view::timeline::{Name, Row, RowKind};
    use crate::view::{Window, view};
    use mel_log::profile::{Profile, QueueStats, RankProfile};
    use std::collections::BTreeMap;

    fn run(ranks: u32) -> View {
        let ranks = (0..ranks).map(|rank| RankProfile {
            rank,
            posted: QueueStats { messages: 3, max_s: f64::from(rank) * 1e-6, ..QueueStats::default() },
            ..RankProfile::default()
        });
        let profile = Profile { ranks: ranks.collect(), ..Profile::default() };
        view(Some(&profile), None, Window::default(), &|_| {})
    }

    #[test]
    fn one_rank_or_many_make_pictures_with_something_on_them() {
        for ranks in [1, 4, 1000] {
            let directory = tempfile::tempdir().unwrap();
            let files = write(&directory.path().join("new"), &run(ranks)).unwrap();
            assert_eq!(files.len(), 2);
            let file = fs::File::open(&files[0]).unwrap();
            let mut reader = png::Decoder::new(io::BufReader::new(file)).read_info().unwrap();
            assert_eq!((reader.info().width, reader.info().height), (1800, 1000));
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            let (fill, bars) = ([204, 121, 167], pixels.chunks(3).filter(|pixel| *pixel != [255; 3]).count());
            assert!(bars > 1000, "{ranks} ranks: {bars} pixels");
            assert!(ranks == 1 || pixels.chunks(3).any(|pixel| pixel == fill), "{ranks} ranks have bars");
        }
    }

    /// Nothing, until this time.
    fn events(to_ns: u64) -> Events {
        Events {
            from_ns: 0,
            to_ns,
            first_look_ns: 0,
            calls: 1,
            searches: 0,
            operations: 0,
            messages: 0,
            lone_messages: 0,
            names: Vec::new(),
            communicators: Vec::new(),
            sites: Vec::new(),
            rows: Vec::new(),
            arrows: None,
            pauses: Vec::new(),
            hidden_ranks: 0,
            lengths: Vec::new(),
            matrix: None,
            variables: Vec::new(),
            moments: Vec::new(),
            traffic: BTreeMap::new(),
        }
    }

    #[test]
    fn a_search_that_took_no_time_is_drawn() {
        let mut row = Row::new(0, 0, RowKind::Searches, 16);
        row.push((500, 500), 0, 0, &[]);
        let class = Class::SearchPosted;
        let names = vec![Name { name: "search".into(), class, elements: Vec::new() }];
        let directory = tempfile::tempdir().unwrap();
        let events = Events { rows: vec![row], names, ..events(1000) };
        write(directory.path(), &View { figures: None, events: Some(events), ..run(1) }).unwrap();
        let picture = fs::read(directory.path().join("timeline.png")).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(picture)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        // Below the legend.
        let below = &pixels[3 * 2000 * 60..];
        assert!(below.chunks(3).any(|pixel| pixel[0] > pixel[1].saturating_add(40)), "nothing is pink");
    }

    #[test]
    fn a_moment_far_from_the_start_is_drawn_too() {
        let far = 56_013_625_157_517_956;
        let mut row = Row::new(0, 0, RowKind::Calls, 16);
        row.push((far, far + 28), 0, 0, &[]);
        let names = vec![Name { name: "MPI_Wait".into(), class: Class::Wait, elements: Vec::new() }];
        let events = Events { first_look_ns: far, names, rows: vec![row], ..events(far + 28) };
        let directory = tempfile::tempdir().unwrap();
        let files = write(directory.path(), &View { figures: None, events: Some(events), ..run(1) }).unwrap();
        assert_eq!(files, [directory.path().join("timeline.png")]);
    }

    #[test]
    fn nothing_to_draw_is_an_error_that_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let nothing = view(None, None, Window::default(), &|_| {});
        assert!(matches!(write(directory.path(), &nothing), Err(PictureError::Nothing)));
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = write(&file, &run(1)).unwrap_err().to_string();
        assert!(error.starts_with("cannot write ") && error.contains("file"), "{error}");
    }
}
