//! What is sampled while a program runs is in the event log, also of a rank that is killed, and in everything that is made of logs: text,
//! OTF2 by one process and by several, as other readers see it too.

use std::path::Path;
use std::process::{Command, Output};

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::profile::Profile;
use mel_tests::readers::Python;
use mel_tests::trace::{Trace, printed};
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

const MESSAGES: &str = "pml_monitoring_messages_count";

fn convert(options: &[&str], directory: &Path) -> Output {
    let output = Command::new(mel()).arg("convert").args(options).arg(directory).output().expect("mel runs");
    assert!(output.status.code().is_some_and(|code| code == 0 || code == 3), "{output:?}");
    output
}

fn text(directory: &Path) -> String {
    String::from_utf8(convert(&[], directory).stdout).expect("text")
}

/// What a row of the profile is called in a trace.
fn title(of: &Value) -> String {
    let mut title = of["name"].as_str().expect("a name").to_owned();
    if let Some(object) = of["object"].as_str() {
        title += &format!(" on {object}");
    }
    if let Some(element) = of["element"].as_u64() {
        title += &format!(", element {element}");
    }
    title
}

/// The metrics of a trace are what the profile has: as many samples, from the first value to the last, through each point of the curve.
/// How many samples there are.
fn as_in_the_profile(trace: &Trace, profile: &Profile, what: &str) -> u64 {
    let (sampled, mut samples) = (trace.sampled(), 0);
    for (rank, of_rank) in (0u64..).zip(profile.json()["ranks"].as_array().expect("ranks")) {
        for of in of_rank["variables"].as_array().expect("variables") {
            let title = title(of);
            let points = sampled.get(&(title.clone(), rank));
            let points = points.unwrap_or_else(|| panic!("{what}: no {title} of rank {rank}: {sampled:?}"));
            assert_eq!(Some(points.len() as u64), of["samples"].as_u64(), "{what}: {title}: {points:?}");
            let (first, last) = (points[0], points[points.len() - 1]);
            assert_eq!((Some(first.1), Some(last.1)), (of["first"].as_f64(), of["last"].as_f64()), "{title}");
            let took = (last.0 - first.0) as f64 * 1e-9;
            let profiled = of["last_s"].as_f64().unwrap() - of["first_s"].as_f64().unwrap();
            // Both have measured the rate of the clock.
            assert!(
                (took - profiled).abs() < 1e-3 * profiled + 1e-6,
                "{what}: {title}: {took} s, and {profiled} s"
            );
            let mut values = points.iter().map(|(_, value)| *value);
            for point in of["curve"].as_array().expect("a curve") {
                let value = point[1].as_f64().expect("a value");
                assert!(values.any(|known| known == value), "{what}: {title}: {point} of {points:?}");
            }
            samples += points.len() as u64;
        }
    }
    samples
}

#[test]
fn the_trace_has_each_sample_by_object_and_element() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let [run, shared] = ["run", "shared"].map(|name| directory.path().join(name));
        let chosen = format!("{MESSAGES},coll_monitoring_a2a_count,mel_wait_time");
        let options = ["--trace", "--vars", &chosen, "--every", "10ms"].map(AsRef::as_ref);
        let job = Job::new(mpi, 2, compile_special(mpi, "sampled")).args(["200"]);
        let finished = job.under_mel(options.into_iter().chain(["-o".as_ref(), run.as_os_str()])).run();
        finished.expect(finished.code == Some(0), mpi.name);
        let (trace, profile) = (Trace::read(&run), Profile::read(&run));
        let samples = as_in_the_profile(&trace, &profile, mpi.name);
        assert_eq!(trace.disorder(), None, "{}", mpi.name);
        let sampled = trace.sampled();
        let last = |title: &str| sampled[&(title.to_owned(), 0)].last().map(|(_, value)| *value);
        assert_eq!(last(&format!("{MESSAGES} on MPI_COMM_WORLD, element 1")), Some(205.0), "{}", mpi.name);
        // One that the program has made, named and freed: a metric of its own, which ends before the run does.
        assert_eq!(last(&format!("{MESSAGES} on the other")), Some(5.0), "{}", mpi.name);
        let definitions = trace.definitions.join("\n");
        for (variable, mode, unit) in [
            (format!("{MESSAGES} on MPI_COMM_WORLD"), "ABSOLUTE_POINT", ""),
            ("coll_monitoring_a2a_count on MPI_COMM_WORLD".into(), "ACCUMULATED_START", ""),
            ("mel_wait_time on MPI_COMM_WORLD".into(), "ACCUMULATED_START", "ns"),
        ] {
            let lines = definitions.lines().filter(|line| line.starts_with("METRIC_MEMBER"));
            let line = lines.into_iter().find(|line| line.contains(&format!("\"{variable}\"")));
            let line = line.unwrap_or_else(|| panic!("{variable}: {definitions}"));
            let has = |what: &str| line.contains(what);
            assert!(has(mode) && has("UINT64") && has(&format!("Unit: \"{unit}\"")), "{line}");
        }
        let text = text(&run);
        assert_eq!(text.matches(" sample '").count() as u64, samples, "{}: {text}", mpi.name);
        // Several processes write what one has written.
        let job = Job::new(mpi, 2, mel()).args(["convert", "--otf2", "--no-markers"]);
        let together = job.args(["-o".as_ref(), shared.as_os_str(), run.as_os_str()]).run();
        together.expect(together.code == Some(0), mpi.name);
        assert_eq!(printed(&shared)[2], printed(&run)[2], "{}", mpi.name);
        for python in Python::all() {
            assert_eq!(python.disagreement(&run, &trace), None);
            let read = &python.read(&run)["values"];
            for ((title, rank), points) in &sampled {
                let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
                let others = read[format!("MPI Rank {rank}: {title}")].as_array().expect("a metric");
                let others: Vec<f64> = others.iter().map(|value| value.as_f64().expect("a number")).collect();
                assert_eq!(others, values, "{}: {}: {title}", mpi.name, python.name);
            }
        }
    }
}

#[test]
fn a_log_of_events_has_them_too() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["-e", "pml_ob1_message_arrived", "--vars", MESSAGES, "--every", "0", "-o"];
        let options = options.iter().map(AsRef::as_ref).chain([output.as_os_str()]);
        let job = Job::new(mpi, 2, compile_special(mpi, "sampled")).args(["50", "asks"]);
        let finished = job.under_mel(options).run();
        finished.expect(finished.code == Some(0), mpi.name);
        let text = text(&output);
        let line = format!("sample '{MESSAGES}' object=MPI_COMM_WORLD element=1 value=");
        let of_rank = text.split("# rank ").nth(1).expect("rank 0");
        let values: Vec<&str> = of_rank.lines().filter_map(|one| Some(one.split_once(&line)?.1)).collect();
        let expected: Vec<String> =
            (0..=10).map(|part| part * 5).chain([55]).map(|value| value.to_string()).collect();
        assert_eq!(values, expected, "{}", mpi.name);
        let events = std::fs::read_to_string(output.join("events-0.txt")).expect("the text of rank 0");
        assert_eq!(events.matches(&line).count(), values.len(), "{}", mpi.name);
    }
}

#[test]
fn a_killed_rank_leaves_what_it_has_sampled() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let name = output.to_str().expect("a name");
        let program = compile_special(mpi, "endless");
        let options = ["--trace", "--vars", MESSAGES, "--every", "20ms", "-o", name];
        let running = Job::new(mpi, 2, &program).under_mel(options).start();
        let log = output.join("rank-0.mlog");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !(log.exists() && text(&output).matches(" sample '").count() >= 9) {
            assert!(std::time::Instant::now() < deadline, "{}: no samples in a minute", mpi.name);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        for rank in 0..2 {
            let log = std::fs::read(output.join(format!("rank-{rank}.mlog"))).expect("it has begun");
            let pid = u32::from_le_bytes(log[28..32].try_into().expect("4 bytes"));
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
        running.wait();
        let samples = text(&output).matches(" sample '").count();
        assert!(samples >= 9, "{}", mpi.name);
        convert(&["--otf2"], &output);
        let trace = Trace::read(&output);
        assert_eq!(trace.sampled().values().map(Vec::len).sum::<usize>(), samples, "{}", mpi.name);
        let analyzed = Command::new(mel()).arg("analyze").arg(&output).output().expect("mel runs");
        assert!(analyzed.status.code() != Some(101), "{analyzed:?}");
    }
}

#[test]
fn what_connections_carry_is_sampled_by_interface() {
    for mpi in Mpi::all().iter().filter(|mpi| ["openmpi", "mpich"].contains(&mpi.name)) {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--trace", "--profile", "net", "-o"].map(AsRef::as_ref);
        let job = Job::new(mpi, 2, compile_special(mpi, "planes")).patient();
        let job = job.under_mel(options.into_iter().chain([output.as_os_str()]));
        let finished = if mpi.name == "openmpi" {
            let job = job.env("OMPI_MCA_btl", "tcp,self").env("OMPI_MCA_btl_tcp_if_include", "lo");
            job.env("OMPI_MCA_pml", "ob1").run()
        } else {
            job.env("UCX_TLS", "tcp").env("UCX_NET_DEVICES", "lo").run()
        };
        finished.expect(finished.code == Some(0), mpi.name);
        let (trace, profile) = (Trace::read(&output), Profile::read(&output));
        let sampled = trace.sampled();
        for rank in 0..2usize {
            let of_rank = &profile.json()["ranks"][rank];
            let rows = of_rank["connections"].as_array().expect("there are connections").iter();
            let rows: Vec<&Value> = rows.filter(|row| row["purpose"] == "mpi").collect();
            let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>() as f64;
            for (name, key) in [
                ("net_bytes_sent", "bytes_sent"),
                ("net_bytes_received", "bytes_received"),
                ("net_retransmissions", "retransmissions"),
            ] {
                let points = &sampled[&(format!("{name} on lo"), rank as u64)];
                assert_eq!(
                    points.last().map(|(_, value)| *value),
                    Some(sum(key)),
                    "{}: {points:?}",
                    mpi.name
                );
                // At the end of each of two phases, and at the end.
                assert!(points.len() >= 2, "{}: {name}: {points:?}", mpi.name);
                assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{}: {points:?}", mpi.name);
            }
        }
        // The first rank of a host reads what interfaces count themselves: what passes localhost is at least what we have sent.
        let port = &sampled[&("port_bytes_sent on lo".to_owned(), 0)];
        let own = sampled[&("net_bytes_sent on lo".to_owned(), 0)].last().map_or(0.0, |(_, value)| *value);
        assert!(port.len() == 2 && port[0].1 == 0.0 && port[1].1 >= own, "{}: {port:?}, {own}", mpi.name);
        assert!(!sampled.contains_key(&("port_bytes_sent on lo".to_owned(), 1)), "one rank of each host");
        let text = text(&output);
        assert!(text.contains("sample 'net_bytes_sent' object=lo value="), "{text}");
    }
}
