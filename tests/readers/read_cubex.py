"""Reads a Cube profile with pycubexr, and prints what it finds as JSON: the sum of each metric over call paths and locations, the
same by call path and by rank, and the system."""

import json
import sys

from pycubexr import CubexParser

with CubexParser(sys.argv[1]) as cube:
    metrics = {}
    (program,) = cube.get_root_cnodes()
    ranks = [
        int(group.rank)
        for tree in cube._anchor_result.system_tree_nodes
        for group in tree.all_location_groups()
        for _ in group.all_locations()
    ]
    for metric in cube.all_metrics():
        values = cube.get_metric_values(metric)
        by_rank = {}
        for rank, value in zip(ranks, values.cnode_values(program, convert_to_inclusive=True)):
            by_rank[rank] = by_rank.get(rank, 0) + float(value)
        by_path = {node.region.name: float(values.value(node)) for node in cube.all_cnodes()}
        metrics[metric.name] = {"unit": metric.units, "by_rank": by_rank, "by_path": by_path}
    json.dump({"program": program.region.name, "locations": len(ranks), "metrics": metrics}, sys.stdout)
