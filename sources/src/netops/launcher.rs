//! Which connections lead to the daemon of the launcher: those to the addresses that it has given to this process in the
//! environment, and the descriptor that it has left open. What is not among them is not taken for such.

use std::net::{IpAddr, SocketAddr};

use super::tcp_info::End;

/// What variables of launchers begin with: PMIx, Open MPI and PRRTE, PMI (Hydra, Slurm).
const VARIABLES: [&str; 4] = ["PMIX_", "OMPI_MCA_", "PRTE_MCA_", "PMI_"];

/// Where the daemon of the launcher is to be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Launcher {
    ends: Vec<End>,
    descriptors: Vec<i32>,
}

impl Launcher {
    /// As the environment of this process says.
    pub(super) fn of_environment() -> Launcher {
        let all = std::env::vars_os();
        Launcher::of(
            all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    fn of(variables: impl Iterator<Item = (String, String)>) -> Launcher {
        let mut found = Launcher::default();
        for (name, value) in variables {
            match name.as_str() {
                "PMI_FD" => found.descriptors.extend(value.parse::<i32>()),
                "PMI_PORT" => {
                    found.ends.extend(value.parse::<SocketAddr>().map(|end| (end.ip(), end.port())))
                }
                name if VARIABLES.iter().any(|begin| name.starts_with(begin)) => {
                    value.split(';').for_each(|part| found.ends.extend(addresses(part)));
                }
                _ => {}
            }
        }
        found.ends.sort_unstable();
        found.ends.dedup();
        found
    }

    /// Whether a connection leads there.
    pub(super) fn has(&self, descriptor: i32, other: End) -> bool {
        self.descriptors.contains(&descriptor) || self.ends.contains(&other)
    }
}

/// The ends in `tcp4://127.0.0.1:54179`, `tcp://10.0.0.1,10.1.0.1:57335` or `tcp6://[fd00::2]:40653`.
fn addresses(part: &str) -> Vec<End> {
    let Some((scheme, rest)) = part.split_once("://") else { return Vec::new() };
    if !["tcp", "tcp4", "tcp6"].contains(&scheme) {
        return Vec::new();
    }
    let Some((hosts, port)) = rest.rsplit_once(':') else { return Vec::new() };
    let Ok(port) = port.parse() else { return Vec::new() };
    let hosts = hosts.trim_start_matches('[').trim_end_matches(']').split(',');
    hosts.filter_map(|host| Some((host.parse::<IpAddr>().ok()?.to_canonical(), port))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Launcher {
        Launcher::of(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    fn end(address: &str, port: u16) -> End {
        (address.parse().unwrap(), port)
    }

    #[test]
    fn the_daemon_is_where_the_launcher_says() {
        let launcher = of(&[
            ("PMIX_SERVER_URI4", "688259072.0;tcp4://127.0.0.1:54179"),
            ("OMPI_MCA_orte_hnp_uri", "1.0;tcp://192.0.2.2,10.0.0.1:57335;tcp6://[fd00::2]:40653"),
            ("PMI_PORT", "10.0.0.9:4000"),
            ("PMI_FD", "6"),
        ]);
        for (address, port) in [
            ("127.0.0.1", 54179),
            ("192.0.2.2", 57335),
            ("10.0.0.1", 57335),
            ("fd00::2", 40653),
            ("10.0.0.9", 4000),
        ] {
            assert!(launcher.has(3, end(address, port)), "{address}");
        }
        assert!(!launcher.has(3, end("127.0.0.1", 57335)));
        assert!(launcher.has(6, end("10.9.9.9", 1)));
    }

    #[test]
    fn what_is_no_address_says_nothing() {
        let odd = [
            ("PMI_PORT", "node-a:4000"),
            ("PMI_FD", "x"),
            ("PMIX_A", "tcp://:1"),
            ("PMIX_B", "tcp4://1.2.3.4"),
            ("PMIX_C", "usock:///tmp/x"),
            ("PMIX_D", "http://1.2.3.4:80"),
            ("OTHER_URI", "tcp://1.2.3.4:80"),
        ];
        assert_eq!(of(&odd), Launcher::default());
    }
}
