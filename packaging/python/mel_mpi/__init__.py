"""What `mel run` has measured, as Arrow tables.

    import mel_mpi as mel

    run = mel.read("mel-app-1")
    run.calls.to_pandas()            # or polars.from_arrow(run.calls); DuckDB reads it as it is
    run.verdict.select(["rule", "lost_s", "cause_rank", "site"])
    run.trace.messages               # after `mel run --trace`: each message, each call, each search of a queue

Each table has one row for each thing, and one column for each quantity of it, so that nothing is added up that has another unit. The
metadata of a column has its unit: `run.calls.schema.field("total_s").metadata[b"unit"]` is `b"s"`. Times are in seconds, sizes in bytes.
What a run has not measured is an empty table. docs/profile.md explains each quantity.

Tables need pyarrow (`pip install 'mel-mpi[tables]'`); `Run.json` needs nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Run", "Trace", "command", "read"]

_OF_VARIABLES = ("first", "last", "min", "mean", "max", "deviation", "grown")
_QUEUES = ("posted", "unexpected", "posted_search", "unexpected_search")


def command() -> str:
    """The path of the command `mel`: the one installed with this package, else the first in PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), "mel")
    found = own if os.access(own, os.X_OK) else shutil.which("mel")
    if found is None:
        raise FileNotFoundError("the command mel is not in PATH: install mel-mpi with pip, or MEL itself")
    return found


def read(directory: str | os.PathLike[str], *, estimated: bool = False) -> Run:
    """Reads the run in a directory such as `mel-app-1`, also one that was killed.

    With a trace in it the verdict is taken from each call, which takes longer; `estimated` leaves the trace alone. Raises `ValueError` with
    what `mel report` says where there is nothing to read. A run of which something is missing is read as far as it goes: see
    `Run.json["incomplete"]`.
    """
    words = [command(), "report", "--json", *(["--estimated"] if estimated else []), "--", os.fspath(directory)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    # 3: files of the run are cut off, damaged or missing; the rest is there.
    if said.returncode not in (0, 3):
        raise ValueError(said.stderr.strip())
    return Run(json.loads(said.stdout), directory)


class Run:
    """A run. Its tables are made when they are first asked for."""

    def __init__(self, profile: dict[str, Any], directory: str | os.PathLike[str] | None = None) -> None:
        self.json: dict[str, Any] = profile
        """The whole profile, as `mel report --json` prints it."""
        self.directory: Path | None = None if directory is None else Path(directory)
        """Where it was read from."""

    @cached_property
    def verdict(self) -> pyarrow.Table:
        """What costs time and who is the cause, worst first."""
        return _table(self.json.get("verdict") or [], keep=("victims", "lost_by_rank_s"))

    @cached_property
    def efficiency(self) -> pyarrow.Table:
        """How well the ranks are used: the efficiencies of the run, of each phase, and of each region."""
        whole = self.json.get("efficiency")
        names = self.json.get("phases") or []
        phases = [of | {"phase": names[of["phase"]]} for of in (whole or {}).get("phases", [])]
        regions = (whole or {}).get("regions", [])
        first = {"phase": None} | ({"region": None} if regions else {})
        return _table([first | whole, *phases, *regions] if whole else [])

    @cached_property
    def regions(self) -> pyarrow.Table:
        """How long each rank was in each region, with those in it, and outside of MPI there."""
        return _table({"rank": rank} | region for rank, region in self._of_ranks("regions"))

    @cached_property
    def ranks(self) -> pyarrow.Table:
        """The numbers of each rank: its host, its time, where it went; its processors and how right the model was."""
        parts = ("budget", "processors", "truth", "not_followed")
        return _table(_flat(rank, parts) for rank in self._ranks())

    @cached_property
    def calls(self) -> pyarrow.Table:
        """Calls of MPI functions by rank, thread, call site, communicator and phase."""
        return _table(self._named(rank, call, ("messages",), True) for rank, call in self._of_ranks("calls"))

    @cached_property
    def waits(self) -> pyarrow.Table:
        """Who waited where for whom (estimated)."""

        def rows() -> Iterator[dict[str, Any]]:
            for rank, call in self._of_ranks("calls"):
                where = {
                    name: value
                    for name, value in self._named(rank, call, (), True).items()
                    if name in ("rank", "thread", "function", "site", "communicator", "phase")
                }
                for wait in call.get("waits", []):
                    row = dict(wait)
                    row["peer_site"] = self._site(row.pop("peer_site", None))
                    yield where | row

        return _table(rows())

    @cached_property
    def queues(self) -> pyarrow.Table:
        """The message queues and their searches by rank."""

        def rows() -> Iterator[dict[str, Any]]:
            for rank in self._ranks():
                for queue in _QUEUES:
                    if queue in rank:
                        yield {"rank": rank["rank"], "queue": queue} | _flat(rank[queue])

        return _table(rows())

    @cached_property
    def matrix(self) -> pyarrow.Table:
        """Who has sent what to whom (`mel run --profile matrix`)."""
        return self._listed("traffic", by_phase=True)

    @cached_property
    def windows(self) -> pyarrow.Table:
        """One-sided communication by rank and window (`mel run --profile rma`)."""
        return self._listed("windows")

    @cached_property
    def connections(self) -> pyarrow.Table:
        """What the MPI moved below the calls, by peer (`mel run --profile net`)."""
        return self._listed("connections", by_phase=True)

    @cached_property
    def variables(self) -> pyarrow.Table:
        """Performance variables that were sampled (`mel run --vars`): their values have the units that their descriptions say."""
        return self._listed("variables")

    @cached_property
    def trace(self) -> Trace:
        """Each call, message and search of a queue (`mel run --trace`). Raises `ValueError` where the run has no trace."""
        if self.directory is None:
            raise ValueError("this run was not read from a directory, where its trace would be")
        return Trace(self.directory)

    def __repr__(self) -> str:
        words = " ".join(self.json.get("command", []))
        return f"<mel_mpi.Run of {words or 'a program'} on {self.json.get('world_size', 0)} ranks>"

    def _ranks(self) -> list[dict[str, Any]]:
        return self.json.get("ranks", [])

    def _of_ranks(self, section: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for rank in self._ranks():
            for entry in rank.get(section) or []:
                yield rank["rank"], entry

    def _listed(self, section: str, by_phase: bool = False) -> pyarrow.Table:
        return _table(self._named(rank, entry, (), by_phase) for rank, entry in self._of_ranks(section))

    def _named(self, rank: int, entry: dict[str, Any], parts: Iterable[str], by_phase: bool) -> dict[str, Any]:
        """An entry of a rank, with names in place of the places of call sites, communicators and, of what is counted by them, phases."""
        row = {"rank": rank} | _flat(entry, parts)
        if "site" in row:
            row["site"] = self._site(row["site"])
        if isinstance(row.get("communicator"), int):
            row["communicator"] = self.json["communicators"][row["communicator"]]["name"]
        phases = self.json.get("phases") or []
        if by_phase and phases:
            # The first one has no number.
            row["phase"] = phases[row.get("phase", 0)]
        return row

    def _site(self, number: int | None) -> str | None:
        if number is None:
            return None
        site = self.json["sites"][number]
        function = site.get("function", "")
        if site.get("file"):
            place = f"{os.path.basename(site['file'])}:{site.get('line', 0)}"
            return f"{place} ({function})" if function else place
        module = f"{os.path.basename(site.get('module', ''))}+{site.get('offset', 0):#x}"
        return f"{function}, {module}" if function else module


class Trace:
    """The trace of a run as tables, which `mel convert --parquet` makes: a row for each thing that happened.

    They are converted once, into the directory `parquet` of the run, and again when the logs have changed since; where that directory
    cannot be written, into a temporary one that goes with this object. A table is read when it is first asked for.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory: Path = Path(directory, "parquet")
        """The directory of the Parquet files, one for each table."""
        logs = list(Path(directory).glob("rank-*.mlog"))
        if _is_current(self.directory, logs):
            return
        if not os.access(self.directory if self.directory.exists() else directory, os.W_OK):
            self._temporary = tempfile.TemporaryDirectory(prefix="mel-")
            self.directory = Path(self._temporary.name)
        words = [command(), "convert", "--parquet", os.fspath(self.directory), "--", os.fspath(directory)]
        said = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        # 3: logs are cut off, damaged or missing; the rest is there.
        if said.returncode not in (0, 3):
            raise ValueError(said.stderr.strip())

    @cached_property
    def calls(self) -> pyarrow.Table:
        """MPI calls."""
        return self._table("calls")

    @cached_property
    def messages(self) -> pyarrow.Table:
        """Messages, once for each side."""
        return self._table("messages")

    @cached_property
    def collectives(self) -> pyarrow.Table:
        """Calls of collective operations."""
        return self._table("collectives")

    @cached_property
    def searches(self) -> pyarrow.Table:
        """Searches of the message queues."""
        return self._table("searches")

    @cached_property
    def samples(self) -> pyarrow.Table:
        """Values of variables that were sampled (`mel run --vars`), each with its unit."""
        return self._table("samples")

    def __repr__(self) -> str:
        return f"<mel_mpi.Trace in {self.directory}>"

    def _table(self, name: str) -> pyarrow.Table:
        from pyarrow import parquet

        table = parquet.read_table(self.directory / f"{name}.parquet", memory_map=True)
        # Each part of the file numbers its texts by itself, and groups are made by number.
        return table.unify_dictionaries()


def _is_current(directory: Path, logs: Iterable[Path]) -> bool:
    """Whether there are tables, made after the logs were written. The table that is written last has its name when all have."""
    last = directory / "samples.parquet"
    return last.is_file() and all(log.stat().st_mtime_ns < last.stat().st_mtime_ns for log in logs)


def _flat(entry: dict[str, Any], parts: Iterable[str] = ()) -> dict[str, Any]:
    """The numbers and words of an entry, and those of these parts of it with the part's name before theirs."""
    row = {name: value for name, value in entry.items() if not isinstance(value, (dict, list))}
    for part in parts:
        for name, value in _flat(entry.get(part) or {}).items():
            row[f"{part}_{name}"] = value
    return row


def _unit(column: str) -> str | None:
    """As the names of `profile.json` have it: times end in `_s`, sizes have `bytes` in their names, all other numbers are counts."""
    if column.endswith("_s"):
        return "s"
    return "B" if "bytes" in column.split("_") else "1"


def _table(entries: Iterable[dict[str, Any]], keep: Iterable[str] = ()) -> pyarrow.Table:
    import pyarrow as arrow

    kept = set(keep)
    rows = [
        {name: value for name, value in entry.items() if name in kept or not isinstance(value, (dict, list))}
        for entry in entries
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns, fields = [], []
    for name in names:
        values = [row.get(name) for row in rows]
        # Zero is left out of some numbers, and then a column has whole numbers beside others.
        if any(isinstance(value, float) for value in values):
            values = [float(value) if isinstance(value, int) else value for value in values]
        column = arrow.array(values)
        of = column.type.value_type if arrow.types.is_list(column.type) else column.type
        is_number = arrow.types.is_integer(of) or arrow.types.is_floating(of)
        unit = _unit(name) if is_number and name not in _NAMES else None
        columns.append(column)
        fields.append(arrow.field(name, column.type, metadata={"unit": unit} if unit else None))
    return arrow.Table.from_arrays(columns, schema=arrow.schema(fields))


# Numbers that are names, and those of variables, have no unit.
_NAMES = frozenset(
    ("rank", "thread", "peer", "root", "cause_rank", "busiest_rank", "victims", "context", "window", "element", *_OF_VARIABLES)
)
