//! What is shown when a run has ended: which run it is, where the time goes, who is the cause, and where the rest is, in one screen.

use std::path::Path;

use super::budget::{parts, unexplained};
use super::call_sites::in_short;
use super::efficiency;
use super::header;
use super::layout::{COLUMNS, wrapped_to};
use super::verdict::{finding_in_words, opening, without_findings};
use crate::printable;
use crate::profile::findings::others;
use crate::profile::schema::Profile;
use crate::profile::verdict::Finding;
use crate::profile::{ends, processors};
use crate::settings::MARK;

/// The most lines.
pub const LINES: usize = 25;
/// The most call sites.
const SITES: usize = 5;
/// The most findings.
const FINDINGS: usize = 3;
/// The most lines about ranks that have not ended with `MPI_Finalize`.
const ENDS: usize = 4;
/// The most lines about what is not explained, about the queues and about how far numbers can be trusted.
const FACTS: usize = 5;

/// The terminal on which the text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// The most columns of a line.
    pub columns: usize,
    /// Whether it shows bold letters and colours.
    pub has_colours: bool,
}

impl Default for Screen {
    fn default() -> Screen {
        Screen { columns: COLUMNS, has_colours: false }
    }
}

impl Screen {
    /// Narrower and wider terminals get lines of these lengths: tables need the one, readers the other.
    const BOUNDS: (usize, usize) = (60, 120);
    const COLOURS: &'static str = "colours";

    /// A terminal of so many columns.
    #[must_use]
    pub fn new(columns: usize, has_colours: bool) -> Screen {
        Screen { columns: columns.clamp(Screen::BOUNDS.0, Screen::BOUNDS.1), has_colours }
    }

    /// Of the words `80` or `80,colours`; `None` of others.
    #[must_use]
    pub fn parse(words: &str) -> Option<Screen> {
        let (columns, colours) = match words.split_once(',') {
            Some((columns, colours)) => (columns, Some(colours)),
            None => (words, None),
        };
        let has_colours = match colours {
            None => false,
            Some(colours) => (colours == Screen::COLOURS).then_some(true)?,
        };
        Some(Screen::new(columns.parse().ok()?, has_colours))
    }

    /// These words.
    #[must_use]
    pub fn in_words(self) -> String {
        let colours = if self.has_colours { format!(",{}", Screen::COLOURS) } else { String::new() };
        format!("{}{colours}", self.columns)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    /// What is to be read first.
    Strong,
    /// Nothing is wrong.
    Good,
    /// The run did not end well.
    Bad,
}

impl Look {
    /// What switches it on in a terminal (ECMA-48, SGR).
    fn begin(self) -> &'static str {
        match self {
            Look::Plain => "",
            Look::Strong => "\x1b[1m",
            Look::Good => "\x1b[32m",
            Look::Bad => "\x1b[1;31m",
        }
    }
}

/// Lines with their looks.
#[derive(Default)]
struct Lines(Vec<(Look, String)>);

impl Lines {
    fn add(&mut self, look: Look, text: &str) {
        self.0.extend(text.lines().map(|line| (look, line.to_owned())));
    }

    /// Adds those of which only the first one is to be read first.
    fn add_headed(&mut self, text: &str) {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        self.add(Look::Strong, first);
        self.add(Look::Plain, rest);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// Keeps so many, of whole sentences: a line that goes on from the one before begins with blanks.
    fn keep(&mut self, most: usize) {
        if self.len() <= most {
            return;
        }
        let goes_on = |line: &(Look, String)| line.1.starts_with("  ");
        let mut kept = most;
        while kept > 0 && goes_on(&self.0[kept]) {
            kept -= 1;
        }
        self.0.truncate(kept);
    }

    fn text(&self, has_colours: bool) -> String {
        let line = |(look, line): &(Look, String)| {
            let line = printable::name(line);
            match (*look, has_colours) {
                (Look::Plain, _) | (_, false) => format!("{line}\n"),
                (look, true) => format!("{}{line}\x1b[0m\n", look.begin()),
            }
        };
        self.0.iter().map(line).collect()
    }
}

/// At most [`LINES`] lines, of a run in this directory; `None` where calls were not counted: there is no verdict then. Names in it are
/// printable: what switches colours is all that a terminal obeys. `commands` are further ones that have something to say of the run.
#[must_use]
pub fn short(profile: &Profile, directory: &Path, screen: Screen, commands: &[&str]) -> Option<String> {
    let findings = profile.verdict.as_ref()?;
    let wrapped = |mark: &str, text: &str| wrapped_to(screen.columns, mark, text);
    let sentence = |text: &str| wrapped(MARK, text);

    let mut head = Lines::default();
    head.add(Look::Plain, &header::run(profile, screen.columns, MARK));
    let mut ended = Lines::default();
    ends::sentences(profile).iter().for_each(|text| ended.add(Look::Bad, &sentence(text)));
    ended.keep(ENDS);
    head.0.append(&mut ended.0);
    efficiency::sentence(profile)
        .iter()
        .chain(&parts(profile))
        .chain(&processors::sentence(profile))
        .for_each(|text| head.add(Look::Plain, &sentence(text)));
    match without_findings(profile) {
        Some(said) => {
            let look = if ends::is_early(profile) { Look::Plain } else { Look::Good };
            head.add(look, &sentence(&said));
        }
        None => head.add(Look::Plain, &sentence(&opening(profile, findings))),
    }

    let mut facts = Lines::default();
    let not_explained = profile.budget.as_ref().map(unexplained).unwrap_or_default();
    not_explained.iter().chain(&others(profile)).for_each(|text| facts.add(Look::Plain, &sentence(text)));
    facts.keep(FACTS);

    let mut sites = Lines::default();
    sites.add(Look::Plain, &in_short(profile, SITES, screen.columns));

    let told = |number: usize| {
        let mut lines = Lines::default();
        lines.add_headed(&wrapped(&format!("{MARK}{number}. "), &finding_in_words(&findings[number - 1])));
        lines
    };
    // As many findings as there is space for beside all else, and one in any case.
    let last = |left_out: usize| {
        let mut lines = Lines::default();
        lines.add(Look::Plain, &sentence(&closing(directory, left_out, commands)));
        lines
    };
    let space = LINES.saturating_sub(head.len() + facts.len() + sites.len() + last(findings.len()).len());
    let mut shown = Lines::default();
    let mut number = 0;
    while number < findings.len().min(FINDINGS) {
        let mut lines = told(number + 1);
        if number > 0 && shown.len() + lines.len() > space {
            break;
        }
        shown.0.append(&mut lines.0);
        number += 1;
    }
    let end = last(findings.len() - number);
    // What the queues cost is never left out.
    let mut queues = Lines::default();
    if !findings[..number].iter().any(Finding::is_of_queues)
        && let Some(finding) = findings[number..].iter().find(|finding| finding.is_of_queues())
    {
        queues.add(Look::Plain, &sentence(&finding.text));
    }
    let space = LINES.saturating_sub(head.len() + shown.len() + queues.len() + end.len());
    facts.keep(space.saturating_sub(sites.len()));
    // Its title and its header are nothing without a row.
    let rows = space.saturating_sub(facts.len());
    sites.0.truncate(if rows < 3 { 0 } else { rows });
    Some(
        [head, shown, queues, facts, sites, end].iter().map(|lines| lines.text(screen.has_colours)).collect(),
    )
}

/// Which commands show the rest.
fn closing(directory: &Path, left_out: usize, commands: &[&str]) -> String {
    let here = std::env::current_dir().ok();
    let directory = here.and_then(|here| directory.strip_prefix(here).ok()).unwrap_or(directory).display();
    let findings = match left_out {
        0 => String::new(),
        1 => "1 more finding and ".into(),
        more => format!("{more} more findings and "),
    };
    let further: String = commands.iter().map(|command| format!("; mel {command} {directory}")).collect();
    format!(
        "{findings}all tables: mel report {directory}; a page: mel report {directory} --html FILE{further}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Ended, sample};

    const PLAIN: Screen = Screen { columns: 80, has_colours: false };

    fn text(profile: &Profile, screen: Screen) -> String {
        short(profile, Path::new("/tmp/mel-halo-1"), screen, &[]).expect("calls were counted")
    }

    #[test]
    fn it_is_one_screen_however_many_ranks_and_findings() {
        for ranks in [1, 2, 16, 300, 5000] {
            let mut profiles = vec![sample::healthy(ranks), sample::late_rank(ranks, 0)];
            let mut many = sample::late_rank(ranks, 0);
            let findings = many.verdict.get_or_insert_default();
            if let Some(first) = findings.first().cloned() {
                findings.resize(9, first);
            }
            profiles.push(many);
            if ranks > 2 {
                profiles.push(sample::reduced(ranks, 1));
            }
            for profile in profiles {
                for columns in [60, 80, 100, 120] {
                    let text = text(&profile, Screen::new(columns, false));
                    assert!(text.lines().count() <= LINES, "{text}");
                    let is_long = |line: &str| line.chars().count() > columns && !line.contains("/tmp/");
                    assert!(!text.lines().any(is_long), "{columns}: {text}");
                    assert!(text.contains("mel report /tmp/mel-halo-1"), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_verdict_comes_first_then_call_sites_and_where_the_rest_is() {
        let text = text(&sample::late_rank(4, 1), PLAIN);
        let order = [
            "./halo",
            "What costs time",
            "1. Ranks 0, 2, 3",
            "called from",
            "libsolver",
            "all tables: mel report",
        ];
        let places: Vec<usize> = order.iter().map(|part| text.find(part).expect(part)).collect();
        assert!(places.is_sorted() && !text.contains('\x1b'), "{places:?} {text}");
        assert!(!text.contains("time by rank"), "{text}");
    }

    #[test]
    fn colours_are_all_that_a_terminal_obeys() {
        let mut profile = sample::late_rank(4, 1);
        profile.command.push("\x1b[2J".into());
        let coloured = text(&profile, Screen::new(80, true));
        assert!(coloured.contains("\x1b[1m[MEL] 1. ") && !coloured.contains("\x1b[2J"), "{coloured}");
        let plain: String = coloured.replace("\x1b[1m", "").replace("\x1b[0m", "");
        assert_eq!(plain, text(&profile, PLAIN));
    }

    #[test]
    fn how_a_run_ended_is_never_left_out() {
        let mut profile = sample::late_rank(4, 1);
        profile.ranks[1].ended = Ended::Killed;
        assert!(text(&profile, PLAIN).contains("rank 1 was killed"));
        assert!(text(&profile, Screen::new(80, true)).contains("\x1b[1;31m[MEL] rank 1 was killed"));
    }

    #[test]
    fn queues_are_named_where_they_matter_and_only_there() {
        let mut profile = sample::late_rank(4, 1);
        assert!(!text(&profile, PLAIN).contains("queue"), "{}", text(&profile, PLAIN));
        let findings = profile.verdict.get_or_insert_default();
        let first = findings[0].clone();
        let searches = Finding {
            rule: "long_searches".into(),
            text: "rank 2 lost 90 ms in MPI_Recv, searching the unexpected queue".into(),
            ..first.clone()
        };
        findings.resize(6, first);
        findings.push(searches.clone());
        for columns in [60, 120] {
            let last = text(&profile, Screen::new(columns, false));
            assert!(last.contains("searching the") && last.lines().count() <= LINES, "{last}");
        }
        // Among the first findings it stands once.
        profile.verdict.get_or_insert_default().insert(0, searches);
        assert_eq!(text(&profile, PLAIN).matches("searching the").count(), 1);
    }

    #[test]
    fn what_was_left_out_is_told() {
        let mut profile = sample::late_rank(4, 1);
        let findings = profile.verdict.get_or_insert_default();
        let first = findings[0].clone();
        findings.resize(6, first);
        let words = text(&profile, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("more findings and all tables: mel report"), "{words}");
    }

    #[test]
    fn without_calls_there_is_nothing_to_shorten() {
        assert_eq!(short(&Profile::default(), Path::new("run"), PLAIN, &[]), None);
    }

    #[test]
    fn a_screen_is_a_word() {
        assert_eq!(Screen::parse("80"), Some(PLAIN));
        assert_eq!(Screen::parse("97,colours"), Some(Screen { columns: 97, has_colours: true }));
        assert_eq!(Screen::parse(&Screen::new(100, true).in_words()), Some(Screen::new(100, true)));
        assert_eq!(["", "x", "80,red"].map(Screen::parse), [None; 3]);
        assert_eq!((Screen::new(5, false).columns, Screen::new(4000, false).columns), (60, 120));
    }
}
