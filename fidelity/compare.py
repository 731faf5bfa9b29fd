#!/usr/bin/env python3
"""How true the shadow is: the twin's queue events beside those of ob1 itself, from the same runs.

Each program runs once on an Open MPI with PERUSE (scripts/openmpi-with-peruse), with both backends on: PERUSE tells what
ob1's queues did, the shadow what the twin made of the same calls. The two are compared, for the application's
point-to-point messages only, and the tables are written to docs/fidelity.md.

    python3 fidelity/compare.py                    all, as `make fidelity` does
    python3 fidelity/compare.py ring tags          only these programs; nothing is written
    python3 fidelity/compare.py --runs 5           all, five times: the page shows the first run, and how often bars were missed
    python3 fidelity/compare.py --keep DIR         keeps the last run's profiles and logs there

Exit code 1 when a bar is missed. Needs the release build (`make build`), and only Python's standard library.
"""

import argparse
import datetime
import difflib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")) / "release"
TIME_LIMIT_S = 300

# The bars.
SHARE_POINTS = 2.0  # percentage points of unexpected messages
LONGEST = (1, 0.05)  # entries, or this share
LIFETIME_SHARE = 0.10  # of a mean lifetime ...
LIFETIME_FROM_S = 10e-6  # ... that is at least so long

QUEUE_CHANGES = ["posted_insert", "posted_remove", "unex_insert", "unex_remove"]
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


def programs(built):
    patterns = str(built / "patterns")
    return [
        Program("ring", 2, [patterns, "ring", "2000"], "a message goes round"),
        Program("halo", 4, [str(built / "halo2d")], "2-D halo exchange with a slow rank and a late one"),
        Program("late", 2, [patterns, "late", "1000"], "exchange in which one posts its receives late"),
        Program("many", 4, [patterns, "many", "2000"], "all to one, received from MPI_ANY_SOURCE"),
        Program("tags", 2, [patterns, "tags", "200"], "tags against the order of the receives", True),
        Program("flood", 2, [patterns, "flood", "5000"], "messages that nobody waits for", True),
        Program("wild", 4, [patterns, "wild", "200"], "wildcards on three communicators"),
        Program("large", 2, [patterns, "large", "2000"], "rendezvous messages, expected and not"),
        Program("lammps", 4, ["lmp", "-log", "none", "-in", str(ROOT / "tests/inputs/melt.lammps")], "LAMMPS, a melting crystal"),
    ]


def prefix():
    script = ROOT / "scripts/openmpi-with-peruse"
    where = Path(subprocess.run([script, "--prefix"], check=True, capture_output=True, text=True).stdout.strip())
    if not (where / ".complete").exists():
        sys.exit("fidelity: there is no Open MPI with PERUSE; scripts/openmpi-with-peruse builds one")
    return where


def build(mpi, directory):
    sources = {"patterns": ROOT / "fidelity/patterns.c", "halo2d": ROOT / "examples/programs/halo2d.c"}
    for name, source in sources.items():
        subprocess.run([mpi / "bin/mpicc", "-O2", "-o", directory / name, source, "-lm"], check=True)


def run(mpi, program, directory):
    """Runs a program with both backends; gives its profile, and the queue changes of each rank and backend."""
    output = directory / program.name
    shutil.rmtree(output, ignore_errors=True)
    both = [f"{before}pml_ob1_{name}" for before in ("", "shadow_") for name in QUEUE_CHANGES]
    environment = dict(
        os.environ,
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMP_NUM_THREADS="1",
        MPIT_SOURCES="peruse,shadow",
        LD_LIBRARY_PATH=f"{mpi / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
    )
    launcher = [mpi / "bin/mpirun", "-n", str(program.ranks), "--oversubscribe"]
    # One rank for each core, where there are enough; else they wait for each other, bound or not.
    bound = program.ranks <= (os.cpu_count() or 1)
    launcher += ["--bind-to", "core" if bound else "none"]
    mel = [RELEASE / "mel", "run", "--profile", "queues", "-e", ",".join(both), "-o", output, "--"]
    ran = subprocess.run(
        launcher + mel + program.command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    if ran.returncode != 0:
        sys.exit(f"fidelity: {program.name} failed ({ran.returncode})\n{ran.stdout}\n{ran.stderr}")
    profile = json.loads((output / "profile.json").read_text())
    return profile, changes(output, program.ranks)


def changes(output, ranks):
    """What each backend tells of the queues: for each rank, (what, source, tag) in order of time."""
    told = []
    for rank in range(ranks):
        by = {"peruse": [], "shadow": []}
        for line in (output / f"events-{rank}.txt").read_text().splitlines():
            if not line.startswith("["):
                continue
            time, rest = line[1:].split("] '", 1)
            name, elements = rest.split("'", 1)
            values = dict(part.split("=") for part in elements.split() if "=" in part)
            tag = int(values.get("tag", 0))
            if tag < -1:
                continue
            backend = "shadow" if name.startswith("shadow_") else "peruse"
            what = name.removeprefix("shadow_").removeprefix("pml_ob1_")
            by[backend].append((float(time), what, int(values.get("source", 0)), tag))
        told.append({backend: [event[1:] for event in sorted(events, key=lambda e: e[0])] for backend, events in by.items()})
    return told


def order(told):
    """Which share of the queue changes comes in the same order, in the rank where it is least; None where there
    are too many or none to compare."""
    shares = []
    for rank in told:
        a, b = rank["peruse"], rank["shadow"]
        if not a and not b:
            continue
        if max(len(a), len(b)) > MOST_EVENTS:
            return None
        shares.append(1.0 if a == b else difflib.SequenceMatcher(None, a, b, autojunk=False).ratio())
    return min(shares) if shares else None


class Queue:
    """One queue and the searches of it, over all ranks, as one backend told it."""

    def __init__(self, ranks, queue):
        # A receive is searched for in the posted queue when a message comes, and the other way round.
        stats = [rank[queue] for rank in ranks]
        searches = [rank[f"{queue}_search"] for rank in ranks]
        self.messages = [s["messages"] for s in stats]
        self.longest = [s["max_length"] for s in stats]
        ended = sum(s["messages"] - s["left"] for s in stats)
        self.mean = sum(s["total_s"] for s in stats) / ended if ended else 0.0
        self.max = max(s["max_s"] for s in stats)
        self.left = [s["left"] for s in stats]
        self.searches = [s["searches"] for s in searches]
        self.search_time = sum(s["total_s"] for s in searches)


class Comparison:
    """What both backends told of one run."""

    def __init__(self, program, profile, told):
        self.program = program
        first = profile["ranks"]
        second = [rank["comparison"] for rank in first]
        self.queues = {q: (Queue(first, q), Queue(second, q)) for q in ("posted", "unexpected")}
        self.order = order(told)
        self.truth = {key: sum(rank["truth"][key] for rank in first) for key in first[0]["truth"]}

    def share(self, backend):
        messages = {q: sum(self.queues[q][backend].messages) for q in self.queues}
        total = messages["posted"] + messages["unexpected"]
        return 100.0 * messages["unexpected"] / total if total else 0.0

    def missed(self):
        """The bars that are missed, each in a few words."""
        missed = []
        total = max(sum(sum(self.queues[queue][backend].messages) for queue in self.queues) for backend in (0, 1))
        for queue, (real, twin) in self.queues.items():
            if real.searches != twin.searches:
                missed.append(f"{queue} searches {real.searches} / {twin.searches}")
            if self.program.race_free and (real.messages, real.left) != (twin.messages, twin.left):
                missed.append(f"{queue} inserts and removes")
            if sum(real.messages) <= SHARE_POINTS / 100 * total:
                continue  # all of them may be in the other queue, and as many others in this one, within the bar of the share
            for a, b in zip(real.longest, twin.longest):
                if abs(a - b) > max(LONGEST[0], LONGEST[1] * a):
                    missed.append(f"longest {queue} queue {a} / {b}")
            if real.mean >= LIFETIME_FROM_S and abs(twin.mean - real.mean) > LIFETIME_SHARE * real.mean:
                missed.append(f"mean lifetime in the {queue} queue")
        if abs(self.share(0) - self.share(1)) > SHARE_POINTS:
            missed.append("share of unexpected messages")
        return missed


def time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def frequencies(runs):
    """How often which bars were missed, where there was more than one run."""
    if len(runs) < 2:
        return []
    lines = [f"In {len(runs)} runs, of which the tables show the first one, these bars were missed:", ""]
    for comparisons in zip(*runs):
        counts = {}
        for comparison in comparisons:
            # Without the numbers, and of several ranks once.
            for bar in {re.sub(r" [0-9\[].*", "", missed) for missed in comparison.missed()}:
                counts[bar] = counts.get(bar, 0) + 1
        told = ", ".join(f"{bar} {count} times" if count > 1 else f"{bar} once" for bar, count in sorted(counts.items()))
        held = sum(not comparison.missed() for comparison in comparisons)
        lines.append(f"- {comparisons[0].program.name}: {told or 'none'}" + (f"; all were held in {held} runs" if told else ""))
    return lines + [""]


def page(runs, versions):
    """The page for the documentation."""
    comparisons = runs[0]
    lines = [
        "# How true the shadow is",
        "",
        "The shadow is a twin of Open MPI's `ob1` that sees envelopes, not messages. Here it is beside `ob1` itself: the same runs,",
        "once each, told by PERUSE from inside `ob1` and by the twin. Point-to-point messages of the application only. Made by",
        "`make fidelity`; where a cell has two numbers the first one is PERUSE's, the second one the shadow's.",
        "",
        f"{versions}",
        "",
        "| program | ranks | unexpected | same order | rebound | bars |",
        "|---|---|---|---|---|---|",
    ]
    for c in comparisons:
        order = "–" if c.order is None else f"{100 * c.order:.1f} %"
        bars = "; ".join(c.missed()) or "held"
        lines.append(
            f"| {c.program.name}: {c.program.about} | {c.program.ranks} | {c.share(0):.1f} / {c.share(1):.1f} % | {order} | "
            f"{c.truth['rebound']} | {bars} |"
        )
    lines += [
        "",
        "*Unexpected*: share of the messages that came before their receive. *Same order*: share of the changes of both queues",
        "(kind, source and tag) that come in the same order, in the rank where it is least. *Rebound*: wildcard receives that the twin",
        "had matched with another message than `ob1`, before it was corrected by the receive's status.",
        "",
        "| program | queue | entries | longest | mean lifetime | longest lifetime | searches | time searching |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for c in comparisons:
        for queue, (a, b) in c.queues.items():
            lines.append(
                f"| {c.program.name} | {queue} | {sum(a.messages)} / {sum(b.messages)} | {max(a.longest)} / {max(b.longest)} | "
                f"{time(a.mean)} / {time(b.mean)} | {time(a.max)} / {time(b.max)} | {sum(a.searches)} / {sum(b.searches)} | "
                f"{time(a.search_time)} / {time(b.search_time)} |"
            )
    lines += [
        "",
        *frequencies(runs),
        "Bars: searches equal in number on all programs, entries too where nothing depends on timing; the share of unexpected",
        f"messages within {SHARE_POINTS:.0f} percentage points; the longest queue of every rank within {LONGEST[0]} entry or {100 * LONGEST[1]:.0f} %; the mean lifetime within",
        f"{100 * LIFETIME_SHARE:.0f} % where it is at least {time(LIFETIME_FROM_S)}. Lengths and lifetimes of a queue that no more than {SHARE_POINTS:.0f} % of the messages have gone",
        "through in `ob1` are not held to a bar: the few that are in it may all be in the other one, and as many others in it instead,",
        "within the bar of the share. So nothing is left in them to compare; how many go through it is held to that bar.",
        "",
        "Times of searches are not held to a bar: PERUSE's contain its callbacks and two readings of the clock, the twin's are what",
        "the search itself takes, charged by a calibration where that is less than reading the clock.",
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="only these programs")
    parser.add_argument("--runs", type=int, default=1, help="so often")
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
        runs = []
        for _ in range(max(arguments.runs, 1)):
            runs.append([])
            for program in chosen:
                comparison = Comparison(program, *run(mpi, program, directory))
                runs[-1].append(comparison)
                print(f"{program.name}: {'; '.join(comparison.missed()) or 'bars held'}", flush=True)
        version = subprocess.run([RELEASE / "mel", "--version"], capture_output=True, text=True).stdout.strip()
        today = datetime.date.today().isoformat()
        versions = f"{today}: {version}, Open MPI {mpi.name.rsplit('-', 1)[1]} with PERUSE, {os.cpu_count()} cores of {processor()}, Linux {platform.release()}."
        text = page(runs, versions)
    print(text)
    if not arguments.programs:
        (ROOT / "docs/fidelity.md").write_text(text)
    return 1 if any(c.missed() for comparisons in runs for c in comparisons) else 0


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
