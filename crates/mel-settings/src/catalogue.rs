//! The entries, in the order of help and documentation.

use super::{Flag, Kind, Reach, Setting, Unset, Word};

macro_rules! catalogue {
    ($($(#[$meta:meta])* $name:ident = $setting:expr;)*) => {
        $($(#[$meta])* pub static $name: Setting = $setting;)*

        /// All settings, in the order of help and documentation.
        pub static ALL: &[&Setting] = &[$(&$name),*];
    };
}

/// The parts of help: each with the setting that it begins with, and up to the next part.
static HEADINGS: &[(&str, &Setting)] = &[
    ("What is measured", &EVENTS),
    ("What is printed at the end", &LINES),
    ("Trace", &TRACE),
    ("Control variables", &SET),
    ("While the program runs", &PAUSED),
    ("Files", &LIMIT),
];

/// The part of help in which a setting is.
#[must_use]
pub fn heading(setting: &Setting) -> Option<&'static str> {
    let place = |of: &Setting| ALL.iter().position(|known| *known == of);
    let own = place(setting);
    HEADINGS.iter().rfind(|(_, first)| place(first) <= own).map(|(heading, _)| *heading)
}

/// An option with a value.
const fn option(long: &'static str, value: &'static str) -> Flag {
    Flag { long, short: None, value, repeats: false, needs: None }
}

/// An option without.
const fn switch(long: &'static str) -> Flag {
    option(long, "")
}

const fn word(name: &'static str, meaning: &'static str) -> Word {
    Word { name, meaning }
}

/// What others are made of: an option that is handed over as it was given.
const GIVEN: Setting = Setting {
    name: "",
    option: None,
    kind: Kind::On,
    default: Unset::NONE,
    reach: Reach::AsGiven,
    short: "",
    long: "",
    more: "",
};

/// What others are made of: only the environment has it.
const INHERITED: Setting = Setting { reach: Reach::Inherited, ..GIVEN };

/// The words of [`PROFILE`].
pub mod counted {
    /// Time and bytes by MPI function, and what is waited for.
    pub const CALLS: &str = "calls";
    /// The message queues.
    pub const QUEUES: &str = "queues";
    /// One-sided communication.
    pub const RMA: &str = "rma";
    /// Who sends what to whom.
    pub const MATRIX: &str = "matrix";
    /// What the MPI moves below the calls.
    pub const NET: &str = "net";
    /// Nothing.
    pub const NONE: &str = "none";
}

/// What `mel run` can count.
static PROFILES: [Word; 6] = [
    word(
        counted::CALLS,
        "Time and bytes by MPI function, call site and communicator; time lost waiting, and for whom",
    ),
    word(
        counted::QUEUES,
        "Lifetimes, lengths and search times of the posted and the unexpected message queue",
    ),
    word(counted::RMA, "Operations, epochs and locks of windows, by thread"),
    word(
        counted::MATRIX,
        "Messages and bytes by peer, communicator and kind of communication: the communication matrix",
    ),
    word(
        counted::NET,
        "Bytes that the MPI moves below the calls, by peer: over TCP, and out of the memory of other \
         processes",
    ),
    word(counted::NONE, "Nothing"),
];

catalogue! {
    /// Event types to log.
    EVENTS = Setting {
        name: "MEL_EVENTS",
        option: Some(Flag { short: Some('e'), ..option("events", "LIST") }),
        kind: Kind::Events,
        short: "Log these events: names separated by commas, colons, semicolons or blanks",
        long: "A name may be a pattern (pml_ob1_*), its last words (rdma_fence), or all. What is counted is counted as without it: \
               --profile none leaves that out.",
        ..GIVEN
    };
    /// What is counted.
    PROFILE = Setting {
        name: "MEL_PROFILE",
        option: Some(Flag { repeats: true, ..option("profile", "PROFILE") }),
        kind: Kind::SomeOf(&PROFILES),
        default: Unset::value("calls,queues"),
        reach: Reach::Made,
        short: "What to count: calls, the message queues, one-sided communication, who sends what to whom, \
                what the MPI moves below the calls (calls,queues,rma,matrix,net for all), or nothing",
        ..GIVEN
    };
    /// Whether the messages of the library itself are counted, too.
    INSIDE = Setting {
        name: "MEL_INSIDE",
        option: Some(switch("inside")),
        short: "Count also each message of the MPI library itself, so those that collective operations are \
                made of: as Open MPI's own monitoring component sees them, or as the library hands them over \
                to UCX. Includes --profile matrix. Where there is neither, one line says so",
        long: "mel run switches the component on by OMPI_MCA_pml_monitoring_enable=2, where that is not set.",
        more: "below-the-calls.md#inside-the-library",
        ..GIVEN
    };
    /// Whether variables and the matrix count what Open MPI's monitoring component counts and MEL does not.
    AS_COMPONENT = Setting {
        name: "MEL_AS_COMPONENT",
        option: Some(switch("as-component")),
        short: "Count as Open MPI's monitoring component does, in its variables: also what a process sends to \
                itself, and operations with MPI_NO_OP as if they brought data; these in the matrix, too",
        long: "For libmpit_events.so, too.",
        more: "variables.md#as-the-component-counts",
        ..GIVEN
    };
    /// Performance variables to sample.
    VARS = Setting {
        name: "MEL_VARS",
        option: Some(option("vars", "LIST")),
        kind: Kind::PatternsOrAll,
        short: "Sample these performance variables (MPI_T) while the program runs: names with wildcards, \
                such as 'pml_*,unexpected_recvq_length', or all; of the MPI and of MEL",
        more: "variables.md#sampling",
        ..GIVEN
    };
    /// The time between two samples.
    EVERY = Setting {
        name: "MEL_EVERY",
        option: Some(option("every", "TIME")),
        kind: Kind::Time,
        default: Unset::value("1s"),
        short: "With --vars: the time between two samples, such as 500ms or 2s; 0 for those alone that the \
                program asks for with mel_sample()",
        ..GIVEN
    };
    /// Performance variables to attribute.
    ATTRIBUTE = Setting {
        name: "MEL_ATTRIBUTE",
        option: Some(option("attribute", "LIST")),
        kind: Kind::PatternsOrAll,
        short: "Attribute these performance variables to MPI functions, call sites and regions: names as \
                with --vars, or all. Includes --profile calls",
        more: "variables.md#attribution",
        ..GIVEN
    };
    /// The share of the time that reading these may take.
    ATTRIBUTE_BUDGET = Setting {
        name: "MEL_ATTRIBUTE_BUDGET",
        option: Some(Flag { needs: Some(&ATTRIBUTE), ..option("attribute-budget", "SHARE") }),
        kind: Kind::Share,
        default: Unset::value("3%"),
        short: "With --attribute: the share of the time that reading variables may take that are more than \
                a load, such as 3%; what some calls only are read for is estimated. none: every call is \
                read",
        ..GIVEN
    };
    /// The share of the run that counting receives in the queues may take.
    BUDGET = Setting {
        name: "MEL_BUDGET",
        option: Some(option("budget", "SHARE")),
        kind: Kind::Share,
        default: Unset::value("5%"),
        short: "The share of the run that counting receives in the queues may take, such as 5%. Where they come so \
                densely that counting all would take more, each that is counted stands for others; calls, bytes, the \
                time in MPI and what was waited for stay exact. none: all are counted",
        more: "modes.md#where-all-would-take-too-long",
        ..GIVEN
    };
    /// Whether all is followed, whatever it takes.
    EXACT = Setting {
        name: "MEL_EXACT",
        option: Some(switch("exact")),
        short: "Count every receive in the queues, whatever it takes: the same as --budget none",
        more: "modes.md#where-all-would-take-too-long",
        ..GIVEN
    };
    /// The ranks that idle by design.
    IDLE = Setting {
        name: "MEL_IDLE",
        option: Some(option("idle", "RANKS")),
        kind: Kind::RankList,
        short: "These ranks, such as 0,4-7, idle by design, as a master or a server does: that they wait is no \
                loss, and no finding",
        more: "verdict.md#the-budget",
        ..GIVEN
    };
    /// Samples of the program's stacks.
    SAMPLE = Setting {
        name: "MEL_SAMPLE",
        option: Some(switch("sample")),
        short: "Sample the stack of each rank's thread that calls MPI, 100 times in a second that it computes, not 20, \
                and read the processor's counters, where there are any: the verdict says in which function and line \
                a slow rank is longer than the others, and whether it has more to do or does it slower. Without \
                signals; the kernel has to allow it. MEL_SAMPLE=0: sample nothing",
        more: "sampling.md",
        ..GIVEN
    };
    /// Whether the processor's counters are read.
    COUNTERS = Setting {
        name: "MEL_COUNTERS",
        kind: Kind::Off,
        short: "With --sample: leave the processor's counters alone, instructions, cycles and cache misses, by which \
                the verdict says why a rank computes longer. For programs that use all of them themselves",
        more: "verdict.md#what-the-processor-counts",
        ..INHERITED
    };
    /// Counters that are made up.
    FAKE_COUNTERS = Setting {
        name: "MEL_FAKE_COUNTERS",
        kind: Kind::Assignments,
        short: "For tests on machines without counters: in place of the processor's, numbers that grow by these rates \
                for each second on a processor: instructions, cycles, misses, of all ranks or of some \
                (instructions=2e9;instructions=1e9@1). The later one holds",
        more: "verdict.md#what-the-processor-counts",
        ..INHERITED
    };
    /// Plugins.
    PLUGINS = Setting {
        name: "MEL_PLUGINS",
        option: Some(Flag { repeats: true, ..option("plugin", "NAME[,ARGS]") }),
        kind: Kind::Plugins,
        reach: Reach::Made,
        short: "Load a plugin into each process: a shared object that receives what is sampled and advises, \
                or sets control variables; by its path, or by its name in MEL_PLUGINS_PATH. What follows, \
                separated by commas, is given to it. May be given several times",
        more: "plugins.md",
        ..GIVEN
    };
    /// Where plugins are looked for.
    PLUGINS_PATH = Setting {
        name: "MEL_PLUGINS_PATH",
        kind: Kind::Directories,
        short: "Where plugins are looked for by name: as NAME, libNAME.so and NAME.so, and nowhere else",
        more: "plugins.md",
        ..INHERITED
    };
    /// Whether the end of the run has a line of statistics for each queue and window of each rank.
    LINES = Setting {
        name: "MEL_LINES",
        option: Some(switch("lines")),
        short: "At the end print the statistics of each rank's queues and windows, too: a line for each",
        ..GIVEN
    };
    /// Whether all tables are printed at the end.
    FULL = Setting {
        name: "MEL_FULL",
        option: Some(switch("full")),
        short: "At the end print all tables, as mel report does later, and not one screen of what matters most",
        ..GIVEN
    };
    /// Whether a trace is recorded.
    TRACE = Setting {
        name: "MEL_TRACE",
        option: Some(switch("trace")),
        short: "Record MPI calls, messages and queue searches; leaves traces.otf2 in the run's directory",
        ..GIVEN
    };
    /// The MPI functions whose calls are recorded.
    ONLY_CALLS = Setting {
        name: "MEL_ONLY_CALLS",
        option: Some(option("only-calls", "LIST")),
        kind: Kind::Patterns,
        short: "Record only calls of these MPI functions, such as 'MPI_*send*,MPI_Wait*'",
        more: "report.md#a-part-of-it",
        ..GIVEN
    };
    /// Those whose calls are not.
    NO_CALLS = Setting {
        name: "MEL_NO_CALLS",
        option: Some(option("no-calls", "LIST")),
        kind: Kind::Patterns,
        short: "Do not record calls of these MPI functions, such as 'MPI_Iprobe,MPI_Test*'; their messages \
                and operations on windows are recorded",
        more: "report.md#a-part-of-it",
        ..GIVEN
    };
    /// The communicators that are recorded.
    ONLY_COMMS = Setting {
        name: "MEL_ONLY_COMMS",
        option: Some(option("only-comms", "LIST")),
        kind: Kind::Patterns,
        short: "Record only these communicators: names that MPI_Comm_set_name gave, MPI_COMM_WORLD, or \
                numbers in the order of their making; and the windows made on them",
        more: "report.md#a-part-of-it",
        ..GIVEN
    };
    /// Those that are not.
    NO_COMMS = Setting {
        name: "MEL_NO_COMMS",
        option: Some(option("no-comms", "LIST")),
        kind: Kind::Patterns,
        short: "Do not record what concerns these communicators and the windows made on them: calls, \
                messages, operations, searches, events",
        more: "report.md#a-part-of-it",
        ..GIVEN
    };
    /// Whether a trace shows from where MPI functions are called.
    CALLSITES = Setting {
        name: "MEL_CALLSITES",
        option: Some(Flag { needs: Some(&TRACE), ..switch("callsites") }),
        short: "With --trace, find by unwinding from where each MPI function is called: the first caller \
                that is not in the MPI library. Takes about a microsecond per call. Without it, a trace \
                has the place that the function returns to",
        more: "report.md#the-lines-of-calls",
        ..GIVEN
    };
    /// Whether there is all in the trace that the search for mistakes needs.
    CHECK = Setting {
        name: "MEL_CHECK",
        option: Some(switch("check")),
        short: "Record what mel analyze needs to find mistakes that do no harm yet: sends that hang when \
                messages get longer, collective operations to which ranks come with different functions, \
                roots, counts, operations or types, messages received as another type, buffers that two \
                operations use at the same time. Includes --trace and --callsites",
        more: "stuck.md#before-it-hangs",
        ..GIVEN
    };
    /// Control variables to be set.
    SET = Setting {
        name: "MEL_SET",
        option: Some(Flag { repeats: true, ..option("set", "NAME=VALUE") }),
        kind: Kind::Assignments,
        reach: Reach::Made,
        short: "Set a control variable of the MPI or of MEL (mel vars lists them), for all ranks or for \
                some: NAME=VALUE, NAME=VALUE@0,4-7",
        long: "It is set in the environment (OMPI_MCA_NAME, or MPIR_CVAR_...), so that it precedes \
               MPI_Init; read back there, and written where it has not got its value. A line tells what \
               came of it. May be given several times.",
        more: "variables.md",
        ..GIVEN
    };
    /// Whether control variables can be set while the program runs.
    SETTABLE = Setting {
        name: "MEL_SETTABLE",
        option: Some(switch("settable")),
        short: "Control variables can be set while the program runs, by `mel watch --set`",
        more: "variables.md#while-the-run-goes-on",
        ..GIVEN
    };
    /// Policies.
    POLICY = Setting {
        name: "MEL_POLICY",
        option: Some(Flag { repeats: true, ..option("policy", "FILE.toml") }),
        kind: Kind::Policies,
        reach: Reach::Made,
        short: "Apply the policies of this file while the program runs: rules that set control variables \
                when something is so in a process",
        long: "They are looked at in an MPI call, at most once in the time of --every (1 s). Each action \
               is read back, reported in a line, and kept in the profile. May be given several times.",
        more: "tuning.md#policies",
        ..GIVEN
    };
    /// Whether nothing is recorded before the program asks for it.
    PAUSED = Setting {
        name: "MEL_PAUSED",
        option: Some(switch("paused")),
        short: "Record nothing until the program calls MPI_Pcontrol(1)",
        ..GIVEN
    };
    /// After how long without a move the job is called stuck.
    STUCK_AFTER = Setting {
        name: "MEL_STUCK_AFTER",
        option: Some(option("stuck-after", "TIME")),
        kind: Kind::Time,
        short: "When no rank has entered or left a call for so long, such as 60s, and no test has succeeded, \
                say once who waits for whom, and keep it in stuck.json in the run's directory; 0 for never",
        long: "A thread of one process of each node reads the tables of its node, and nothing else is done. It \
               needs --profile calls.",
        more: "stuck.md#while-it-runs",
        ..GIVEN
    };
    /// Whether a job that is stuck is ended.
    STUCK_ABORT = Setting {
        name: "MEL_STUCK_ABORT",
        option: Some(Flag { needs: Some(&STUCK_AFTER), ..switch("stuck-abort") }),
        short: "With --stuck-after: end the job then, with exit code 86; what was measured is kept",
        more: "stuck.md#while-it-runs",
        ..GIVEN
    };
    /// The most bytes of a rank's event log.
    LIMIT = Setting {
        name: "MEL_LIMIT",
        option: Some(option("limit", "SIZE")),
        kind: Kind::Size,
        short: "The most that the event log of each rank may take, such as 500M or 2G, but at least some \
                4M; what follows is counted, not kept",
        ..GIVEN
    };
    /// From which size on there are warnings how large all logs are.
    TELL_SIZE = Setting {
        name: "MEL_TELL_SIZE",
        option: Some(option("tell-size", "SIZE")),
        kind: Kind::SizeOrNever,
        default: Unset::value("1G"),
        short: "Warn how large the event logs are from this size on, each time that they have doubled; 0 \
                for never",
        ..GIVEN
    };
    /// The run's directory.
    OUTPUT = Setting {
        name: "MEL_OUTPUT",
        option: Some(Flag { short: Some('o'), ..option("output", "DIR") }),
        kind: Kind::Path,
        default: Unset::words("a fresh one named after the program"),
        short: "The run's directory; %j in its name is the job of the batch system",
        long: "As in the names of Slurm's own files, %j is the job (4711, or 4711_3 in an array of jobs), \
               %A the number of an array, %a the index in it; where there is no job, each is \"none\". \
               PBS, LSF and Grid Engine are known, too. The default is mel-app-1, in a job mel-app-4711-1.",
        more: "slurm.md#a-job-script",
        ..GIVEN
    };
    /// Who may read what the run leaves.
    MODE = Setting {
        name: "MEL_MODE",
        option: Some(option("mode", "WHO")),
        kind: Kind::OneOf(&[word("private", ""), word("group", ""), word("all", "")]),
        default: Unset::value("private"),
        short: "Who may read what the run leaves, command lines and names among it: you, your group, too, \
                or all users",
        long: "New directories and files have these modes whatever the umask is: 0700 and 0600; 0750 and \
               0640 for the group; 0755 and 0644 for all.",
        more: "security.md",
        ..GIVEN
    };
    /// Whether an earlier run may be overwritten.
    FORCE = Setting {
        name: "MEL_FORCE",
        option: Some(switch("force")),
        short: "Overwrite an earlier run in that directory",
        ..GIVEN
    };
    /// Up to how many ranks each rank's numbers are collected.
    EXACT_RANKS = Setting {
        name: "MEL_EXACT_RANKS",
        kind: Kind::Ranks,
        default: Unset::value("1024"),
        short: "Up to how many ranks the profile has each of them, and not sums",
        more: "many-ranks.md",
        ..INHERITED
    };
    /// Whether a profile is made of what all ranks have counted.
    COLLECT = Setting {
        name: "MEL_COLLECT",
        kind: Kind::Off,
        short: "Collect nothing at the end, so that MEL sends no message between ranks there; each rank \
                leaves its table, and mel report reads them",
        ..INHERITED
    };
    /// The folder of InfiniBand's devices.
    INFINIBAND = Setting {
        name: "MEL_INFINIBAND",
        kind: Kind::Path,
        default: Unset::value("/sys/class/infiniband"),
        short: "The folder of InfiniBand's devices, whose ports are read with --profile net",
        more: "below-the-calls.md#connections-by-interface",
        ..INHERITED
    };
    /// Where `libmel.so` is.
    LIBRARY = Setting {
        name: "MEL_LIBRARY",
        kind: Kind::Path,
        default: Unset::words("beside the command"),
        reach: Reach::Command,
        short: "Where mel run finds libmel.so",
        ..GIVEN
    };
    /// Who raises the queue events.
    SOURCES = Setting {
        name: "MPIT_SOURCES",
        kind: Kind::Sources,
        default: Unset::value("auto"),
        short: "Who raises the queue events",
        more: "#who-raises-the-queue-events",
        ..INHERITED
    };
    /// Who takes envelopes in between MPI calls.
    PROGRESS = Setting {
        name: "MPIT_PROGRESS",
        kind: Kind::OneOf(&[word("none", ""), word("thread", ""), word("signal", "")]),
        default: Unset::value("none"),
        short: "A thread or a timer signal notices messages while the program computes",
        more: "#progress-between-mpi-calls",
        ..INHERITED
    };
    /// How envelopes travel.
    ENVELOPES = Setting {
        name: "MPIT_ENVELOPES",
        kind: Kind::OneOf(&[word("auto", ""), word("messages", "")]),
        default: Unset::value("auto"),
        short: "With messages, envelopes go in messages on one node, too, and not through shared memory",
        ..INHERITED
    };
    /// The program's name.
    PROGRAM = Setting {
        name: "MEL_PROGRAM",
        kind: Kind::Text,
        default: Unset::words("that of its file"),
        reach: Reach::ByRun,
        short: "The program's name, after which the run's directory is named",
        ..GIVEN
    };
    /// The terminal on which the end of the run is read.
    TERMINAL = Setting {
        name: "MEL_TERMINAL",
        kind: Kind::Text,
        default: Unset::words("100 columns without colours"),
        reach: Reach::ByRun,
        short: "The columns of the terminal on which the end of the run is read, and whether it has colours: 80, or \
                80,colours",
        ..GIVEN
    };
    /// The process that `mel run` has become.
    STARTED = Setting {
        name: "MEL_STARTED",
        kind: Kind::Text,
        reach: Reach::ByRun,
        short: "The number of the process that mel run has become: one that has not initialised MPI in the \
                end says so",
        ..GIVEN
    };
}
