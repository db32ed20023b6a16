"""What a checkpoint's header must look like: a run that trusts it must not meet a word where it
counts.
"""

from typing import Any

from stillpoint.commands.lines import HEAD

_MOST = 1 << 62


def check_header(header: dict[str, Any]) -> None:
    """Make sure of names and types; ValueError names what is wrong. Whether they fit the input, the
    run itself finds out.
    """
    command, encoder = _part(header, "command", dict), _part(header, "encoder", dict)
    for name, most in (
        ("position", _MOST),
        ("head", HEAD),
        ("length", _MOST),
        ("rows", _MOST),
        ("targets", _MOST),
    ):
        _count(name, header[name], most)
    prints, counts, timed = (
        _part(header, name, list) for name in ("fingerprint", "counts", "timed")
    )
    if (
        len(counts) not in (2, 3)
        or len(timed) != 2
        or not all(one is None or isinstance(one, str) for one in prints)
    ):
        raise ValueError("its header counts or times otherwise than a run does")
    for number in counts:
        _count("counts", number, _MOST)
    _count("timed", timed[0], _MOST)
    if type(timed[1]) not in (int, float) or not 0.0 <= timed[1] < float("inf"):
        raise ValueError(f"its header holds {timed[1]!r} as seconds")
    _part(header, "started", str)
    _part(header, "finished", bool)
    _check_encoder(encoder, _part(command, "--features", list))


def _check_encoder(state: dict[str, Any], features: list[Any]) -> None:
    """Columns by their kinds, categories by column, two labels, and the last time."""
    kinds, labels, last = state["kinds"], _part(state, "labels", dict), state["last_time"]
    if kinds is not None and (
        not isinstance(kinds, list)
        or len(kinds) != len(features)
        or not {*map(str, kinds)} <= {"number", "category"}
    ):
        raise ValueError(f"its header holds {kinds!r} as the kinds of {len(features)} columns")
    categories = _part(state, "categories", list)
    for pair in categories:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
            raise ValueError(f"its header holds {pair!r} as a category")
        _count("categories", pair[0], len(features) - 1)
    if len({tuple(pair) for pair in categories}) < len(categories):
        raise ValueError("its header holds a category twice")
    if (
        len(labels) > 2
        or {*labels.values()} != {*range(2)} & {*labels.values()}
        or len({*labels.values()}) < len(labels)
    ):
        raise ValueError(f"its header holds {labels!r} as labels")
    spelled = state.get("spelled", {})  # checkpoints of old have none
    if (
        not isinstance(spelled, dict)
        or not {*spelled} <= {*labels}
        or not {*map(type, spelled.values())} <= {str}
    ):
        raise ValueError(f"its header holds {spelled!r} as the spelling of labels")
    if last is not None and (type(last) not in (int, float) or not abs(last) < float("inf")):
        raise ValueError(f"its header holds {last!r} as the last time")
    if _part(state, "time_kind", str) not in ("", "row", "date", "number"):
        raise ValueError(f"its header holds {state['time_kind']!r} as the kind of times")
    _part(state, "full", bool)
    if state.get("zoned") not in (None, False, True):  # checkpoints of old have none
        raise ValueError(f"its header holds {state['zoned']!r} as whether dates have a time zone")


def _part(tree: dict[str, Any], name: str, kind: type) -> Any:
    value = tree[name]
    if type(value) is not kind:
        raise ValueError(f"its header holds {str(value)[:40]!r} as {name!r}")
    return value


def _count(name: str, value: Any, most: int) -> None:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"its header holds {str(value)[:40]!r} as {name!r}")
