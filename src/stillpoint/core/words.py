"""Words that are not known: what may have been meant. Apart from `core/validation.py`, which needs
NumPy: commands begin without it.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

# cells that stand for no value, in small letters
MISSING = {"", "na", "n/a", "nan", "-nan", "null", "none", "#n/a", "#n/a n/a", "#na", "<na>", "?"}


def suggest(word: Any, known: Iterable[str], most: int = 1) -> str:
    """A question for the message of an error, naming up to `most` known words; "" where none is
    near.
    """
    names = list(known)
    near = get_close_matches(word, names, most) if isinstance(word, str) else []
    if not near and isinstance(word, str):  # Y and y have nothing in common but what they mean
        near = [name for name in names if name.casefold() == word.casefold()][:most]
    return f"did you mean {', '.join(near)}? " if near else ""
