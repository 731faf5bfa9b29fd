//! What the interfaces of this host count themselves: all that passes them, of this program and of others.

use std::fs;
use std::path::{Path, PathBuf};

use mel_settings::INFINIBAND;

/// What an interface has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// The name: `eth0`; of InfiniBand device and port, `mlx5_0/1`.
    pub interface: String,
    /// What it is: `ethernet`, `infiniband`, `loopback`.
    pub link: &'static str,
    /// Bytes out.
    pub sent: u64,
    /// Bytes in.
    pub received: u64,
    /// Packets out.
    pub packets_sent: u64,
    /// Packets in.
    pub packets_received: u64,
    /// Packets that were wrong.
    pub errors: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Of InfiniBand: ticks in which there was data and no credit.
    pub waits: Option<u64>,
    /// Of InfiniBand: the local identifier.
    pub lid: Option<u32>,
    /// Bits per second.
    pub bits_per_s: Option<u64>,
}

impl Port {
    /// What has been counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Port) -> Port {
        Port {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
            packets_sent: self.packets_sent.saturating_sub(before.packets_sent),
            packets_received: self.packets_received.saturating_sub(before.packets_received),
            errors: self.errors.saturating_sub(before.errors),
            dropped: self.dropped.saturating_sub(before.dropped),
            waits: self.waits.map(|waits| waits.saturating_sub(before.waits.unwrap_or(0))),
            ..self.clone()
        }
    }
}

/// All interfaces of this host, as this process sees them. Allocates, and reads files of the system.
pub(super) fn all() -> Vec<Port> {
    // Not from /sys/class/net: in a network namespace that may still show the interfaces of another one.
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    devices.lines().filter_map(ethernet).chain(of_infiniband(&folder_of_infiniband())).collect()
}

/// Where InfiniBand's devices are described.
pub(super) fn folder_of_infiniband() -> PathBuf {
    let folder = std::env::var_os(INFINIBAND.name).filter(|path| !path.is_empty());
    folder.unwrap_or_else(|| INFINIBAND.default.value.into()).into()
}

/// The ports that are described there.
pub(super) fn names_of_infiniband(folder: &Path) -> Vec<(String, u8)> {
    let of_device = |device: String| {
        let ports = names(&folder.join(&device).join("ports"));
        ports.into_iter().filter_map(move |port| Some((device.clone(), port.parse().ok()?)))
    };
    names(folder).into_iter().flat_map(of_device).collect()
}

/// What is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// What has been counted between two readings, by interface.
pub(super) fn between(before: &[Port], after: &[Port]) -> Vec<Port> {
    let of = |port: &Port| {
        let known = before.iter().find(|known| known.interface == port.interface);
        known.map_or_else(|| port.clone(), |known| port.since(known))
    };
    after.iter().map(of).collect()
}

/// A row: `  eth0: RECEIVED PACKETS ERRORS DROPPED FIFO FRAME COMPRESSED MULTICAST SENT PACKETS ERRORS DROPPED ...`.
fn ethernet(row: &str) -> Option<Port> {
    let (name, numbers) = row.split_once(':')?;
    let numbers: Vec<u64> = numbers.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let [received, packets_received, errors_in, dropped_in, ..] = numbers[..] else { return None };
    let [sent, packets_sent, errors_out, dropped_out, ..] = *numbers.get(8..)? else { return None };
    let name = name.trim();
    Some(Port {
        interface: name.to_owned(),
        link: if name == "lo" { "loopback" } else { "ethernet" },
        sent,
        received,
        packets_sent,
        packets_received,
        errors: errors_in.saturating_add(errors_out),
        dropped: dropped_in.saturating_add(dropped_out),
        ..Port::default()
    })
}

/// The ports of all devices in this folder.
fn of_infiniband(folder: &Path) -> Vec<Port> {
    let mut found = Vec::new();
    for device in names(folder) {
        let ports = folder.join(&device).join("ports");
        for port in names(&ports) {
            let text = |name: &str| fs::read_to_string(ports.join(&port).join(name)).ok();
            let count =
                |name: &str| -> Option<u64> { text(&format!("counters/{name}"))?.trim().parse().ok() };
            // Words of four bytes.
            let (Some(sent), Some(received)) = (count("port_xmit_data"), count("port_rcv_data")) else {
                continue;
            };
            let is_ethernet = text("link_layer").is_some_and(|layer| layer.trim() == "Ethernet");
            let lid =
                text("lid").and_then(|lid| u32::from_str_radix(lid.trim().trim_start_matches("0x"), 16).ok());
            // "100 Gb/sec (4X EDR)"
            let rate = text("rate").and_then(|rate| rate.split(' ').next()?.parse::<f64>().ok());
            found.push(Port {
                interface: format!("{device}/{port}"),
                link: if is_ethernet { "ethernet" } else { "infiniband" },
                sent: sent.saturating_mul(4),
                received: received.saturating_mul(4),
                packets_sent: count("port_xmit_packets").unwrap_or(0),
                packets_received: count("port_rcv_packets").unwrap_or(0),
                errors: count("port_rcv_errors").unwrap_or(0),
                dropped: count("port_xmit_discards").unwrap_or(0),
                waits: count("port_xmit_wait"),
                lid: lid.filter(|lid| *lid != 0),
                bits_per_s: rate.map(|rate| (rate * 1e9) as u64),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_system_is_an_interface() {
        let row = "  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0";
        let port = ethernet(row).unwrap();
        assert_eq!(
            (port.interface.as_str(), port.link, port.received, port.sent),
            ("eth0", "ethernet", 1000, 2000)
        );
        assert_eq!((port.packets_received, port.packets_sent, port.errors, port.dropped), (10, 20, 4, 6));
        assert_eq!(ethernet("    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0").unwrap().link, "loopback");
        for odd in ["", " face |bytes    packets errs", "eth0: 1 2 3", "eth0: 1 2 3 4 5 6 7 8 9"] {
            assert_eq!(ethernet(odd), None, "{odd}");
        }
    }

    #[test]
    fn ports_of_infiniband_count_words_of_four_bytes() {
        let folder = std::env::temp_dir().join(format!("mel-ports-{}", std::process::id()));
        let port = folder.join("mlx5_0/ports/1");
        fs::create_dir_all(port.join("counters")).unwrap();
        for (name, text) in [
            ("counters/port_xmit_data", "250\n"),
            ("counters/port_rcv_data", "100\n"),
            ("counters/port_xmit_packets", "5\n"),
            ("counters/port_xmit_wait", "77\n"),
            ("lid", "0x1f\n"),
            ("rate", "100 Gb/sec (4X EDR)\n"),
            ("link_layer", "InfiniBand\n"),
        ] {
            fs::write(port.join(name), text).unwrap();
        }
        let before = of_infiniband(&folder);
        fs::write(port.join("counters/port_xmit_data"), "1250").unwrap();
        let after = of_infiniband(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(before.len(), 1);
        let (interface, link) = (before[0].interface.as_str(), before[0].link);
        assert_eq!(
            (interface, link, before[0].sent, before[0].received),
            ("mlx5_0/1", "infiniband", 1000, 400)
        );
        assert_eq!((before[0].lid, before[0].bits_per_s), (Some(31), Some(100_000_000_000)));
        let between = between(&before, &after);
        assert_eq!((between[0].sent, between[0].received, between[0].waits), (4000, 0, Some(0)));
        assert!(of_infiniband(Path::new("/nothing")).is_empty());
    }

    #[test]
    fn this_host_has_interfaces() {
        assert!(all().iter().any(|port| port.link == "loopback"));
    }
}
