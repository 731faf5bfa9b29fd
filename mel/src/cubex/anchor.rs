//! `anchor.xml` of a Cube profile: what its numbers are called.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::{Cube, Location, Node};

type Out<'w> = Writer<&'w mut Vec<u8>>;

/// The file's text.
///
/// # Errors
/// Those of the writer, none of which a buffer in memory has.
pub fn anchor(cube: &Cube<'_>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut out = Writer::new_with_indent(&mut text, b' ', 1);
    out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    out.create_element("cube").with_attribute(("version", "4.4")).write_inner_content(|out| {
        let profile = cube.profile;
        let attributes = [
            ("Creator", format!("MEL {}", profile.mel_version)),
            ("CUBE_CT_AGGR", "SUM".to_owned()),
            ("MEL::command", profile.command.join(" ")),
            ("MEL::mpi", profile.mpi.lines().next().unwrap_or_default().to_owned()),
        ];
        for (key, value) in &attributes {
            let attribute = [("key", *key), ("value", value.as_str())];
            out.create_element("attr").with_attributes(attribute).write_empty()?;
        }
        out.create_element("metrics").write_inner_content(|out| metrics(out, cube))?;
        out.create_element("program").write_inner_content(|out| program(out, cube))?;
        out.create_element("system").write_inner_content(|out| system(out, cube))?;
        Ok(())
    })?;
    text.push(b'\n');
    Ok(text)
}

fn metrics(out: &mut Out<'_>, cube: &Cube<'_>) -> io::Result<()> {
    for (number, metric) in cube.metrics.iter().enumerate() {
        let attributes = [("id", &*number.to_string()), ("type", "EXCLUSIVE")];
        out.create_element("metric").with_attributes(attributes).write_inner_content(|out| {
            texts(
                out,
                &[
                    ("disp_name", metric.title),
                    ("uniq_name", metric.name),
                    ("dtype", if metric.is_integer() { "UINT64" } else { "DOUBLE" }),
                    ("uom", metric.unit()),
                    ("url", ""),
                    ("descr", &metric.description(cube.profile)),
                ],
            )
        })?;
    }
    Ok(())
}

/// A region for the program and for each of its children, and the call tree: both have the same numbers.
fn program(out: &mut Out<'_>, cube: &Cube<'_>) -> io::Result<()> {
    region(out, 0, cube.program(), "user", &Node::default())?;
    for (number, node) in (1..).zip(&cube.nodes) {
        let name = match node.site.as_str() {
            "" => node.function.clone(),
            site => format!("{} @ {site}", node.function),
        };
        region(out, number, &name, "mpi", node)?;
    }
    let root = [("id", "0"), ("calleeId", "0")];
    out.create_element("cnode").with_attributes(root).write_inner_content(|out| {
        for number in 1..=cube.nodes.len() {
            let number = number.to_string();
            let attributes = [("id", &*number), ("calleeId", &*number)];
            out.create_element("cnode").with_attributes(attributes).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn region(out: &mut Out<'_>, number: usize, name: &str, paradigm: &str, node: &Node) -> io::Result<()> {
    let line = if node.line == 0 { "-1".into() } else { node.line.to_string() };
    let attributes = [("id", &*number.to_string()), ("mod", &*node.file), ("begin", &*line), ("end", &*line)];
    let parts = [
        ("name", name),
        ("mangled_name", name),
        ("paradigm", paradigm),
        ("role", "function"),
        ("url", ""),
        ("descr", ""),
    ];
    out.create_element("region").with_attributes(attributes).write_inner_content(|out| texts(out, &parts))?;
    Ok(())
}

/// The machine, its nodes, their processes, their threads.
fn system(out: &mut Out<'_>, cube: &Cube<'_>) -> io::Result<()> {
    out.create_element("systemtreenode").with_attribute(("Id", "0")).write_inner_content(|out| {
        texts(out, &[("name", "machine"), ("class", "machine")])?;
        let numbered: Vec<(usize, Location)> = cube.locations.iter().copied().enumerate().collect();
        let hosts = numbered.chunk_by(|a, b| cube.rank(a.1).host == cube.rank(b.1).host);
        for (number, of_host) in (1..).zip(hosts) {
            let number: usize = number;
            let id = number.to_string();
            out.create_element("systemtreenode").with_attribute(("Id", &*id)).write_inner_content(|out| {
                let host = of_host.first().map_or("", |(_, location)| &cube.rank(*location).host);
                texts(out, &[("name", host), ("class", "node")])?;
                of_host
                    .chunk_by(|a, b| a.1.rank == b.1.rank)
                    .try_for_each(|threads| process(out, cube, threads))
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

fn process(out: &mut Out<'_>, cube: &Cube<'_>, threads: &[(usize, Location)]) -> io::Result<()> {
    let Some((_, first)) = threads.first() else { return Ok(()) };
    let (id, rank) = (first.rank.to_string(), cube.rank(*first).rank.to_string());
    out.create_element("locationgroup").with_attribute(("Id", &*id)).write_inner_content(|out| {
        texts(out, &[("name", &format!("MPI rank {rank}")), ("rank", &rank), ("type", "process")])?;
        for (number, location) in threads {
            let (id, thread) = (number.to_string(), location.thread.to_string());
            out.create_element("location").with_attribute(("Id", &*id)).write_inner_content(|out| {
                texts(out, &[("name", &format!("thread {thread}")), ("rank", &thread), ("type", "thread")])
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Elements that have only a text.
fn texts(out: &mut Out<'_>, elements: &[(&str, &str)]) -> io::Result<()> {
    for (name, text) in elements {
        match *text {
            "" => out.create_element(*name).write_empty()?,
            text => out.create_element(*name).write_text_content(BytesText::new(text))?,
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;

    #[test]
    fn names_are_escaped_and_in_their_places() {
        let mut profile = sample::late_rank(5, 1);
        profile.sites[2].function = "std::vector<int>::operator<".into();
        profile.command[0] = "/opt/\"a & b\"".into();
        let text = String::from_utf8(anchor(&Cube::of(&profile)).unwrap()).unwrap();
        assert!(
            text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.4\">"),
            "{text}"
        );
        assert!(text.contains("MPI_Waitall @ halo.c:44 (std::vector&lt;int&gt;::operator&lt;)"), "{text}");
        assert!(text.contains("a &amp; b"), "{text}");
        assert_eq!(text.matches("<locationgroup ").count(), 5, "{text}");
        assert_eq!(text.matches("<class>node</class>").count(), 2, "{text}");
        assert!(text.contains("mod=\"/src/halo/halo.c\" begin=\"44\""), "{text}");
    }
}
