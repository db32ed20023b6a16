"""Tables for `stillpoint track`, and what it wrote of them."""

import csv
import json
from pathlib import Path

import numpy as np

from stillpoint.commands import track

T = 400


def write(path, columns):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return str(path)


def table(data, **more):
    X, y, times = data
    return {
        "t": times.tolist(),
        "a": X[:, 0].tolist(),
        "b": X[:, 1].tolist(),
        "c": X[:, 2].tolist(),
        "y": y.tolist(),
        **more,
    }


def read(out):
    with open(Path(out) / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def floats(cells):
    return np.array([float(cell) if cell else np.nan for cell in cells])


def run(source, out, **options):
    assert track(source, options.pop("target", "y"), out, quiet=True, **options) == 0
    return read(out), json.loads((Path(out) / "summary.json").read_text())


def bad(tmp_path, capsys, content, *parts, name="x.csv", code=2, target="y", **options):
    source = tmp_path / name
    if content is not None:
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert track(str(source), target, tmp_path / "out", **options) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    for part in parts:
        assert part in err
    return err
