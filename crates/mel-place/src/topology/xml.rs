//! What `lstopo --of xml` writes: the XML of hwloc, versions 1 and 2.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::build::{Builder, Kind};
use super::{Topology, TopologyError};

/// Reads the text of a file.
///
/// # Errors
/// [`TopologyError::NotXml`], [`TopologyError::Empty`].
pub fn parse(text: &str) -> Result<Topology, TopologyError> {
    let wrong = |error: &dyn std::fmt::Display| TopologyError::NotXml(error.to_string());
    let mut reader = Reader::from_str(text);
    let mut builder = Builder::default();
    let mut is_topology = false;
    loop {
        match reader.read_event().map_err(|error| wrong(&error))? {
            Event::Start(element) if element.name().as_ref() == "object" => open(&mut builder, &element)?,
            Event::Empty(element) if element.name().as_ref() == "object" => {
                open(&mut builder, &element)?;
                builder.close();
            }
            Event::Start(element) if element.name().as_ref() == "topology" => is_topology = true,
            Event::End(element) if element.name().as_ref() == "object" => builder.close(),
            Event::Eof => break,
            _ => {}
        }
    }
    if !is_topology {
        return Err(wrong(&"there is no element <topology>"));
    }
    Topology::of(builder.finish())
}

/// An `<object>` begins.
fn open(builder: &mut Builder, element: &BytesStart<'_>) -> Result<(), TopologyError> {
    let (mut name, mut depth, mut of_system) = (String::new(), None, None);
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| TopologyError::NotXml(error.to_string()))?;
        let value = attribute.value.as_ref().to_owned();
        match attribute.key.as_ref() {
            "type" => name = value,
            "depth" => depth = value.parse().ok(),
            "os_index" => of_system = value.parse().ok(),
            _ => {}
        }
    }
    match Kind::of_hwloc(&name, depth) {
        Kind::Pu => builder.open_processor(of_system),
        kind => builder.open(kind),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CORES: &str = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">
<object type="Machine" os_index="0"><info name="Backend" value="Linux"/><object type="NUMANode" os_index="0"/>
<object type="Package"><object type="L3Cache" depth="3"><object type="L2Cache"><object type="L1Cache"><object type="Core" os_index="0">
<object type="PU" os_index="0"/><object type="PU" os_index="2"/></object></object></object>
<object type="L2Cache"><object type="Core" os_index="1"><object type="PU" os_index="1"/></object></object></object></object>
<object type="Bridge"><object type="PCIDev"><object type="OSDev"/></object></object></object></topology>"#;

    #[test]
    fn objects_become_a_machine() {
        let Topology::Each(machine) = parse(TWO_CORES).unwrap() else { panic!() };
        assert_eq!((machine.leaves.len(), machine.cores().len(), machine.sockets()), (3, 2, 1));
        assert_eq!(
            machine.leaves.iter().map(|leaf| leaf.of_system).collect::<Vec<_>>(),
            [Some(0), Some(2), Some(1)]
        );
        let shared = |a: usize, b: usize| {
            std::iter::zip(machine.leaves[a].groups, machine.leaves[b].groups)
                .map(|(a, b)| a == b)
                .collect::<Vec<_>>()
        };
        // Socket, die, third and second level, core.
        assert_eq!(shared(0, 1), [true; 5]);
        assert_eq!(shared(0, 2), [true, true, true, false, false]);
    }

    #[test]
    fn version_1_of_hwloc_is_read() {
        let text = r#"<topology><object type="System"><object type="Machine"><object type="Socket"><object type="Cache" depth="2">
            <object type="Core"><object type="PU"/></object><object type="Core"><object type="PU"/></object></object></object></object>
            <object type="Machine"><object type="Socket"><object type="Core"><object type="PU"/></object></object></object></object></topology>"#;
        let Topology::Nodes(nodes) = parse(text).unwrap() else { panic!() };
        assert_eq!(nodes.iter().map(|node| node.leaves.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(nodes[0].leaves[0].groups[3], nodes[0].leaves[1].groups[3]);
    }

    #[test]
    fn what_is_no_topology_is_an_error() {
        for text in
            ["", "<html></html>", "<topology", "<topology></topology>", "{}", "<topology><object type=\"PU\""]
        {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("topology"), "{text}: {error}");
        }
    }
}
