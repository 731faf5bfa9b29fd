//! Frames in a terminal, with keys.
//!
//! - [`app`]: what is chosen, and what keys do.
//! - [`draw`]: the screen.

pub mod app;
pub mod draw;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::Context;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::feed::View;
use app::App;

/// How long a signal, or a new frame, may wait.
const TURN: Duration = Duration::from_millis(100);

/// Shows the frames until the user, or a signal, ends it. The terminal is as it was afterwards. `address` is that of the page.
///
/// # Errors
/// Those of the terminal.
pub fn run(view: &View, directory: &Path, address: Option<&str>) -> anyhow::Result<()> {
    let ends = signals()?;
    let mut terminal = ratatui::try_init().context("cannot use the terminal; --once prints a snapshot")?;
    let result = drive(&mut terminal, view, App::new(directory, address), &ends);
    let restored = ratatui::try_restore();
    result.and(restored).context("cannot use the terminal")
}

fn drive(terminal: &mut DefaultTerminal, view: &View, mut app: App, ends: &AtomicBool) -> io::Result<()> {
    let mut drawn = None;
    while !ends.load(Relaxed) {
        let (number, frame) = view.latest();
        app.show(&frame);
        if drawn != Some(number) {
            terminal.draw(|screen| draw::draw(screen, &mut app, view))?;
            drawn = Some(number);
        }
        if event::poll(TURN)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if app.press(key) {
                        return Ok(());
                    }
                    drawn = None;
                }
                Event::Resize(..) => drawn = None,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Waits for a signal that ends this command.
///
/// # Errors
/// No signal can be heard.
pub fn wait_for_signal() -> anyhow::Result<()> {
    let ends = signals()?;
    while !ends.load(Relaxed) {
        std::thread::sleep(TURN);
    }
    Ok(())
}

/// Set by a signal that ends this command, so that it can clean up.
fn signals() -> anyhow::Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ends)).context("cannot hear signals")?;
    }
    Ok(ends)
}
