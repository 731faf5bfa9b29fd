//! Control variables that a run is to set, as users type them: `NAME=VALUE` or `NAME=VALUE@0,4-7`.

use std::fmt;
use std::str::FromStr;

/// The environment variables that MPICH and its kin list as control variables, by these names.
const LISTED: &str = "MPIR_CVAR_";
/// Environment variables that no MPI lists so.
const BELOW: [&str; 7] = ["UCX_", "FI_", "I_MPI_", "MV2_", "MPICH_", "OMPI_MCA_", "PRTE_MCA_"];

fn is_below(name: &str) -> bool {
    BELOW.iter().any(|prefix| name.starts_with(prefix))
}

/// What separates several settings in `MEL_SET`: no name and no usual value has it.
const SEPARATOR: char = ';';

/// One control variable, its value, and the ranks that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name of the variable.
    pub name: String,
    /// The value, as text.
    pub value: String,
    /// First and last ranks; none for all ranks.
    ranks: Vec<(u64, u64)>,
}

/// First and last ranks of a list such as `0,4-7`.
#[must_use]
pub fn parse_ranks(list: &str) -> Option<Vec<(u64, u64)>> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some((first, last))
    };
    list.split(',').map(range).collect()
}

impl FromStr for Setting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const HOW: &str = "give NAME=VALUE, or NAME=VALUE@RANKS with ranks such as 0,4-7";
        let (name, rest) = text.split_once('=').ok_or(HOW)?;
        let (value, ranks) = match rest.rsplit_once('@') {
            // Values may have this sign, too.
            Some((value, ranks)) if ranks.starts_with(|c: char| c.is_ascii_digit()) => (value, Some(ranks)),
            _ => (rest, None),
        };
        if name.is_empty()
            || name.contains(|c: char| c.is_whitespace() || c == SEPARATOR)
            || value.contains(SEPARATOR)
        {
            return Err(HOW);
        }
        let ranks = ranks.map_or(Some(Vec::new()), parse_ranks).ok_or(HOW)?;
        Ok(Setting { name: name.into(), value: value.into(), ranks })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl Setting {
    /// Whether it is for this rank.
    #[must_use]
    pub fn is_for(&self, rank: u64) -> bool {
        self.ranks.is_empty() || self.ranks.iter().any(|&(first, last)| (first..=last).contains(&rank))
    }

    /// It as a user types it: with its ranks. A value may have the sign that comes before these.
    #[must_use]
    pub fn whole(&self) -> String {
        let ranks: Vec<String> = self.ranks.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        if ranks.is_empty() { self.to_string() } else { format!("{self}@{}", ranks.join(",")) }
    }

    /// First and last ranks of those that it is for; none where it is for all.
    #[must_use]
    pub fn ranks(&self) -> &[(u64, u64)] {
        &self.ranks
    }

    /// The environment variable that an MPI reads the value from when it starts.
    #[must_use]
    pub fn environment(&self) -> String {
        Setting::environment_of(&self.name)
    }

    /// The environment variable for a control variable of this name. What is one already, of an MPI or of a library below it, stays.
    #[must_use]
    pub fn environment_of(name: &str) -> String {
        match name.starts_with(LISTED) || is_below(name) {
            true => name.to_owned(),
            false => format!("OMPI_MCA_{name}"),
        }
    }

    /// Whether it is an environment variable, of an MPI or of a library below it, that no MPI has among its control variables: it is set, and
    /// what comes of it cannot be read.
    #[must_use]
    pub fn is_below(&self) -> bool {
        is_below(&self.name)
    }

    /// Several, as `MEL_SET` has them.
    #[must_use]
    pub fn join(settings: &[&Setting]) -> String {
        let all: Vec<String> = settings.iter().map(|setting| setting.whole()).collect();
        all.join(&SEPARATOR.to_string())
    }

    /// Those in `MEL_SET`; what is none is left out.
    pub fn split(list: &str) -> impl Iterator<Item = Setting> {
        list.split(SEPARATOR).filter_map(|one| one.parse().ok())
    }

    /// Whether a value that was read is the one that was wanted. A switch may be written as a word.
    #[must_use]
    pub fn is(&self, read: &str) -> bool {
        fn plain(value: &str) -> &str {
            match value {
                "true" | "yes" | "on" => "1",
                "false" | "no" | "off" => "0",
                other => other,
            }
        }
        plain(&self.value) == plain(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Setting {
        text.parse().unwrap()
    }

    #[test]
    fn a_setting_is_for_all_ranks_or_for_some() {
        let one = of("btl=^tcp");
        assert_eq!((one.name.as_str(), one.value.as_str(), one.is_for(9)), ("btl", "^tcp", true));
        let some = of("a=1@0,4-7");
        assert_eq!(
            (some.value.as_str(), some.is_for(0), some.is_for(3), some.is_for(6)),
            ("1", true, false, true)
        );
        assert_eq!(of("host=me@there").value, "me@there");
        for wrong in ["a", "=1", "a=1@2-1", "a=1@2-x", "a b=1", "a=1;b=2"] {
            assert!(wrong.parse::<Setting>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_mpi_has_it_from_its_own_environment_variable() {
        assert_eq!(of("MPIR_CVAR_X=1").environment(), "MPIR_CVAR_X");
        assert_eq!(of("UCX_RNDV_THRESH=1").environment(), "UCX_RNDV_THRESH");
        assert!(of("UCX_RNDV_THRESH=1").is_below() && !of("MPIR_CVAR_X=1").is_below());
        assert!(!of("btl_vader_eager_limit=1").is_below());
        assert_eq!(
            of("coll_tuned_use_dynamic_rules=1").environment(),
            "OMPI_MCA_coll_tuned_use_dynamic_rules"
        );
    }

    #[test]
    fn a_list_reads_as_it_was_written() {
        let (a, b, c) = (of("a=1,2"), of("b="), of("c=eth0@1@2-3"));
        assert_eq!(c.value, "eth0@1");
        assert_eq!(Setting::split(&Setting::join(&[&a, &b, &c])).collect::<Vec<_>>(), [a, b, c]);
    }

    #[test]
    fn a_switch_may_be_a_word() {
        assert!(of("a=true").is("1") && of("a=0").is("false") && !of("a=2").is("1"));
    }
}
