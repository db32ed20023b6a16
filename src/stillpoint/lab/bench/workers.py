"""Many jobs through joblib, in processes here or on a Dask or Ray cluster, with their progress."""

import logging
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from time import perf_counter
from typing import Any, Protocol, TypeVar

from stillpoint.core.extras import require
from stillpoint.core.terminal import console, tell

T = TypeVar("T")
BACKENDS = ("loky", "dask", "ray")
_EVERY = 10.0  # seconds between lines where there is no terminal for a bar
_PATIENCE = 15  # seconds to wait for a cluster's scheduler


class Run(Protocol):
    """What `workers` yields: runs a function once for each tuple of arguments."""

    def __call__(
        self, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]
    ) -> Generator[T, None, None]:
        """Run every job; results come as they are ready."""


def check_backend(backend: str, address: str | None) -> None:
    """Raise for what `workers` cannot start, before anything is started."""
    if backend not in BACKENDS:
        raise ValueError(
            f"backend must be one of {', '.join(BACKENDS)}: got {backend!r}; loky runs here"
        )
    if backend == "loky" and address is not None:
        raise ValueError(
            f"address must go with a cluster: got {address!r} for loky; choose the backend dask"
            " or ray"
        )
    require("joblib", "playing many runs", "lab")
    if backend != "loky":
        _package({"dask": "distributed"}.get(backend, backend), backend)


@contextmanager
def workers(
    backend: str = "loky", jobs: int | None = None, address: str | None = None
) -> Iterator[Run]:
    """Start workers for the block.

    Parameters
    ----------
    jobs
        How many processes; None for one per core.
    address
        Of a running Dask scheduler or Ray head, which uses what it has. Without it both start
        here, with one single-threaded process per job.
    """
    check_backend(backend, address)
    joblib = import_module("joblib")
    with _START[backend](jobs, address) as options:

        def run(
            function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]
        ) -> Generator[T, None, None]:
            with joblib.parallel_config(backend, n_jobs=-1 if jobs is None else jobs, **options):
                parallel = joblib.Parallel(return_as="generator_unordered")
                results: Generator[T, None, None] = parallel(
                    (
                        joblib.delayed(_call)(_cloudpickled(function, task))
                        if backend == "dask"
                        else joblib.delayed(function)(*task)
                    )
                    for task in tasks
                )
            return results

        yield run


def play_all(
    function: Callable[..., T],
    tasks: Iterable[tuple[Any, ...]],
    *,
    backend: str = "loky",
    jobs: int | None = 1,
    address: str | None = None,
    progress: bool = False,
) -> list[T]:
    """Run a function once for each tuple of arguments, by `workers`.

    Returns the results in the order of the tasks. Progress counts them as they are ready: some may
    take seconds and others minutes.
    """
    numbered = [(place, function, task) for place, task in enumerate(tasks)]
    with workers(backend, jobs, address) as run:
        found = dict(watched(run(_numbered, numbered), len(numbered), show=progress))
    return [found[place] for place in range(len(numbered))]


def _numbered(place: int, function: Callable[..., T], task: tuple[Any, ...]) -> tuple[int, T]:
    return place, function(*task)


def _cloudpickled(function: Callable[..., T], task: tuple[Any, ...]) -> bytes:
    sealed: bytes = import_module("cloudpickle").dumps((function, task))
    return sealed


def _call(job: bytes) -> Any:
    """Run a job that came as bytes, so that what it needs is imported where it runs.

    A Dask worker reads messages in one thread while another plays, and two threads that import
    parts of one package at once may find half of it: the worker then drops its message, and the
    sweep would wait for ever.
    """
    function, arguments = pickle.loads(job)
    return function(*arguments)


@contextmanager
def _dask(jobs: int | None, address: str | None) -> Iterator[dict[str, Any]]:
    distributed = _package("distributed", "dask")
    here: dict[str, Any] = {
        "n_workers": jobs,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "silence_logs": logging.ERROR,
    }
    settings = here if address is None else {"address": address, "timeout": _PATIENCE}
    try:
        with _ignoring_interrupts(address is None):
            client = distributed.Client(**settings, set_as_default=False)
    except (OSError, ValueError) as error:
        if address is None:
            raise ValueError(
                f"backend dask must start here: got {_line(error)}; free some memory, or choose"
                " loky"
            ) from None
        remedy = "start one with `dask scheduler`, or leave the address out"
        raise ValueError(
            f"address must be that of a Dask scheduler: got {address} ({error}); {remedy}"
        ) from None
    with client:
        yield {"client": client}


@contextmanager
def _ray(jobs: int | None, address: str | None) -> Iterator[dict[str, Any]]:
    ray, joblib = _package("ray", "ray"), import_module("joblib")

    class Backend(_package("ray.util.joblib.ray_backend", "ray").RayBackend):  # type: ignore[misc]
        """Ray's own, which can yield results one by one, though its parent class says it cannot."""

        supports_return_generator = True

    joblib.register_parallel_backend("ray", Backend)
    ours = not ray.is_initialized()
    if ours:
        # "local", for without an address Ray joins whatever cluster this machine last started
        here: dict[str, Any] = {"address": "local", "num_cpus": jobs, "include_dashboard": False}
        where = here if address is None else {"address": address}
        try:
            _check_reachable(address)
            with _ignoring_interrupts(address is None):
                ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            if address is None:
                raise ValueError(
                    f"backend ray must start here: got {_line(error)}; free some memory, or choose"
                    " loky"
                ) from None
            remedy = (
                "start one with `ray start --head`, share its token by RAY_AUTH_TOKEN, or leave the"
                " address out"
            )
            raise ValueError(
                f"address must be that of a Ray cluster: got {address} ({error}); {remedy}"
            ) from None
    try:
        yield {}
    finally:
        if ours:
            ray.shutdown()


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _check_reachable(address: str | None) -> None:
    """Raise OSError if nobody listens at HOST:PORT: Ray would try for a quarter of an hour."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), _PATIENCE).close()


@contextmanager
def _ignoring_interrupts(local: bool) -> Iterator[None]:
    """Let what starts here ignore Ctrl-C: the sweep answers it, and stops its workers in order."""
    if local and threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
    else:
        yield


_START: dict[str, Callable[[int | None, str | None], AbstractContextManager[dict[str, Any]]]] = {
    "loky": lambda jobs, address: nullcontext({}),
    "dask": _dask,
    "ray": _ray,
}


def _package(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ValueError(
            f"backend {extra} must have its package: it is not installed; pip install"
            f" 'stillpoint[{extra}]'"
        ) from None


def watched(results: Iterable[T], total: int, done: int = 0, *, show: bool = True) -> Iterator[T]:
    """Yield the results while standard error shows progress, as a bar or in lines.

    Parameters
    ----------
    total
        How many results there will be, `done` of them beforehand.
    """
    if not show:
        yield from results
    elif sys.stderr.isatty():
        yield from _bar(results, total, done)
    else:
        start = last = perf_counter()
        new = 0
        for new, result in enumerate(results, 1):
            yield result
            if perf_counter() - last >= _EVERY or done + new == total:
                last = perf_counter()
                rate = new / max(last - start, 1e-9)
                left = (total - done - new) / rate
                tell(
                    f"{done + new} of {total} played, {rate:.3g} a second, {left:.0f} s left",
                    err=True,
                )


def _bar(results: Iterable[T], total: int, done: int) -> Iterator[T]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(TextColumn("playing"), *columns, console=console(err=True)) as bar:
        task = bar.add_task("", total=total, completed=done, rate="")
        for result in results:
            yield result
            bar.advance(task)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:.3g} a second" if speed else "")
