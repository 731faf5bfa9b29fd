//! Addresses of InfiniBand and RoCE, as the system says them of the ports of this host.

use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;

use super::ports;

/// Where a port is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A local identifier, in the fabric with this prefix (or what it begins with).
    Lid(u16, u32),
    /// A global identifier.
    Gid([u8; 16]),
}

impl Address {
    /// As users see it: a LID without its fabric.
    pub(super) fn shown(self) -> [u8; 16] {
        match self {
            Address::Lid(lid, _) => Address::Lid(lid, 0).key(),
            Address::Gid(gid) => gid,
        }
    }

    /// As processes tell each other: never zeros for what is an address.
    pub(super) fn key(self) -> [u8; 16] {
        match self {
            Address::Lid(lid, prefix) => {
                let mut bytes = [0; 16];
                bytes[8..12].copy_from_slice(&prefix.to_be_bytes());
                bytes[12..].copy_from_slice(&u32::from(lid).to_be_bytes());
                bytes
            }
            Address::Gid(gid) => gid,
        }
    }
}

/// A port of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) device: String,
    pub(super) port: u8,
    /// 0 where it has none.
    pub(super) lid: u16,
    gids: Vec<[u8; 16]>,
}

/// How many GIDs of a port are read at most.
const GIDS: usize = 16;

impl Port {
    /// What the system says of this port; what it does not say is empty.
    pub(super) fn read(folder: &Path, device: &str, port: u8) -> Port {
        let folder = folder.join(device).join("ports").join(port.to_string());
        let text = |name: String| fs::read_to_string(folder.join(name)).ok();
        let lid = text("lid".into())
            .and_then(|lid| u16::from_str_radix(lid.trim().trim_start_matches("0x"), 16).ok());
        let gid = |number| Some(text(format!("gids/{number}"))?.trim().parse::<Ipv6Addr>().ok()?.octets());
        let gids = (0..GIDS).map_while(gid).collect();
        Port { device: device.to_owned(), port, lid: lid.unwrap_or(0), gids }
    }

    /// The GID at this place of its table.
    pub(super) fn gid(&self, place: u8) -> Option<[u8; 16]> {
        self.gids.get(usize::from(place)).copied()
    }

    /// What tells fabrics apart where their prefixes differ: a hash of the prefix, and 0 for the one that ports have at first.
    pub(super) fn prefix(&self) -> u32 {
        let Some(gid) = self.gids.first() else { return 0 };
        let prefix = u64::from_be_bytes(gid[..8].try_into().unwrap_or_default());
        let first = 0xfe80_0000_0000_0000;
        if prefix == first { 0 } else { (prefix.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 }
    }

    /// Where others reach it: its LID, or its GIDs.
    fn addresses(&self) -> Vec<Address> {
        if self.lid != 0 {
            return vec![Address::Lid(self.lid, self.prefix())];
        }
        let mut gids: Vec<[u8; 16]> = self.gids.iter().copied().filter(|gid| *gid != [0; 16]).collect();
        gids.sort_unstable();
        gids.dedup();
        gids.into_iter().map(Address::Gid).collect()
    }
}

/// Where the ports of this host are reached. Reads files of the system.
pub(super) fn addresses() -> Vec<Address> {
    let folder = ports::folder_of_infiniband();
    let ports = ports::names_of_infiniband(&folder);
    ports.iter().flat_map(|(device, port)| Port::read(&folder, device, *port).addresses()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_known_by_its_lid_or_its_gids() {
        let folder = std::env::temp_dir().join(format!("mel-fabric-{}", std::process::id()));
        let port = folder.join("mlx5_0/ports/1");
        fs::create_dir_all(port.join("gids")).unwrap();
        fs::write(port.join("lid"), "0x1f\n").unwrap();
        fs::write(port.join("gids/0"), "fe80:0000:0000:0000:0002:c903:0001:1234\n").unwrap();
        fs::write(port.join("gids/1"), "0000:0000:0000:0000:0000:ffff:0a00:0001\n").unwrap();
        let read = Port::read(&folder, "mlx5_0", 1);
        fs::write(port.join("lid"), "0x0\n").unwrap();
        let of_ethernet = Port::read(&folder, "mlx5_0", 1);
        let none = Port::read(&folder, "mlx5_0", 2);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read.addresses(), [Address::Lid(31, 0)]);
        assert_eq!(of_ethernet.addresses().len(), 2);
        let v4 = Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 1]).octets();
        assert_eq!((read.gid(1), read.gid(2)), (Some(v4), None));
        assert_eq!((none.addresses().len(), none.lid), (0, 0));
        let other = Port { gids: vec![[1; 16]], ..read };
        assert_ne!(other.prefix(), 0);
        assert_eq!(Address::Lid(31, other.prefix()).shown(), Address::Lid(31, 0).key());
    }
}
