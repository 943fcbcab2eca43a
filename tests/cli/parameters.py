# SPDX-License-Identifier: Apache-2.0
"""NumPy reads the parameters of a training, and a training goes on with what NumPy writes.

  parameters.py PROGRAM SPEC FOLDER
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np


def train(program, spec, folder, name, **changed):
    """The losses of a training with changes."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps({**spec, **changed}), encoding="utf-8")
    out = folder / name
    words = [program, "execute", file, "--device", "mpi", "--out", out, "--overwrite"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    with (out / "losses.csv").open(newline="") as lines:
        return [float(row["loss"]) for row in csv.DictReader(lines)]


def main(program, path, folder):
    folder.mkdir(parents=True, exist_ok=True)
    spec = json.loads(path.read_text(encoding="utf-8"))
    spec["data"]["path"] = str((path.parent / spec["data"]["path"]).resolve())
    first = train(program, spec, folder, "first", iterations=12, verified_iterations=2)
    arrays = dict(np.load(folder / "first" / "parameters.npz"))
    assert arrays["state0.words"].shape == (128, 64), arrays["state0.words"].shape
    assert arrays["layer2.weight"].shape == (64, 192) and arrays["layer2.weight"].dtype == np.float32
    np.savez(folder / "numpy.npz", **arrays)
    more = train(program, spec, folder, "more", iterations=2, parameters="numpy.npz")
    assert first[-1] < 0.9 * first[0], first
    assert more[0] < 1.1 * first[-1] and more[0] < 0.9 * first[0], (first, more)
    print(f"{len(arrays)} arrays; losses {first[0]:.3f} to {first[-1]:.3f}, then {more[0]:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()))
