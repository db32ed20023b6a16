# Everything a newcomer needs: `make demo` and `make test` set up .venv by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Half the time of an install is bytecode of modules that nobody will import; Python makes that of the others when it meets them.
BY_PIP := -m pip install --quiet --disable-pip-version-check --no-compile
# Installs for the Python that is named first. uv takes seconds for what pip takes minutes for; where it does not find the packages
# that pip is set up to find, pip does it.
INSTALL := sh -c '$(BIN)/python -m uv pip install --quiet --python "$$0" "$$@" || "$$0" $(BY_PIP) "$$@"'
PIP    := $(INSTALL) $(BIN)/python
# Tests start hundreds of processes: without bytecode each would compile every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

CHROMIUM := command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium >/dev/null)
JAVA     := command -v java >/dev/null || (apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless >/dev/null)

.PHONY: demo test pytest test-slow extras test-extras test-pythons minimum test-minimum lint docs bench figures clean fuzz

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(BY_PIP) uv
	$(PIP) -e '.[test,bench,lab]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py --out demo-out

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

test: lint pytest

# Each process begins with tests of its own folders, so that the two seldom wait for the same function to be compiled.
pytest: $(VENV)/.ready
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not extra and not slow"

# All tests: those that take minutes, and all cases of those that others play a share of (tests/thorough.py); more than an hour.
test-slow: extras
	STILLPOINT_THOROUGH=1 STILLPOINT_EXTRAS=required $(WITH_EXTRAS) -m pytest -n 2 --dist loadfile

# Tests that need what a plain install does not have (river, torch, Spark, a browser) carry the marker `extra`; here they must run, in an
# environment of their own, so that the others meet a plain one. They build the site, too, as `make docs` does.
WITH_EXTRAS := build/extras/venv/bin/python
extras: build/extras/.ready
build/extras/.ready: $(VENV)/.ready
	mkdir -p build/extras
	$(BIN)/python -m venv build/extras/venv
	$(WITH_EXTRAS) $(BY_PIP) torch==2.13.0
	$(INSTALL) $(WITH_EXTRAS) \
		-e '.[test,bench,lab,docs,river,sklearn,sktime,frames,real,series,parquet,dask,ray,spark,autodiff]' triton
	$(CHROMIUM)
	$(JAVA)
	touch $@

# A file has one process, for Spark and the site start once there; in the order of their names Spark, the longest, does not come last.
# Only files that have such tests are read (tests/conftest.py sees to it that no others do).
test-extras: extras
	STILLPOINT_EXTRAS=required $(WITH_EXTRAS) -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "extra and not slow" \
		$$(grep -rl --include='test_*.py' 'mark\.extra' tests | LC_ALL=C sort)

# Learners saved here go on bit for bit under other Pythons; those of this list that are not installed are passed over.
PYTHONS ?= python3.12 python3.13 python3.14
test-pythons: $(VENV)/.ready
	mkdir -p build/pythons
	$(BIN)/python -m pip freeze | grep -E '^(numpy|scipy|numba|llvmlite)==' > build/pythons/libraries.txt
	for python in $(PYTHONS); do \
		version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue; \
		$$python -m venv build/pythons/$$version; \
		build/pythons/$$version/bin/python -m pip install --quiet --disable-pip-version-check -r build/pythons/libraries.txt || exit 1; \
	done
	$(BIN)/python -m pytest tests/core/test_persist_pythons.py

# The lowest versions that pyproject.toml allows, Python 3.11 among them: a bound that nobody has run is a guess.
# What is versions': compiled code of every kind, saved files, frames, wrappers, readers, the command line, the page. Nearly all the
# time is compiling: `make test-minimum WHOLE=1` has every learner, fleets, detectors and the lab as well.
MINIMUM := report/test_report_page.py \
	$(patsubst %,frames/test_%.py,frame_kinds track_data) \
	$(patsubst %,estimators/test_%.py,estimators lazy river sklearn) \
	$(patsubst %,core/test_%.py,container jit lanes state terminal) \
	$(patsubst %,commands/test_%.py,cli dates inputs mistakes)
ifdef WHOLE
MINIMUM += test_checks.py frames estimators report/test_alerts_page.py core/test_persist.py core/test_rounds.py \
	commands/test_track_series.py commands/test_forecast_fleet.py lab/test_sweep.py::test_every_backend_gives_the_same_rows
FEW := -k "not another_process"
else
MINIMUM += $(patsubst %,core/test_persist.py::test_files_of_format_1_go_on_as_recorded[%],Tracker IntervalTracker TrackingForecaster)
FEW := -k "not alerts and not Anomalies and not Changes and not bench_regret and not bench_speed and not known_ahead and not refused_rounds_of_a_series"
endif
LOWEST  := build/minimum/venv/bin/python
minimum: build/minimum/.ready
build/minimum/.ready: $(VENV)/.ready tests/minimum.py
	mkdir -p build/minimum
	$(BIN)/python tests/minimum.py parquet sklearn river lab dask > build/minimum/constraints.txt
	$(BIN)/python -m venv build/minimum/venv
	$(INSTALL) $(LOWEST) -c build/minimum/constraints.txt -e '.[parquet,sklearn,river,lab,dask]' pytest pytest-xdist hypothesis
	touch $@

test-minimum: build/minimum/.ready
	# left out: the runner for tests of commands in the oldest click does not keep the streams apart, and it takes
	# words that begin with a control character for options
	NUMBA_CACHE_DIR=$(CURDIR)/build/minimum/cache $(LOWEST) -m pytest -n 2 --dist worksteal -m "not slow" $(MINIMUM:%='tests/%') \
		$(FEW) \
		--deselect tests/core/test_terminal.py::test_errors_of_usage_are_shown

# Any calls on any learner, any text in the parsers, any bytes in the loaders; a finding stops it (fuzz/run.py --help).
FUZZ_RUNS ?= 350000
fuzz: $(VENV)/.ready
	$(PIP) -e '.[fuzz]'
	for harness in api parsers loaders; do $(BIN)/python fuzz/run.py $$harness --runs $(FUZZ_RUNS) || exit 1; done
	$(BIN)/python fuzz/run.py checkpoints --runs $$(($(FUZZ_RUNS) / 50))

$(VENV)/.docs: $(VENV)/.ready
	$(PIP) -e '.[docs]'
	touch $@

# The site, into site/: it opens from that folder, fetches nothing, and asks nothing of the network while it is built. A broken link,
# or a docstring that names a parameter its function does not have, is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# All measured anew, on an otherwise idle machine, into docs/bench and the README (an hour and a half). What a GPU does is measured by
# benchmarks/gpu.py and gpu_series.py, what the tests notice by benchmarks/mutants.py.
PAGE := $(BIN)/python benchmarks/page.py docs/bench
bench: $(VENV)/.ready
	$(PAGE)/streaming.md benchmarks/streaming.py
	$(PAGE)/streaming.md benchmarks/mixture_regret.py
	$(PAGE)/forecasters.md benchmarks/forecasters.py
	$(PAGE)/filters.md benchmarks/filters.py
	$(PAGE)/slopes.md benchmarks/slopes.py
	$(PAGE)/intervals.md benchmarks/intervals.py
	$(PAGE)/intervals.md benchmarks/ahead.py
	$(PAGE)/fleet.md benchmarks/fleet.py
	$(PAGE)/fleet.md benchmarks/fleet_forecasts.py
	$(PAGE)/fleet.md benchmarks/fleet_files.py --keys 30000 --days 333 --threads 1 2
	$(PAGE)/fleet.md benchmarks/alerts_small.py
	$(PAGE)/fleet.md benchmarks/alerts_small.py --cost
	$(PAGE)/learners.md benchmarks/learners.py
	$(PIP) -e '.[spark]'
	$(JAVA)
	$(PAGE)/spark.md benchmarks/spark.py
	$(PAGE)/spark.md benchmarks/spark_forecasts.py
	$(BIN)/python benchmarks/page.py docs/capacity.md benchmarks/capacity.py
	$(PAGE)/targets.md benchmarks/targets.py
	$(PAGE)/tightness.md benchmarks/tightness.py
	$(BIN)/stillpoint bench regret --stream chosen --first-seed 1000 --out docs/bench
	$(BIN)/stillpoint bench regret --learner Tracker --learner MultiScale --learner MultiScale-free --learner Ader-D1 --learner OGD-sqrt \
		--stream reported --seeds 3 --first-seed 1000 --horizon 2000 --out build/reported
	cp build/reported/regret.md docs/bench/reported.md
	$(BIN)/stillpoint bench adaptive --first-seed 1000 --out docs/bench
	$(BIN)/stillpoint bench speed --out docs/bench
	$(PIP) -e '.[real]'
	$(PAGE)/intervals.md benchmarks/mapie_aci.py
	$(PAGE)/estimators.md benchmarks/estimators.py
	$(BIN)/stillpoint bench real --rounds 20000 --out docs/bench
	$(BIN)/stillpoint bench alerts --first-seed 1000 --out docs/bench
	$(PIP) -e '.[series]'
	$(BIN)/stillpoint bench series --rounds 3000 --jobs 2 --out docs/bench
	$(BIN)/python benchmarks/readme.py

# What the examples print, the paper as a run, and the picture of the report.
figures: $(VENV)/.ready
	$(BIN)/python benchmarks/page.py docs/theory.md examples/kernel_tradeoffs.py
	$(PIP) -e '.[river,sklearn,sktime,parquet,autodiff]'
	$(BIN)/python tests/pages.py README.md docs/index.md docs/guide/*.md
	$(BIN)/stillpoint reproduce --out build/reproduce
	cp build/reproduce/reproduce.md build/reproduce/*.png docs/reproduce/
	$(BIN)/python examples/demo.py --out demo-out
	$(CHROMIUM)
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,860 --screenshot=docs/report.png demo-out/sea/report.html

clean:
	rm -rf $(VENV) demo-out site build src/*.egg-info
