//! Networks for tests.

use std::path::PathBuf;

use crate::fabric::Fabric;
use crate::read::of_texts;

/// The network of a text in our own format.
pub(crate) fn network(text: &str) -> Fabric {
    of_texts(&[(PathBuf::from("net.toml"), text.to_owned())]).unwrap().fabric
}

/// So many leaves with so many hosts each, `node1` and on, and so many spines.
pub(crate) fn two_levels(leaves: u32, hosts: u32, spines: u32) -> String {
    let mut text = format!(
        "[[host]]\nname = \"node[1-{}]\"\n[[switch]]\nname = \"leaf[1-{leaves}],spine[1-{spines}]\"\n[[link]]\nfrom = \"leaf[1-{leaves}]\"\nto = \"spine[1-{spines}]\"\ncapacity = \"100 Gbit/s\"\n",
        leaves * hosts
    );
    for leaf in 0..leaves {
        text += &format!(
            "[[link]]\nfrom = \"node[{}-{}]\"\nto = \"leaf{}\"\ncapacity = \"100 Gbit/s\"\n",
            leaf * hosts + 1,
            (leaf + 1) * hosts,
            leaf + 1
        );
    }
    text
}
