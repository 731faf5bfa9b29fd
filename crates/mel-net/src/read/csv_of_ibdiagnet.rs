//! `ibdiagnet2.db_csv`: tables one after the other, of which those of nodes, ports and links are read. Columns are found by their names.

use super::subnet::{Device, Subnet};
use crate::error::Wrong;
use crate::fabric::Kind;

/// Reads a text.
pub(crate) fn read(text: &str) -> Result<Subnet, Wrong> {
    let mut subnet = Subnet::default();
    let mut section = "";
    let mut columns: Option<Vec<String>> = None;
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        let line = line.trim();
        if let Some(name) = line.strip_prefix("START_") {
            (section, columns) = (name, None);
            continue;
        }
        if line.starts_with("END_") {
            (section, columns) = ("", None);
            continue;
        }
        if !matches!(section, "NODES" | "PORTS" | "LINKS") || line.is_empty() {
            continue;
        }
        let cells = split(line);
        let Some(columns) = &columns else {
            columns = Some(cells.iter().map(|cell| cell.to_ascii_lowercase()).collect());
            continue;
        };
        let cell = |name: &str| {
            let found = columns.iter().position(|column| column == name).and_then(|place| cells.get(place));
            found
                .map(String::as_str)
                .ok_or_else(|| Wrong::new(number, format!("the table {section} has no {name} here")))
        };
        let numeric = |name: &str| {
            let text = cell(name)?;
            number_of(text).ok_or_else(|| Wrong::new(number, format!("{name} is {text}, which is no number")))
        };
        let port = |name: &str| {
            u16::try_from(numeric(name)?)
                .map_err(|_| Wrong::new(number, format!("{name} is too large for a port")))
        };
        match section {
            "NODES" => {
                let kind = if numeric("nodetype")? == 1 { Kind::Host } else { Kind::Switch };
                let description = cell("nodedesc")?.to_owned();
                subnet.devices.push(Device { guid: numeric("nodeguid")?, kind, description });
            }
            "PORTS" => {
                let lid = cell("lid").ok().and_then(number_of).and_then(|lid| u16::try_from(lid).ok());
                if let Some(lid) = lid.filter(|lid| *lid != 0) {
                    subnet.lids.insert((numeric("nodeguid")?, port("portnum")?), lid);
                }
            }
            _ => {
                let first = (numeric("nodeguid1")?, port("portnum1")?);
                let second = (numeric("nodeguid2")?, port("portnum2")?);
                subnet.links.push((first, second, None));
            }
        }
    }
    if subnet.devices.is_empty() || subnet.links.is_empty() {
        return Err(Wrong::new(
            1,
            "there are no tables NODES and LINKS in it: wanted is the file ibdiagnet2.db_csv of a whole run of ibdiagnet",
        ));
    }
    Ok(subnet)
}

/// A decimal number, or a hexadecimal one.
fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Cells between commas, of which those with commas are in quotes.
fn split(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            _ => cell.push(letter),
        }
    }
    cells.push(cell.trim().to_owned());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Fabric;

    const TEXT: &str = "START_NODES\nNodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID\n\
\"node1 HCA-1\",1,1,1,1,0x1,0x00000000000000a1,0xa1\n\"node2, the second HCA-1\",1,1,1,1,0x1,0xa2,0xa2\n\"leaf1\",36,2,1,1,0x1,0xb1,0xb1\nEND_NODES\n\n\
START_PORTS\nNodeGuid,PortGuid,PortNum,MKey,GIDPrfx,MSMLID,LID\n0xa1,0xa1,1,0x0,0xfe80000000000000,1,4\n0xa2,0xa2,1,0x0,0xfe80000000000000,1,5\nEND_PORTS\n\
START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n0xa1,1,0xb1,1\n0xa2,1,0xb1,2\nEND_LINKS\nSTART_OTHER\nx\nEND_OTHER\n";

    #[test]
    fn columns_are_found_by_name() {
        let subnet = read(TEXT).unwrap();
        assert_eq!((subnet.devices.len(), subnet.links.len(), subnet.lids[&(0xa2, 1)]), (3, 2, 5));
        let mut fabric = Fabric::default();
        subnet.add_to(&mut fabric, "x", &mut Vec::new());
        assert_eq!((fabric.hosts().count(), fabric.switches()), (2, 1));
    }

    #[test]
    fn a_mistake_has_its_line() {
        let error = |from: &str, to: &str| read(&TEXT.replace(from, to)).unwrap_err();
        assert_eq!(error("0xa2,1,0xb1,2", "0xa2,1,0xb1").line, 16);
        assert!(error("0xa2,1,0xb1,2", "0xa2,x,0xb1,2").what.contains("portnum1 is x"));
        assert!(error("START_LINKS", "START_LINES").what.contains("ibdiagnet2.db_csv"));
    }
}
