"""Claims: what the paper states, what measures it, and the control that must fail."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from stillpoint.lab.bench.contenders import complaint

Sense = Literal["≤", "≥", "="]

# a case holds up to this share of its bound: sums of a million floats are no better
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Case:
    """One number beside its bound.

    For "=", `measured` is the largest deviation and `bound` what rounding may leave of it.
    """

    where: str
    measured: float
    bound: float
    sense: Sense = "≤"

    @property
    def holds(self) -> bool:
        """Whether the inequality is met; never for NaN."""
        slack = _ROUNDING * abs(self.bound)
        return (
            self.measured >= self.bound - slack
            if self.sense == "≥"
            else self.measured <= self.bound + slack
        )

    @property
    def ratio(self) -> float | None:
        """measured/bound, inverted for "≥": at most 1 where the case holds.

        None where it means nothing."""
        above, below = (
            (self.bound, self.measured) if self.sense == "≥" else (self.measured, self.bound)
        )
        return (
            above / below
            if below > 0.0 and self.bound != 0.0 and math.isfinite(above) and math.isfinite(below)
            else None
        )


@dataclass(frozen=True)
class Evidence:
    """What a check found.

    The cases that decide, the statement as printed where an erratum corrects it, and further
    numbers.

    control: the same measured on a learner that plays 0, or with a formula that is wrong: one of
    them must fail, for else the cases could not have. vacuous: where none can, what the bound would
    need to be one that can be broken.
    lead: how the cases begin that a table should quote; every case still decides.
    """

    cases: Sequence[Case]
    printed: Sequence[Case] = ()
    control: Sequence[Case] = ()
    vacuous: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    lead: str = ""


Check = Callable[[bool], Evidence]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper.

    name: its kind and label. says: in one line. on: what is measured. erratum: what changed.
    """

    name: str
    section: str
    says: str
    on: str
    erratum: str
    check: Check


@dataclass(frozen=True)
class Row:
    """A claim and its measurement, as in `Claim` and `Evidence`."""

    name: str
    section: str
    says: str
    on: str
    erratum: str
    cases: tuple[Case, ...]
    printed: tuple[Case, ...]
    control: tuple[Case, ...]
    vacuous: str
    numbers: dict[str, float]
    note: str
    seconds: float
    lead: str = ""

    @property
    def holds(self) -> bool:
        """Every case holds, and there is one."""
        return bool(self.cases) and all(case.holds for case in self.cases)

    @property
    def could_fail(self) -> bool:
        """Whether the control fails in some case: only then do the cases say something."""
        return any(not case.holds for case in self.control)

    @property
    def stands(self) -> bool:
        """The cases hold, and could have failed or are said to be vacuous."""
        return self.holds and (self.could_fail or bool(self.vacuous))

    @property
    def worst(self) -> Case | None:
        """The case nearest to failing, or that fails most."""
        leading = [case for case in self.cases if case.where.startswith(self.lead)]
        return _worst(leading if self.holds else self.cases)

    @property
    def worst_printed(self) -> Case | None:
        """The same for the statement as printed."""
        return _worst(self.printed)

    @property
    def worst_control(self) -> Case | None:
        """The same for the control."""
        return _worst(self.control)


CLAIMS: list[Claim] = []


def claim(name: str, section: str, *, on: str, erratum: str = "") -> Callable[[Check], Check]:
    """Register `check(quick) -> Evidence` as the measurement of a statement: its docstring."""

    def register(check: Check) -> Check:
        says = " ".join((check.__doc__ or "").split()).removesuffix(".")
        if not says:
            raise ValueError(
                f"check must state its claim in its docstring: got {check.__doc__!r} for"
                f" {name}; write one"
            )
        CLAIMS.append(Claim(name, section, says, on, erratum, check))
        return check

    return register


def measure(claim: Claim, quick: bool) -> Row:
    """Run a claim's check. A check that cannot run shows as a claim that does not hold."""
    begun = perf_counter()
    try:
        with warnings.catch_warnings():
            # gradients that never turn, on purpose
            warnings.filterwarnings("ignore", message="the play saturated")
            found = claim.check(quick)
    except Exception as error:
        found = Evidence((), note=f"the check stopped: {complaint(error)}")
    return Row(
        claim.name,
        claim.section,
        claim.says,
        claim.on,
        claim.erratum,
        tuple(found.cases),
        tuple(found.printed),
        tuple(found.control),
        found.vacuous,
        dict(found.numbers),
        found.note,
        perf_counter() - begun,
        found.lead,
    )


def _worst(cases: Sequence[Case]) -> Case | None:
    def order(case: Case) -> tuple[bool, float]:
        return not case.holds, case.ratio if case.ratio is not None else -math.inf

    return max(cases, key=order, default=None)
