//! The machine that this runs on: as `lstopo` sees it, otherwise as Linux describes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::build::{Builder, Kind};
use super::{Topology, TopologyError, xml};

/// Where Linux describes its processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// This machine.
///
/// # Errors
/// [`TopologyError::Unknown`] where neither is there.
pub fn here() -> Result<Topology, TopologyError> {
    for program in ["lstopo-no-graphics", "lstopo"] {
        let run =
            Command::new(program).args(["--of", "xml"]).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let Some(output) = run.ok().filter(|output| output.status.success()) else { continue };
        if let Ok(topology) = xml::parse(&String::from_utf8_lossy(&output.stdout)) {
            return Ok(topology);
        }
    }
    of_linux(Path::new(PROCESSORS))
}

/// Sockets, dies, caches and cores by the files below `cpu*/`.
fn of_linux(folder: &Path) -> Result<Topology, TopologyError> {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
    // Processors by what they share, outermost first, then their number: so that those that share something come together.
    let mut processors: BTreeMap<([i64; 5], u32), ()> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|_| TopologyError::Unknown)?.flatten() {
        let name = entry.file_name();
        let Some(processor) = name.to_str().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok())
        else {
            continue;
        };
        let path = entry.path();
        if number(&path.join("online")) == Some(0) {
            continue;
        }
        let topology = |name: &str| number(&path.join("topology").join(name)).unwrap_or(0);
        let cache = |level: i64| {
            (0..8).find_map(|index| {
                let cache = path.join(format!("cache/index{index}"));
                let shared = fs::read_to_string(cache.join("shared_cpu_list")).ok()?;
                let first = shared.split([',', '-', '\n']).next()?.parse().ok()?;
                (number(&cache.join("level")) == Some(level)).then_some(first)
            })
        };
        let own = i64::from(processor);
        let core = if path.join("topology/core_id").exists() { topology("core_id") } else { own };
        let shared = [
            topology("physical_package_id"),
            topology("die_id"),
            // Of a cache that is not there each core has its own.
            cache(3).unwrap_or(-1 - core),
            cache(2).unwrap_or(-1 - core),
            core,
        ];
        processors.insert((shared, processor), ());
    }
    let mut builder = Builder::default();
    builder.open(Kind::Machine);
    let kinds = [Kind::Socket, Kind::Die, Kind::L3, Kind::L2, Kind::Core];
    let mut last: Option<[i64; 5]> = None;
    for ((shared, processor), ()) in processors {
        let same = last.map_or(0, |last| std::iter::zip(last, shared).take_while(|(a, b)| a == b).count());
        if last.is_some() {
            (same..kinds.len()).for_each(|_| builder.close());
        }
        kinds[same..].iter().for_each(|kind| builder.open(*kind));
        builder.open_processor(Some(processor));
        builder.close();
        last = Some(shared);
    }
    Topology::of(builder.finish()).map_err(|_| TopologyError::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_processors() {
        let Ok(Topology::Each(machine)) = here() else { panic!("{:?}", here()) };
        assert!(!machine.leaves.is_empty());
        if Path::new(PROCESSORS).join("cpu0").exists() {
            let Ok(Topology::Each(machine)) = of_linux(Path::new(PROCESSORS)) else { panic!() };
            assert!(!machine.leaves.is_empty());
        }
        assert!(matches!(of_linux(Path::new("/nowhere")), Err(TopologyError::Unknown)));
    }

    #[test]
    fn files_of_linux_become_a_machine() {
        let folder = std::env::temp_dir().join(format!("mel-place-{}", std::process::id()));
        // Two sockets with two cores of two threads, numbered as Linux does: the second threads come last.
        for processor in 0..8 {
            let of_cpu = folder.join(format!("cpu{processor}/topology"));
            fs::create_dir_all(&of_cpu).unwrap();
            fs::write(of_cpu.join("physical_package_id"), format!("{}\n", processor % 2)).unwrap();
            fs::write(of_cpu.join("core_id"), format!("{}\n", processor / 2 % 2)).unwrap();
        }
        fs::create_dir_all(folder.join("cpufreq")).unwrap();
        let topology = of_linux(&folder);
        fs::remove_dir_all(&folder).unwrap();
        let Ok(Topology::Each(machine)) = topology else { panic!("{topology:?}") };
        assert_eq!((machine.leaves.len(), machine.cores().len(), machine.sockets()), (8, 4, 2));
    }
}
