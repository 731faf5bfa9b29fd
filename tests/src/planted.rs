//! The programs with a planted problem, and the healthy ones: what their head comments want of the verdict.
//! `programs/README.md` describes the comment.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::artifacts::root;
use crate::fortran::{compile_fortran_source, interfaces};
use crate::program::compile_with_header;
use crate::{Finished, Mpi};

/// By how much the time lost may differ from what was planted, as a share of it.
const TOLERANCE: f64 = 0.05;

/// Ranks that have lost less than this share of the whole lose it by chance.
const CHANCE: f64 = 0.02;

/// A machine is busy where processes that are none of ours use more than this share of its processors.
const BUSY: f64 = 0.05;

/// A program whose verdict is known.
#[derive(Clone, Debug)]
pub struct Planted {
    source: PathBuf,
    /// Number of ranks to run with.
    pub ranks: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// What the names of the MPIs begin with that it is for; empty for all.
    pub mpi: String,
    /// What `mel run` is given where it writes no trace.
    pub options: Vec<String>,
    /// What `mel run` is to find; not checked if absent.
    pub default: Option<Wanted>,
    /// What `mel run` is to find besides, anywhere in its list.
    pub also: Option<Wanted>,
    /// What `mel analyze` is to find; not checked if absent.
    pub exact: Option<Wanted>,
}

/// What a finding is to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    rules: Vec<String>,
    cause: Option<u32>,
    /// As `file:line`, any of them; any at all if there is none.
    sites: Vec<String>,
    cause_sites: Vec<String>,
    lost_s: Option<f64>,
    tolerance: f64,
    victims: Vec<u64>,
    communicator: Option<String>,
    count: Option<u64>,
    /// Whether any finding will do, and not only the first.
    anywhere: bool,
}

/// What is not as wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Another rule, cause or line.
    Finding(String),
    /// The time lost, who has lost it, or how many calls have, which a busy machine changes.
    Time(String),
}

impl Planted {
    /// The program NAME in `programs/FOLDER/`.
    ///
    /// # Panics
    ///
    /// If it does not exist or its head comment is not understood.
    pub fn named(folder: &str, name: &str) -> Planted {
        let mut source = root().join("tests/programs").join(folder).join(format!("{name}.c"));
        if !source.exists() {
            source.set_extension("F90");
        }
        let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let shown = source.display().to_string();
        parse(source, &text).unwrap_or_else(|e| panic!("{shown}: {e}"))
    }

    /// The names of all programs in `programs/FOLDER/`, sorted.
    ///
    /// # Panics
    ///
    /// If the folder cannot be read.
    pub fn names(folder: &str) -> Vec<String> {
        let entries = fs::read_dir(root().join("tests/programs").join(folder)).expect("a folder of programs");
        let paths = entries.map(|entry| entry.expect("the folder can be read").path());
        let programs = paths.filter(|path| path.extension().is_some_and(|end| end == "c" || end == "F90"));
        let mut names: Vec<String> =
            programs.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
        names.sort();
        names
    }

    /// The MPIs among those of [`Mpi::all`] that the program is for, and on which so many ranks keep the time.
    pub fn mpis(&self) -> Vec<Mpi> {
        let mut mpis = match self.nodes {
            1 => Mpi::all(),
            _ => Mpi::on_two_nodes().into_iter().map(|(_, on_two)| on_two).collect(),
        };
        mpis.retain(|mpi| mpi.name.starts_with(&self.mpi) && (self.ranks <= 2 || mpi.ranks_give_way()));
        mpis
    }

    /// The executables for `mpi`: one, or one for each interface that Fortran has to it.
    ///
    /// # Panics
    ///
    /// If the program does not compile.
    pub fn compile(&self, mpi: &Mpi) -> Vec<PathBuf> {
        if self.source.extension().is_some_and(|extension| extension == "F90") {
            let of = |interface| compile_fortran_source(mpi, &self.source, interface);
            return interfaces(mpi).into_iter().map(of).collect();
        }
        let header = root().join("tests/programs/planted/planted.h");
        vec![compile_with_header(mpi, &self.source, &header)]
    }
}

impl Wanted {
    /// What a verdict, worst first, has otherwise; nothing if it is as wanted.
    pub fn wrong_in(&self, verdict: &[Value]) -> Vec<Wrong> {
        let places = if self.anywhere { verdict.len() } else { 1 };
        // The ranks begin in a barrier there, and who has less to do than others waits in MPI_Finalize.
        const END: &str = "wait_at_finalize";
        let looks_at_end = self.rules.iter().any(|rule| rule == END);
        let is_of_frame = |finding: &&Value| {
            finding["site"].as_str().is_some_and(|site| site.starts_with("planted.h:"))
                || finding["rule"] == END && !looks_at_end
        };
        let of_program = verdict.iter().filter(|finding| !is_of_frame(finding));
        let found = of_program.take(places).map(|finding| self.wrong_of(finding));
        found.min_by_key(Vec::len).unwrap_or_else(|| vec![Wrong::Finding("nothing is found".into())])
    }

    fn wrong_of(&self, finding: &Value) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        let mut say = |what: &str, wanted: String| {
            wrong.push(Wrong::Finding(format!("{what} is {}, not {wanted}", finding[what])));
        };
        let text = |what: &str| finding[what].as_str().unwrap_or_default();
        let patterns = finding["patterns"].as_array().map_or(&[][..], Vec::as_slice);
        let of_pattern = |rule: &String| patterns.iter().any(|pattern| pattern["name"] == **rule);
        if !self.rules.iter().any(|rule| rule == text("rule") || of_pattern(rule)) {
            say("rule", self.rules.join(" or "));
        }
        if let Some(cause) = self.cause.filter(|&cause| finding["cause_rank"] != cause) {
            say("cause_rank", cause.to_string());
        }
        for (what, places) in [("site", &self.sites), ("cause_site", &self.cause_sites)] {
            // Behind the line stands the function.
            let place = text(what).split(' ').next();
            if !places.is_empty() && !places.iter().any(|wanted| Some(wanted.as_str()) == place) {
                say(what, places.join(" or "));
            }
        }
        if let Some(name) = self.communicator.as_ref().filter(|name| **name != text("communicator")) {
            say("communicator", name.clone());
        }
        let list = |what: &str| finding[what].as_array().map_or(&[][..], Vec::as_slice).iter();
        let lost_s = finding["lost_s"].as_f64().unwrap_or_default();
        let by_rank = list("lost_by_rank_s").map(|lost| lost.as_f64().unwrap_or_default());
        let ranks = list("victims").filter_map(Value::as_u64).zip(by_rank.chain(std::iter::repeat(lost_s)));
        let mut victims: Vec<u64> =
            ranks.filter(|(_, lost)| *lost >= CHANCE * lost_s).map(|(rank, _)| rank).collect();
        victims.sort_unstable();
        if !self.victims.is_empty() && victims != self.victims {
            wrong.push(Wrong::Time(format!("victims are {victims:?}, not {:?}", self.victims)));
        }
        if let Some(count) = self.count.filter(|&count| finding["count"] != count) {
            wrong.push(Wrong::Time(format!("count is {}, not {count}", finding["count"])));
        }
        if let Some(planted_s) =
            self.lost_s.filter(|planted_s| (lost_s - planted_s).abs() > self.tolerance * planted_s)
        {
            wrong.push(Wrong::Time(format!("lost_s is {lost_s:.4}, planted were {planted_s}")));
        }
        wrong
    }
}

/// Whether the machine kept the time planted, by what the ranks print at their ends: each has worked as long as it was to, and
/// nobody else used much of the processors. Of programs that print no such line it is not known.
pub fn kept_time(finished: &Finished) -> bool {
    let ranks: Vec<[f64; 5]> = finished.stdout.lines().filter_map(of_rank).collect();
    let used: f64 = ranks.iter().map(|[_, _, used, ..]| used).sum();
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    !ranks.is_empty()
        && ranks.iter().all(|[worked, planned, _, used_by_all, run]| {
            (worked - planned).abs() <= 0.01 * planned + 1e-3
                && used_by_all - used <= BUSY * processors * run + 0.02
        })
}

/// Of `rank 0 worked 0.4 of 0.4 s, used 0.1 of 0.3 s in 0.5 s`, the five times.
fn of_rank(line: &str) -> Option<[f64; 5]> {
    let numbers = line.strip_prefix("rank ")?.split([' ', ',']).filter_map(|word| word.parse().ok());
    numbers.skip(1).collect::<Vec<f64>>().try_into().ok()
}

fn parse(source: PathBuf, text: &str) -> Result<Planted, String> {
    let mut planted = Planted {
        source,
        ranks: 0,
        nodes: 1,
        mpi: String::new(),
        options: Vec::new(),
        default: None,
        also: None,
        exact: None,
    };
    let file = planted.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut tolerance = TOLERANCE;
    let is_head = |line: &&str| line.starts_with(['/', '!']) || line.starts_with(" *");
    for line in text.lines().take_while(is_head) {
        let line = line.trim_start_matches(['/', ' ', '*', '!']);
        let Some((key, value)) = line.split_once(": ") else { continue };
        match key {
            "ranks" => planted.ranks = number(value)?,
            "nodes" => planted.nodes = number(value)?,
            "mpi" => planted.mpi = value.to_owned(),
            "options" => planted.options = value.split_whitespace().map(str::to_owned).collect(),
            "tolerance" => tolerance = number(value.split(' ').next().unwrap_or_default())?,
            "default" => planted.default = Some(wanted(value, &file, text)?),
            "also" => planted.also = Some(Wanted { anywhere: true, ..wanted(value, &file, text)? }),
            "exact" => planted.exact = Some(wanted(value, &file, text)?),
            _ => {}
        }
    }
    for wanted in [&mut planted.default, &mut planted.also, &mut planted.exact].into_iter().flatten() {
        wanted.tolerance = tolerance;
    }
    if planted.ranks == 0 {
        return Err("no line `ranks: ` in the head comment".to_owned());
    }
    Ok(planted)
}

fn wanted(line: &str, file: &str, text: &str) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    for word in line.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("not KEY=VALUE: {word}"))?;
        match key {
            "rule" => wanted.rules = value.split('|').map(str::to_owned).collect(),
            "cause" => wanted.cause = Some(number(value)?),
            "site" => wanted.sites = marked(value, file, text)?,
            "cause_site" => wanted.cause_sites = marked(value, file, text)?,
            "lost" if value == "any" => {}
            "lost" => wanted.lost_s = Some(number(value)?),
            "victims" => wanted.victims = value.split(',').map(number).collect::<Result<_, _>>()?,
            "communicator" => wanted.communicator = Some(value.to_owned()),
            "count" => wanted.count = Some(number(value)?),
            "place" if value == "any" => wanted.anywhere = true,
            _ => return Err(format!("unknown key: {word}")),
        }
    }
    if wanted.rules.is_empty() {
        return Err(format!("no rule: {line}"));
    }
    Ok(wanted)
}

/// The lines with these marks (`/* line MARK */` at their ends), with `|` between them, as `file:line`.
///
/// # Errors
///
/// If there is none with a mark.
pub fn marked(marks: &str, file: &str, text: &str) -> Result<Vec<String>, String> {
    let mut places = Vec::new();
    for mark in marks.split('|') {
        let is_marked = |line: &str| {
            let comment = line.trim_end_matches(['*', '/', ' ']).rsplit_once(" line ");
            comment.is_some_and(|(before, name)| before.ends_with(['*', '!']) && name == mark)
        };
        let lines = (1..).zip(text.lines()).filter(|(_, line)| is_marked(line));
        let before = places.len();
        places.extend(lines.map(|(number, _)| format!("{file}:{number}")));
        if places.len() == before {
            return Err(format!("no line is marked {mark}"));
        }
    }
    Ok(places)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SAMPLE: &str = "/* A sender.\n *\n * ranks: 2\n * default: rule=late_sender cause=1 site=RECV|PROBE \
                          cause_site=SEND lost=0.40 victims=0\n * exact: rule=late_standard_send count=20\n \
                          * tolerance: 0.1 it is so\n */\nprobe(); /* line PROBE */\nrecv(); /* line RECV */\n\
                          send(); /* line SEND */\n";

    fn sample() -> Planted {
        parse("dir/sample.c".into(), SAMPLE).unwrap()
    }

    fn finding() -> Value {
        json!({"rule": "late_sender", "cause_rank": 1, "site": "sample.c:9 (main)", "lost_s": 0.41, "victims": [0],
               "cause_site": "sample.c:10 (main)", "count": 20})
    }

    #[test]
    fn a_head_comment_is_understood() {
        let planted = sample();
        assert_eq!((planted.ranks, planted.nodes, planted.mpi.as_str()), (2, 1, ""));
        let default = planted.default.unwrap();
        assert_eq!(default.sites, ["sample.c:9", "sample.c:8"]);
        assert_eq!((default.lost_s, default.tolerance, default.count), (Some(0.4), 0.1, None));
        assert_eq!(planted.exact.unwrap().count, Some(20));
        let fortran =
            parse("a.F90".into(), "! ranks: 2\n! exact: rule=x site=A\ncall f() ! line A\n").unwrap();
        assert_eq!(fortran.exact.unwrap().sites, ["a.F90:3"]);
    }

    #[test]
    fn mistakes_are_named() {
        let fails = |text: &str| parse("a.c".into(), text).unwrap_err();
        assert!(fails("/* nothing */").contains("ranks"));
        assert!(fails("/* ranks: 2\n * default: rule=a site=B\n */").contains("B"));
        assert!(fails("/* ranks: 2\n * default: rule=a sight=B\n */").contains("sight"));
        assert!(fails("/* ranks: 2\n * default: cause=1\n */").contains("rule"));
    }

    #[test]
    fn what_is_wanted_is_not_wrong() {
        let planted = sample();
        assert_eq!(planted.default.as_ref().unwrap().wrong_in(&[finding(), json!({})]), []);
        let wrong = planted.exact.unwrap().wrong_in(&[finding()]);
        assert_eq!(wrong, [Wrong::Finding("rule is \"late_sender\", not late_standard_send".into())]);
        assert_eq!(planted.default.unwrap().wrong_in(&[]).len(), 1);
    }

    #[test]
    fn each_difference_is_found() {
        let wanted = sample().default.unwrap();
        let mut by_chance = finding();
        by_chance["victims"] = json!([0, 1]);
        by_chance["lost_by_rank_s"] = json!([0.409, 0.001]);
        assert_eq!(wanted.wrong_in(&[by_chance]), []);
        let changes = [
            ("rule", json!("late_receiver")),
            ("cause_rank", json!(0)),
            ("cause_rank", json!(null)),
            ("site", json!("sample.c:90 (main)")),
            ("cause_site", json!(null)),
        ];
        for (key, value) in changes {
            let mut changed = finding();
            changed[key] = value;
            assert!(matches!(wanted.wrong_in(&[changed])[..], [Wrong::Finding(_)]), "{key}");
        }
        let mut others = finding();
        others["victims"] = json!([0, 1]);
        assert!(matches!(wanted.wrong_in(&[others])[..], [Wrong::Time(_)]));
        let mut longer = finding();
        longer["lost_s"] = json!(0.45);
        assert!(matches!(wanted.wrong_in(&[longer.clone()])[..], [Wrong::Time(_)]));
        assert!(!wanted.wrong_in(&[longer, finding()]).is_empty(), "only the first one counts");
    }

    #[test]
    fn a_busy_machine_does_not_keep_time() {
        let kept = |lines: &[&str]| {
            kept_time(&Finished { code: Some(0), stdout: lines.join("\n"), stderr: String::new() })
        };
        let idle = "rank 0 worked 0.000000 of 0.000000 s, used 0.400000 of 0.510000 s in 1.000000 s";
        let works = "rank 1 worked 0.400200 of 0.400000 s, used 0.100000 of 0.510000 s in 1.000000 s";
        assert!(kept(&[idle, works]));
        assert!(!kept(&[works, &idle.replace("of 0.51", "of 9.51")]), "others use the processors");
        assert!(!kept(&[idle, &works.replace("0.400200", "0.500000")]), "worked too long");
    }

    #[test]
    fn every_program_says_what_it_wants() {
        let planted = Planted::names("planted");
        assert!(planted.len() >= 30, "{planted:?}");
        for name in planted {
            let program = Planted::named("planted", &name);
            assert!(program.default.is_some() || program.exact.is_some(), "{name}");
        }
        let healthy = Planted::names("healthy");
        assert!(healthy.len() >= 8, "{healthy:?}");
        for name in healthy {
            let program = Planted::named("healthy", &name);
            assert!(program.default.is_none() && program.exact.is_none(), "{name}");
        }
    }
}
