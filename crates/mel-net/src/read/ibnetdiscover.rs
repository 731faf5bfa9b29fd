//! The output of `ibnetdiscover`: a paragraph for each switch and channel adapter, with a line for each port that is connected.

use super::subnet::{Device, Subnet, capacity};
use crate::error::Wrong;
use crate::fabric::Kind;

/// Reads a text.
pub(crate) fn read(text: &str) -> Result<Subnet, Wrong> {
    let mut subnet = Subnet::default();
    let mut current: Option<(u64, Kind)> = None;
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        let line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((guid, kind)) = current else {
                return Err(Wrong::new(
                    number,
                    "a port before the first switch or adapter: the file's beginning is missing",
                ));
            };
            let wrong = || {
                Wrong::new(
                    number,
                    "this is no port: wanted is a line such as [1] \"S-0002c90200423e80\"[3] # \"leaf1\" lid 5 4xQDR",
                )
            };
            let (data, comment) = rest.split_once('#').unwrap_or((rest, ""));
            let (port, data) = data.split_once(']').ok_or_else(wrong)?;
            let port: u16 = port.trim().parse().map_err(|_| wrong())?;
            let (_, data) = data.split_once('"').ok_or_else(wrong)?;
            let (peer, data) = data.split_once('"').ok_or_else(wrong)?;
            let peer = guid_of(peer).ok_or_else(wrong)?;
            let peer_port =
                data.split_once('[').and_then(|(_, data)| data.split_once(']')).ok_or_else(wrong)?.0;
            let peer_port: u16 = peer_port.trim().parse().map_err(|_| wrong())?;
            let speed = comment.split_whitespace().next_back().and_then(capacity);
            subnet.links.push(((guid, port), (peer, peer_port), speed));
            if kind == Kind::Host {
                let words: Vec<&str> = comment.split_whitespace().take(2).collect();
                if let ["lid", lid] = words[..] {
                    let lid = lid.parse().map_err(|_| Wrong::new(number, format!("{lid} is no LID")))?;
                    subnet.lids.insert((guid, port), lid);
                }
            }
            continue;
        }
        let mut words = line.split_whitespace();
        let kind = match words.next() {
            Some("Switch" | "Rt") => Kind::Switch,
            Some("Ca") => Kind::Host,
            _ => continue,
        };
        let wrong = || {
            Wrong::new(
                number,
                "this is no switch and no adapter: wanted is a line such as Switch 36 \"S-0002c90200423e80\" # \"leaf1\" base port 0 lid 5 lmc 0",
            )
        };
        let mut quoted = line.split('"');
        let guid = quoted.nth(1).and_then(guid_of).ok_or_else(wrong)?;
        let description = line.split_once('#').and_then(|(_, comment)| {
            let (first, last) = (comment.find('"')?, comment.rfind('"')?);
            comment.get(first + 1..last)
        });
        current = Some((guid, kind));
        subnet.devices.push(Device { guid, kind, description: description.unwrap_or_default().to_owned() });
    }
    if subnet.devices.is_empty() {
        return Err(Wrong::new(1, "there is no switch and no adapter in it"));
    }
    Ok(subnet)
}

/// The number of `S-0002c90200423e80`.
fn guid_of(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split_once('-')?.1, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_has_its_line() {
        let error = |text: &str| read(text).unwrap_err();
        assert_eq!(error("vendid=0x0\n[1] \"H-1\"[1]\n").line, 2);
        let start = "Switch\t8 \"S-1\"\t# \"a\" base port 0 lid 3 lmc 0\n";
        for wrong in [
            "[x] \"H-1\"[1]",
            "[1 \"H-1\"[1]",
            "[1] \"H-1[1]",
            "[1] \"Hx\"[1]",
            "[1] \"H-1\"",
            "[1] \"H-1\"[]",
            "[70000] \"H-1\"[1]",
        ] {
            assert_eq!(error(&format!("{start}{wrong}\n")).line, 2, "{wrong}");
        }
        assert_eq!(error("Switch 8 S-1").line, 1);
        assert!(error("").what.contains("no switch"));
    }
}
