"""Runs the code of a notebook, cell after cell, as plain Python."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    notebook = json.load(file)
names = {"__name__": "__main__"}
for cell in notebook["cells"]:
    if cell["cell_type"] == "code":
        assert not cell["outputs"], "a notebook of the documentation has no outputs"
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
