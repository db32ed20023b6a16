"""Whole-number keys: no pattern of them is dear to find, and the secret of the hash shows in
nothing but the time.
"""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.fleet import Fleet, keys
from stillpoint.fleet.rows import RowPlayer
from thorough import some

COUNT = 8192
# multiplied by it, then shifted right by 20: a hash that everybody knows
FIBONACCI = 0x9E3779B97F4A7C15
WORDS = 2**64


def secret(seed):
    return np.random.default_rng(seed).integers(0, WORDS - 1, (8, 256), np.uint64, endpoint=True)


def whole(words):
    """Different int64 from whole numbers of any size, at most COUNT."""
    different = list(dict.fromkeys(word % WORDS for word in words))
    return np.array(different[:COUNT], np.uint64).view(np.int64)


def starts(numbers, words, mask):
    """Where searches begin, byte by byte: the twin of the compiled hash."""
    mixed = np.zeros(numbers.size, np.uint64)
    for byte, column in enumerate(numbers.astype("<i8").view(np.uint8).reshape(-1, 8).T):
        mixed ^= words[byte, column]
    return (mixed & np.uint64(mask)).astype(np.int64)


def against(words):
    """Keys that would all be looked for in one place by who has these words: low halves that cancel
    what high halves come to.
    """
    low, high = np.arange(65536), np.arange(1, 4 * COUNT) << 32
    partner = dict(zip(starts(low, words, 2 * COUNT - 1).tolist(), low.tolist(), strict=True))
    found = [
        (number, partner.get(at))
        for number, at in zip(high.tolist(), starts(high, words, 2 * COUNT - 1), strict=True)
    ]
    return whole(number | other for number, other in found if other is not None)


def reverse(i):
    return int(f"{i:064b}"[::-1], 2)


COUNTER, DRAWN = range(COUNT), np.random.default_rng(0)
PATTERNS = {f"i << {shift}": whole(i << shift for i in COUNTER) for shift in range(1, 64)} | {
    f"{factor} i": whole(i * factor for i in COUNTER)
    for factor in (3, 10, 1000, 4096, 7919, 65537, 10**9, 2**32 - 1, FIBONACCI)
}
PATTERNS |= {
    "down from 0": whole(-i for i in COUNTER),
    "from the least": whole(i - 2**63 for i in COUNTER),
    "both ends": whole(i << 56 | i for i in COUNTER),
    "bits turned round": whole(map(reverse, COUNTER)),
    "squares": whole(i * i for i in COUNTER),
    "powers of three": whole(pow(3, i, WORDS) for i in COUNTER),
    "bits of floats": np.arange(COUNT, dtype=float).view(np.int64),
    "bits of small floats": (np.arange(COUNT) / COUNT).view(np.int64),
    "bits of logarithms": np.log(np.arange(2.0, COUNT + 2.0)).view(np.int64),
    "microseconds of days": np.arange(COUNT) * 86_400_000_000,
    "words": whole(int.from_bytes(f"k{i:07}".encode(), "little") for i in COUNTER),
    "drawn": DRAWN.integers(-(2**63), 2**63 - 1, COUNT),
    "inverse of Fibonacci": whole(i * pow(FIBONACCI, -1, WORDS) for i in COUNTER),
    "inverse of Fibonacci, far up": whole((i << 40) * pow(FIBONACCI, -1, WORDS) for i in COUNTER),
    "another process": against(secret(99)),
}


def entered(numbers):
    """An index that is as full as it gets before its table grows: half."""
    index = keys.KeyIndex()
    index.grow(numbers.size)
    for part in (numbers[: numbers.size // 2], numbers[numbers.size // 2 :]):
        index.enter(*index.find(part))
    # places in the order of arrival
    np.testing.assert_array_equal(index.names(index.slots()), numbers)
    return index


def probes(index, numbers):
    """Entries that are looked at to find each key."""
    place = np.argsort(index._table, kind="stable")[np.count_nonzero(index._table < 0) :]  # by slot
    return (
        (place - starts(numbers, index._secret, index._table.size - 1)) & (index._table.size - 1)
    ) + 1


def longest_run(index):
    """Entries in a row that are not empty, at most: no search is longer."""
    empty = np.flatnonzero(index._table == keys._keys.EMPTY)
    return int(np.diff(np.append(empty, empty[0] + index._table.size)).max()) - 1


@pytest.mark.parametrize("pattern", some(PATTERNS, every=2))
def test_no_pattern_of_keys_takes_twice_the_probes_of_sequential_ones(pattern, monkeypatch):
    numbers = PATTERNS[pattern]
    for seed in range(3):
        monkeypatch.setattr(keys, "_SECRET", secret(seed))
        index, even = entered(numbers), entered(np.arange(numbers.size))
        assert probes(index, numbers).mean() <= 2.0 * probes(even, np.arange(numbers.size)).mean()
        assert longest_run(index) <= 128  # about 50 for a hash that is random throughout


def test_who_knows_the_secret_can_choose_keys_that_collide(monkeypatch):
    monkeypatch.setattr(keys, "_SECRET", secret(99))  # so the case "another process" above is one
    assert longest_run(entered(PATTERNS["another process"])) > COUNT // 2


def test_keys_that_come_and_go_leave_searches_short(monkeypatch):
    monkeypatch.setattr(keys, "_SECRET", secret(5))
    numbers = PATTERNS["i << 40"]
    index = entered(numbers)
    for turn in range(20):
        gone = numbers[turn::4]
        index.remove(index.find(gone)[1])
        assert (index.find(gone)[1] == keys._keys.EMPTY).all()
        index.enter(*index.find(gone + turn + 1))
        numbers = index.names(index.slots())
        np.testing.assert_array_equal(index.find(numbers)[1], index.slots())
        assert longest_run(index) <= 128


class Counting(int):
    """A whole number that counts how often it is compared."""

    compared = 0
    __hash__ = int.__hash__

    def __eq__(self, other):
        Counting.compared += 1
        return int(self) == other


def test_numbers_beyond_int64_whose_python_hashes_are_one_are_not_compared_with_each_other():
    numbers = [Counting((2**61 - 1) * (i + 8)) for i in range(500)]
    assert len(set(map(hash, numbers))) == 1
    Counting.compared = 0
    player = RowPlayer(sp.QuantileTracker)
    played = player.play(numbers, np.arange(500.0))
    np.testing.assert_array_equal(played.slots, np.arange(500))
    fleet = player.fleet
    assert fleet.keys() == list(map(int, numbers))
    assert numbers[7] in fleet
    fleet.retire(numbers[:100])
    assert fleet.keys() == list(map(int, numbers[100:]))
    assert numbers[7] not in fleet
    assert len(fleet) == 400
    fleet.update([np.uint64(2**63 + 5)], [1.0])
    assert 2**63 + 5 in fleet
    assert Counting.compared < 10 * 500  # each with every other would be 100 000


def story(tmp_path):
    """All that a fleet of numbers shows: what it says and refuses, its keys in order, its files."""
    rng, said = np.random.default_rng(1), []
    fleet = Fleet(sp.QuantileTracker)
    pool = np.concatenate(
        [PATTERNS["i << 40"][:300], PATTERNS["bits of floats"][:300], PATTERNS["drawn"][:300]]
    )
    pool = pool[np.sort(np.unique(pool, return_index=True)[1])]
    for turn in range(60):
        batch = rng.permutation(pool)[: rng.integers(1, 200)]
        if turn % 3 == 2:
            fleet.retire([key for key in batch.tolist() if key in fleet])
        elif turn % 7 == 5:
            with pytest.raises(ValueError, match="finite") as refused:
                fleet.update(batch, np.full(batch.size, np.nan))
            said.append(str(refused.value))
        else:
            said.append(fleet.predict(batch).tobytes())
            fleet.update(batch, np.sin(np.arange(batch.size)))
        said.append(fleet.keys().tobytes())
    sp.save(fleet, tmp_path / "fleet")
    player = RowPlayer(sp.KernelForecaster)
    said.append(player.play(pool.repeat(2), np.cos(np.arange(2 * pool.size))).plays[0].tobytes())
    return [*said, (tmp_path / "fleet").read_bytes(), pickle.dumps(fleet), player.pack()]


def test_nothing_that_is_said_or_kept_depends_on_the_secret(tmp_path, monkeypatch):
    told = []
    for seed in range(2):
        monkeypatch.setattr(keys, "_SECRET", secret(seed))
        told.append(story(tmp_path))
    assert told[0] == told[1]


def test_a_fleet_finds_its_keys_under_another_secret(monkeypatch):
    monkeypatch.setattr(keys, "_SECRET", secret(0))
    fleet, numbers = Fleet(sp.QuantileTracker), PATTERNS["i << 40"]
    fleet.update(numbers, np.sin(numbers))
    fleet.retire(numbers[::3])
    kept = pickle.dumps(fleet)
    monkeypatch.setattr(keys, "_SECRET", secret(1))
    there = pickle.loads(kept)
    for one in (fleet, there, copy.deepcopy(fleet), copy.copy(there)):
        assert len(one) == len(fleet)
        np.testing.assert_array_equal(one._index.find(numbers)[1], fleet._index.find(numbers)[1])
        assert (one._index.find(numbers)[1] < 0).sum() == numbers[::3].size
    for one in (fleet, there):
        one.update(numbers, np.cos(numbers))
    ours, theirs = fleet.arrays(), there.arrays()
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_every_process_has_a_secret_of_its_own_and_writes_the_same_file(tmp_path, monkeypatch):
    code = (
        "import sys, pickle, numpy as np, stillpoint as sp; from pathlib import Path;"
        " from stillpoint.fleet import keys; fleet = sp.Fleet(sp.QuantileTracker);"
        " fleet.update(np.arange(100) << 40, np.arange(100.0)); fleet.retire([0, 3 << 40]);"
        " sp.save(fleet, sys.argv[1]); Path(sys.argv[1] + '.pickle').write_bytes("
        "pickle.dumps(fleet)); Path(sys.argv[1] + '.secret').write_bytes(keys._SECRET.tobytes())"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], check=True)
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "b")])
    exec(code, {})  # in this process, the other one
    read = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert read["a"] == read["b"]
    assert read["a.pickle"] == read["b.pickle"]
    assert read["a.secret"] != read["b.secret"] == keys._SECRET.tobytes()
    fleet = pickle.loads(read["a.pickle"])
    assert len(fleet) == 98
    assert (fleet._known(np.arange(4, 100) << 40) == np.arange(4, 100)).all()
