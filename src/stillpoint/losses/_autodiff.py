"""Gradients of a user's function by automatic differentiation: jax, torch or autograd."""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from stillpoint.core.extras import MissingExtra
from stillpoint.core.validation import Array


class Autodiff(ABC):
    """A package that differentiates: values and gradients of f(w, *data) in double precision."""

    name: ClassVar[str]
    functions: ClassVar[str]  # what f must be made of

    @abstractmethod
    def value(self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]) -> Any:
        """f(w, *data), a number."""

    @abstractmethod
    def value_and_gradient(
        self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]
    ) -> tuple[Any, Array]:
        """f(w, *data), and its gradient in w, shape (dim,)."""

    def batch(
        self, f: Callable[..., Any], plays: Array, data: tuple[Any, ...]
    ) -> tuple[Array, Array] | None:
        """Values, shape (T,), and gradients, (T, dim), of all rounds at once; None if it cannot."""
        return None


class Torch(Autodiff):
    """PyTorch."""

    name: ClassVar[str] = "torch"
    functions: ClassVar[str] = "torch's functions, such as torch.abs"

    def __init__(self) -> None:
        self._torch = import_module(self.name)

    def _tensor(self, part: Any) -> Any:
        return self._torch.as_tensor(part) if isinstance(part, np.ndarray | np.generic) else part

    def value(self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]) -> Any:
        """f(w, *data), a number."""
        with self._torch.no_grad():
            return f(self._torch.tensor(w), *map(self._tensor, data))

    def value_and_gradient(
        self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]
    ) -> tuple[Any, Array]:
        """f(w, *data), and its gradient in w, shape (dim,)."""
        play = self._torch.tensor(w, requires_grad=True)
        value = f(play, *map(self._tensor, data))
        if not getattr(value, "requires_grad", False):
            raise _Untraced(value)
        (gradient,) = self._torch.autograd.grad(value.reshape(()), play)
        return value.detach(), gradient.numpy()

    def batch(
        self, f: Callable[..., Any], plays: Array, data: tuple[Any, ...]
    ) -> tuple[Array, Array] | None:
        """Values, shape (T,), and gradients, (T, dim), of all rounds at once; None if it cannot."""
        func = self._torch.func
        try:
            both = func.vmap(func.grad_and_value(lambda w, *row: f(w, *row).reshape(())))
            gradients, values = both(self._torch.tensor(plays), *map(self._tensor, data))
        except Exception:  # such as control flow that depends on a value
            return None
        return values.detach().numpy(), gradients.detach().numpy()


class Jax(Autodiff):
    """JAX."""

    name: ClassVar[str] = "jax"
    functions: ClassVar[str] = "jax.numpy's functions, such as jnp.abs"

    def __init__(self) -> None:
        self._jax = import_module(self.name)

    def _double(self) -> Any:
        # float32 is JAX's default, and only this block's is changed
        if hasattr(self._jax, "enable_x64"):
            return self._jax.enable_x64(True)
        return import_module(f"{self.name}.experimental").enable_x64()

    def _arrays(self, data: tuple[Any, ...]) -> list[Any]:
        convert = self._jax.numpy.asarray
        return [convert(p) if isinstance(p, np.ndarray | np.generic) else p for p in data]

    def value(self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]) -> Any:
        """f(w, *data), a number."""
        with self._double():
            return np.asarray(f(self._jax.numpy.asarray(w), *self._arrays(data)))

    def value_and_gradient(
        self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]
    ) -> tuple[Any, Array]:
        """f(w, *data), and its gradient in w, shape (dim,)."""
        with self._double():
            both = self._jax.value_and_grad(lambda p, *row: _traced(f(p, *row), self._jax))
            value, gradient = both(self._jax.numpy.asarray(w), *self._arrays(data))
            return np.asarray(value), np.array(gradient)

    def batch(
        self, f: Callable[..., Any], plays: Array, data: tuple[Any, ...]
    ) -> tuple[Array, Array] | None:
        """Values, shape (T,), and gradients, (T, dim), of all rounds at once; None if it cannot."""
        with self._double():
            try:
                both = self._jax.vmap(self._jax.value_and_grad(lambda w, *r: f(w, *r).reshape(())))
                values, gradients = both(self._jax.numpy.asarray(plays), *self._arrays(data))
            except Exception:  # such as control flow that depends on a value
                return None
            return np.array(values), np.array(gradients)


class Autograd(Autodiff):
    """HIPS autograd."""

    name: ClassVar[str] = "autograd"
    functions: ClassVar[str] = "autograd.numpy's functions, in place of numpy's"

    def __init__(self) -> None:
        self._package = import_module("autograd")

    def value(self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]) -> Any:
        """f(w, *data), a number."""
        return f(w.copy(), *data)

    def value_and_gradient(
        self, f: Callable[..., Any], w: Array, data: tuple[Any, ...]
    ) -> tuple[Any, Array]:
        """f(w, *data), and its gradient in w, shape (dim,)."""

        def scalar(play: Any) -> Any:
            value = f(play, *data)
            if isinstance(value, int | float | np.ndarray | np.generic):
                raise _Untraced(value)
            return value.reshape(()) if getattr(value, "shape", ()) else value

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that of a constant, which is refused above
            value, gradient = self._package.value_and_grad(scalar)(w.copy())
        return value, np.asarray(gradient)


class _Untraced(Exception):
    """The value of f does not depend on w as far as the package can see."""


def _traced(value: Any, jax: Any) -> Any:
    if not isinstance(value, jax.core.Tracer):
        raise _Untraced(value)
    return value.reshape(())


BACKENDS: dict[str, type[Autodiff]] = {each.name: each for each in (Jax, Torch, Autograd)}


def choose(backend: str | None, f: Callable[..., Any]) -> Autodiff:
    """The package asked for; else that whose functions f uses; else the first that is installed."""
    installed = [name for name in BACKENDS if find_spec(name) is not None]
    if backend is not None and backend not in BACKENDS:
        raise ValueError(
            f"backend must be one of {', '.join(BACKENDS)}: got {backend!r}; leave it out for the"
            " one that f uses"
        )
    if backend is not None and backend not in installed:
        raise MissingExtra(
            f"backend {backend!r} must be installed; run: pip install {backend}", name=backend
        )
    if not installed:
        raise MissingExtra(
            "from_function needs a package that differentiates: none of jax, torch and autograd is"
            " installed, and finite differences are too coarse; run: pip install"
            " 'stillpoint[autodiff]' for autograd, or install torch or jax",
            name="autograd",
        )
    return BACKENDS[backend or _used(f, installed) or installed[0]]()


def _used(f: Callable[..., Any], installed: list[str]) -> str | None:
    """The package whose modules or functions f names."""
    try:
        names = inspect.getclosurevars(getattr(f, "func", f))
    except (TypeError, ValueError):  # no Python function
        return None
    for part in (*names.globals.values(), *names.nonlocals.values()):
        home = getattr(part, "__module__", None) or getattr(part, "__name__", "")
        if inspect.ismodule(part):
            home = part.__name__
        package = str(home).partition(".")[0]
        if package in installed:
            return package
    return None


def untraced(error: Exception) -> bool:
    """Whether f gave a plain number where a traced one was due."""
    return isinstance(error, _Untraced)
