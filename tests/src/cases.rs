//! Every test program on every MPI: the loops that the tests share.

use crate::artifacts::quick;
use crate::{Job, Mpi, Program};

/// One way to run a program: on which MPI, with how many ranks and which arguments.
#[derive(Debug)]
pub struct Case<'a> {
    /// The MPI.
    pub mpi: &'a Mpi,
    /// The program.
    pub program: &'a Program,
    /// The number of ranks.
    pub ranks: u32,
    /// The program's arguments.
    pub args: &'a [String],
}

impl Case<'_> {
    /// The run that belongs to this case, still without MEL. More than two ranks share processors with each other.
    pub fn job(&self) -> Job<'_> {
        let job = Job::new(self.mpi, self.ranks, self.program.compile(self.mpi)).args(self.args);
        if self.ranks > 2 { job.patient() } else { job }
    }
}

impl std::fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} with {} on {} ranks",
            self.program.name,
            self.args.join(" "),
            self.mpi.name,
            self.ranks
        )
    }
}

/// Calls `check` for each case of the program `name` on the MPIs of [`Mpi::all`]; with [`quick`] on one of them.
pub fn for_each_case(name: &str, check: impl FnMut(&Case<'_>)) {
    for_each_case_on(&in_turn(Mpi::all(), name), name, check);
}

/// These MPIs; with [`quick`] one of them, which takes its turn among the programs.
#[must_use]
pub fn in_turn(mut mpis: Vec<Mpi>, name: &str) -> Vec<Mpi> {
    if quick() { one_in_turn(&mut mpis, name).into_iter().collect() } else { mpis }
}

/// One of these MPIs, if there is any, which takes its turn among the programs.
pub fn one_in_turn(mpis: &mut Vec<Mpi>, name: &str) -> Option<Mpi> {
    let turn: usize = name.bytes().map(usize::from).sum();
    (!mpis.is_empty()).then(|| mpis.swap_remove(turn % mpis.len()))
}

/// Calls `check` for each case of the program `name` on these MPIs.
pub fn for_each_case_on(mpis: &[Mpi], name: &str, mut check: impl FnMut(&Case<'_>)) {
    let program = Program::named(name);
    for mpi in mpis {
        for &ranks in &program.ranks {
            for args in &program.args {
                check(&Case { mpi, program: &program, ranks, args });
            }
        }
    }
}

/// Makes one test of each program, named as the program, which calls `$check("name")`; and one test that
/// fails when a program is missing in this list. With `slow` in front the first ones are for `make test-all` only.
#[macro_export]
macro_rules! test_every_program {
    ($attribute:meta => $check:path: $($name:ident)*) => {
        $(
            #[test]
            #[$attribute]
            fn $name() {
                $check(stringify!($name));
            }
        )*

        #[test]
        fn no_program_is_forgotten() {
            assert_eq!($crate::Program::names(), [$(stringify!($name)),*]);
        }
    };
    ($attribute:meta => $check:path) => {
        $crate::test_every_program! {
            $attribute => $check:
            abort cancel communicators completion error_handler exceptions exit_without_finalize expected flood
            fork_child generalized kill_me large many_to_one modes mpi4 never_init out_of_order_tags persistent probes proc_null random
            selfsend sendrecv status_ignore threads unexpected wildcards
        }
    };
    (slow $check:path) => {
        $crate::test_every_program! { ignore = "slow" => $check }
    };
    ($check:path) => {
        // An attribute that changes nothing.
        $crate::test_every_program! { cfg(all()) => $check }
    };
}
