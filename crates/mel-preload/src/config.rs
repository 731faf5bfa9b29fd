//! What the user asked for, from the environment.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use mpit_sources::calls::Path;
use mpit_sources::{Following, Selection};

use mel_log::access::Access;
use mel_log::choice::Choice;
use mel_log::names::parse_list;
use mel_log::number::{bytes, interval, share};
use mel_log::plugin_list::PluginName;
use mel_log::profile::text::Screen;
use mel_log::setting::parse_ranks;
use mel_log::settings::{self, Setting, counted};

/// What MEL does in this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Event types to log (`MEL_EVENTS`); `None` if the variable is unset or empty.
    pub events: Option<Vec<String>>,
    /// Whether the queue profile is on (`MEL_PROFILE=queues`).
    pub profile: bool,
    /// Whether calls are counted, and what they wait for (`MEL_PROFILE=calls`).
    pub call_profile: bool,
    /// Whether the profile of one-sided communication is on (`MEL_PROFILE=rma`).
    pub windows: bool,
    /// Whether it is counted who sends what to whom (`MEL_PROFILE=matrix`).
    pub matrix: bool,
    /// Whether what the MPI library moves below the calls is counted (`MEL_PROFILE=net`).
    pub carried: bool,
    /// Whether the messages of the library itself are counted, too (`MEL_INSIDE=1`); then the matrix is on.
    pub inside: bool,
    /// The performance variables that are sampled, by name (`MEL_VARS`: a list with wildcards, or `all`).
    pub vars: Option<Choice>,
    /// Between two samples (`MEL_EVERY`: a time such as `500ms`); zero where only the program asks for them.
    pub every: Duration,
    /// The performance variables that are attributed to calls and regions (`MEL_ATTRIBUTE`, as `MEL_VARS`); then calls are counted.
    pub attribute: Option<Choice>,
    /// The share of the time that reading these may take, where that is more than a load (`MEL_ATTRIBUTE_BUDGET`: such as `3%`); none
    /// without a limit (`none`).
    pub budget: Option<Share>,
    /// The share of the run that counting receives in the queues may take (`MEL_BUDGET`); none without a limit (`none`, and `MEL_EXACT=1`).
    pub model_budget: Option<Share>,
    /// Whether a few stacks of the program are sampled although nobody has asked for it.
    pub samples_unasked: bool,
    /// Whether stacks of the program are sampled (`MEL_SAMPLE`).
    pub sample: bool,
    /// Whether the processor's counters are read while the program computes: where stacks are sampled, but with `MEL_COUNTERS=0`.
    pub counters: bool,
    /// Rates of counters that are made up, in their place (`MEL_FAKE_COUNTERS`), for tests.
    pub fake_counters: Option<String>,
    /// First and last ranks of those that idle by design (`MEL_IDLE`).
    pub idle: Vec<(u64, u64)>,
    /// Plugins (`MEL_PLUGINS`), and where they are looked for (`MEL_PLUGINS_PATH`), with colons between them. Where there are some, `vars` is
    /// something, too.
    pub plugins: Vec<PluginName>,
    /// See `plugins`.
    pub plugins_path: String,
    /// Whether nothing was said about the profile: then MEL was preloaded by hand.
    pub profile_unset: bool,
    /// Whether the end of the run has a line of statistics for each queue and window of each rank (`MEL_LINES=1`).
    pub lines: bool,
    /// Whether all tables are printed at the end.
    pub full: bool,
    /// Where the end of the run is read.
    pub screen: Screen,
    /// Up to how many ranks each rank's numbers are collected; of more, sums (`MEL_EXACT_RANKS`).
    pub exact_ranks: u32,
    /// Whether no profile is made of what each rank has counted: all leave their tables (`MEL_COLLECT=0`).
    pub leaves_tables: bool,
    /// Whether a trace is recorded (`MEL_TRACE=1`).
    pub trace: bool,
    /// The MPI functions whose calls are recorded (`MEL_ONLY_CALLS`, `MEL_NO_CALLS`).
    pub calls: Choice,
    /// The communicators that are recorded, by name or number (`MEL_ONLY_COMMS`, `MEL_NO_COMMS`).
    pub comms: Choice,
    /// Whether a trace shows from where MPI functions are called (`MEL_CALLSITES=1`).
    pub call_sites: bool,
    /// Whether what is looked at for mistakes is recorded, too.
    pub check: bool,
    /// Whether nothing is recorded before `MPI_Pcontrol(1)` (`MEL_PAUSED=1`).
    pub paused: bool,
    /// Control variables to be set (`MEL_SET`).
    pub set: Option<String>,
    /// Whether control variables can be set while the program runs (`MEL_SETTABLE=1`).
    pub settable: bool,
    /// Policies, as [`mel_rules::policy`] encodes them (`MEL_POLICY`).
    pub policy: Option<String>,
    /// After how long without a move the job is called stuck (`MEL_STUCK_AFTER`: a time such as `60s`); none for never.
    pub stuck_after: Option<Duration>,
    /// Whether it is ended then (`MEL_STUCK_ABORT=1`).
    pub stuck_abort: bool,
    /// The most bytes of a rank's event log (`MEL_LIMIT`: a number, and `K`, `M`, `G` or `T` for binary multiples).
    pub limit: Option<u64>,
    /// From which size on there are warnings how large all logs are, in bytes; 0 for never (`MEL_TELL_SIZE`, as `MEL_LIMIT`).
    pub tell_size: u64,
    /// The run's directory (`MEL_OUTPUT`).
    pub output: Option<PathBuf>,
    /// Who may read what the run leaves (`MEL_MODE`).
    pub access: Access,
    /// Whether an earlier run may be overwritten (`MEL_FORCE=1`).
    pub force: bool,
    /// The program's name (`MEL_PROGRAM`).
    pub program: String,
    /// How envelopes travel (`MPIT_ENVELOPES=messages` for messages between all processes), and who takes
    /// them in between MPI calls (`MPIT_PROGRESS`).
    pub following: Following,
    /// Who raises the events (`MPIT_SOURCES`).
    pub sources: Selection,
    /// Values that are not understood, each in a line for the user.
    pub complaints: Vec<String>,
}

/// A share of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

// It is never what is no number.
impl Eq for Share {}

/// Reads settings, and keeps what is to be said of their values.
struct Reader<F> {
    variable: F,
    complaints: Vec<String>,
}

impl<F: Fn(&str) -> Option<String>> Reader<F> {
    /// The value as text; `None` where it is not set, or empty.
    fn text(&self, setting: &Setting) -> Option<String> {
        (self.variable)(setting.name).filter(|value| !value.is_empty())
    }

    fn is_on(&self, setting: &Setting) -> bool {
        self.text(setting).is_some_and(|value| settings::is_on(&value))
    }

    /// Whether the user has said that it is not to be.
    fn is_off(&self, setting: &Setting) -> bool {
        self.text(setting).is_some_and(|value| value == "0")
    }

    /// The value; the default where it is not set, or not understood.
    fn value<T>(&mut self, setting: &Setting, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = self.text(setting).and_then(|value| {
            let parsed = parse(&value);
            if parsed.is_none() {
                self.complaints.push(settings::complaint(setting, &value));
            }
            parsed
        });
        value.or_else(|| parse(setting.default.value))
    }

    /// Names that are wanted, and names that are not.
    fn choice(&mut self, only: &Setting, without: &Setting) -> Choice {
        let lists = [only, without].map(|setting| self.text(setting).unwrap_or_default());
        Choice::new(&lists[0], &lists[1]).unwrap_or_else(|complaint| {
            self.complaints.push(format!("{only}, {without}: {complaint}"));
            Choice::default()
        })
    }

    /// Names of variables, or `all`; `None` where there are to be none.
    fn variables(&mut self, setting: &Setting) -> Option<Choice> {
        let list = self.text(setting).filter(|list| list != "none")?;
        let choice = Choice::new(if list == "all" { "" } else { &list }, "");
        choice.map_err(|complaint| self.complaints.push(format!("{setting}: {complaint}"))).ok()
    }
}

impl Config {
    /// The configuration of this process.
    pub fn from_environment() -> Config {
        let mut config =
            Config::read(|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()));
        let names: Vec<String> = env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
        config.complaints.extend(settings::unknown(names.iter().map(String::as_str)));
        config
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Config {
        let mut reader = Reader { variable, complaints: Vec::new() };
        let check = reader.is_on(&settings::CHECK);
        let mut config = Config {
            events: reader
                .text(&settings::EVENTS)
                .map(|list| parse_list(&list).map(str::to_owned).collect::<Vec<_>>())
                .filter(|names| !names.is_empty()),
            inside: reader.is_on(&settings::INSIDE),
            lines: reader.is_on(&settings::LINES),
            full: reader.is_on(&settings::FULL),
            sample: reader.is_on(&settings::SAMPLE),
            fake_counters: reader.text(&settings::FAKE_COUNTERS),
            leaves_tables: reader.is_off(&settings::COLLECT),
            trace: reader.is_on(&settings::TRACE) || check,
            call_sites: reader.is_on(&settings::CALLSITES) || check,
            check,
            paused: reader.is_on(&settings::PAUSED),
            set: reader.text(&settings::SET),
            settable: reader.is_on(&settings::SETTABLE),
            stuck_abort: reader.is_on(&settings::STUCK_ABORT),
            policy: reader.text(&settings::POLICY),
            output: reader.text(&settings::OUTPUT).map(PathBuf::from),
            force: reader.is_on(&settings::FORCE),
            program: reader.text(&settings::PROGRAM).unwrap_or_else(own_name),
            plugins: reader.text(&settings::PLUGINS).map(|list| PluginName::list(&list)).unwrap_or_default(),
            plugins_path: reader.text(&settings::PLUGINS_PATH).unwrap_or_default(),
            ..Config::default()
        };
        match reader.text(&settings::PROFILE).as_deref() {
            Some(counted::NONE) => {}
            Some(list) => config.read_profile(list, &mut reader.complaints),
            None => config.profile_unset = true,
        }
        config.matrix |= config.inside;
        config.calls = reader.choice(&settings::ONLY_CALLS, &settings::NO_CALLS);
        config.comms = reader.choice(&settings::ONLY_COMMS, &settings::NO_COMMS);
        config.vars = reader.variables(&settings::VARS);
        config.attribute = reader.variables(&settings::ATTRIBUTE);
        config.call_profile |= config.attribute.is_some();
        config.samples_unasked = config.call_profile && !config.sample && !reader.is_off(&settings::SAMPLE);
        config.call_profile |= config.sample;
        config.counters = !reader.is_off(&settings::COUNTERS)
            && (config.sample || config.call_profile && config.fake_counters.is_some());
        config.budget = reader.value(&settings::ATTRIBUTE_BUDGET, share).flatten().map(Share);
        let exact = reader.is_on(&settings::EXACT);
        config.model_budget = reader.value(&settings::BUDGET, share).flatten().filter(|_| !exact).map(Share);
        if !config.plugins.is_empty() && config.vars.is_none() {
            // The sampler runs, and samples what they want.
            config.vars = Choice::new("", "*").ok();
        }
        config.screen = reader.value(&settings::TERMINAL, Screen::parse).unwrap_or_default();
        config.every = reader.value(&settings::EVERY, interval).unwrap_or_default();
        config.idle = reader.value(&settings::IDLE, parse_ranks).unwrap_or_default();
        config.stuck_after = reader.value(&settings::STUCK_AFTER, interval).filter(|after| !after.is_zero());
        config.access = reader.value(&settings::MODE, Access::parse).unwrap_or_default();
        config.limit = reader.value(&settings::LIMIT, bytes);
        config.tell_size = reader.value(&settings::TELL_SIZE, settings::size_or_never).unwrap_or_default();
        config.exact_ranks =
            reader.value(&settings::EXACT_RANKS, |ranks| ranks.parse().ok()).unwrap_or_default();
        if config.call_sites && !config.trace {
            config.call_sites = false;
            let [what, needed] = [&settings::CALLSITES, &settings::TRACE];
            reader.complaints.push(format!("{what}=1: call sites are in traces only; set {needed}=1, too"));
        }
        if config.settable && !config.measures() {
            config.settable = false;
            reader.complaints.push(format!(
                "{}=1: nothing is measured, so that there is no directory to ask in; choose a profile, too",
                settings::SETTABLE
            ));
        }
        if config.stuck_after.is_some() && !config.call_profile {
            config.stuck_after = None;
            reader.complaints.push(format!(
                "{}: calls are not counted, so that nobody knows where ranks are; choose {}={}, too",
                settings::STUCK_AFTER,
                settings::PROFILE,
                counted::CALLS
            ));
        }
        if config.stuck_abort && config.stuck_after.is_none() {
            config.stuck_abort = false;
            let [what, needed] = [&settings::STUCK_ABORT, &settings::STUCK_AFTER];
            reader
                .complaints
                .push(format!("{what}=1: nobody looks whether the job is stuck; set {needed}, too"));
        }
        let path = |word: &str| match word {
            "messages" => Some(Path::Messages),
            "auto" => Some(Path::default()),
            _ => None,
        };
        config.following.path = reader.value(&settings::ENVELOPES, path).unwrap_or_default();
        match reader.text(&settings::PROGRESS).as_deref().unwrap_or_default().parse() {
            Ok(between_calls) => config.following.between_calls = between_calls,
            Err(complaint) => reader.complaints.push(complaint),
        }
        match Selection::parse(&reader.text(&settings::SOURCES).unwrap_or_default()) {
            Ok(selection) => config.sources = selection,
            Err(complaint) => reader.complaints.push(complaint),
        }
        config.complaints = reader.complaints;
        config
    }

    fn read_profile(&mut self, list: &str, complaints: &mut Vec<String>) {
        for name in parse_list(list) {
            match name {
                counted::CALLS => self.call_profile = true,
                counted::QUEUES => self.profile = true,
                counted::RMA => self.windows = true,
                counted::MATRIX => self.matrix = true,
                counted::NET => self.carried = true,
                _ => return complaints.push(settings::complaint(&settings::PROFILE, list)),
            }
        }
    }

    /// What is counted, by the words of `MEL_PROFILE`.
    pub fn counted(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.call_profile, counted::CALLS),
            (self.profile, counted::QUEUES),
            (self.windows, counted::RMA),
            (self.matrix, counted::MATRIX),
            (self.carried, counted::NET),
        ];
        all.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name)
    }

    /// Whether a profile is written.
    pub fn profiles(&self) -> bool {
        self.profile
            || self.windows
            || self.call_profile
            || self.matrix
            || self.carried
            || self.vars.is_some()
    }

    /// Whether messages are to be followed to their receivers; communicators are, anyway.
    pub fn needs_messages(&self) -> bool {
        self.profile || self.windows || self.call_profile || self.logs()
    }

    /// Whether anything is to be measured.
    pub fn measures(&self) -> bool {
        self.profiles() || self.trace || self.events.is_some()
    }

    /// Whether what is posted to network cards may be wanted: then those that the MPI library opens are watched.
    pub fn watches_devices(&self) -> bool {
        let may_mean = |name: &String| name.contains("netop") || name.contains(['*', '?']) || name == "all";
        // Where nothing is measured, the program may be a tool that asks for it.
        self.carried || !self.measures() || self.events.iter().flatten().any(may_mean)
    }

    /// Whether an event log is kept.
    pub fn logs(&self) -> bool {
        self.trace || self.events.is_some()
    }

    /// Whether the available event types are to be printed: what MEL does when it was asked nothing.
    pub fn lists_types(&self) -> bool {
        self.profile_unset && !self.measures()
    }
}

fn own_name() -> String {
    let path = env::current_exe().ok();
    path.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "program".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Config {
        Config::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_string()))
    }

    #[test]
    fn a_list_may_be_separated_in_four_ways() {
        let config = read(&[("MEL_EVENTS", "a,b:c;d e,,")]);
        assert_eq!(config.events.unwrap(), ["a", "b", "c", "d", "e"]);
        assert_eq!(read(&[("MEL_EVENTS", " ,")]).events, None);
    }

    #[test]
    fn without_a_word_the_types_are_listed_and_nothing_is_measured() {
        let config = read(&[]);
        assert!(config.lists_types() && !config.measures());
        assert!(!read(&[("MEL_PROFILE", "none")]).lists_types());
        assert!(!read(&[("MEL_TRACE", "1")]).lists_types());
        assert!(!read(&[("MEL_TRACE", "0")]).trace);
    }

    #[test]
    fn a_limit_that_is_no_size_is_none() {
        let config = read(&[("MEL_LIMIT", "lots")]);
        assert_eq!((config.limit, config.complaints.len()), (None, 1));
    }

    #[test]
    fn what_is_attributed_needs_calls_and_has_a_budget() {
        let config = read(&[("MEL_ATTRIBUTE", "mel_*"), ("MEL_PROFILE", "none")]);
        assert!(config.call_profile && config.measures() && config.attribute.is_some());
        assert_eq!(config.budget, Some(Share(0.03)));
        assert_eq!(read(&[("MEL_ATTRIBUTE_BUDGET", "none")]).budget, None);
        assert_eq!(config.model_budget, Some(Share(0.05)));
        assert_eq!(read(&[("MEL_BUDGET", "none")]).model_budget, None);
        assert_eq!(read(&[("MEL_BUDGET", "2%"), ("MEL_EXACT", "1")]).model_budget, None);
        assert_eq!(read(&[("MEL_ATTRIBUTE_BUDGET", "0.5 %")]).budget, Some(Share(0.005)));
        assert_eq!(read(&[("MEL_ATTRIBUTE_BUDGET", "much")]).complaints.len(), 1);
        assert!(read(&[("MEL_ATTRIBUTE", "none")]).attribute.is_none());
    }

    #[test]
    fn so_many_ranks_are_exact() {
        assert_eq!(read(&[]).exact_ranks, 1024);
        assert_eq!(read(&[("MEL_EXACT_RANKS", "7")]).exact_ranks, 7);
        let config = read(&[("MEL_EXACT_RANKS", "all")]);
        assert_eq!(config.complaints, ["MEL_EXACT_RANKS=all: give a number of ranks"]);
        assert_eq!(config.exact_ranks, 1024);
    }

    #[test]
    fn a_profile_may_be_of_both() {
        let both = read(&[("MEL_PROFILE", "queues,rma")]);
        assert!(both.profile && both.windows && both.profiles());
        let calls = read(&[("MEL_PROFILE", "calls")]);
        assert!(calls.call_profile && !calls.profile && calls.profiles() && !calls.logs());
        let one = read(&[("MEL_PROFILE", "rma")]);
        assert!(!one.profile && one.windows && one.measures() && !one.logs());
        let matrix = read(&[("MEL_PROFILE", "matrix")]);
        assert!(matrix.matrix && matrix.profiles() && !matrix.needs_messages());
        let inside = read(&[("MEL_PROFILE", "calls"), ("MEL_INSIDE", "1")]);
        assert!(inside.matrix && inside.inside && inside.call_profile && !matrix.inside);
        let net = read(&[("MEL_PROFILE", "net")]);
        assert!(net.carried && net.profiles() && !net.logs() && !net.needs_messages());
    }

    #[test]
    fn with_plugins_the_sampler_runs_and_samples_nothing_of_its_own() {
        let config = read(&[("MEL_PLUGINS", "a,1:./b.so"), ("MEL_PLUGINS_PATH", "/x:/y")]);
        assert_eq!((config.plugins.len(), &*config.plugins_path), (2, "/x:/y"));
        assert!(config.measures() && config.vars.is_some_and(|choice| !choice.wants(&["mel_bytes_sent"])));
        let config = read(&[("MEL_PLUGINS", "a"), ("MEL_VARS", "all")]);
        assert!(config.vars.is_some_and(|choice| choice.wants(&["mel_bytes_sent"])));
        assert_eq!(read(&[("MEL_PLUGINS", "")]).vars, None);
    }

    #[test]
    fn devices_are_watched_where_somebody_may_want_what_is_posted() {
        let watches = |variables: &[(&str, &str)]| read(variables).watches_devices();
        assert!(watches(&[("MEL_PROFILE", "calls,net")]) && watches(&[("MEL_EVENTS", "event_netop_rdma")]));
        assert!(watches(&[]) && watches(&[("MEL_PROFILE", "calls"), ("MEL_EVENTS", "btl_*")]));
        assert!(!watches(&[("MEL_PROFILE", "calls,queues,matrix")]) && !watches(&[("MEL_EVENTS", "pml_x")]));
    }

    #[test]
    fn what_is_counted_has_the_words_of_the_catalogue() {
        let all = read(&[("MEL_PROFILE", "calls,queues,rma,matrix,net")]);
        let settings::Kind::SomeOf([words @ .., _]) = settings::PROFILE.kind else { panic!("it has words") };
        assert!(all.counted().eq(words.iter().map(|word| word.name)));
        assert!(all.complaints.is_empty(), "{:?}", all.complaints);
    }

    #[test]
    fn without_a_word_or_with_a_wrong_one_the_default_holds() {
        for config in [read(&[]), read(&[("MEL_TELL_SIZE", "big"), ("MEL_EVERY", "soon"), ("MEL_MODE", "x")])]
        {
            assert_eq!((config.tell_size, config.every), (1 << 30, Duration::from_secs(1)));
            assert_eq!((config.access, config.budget), (Access::Private, Some(Share(0.03))));
        }
        assert_eq!(read(&[("MEL_TELL_SIZE", "0")]).tell_size, 0);
    }

    #[test]
    fn a_wrong_value_has_a_line_with_the_remedy() {
        assert_eq!(
            read(&[("MEL_PROFILE", "yes")]).complaints,
            ["MEL_PROFILE=yes: give some of calls, queues, rma, matrix and net, or none"]
        );
        assert_eq!(
            read(&[("MPIT_SOURCES", "psm")]).complaints,
            ["MPIT_SOURCES=psm: give auto, or some of peruse, model and native"]
        );
        let config = read(&[("MEL_CALLSITES", "1")]);
        assert_eq!(
            config.complaints,
            ["MEL_CALLSITES=1: call sites are in traces only; set MEL_TRACE=1, too"]
        );
        assert!(!config.call_sites);
        assert!(read(&[("MEL_CALLSITES", "1"), ("MEL_TRACE", "1")]).call_sites);
        let check = read(&[("MEL_CHECK", "1")]);
        assert!(check.trace && check.call_sites && check.complaints.is_empty());
        let config = read(&[("MPIT_PROGRESS", "yes")]);
        assert_eq!(config.complaints, ["MPIT_PROGRESS=yes: give none, thread or signal"]);
    }
}
