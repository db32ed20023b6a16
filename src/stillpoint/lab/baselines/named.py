"""What algorithms of the literature that are ensembles share: they are built from a few numbers."""

from typing import Any, ClassVar

from stillpoint.lab.online.ensemble import Ensemble


class Named(Ensemble):
    """An `Ensemble` whose parts follow from a few arguments, which it keeps under their names."""

    _given: ClassVar[tuple[str, ...]] = ()

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {"dim": self.dim, **{name: getattr(self, name) for name in self._given}}
