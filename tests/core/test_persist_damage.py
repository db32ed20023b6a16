"""Files that sp.save did not write, or not like this: each is refused with a message, and nothing
is executed.
"""

import contextlib
import io
import json
import pickle
import struct
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import extras
import loaders
import stillpoint as sp
from altered import Original, craft, parts
from persisted import CORE, FIRST_FORMAT, PLAYED, STREAM, Case, all_cases, parameters, play
from stillpoint.core import container, persist, registry
from stillpoint.kernels import Gaussian
from thorough import some_in_turn, some_of

DATA = Path(__file__).parents[1] / "data" / "format1"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


def fleet(learner, step, **config):
    names = np.arange(4)
    return Case(
        lambda: sp.Fleet(learner, **config),
        lambda each, t: (
            each.predict(names, STREAM[t : t + 4])
            if learner is sp.IntervalTracker
            else each.predict(names)
        ),
        lambda each, t: each.update(names, np.stack([step(t + i) for i in range(4)])),
    )


def gradient(t):
    return 0.7 * STREAM[t : t + 2]


MORE = {
    "Fleet of MultiScale": fleet(
        sp.MultiScale, gradient, dim=2, domain=sp.domains.Ball(1.0), lipschitz=1.0
    ),
    "Fleet of free MultiScale": fleet(sp.MultiScale, gradient, dim=2),
    "Fleet of QuantileTracker": fleet(sp.QuantileTracker, lambda t: STREAM[t], level=0.9),
    "Fleet of IntervalTracker": fleet(sp.IntervalTracker, lambda t: STREAM[t]),
    "Fleet of late IntervalTracker": fleet(sp.IntervalTracker, lambda t: STREAM[t], delay=2),
    "Fleet of KernelForecaster": fleet(sp.KernelForecaster, lambda t: STREAM[t]),
    "Fleet of small pools": fleet(sp.Forecaster, lambda t: STREAM[t], pool="small", season=[7]),
    "Fleet of VariationForecaster": fleet(sp.VariationForecaster, lambda t: STREAM[t]),
    "Fleet of TrackingForecaster": Case(
        lambda: sp.Fleet(sp.TrackingForecaster, dim=2),
        lambda each, t: each.predict(["a", 3], x=STREAM[t : t + 4].reshape(2, 2)),
        lambda each, t: each.update(["a", 3], STREAM[t : t + 2]),
    ),
    **{
        f"dense {name}": CORE["KernelFTRL"]._replace(
            build=lambda kind=kind, more=more: kind(2, kernel=Gaussian(2.0), **more)
        )
        for name, kind, more in (
            ("KernelFTRL", sp.KernelFTRL, {}),
            ("ExpConcave", sp.ExpConcave, {"curvature": 0.25}),
            ("StronglyConvex", sp.StronglyConvex, {"curvature": 1.0}),
            ("Directional", sp.Directional, {"lipschitz": 1.0}),
            ("diagonal Directional", sp.Directional, {"lipschitz": 1.0, "norms": "diagonal"}),
        )
    },
    "dense KernelVAW": CORE["KernelVAW"]._replace(build=lambda: sp.KernelVAW(kernel=Gaussian(2.0))),
    "dense TrackingVAW": CORE["TrackingVAW"]._replace(
        build=lambda: sp.TrackingVAW(2, kernel=Gaussian(2.0))
    ),
    "IntervalTracker with a delay": CORE["IntervalTracker"]._replace(
        build=lambda: sp.IntervalTracker(delay=2)
    ),
    "Forecaster of dates": Case(
        lambda: sp.Forecaster(2, coverage=[0.5, 0.9], pool="middle"),
        lambda model, t: model.predict(time=np.datetime64("2024-01-01") + t + t // 12),
        lambda model, t: model.update(float(STREAM[t] + (t % 7) - 3.0)),
    ),
    "KernelForecaster of kernels": CORE["Forecaster"]._replace(
        build=lambda: sp.KernelForecaster(kernels=[Gaussian(2.0)], ridges=[1.0, 4.0])
    ),
}
CASES = {**CORE, **MORE}
EACH = parameters(CASES)
FUZZED = ("Tracker", "TrackingForecaster", "Fleet")


@pytest.fixture(scope="module")
def files():
    made = {}
    for name, case in CASES.items():
        learner = case.build()
        play(case, learner, 0, PLAYED)
        made[name] = persist.pack(learner)
    return made


def sealed(body, version=persist.FORMAT):
    """Any body under a checksum that is right."""
    import hashlib

    return f"stillpoint learner {version} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def refused(data, path, match="got"):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=match) as caught:
        sp.load(path)
    message = str(caught.value)
    assert message.startswith(f"path must be a file that sp.save wrote: got {path}, and ")
    assert "; " in message
    with pytest.raises(ValueError, match="must be what"):
        persist.unpack(data)
    return message


def test_cut_off_at_any_byte(files, tmp_path):
    data, old = files["Tracker"], (DATA / "Tracker.npz").read_bytes()
    for whole in (data, old):
        for length in range(len(whole)):
            with pytest.raises(ValueError, match="must be what"):
                persist.unpack(whole[:length])
    for length in (0, 5, 11, 40, 100, 500, len(data) - 1):
        refused(data[:length], tmp_path / "a")


def test_any_byte_changed(files):
    data = files["Tracker"]
    for at in range(len(data)):
        for flip in (1, 0x20, 0xFF):
            with pytest.raises(ValueError, match="must be what"):
                persist.unpack(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :])


def test_bytes_added_or_files_joined(files):
    a, b = files["Tracker"], files["KernelFTRL"]
    for data in (
        a + b"\0",
        b"\0" + a,
        a + b,
        a + a,
        a.partition(b"\n")[2],
        b"\n" + a,
        a.replace(b"\n", b"\r\n", 1),
    ):
        with pytest.raises(ValueError, match="must be what"):
            persist.unpack(data)


def test_foreign_files(tmp_path):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("readme.txt", "hello")
    npz = io.BytesIO()
    np.savez(npz, something=np.zeros(3))
    other = b"".join(container.write("track", 2, {}, {}))
    for data in (
        b"",
        b"x",
        b"\n",
        b"stillpoint",
        b"stillpoint ",
        b"stillpoint learner 2",
        b"a text\nof two lines\n",
        PNG,
        b"PK\x03\x04",
    ):
        refused(data, tmp_path / "a")
    for data in (
        archive.getvalue(),
        npz.getvalue(),
        other,
        b"stillpoint learner two 00\n",
        b"stillpoint learner 2 00 \n",
    ):
        refused(data, tmp_path / "a")
    with pytest.raises(ValueError, match="it is a folder"):
        sp.load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"must be a file that sp.save wrote: got .*check"):
        sp.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        sp.save(sp.Tracker(1), tmp_path)
    with pytest.raises(FileNotFoundError, match=r"make the folder .*nowhere first"):
        sp.save(sp.Tracker(1), tmp_path / "nowhere" / "a")
    with pytest.raises(ValueError, match="another beginning"):
        sp.load("/dev/zero")  # has no end


def test_newer_files_say_so(files, tmp_path):
    header, arrays = parts(files["Tracker"])
    for data in (
        craft(header, arrays, 3),
        files["Tracker"].replace(b"learner 2", b"learner 71", 1),
    ):
        assert refused(data, tmp_path / "a", "version (3|71)").endswith("; upgrade stillpoint")
    body = io.BytesIO()
    np.savez(body, header=np.frombuffer(json.dumps({**header, "format": 2}).encode(), np.uint8))
    refused(body.getvalue(), tmp_path / "a", "format 2")


def test_unknown_learners_and_parts(files, tmp_path):
    header, arrays = parts(files["Tracker"])
    for name in ("NoSuch", "os.system", "", None, 3, ["Tracker"]):
        message = refused(
            craft({**header, "learner": name}, arrays), tmp_path / "a", "does not know"
        )
        assert message.endswith("; upgrade stillpoint") == isinstance(name, str)
    for part in (
        {"part": "builtins.eval", "fields": {}},
        {"part": "kernels.OU", "fields": {"rate": 0.1, "mode": 1}},
        {"part": "kernels.OU"},
        {"learner": "builtins.open", "config": {"file": "x"}},
        {"import": "os"},
        {},
    ):
        refused(
            craft({**header, "config": {**header["config"], "certify": part}}, arrays),
            tmp_path / "a",
        )
    for broken in (
        {},
        {"learner": "Tracker"},
        {**header, "config": []},
        {**header, "config": {"nonsense": 1}},
        {**header, "scalars": 1},
    ):
        refused(craft(broken, arrays), tmp_path / "a")


def wrong(array):
    """The array in other shapes and types."""
    with np.errstate(all="ignore"):
        yield from [
            array.astype(kind)
            for kind in (np.float32, np.int8, np.dtype("U8"))
            if array.dtype != kind
        ]
        yield array.astype(np.int64 if array.dtype == np.float64 else np.float64)
    yield from (array[None], array[..., None], np.zeros((0, 0)), np.array("text"))
    if array.ndim:
        yield from (
            array[:0],
            np.concatenate([array, array]),
            np.concatenate([array, array[:1]]) if len(array) else array[None],
        )
        yield from (
            (array[:1], array[:-1], array.ravel()[:1]) if array.size > 1 and len(array) > 1 else ()
        )
    if array.ndim > 1:
        yield from (array[:, :0], np.concatenate([array, array], axis=1), array.reshape(-1))
        if array.shape[0] != array.shape[1]:
            yield array.T.copy()
    yield np.zeros(7)


def may_be(key, array, length):
    """Lengths that there can be: coefficients of new levels are not there yet, an observation
    makes a dense belief longer, features may be known ahead, the first dates may have come too
    late for a calendar, and a season of any length may have been found.
    """
    last = key.rpartition(".")[2]
    return (
        (last == "coefficients" and array.ndim == 1 and length < len(array))
        or (last == "_row" and length == len(array) + 1)
        or (key == "timing.X" and length <= 3)
        or (key == "engine.watch.earlier" and length <= 1)
        or (key == "engine.calendar" and length == 0)
        or (key == "phases" and length > 0)
    )


def other_scalars(value):
    yield from (
        None,
        "text",
        [1.0],
        {"float": "nan"},
        {"float": "inf"},
        {"float": "-inf"},
        {"tuple": []},
        {"int": "0x" + "f" * 400},
        -1.5,
    )


@pytest.mark.parametrize("name", EACH)
def test_wrong_shapes_types_and_values_under_a_right_checksum(name, files):
    case, original = CASES[name], Original(files[name])
    header, arrays = original.header, original.arrays
    assert persist.pack(persist.unpack(craft(header, arrays))) == files[name]
    tried = 0
    for turn, (key, array) in enumerate(arrays.items()):
        others = [
            other
            for other in wrong(array)
            if other.shape != array.shape or other.dtype != array.dtype
        ]
        for other in some_in_turn(others, turn, every=6):
            tried += 1
            if (
                other.dtype == array.dtype
                and other.shape[1:] == array.shape[1:]
                and may_be(key, array, len(other))
            ):
                play_some(case, original.unpack(header, {**arrays, key: other}))
                continue
            with pytest.raises(ValueError, match="must be what"):
                original.unpack(header, {**arrays, key: other})
        less = {k: v for k, v in arrays.items() if k != key}
        more = {**arrays, f"{key}x": array}
        # without a centre it is a file of version 0.1, without what norms were fed one of before
        last = key.rpartition(".")[2]
        of_before = (last == "centre" and "Forecaster" in name) or last == "fed"
        if of_before:
            play_some(case, original.unpack(header, less))
        scalars = {**header["scalars"], key: 1.0}
        rest = [(header, more), ({**header, "scalars": scalars}, less)]
        for changed in [(header, less)] * (not of_before) + some_in_turn(rest, turn, every=2):
            with pytest.raises(ValueError, match="must be what"):
                original.unpack(*changed)
    for turn, (key, value) in enumerate(header["scalars"].items()):
        for other in some_in_turn(other_scalars(value), turn, every=5):
            scalars = {**header["scalars"], key: other}
            with contextlib.suppress(ValueError):
                play_some(case, original.unpack({**header, "scalars": scalars}, arrays))
    assert tried >= len(arrays)  # a learner may keep numbers alone


@pytest.mark.extra
@pytest.mark.parametrize(
    "name",
    sorted(name for name in registry.saved_names() if name.startswith(("river.", "sklearn."))),
)
def test_wrong_states_of_the_optional_faces_under_a_right_checksum(name):
    extras.package(name.partition(".")[0])
    case = all_cases([name])[name]
    learner = case.build()
    play(case, learner, 0, PLAYED)
    original = Original(persist.pack(learner))
    header, arrays = original.header, original.arrays
    for key, array in arrays.items():
        others = (
            wrong(array)
            if array.dtype.kind == "f"
            else (array[:1], array[None], array[:0], np.zeros(3), np.array("x"))
        )
        for other in others:
            if other.shape != array.shape or other.dtype != array.dtype:
                changed, core = {**arrays, key: other}, key.removeprefix("core.")
                if (
                    other.dtype == array.dtype
                    and other.shape[1:] == array.shape[1:]
                    and may_be(core, array, len(other))
                    and core != "phases"  # these are told their season
                ):
                    original.unpack(header, changed)
                    continue
                with pytest.raises(ValueError, match="must be what"):
                    original.unpack(header, changed)
    for key in {"names", "labels", "features"} & set(header["scalars"]):
        for other in (
            1,
            "text",
            ["a", "a", "b"],
            ["a"] * 3,
            [str(i) for i in range(4000)],
            [["b"], "c"],
            [{"tuple": []}] * 2,
        ):
            with pytest.raises(ValueError, match="must be what"):
                persist.unpack(
                    craft({**header, "scalars": {**header["scalars"], key: other}}, arrays)
                )


def play_some(case, learner):
    """A learner with a number in it that never was: it may answer anything, but neither crash nor
    hang.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        play(case, learner, PLAYED, PLAYED + 3)


@pytest.mark.parametrize("name", EACH)
def test_absurd_numbers_under_a_right_checksum_neither_crash_nor_hang(name, files):
    case, original = CASES[name], Original(files[name])
    header, arrays = original.header, original.arrays
    assert persist.pack(persist.unpack(craft(header, arrays))) == files[name]
    absurd = (np.nan, np.inf, -np.inf, -1.0, 1e300, 2.0**62, 0.5)
    for (key, array), value in some_of(arrays.items(), absurd, every=7):
        if array.dtype.kind != "f" and not np.isfinite(value):
            continue
        other = np.full_like(
            array,
            min(value, 2.0**62) if array.dtype.kind == "i" and array.itemsize == 8 else value % 100,
        )
        other = np.full_like(array, value) if array.dtype.kind == "f" else other
        with contextlib.suppress(ValueError, ArithmeticError, np.linalg.LinAlgError):
            play_some(case, original.unpack(header, {**arrays, key: other}))


def npy(shape, dtype="<f8", data=b""):
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def zipped(members, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_memory_and_time_are_bounded_by_the_file(files, tmp_path):
    header, arrays = parts(files["TrackingForecaster"])
    text = json.dumps(header).encode()
    head = {"header.npy": npy((len(text),), "|u1", text)}
    huge = [
        npy((1 << 40,)),
        npy((1 << 20, 1 << 20, 0)),
        npy((-1,)),
        npy((1 << 62, 4)),
        npy((1 << 45,), "<U0"),
        npy((1,), "<U999999999"),
    ]
    bombs = [
        zipped({**head, "array.means.npy": content})
        for content in (*huge, npy((0, 1 << 50)), npy((0, 1 << 30)))
    ]
    bombs.append(
        zipped(
            {**head, "array.means.npy": npy((1 << 24,), "|u1", bytes(1 << 24))},
            zipfile.ZIP_DEFLATED,
        )
    )
    bombs.append(zipped({"header.npy": npy((1 << 23,), "|u1", b"[" * (1 << 23))}))
    crafted = [sealed(body) for body in bombs]
    for name in (
        "Tracker",
        "TrackingForecaster",
        "TrackingProbabilities",
        "conformal.WindowACI",
        "conformal.SAOCP",
        "Wrapped",
    ):
        own, state = parts(files[name])
        for key in ("dim", "classes", "window", "life"):
            for size in (1 << 34, 1 << 60):
                config = {k: v for k, v in own["config"].items() if k != key}
                crafted.append(craft({**own, "config": {**config, key: size}}, state))
        large = {"learner": "TrackingForecaster", "config": {"dim": 1 << 20}}
        crafted.append(craft({**own, "config": {**own["config"], "model": large}}, state))
        crafted.append(craft({**own, "config": {**own["config"], "model": [[large]]}}, state))
    crafted.append(craft({**header, "config": {"dim": {"int": "0x" + "f" * 100}}}, arrays))
    for data in [*bombs, *crafted]:
        tracemalloc.start()
        began = time.process_time()
        with pytest.raises(ValueError, match="must be what"):
            persist.unpack(data)
        assert time.process_time() - began < 5.0
        assert tracemalloc.get_traced_memory()[1] < 20 * len(data) + (1 << 22)
        tracemalloc.stop()


class Canary:
    """Would write a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.write_text, (self.path, "sung")


def test_nothing_is_unpickled(files, tmp_path):
    header, arrays = parts(files["Tracker"])
    song = tmp_path / "song"
    pickled = pickle.dumps(np.array([Canary(song)], dtype=object))
    body = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(
        body,
        header=text,
        **{f"array.{k}": v for k, v in arrays.items()},
        extra=np.array([Canary(song)], dtype=object),
    )
    objects = npy((1,), "|O", pickle.dumps([Canary(song)]))
    for data in (
        pickled,
        body.getvalue(),
        sealed(body.getvalue()),
        sealed(pickled),
        zipped({"header.npy": objects}),
        objects,
    ):
        refused(data, tmp_path / "a")
        refused(sealed(data), tmp_path / "a")
    with pytest.raises(ValueError, match="numbers or text"):
        craft(header, {**arrays, "extra": np.array([Canary(song)], dtype=object)})
    assert not song.exists()
    pickle.loads(pickle.dumps(Canary(song)))  # it can sing
    assert song.exists()


def mutate(data, rng):
    """A few bytes changed, a piece cut out, doubled, moved or overwritten."""
    result, kind = bytearray(data), rng.integers(6)
    a, b = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    b = min(b, a + int(rng.integers(1, 200)))
    if kind <= 1:
        for at in rng.integers(0, len(data), rng.integers(1, 5)):
            result[at] = rng.integers(256)
    elif kind == 2:
        del result[a:b]
    elif kind == 3:
        result[a:a] = result[a:b]
    elif kind == 4:
        result[a:b] = rng.bytes(b - a)
    else:
        result[a:b] = bytes(b - a)
    return bytes(result)


def test_mutations_of_files_are_refused_or_change_nothing(files):
    rng, equal, cases = np.random.default_rng(8), 0, 0
    sources = [files[name] for name in FUZZED] + [
        (DATA / f"{name}.npz").read_bytes() for name in FIRST_FORMAT
    ]
    for whole in sources:
        original = persist.pack(persist.unpack(whole))
        for _ in range(500):
            cases += 1
            with contextlib.suppress(ValueError):
                assert persist.pack(persist.unpack(mutate(whole, rng))) == original
                equal += 1
    assert cases == 4500
    assert equal < cases / 4


def test_mutations_behind_the_checksums_are_refused_or_give_a_learner(files):
    rng, made, cases = np.random.default_rng(9), 0, 0
    for name in ("Tracker", "KernelFTRL", "IntervalTracker", "Fleet", "Wrapped", "baselines.Hedge"):
        body = files[name].partition(b"\n")[2]
        at = body.find(b'{"learner"')
        for i in range(300):
            cases += 1
            text = (
                body[:at] + mutate(body[at : at + 300], rng) + body[at + 300 :]
                if i % 2
                else mutate(body, rng)
            )
            with contextlib.suppress(ValueError):
                learner = persist.unpack(loaders.sealed(text))
                made += 1
                assert type(learner).__name__ == name.rpartition(".")[2]
    assert cases == 1800
    assert 0 < made < cases
