"""Spark in local mode, for the tests of fleets on it."""

import warnings

import pytest

from extras import package, program

# a Java for a few seconds' work, here and in the processes started: most of its time would go into
# optimising what runs once
QUICK = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions"
    " -XX:-BytecodeVerificationRemote -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
)


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
