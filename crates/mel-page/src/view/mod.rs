//! A run as people look at it: what the page and the pictures show, small enough for both.
//!
//! - [`figures`]: numbers per rank and distributions, from the profile.
//! - [`calls`]: MPI calls by rank, by call site, and what they waited for, from the profile.
//! - [`over`]: beyond some number of ranks, how each number is distributed over them.
//! - [`communicators`]: the queues of each communicator.
//! - [`events`]: one pass over the event logs, which feeds the other rooms; `pass`: over that of one rank.
//! - [`timeline`]: calls and searches; what no eye can see is drawn together.
//! - [`exact`]: what costs time, from each call of the trace.
//! - [`efficiency`]: how well the ranks are used.
//! - [`arrows`]: messages between two rows of the timeline.
//! - [`lengths`]: the lengths of the queues over time.
//! - [`traffic`]: who sends what to whom, from the profile.
//! - [`matrix`]: who sends to whom, from the event logs.
//! - [`variables`]: performance variables over time; [`attribution`]: by MPI function, region and call site.
//! - [`network`]: the links of the network, and what they carried.
//! - [`class`]: what an MPI call does, for its colour.
//!
//! Knows neither HTML nor pixels. However long the run was, a [`View`] has a bounded size.
//!
//! # The data of a page
//!
//! A page holds a [`View`] as JSON, whose objects have the names of the fields here. No number means something by
//! its place in a list:
//!
//! - What there may be many of is a table, by columns: `{"sender": [0, 1], "bytes": [8, 16]}` for two
//!   [cells](matrix::Cell). Without rows it is `{}`. The page makes rows of it again.
//! - What is of several kinds is an object with a table for each kind, as are the
//!   [attributes](timeline::Attribute) of calls: `{"message": {"of": [3], "peer": [1], …}}`. The column `of` has the
//!   place of the slice that the row belongs to.
//! - A place is a number from 0 on in another list, which the field's description names.
//! - Where numbers ascend, `steps` has the difference of each to the one before, of the first to 0.
//! - Names end with the unit: `_ns`, `_s`, `bytes`. Times of the timeline are nanoseconds since the first record.

pub mod arrows;
pub mod attribution;
pub mod calls;
mod calls_of_many;
pub mod class;
pub mod code;
pub mod communicators;
pub mod efficiency;
pub mod events;
pub mod exact;
pub mod figures;
pub mod lengths;
pub mod matrix;
mod moved;
pub mod network;
pub mod over;
mod pass;
mod table;
pub mod timeline;
pub mod traffic;
pub mod variables;

use serde::Serialize;

use mel_analyze::rendezvous::PROTOCOLS;
use mel_analyze::{Analysis, HIDDEN, Overlap, Rendezvous};
use mel_convert::Run;
use mel_log::profile::columns::Columns;
use mel_log::profile::findings::findings;
use mel_log::profile::text::header;
use mel_log::profile::{Finding, Profile, Remark, processors, text};

/// What there is to show of a run.
#[derive(Debug, Serialize)]
pub struct View {
    /// The program and its arguments.
    pub command: String,
    /// Where it ran and what has started it, in a few words: `on node0 by mpirun`; empty where nothing is known.
    pub place: String,
    /// The MPI library, by the first line that it says of itself.
    pub mpi: String,
    /// Where the queue events came from.
    pub backend: String,
    /// The version of MEL that measured.
    pub mel_version: String,
    /// Seconds since 1970-01-01 UTC; 0 if not known.
    pub started_unix_s: f64,
    /// Seconds from `MPI_Init` to the end of the measurement.
    pub duration_s: f64,
    /// Number of ranks of the run.
    pub world_size: u32,
    /// What costs time, worst first; none if calls were not counted.
    pub verdict: Option<Vec<Finding>>,
    /// How well the ranks are used; none where that is not known.
    pub efficiency: Option<efficiency::View>,
    /// Where the time of all ranks goes, in sentences: how ranks had processors, the parts, what is not explained.
    pub budget: Vec<String>,
    /// The parts of that time; none where they are not known.
    pub budget_parts: Vec<Part>,
    /// What there is to say where no finding is worth a sentence.
    pub without_findings: Option<String>,
    /// The findings of the trace, worst first; none without one.
    pub exact: Option<Vec<Finding>>,
    /// The critical path of the trace, in a sentence; none where it is not known.
    pub critical_path: Option<String>,
    /// How much of the trace's nonblocking messages was hidden behind work, by the lines that start them and that wait for them.
    pub overlap: Vec<Overlap>,
    /// What that is.
    pub overlap_is: &'static str,
    /// Which protocol would suit the trace's long messages, by the lines that send and that receive them; only where it makes a difference.
    pub rendezvous: Vec<Rendezvous>,
    /// What its times are.
    pub protocols_are: &'static str,
    /// The calls of the profile; none if they were not counted.
    pub calls: Option<calls::Calls>,
    /// Where a rank computes, by samples; none where there are none.
    pub code: Option<code::Code>,
    /// What stands out, in words.
    pub findings: Vec<String>,
    /// Numbers per rank; none without a profile.
    pub figures: Option<figures::Figures>,
    /// The numbers over all ranks, where there are too many to show each.
    pub over: Option<over::Over>,
    /// Who sends what to whom; none if it was not counted.
    pub traffic: Option<traffic::Traffic>,
    /// The communicators that are known.
    pub communicators: Vec<communicators::Row>,
    /// Performance variables that were sampled.
    pub variables: Vec<variables::Variable>,
    /// What performance variables did in calls and regions; none where nothing was attributed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribution: Option<attribution::Attribution>,
    /// What the event logs hold; none without any.
    pub events: Option<events::Events>,
    /// The network and what its links carried, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<network::Network>,
}

/// The part of a run that is looked at, in seconds since its first record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Its beginning.
    pub from: Option<f64>,
    /// Its end.
    pub to: Option<f64>,
}

/// Puts together what there is to show. `tick` is given how many more records have been read, of about
/// [`Run::records_at_most`].
pub fn view(
    profile: Option<&Profile>,
    logs: Option<&Run>,
    window: Window,
    tick: &(dyn Fn(u64) + Sync),
) -> View {
    let empty = Profile::default();
    let of_run = profile.unwrap_or(&empty);
    let mut events = logs.map(|run| events::read_logs(run, window, tick));
    let sampled =
        events.as_mut().map(|events| std::mem::take(&mut events.variables)).filter(|all| !all.is_empty());
    let mut sentences = profile.map(findings).unwrap_or_default();
    let early = logs.map_or(0, Run::ended_early);
    if early > 0 && profile.is_none() {
        let ranks = if early == 1 { "rank" } else { "ranks" };
        sentences.push(format!("{early} {ranks} ended before MPI_Finalize: everything until then is shown"));
    }
    sentences.extend(logs.map(Run::incomplete).unwrap_or_default());
    for filter in logs.map(Run::filters).unwrap_or_default() {
        sentences.push(format!("the event log has only a part of the run: {filter}"));
    }
    let lost = logs.map_or(0, Run::lost);
    if lost > 0 {
        sentences.push(format!(
            "{lost} records are missing in the event logs: the disk was full, or --limit reached"
        ));
    }
    View {
        command: of_run.command.join(" "),
        place: header::place(of_run),
        mpi: of_run.mpi_name(),
        backend: of_run.backend.clone(),
        mel_version: of_run.mel_version.clone(),
        started_unix_s: of_run.started_unix_s,
        duration_s: of_run.duration_s,
        world_size: of_run.world_size.max(logs.map_or(0, Run::world_size)),
        verdict: of_run.verdict.clone(),
        efficiency: of_run.efficiency.as_ref().map(|all| efficiency::view(all, &of_run.phases)),
        budget: budget_of(of_run),
        budget_parts: parts_of(of_run),
        without_findings: text::verdict::without_findings(of_run),
        exact: None,
        critical_path: None,
        overlap: Vec::new(),
        overlap_is: HIDDEN,
        rendezvous: Vec::new(),
        protocols_are: PROTOCOLS,
        calls: calls::calls(of_run),
        code: code::code(of_run),
        findings: sentences,
        figures: profile
            .filter(|profile| !profile.ranks.is_empty() || profile.reduced.is_some())
            .map(figures::figures),
        over: profile.and_then(over_ranks),
        traffic: profile.and_then(traffic::traffic),
        communicators: communicators::rows(profile, logs, events.as_ref().map(|events| &events.traffic)),
        variables: sampled.or_else(|| profile.map(variables::variables)).unwrap_or_default(),
        attribution: profile.and_then(attribution::attribution),
        events,
        network: None,
    }
}

/// A part of the time of all ranks.
#[derive(Debug, Serialize)]
pub struct Part {
    /// What it is, in the words of the text.
    pub name: &'static str,
    /// Of all, from 0 to 1.
    pub share: f64,
}

/// Each part of the ranks' time with its share, computing first.
fn parts_of(profile: &Profile) -> Vec<Part> {
    let Some(parts) = profile.budget.as_ref().map(|budget| budget.parts) else { return Vec::new() };
    let share = |seconds: f64| if parts.total_s > 0.0 { seconds / parts.total_s } else { 0.0 };
    parts.named().map(|(name, seconds)| Part { name, share: share(seconds) }).into()
}

/// Where the time goes, as the text of a report says it.
fn budget_of(profile: &Profile) -> Vec<String> {
    let unexplained = profile.budget.as_ref().map(text::budget::unexplained).unwrap_or_default();
    processors::sentence(profile).into_iter().chain(text::budget::parts(profile)).chain(unexplained).collect()
}

/// The ranks together, where there are too many to show each.
fn over_ranks(profile: &Profile) -> Option<over::Over> {
    match &profile.reduced {
        Some(reduced) => Some(over::of_sums(reduced.ranks, &reduced.over_ranks)),
        None if profile.ranks.len() > over::MOST_RANKS => Some(over::of_columns(&Columns::of(profile))),
        None => None,
    }
}

impl View {
    /// Adds the numbers of each of very many ranks: for a page, and for pictures if there shall be any.
    pub fn add_ranks(&mut self, columns: &Columns, pictures: bool) {
        self.over = Some(over::of_columns(columns));
        if let Some(figures) = self.figures.as_mut().filter(|_| pictures) {
            figures.add_ranks(columns);
        }
    }

    /// Adds what each call of a trace says to what these ranks have in the profile. That takes twice as long as all else; `tick` is as for
    /// [`view`].
    pub fn analyze(
        &mut self,
        run: &Run,
        ranks: &[mel_log::profile::RankProfile],
        tick: &(dyn Fn(u64) + Sync),
    ) {
        let analysis = exact::analysis(run, tick);
        self.exact = analysis.as_ref().map(|analysis| analysis.verdict.clone());
        self.verdict = exact::verdict(run, self.exact.as_deref(), self.verdict.as_deref());
        let known = self.efficiency.take();
        let (known, phases) = known.map(|known| (known.all, known.names)).unzip();
        let remarks = analysis.iter().flat_map(|analysis| &analysis.remarks);
        self.findings.extend(remarks.map(Remark::sentence));
        self.findings.extend(analysis.iter().flat_map(Analysis::worth_an_operation));
        self.critical_path =
            analysis.as_ref().and_then(|analysis| Some(analysis.critical_path.as_ref()?.sentence()));
        let phases = phases.unwrap_or_default();
        let all = exact::efficiency(run, analysis.as_ref(), known, (&phases, ranks));
        self.efficiency = all.map(|all| efficiency::view(&all, &phases));
        if let Some(analysis) = analysis {
            self.overlap = analysis.overlap;
            self.rendezvous = analysis.rendezvous;
            self.rendezvous.retain(|of| of.lost.best.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;
    use serde_json::Value;

    /// Where a list is within a list.
    fn lists_in_lists(at: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(all) => {
                if all.iter().any(Value::is_array) {
                    found.push(at.to_owned());
                }
                all.iter().for_each(|one| lists_in_lists(at, one, found));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(name, one)| lists_in_lists(&format!("{at}.{name}"), one, found));
            }
            _ => {}
        }
    }

    #[test]
    fn no_number_means_something_by_its_place_in_a_list() {
        for profile in [sample::late_rank(4, 1), sample::traffic(8), sample::reduced(600, 1)] {
            let view = view(Some(&profile), None, Window::default(), &|_| {});
            let mut found = Vec::new();
            lists_in_lists("", &serde_json::to_value(view).unwrap(), &mut found);
            assert_eq!(found, [""; 0]);
        }
    }
}
