#!/usr/bin/env python3
"""How true the ob1 model is: its queue events beside those of ob1 itself, from the same runs, in every mode.

Each program runs on an Open MPI with PERUSE (scripts/openmpi-with-peruse), with both backends on: PERUSE reports what
ob1's queues did, the model what it made of the same calls. The two are compared, for the application's point-to-point
messages only, and the tables are written to docs/fidelity.md. How calls are followed depends on who listens, so every
mode is measured: see docs/modes.md.

    python3 benches/fidelity/compare.py                     all modes, seven runs, as `make fidelity` does
    python3 benches/fidelity/compare.py ring tags           only these programs; nothing is written
    python3 benches/fidelity/compare.py --mode trace        only this mode (may be given several times); nothing is written
    python3 benches/fidelity/compare.py --runs 3            so many runs
    python3 benches/fidelity/compare.py --keep DIR          keeps the last run's profiles and logs there

A bar is held by the median of the runs. Exit code 1 when one is missed. Needs the release build (`make build`), and only
Python's standard library.
"""

import argparse
import datetime
import difflib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")) / "release"
TIME_LIMIT_S = 300
RUNS = 7

# The bars.
SHARE_POINTS = 2.0  # percentage points of unexpected messages
LONGEST = (1, 0.05)  # entries, or this share
LIFETIME_SHARE = 0.10  # of a mean lifetime ...
LIFETIME_FROM_S = 10e-6  # ... that is at least so long
SAMPLED_SHARE = 0.01  # of the searches, where some stand for others

QUEUES = ("posted", "unexpected")
QUEUE_CHANGES = ["posted_insert", "posted_remove", "unex_insert", "unex_remove"]
TYPES = (
    "request_activate search_unexpected_begin search_unexpected_end posted_insert posted_remove unex_insert unex_remove message_arrived"
    " search_posted_begin search_posted_end transfer_begin transfer transfer_end request_complete cancel free"
).split()
# Which queue a message or receive goes through depends on timing: the two count together.
EITHER = {"unex_insert": "posted_insert", "unex_remove": "posted_remove"}
# Kinds of requests whose events are counted, with bytes of a message: tests/programs/special/requests.c.
KINDS = [
    *[(kind, bytes) for kind in ("blocking", "nonblocking", "synchronous", "combined", "probed", "persistent") for bytes in (1, 100000)],
    ("cancelled", 1),
    ("freed", 1),
]
# Above this many events of a rank their order is not compared: it would take too long.
MOST_EVENTS = 20000


@dataclass
class Program:
    """A program to compare on, and whether it is free of races: nothing in it depends on timing."""

    name: str
    ranks: int
    command: list
    about: str
    race_free: bool = False
    # For a tool: in a call with more than 4096 events PERUSE loses those behind, for callbacks.
    for_a_tool: list = None
    # With so many messages, densely, that the model steps back: the only ones that are run in that mode.
    dense: list = None


def programs(built):
    patterns = str(built / "patterns")
    return [
        Program("ring", 2, [patterns, "ring", "2000"], "a message goes round", dense=[patterns, "ring", "200000"]),
        Program("halo", 4, [str(built / "halo2d")], "2-D halo exchange with a slow rank and a late one"),
        Program("late", 2, [patterns, "late", "1000"], "exchange in which one posts its receives late"),
        Program("many", 4, [patterns, "many", "2000"], "all to one, received from MPI_ANY_SOURCE"),
        Program("tags", 2, [patterns, "tags", "200"], "tags against the order of the receives", True),
        Program("flood", 2, [patterns, "flood", "5000"], "messages that nobody waits for", True, [patterns, "flood", "500"]),
        Program("wild", 4, [patterns, "wild", "200"], "wildcards on three communicators"),
        Program("windows", 2, [patterns, "windows", "500"], "windows of receives", dense=[patterns, "windows", "30000"]),
        Program("large", 2, [patterns, "large", "2000"], "rendezvous messages, expected and not"),
        Program("lammps", 4, ["lmp", "-log", "none", "-in", str(ROOT / "tests/inputs/melt.lammps")], "LAMMPS, a melting crystal"),
    ]


@dataclass
class Mode:
    """A way in which calls are followed, and how a user comes to it."""

    name: str
    about: str
    options: list
    environment: dict
    only: str = ""  # programs whose command has this

    def runs(self, program):
        if self.name == "sampled":
            return program.dense is not None
        return any(self.only in word for word in program.command)


def modes(built):
    both = ",".join(f"{before}pml_ob1_{name}" for before in ("", "model_") for name in QUEUE_CHANGES)
    queues = ["--profile", "queues"]
    return [
        Mode("profile", "`mel run`", queues, {}),
        Mode("sampled", "`mel run --budget 1%`, more messages", queues + ["--budget", "1%"], {}),
        Mode("trace", "`mel run --trace`", queues + ["--trace"], {}),
        Mode("log", "`mel run -e …`", queues + ["-e", both], {}),
        Mode("threads", "`mel run`, `MPI_THREAD_MULTIPLE`", queues, {"PATTERNS_THREADS": "1"}, "patterns"),
        Mode("tool", "a tool with callbacks, `libmpit_events.so` preloaded", [], {"QUEUE_TOOL": str(built / "libqueue_tool.so")}),
    ]


def prefix():
    script = ROOT / "scripts/openmpi-with-peruse"
    where = Path(subprocess.run([script, "--prefix"], check=True, capture_output=True, text=True).stdout.strip())
    if not (where / ".complete").exists():
        sys.exit("fidelity: there is no Open MPI with PERUSE; scripts/openmpi-with-peruse builds one")
    return where


def build(mpi, directory):
    sources = {
        "patterns": ROOT / "benches/fidelity/patterns.c",
        "halo2d": ROOT / "examples/programs/halo2d.c",
        "requests": ROOT / "tests/programs/special/requests.c",
    }
    for name, source in sources.items():
        subprocess.run([mpi / "bin/mpicc", "-O2", "-o", directory / name, source, "-lm"], check=True)
    tool = [mpi / "bin/mpicc", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", directory / "libqueue_tool.so"]
    subprocess.run(tool + [ROOT / "benches/fidelity/queue_tool.c", "-ldl"], check=True)


def run(mpi, mode, program, directory):
    """Runs a program with both backends; gives what is said of each rank, in the form of profile.json."""
    output = directory / f"{program.name}-{mode.name}"
    shutil.rmtree(output, ignore_errors=True)
    environment = dict(
        os.environ,
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMP_NUM_THREADS="1",
        MPIT_SOURCES="peruse,model",
        LD_LIBRARY_PATH=f"{mpi / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
        **mode.environment,
    )
    launcher = [mpi / "bin/mpirun", "-n", str(program.ranks), "--oversubscribe"]
    # One rank for each core, where there are enough; else they wait for each other, bound or not.
    bound = program.ranks <= (os.cpu_count() or 1)
    launcher += ["--bind-to", "core" if bound else "none"]
    if mode.name == "tool":
        output.mkdir()
        preload = f"{environment['QUEUE_TOOL']}:{RELEASE / 'libmpit_events.so'}"
        mel = ["env", f"LD_PRELOAD={preload}", f"QUEUE_TOOL_OUTPUT={output}"]
    else:
        mel = [RELEASE / "mel", "run", *mode.options, "-o", output, "--"]
    others = {"tool": program.for_a_tool, "sampled": program.dense}
    command = others.get(mode.name) or program.command
    ran = subprocess.run(
        launcher + mel + command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    if ran.returncode != 0:
        sys.exit(f"fidelity: {program.name} ({mode.name}) failed ({ran.returncode})\n{ran.stdout}\n{ran.stderr}")
    if mode.name == "tool":
        return [json.loads((output / f"rank-{rank}.json").read_text()) for rank in range(program.ranks)], None
    ranks = json.loads((output / "profile.json").read_text())["ranks"]
    return ranks, order(changes(output, program.ranks)) if mode.name == "log" else None


def changes(output, ranks):
    """What each backend logged of the queues: for each rank, (what, source, tag) in order of time."""
    logged = []
    for rank in range(ranks):
        by = {"peruse": [], "model": []}
        for line in (output / f"events-{rank}.txt").read_text().splitlines():
            if not line.startswith("["):
                continue
            time, rest = line[1:].split("] '", 1)
            name, elements = rest.split("'", 1)
            values = dict(part.split("=") for part in elements.split() if "=" in part)
            tag = int(values.get("tag", 0))
            if tag < -1:
                continue
            backend = "model" if name.startswith("model_") else "peruse"
            what = name.removeprefix("model_").removeprefix("pml_ob1_")
            by[backend].append((float(time), what, int(values.get("source", 0)), tag))
        logged.append({backend: [event[1:] for event in sorted(events, key=lambda e: e[0])] for backend, events in by.items()})
    return logged


def order(logged):
    """Which share of the queue changes comes in the same order, in the rank where it is least; None where there
    are too many or none to compare."""
    shares = []
    for rank in logged:
        a, b = rank["peruse"], rank["model"]
        if not a and not b:
            continue
        if max(len(a), len(b)) > MOST_EVENTS:
            return None
        shares.append(1.0 if a == b else difflib.SequenceMatcher(None, a, b, autojunk=False).ratio())
    return min(shares) if shares else None


class Queue:
    """One queue and the searches of it, over all ranks, as one backend reported it."""

    def __init__(self, ranks, queue):
        # A receive is searched for in the posted queue when a message comes, and the other way round.
        stats = [rank[queue] for rank in ranks]
        searches = [rank[f"{queue}_search"] for rank in ranks]
        self.messages = [s["messages"] for s in stats]
        self.longest = [s["max_length"] for s in stats]
        ended = sum(s["messages"] - s["left"] for s in stats)
        self.mean = sum(s["total_s"] for s in stats) / ended if ended else 0.0
        self.left = [s["left"] for s in stats]
        self.searches = [s["searches"] for s in searches]
        self.search_time = sum(s["total_s"] for s in searches)


class Comparison:
    """What both backends reported of one run."""

    def __init__(self, program, ranks, order, sampled):
        self.program = program
        self.sampled = sampled
        second = [rank["comparison"] for rank in ranks]
        self.queues = {q: (Queue(ranks, q), Queue(second, q)) for q in QUEUES}
        self.order = order
        self.rematched = sum(rank.get("truth", {}).get("rematched", 0) for rank in ranks)

    def total(self, backend):
        return sum(sum(self.queues[q][backend].messages) for q in QUEUES)

    def share(self, backend):
        total = self.total(backend)
        return 100.0 * sum(self.queues["unexpected"][backend].messages) / total if total else 0.0

    def differences(self):
        """For each bar: how far the model is from ob1, in units of what the bar allows. A bar that does not apply to this run
        is not there."""
        found = {"share of unexpected messages": (self.share(1) - self.share(0)) / SHARE_POINTS}
        total = max(self.total(0), self.total(1))
        for queue, (real, model) in self.queues.items():
            searches = (sum(real.searches), sum(model.searches))
            equal = real.searches == model.searches if not self.sampled else abs(searches[0] - searches[1]) <= SAMPLED_SHARE * searches[0]
            found[f"{queue} searches"] = 0.0 if equal else 99.0
            if self.program.race_free:
                same = (real.messages, real.left) == (model.messages, model.left)
                found[f"{queue} inserts and removes"] = 0.0 if same else 99.0
            if sum(real.messages) <= SHARE_POINTS / 100 * total:
                continue  # all of them may be in the other queue, and as many others in this one, within the bar of the share
            worst = max(zip(real.longest, model.longest), key=lambda pair: abs(pair[0] - pair[1]))
            found[f"longest {queue} queue"] = (worst[1] - worst[0]) / max(LONGEST[0], LONGEST[1] * worst[0])
            if real.mean >= LIFETIME_FROM_S:
                found[f"mean lifetime in the {queue} queue"] = (model.mean / real.mean - 1) / LIFETIME_SHARE
        return found

    def missed(self):
        return [bar for bar, difference in self.differences().items() if abs(difference) > 1.0]


class Series:
    """The runs of one program in one mode."""

    def __init__(self, mode, program):
        self.mode, self.program, self.runs = mode, program, []

    def missed(self):
        """The bars that the median of the runs misses."""
        bars = {}
        for run in self.runs:
            for bar, difference in run.differences().items():
                bars.setdefault(bar, []).append(difference)
        enough = {bar: found for bar, found in bars.items() if 2 * len(found) > len(self.runs)}
        return [bar for bar, found in enough.items() if abs(statistics.median(found)) > 1.0]

    def held(self):
        return sum(not run.missed() for run in self.runs)

    def median(self, of):
        return statistics.median(of(run) for run in self.runs)

    def pair(self, of, show):
        return " / ".join(show(self.median(lambda run: of(run, backend))) for backend in (0, 1))


def time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def row(series):
    """One line of a table: medians, PERUSE's first."""
    number = lambda value: f"{value:.0f}"
    cells = [series.program.name, series.pair(lambda run, b: run.share(b), lambda value: f"{value:.1f}") + " %"]
    for queue in QUEUES:
        cells.append(series.pair(lambda run, b: max(run.queues[queue][b].longest), number))
        cells.append(series.pair(lambda run, b: run.queues[queue][b].mean, time))
    cells.append("; ".join(series.missed()) or "held")
    cells.append(f"{series.held()} of {len(series.runs)}")
    return "| " + " | ".join(cells) + " |"


def counts(mpi, kind, bytes, directory):
    """How often each type was raised of ten requests of this kind, on the sender and on the receiver: PERUSE's and the model's
    numbers of those types of which they differ."""
    requests = Program("requests", 2, [str(directory / "requests"), kind, str(bytes)], "")
    run(mpi, Mode("counts", "", ["-e", "all", "--profile", "queues"], {}), requests, directory)
    differ = []
    for rank in (0, 1):
        found = {}
        for line in (directory / f"requests-counts/events-{rank}.txt").read_text().splitlines():
            event = re.match(r"\[[^]]*\] '(model_)?pml_ob1_(\w+)'", line)
            if event and "internal" not in line:
                key = (EITHER.get(event[2], event[2]), bool(event[1]))
                found[key] = found.get(key, 0) + 1
        pairs = ((name, found.get((name, False), 0), found.get((name, True), 0)) for name in TYPES)
        # A log whose events are all of the MPI's own messages does not say that they are.
        idle = kind == "cancelled" and rank == 0
        differ.append([] if idle else [f"{name} {ob1} / {model}" for name, ob1, model in pairs if ob1 != model])
    return differ


def counted(mpi, directory):
    lines = [
        "## Counts of all sixteen types",
        "",
        "Ten requests of each kind, from rank 0 to rank 1, with `-e all`: the types that PERUSE and the model have not raised equally",
        "often. Insertions and removals of both queues count together, because timing decides which. `ob1` sends short messages",
        "without a request, and so without events; the model raises those of every send. `transfer` is raised by `ob1` of what it",
        "unpacks in pieces or later than it came, by the model once for each message. A persistent request is active in `ob1` once,",
        "in the model each time that it is started.",
        "",
        "| requests | bytes | on the sender, PERUSE / model | on the receiver, PERUSE / model |",
        "|---|---|---|---|",
    ]
    for kind, bytes in KINDS:
        cells = [", ".join(differ) or "the same" for differ in counts(mpi, kind, bytes, directory)]
        lines.append(f"| {kind} | {bytes} | {cells[0]} | {cells[1]} |")
    return [*lines, ""]


def page(by_mode, versions, runs, of_types):
    """The page for the documentation."""
    lines = [
        "# How true the ob1 model is",
        "",
        "The model computes what Open MPI's `ob1` would do with a program's messages. Here it is beside `ob1` itself: the same runs,",
        "reported by PERUSE from inside `ob1` and by the model. Only point-to-point messages of the application count. `make fidelity`",
        f"makes this page. Each row is the median of {runs} runs; of two numbers the first is PERUSE's, the second the model's. How",
        "calls are followed depends on who listens ([modes](modes.md)), so there is a table for each mode.",
        "",
        f"{versions}",
        "",
    ]
    for mode, all_series in by_mode:
        lines += [
            f"## {mode.name}: {mode.about}",
            "",
            "| program | unexpected | longest posted | mean in the posted queue | longest unexpected | mean in the unexpected queue | bars, median | runs that held all |",
            "|---|---|---|---|---|---|---|---|",
            *[row(series) for series in all_series],
            "",
        ]
        single = []
        for series in all_series:
            counts = {}
            for bar in (bar for run in series.runs for bar in run.missed()):
                counts[bar] = counts.get(bar, 0) + 1
            if counts:
                times = ", ".join(f"{bar} in {count}" for bar, count in sorted(counts.items()))
                single.append(f"- {series.program.name}: {times} of {len(series.runs)} runs")
        if single:
            lines += ["Single runs that missed a bar:", "", *single, ""]
        orders = [(s.program.name, s.median(lambda run: run.order)) for s in all_series if all(run.order is not None for run in s.runs)]
        if orders:
            shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in orders)
            lines += [f"Changes of both queues (kind, source, tag) in the same order as `ob1`'s, in the rank where fewest are: {shares}.", ""]
    lines += [
        *of_types,
        "## The programs",
        "",
        *[f"- {series.program.name}, {series.program.ranks} ranks: {series.program.about}" for series in by_mode[0][1]],
        "",
        "## The bars",
        "",
        "- Searches are equal in number on all programs; entries too where nothing depends on timing. Where some receives stand for",
        f"  others searches are within {100 * SAMPLED_SHARE:.0f} %.",
        f"- The share of unexpected messages is within {SHARE_POINTS:.0f} percentage points.",
        f"- The longest queue of every rank is within {LONGEST[0]} entry or {100 * LONGEST[1]:.0f} %.",
        f"- The mean lifetime is within {100 * LIFETIME_SHARE:.0f} % where it is at least {time(LIFETIME_FROM_S)}.",
        "",
        "In the tool mode `flood` sends 500 messages and not 5000: of more than 4096 events in one call PERUSE loses some for callbacks.",
        "",
        f"Lengths and lifetimes of a queue that at most {SHARE_POINTS:.0f} % of the messages went through in `ob1` are not held to a bar: the bar of",
        "the share allows that the model puts all of them into the other queue.",
        "",
        "Times of searches are not held to a bar. PERUSE's contain its callbacks and two readings of the clock. The model's are what",
        "the search itself takes, or a calibrated charge where that is less than reading the clock.",
        "",
    ]
    return "\n".join(filled(lines))


def filled(lines):
    """Paragraphs and points of the page, filled to a hundred columns; headings and tables as they are."""
    paragraph = []
    for line in [*lines, ""]:
        starts = line.startswith(("#", "|", "- ")) or not line
        if paragraph and starts:
            text = " ".join(paragraph)
            yield from textwrap.wrap(text, 100, subsequent_indent="  " if text.startswith("- ") else "", break_long_words=False, break_on_hyphens=False)
            paragraph = []
        if not line or line.startswith(("#", "|")):
            yield line
        else:
            paragraph.append(line.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="only these programs")
    parser.add_argument("--mode", action="append", default=[], help="only this mode: profile, trace, log, threads or tool")
    parser.add_argument("--runs", type=int, default=RUNS, help="so often")
    parser.add_argument("--keep", type=Path, help="keep the runs in this directory")
    arguments = parser.parse_args()
    mpi = prefix()
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        if arguments.keep:
            directory = arguments.keep
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
        build(mpi, directory)
        chosen = [p for p in programs(directory) if not arguments.programs or p.name in arguments.programs]
        if not shutil.which("lmp"):
            chosen = [p for p in chosen if p.name != "lammps"]
        by_mode = [
            (mode, [Series(mode, p) for p in chosen if mode.runs(p)])
            for mode in modes(directory)
            if not arguments.mode or mode.name in arguments.mode
        ]
        # Run by run, so that what disturbs the machine for a while falls on all alike.
        for number in range(max(arguments.runs, 1)):
            for mode, all_series in by_mode:
                for series in all_series:
                    series.runs.append(Comparison(series.program, *run(mpi, mode, series.program, directory), mode.name == "sampled"))
                missed = [f"{s.program.name} ({', '.join(s.runs[-1].missed())})" for s in all_series if s.runs[-1].missed()]
                print(f"run {number + 1}, {mode.name}: {'; '.join(missed) or 'bars held'}", flush=True)
        version = subprocess.run([RELEASE / "mel", "--version"], capture_output=True, text=True).stdout.strip()
        today = datetime.date.today().isoformat()
        versions = f"{today}: {version}, Open MPI {mpi.name.rsplit('-', 1)[1]} with PERUSE, {os.cpu_count()} cores of {processor()}, Linux {platform.release()}."
        text = page(by_mode, versions, max(arguments.runs, 1), counted(mpi, directory))
    print(text)
    if not arguments.programs and not arguments.mode:
        (ROOT / "docs/fidelity.md").write_text(text)
    return 1 if any(series.missed() for _, all_series in by_mode for series in all_series) else 0


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
