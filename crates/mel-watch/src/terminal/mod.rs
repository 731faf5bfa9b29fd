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
use super::setting::Setter;
use app::App;

/// How long a signal, or a new frame, may wait.
const TURN: Duration = Duration::from_millis(100);

/// Shows the frames until the user, or a signal, ends it. The terminal is as it was afterwards. `address` is that of the page.
///
/// # Errors
/// Those of the terminal.
pub fn run(view: &View, directory: &Path, address: Option<&str>, setter: &Setter) -> anyhow::Result<()> {
    let ends = signals()?;
    let mut terminal = ratatui::try_init().context("cannot use the terminal; --once prints a snapshot")?;
    let result = drive(&mut terminal, view, App::new(directory, address), &ends, setter);
    let restored = ratatui::try_restore();
    result.and(restored).context("cannot use the terminal")
}

fn drive(
    terminal: &mut DefaultTerminal,
    view: &View,
    mut app: App,
    ends: &AtomicBool,
    setter: &Setter,
) -> io::Result<()> {
    let mut drawn = None;
    while !ends.load(Relaxed) {
        let (number, frame) = view.latest();
        app.show(&frame);
        let (told, lines) = setter.lines();
        app.told = lines;
        let now = Some((number, told));
        if drawn != now {
            terminal.draw(|screen| draw::draw(screen, &mut app, view))?;
            drawn = now;
        }
        if event::poll(TURN)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if app.press(key) {
                        return Ok(());
                    }
                    if let Some(text) = app.asked.take() {
                        setter.ask_or_say(&text);
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

/// Waits for a signal that ends this command. It is heard from before `begin` on.
///
/// # Errors
/// No signal can be heard; that of `begin`.
pub fn wait_for_signal(begin: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let ends = signals()?;
    begin()?;
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
