"""Numbers, times and comparisons as people read them."""

import math
from datetime import UTC, datetime
from typing import Any

_THIN = "\u202f"  # a narrow space that never ends a line
_SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
FEW = 10  # rows: fewer say nothing of how good forecasts are


def number(value: Any) -> float | None:
    """The value if it is a finite number."""
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return x if math.isfinite(x) else None


def figure(value: Any, digits: int = 3) -> str:
    """A number with three significant digits and thin spaces between thousands; a dash for none."""
    x = number(value)
    if x is None or x == 0.0:
        return "–" if x is None else "0"
    size = int(f"{x:.{digits - 1}e}".partition("e")[2])
    if not -4 <= size < 9:
        text = (
            f"{x:.{digits - 1}e}".partition("e")[0]
            + f"{_THIN}×{_THIN}10{str(size).translate(_SUPER)}"
        )
    else:
        places = digits - 1 - size
        text = f"{round(x, places):,.{max(places, 0)}f}"
    return text.replace(",", _THIN).replace("-", "−")


def near(value: Any, scale: Any) -> str:
    """A number as finely as matters beside `scale`: to two significant digits of that."""
    x, size = number(value), number(scale)
    if x is None or not x or not size:
        return figure(value)
    digits = 2 + math.floor(math.log10(abs(x))) - math.floor(math.log10(abs(size)))
    return figure(x if digits > 0 else 0.0, min(max(digits, 1), 12))


def count(value: Any) -> str:
    """A whole number, in full."""
    x = number(value)
    return "–" if x is None else f"{round(x):,}".replace(",", _THIN).replace("-", "−")


def percent(value: Any) -> str:
    """A share as a percentage, to a tenth."""
    x = number(value)
    if x is None or abs(x) >= 100.0:
        return "–" if x is None else figure(100.0 * x) + "%"
    if 0.9995 <= x < 1.0:
        return "over 99.9%"  # 100% is all of it
    return f"{100.0 * x:.1f}".removesuffix(".0").replace("-", "−") + "%"


def steps(number_of: float, unit: str | None) -> str:
    """So many rows, by the name of their spacing: "24 hours", "3 rows"."""
    name = unit or "row"
    return f"{count(number_of)} {name}" + ("" if number_of == 1 else "s")


def day(seconds: float, grain: str = "day") -> str:
    """A time in Unix seconds as a date: to the second, minute, day, month or year."""
    at = datetime.fromtimestamp(seconds, UTC)
    if grain in ("month", "year"):
        return f"{at:%b} {at.year}" if grain == "month" else str(at.year)
    clock = {"second": f" {at:%H:%M:%S}", "clock": f" {at:%H:%M}"}.get(grain, "")
    return f"{at.day} {at:%b} {at.year}{clock}"


def moment(value: Any) -> str:
    """A time in ISO's form as people write it; what is not one stays as it is."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return "" if value is None else str(value)
    return f"{at.day} {at:%b %Y %H:%M:%S}" + (
        " UTC" if at.utcoffset() is not None and not at.utcoffset() else ""
    )


def verdict(ours: float, theirs: float) -> str:
    """Our loss beside another, as words that go before its name."""
    ratio = ours / theirs
    if abs(ratio - 1.0) < 0.005:
        return "about the same error as"
    if ratio > 2.0:
        return f"about {figure(ratio, 2)} times the error of"
    # 100% less is no error at all
    share = "over 99" if 0.0 < ratio < 0.005 else f"about {abs(round(100.0 * (1.0 - ratio)))}"
    return f"{share}% {'less' if ratio < 1.0 else 'more'} error than"
