//! The file of a Cube profile: a tar archive of `anchor.xml` and, for each metric, its numbers and their index.

use std::io::{self, Write};

use mel_log::profile::schema::Profile;
use tar::{Builder, Header};

use super::Cube;
use super::anchor::anchor;

/// Writes the profile.
///
/// # Errors
/// Those of `out`.
pub fn write(out: impl Write, profile: &Profile) -> io::Result<()> {
    let cube = Cube::of(profile);
    let mut archive = Builder::new(out);
    let time = profile.started_unix_s.max(0.0) as u64;
    let mut add = |name: String, content: &[u8]| {
        let mut header = Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(time);
        archive.append_data(&mut header, name, content)
    };
    for (number, (metric, values)) in cube.metrics.iter().zip(&cube.values).enumerate() {
        add(format!("{number}.index"), &index(values.keys().copied()))?;
        let rows = values.values().map(Vec::as_slice);
        add(format!("{number}.data"), &data(rows, metric.is_integer()))?;
    }
    add("anchor.xml".into(), &anchor(&cube)?)?;
    archive.into_inner()?.flush()
}

/// Which nodes of the call tree have numbers, by their places in a walk of the tree, parents first: these are the nodes' own numbers.
/// Little-endian, whatever machine this is.
fn index(nodes: impl ExactSizeIterator<Item = u32>) -> Vec<u8> {
    let mut bytes = b"CUBEX.INDEX".to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(0u16.to_le_bytes());
    // Sparse: nodes may be missing.
    bytes.push(1);
    bytes.extend((nodes.len() as u32).to_le_bytes());
    nodes.for_each(|node| bytes.extend(node.to_le_bytes()));
    bytes
}

/// A number for each location, node by node.
fn data<'a>(rows: impl Iterator<Item = &'a [f64]>, integer: bool) -> Vec<u8> {
    let mut bytes = b"CUBEX.DATA".to_vec();
    for value in rows.flatten() {
        bytes.extend(if integer { (*value as u64).to_le_bytes() } else { value.to_le_bytes() });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;
    use std::io::Read;

    #[test]
    fn the_archive_has_what_its_anchor_names() {
        let mut bytes = Vec::new();
        write(&mut bytes, &sample::late_rank(4, 1)).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut sizes = std::collections::BTreeMap::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            sizes.insert(entry.path().unwrap().to_string_lossy().into_owned(), content.len());
        }
        assert_eq!(sizes.len(), 2 * super::super::metrics().len() + 1);
        // The program and five children on four locations.
        assert_eq!((sizes["0.index"], sizes["0.data"]), (22 + 6 * 4, 10 + 6 * 4 * 8));
        assert!(sizes["anchor.xml"] > 1000);
    }
}
