//! Forwarding tables of switches: the output of `dump_fts` and `ibroute`, `opensm-lfts.dump`, and `opensm.fdbs` or `ibdiagnet2.fdbs`.

use super::Guids;
use crate::error::Wrong;
use crate::fabric::{Fabric, Table};

/// The tables of a text, by the GUID of their switch.
pub(crate) fn read(text: &str) -> Result<Vec<(u64, Table)>, Wrong> {
    let mut tables: Vec<(u64, Table)> = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        let line = line.trim();
        if let Some(guid) = switch(line) {
            let wrong =
                || Wrong::new(number, "the GUID of the switch is missing: wanted is guid 0x0002c90200423e80");
            tables.push((guid.and_then(hexadecimal).ok_or_else(wrong)?, Table::new()));
            continue;
        }
        if !line.starts_with("0x") {
            continue;
        }
        let Some((_, table)) = tables.last_mut() else {
            return Err(Wrong::new(
                number,
                "an entry before the first switch: the file's beginning is missing",
            ));
        };
        let wrong = || {
            Wrong::new(number, "this is no entry of a forwarding table: wanted is a line such as 0x0005 033")
        };
        let mut words = line
            .split(|letter: char| letter.is_whitespace() || letter == ':')
            .filter(|word| !word.is_empty());
        let lid =
            words.next().and_then(hexadecimal).and_then(|lid| u16::try_from(lid).ok()).ok_or_else(wrong)?;
        let port = match words.next().ok_or_else(wrong)? {
            "UNREACHABLE" => None,
            port => Some(port.parse().map_err(|_| wrong())?),
        };
        let lid = usize::from(lid);
        if table.len() <= lid {
            table.resize(lid + 1, None);
        }
        table[lid] = port;
    }
    Ok(tables)
}

/// Whether a line begins the table of a switch, and its GUID if it says one.
fn switch(line: &str) -> Option<Option<&str>> {
    if line.starts_with("Unicast lids") {
        let guid = line.split_once(" guid ").and_then(|(_, rest)| rest.split_whitespace().next());
        return Some(guid);
    }
    let (_, rest) = line.split_once("dump_ucast_routes: Switch")?;
    Some(rest.split_whitespace().next())
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Gives the switches of the network their tables. Returns how many switches are not in it.
pub(crate) fn add_to(tables: Vec<(u64, Table)>, fabric: &mut Fabric, guids: &Guids) -> Result<usize, Wrong> {
    // The plane that has most of these switches; of two that have the same, the one without tables.
    let known = |place: usize| tables.iter().filter(|(guid, _)| guids[place].1.contains_key(guid)).count();
    let has_tables = |place: usize| fabric.planes[guids[place].0 as usize].has_tables;
    let best = (0..guids.len()).max_by_key(|place| (known(*place), !has_tables(*place), usize::MAX - place));
    let Some(best) = best.filter(|place| known(*place) > 0) else {
        let what = "its switches are in none of the other files: the output of ibnetdiscover (or ibdiagnet2.db_csv) of the \
                    same subnet belongs to it";
        return Err(Wrong::new(1, what));
    };
    let (plane, guids) = &guids[best];
    let mut unknown = 0;
    for (guid, table) in tables {
        match guids.get(&guid) {
            Some(node) => {
                fabric.tables.insert(*node, table);
            }
            None => unknown += 1,
        }
    }
    fabric.planes[*plane as usize].has_tables = true;
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_formats_say_the_same() {
        let dump_fts = "Unicast lids [0x0-0x8] of switch DR path slid 0; dlid 0; 0,1,33 guid 0x0000000000200001 (leaf2):\n  Lid  Out   Destination\n       Port     Info \n0x0001 033 : (Channel Adapter portguid 0x1: 'node1')\n0x0003 000 : (Switch portguid 0x2: 'leaf2')\n2 valid lids dumped \n";
        let lfts = "Unicast lids [0-8] of switch Lid 2 guid 0x0000000000200001 ('leaf1'):\n0x0001 033 # Channel Adapter portguid 0x1: 'node1 HCA-1'\n0x0003 000 # Switch\n";
        let fdbs = "osm_ucast_mgr_dump_ucast_routes: Switch 0x0000000000200001\nLID    : Port : Hops : Optimal\n0x0001 : 033  : 01   : yes\n0x0002 : UNREACHABLE\n0x0003 : 000  : 00   : yes\n";
        let expected = vec![(0x0020_0001, vec![None, Some(33), None, Some(0)])];
        for text in [dump_fts, lfts, fdbs] {
            assert_eq!(read(text).unwrap(), expected);
        }
    }

    #[test]
    fn a_mistake_has_its_line() {
        assert_eq!(read("0x0001 033\n").unwrap_err().line, 1);
        assert_eq!(read("Unicast lids of switch\n").unwrap_err().line, 1);
        let start = "Unicast lids [0-8] of switch Lid 2 guid 0x2 ('a'):\n";
        for wrong in ["0x0001", "0xzz 3", "0x0001 port", "0xfffff 3"] {
            assert_eq!(read(&format!("{start}{wrong}\n")).unwrap_err().line, 2, "{wrong}");
        }
    }
}
