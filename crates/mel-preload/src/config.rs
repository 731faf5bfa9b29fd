//! What the user asked for, from the environment.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use mpit_sources::between_calls::BetweenCalls;
use mpit_sources::calls::Path;
use mpit_sources::{Following, Selection};

use mel_log::access::Access;
use mel_log::choice::Choice;
use mel_log::names::parse_list;
use mel_log::number::{bytes, interval, share};
use mel_log::plugin_list::PluginName;

/// Up to so many ranks, each one's numbers are collected, unless another number is given.
const EXACT_RANKS: u32 = 1024;

/// Between two samples of performance variables, unless another time is given.
const EVERY: Duration = Duration::from_secs(1);

/// The share of the time that reading variables may take that are attributed, unless another one is given.
const BUDGET: f64 = 0.03;

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
    /// Whether what Open MPI's own monitoring component sees is counted, too (`MEL_INSIDE=1`); then the matrix is on.
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
    /// Plugins (`MEL_PLUGINS`), and where they are looked for (`MEL_PLUGINS_PATH`), with colons between them. Where there are some, `vars` is
    /// something, too.
    pub plugins: Vec<PluginName>,
    /// See `plugins`.
    pub plugins_path: String,
    /// Whether nothing was said about the profile: then MEL was preloaded by hand.
    pub profile_unset: bool,
    /// Whether the end of the run has a line of statistics for each queue and window of each rank (`MEL_LINES=1`).
    pub lines: bool,
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
    /// Whether nothing is recorded before `MPI_Pcontrol(1)` (`MEL_PAUSED=1`).
    pub paused: bool,
    /// Control variables to be set (`MEL_SET`).
    pub set: Option<String>,
    /// Whether control variables can be set while the program runs (`MEL_SETTABLE=1`).
    pub settable: bool,
    /// Policies, as [`mel_rules::policy`] encodes them (`MEL_POLICY`).
    pub policy: Option<String>,
    /// The most bytes of a rank's event log (`MEL_LIMIT`: a number, and `K`, `M`, `G` or `T` for binary multiples).
    pub limit: Option<u64>,
    /// From which size on there are warnings how large all logs are, in bytes; 0 for never (`MEL_TELL_SIZE`, as `MEL_LIMIT`).
    pub tell_size: Option<u64>,
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

impl Config {
    /// The configuration of this process.
    pub fn from_environment() -> Config {
        Config::read(|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Config {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let flag = |name: &str| set(name).is_some_and(|value| value != "0");
        let mut config = Config {
            events: set("MEL_EVENTS")
                .map(|list| parse_list(&list).map(str::to_owned).collect::<Vec<_>>())
                .filter(|names| !names.is_empty()),
            lines: flag("MEL_LINES"),
            leaves_tables: set("MEL_COLLECT").is_some_and(|value| value == "0"),
            trace: flag("MEL_TRACE"),
            call_sites: flag("MEL_CALLSITES"),
            paused: flag("MEL_PAUSED"),
            set: set("MEL_SET"),
            settable: flag("MEL_SETTABLE"),
            policy: set("MEL_POLICY"),
            output: set("MEL_OUTPUT").map(PathBuf::from),
            force: flag("MEL_FORCE"),
            program: set("MEL_PROGRAM").unwrap_or_else(own_name),
            exact_ranks: EXACT_RANKS,
            every: EVERY,
            budget: Some(Share(BUDGET)),
            ..Config::default()
        };
        match set("MEL_PROFILE").as_deref() {
            Some("none") => {}
            Some(list) => config.read_profile(list),
            None => config.profile_unset = true,
        }
        config.inside = flag("MEL_INSIDE");
        config.matrix |= config.inside;
        let mut complaints = Vec::new();
        let mut choice = |only: &str, without: &str| {
            let lists = (set(only).unwrap_or_default(), set(without).unwrap_or_default());
            Choice::new(&lists.0, &lists.1).unwrap_or_else(|complaint| {
                complaints.push(format!("{only}, {without}: {complaint}"));
                Choice::default()
            })
        };
        config.calls = choice("MEL_ONLY_CALLS", "MEL_NO_CALLS");
        config.comms = choice("MEL_ONLY_COMMS", "MEL_NO_COMMS");
        config.complaints.append(&mut complaints);
        if let Some(list) = set("MEL_VARS").filter(|list| list != "none") {
            match Choice::new(if list == "all" { "" } else { &list }, "") {
                Ok(choice) => config.vars = Some(choice),
                Err(complaint) => config.complaints.push(format!("MEL_VARS: {complaint}")),
            }
        }
        if let Some(list) = set("MEL_ATTRIBUTE").filter(|list| list != "none") {
            match Choice::new(if list == "all" { "" } else { &list }, "") {
                Ok(choice) => {
                    config.attribute = Some(choice);
                    config.call_profile = true;
                }
                Err(complaint) => config.complaints.push(format!("MEL_ATTRIBUTE: {complaint}")),
            }
        }
        if let Some(budget) = set("MEL_ATTRIBUTE_BUDGET") {
            match share(&budget) {
                Some(budget) => config.budget = budget.map(Share),
                None => config.complaints.push(format!(
                    "MEL_ATTRIBUTE_BUDGET={budget}: give a share of the time such as 3%, or none for no limit"
                )),
            }
        }
        config.plugins = set("MEL_PLUGINS").map(|list| PluginName::list(&list)).unwrap_or_default();
        config.plugins_path = set("MEL_PLUGINS_PATH").unwrap_or_default();
        if !config.plugins.is_empty() && config.vars.is_none() {
            // The sampler runs, and samples what they want.
            config.vars = Choice::new("", "*").ok();
        }
        if let Some(time) = set("MEL_EVERY") {
            match interval(&time) {
                Some(every) => config.every = every,
                None => {
                    config.complaints.push(format!("MEL_EVERY={time}: give a time such as 500ms or 2s, or 0"))
                }
            }
        }
        if let Some(mode) = set("MEL_MODE") {
            match Access::parse(&mode) {
                Some(access) => config.access = access,
                None => config.complaints.push(format!("MEL_MODE={mode}: give private, group or all")),
            }
        }
        if let Some(limit) = set("MEL_LIMIT") {
            config.limit = bytes(&limit);
            if config.limit.is_none() {
                config.complaints.push(format!("MEL_LIMIT={limit}: give a size such as 500M or 2G"));
            }
        }
        if let Some(size) = set("MEL_TELL_SIZE") {
            config.tell_size = if size == "0" { Some(0) } else { bytes(&size) };
            if config.tell_size.is_none() {
                config.complaints.push(format!("MEL_TELL_SIZE={size}: give a size such as 500M or 2G, or 0"));
            }
        }
        if let Some(ranks) = set("MEL_EXACT_RANKS") {
            match ranks.parse() {
                Ok(ranks) => config.exact_ranks = ranks,
                Err(_) => config.complaints.push(format!("MEL_EXACT_RANKS={ranks}: give a number of ranks")),
            }
        }
        if config.call_sites && !config.trace {
            config.call_sites = false;
            config
                .complaints
                .push("MEL_CALLSITES=1: call sites are in traces only; set MEL_TRACE=1, too".into());
        }
        if config.settable && !config.measures() {
            config.settable = false;
            config.complaints.push(
                "MEL_SETTABLE=1: nothing is measured, so that there is no directory to ask in; choose a profile, too".into(),
            );
        }
        match set("MPIT_ENVELOPES").as_deref() {
            Some("messages") => config.following.path = Path::Messages,
            None | Some("auto") => {}
            Some(other) => config.complaints.push(format!("MPIT_ENVELOPES={other}: give auto or messages")),
        }
        match set(BetweenCalls::VARIABLE).as_deref().unwrap_or_default().parse() {
            Ok(between_calls) => config.following.between_calls = between_calls,
            Err(complaint) => config.complaints.push(complaint),
        }
        match Selection::parse(&set(Selection::VARIABLE).unwrap_or_default()) {
            Ok(selection) => config.sources = selection,
            Err(complaint) => config.complaints.push(complaint),
        }
        config
    }

    fn read_profile(&mut self, list: &str) {
        for name in parse_list(list) {
            match name {
                "calls" => self.call_profile = true,
                "queues" => self.profile = true,
                "rma" => self.windows = true,
                "matrix" => self.matrix = true,
                "net" => self.carried = true,
                _ => {
                    return self.complaints.push(format!(
                        "MEL_PROFILE={list}: give some of calls, queues, rma, matrix and net, or none"
                    ));
                }
            }
        }
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
        let config = read(&[("MPIT_PROGRESS", "yes")]);
        assert_eq!(config.complaints, ["MPIT_PROGRESS=yes: give none, thread or signal"]);
    }
}
