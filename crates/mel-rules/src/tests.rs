//! Rules about profiles: the problem was planted, and its healthy twin is left alone. And errors of files.

use mel_log::profile::{
    CallProfile, Profile, RankProfile, Traffic, VariableProfile, WaitKind, WaitProfile, traffic::size_bin,
};

use crate::advice::{Advice, Advices, advise};
use crate::file::{self, parse};
use crate::of_run::{OfRun, QUANTITIES};
use crate::rule::Then;

const OPEN_MPI: &str = "Open MPI v4.1.4, package: some";
const MPICH: &str = "MPICH Version:\t4.0.2";
const MVAPICH: &str = "MVAPICH2 Version      :\t2.3.7";

/// Four ranks on two hosts that run for a second each; rank 0 makes 100 calls of this function.
fn run(mpi: &str, function: &str, bytes: u64, total_s: f64, lost: Option<(WaitKind, f64)>) -> Profile {
    let waits = lost.map(|(kind, lost_s)| WaitProfile { kind, count: 100, lost_s, ..WaitProfile::default() });
    let call = CallProfile {
        function: function.into(),
        site: Some(0),
        calls: 100,
        total_s,
        bytes_sent: 100 * bytes,
        waits: waits.into_iter().collect(),
        ..CallProfile::default()
    };
    let rank = |rank| RankProfile {
        rank,
        host: format!("node{}", rank / 2),
        run_s: 1.0,
        calls: if rank == 0 { vec![call.clone()] } else { Vec::new() },
        ..RankProfile::default()
    };
    Profile {
        mpi: mpi.into(),
        world_size: 4,
        profiled: vec!["calls".into()],
        sites: vec![mel_log::profile::CallSite::default()],
        ranks: (0..4).map(rank).collect(),
        ..Profile::default()
    }
}

fn shipped_about(profile: &Profile) -> Advices {
    advise(&file::shipped().unwrap(), profile)
}

fn names(profile: &Profile) -> Vec<String> {
    shipped_about(profile).said.into_iter().map(|advice| advice.rule).collect()
}

fn setting<'a>(advice: &'a Advice, place: usize, name: &str) -> Option<&'a str> {
    advice.tries[place].iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

const LATE: Option<(WaitKind, f64)> = Some((WaitKind::LateReceiver, 0.4));

#[test]
fn sends_that_wait_for_late_receivers_are_advised_a_limit_just_above_them() {
    let advices = shipped_about(&run(OPEN_MPI, "MPI_Send", 6000, 0.5, LATE));
    assert_eq!(advices.said.len(), 1, "{advices:?}");
    let advice = &advices.said[0];
    assert_eq!(advice.rule, "eager limit of Open MPI");
    assert!(advice.text.starts_with("Sends of about 5.86 KiB wait for"), "{}", advice.text);
    assert!(advice.text.contains("10 % of the run"), "{}", advice.text);
    assert_eq!(setting(advice, 0, "btl_vader_eager_limit"), Some("7168"));
    assert_eq!(setting(advice, 0, "btl_tcp_eager_limit"), Some("65536"), "never below its default");
    assert!(!advice.source.is_empty() && !advice.untested);

    let advices = shipped_about(&run(MPICH, "MPI_Send", 16_000, 0.5, LATE));
    assert_eq!(advices.said[0].rule, "eager limit of MPICH");
    assert_eq!(setting(&advices.said[0], 0, "UCX_RNDV_THRESH"), Some("16384"));
}

#[test]
fn sizes_of_sends_that_are_waited_for_are_those_of_the_calls_that_begin_them() {
    let mut profile = run(OPEN_MPI, "MPI_Wait", 0, 0.5, LATE);
    let send = CallProfile {
        function: "MPI_Isend".into(),
        site: Some(0),
        calls: 100,
        bytes_sent: 800_000,
        ..CallProfile::default()
    };
    profile.ranks[0].calls.push(send);
    let advice = &shipped_about(&profile).said[0];
    assert_eq!(setting(advice, 0, "btl_vader_eager_limit"), Some("9216"));
}

#[test]
fn no_eager_limit_is_advised_where_it_would_not_help() {
    for (what, profile) in [
        ("nobody waits", run(OPEN_MPI, "MPI_Send", 6000, 0.5, None)),
        ("little is lost", run(OPEN_MPI, "MPI_Send", 6000, 0.5, Some((WaitKind::LateReceiver, 0.03)))),
        ("it is receives that wait", run(OPEN_MPI, "MPI_Recv", 0, 0.5, Some((WaitKind::LateSender, 0.4)))),
        ("messages are too large", run(OPEN_MPI, "MPI_Send", 1 << 20, 0.5, LATE)),
        ("the MPI is another", run("Intel(R) MPI Library 2021.9", "MPI_Send", 6000, 0.5, LATE)),
        ("nothing was counted", Profile { mpi: OPEN_MPI.into(), ..Profile::default() }),
    ] {
        assert_eq!(names(&profile), [""; 0], "{what}");
    }
}

#[test]
fn a_collective_operation_that_takes_long_without_waiting_is_advised_algorithms() {
    for (mpi, function, bytes, variable) in [
        (OPEN_MPI, "MPI_Bcast", 256, "coll_tuned_bcast_algorithm"),
        (OPEN_MPI, "MPI_Barrier", 0, "coll_tuned_barrier_algorithm"),
        (OPEN_MPI, "MPI_Alltoall", 1 << 20, "coll_tuned_alltoall_algorithm"),
        (MPICH, "MPI_Bcast", 20_000, "MPIR_CVAR_BCAST_INTRA_ALGORITHM"),
        (MPICH, "MPI_Allreduce", 8, "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"),
    ] {
        let advices = shipped_about(&run(mpi, function, bytes, 0.5, Some((WaitKind::Collective, 0.1))));
        assert_eq!(advices.said.len(), 1, "{mpi} {function}: {advices:?}");
        let advice = &advices.said[0];
        assert!(advice.rule.starts_with(&format!("algorithm of {function}")), "{}", advice.rule);
        for tried in &advice.tries {
            assert!(tried.iter().any(|(name, _)| name == variable), "{tried:?}");
            // Without it Open MPI ignores the others.
            let dynamic =
                tried.iter().any(|(name, value)| name == "coll_tuned_use_dynamic_rules" && value == "1");
            assert_eq!(dynamic, mpi == OPEN_MPI);
        }
        let late = run(mpi, function, bytes, 0.5, Some((WaitKind::Collective, 0.45)));
        assert_eq!(names(&late), [""; 0], "a late rank is the cause, and no algorithm helps");
        let passes_on = run(mpi, function, bytes, 0.5, Some((WaitKind::LateMember, 0.45)));
        assert_eq!(names(&passes_on).len(), 1, "another algorithm does not lead over the late rank");
        assert_eq!(names(&run(mpi, function, bytes, 0.1, None)), [""; 0], "it takes little");
    }
    assert_eq!(
        names(&run("MPICH Version: 3.4", "MPI_Bcast", 9, 0.5, None)),
        [""; 0],
        "names were others then"
    );
}

#[test]
fn rules_for_mvapich2_are_marked_untested() {
    let advices = shipped_about(&run(MVAPICH, "MPI_Allreduce", 8, 2.0, None));
    assert_eq!(advices.said.len(), 1, "{advices:?}");
    assert!(advices.said[0].untested);
    assert_eq!(setting(&advices.said[0], 0, "MPIR_CVAR_ENABLE_SHARP"), Some("1"));
    assert_eq!(names(&run(MVAPICH, "MPI_Allreduce", 1 << 20, 2.0, None)), [""; 0]);

    let mut profile = run(MVAPICH, "MPI_Send", 8, 0.0, None);
    let unknown = shipped_about(&profile).not_judged;
    assert_eq!(unknown[0].1, "variable('mv2_vbuf_allocated_array') was not measured");
    let sample = |name: &str, element, last| VariableProfile {
        name: name.into(),
        element: Some(element),
        samples: 3,
        last,
        ..VariableProfile::default()
    };
    for (element, (allocated, used)) in
        (0..).zip([(2000.0, 1900.0), (5000.0, 200.0), (80.0, 80.0), (8.0, 8.0)])
    {
        profile.ranks[1].variables.push(sample("mv2_vbuf_allocated_array", element, allocated));
        profile.ranks[1].variables.push(sample("mv2_vbuf_max_use_array", element, used));
    }
    let advices = shipped_about(&profile);
    assert_eq!(advices.said.len(), 1, "{advices:?}");
    assert!(advices.said[0].text.contains("up to 4800 buffers"), "{}", advices.said[0].text);
    assert_eq!(setting(&advices.said[0], 0, "MPIR_CVAR_VBUF_POOL_REDUCED_VALUE"), Some("1900,200,80,8"));
}

#[test]
fn each_quantity_has_a_value_in_some_run() {
    use crate::expr::{Kind, Quantities, Value};
    let mut profile = run(OPEN_MPI, "MPI_Send", 6000, 0.5, LATE);
    profile.ranks[0].calls[0].messages.unexpected = 3;
    profile.ranks[0].traffic = vec![Traffic {
        peer: Some(1),
        messages: 4,
        bytes: 400,
        sizes: vec![(size_bin(100) as u8, 4)],
        ..Traffic::default()
    }];
    profile.ranks[0].variables = vec![VariableProfile {
        name: "MPI_Send".into(),
        samples: 1,
        last: 7.0,
        ..VariableProfile::default()
    }];
    let of_run = OfRun::new(&profile);
    for quantity in QUANTITIES {
        let value = of_run.get(quantity.name, quantity.of.map(|_| "MPI_Send"));
        let value = value.unwrap_or_else(|| panic!("{} has no value", quantity.name));
        let fits = match value {
            Value::Number(number) => quantity.kind.is_number() && number.is_finite() && number >= 0.0,
            Value::Text(_) => quantity.kind == Kind::Text,
            Value::List(_) => quantity.kind == Kind::List,
            Value::Switch(_) => quantity.kind == Kind::Switch,
        };
        assert!(fits, "{}: {value:?}", quantity.name);
        assert!(!quantity.meaning.is_empty());
    }
    let number = |name: &str| match of_run.get(name, None) {
        Some(Value::Number(number)) => number,
        other => panic!("{other:?}"),
    };
    assert_eq!((number("hosts"), number("mpi_minor"), number("late_receiver_share")), (2.0, 1.0, 0.1));
    assert_eq!((number("mean_message_bytes"), number("largest_message_bytes")), (100.0, 127.0));
}

#[test]
fn errors_of_a_file_have_line_column_and_what_is_known() {
    for (text, line, column, words) in [
        (
            "[[rule]]\nname = 'a'\nwhen = 'late_reciever_share > 2 %'\nthen.advise = 'x'",
            3,
            9,
            "nearest: late_receiver_share",
        ),
        (
            "[[rule]]\nname = 'a'\nwhen = \"ranks >\"\nthen.advise = 'x'",
            3,
            16,
            "a value is missing at the end",
        ),
        ("[[rule]]\nname = 'a'\nwhen = 'ranks > 1'\nthen.advise = 'x {rank} y'", 4, 19, "nearest: ranks"),
        ("[[rule]]\nname = 'a'\nwhen = 'ranks > 1'\nthen.advise = 'x {ranks y'", 4, 18, "has no }"),
        (
            "[[rule]]\nname = 'a'\nwhen = 'ranks > 1'\nthen.advise = 'x'\nthen.try = [{ a = 'binomial' }]",
            5,
            20,
            "texts stand in quotes",
        ),
        (
            "[[rule]]\nname = 'a'\nwhen = 'ranks > 1'\nthen.advise = 'x'\nthen.try = [{ a = [1] }]",
            5,
            19,
            "this is array",
        ),
        ("[[rule]]\nname = 'a'\nwhen = 'ranks > 1'\nthen = {}", 4, 8, "neither advise"),
        (
            "[[rule]]\nname = 'a'\nwhen = 'ranks > 1'\nthen = { advise = 'x', set = { a = 1 } }",
            4,
            8,
            "either advises or sets",
        ),
        (
            "[[rule]]\nname = 'a'\nwhen = 'late_sender_share > 1 %'\nthen.set.a = 1",
            3,
            9,
            "known are variable, rank, ranks, time",
        ),
        ("[[rule]]\nname = 'a'\nthen.advise = 'x'", 1, 1, "missing field `when`"),
        ("[[rule]]\nname = 'a'\nwhen = 'ranks > 1'\nthen.advice = 'x'", 4, 6, "unknown field `advice`"),
        ("[[rules]]\n", 1, 3, "unknown field `rules`"),
        ("[[rule]]\nname = \n", 2, 8, ""),
    ] {
        let error = parse(text, "my.toml").expect_err(text);
        assert!(error.message.contains(words), "{text}\n{error}");
        assert_eq!((error.line, error.column), (line, column), "{text}\n{error}");
        assert!(error.to_string().starts_with(&format!("my.toml:{line}:{column}: ")), "{error}");
    }
}

#[test]
fn a_policy_sets_and_says_what_otherwise() {
    let rules = parse(
        "[[rule]]
         name = 'free buffers'
         when = \"any(variable('a') - variable('b') > 10) and rank == 0\"
         then.set = { control = 1, reduced = \"variable('b')\" }
         otherwise.set = { control = 0 }",
        "p",
    )
    .unwrap();
    let Then::Set { set, otherwise } = &rules[0].then else { panic!("{rules:?}") };
    assert_eq!((set.len(), otherwise.len()), (2, 1));
    assert_eq!(advise(&rules, &run(OPEN_MPI, "MPI_Send", 1, 0.1, None)), Advices::default());
}
