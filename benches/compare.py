#!/usr/bin/env python3
"""Measures what MEL costs, side by side with nothing attached and with EZTrace.

Three programs (pingpong.c: latency; msgrate.c: message rate; collectives.c: latency of three collective operations) run on
two ranks, one per core, in each configuration. A round runs all configurations one after the other, so that whatever changes on the machine
changes for all of them.

Each run also tells, before and after, how far apart the two cores are, and whether the ranks have them for themselves.
On a virtual machine that changes from one second to the next, and by more than what is measured: a run is compared
with the plain run of its own round (a trace: with EZTrace's, samples: with the queue profile's) if both were under the same conditions, and the median of
these ratios is what counts; it is told and judged for near cores and for far ones apart. Where the ranks share a core
with each other or with somebody else, ratios are told and not judged.

    python3 benches/compare.py                     all, as `make bench` does
    python3 benches/compare.py --mpi mpich         only one MPI
    python3 benches/compare.py --bench MPI_Bcast   only one of the measurements
    python3 benches/compare.py --rounds 11         more rounds, less noise

Exit code 1 when a bar is missed. Needs the release build (`make build`), and only Python's standard library.
"""

import argparse
import itertools
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")) / "release"
TIME_LIMIT_S = 300


@dataclass
class Mpi:
    """An installed MPI: its compiler, its launcher with two ranks bound to one core each, EZTrace's module."""

    name: str
    compiler: str
    launcher: list
    eztrace: str
    environment: dict = field(default_factory=dict)
    # What is measured with it, where that is not everything.
    only: tuple = ()

    def is_installed(self):
        return bool(shutil.which(self.compiler) and shutil.which(self.launcher[0]))


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# Two ranks, one per core.
OPEN_MPI_BOUND = ["-n", "2", "--bind-to", "core", "--map-by", "core"]
MPICH_BOUND = ["-n", "2", "-bind-to", "core"]

WITHOUT_TRACE = ("plain", "idle", "profile")


def prefix_of(script, *package):
    """Where a script of ours installs an MPI."""
    words = [ROOT / "scripts" / script, "--prefix", *package]
    return Path(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())


def with_peruse():
    """The Open MPI that scripts/openmpi-with-peruse has built, where the events come from ob1 itself."""
    commands = prefix_of("openmpi-with-peruse") / "bin"
    launcher = [str(commands / "mpirun"), *OPEN_MPI_BOUND]
    return Mpi("openmpi-peruse", str(commands / "mpicc"), launcher, "", AS_ROOT, WITHOUT_TRACE)


def newer(name, package, compiler, bound, environment):
    """One of the MPIs of the Python package index that scripts/pypi-mpis has installed."""
    commands = prefix_of("pypi-mpis", package) / "bin"
    launcher = [str(commands / "mpiexec"), *bound]
    return Mpi(name, str(commands / compiler), launcher, "", environment, WITHOUT_TRACE)


MPIS = [
    Mpi("openmpi", "mpicc.openmpi", ["mpirun.openmpi", *OPEN_MPI_BOUND], "openmpi", AS_ROOT),
    Mpi("mpich", "mpicc.mpich", ["mpiexec.mpich", *MPICH_BOUND], "mpich"),
    with_peruse(),
    newer("openmpi-5", "openmpi", "mpicc", OPEN_MPI_BOUND, AS_ROOT),
    newer("mpich-5", "mpich", "mpicc", MPICH_BOUND, {}),
    newer("standard", "mpich", "mpicc_abi", MPICH_BOUND, {}),
]


@dataclass
class Bench:
    """A measuring program and its arguments: the key and unit of the line that it prints, and whether more is better."""

    program: str
    arguments: tuple
    key: str
    title: str
    unit: str
    scale: float
    more_is_better: bool
    # The configurations in which it is measured, where these are not all.
    only: tuple = ()

    @property
    def name(self):
        """What bars are given by: the program, or the MPI function that it measures."""
        return self.arguments[0] if self.arguments else self.program


def of_collective(function):
    return Bench("collectives", (function,), "call_ns", f"{function} of 8 bytes", "ns", 1.0, False, WITHOUT_TRACE)


BENCHES = [
    Bench("pingpong", (), "latency_ns", "latency of 8-byte messages", "ns", 1.0, False),
    Bench("msgrate", (), "rate_per_s", "message rate of 8-byte messages", "M/s", 1e-6, True),
    *map(of_collective, ("MPI_Allreduce", "MPI_Bcast", "MPI_Alltoall")),
]

# The bars: ratios to the plain run. Tracing is measured against EZTrace instead.
BARS = {
    ("idle", "pingpong"): 1.02,
    ("idle", "msgrate"): 0.97,
    ("profile", "pingpong"): 1.5,
    ("profile", "msgrate"): 0.45,
    ("profile", "MPI_Allreduce"): 1.5,
    ("profile", "MPI_Bcast"): 1.5,
    ("profile", "MPI_Alltoall"): 1.5,
    # What Open MPI's own component for matrices leaves.
    ("matrix", "msgrate"): 0.77,
    # Of the default profile.
    ("attribute", "pingpong"): 1.05,
    # No difference from the run without samples that can be told.
    ("sampled", "pingpong"): 1.02,
    ("sampled", "msgrate"): 0.97,
}

# Twenty variables.
SAMPLED = (
    "mel_*,pml_monitoring_messages_count,pml_monitoring_messages_size,coll_monitoring_messages_count,"
    "coll_monitoring_messages_size,coll_monitoring_a2a_count,coll_monitoring_a2a_size"
)

# Where PERUSE calls back for each event, a message rate can be less.
BARS_OF = {("openmpi-peruse", "profile", "msgrate"): 0.30}

# Cores are near ones and far ones where this factor lies between what a line takes from one to the other.
TWO_DISTANCES = 1.8

# Ranks that slow each other down by more than this share a core; one whose work takes longer than on others by such a
# factor shares its core with somebody else.
SHARED = 1.2

# Times as many rounds as were asked for, at most, until there are as many pairs under the same conditions.
PATIENCE = 4

# Pairs of runs without which a configuration is not judged.
ENOUGH = 5

# Five variables of MEL, of queues among them.
ATTRIBUTED = "mel_messages_sent,mel_bytes_sent,mel_wait_time,mel_posted_searches,mel_unexpected_searches"

CONFIGURATIONS = {
    "plain": "nothing attached",
    "idle": "libmel.so preloaded, nothing on",
    "profile": "mel run (queue profile)",
    "sampled": "mel run --vars (20, each 1 s)",
    "matrix": "mel run --profile matrix",
    "attribute": "mel run --attribute, 5 variables",
    "both": "mel run --profile calls,queues,matrix",
    "monitoring": "Open MPI's own component for matrices",
    "trace": "mel run --trace",
    "eztrace": "eztrace (MPI calls only)",
}


def prefix(configuration, mpi, directory):
    """The words between the launcher and the program; whatever they write goes below `directory`."""
    mel = str(RELEASE / "mel")
    if configuration == "idle":
        return ["env", f"LD_PRELOAD={RELEASE / 'libmel.so'}", "MEL_PROFILE=none"]
    if configuration == "profile":
        return [mel, "run", "-o", str(directory / "mel"), "--"]
    if configuration == "sampled":
        return [mel, "run", "--vars", SAMPLED, "--every", "1s", "-o", str(directory / "mel"), "--"]
    if configuration == "matrix":
        return [mel, "run", "--profile", "matrix", "-o", str(directory / "mel"), "--"]
    if configuration == "attribute":
        return [mel, "run", "--attribute", ATTRIBUTED, "-o", str(directory / "mel"), "--"]
    if configuration == "both":
        return [mel, "run", "--profile", "calls,queues,matrix", "-o", str(directory / "mel"), "--"]
    if configuration == "monitoring":
        return ["env", "OMPI_MCA_pml_monitoring_enable=1"]
    if configuration == "trace":
        return [mel, "run", "--trace", "-o", str(directory / "mel"), "--"]
    if configuration == "eztrace":
        return ["eztrace", "-t", mpi.eztrace, "-o", str(directory / "eztrace")]
    return []


@dataclass
class Run:
    """What a program has printed: its result, and the conditions before and after: line_ns, work_ns, slowdown."""

    value: float
    conditions: list


def read(output, bench):
    """The result of a program from what it has printed; None where that is not complete."""
    lines = [line.split() for line in output.splitlines()]
    values = [float(words[1]) for words in lines if len(words) == 2 and words[0] == bench.key]
    conditions = [tuple(map(float, words[2::2])) for words in lines if words[:1] == ["conditions"]]
    return Run(values[0], conditions) if values and conditions else None


def run(mpi, bench, configuration, executable, scratch):
    """One run, and what it printed. Everything that it wrote is removed."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=scratch) as directory:
        command = mpi.launcher + prefix(configuration, mpi, Path(directory)) + [str(executable), *bench.arguments]
        environment = {**os.environ, **mpi.environment}
        try:
            done = subprocess.run(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIME_LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            sys.exit(f"compare.py: not finished after {TIME_LIMIT_S} s: {' '.join(command)}")
        result = read(done.stdout, bench)
        if result and done.returncode == 0:
            return result
        sys.exit(
            f"compare.py: no result from: {' '.join(command)} (exit code {done.returncode})\n{done.stdout}{done.stderr}"
        )


def compile_benches(mpi, scratch):
    executables = {}
    for program in sorted({bench.program for bench in BENCHES}):
        executable = scratch / f"{program}-{mpi.name}"
        source = ROOT / "benches" / f"{program}.c"
        # MPI's headers give sentinels as addresses that no array can have, which the compiler takes for a mistake.
        flags = ["-std=c99", "-O2", "-Wall", "-Wno-stringop-overflow", "-Wno-stringop-overread"]
        subprocess.run([mpi.compiler, *flags, "-o", executable, source], check=True)
        executables[program] = executable
    return executables


def progress(text):
    """Shows on a terminal what is being measured; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr, flush=True)


def border(numbers, factor):
    """Between the two kinds of numbers that there are; above all of them where they are of one kind."""
    logs = sorted(math.log(number) for number in numbers if number > 0)
    if not logs:
        return math.inf
    low, high = logs[0], logs[-1]
    for _ in range(20):
        middle = (low + high) / 2
        below, above = [x for x in logs if x <= middle], [x for x in logs if x > middle]
        if not above:
            return math.inf
        low, high = statistics.mean(below), statistics.mean(above)
    return math.exp((low + high) / 2) if high - low > math.log(factor) else math.inf


# Which cores the ranks have; only on the first ones anything is judged.
CORES = ("two cores", "cores that somebody else uses too", "one core")


@dataclass
class Group:
    """The runs under the same conditions: the rounds, each with those of its runs that were."""

    distance: float
    cores: str
    rounds: list

    def values(self, configuration):
        return [runs[configuration].value for runs in self.rounds if configuration in runs]

    def ratios(self, configuration, reference):
        """Of each run to the reference run of the same round."""
        both = [runs for runs in self.rounds if configuration in runs and reference in runs]
        return [runs[configuration].value / runs[reference].value for runs in both]

    def fewest_pairs(self, configurations):
        """Of any configuration with the run that it is judged by."""
        return min(len(self.ratios(name, reference_of(name, configurations))) for name in configurations)


def by_conditions(rounds, seen):
    """The groups of these runs, by what distances and speeds have been seen so far: those of cores for themselves
    first, of near cores before those of far ones."""
    far = border([distance for distance, _, _ in seen], TWO_DISTANCES)
    slow = border([work for _, work, _ in seen], SHARED)

    def kind_of(run):
        """None where they have changed in the run."""
        kinds = {
            (2 if slowdown > SHARED else 1 if work > slow else 0, distance > far)
            for distance, work, slowdown in run.conditions
        }
        return kinds.pop() if len(kinds) == 1 else None

    groups = []
    for kind in itertools.product(range(len(CORES)), (False, True)):
        alike = [{name: run for name, run in runs.items() if kind_of(run) == kind} for runs in rounds]
        conditions = [pair for runs in alike for run in runs.values() for pair in run.conditions]
        if any("plain" in runs for runs in alike):
            distance = statistics.median(distance for distance, _, _ in conditions)
            groups.append(Group(distance, CORES[kind[0]], alike))
    return groups


def reference_of(configuration, configurations):
    """What a configuration is judged by."""
    references = {"trace": "eztrace", "attribute": "profile", "sampled": "profile"}
    reference = references.get(configuration, "plain")
    return reference if reference in configurations else "plain"


def measure(mpi, bench, configurations, rounds, executable, scratch, seen):
    """The runs of a program, grouped by their conditions, which are added to those that have been seen."""
    done = []
    for number in range(PATIENCE * rounds):
        runs = {}
        for configuration in configurations:
            progress(f"{mpi.name}: {bench.name}, round {number + 1}: {configuration}")
            runs[configuration] = run(mpi, bench, configuration, executable, scratch)
            seen += runs[configuration].conditions
        done.append(runs)
        groups = by_conditions(done, seen)
        if any(group.cores == CORES[0] and group.fewest_pairs(configurations) >= rounds for group in groups):
            break
    progress("")
    return groups


def judge(value, bar, bench):
    reached = value >= bar if bench.more_is_better else value <= bar
    sign = ">=" if bench.more_is_better else "<="
    return f"{sign} {bar:.2f} {'reached' if reached else 'MISSED'}", reached


def verdict(mpi, bench, configuration, configurations, group):
    """What the bar says of these runs, and whether it was reached; nothing where there is no bar."""
    bar = BARS_OF.get((mpi.name, configuration, bench.name), BARS.get((configuration, bench.name)))
    reference = reference_of(configuration, configurations)
    if configuration in ("sampled", "attribute") and reference == "plain":
        # Without the profile there is nothing to compare it with.
        bar = None
    if reference == "eztrace":
        bar = 1.0
    ratios = group.ratios(configuration, reference)
    if bar is None or not ratios:
        return "", True
    value = statistics.median(ratios)
    reached = True
    if group.cores != CORES[0]:
        judged = "not judged"
    elif len(ratios) < ENOUGH:
        judged = "too few to judge"
    else:
        judged, reached = judge(value, bar, bench)
    names = {"eztrace": "EZTrace", "profile": "the profile"}
    return f"{value:.2f} of {names[reference]}, {judged}" if reference in names else judged, reached


def report(mpi, bench, configurations, groups):
    """Prints the tables of a program; returns whether all bars were reached."""
    all_reached = True
    if not groups:
        print(f"\n{mpi.name}, {bench.title}: conditions changed in all plain runs, nothing to tell; try more --rounds")
    for group in groups:
        apart = f"{group.distance:.0f} ns apart" if group.distance > 0 else "without memory that they share"
        print(f"\n{mpi.name}, {bench.title}, 2 ranks on {group.cores}, {apart}")
        print(f"  {'':32} {bench.unit:>9} {'ratio':>7} {'pairs':>5}   bar")
        for configuration in configurations:
            ratios = group.ratios(configuration, "plain")
            if not ratios:
                continue
            words, reached = verdict(mpi, bench, configuration, configurations, group)
            all_reached &= reached
            middle = statistics.median(group.values(configuration)) * bench.scale
            against = statistics.median(ratios)
            print(f"  {CONFIGURATIONS[configuration]:32} {middle:9.2f} {against:7.3f} {len(ratios):5}   {words}")
    return all_reached


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rounds = f"pairs of runs under the same conditions, at least {ENOUGH} to be judged (7)"
    parser.add_argument("--rounds", type=int, default=7, help=rounds)
    parser.add_argument("--mpi", choices=[mpi.name for mpi in MPIS], help="only this MPI")
    parser.add_argument(
        "--only", metavar="LIST", help=f"configurations beside plain, by comma: {','.join(CONFIGURATIONS)}"
    )
    parser.add_argument("--bench", choices=[bench.name for bench in BENCHES], help="only this measurement")
    chosen = parser.parse_args()
    chosen.configurations = list(CONFIGURATIONS)
    if chosen.only:
        wanted = chosen.only.split(",")
        unknown = [name for name in wanted if name not in CONFIGURATIONS]
        if unknown:
            parser.error(f"no such configuration: {', '.join(unknown)}")
        chosen.configurations = [name for name in CONFIGURATIONS if name == "plain" or name in wanted]
    if chosen.rounds < 1:
        parser.error("at least one round is needed")
    return chosen


def main():
    chosen = arguments()
    configurations = chosen.configurations
    if any(name in configurations for name in ("idle", "profile", "sampled", "matrix", "both", "attribute", "trace")):
        for name in ("mel", "libmel.so"):
            if not (RELEASE / name).exists():
                sys.exit(f"compare.py: {RELEASE / name} is not there: run `make build` first")
    if "eztrace" in configurations and not shutil.which("eztrace"):
        print("compare.py: eztrace is not installed; the comparison with it is left out")
        configurations.remove("eztrace")
    mpis = [mpi for mpi in MPIS if mpi.is_installed() and chosen.mpi in (None, mpi.name)]
    if not mpis:
        sys.exit("compare.py: no MPI found: run scripts/install-deps first")
    if (os.cpu_count() or 1) < 2:
        sys.exit("compare.py: two cores are needed, one for each rank")

    all_reached, seen = True, []
    with tempfile.TemporaryDirectory(prefix="mel-bench-") as scratch:
        for mpi in mpis:
            these = [name for name in configurations if not mpi.only or name in mpi.only]
            # Only Open MPI has such a component.
            these = [name for name in these if name != "monitoring" or mpi.name == "openmpi"]
            executables = compile_benches(mpi, Path(scratch))
            for bench in BENCHES:
                if chosen.bench not in (None, bench.name):
                    continue
                configured = [name for name in these if not bench.only or name in bench.only]
                executable = executables[bench.program]
                groups = measure(mpi, bench, configured, chosen.rounds, executable, Path(scratch), seen)
                all_reached &= report(mpi, bench, configured, groups)
    sys.exit(0 if all_reached else 1)


if __name__ == "__main__":
    main()
