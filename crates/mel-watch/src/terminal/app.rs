//! What is chosen on the screen, and what keys do.

use std::path::Path;
use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::frame::{Frame, Row};
use super::super::quantities::{self, Shown};

/// How ranks are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By their numbers.
    #[default]
    Ranks,
    /// By this quantity, the greatest first.
    Down(usize),
    /// By this quantity, the least first.
    Up(usize),
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The run's directory, as text.
    pub directory: String,
    /// The address of the page, where there is one.
    pub address: Option<String>,
    /// What is shown.
    pub frame: Arc<Frame>,
    /// The chosen rank: its line is marked, its call sites and its curve are shown.
    pub rank: u32,
    /// The chosen quantity, or behind these variable.
    pub column: usize,
    /// How ranks are sorted.
    pub order: Order,
    /// Whether the same frame stays.
    pub is_paused: bool,
    /// Whether the screen explains itself.
    pub helps: bool,
    /// What the user types to be set, while there is a prompt for it.
    pub prompt: Option<String>,
    /// What the user has typed to be set.
    pub asked: Option<String>,
    /// What came of earlier ones.
    pub told: Vec<String>,
    /// How many ranks fit on the screen, as it was drawn last.
    pub lines: usize,
    /// The first line of ranks that is shown.
    pub first: usize,
}

impl App {
    /// Nothing is there yet.
    pub fn new(directory: &Path, address: Option<&str>) -> App {
        App {
            directory: directory.display().to_string(),
            address: address.map(str::to_owned),
            frame: Arc::default(),
            rank: 0,
            column: 0,
            order: Order::default(),
            is_paused: false,
            helps: false,
            prompt: None,
            asked: None,
            told: Vec::new(),
            lines: 1,
            first: 0,
        }
    }

    /// There is this frame now.
    pub fn show(&mut self, frame: &Arc<Frame>) {
        if !self.is_paused {
            self.frame = Arc::clone(frame);
            // A variable may be gone.
            self.column = self.column.min(quantities::columns(frame) - 1);
        }
    }

    /// The chosen column.
    pub fn shown(&self) -> Shown<'_> {
        quantities::column(&self.frame, self.column)
    }

    /// The ranks in their order, by their places in the frame.
    pub fn sorted(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.frame.ranks.len()).collect();
        let (column, down) = match self.order {
            Order::Ranks => return places,
            Order::Down(column) => (column, true),
            Order::Up(column) => (column, false),
        };
        let value = |place: &usize| self.frame.ranks[*place].values.get(column).copied().flatten();
        // What is not known comes last, either way.
        places.sort_by(|a, b| match (value(a), value(b)) {
            (Some(a), Some(b)) if down => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        places
    }

    /// The chosen rank, if there is anything about it.
    pub fn chosen(&self) -> Option<&Row> {
        self.frame.ranks.iter().find(|row| row.reading.rank == self.rank).or(self.frame.ranks.first())
    }

    /// Moves the chosen line by so many lines.
    fn go(&mut self, lines: isize) {
        let sorted = self.sorted();
        let rank_at = |place: usize| self.frame.ranks[sorted[place]].reading.rank;
        let Some(last) = sorted.len().checked_sub(1) else { return };
        let now = (0..sorted.len()).find(|place| rank_at(*place) == self.rank).unwrap_or(0);
        self.rank = rank_at(now.saturating_add_signed(lines).min(last));
    }

    /// A key was pressed; whether it was the one that ends.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        let page = self.lines.max(1) as isize;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if !(is_control && key.code == KeyCode::Char('c')) && self.prompt.is_some() {
            self.typed(key.code, is_control);
            return false;
        }
        match key.code {
            KeyCode::Char('c') if is_control => return true,
            KeyCode::Char(':') => self.prompt = Some(String::new()),
            KeyCode::Char('q' | 'Q') => return true,
            KeyCode::Esc if self.helps => self.helps = false,
            KeyCode::Char('?' | 'h') => self.helps = !self.helps,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') => {
                self.order = match self.order {
                    Order::Down(column) if column == self.column => Order::Up(column),
                    Order::Up(column) if column == self.column => Order::Ranks,
                    _ => Order::Down(self.column),
                }
            }
            KeyCode::Left => self.column = self.column.saturating_sub(1),
            KeyCode::Right => self.column = (self.column + 1).min(quantities::columns(&self.frame) - 1),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::PageUp => self.go(-page),
            KeyCode::PageDown => self.go(page),
            KeyCode::Home => self.go(isize::MIN / 2),
            KeyCode::End => self.go(isize::MAX / 2),
            _ => {}
        }
        false
    }
}

/// The most characters of a setting that is typed.
const MOST_TYPED: usize = 1024;

impl App {
    /// A key was pressed while there is a prompt.
    fn typed(&mut self, code: KeyCode, is_control: bool) {
        let Some(text) = &mut self.prompt else { return };
        match code {
            KeyCode::Esc => self.prompt = None,
            KeyCode::Enter => {
                let text = self.prompt.take().filter(|text| !text.trim().is_empty());
                self.asked = text;
            }
            KeyCode::Backspace => _ = text.pop(),
            KeyCode::Char(c) if !is_control && text.len() < MOST_TYPED => text.push(c),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::quantities::QUANTITIES;
    use super::super::super::sample::reading;
    use super::*;

    fn app(ranks: u32) -> App {
        let mut app = App::new(Path::new("d"), None);
        app.show(&Arc::new(Frame::of(&reading(ranks, 2.0), Some(&reading(ranks, 1.0)))));
        app
    }

    fn press(app: &mut App, code: KeyCode) -> bool {
        app.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn arrows_choose_and_stay_within() {
        let mut app = app(4);
        press(&mut app, KeyCode::Up);
        assert_eq!(app.rank, 0);
        press(&mut app, KeyCode::Down);
        press(&mut app, KeyCode::Down);
        assert_eq!((app.rank, app.chosen().unwrap().reading.rank), (2, 2));
        press(&mut app, KeyCode::End);
        press(&mut app, KeyCode::Down);
        assert_eq!(app.rank, 3);
        press(&mut app, KeyCode::Left);
        assert_eq!(app.column, 0);
        for _ in 0..50 {
            press(&mut app, KeyCode::Right);
        }
        assert_eq!(app.column, QUANTITIES.len() - 1);
    }

    #[test]
    fn sorting_goes_down_then_up_then_by_rank() {
        let mut app = app(4);
        press(&mut app, KeyCode::Char('s'));
        assert_eq!(app.sorted(), [3, 2, 1, 0]);
        press(&mut app, KeyCode::Home);
        assert_eq!(app.rank, 3);
        press(&mut app, KeyCode::Down);
        assert_eq!(app.rank, 2);
        press(&mut app, KeyCode::Char('s'));
        assert_eq!(app.sorted(), [0, 1, 2, 3]);
        press(&mut app, KeyCode::Char('s'));
        assert_eq!(app.order, Order::Ranks);
    }

    #[test]
    fn a_pause_keeps_what_is_shown() {
        let mut app = app(4);
        press(&mut app, KeyCode::Char('p'));
        app.show(&Arc::new(Frame::of(&reading(9, 3.0), None)));
        assert_eq!(app.frame.ranks.len(), 4);
        press(&mut app, KeyCode::Char('p'));
        app.show(&Arc::new(Frame::of(&reading(9, 3.0), None)));
        assert_eq!(app.frame.ranks.len(), 9);
    }

    #[test]
    fn what_is_typed_at_the_prompt_is_asked_for() {
        let mut app = app(4);
        let mut type_in = |text: &str, last: KeyCode| {
            press(&mut app, KeyCode::Char(':'));
            text.chars().for_each(|c| assert!(!press(&mut app, KeyCode::Char(c))));
            press(&mut app, last);
            (app.prompt.clone(), app.asked.take())
        };
        assert_eq!(type_in("mel_phase=q@2", KeyCode::Enter), (None, Some("mel_phase=q@2".into())));
        assert_eq!(type_in("ab", KeyCode::Backspace).0.as_deref(), Some("a"));
        // The prompt is still there.
        assert_eq!(type_in("", KeyCode::Esc), (None, None));
        assert_eq!(type_in("  ", KeyCode::Enter), (None, None));
        assert_eq!(app.order, Order::Ranks);
        assert!(press(&mut app, KeyCode::Char('q')));
    }

    #[test]
    fn some_keys_end_it_and_no_key_fails_where_there_is_nothing() {
        let mut app = App::new(Path::new("d"), None);
        for code in [KeyCode::Up, KeyCode::End, KeyCode::PageDown, KeyCode::Char('s'), KeyCode::Char('?')] {
            assert!(!press(&mut app, code));
        }
        assert!(press(&mut app, KeyCode::Char('q')));
        assert!(app.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    }
}
