//! Networks from files: which format it is, and several files together.
//!
//! - [`ours`]: our own, in TOML.
//! - [`slurm`]: Slurm's `topology.conf`.
//! - [`ibnetdiscover`], [`csv_of_ibdiagnet`]: the nodes and links of InfiniBand subnets; [`subnet`] puts them into the graph.
//! - [`tables`]: forwarding tables.

pub(crate) mod csv_of_ibdiagnet;
pub(crate) mod ibnetdiscover;
pub(crate) mod ours;
pub(crate) mod slurm;
pub(crate) mod subnet;
pub(crate) mod tables;

use std::path::{Path, PathBuf};

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::error::{NetError, Wrong};
use crate::fabric::{Fabric, Plane};

/// A format that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Ours,
    Slurm,
    Ibnetdiscover,
    Ibdiagnet,
    Tables,
}

/// Switches by their GUID, in each plane of InfiniBand.
pub(crate) type Guids = Vec<(u32, FxHashMap<u64, NodeIndex>)>;

/// A network and what there is to say about how it was read.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The network.
    pub fabric: Fabric,
    /// A sentence each.
    pub notes: Vec<String>,
}

/// Reads files that describe one network together. Each file with nodes and links is a plane, or several; forwarding tables belong to the
/// plane that has their switches.
///
/// # Errors
/// A file cannot be read, or is not what it should be; there is no host or no link in them.
pub fn read(files: &[PathBuf]) -> Result<Network, NetError> {
    let mut texts = Vec::new();
    for path in files {
        let bytes = std::fs::read(path).map_err(|error| NetError::Io { path: path.clone(), error })?;
        // Descriptions of nodes may hold anything.
        texts.push((path.clone(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    of_texts(&texts)
}

/// The same from texts, each with its file's name.
///
/// # Errors
/// As [`read`], but for those of the file system.
pub fn of_texts(texts: &[(PathBuf, String)]) -> Result<Network, NetError> {
    let (mut fabric, mut guids, mut notes) = (Fabric::default(), Guids::new(), Vec::new());
    let mut formats = Vec::new();
    for (path, text) in texts {
        let format = format(path, text).ok_or_else(|| NetError::Unknown { path: path.clone() })?;
        formats.push((format, path, text));
    }
    // Tables need the switches, in whichever order the files are named.
    formats.sort_by_key(|(format, ..)| *format == Format::Tables);
    for (format, path, text) in formats {
        let read = match format {
            Format::Ours => ours::read(text, &plane_name(path), &mut fabric),
            Format::Slurm => slurm::read(text, &plane_name(path), &mut fabric),
            Format::Ibnetdiscover => ibnetdiscover::read(text)
                .map(|subnet| subnet.add_to(&mut fabric, &plane_name(path), &mut guids)),
            Format::Ibdiagnet => csv_of_ibdiagnet::read(text)
                .map(|subnet| subnet.add_to(&mut fabric, &plane_name(path), &mut guids)),
            Format::Tables => tables::read(text).and_then(|tables| {
                let unknown = tables::add_to(tables, &mut fabric, &guids)?;
                if unknown > 0 {
                    notes.push(format!(
                        "{} has the tables of {unknown} switches that are in no other file: they are left out",
                        path.display()
                    ));
                }
                Ok(())
            }),
        };
        read.map_err(|Wrong { line, what }| NetError::Line { path: path.clone(), line, what })?;
    }
    if fabric.graph.edge_count() == 0 || fabric.hosts().next().is_none() {
        let files: Vec<String> = texts.iter().map(|(path, _)| path.display().to_string()).collect();
        return Err(NetError::Other(format!(
            "{} has no link of a host: forwarding tables alone are no network, the output of ibnetdiscover belongs to them",
            files.join(", ")
        )));
    }
    fabric.find_levels();
    notes.extend(fabric.planes.iter().filter(|plane| plane.is_logical).map(|_| {
        "Slurm's file has one link where there may be several cables: a link's load is the sum over all of them".to_owned()
    }));
    Ok(Network { fabric, notes })
}

/// A plane is called like its file, where nothing else names it.
fn plane_name(path: &Path) -> String {
    path.file_stem().map_or_else(|| "network".into(), |stem| stem.to_string_lossy().into_owned())
}

/// A plane of that name; where there is one of that name, with a number.
pub(crate) fn new_plane(fabric: &mut Fabric, name: &str, plane: Plane) -> u32 {
    let mut unique = name.to_owned();
    let mut number = 1;
    while fabric.planes.iter().any(|plane| plane.name == unique) {
        number += 1;
        unique = format!("{name}-{number}");
    }
    fabric.add_plane(Plane { name: unique, ..plane })
}

/// The format of a text, by what stands in it; of a TOML file by its name.
fn format(path: &Path, text: &str) -> Option<Format> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        return Some(Format::Ours);
    }
    for line in text.lines() {
        let line = line.trim();
        let starts =
            |word: &str| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if starts("Unicast lids") || line.contains("dump_ucast_routes: Switch") {
            return Some(Format::Tables);
        }
        if starts("START_") {
            return Some(Format::Ibdiagnet);
        }
        if starts("SwitchName") || starts("BlockName") {
            return Some(Format::Slurm);
        }
        if ["vendid=", "switchguid=", "caguid=", "Switch\t", "Ca\t"].into_iter().any(starts) {
            return Some(Format::Ibnetdiscover);
        }
        if ["[[link]]", "[[host]]", "[[switch]]", "[[plane]]"].contains(&line) {
            return Some(Format::Ours);
        }
    }
    None
}
