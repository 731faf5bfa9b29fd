//! What the MPI libraries move below the calls is observed as it is: how much, between whom, and from where to where; and what the
//! program itself moves by the same functions is not.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::events::Log;
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::{Finished, Job, Mpi, compile_special};

const BROADCASTS: u64 = 100;
const SENT: u64 = BROADCASTS << 20;

const CMA_READ: i64 = 4;
const CMA_WRITE: i64 = 5;
const SEND: i64 = 2;
const RECEIVE: i64 = 3;

/// An operation of a transport.
#[derive(Clone, Copy, Debug)]
struct Operation {
    rank: u32,
    operation: i64,
    target: i64,
    size: u64,
    local: u64,
    remote: u64,
}

fn operations(directory: &Path) -> Vec<Operation> {
    let log = Log::of_run(directory);
    let all = log.ranks.iter().flat_map(|(&rank, events)| events.iter().map(move |event| (rank, event)));
    all.map(|(rank, event)| {
        assert_eq!(event.name, "btl_netop");
        let names: Vec<&str> = event.elements.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["operation", "target rank", "size", "local address", "remote address"]);
        let [operation, target, size, local, remote] = [0, 1, 2, 3, 4].map(|place| event.elements[place].1);
        Operation { rank, operation, target, size: size as u64, local: local as u64, remote: remote as u64 }
    })
    .collect()
}

/// The buffers of both ranks.
fn buffers(finished: &Finished) -> [std::ops::Range<u64>; 2] {
    let mut found = BTreeMap::new();
    for line in finished.stdout.lines().filter_map(|line| line.strip_prefix("buffer ")) {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        found.insert(numbers[0], numbers[1]..numbers[2]);
    }
    [0, 1].map(|rank| found[&rank].clone())
}

/// Bytes by rank, operation and target.
fn sums(operations: &[Operation]) -> BTreeMap<(u32, i64, i64), u64> {
    let mut sums = BTreeMap::new();
    for Operation { rank, operation, target, size, .. } in operations {
        *sums.entry((*rank, *operation, *target)).or_default() += size;
    }
    sums
}

/// The MPIs of the distribution, which copy from memory to memory.
fn distributed() -> impl Iterator<Item = Mpi> {
    Mpi::all().into_iter().filter(|mpi| ["openmpi", "mpich"].contains(&mpi.name))
}

fn job<'a>(mpi: &'a Mpi, options: &[&str], directory: &Path) -> Job<'a> {
    let options = options.iter().map(|option| option.as_ref());
    let output = ["-o".as_ref(), directory.as_os_str()];
    Job::new(mpi, 2, compile_special(mpi, "carried")).patient().under_mel(options.chain(output))
}

/// Whether a figure is another one and at most half a percent more, for what transports add.
fn is_about(bytes: u64, expected: u64) -> bool {
    (expected..=expected + expected / 200).contains(&bytes)
}

#[test]
fn copies_between_processes_are_the_broadcasts_of_the_program() {
    for mpi in distributed() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        // By the name that the paper has.
        let finished = job(&mpi, &["-e", "event_netop_rdma", "--profile", "net"], &output).run();
        finished.expect(finished.code == Some(0), "the program ends well");
        let operations = operations(&output);
        let of_memory: Vec<Operation> =
            operations.iter().copied().filter(|one| [CMA_READ, CMA_WRITE].contains(&one.operation)).collect();
        if finished.stdout.contains("unreadable") {
            eprintln!("not tested: processes may not read each other's memory here");
            continue;
        }
        assert_eq!(sums(&of_memory), BTreeMap::from([((1, CMA_READ, 0), SENT)]), "{}", mpi.name);
        let [there, here] = buffers(&finished);
        for one in &of_memory {
            let lies_in = |address: u64, buffer: &std::ops::Range<u64>| {
                buffer.contains(&address) && address + one.size <= buffer.end
            };
            assert!(lies_in(one.local, &here) && lies_in(one.remote, &there), "{}: {one:?}", mpi.name);
        }
        let profile = Profile::read(&output);
        let rows = profile.json()["ranks"][1]["traffic"].as_array().expect("there is traffic");
        let carried = rows.iter().filter(|row| row["kind"] == "carried-in" && row["peer"] == 0);
        let by_function: Vec<(&str, u64)> = carried
            .map(|row| {
                (row["function"].as_str().unwrap_or_default(), row["bytes"].as_u64().unwrap_or_default())
            })
            .collect();
        assert_eq!(by_function, [("MPI_Bcast", SENT)], "{}: {rows:?}", mpi.name);
    }
}

#[test]
fn without_single_copies_there_are_none() {
    let Some(mpi) = distributed().find(|mpi| mpi.name == "openmpi") else { return };
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let job = job(&mpi, &["-e", "btl_netop"], &output);
    let finished = job.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none").args(["20"]).run();
    finished.expect(finished.code == Some(0), "the program ends well");
    let operations = operations(&output);
    assert!(operations.is_empty(), "shared memory is not seen: {operations:?}");
}

#[test]
fn what_goes_over_tcp_is_what_was_sent() {
    for mpi in distributed() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let mut job = job(&mpi, &["-e", "btl_netop", "--profile", "net"], &output);
        let settings: &[(&str, &str)] = if mpi.name == "openmpi" {
            &[("OMPI_MCA_btl", "tcp,self"), ("OMPI_MCA_btl_tcp_if_include", "lo"), ("OMPI_MCA_pml", "ob1")]
        } else {
            &[("UCX_TLS", "tcp"), ("UCX_NET_DEVICES", "lo")]
        };
        for (name, value) in settings {
            job = job.env(name, value);
        }
        let finished = job.run();
        finished.expect(finished.code == Some(0), "the program ends well");
        let operations = operations(&output);
        let sums = sums(&operations);
        let sum = |rank, operation, target| sums.get(&(rank, operation, target)).copied().unwrap_or(0);
        assert!(is_about(sum(0, SEND, 1), SENT), "{}: {sums:?}", mpi.name);
        assert!(is_about(sum(1, RECEIVE, 0), SENT), "{}: {sums:?}", mpi.name);
        let is_other = |one: &&Operation| {
            ![SEND, RECEIVE].contains(&one.operation) || one.target != 1 - i64::from(one.rank)
        };
        let others: Vec<&Operation> = operations.iter().filter(is_other).collect();
        assert!(others.is_empty(), "{}: {:?}", mpi.name, &others[..others.len().min(5)]);
        let profile = Profile::read(&output);
        let rows = profile.json()["ranks"][0]["traffic"].as_array().expect("there is traffic");
        let carried = rows.iter().filter(|row| row["kind"] == "carried" && row["peer"] == 1);
        let bytes: u64 = carried.filter_map(|row| row["bytes"].as_u64()).sum();
        assert_eq!(bytes, sum(0, SEND, 1), "{}: the same as in the log", mpi.name);
        let report = Command::new(mel())
            .args(["report", "--matrix", "--by", "function", "--csv", "--kind", "carried"])
            .arg(&output)
            .output()
            .expect("mel runs");
        let text = String::from_utf8_lossy(&report.stdout);
        let of_broadcasts = text
            .lines()
            .find_map(|line| line.strip_prefix(",MPI_Bcast,carried,0,1,"))
            .and_then(|rest| rest.split(',').nth(1)?.parse::<u64>().ok());
        let of_broadcasts = of_broadcasts.unwrap_or_else(|| panic!("{}: {text}", mpi.name));
        assert!(is_about(of_broadcasts, SENT) && of_broadcasts <= bytes, "{}: {text}", mpi.name);
    }
}

#[test]
fn a_trace_has_the_transfers_under_the_calls() {
    for mpi in distributed() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let mut job = job(&mpi, &["--trace", "-e", "btl_netop"], &output).args(["20"]);
        let settings: &[(&str, &str)] = if mpi.name == "openmpi" {
            &[("OMPI_MCA_btl", "tcp,self"), ("OMPI_MCA_btl_tcp_if_include", "lo"), ("OMPI_MCA_pml", "ob1")]
        } else {
            &[("UCX_TLS", "tcp"), ("UCX_NET_DEVICES", "lo")]
        };
        for (name, value) in settings {
            job = job.env(name, value);
        }
        let finished = job.run();
        finished.expect(finished.code == Some(0), "the program ends well");
        let trace = Trace::read(&output);
        assert_eq!(trace.disorder(), None, "{}", mpi.name);
        let location = |rank: u32| {
            let name = format!("Name: \"rank {rank}: TCP thread 0\"");
            let line =
                trace.definitions.iter().find(|line| line.starts_with("LOCATION ") && line.contains(&name));
            let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            number.unwrap_or_else(|| panic!("{}: no location of rank {rank}", mpi.name))
        };
        let here = location(0);
        // Transfers of the program's calls, each with its size and target, lie between the begin and the end of a broadcast.
        let (mut within, mut bytes, mut in_broadcasts) = (0u32, 0, 0);
        for record in &trace.records {
            let is_of = |name: &str| record.details.contains(name);
            match (record.location, record.kind.as_str()) {
                (0, "ENTER") if is_of("\"MPI_Bcast\"") => within += 1,
                (0, "LEAVE") if is_of("\"MPI_Bcast\"") => within -= 1,
                (location, "ENTER") if location == here && is_of("\"transport: send\"") => {
                    let size =
                        record.details.split("(\"size\" <").nth(1).and_then(|rest| {
                            rest.split(')').next()?.rsplit("; ").next()?.parse::<u64>().ok()
                        });
                    let size = size.unwrap_or_else(|| panic!("{}: no size: {}", mpi.name, record.details));
                    assert!(is_of("(\"target rank\" <"), "{}: {}", mpi.name, record.details);
                    bytes += size;
                    in_broadcasts += if within > 0 { size } else { 0 };
                }
                _ => {}
            }
        }
        assert!(bytes >= 20 << 20, "{}: {bytes}", mpi.name);
        assert!(in_broadcasts >= 20 << 20, "{}: {in_broadcasts} of {bytes}", mpi.name);
    }
}
