//! The screen.

use ratatui::Frame as Screen;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Row as Cells, Sparkline, Table, Wrap};

use mel_log::number::duration;
use mel_log::printable::name;

use super::super::feed::View;
use super::super::frame::{Over, Row, word};
use super::super::quantities::{self, QUANTITIES, Shown};
use super::super::reading::Stage;
use super::super::text::{efficiencies, headline, in_call};
use super::app::{App, Order};

/// Columns of rank, host and state.
const RANK: u16 = 7;
const HOST: u16 = 12;
const STATE: u16 = 8;
/// Columns of a quantity.
const WIDTH: u16 = 9;
/// Lines of the call sites, and of the curve, with their borders.
const SITES: u16 = 7;
const CURVE: u16 = 5;
/// With fewer lines there are no call sites, or no curve.
const FEW: u16 = 16;
const VERY_FEW: u16 = 10;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Draws what is chosen.
pub fn draw(screen: &mut Screen<'_>, app: &mut App, view: &View) {
    let area = screen.area();
    let mut notes: Vec<Line<'_>> = vec![Line::styled(title(app), BOLD)];
    notes.extend(efficiencies(&app.frame).into_iter().map(Line::raw));
    if let Some(finding) = &app.frame.finding {
        notes.push(Line::raw(format!("Costs most so far (estimated): {}", name(finding))));
    }
    notes.extend(app.frame.remarks.iter().map(|remark| Line::styled(format!("- {}", name(remark)), DIM)));
    if let Some(address) = &app.address {
        notes.push(Line::raw(format!("page: {address}")));
    }
    notes.extend(app.told.iter().map(|line| Line::raw(format!("set: {}", name(line)))));
    let notes = Paragraph::new(Text::from(notes)).wrap(Wrap { trim: true });
    let most = (area.height / 3).max(1);
    let height = (notes.line_count(area.width) as u16).clamp(1, most);
    let (sites, curve) = match area.height {
        ..VERY_FEW => (0, 0),
        VERY_FEW..FEW => (0, CURVE),
        _ => (SITES, CURVE),
    };
    let [top, table, below, graph, keys] = Layout::vertical([
        Constraint::Length(height),
        Constraint::Min(1),
        Constraint::Length(sites),
        Constraint::Length(curve),
        Constraint::Length(1),
    ])
    .areas(area);
    screen.render_widget(notes, top);
    if app.frame.stage != Stage::Waiting {
        ranks(screen, app, table);
        call_sites(screen, app, below);
        chosen_curve(screen, app, view, graph);
    }
    let line = match &app.prompt {
        Some(typed) => Line::styled(format!("set NAME=VALUE, or NAME=VALUE@RANKS: {typed}\u{2588}"), BOLD),
        None => Line::styled(
            "arrows: rank and column  s: sort  p: pause  :: set a variable  ?: help  q: quit",
            DIM,
        ),
    };
    screen.render_widget(line, keys);
    if app.helps {
        help(screen, app, area);
    }
}

fn title(app: &App) -> String {
    let pause = if app.is_paused { "PAUSED  " } else { "" };
    format!("{pause}{}  {}", name(&app.directory), name(&headline(&app.frame)))
}

/// The columns that fit, by the first and the one after the last, with the chosen one among them.
fn visible(width: u16, chosen: usize, widths: &[u16]) -> std::ops::Range<usize> {
    let space = width.saturating_sub(RANK + HOST + STATE + 2);
    let taken = |columns: &[u16]| columns.iter().map(|width| width + 1).sum::<u16>();
    let first = (0..chosen).find(|first| taken(&widths[*first..=chosen]) <= space).unwrap_or(chosen);
    let end = (chosen + 1..=widths.len()).rev().find(|end| taken(&widths[first..*end]) <= space);
    first..end.unwrap_or(chosen + 1)
}

/// The width of a column. Names of variables are not cut.
fn width(shown: Shown<'_>) -> u16 {
    match shown {
        Shown::Quantity(_) => WIDTH,
        // And the mark of how it is sorted.
        Shown::Variable(column) => (column.head().chars().count() as u16 + 1).max(WIDTH),
    }
}

fn right(text: String) -> Text<'static> {
    Text::from(text).alignment(Alignment::Right)
}

fn ranks(screen: &mut Screen<'_>, app: &mut App, area: Rect) {
    let all = (0..quantities::columns(&app.frame)).map(|place| quantities::column(&app.frame, place));
    let all: Vec<Shown<'_>> = all.collect();
    let widths: Vec<u16> = all.iter().map(|shown| width(*shown)).collect();
    let visible = visible(area.width, app.column, &widths);
    let widths = [RANK, HOST, STATE].iter().chain(&widths[visible.clone()]).copied().map(Constraint::Length);
    let head = |place: usize| {
        let mark = match app.order {
            Order::Down(column) if column == place => "▾",
            Order::Up(column) if column == place => "▴",
            _ => "",
        };
        let text = right(format!("{}{mark}", name(&all[place].head())));
        if place == app.column { text.style(BOLD.reversed()) } else { text.style(BOLD) }
    };
    let names = [Text::raw("rank"), Text::raw("host"), Text::raw("state")].map(|text| text.style(BOLD));
    let header = Cells::new(names.into_iter().chain(visible.clone().map(head)));
    let over = |what: &str, of: fn(Over) -> f64| {
        let value = |place: usize| right(all[place].text(all[place].over(&app.frame, place).map(of)));
        let cells = [Text::raw(what.to_owned()), Text::raw(""), Text::raw("all")];
        Cells::new(cells.into_iter().chain(visible.clone().map(value))).style(DIM)
    };
    let mut rows =
        vec![over("min", |over| over.min), over("median", |over| over.median), over("max", |over| over.max)];
    if area.height < 8 {
        rows.clear();
    }
    let lines = (area.height as usize).saturating_sub(1 + rows.len()).max(1);
    let sorted = app.sorted();
    let chosen =
        sorted.iter().position(|place| app.frame.ranks[*place].reading.rank == app.rank).unwrap_or(0);
    // The chosen one stays on the screen.
    let last = sorted.len().saturating_sub(lines);
    let first = app.first.clamp((chosen + 1).saturating_sub(lines), chosen).min(last);
    let rank = |place: &usize| {
        let row = &app.frame.ranks[*place];
        let is_chosen = row.reading.rank == app.frame.ranks[sorted[chosen]].reading.rank;
        let state = Text::styled(word(row.reading.ended), state_style(row));
        let cells = [Text::raw(row.reading.rank.to_string()), Text::raw(name(&row.reading.host)), state];
        let values =
            visible.clone().map(|place| right(all[place].text(row.values.get(place).copied().flatten())));
        let cells = Cells::new(cells.into_iter().chain(values));
        if is_chosen { cells.reversed() } else { cells }
    };
    rows.extend(sorted.iter().skip(first).take(lines).map(rank));
    screen.render_widget(Table::new(rows, widths).header(header), area);
    (app.lines, app.first) = (lines, first);
}

fn state_style(row: &Row) -> Style {
    use mel_log::profile::Ended;
    match row.reading.ended {
        Ended::Running => Style::new().green(),
        Ended::Finalised => Style::new(),
        Ended::Aborted | Ended::Exited | Ended::Killed => Style::new().red().bold(),
    }
}

/// The call sites of the chosen rank.
fn call_sites(screen: &mut Screen<'_>, app: &App, area: Rect) {
    let Some(row) = app.chosen() else { return };
    let title = match in_call(row) {
        Some(call) => format!(" call sites of rank {}: {} ", row.reading.rank, name(&call)),
        None => format!(" call sites of rank {} ", row.reading.rank),
    };
    let of_run = |seconds: f64| match row.reading.run_s {
        run if run > 0.0 => format!("{:.1} %", 100.0 * seconds / run),
        _ => "-".into(),
    };
    let rows = row.reading.sites.iter().zip(&row.sites_now).map(|(site, now)| {
        Cells::new([
            Text::raw(name(site.site.as_deref().unwrap_or("(not known)"))),
            Text::raw(name(&site.function)),
            right(now.map_or("-".into(), |now| format!("{:.1} %", now * 100.0))),
            right(of_run(site.mpi_s)),
            right(of_run(site.waiting_s)),
            right(site.calls.to_string()),
        ])
    });
    let widths = [
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(WIDTH),
        Constraint::Length(WIDTH),
        Constraint::Length(WIDTH),
        Constraint::Length(10),
    ];
    let texts = ["call site", "function"].map(|text| Text::styled(text, BOLD));
    let numbers = ["MPI now", "MPI all", "wait all", "calls"].map(|text| right(text.into()).style(BOLD));
    let header = Cells::new(texts.into_iter().chain(numbers));
    let block = Block::new().borders(Borders::TOP).title(title);
    screen.render_widget(Table::new(rows, widths).header(header).block(block), area);
}

/// The chosen quantity of the chosen rank over time, the latest at the right.
fn chosen_curve(screen: &mut Screen<'_>, app: &App, view: &View, area: Rect) {
    let Some(row) = app.chosen() else { return };
    let quantity = app.shown();
    let of_variable = match quantity {
        Shown::Quantity(_) => None,
        Shown::Variable(column) => column.of(&row.reading),
    };
    let (curve, lasts) = match of_variable {
        None => (view.curve(row.reading.rank, app.column), app.frame.interval_s),
        // Its samples are kept by the rank, from the beginning on.
        Some(variable) => {
            let curve = variable.over_time();
            let between = variable.lasts_s() / curve.len().max(1) as f64;
            (curve, Some(between))
        }
    };
    let shown = &curve[curve.len().saturating_sub(area.width as usize)..];
    let most = shown.iter().flatten().copied().fold(0.0, f64::max);
    let heights =
        shown.iter().map(|value| value.map(|value| (value / most.max(f64::MIN_POSITIVE) * 1000.0) as u64));
    let title = format!(
        " {} of rank {}: {} ({}), at most {} in {} ",
        name(&quantity.head()),
        row.reading.rank,
        quantity.text(row.values.get(app.column).copied().flatten()),
        quantity.basis(&app.frame.backend),
        quantity.text((!shown.is_empty()).then_some(most)),
        match lasts {
            Some(interval) => duration(interval * shown.len() as f64),
            None => "no time yet".into(),
        },
    );
    let block = Block::new().borders(Borders::TOP).title(title);
    screen.render_widget(Sparkline::default().block(block).data(heights).max(1000).cyan(), area);
}

fn help(screen: &mut Screen<'_>, app: &App, area: Rect) {
    let mut lines = vec![
        Line::raw("up, down, page up, page down, home, end   choose a rank"),
        Line::raw("left, right   choose a column: its curve is below"),
        Line::raw("s   sort by it: greatest first, least first, by rank"),
        Line::raw("p   pause      q   quit      ?   this help"),
        Line::raw(""),
    ];
    // There may be no space for all: the chosen one comes first.
    let others = (0..quantities::columns(&app.frame)).filter(|place| *place != app.column);
    for place in std::iter::once(app.column).chain(others) {
        let shown = quantities::column(&app.frame, place);
        let head =
            if place < QUANTITIES.len() { format!("{:<10}", shown.head()) } else { shown.head() + " " };
        let sentence = shown.sentence(&app.frame.backend);
        lines.push(Line::from(vec![name(&head).into_owned().bold(), name(&sentence).into_owned().into()]));
    }
    let text = Paragraph::new(Text::from(lines))
        .wrap(Wrap { trim: false })
        .block(Block::bordered().title(" mel watch "));
    let width = area.width.min(100);
    let height = (text.line_count(width) as u16).min(area.height);
    let area = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    screen.render_widget(Clear, area);
    screen.render_widget(text, area);
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::super::super::feed::Feed;
    use super::super::super::frame::Frame;
    use super::super::super::sample::reading;
    use super::*;

    /// The lines of a screen of that size, after some keys.
    fn screen(ranks: u32, (columns, lines): (u16, u16), keys: &[KeyCode]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let feed = Feed::start(&directory.path().join("never"), Duration::from_secs(60)).unwrap();
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        let mut app = App::new(Path::new("mel-halo-1"), Some("http://127.0.0.1:4711/abc/"));
        app.show(&Arc::new(Frame::of(&reading(ranks, 12.0), Some(&reading(ranks, 10.0)))));
        for key in keys {
            app.press(KeyEvent::new(*key, KeyModifiers::NONE));
            terminal.draw(|screen| draw(screen, &mut app, &feed.view())).unwrap();
        }
        terminal.draw(|screen| draw(screen, &mut app, &feed.view())).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y: u16| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..lines).map(|y| line(y).trim_end().to_owned()).collect()
    }

    fn cells(line: &str) -> String {
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_screen_has_ranks_sums_call_sites_and_the_address() {
        let lines = screen(4, (160, 40), &[]);
        let text = lines.join("\n");
        assert!(
            lines[0].starts_with("mel-halo-1  ./halo -n 200, 2023-11-14 22:13 UTC, 4 ranks: 4 running"),
            "{text}"
        );
        let line = |begin: &str| cells(lines.iter().find(|line| line.starts_with(begin)).unwrap());
        assert!(line("rank ").starts_with("rank host state MPI now MPI all wait now"), "{text}");
        assert!(line("median").starts_with("median all 15.0 % 15.0 %"), "{text}");
        assert!(line("3 ").starts_with("3 node1 running 30.0 % 30.0 %"), "{text}");
        assert!(
            text.contains("halo.c:44 (exchange)") && text.contains("page: http://127.0.0.1:4711/abc/"),
            "{text}"
        );
        assert!(text.contains("MPI now of rank 0: 0.0 % (observed)"), "{text}");
    }

    #[test]
    fn the_chosen_rank_and_column_stay_on_the_screen() {
        let keys = [[KeyCode::End; 1].to_vec(), [KeyCode::Right; 13].to_vec()].concat();
        let lines = screen(500, (80, 24), &keys);
        let text = lines.join("\n");
        assert!(lines.iter().any(|line| line.starts_with("499 ")), "{text}");
        let head = lines.iter().find(|line| line.starts_with("rank ")).unwrap();
        assert!(head.contains("msgs/s") && !head.contains("MPI now"), "{text}");
        let lines = screen(500, (80, 24), &[keys, vec![KeyCode::Home]].concat());
        assert!(lines.iter().any(|line| line.starts_with("0 ")), "{}", lines.join("\n"));
    }

    #[test]
    fn a_screen_of_any_size_is_drawn() {
        for size in [(1, 1), (10, 3), (30, 9), (60, 12), (400, 100)] {
            for keys in [&[][..], &[KeyCode::Char('?')], &[KeyCode::Char('s'), KeyCode::Down]] {
                screen(40, size, keys);
            }
            screen(0, size, &[KeyCode::Down]);
        }
    }
}
