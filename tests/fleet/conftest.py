"""Spark in local mode and torch on the CPU, for the tests of fleets on them."""

import warnings

import pytest

from extras import package, program
from stillpoint.commands.errors import Stop
from stillpoint.commands.fleet_options import FleetOptions

# a Java for a few seconds' work, here and in the processes started: most of its time would go into
# optimising what runs once
QUICK = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions"
    " -XX:-BytecodeVerificationRemote -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
)


@pytest.fixture(scope="module")
def torch():
    """Torch in one thread; a fleet that is loaded stays on the CPU, also where there is a GPU."""
    found = package("torch")
    found.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found.cuda, "is_available", lambda: False)
        yield found


@pytest.fixture(scope="module")
def fleets():
    for name in ("pyspark", "pandas", "pyarrow", "google.protobuf"):
        package(name)
    program("java")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", QUICK)
        yield package("stillpoint.fleet.spark")


@pytest.fixture(scope="module")
def spark(fleets):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = fleets.session(spark__master="local[2]", spark__sql__session__timeZone="UTC")
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


class Lent:
    """A session that others stop without effect."""

    def __init__(self, session):
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)

    def stop(self):
        pass


@pytest.fixture
def command(fleets, spark, monkeypatch):
    """`stillpoint fleet --engine spark` in the session of these tests: returns its summary."""
    from stillpoint.commands import spark as own

    monkeypatch.setattr(own, "session", lambda **options: Lent(spark))

    def run(source, target, out, **told):
        options = FleetOptions(str(source), target, out, engine="spark", **told)
        return own.play(options, Stop(), False)[0]

    return run
