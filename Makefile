# Everything a newcomer needs: `make demo` and `make test` set up .venv by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-extras lint docs bench figures clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,bench]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py --out demo-out

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 -m "not extra and not slow"

# Tests that need what a plain install does not have (river, scikit-learn, a browser) carry the marker `extra`; here they must run.
test-extras: docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[river,sklearn,real,parquet]'
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium >/dev/null)
	STILLPOINT_EXTRAS=required $(BIN)/python -m pytest -m extra

# The user guide, into site/; a broken link is an error.
docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.ready
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=min,median --benchmark-sort=name
	$(BIN)/python benchmarks/mixture_regret.py
	$(BIN)/python benchmarks/forecasters.py
	$(BIN)/python benchmarks/filters.py
	$(BIN)/python benchmarks/slopes.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/fleet.py
	$(BIN)/stillpoint bench regret --stream chosen --first-seed 1000 --out docs/bench
	$(BIN)/stillpoint bench speed --out docs/bench
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[real]'
	$(BIN)/python benchmarks/mapie_aci.py
	$(BIN)/python benchmarks/estimators.py
	$(BIN)/stillpoint bench real --rounds 20000 --out docs/bench
	$(BIN)/python benchmarks/readme.py

figures: $(VENV)/.ready
	$(BIN)/python examples/kernel_tradeoffs.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[river,sklearn]'
	$(BIN)/python tests/pages.py docs/guide/*.md
	$(BIN)/stillpoint reproduce --out build/reproduce
	cp build/reproduce/reproduce.md build/reproduce/*.png docs/reproduce/
	$(BIN)/python examples/demo.py --out demo-out
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1000,1180 --screenshot=docs/report.png demo-out/report.html

clean:
	rm -rf $(VENV) demo-out site build src/*.egg-info
