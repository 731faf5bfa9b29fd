//! Readings for tests.

use mel_log::profile::{Efficiency, Ended};

use super::reading::{Calls, InCall, Queues, RankReading, Reading, Site, Stage};

/// So many ranks that have run so many seconds: rank r is in MPI r tenths of the time, at most nine, makes 100 calls each second, and has r receives
/// posted.
pub(crate) fn reading(ranks: u32, run_s: f64) -> Reading {
    let rank = |rank: u32| {
        let mpi_s = f64::from(rank.min(9)) * 0.1 * run_s;
        let site = |line: u32, part: f64| Site {
            function: "MPI_Recv".into(),
            site: Some(format!("halo.c:{line} (exchange)")),
            calls: (run_s * 50.0) as u64,
            mpi_s: mpi_s * part,
            waiting_s: mpi_s * part * 0.5,
        };
        RankReading {
            rank,
            host: format!("node{}", rank / 2),
            ended: Ended::Running,
            run_s,
            calls: Some(Calls {
                calls: (run_s * 100.0) as u64,
                mpi_s,
                waiting_s: mpi_s * 0.5,
                late_sender_s: mpi_s * 0.4,
                collective_s: mpi_s * 0.1,
                bytes_sent: (run_s * 4096.0) as u64,
            }),
            queues: Some(Queues {
                posted_length: u64::from(rank),
                posted_longest: u64::from(rank) + 1,
                unexpected_length: 0,
                unexpected_longest: 7,
                searches: (run_s * 200.0) as u64,
                search_s: run_s * 1e-6,
            }),
            messages: None,
            in_call: (rank == 1).then(|| InCall {
                function: "MPI_Recv".into(),
                site: Some("halo.c:44 (exchange)".into()),
                since_s: 0.25,
            }),
            sites: vec![site(44, 1.0), site(51, 0.0)],
            variables: Vec::new(),
        }
    };
    Reading {
        at_unix_s: 1_700_000_000.0 + run_s,
        stage: Stage::Running,
        command: vec!["./halo".into(), "-n".into(), "200".into()],
        mpi: "Open MPI v4.1.4".into(),
        backend: "model".into(),
        started_unix_s: 1_700_000_000.0,
        world_size: ranks,
        ranks: (0..ranks).map(rank).collect(),
        efficiency: Efficiency::of(
            (0..ranks).map(|rank| (rank, run_s * (1.0 - f64::from(rank.min(9)) * 0.1))),
            run_s,
        ),
        finding: Some("Rank 0 lost 1.00 s in MPI_Recv at halo.c:44 (exchange).".into()),
        remarks: Vec::new(),
        plots: Vec::new(),
    }
}
