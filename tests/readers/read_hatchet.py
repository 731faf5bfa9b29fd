"""Reads a Cube profile with Hatchet, and prints the sum of each metric by rank, and the calls of each call path, as JSON."""

import json
import sys

import hatchet

frame = hatchet.GraphFrame.from_scorep(sys.argv[1])
table = frame.dataframe.reset_index()
by_rank = table.groupby("rank")[frame.exc_metrics].sum()
visits = table.groupby("name")["visits"].sum()
(root,) = frame.graph.roots
json.dump(
    {
        "program": root.frame["name"],
        "below_it": len(root.children),
        "metrics": {name: {str(rank): float(of) for rank, of in by_rank[name].items()} for name in frame.exc_metrics},
        "visits": {name: int(of) for name, of in visits.items()},
    },
    sys.stdout,
)
