//! The quantities of a run that is over, from its profile.

use mel_log::profile::traffic::sizes_of_bin;
use mel_log::profile::{Profile, TrafficKind, WaitKind, sums};

use mpi_functions::{Kind as Of, Mode, Step};

use crate::expr::{Kind, Quantities, Quantity, Value};

const fn plain(name: &'static str, kind: Kind, meaning: &'static str) -> Quantity {
    Quantity { name, of: None, kind, meaning }
}

const fn of(name: &'static str, of: &'static str, kind: Kind, meaning: &'static str) -> Quantity {
    Quantity { name, of: Some(of), kind, meaning }
}

/// All of them.
pub const QUANTITIES: &[Quantity] = &[
    plain(
        "mpi",
        Kind::Text,
        "the MPI: 'Open MPI', 'MPICH', 'MVAPICH2', 'MVAPICH', 'Intel MPI', 'Cray MPICH' or 'other'",
    ),
    plain("mpi_major", Kind::Number, "the first number of its version"),
    plain("mpi_minor", Kind::Number, "the second"),
    plain("ranks", Kind::Number, "the number of ranks"),
    plain("hosts", Kind::Number, "the number of hosts"),
    plain("run", Kind::Seconds, "the mean time of the ranks between MPI_Init and MPI_Finalize"),
    plain("mpi_share", Kind::Share, "the share of the run that is spent in MPI"),
    plain("waiting_share", Kind::Share, "the share of the run that is lost waiting (estimated)"),
    plain("late_sender_share", Kind::Share, "the same for messages that are sent late"),
    plain("late_receiver_share", Kind::Share, "the same of sends for receives that are posted late"),
    plain(
        "collective_wait_share",
        Kind::Share,
        "the same in collective operations for the process that comes last",
    ),
    plain(
        "late_receiver_bytes",
        Kind::Bytes,
        "the greatest mean size of the messages whose sends lose a tenth or more of that",
    ),
    plain("mean_message_bytes", Kind::Bytes, "the mean size of the program's messages between two processes"),
    plain(
        "largest_message_bytes",
        Kind::Bytes,
        "the upper end of the bin that has the largest of them (--profile matrix)",
    ),
    plain("messages", Kind::Number, "how many messages between two processes (--profile matrix)"),
    plain(
        "unexpected_share",
        Kind::Share,
        "the share of messages that come before their receives are posted",
    ),
    plain("unexpected_bytes", Kind::Bytes, "the bytes of those"),
    of("share", "an MPI function", Kind::Share, "the share of the run that is spent in a function"),
    of("waiting", "an MPI function", Kind::Share, "the share of the run that it loses waiting (estimated)"),
    of(
        "algorithm",
        "an MPI function",
        Kind::Share,
        "the share of the run that it takes, but for waiting for ranks whose data it needs: data on its way, and waiting for ranks that pass data on",
    ),
    of("calls", "an MPI function", Kind::Number, "calls of it, on all ranks"),
    of("mean_bytes", "an MPI function", Kind::Bytes, "sent and received bytes of a call of it"),
    of(
        "variable",
        "a performance variable",
        Kind::List,
        "the last values of a variable that was sampled (--vars), by element: the greatest over the ranks",
    ),
];

/// The quantities of a profile.
#[derive(Clone, Copy, Debug)]
pub struct OfRun<'a>(&'a Profile);

impl<'a> OfRun<'a> {
    /// Those of this one.
    pub fn new(profile: &'a Profile) -> OfRun<'a> {
        OfRun(profile)
    }

    fn part(&self, seconds: f64) -> Option<f64> {
        let all = sums::all_runs_s(self.0);
        (all > 0.0).then(|| seconds / all)
    }

    fn lost(&self, kind: WaitKind) -> f64 {
        sums::waits(self.0).iter().filter(|wait| wait.kind == kind).map(|wait| wait.lost_s).sum()
    }

    fn lost_in(&self, function: &str, kind: WaitKind) -> f64 {
        let waits = sums::waits(self.0);
        let of = waits.iter().filter(|wait| wait.kind == kind && wait.function == function);
        of.map(|wait| wait.lost_s).sum()
    }

    /// The greatest mean size of messages of those call sites that lose a tenth or more of what sends lose.
    fn late_receiver_bytes(&self) -> Option<f64> {
        let waits = sums::waits(self.0);
        let late: Vec<_> = waits.iter().filter(|wait| wait.kind == WaitKind::LateReceiver).collect();
        let all: f64 = late.iter().map(|wait| wait.lost_s).sum();
        let sites = sums::by_site(self.0);
        let mean = |site: &sums::OfSite| site.sum.bytes_sent as f64 / site.sum.calls.max(1) as f64;
        let mut greatest: Option<f64> = None;
        for site in &sites {
            let here = late.iter().filter(|wait| wait.site == site.site && wait.function == site.function);
            let lost: f64 = here.map(|wait| wait.lost_s).sum();
            if all <= 0.0 || lost < all / 10.0 {
                continue;
            }
            // A call that waits for a send has no bytes of its own: those are of the call that began it.
            let bytes = match site.sum.bytes_sent > 0 {
                true => Some(mean(site)),
                false => sites.iter().filter(|site| begins(&site.function)).map(mean).reduce(f64::max),
            };
            greatest = [greatest, bytes].into_iter().flatten().reduce(f64::max);
        }
        greatest.filter(|bytes| *bytes > 0.0)
    }

    fn messages(&self) -> impl Iterator<Item = &'a mel_log::profile::Traffic> {
        self.0.ranks.iter().flat_map(|rank| &rank.traffic).filter(|row| row.kind == TrafficKind::P2p)
    }

    fn mean_message_bytes(&self) -> Option<f64> {
        let (mut messages, mut bytes) = (0u64, 0u64);
        for row in self.messages() {
            (messages, bytes) = (messages.saturating_add(row.messages), bytes.saturating_add(row.bytes));
        }
        if messages == 0 {
            for function in sums::by_function(self.0).iter().filter(|of| sends(&of.function)) {
                messages = messages.saturating_add(function.sum.calls);
                bytes = bytes.saturating_add(function.sum.bytes_sent);
            }
        }
        (messages > 0).then(|| bytes as f64 / messages as f64)
    }

    fn function(&self, name: &str, value: impl Fn(&sums::Sum) -> f64) -> Option<f64> {
        let is_counted = self.0.has_calls();
        let functions = sums::by_function(self.0);
        let found = functions.iter().find(|function| function.function == name);
        is_counted.then(|| found.map_or(0.0, |function| value(&function.sum)))
    }

    /// By element, the greatest last value over the ranks; of one that is not an array its only value.
    fn variable(&self, name: &str) -> Option<Vec<f64>> {
        let mut elements: Vec<f64> = Vec::new();
        let mut only: Option<f64> = None;
        let rows = self.0.ranks.iter().flat_map(|rank| &rank.variables);
        for row in rows.filter(|row| row.name == name && row.samples > 0) {
            match row.element {
                Some(element) if element < 4096 => {
                    let element = element as usize;
                    elements.resize(elements.len().max(element + 1), f64::NAN);
                    elements[element] = elements[element].max(row.last);
                }
                Some(_) => {}
                None if row.object.is_empty() || row.object == "MPI_COMM_WORLD" => {
                    only = Some(only.map_or(row.last, |value| value.max(row.last)));
                }
                None => {}
            }
        }
        if elements.is_empty() { only.map(|value| vec![value]) } else { Some(elements) }
    }
}

/// Whether a function starts messages that another call waits for, by its name.
fn begins(function: &str) -> bool {
    mpi_functions::named(function).is_some_and(|function| {
        function.step == Step::Starts
            && matches!(
                function.kind,
                Of::Send(Mode::Standard | Mode::Ready | Mode::Synchronous) | Of::SendReceive | Of::Start
            )
    })
}

/// Whether a function sends or starts messages, by its name.
fn sends(function: &str) -> bool {
    mpi_functions::named(function).is_some_and(|function| {
        function.kind == Of::Start || function.sends() && function.step != Step::Prepares
    })
}

impl Quantities for OfRun<'_> {
    fn get(&self, name: &str, argument: Option<&str>) -> Option<Value> {
        let profile = self.0;
        let whole = || profile.has_calls().then(|| sums::whole(profile));
        if let Some(argument) = argument {
            return match name {
                "share" => self.function(argument, |sum| self.part(sum.total_s).unwrap_or(0.0)),
                "waiting" => self.function(argument, |sum| self.part(sum.lost_s).unwrap_or(0.0)),
                "algorithm" => self.function(argument, |sum| {
                    self.part(sum.total_s - sum.lost_s + self.lost_in(argument, WaitKind::LateMember))
                        .unwrap_or(0.0)
                }),
                "calls" => self.function(argument, |sum| sum.calls as f64),
                "mean_bytes" => self.function(argument, sums::Sum::mean_bytes),
                "variable" => return self.variable(argument).map(Value::List),
                _ => None,
            }
            .map(Value::Number);
        }
        let mpi = || Mpi::of(&profile.mpi);
        let of_waits = |kind| profile.has_calls().then(|| self.part(self.lost(kind))).flatten();
        let number = match name {
            "mpi" => return Some(Value::Text(mpi().name.into())),
            "mpi_major" => mpi().version.map(|(major, _)| f64::from(major)),
            "mpi_minor" => mpi().version.map(|(_, minor)| f64::from(minor)),
            "ranks" => Some(f64::from(profile.world_size)),
            "hosts" => Some(hosts(profile)),
            "run" => Some(sums::all_runs_s(profile) / f64::from(profile.world_size.max(1))),
            "mpi_share" => whole().and_then(|sum| self.part(sum.total_s)),
            "waiting_share" => whole().and_then(|sum| self.part(sum.lost_s)),
            "late_sender_share" => of_waits(WaitKind::LateSender),
            "late_receiver_share" => of_waits(WaitKind::LateReceiver),
            "collective_wait_share" => of_waits(WaitKind::Collective),
            "late_receiver_bytes" => self.late_receiver_bytes(),
            "mean_message_bytes" => self.mean_message_bytes(),
            "largest_message_bytes" => {
                let bins = self.messages().flat_map(|row| &row.sizes);
                bins.map(|(bin, _)| *bin).max().map(|bin| sizes_of_bin(bin.into()).1 as f64)
            }
            "messages" => {
                let messages = || self.messages().map(|row| row.messages as f64).sum::<f64>();
                profile.has_traffic().then(messages)
            }
            "unexpected_share" => whole().and_then(|sum| {
                let found = sum.messages;
                let all = found.expected.saturating_add(found.unexpected);
                (all > 0).then(|| found.unexpected as f64 / all as f64)
            }),
            "unexpected_bytes" => whole().map(|sum| sum.messages.unexpected_bytes as f64),
            _ => None,
        };
        number.map(Value::Number)
    }
}

fn hosts(profile: &Profile) -> f64 {
    if let Some(reduced) = &profile.reduced {
        return f64::from(reduced.hosts);
    }
    let mut hosts: Vec<&str> = profile.ranks.iter().map(|rank| rank.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.len() as f64
}

/// An MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// Its name, as rules have it.
    pub name: &'static str,
    /// The first two numbers of its version.
    pub version: Option<(u32, u32)>,
}

/// What a library's text begins with or has in it, and whose it is then; the first that fits.
const MARKS: [(&str, &str); 6] = [
    ("open mpi", "Open MPI"),
    ("mvapich2", "MVAPICH2"),
    ("mvapich", "MVAPICH"),
    ("intel(r) mpi", "Intel MPI"),
    ("cray mpich", "Cray MPICH"),
    ("mpich", "MPICH"),
];

impl Mpi {
    /// Of what `MPI_Get_library_version` says.
    pub fn of(library: &str) -> Mpi {
        let lower = library.to_lowercase();
        let found = MARKS.iter().find_map(|(mark, name)| Some((*name, lower.find(mark)? + mark.len())));
        let (name, rest) = found.map_or(("other", ""), |(name, end)| (name, &lower[end..]));
        Mpi { name, version: version(rest) }
    }
}

/// The first two numbers with a point between them.
fn version(text: &str) -> Option<(u32, u32)> {
    let digit = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = text[digit..].split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_what_they_say() {
        for (text, name, version) in [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI", Some((4, 1))),
            ("MPICH Version:\t4.0.2", "MPICH", Some((4, 0))),
            ("MVAPICH2 Version      :\t2.3.7", "MVAPICH2", Some((2, 3))),
            ("Intel(R) MPI Library 2021.9 for Linux* OS", "Intel MPI", Some((2021, 9))),
            ("MPI VERSION    : CRAY MPICH version 8.1.25.17", "Cray MPICH", Some((8, 1))),
            ("something", "other", None),
        ] {
            assert_eq!(Mpi::of(text), Mpi { name, version }, "{text}");
        }
    }
}
