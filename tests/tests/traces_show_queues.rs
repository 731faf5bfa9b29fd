//! The queues in a trace: their lengths over time, and how long each message was unexpected.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::for_each_case;
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;

/// Programs whose messages are unexpected, or not, whatever the timing, on one communicator and without probes.
const PROGRAMS: [&str; 4] = ["expected", "unexpected", "flood", "out_of_order_tags"];

#[test]
fn as_the_profile_counts_them() {
    for name in PROGRAMS {
        for_each_case(name, |case| {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let run = case.job().under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
            run.expect(run.code == Some(0), &case.to_string());
            let (trace, profile) = (Trace::read(&output), Profile::read(&output));

            let waited = trace.attribute("unexpected for");
            assert_eq!(waited.len() as u64, profile.total("unexpected.messages"), "{case}");
            let seconds = waited.iter().sum::<u64>() as f64 * 1e-9;
            let counted = profile.total_seconds("unexpected.total_s");
            assert!(
                (seconds - counted).abs() <= 1e-9 * waited.len() as f64 + 1e-5 * counted,
                "{case}: {seconds} {counted}"
            );

            for (queue, metric) in [("posted", "pml_ob1_posted"), ("unexpected", "pml_ob1_unex")] {
                let metrics = trace.metrics();
                let of_queue = metrics.iter().filter(|((name, _), _)| name.starts_with(metric));
                let longest = of_queue.clone().flat_map(|(_, lengths)| lengths).max().copied().unwrap_or(0);
                assert_eq!(longest, profile.most(&format!("{queue}.max_length")), "{case}: {queue}");
                // Each entry comes and goes.
                let changes: usize = of_queue.map(|(_, lengths)| lengths.len()).sum();
                assert_eq!(
                    changes as u64,
                    2 * profile.total(&format!("{queue}.messages")),
                    "{case}: {queue}"
                );
            }
        });
    }
}
