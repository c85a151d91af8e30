# make demo: set up and run the main job on an embedded data set.   make test: set up and run the tests.
# make docs: set up, build the site, and open every page of it.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
INSTALLED_DOCS := .venv/.installed-docs
INSTALL = -m pip install --quiet --constraint constraints.txt --editable
JOBS ?= 2
ONE_CORE := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# the fastest files of the tests, one or more for every part of the package (about 120 CPU seconds)
QUICK := density test_layers.py test_net.py test_house.py schema/test_schema.py table/test_table.py table/test_problems.py \
	table/test_doubts.py table/test_design.py table/test_row_labels.py table/test_row_structure.py table/test_repeats.py runtime/test_randomness.py \
	runtime/test_model_files.py selection/test_parts.py runtime/test_progress.py filtering/test_filter.py filtering/test_guarantees.py \
	datasets/test_synthetic.py generators/test_contract.py kinds/test_encoding.py kinds/test_latent.py \
	kinds/test_relations.py generators/test_mixed.py generators/test_hierarchical.py targets/test_standard_units.py \
	statistics/test_group_lasso.py statistics/test_sum.py targets/test_survival.py \
	check/test_verdict.py check/test_certificate.py check/test_pairs.py report/test_summary.py \
	cli/test_help.py

.PHONY: setup demo quick test docs check package minimum gpu slow net house speed profile rows quality statistics groups methods certificate calibration draws mixed randomisation intervals paper clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) ".[lightgbm,cluster,dev]"
	@touch $@

$(INSTALLED_DOCS): $(INSTALLED)
	$(BIN)/python $(INSTALL) ".[docs]"
	@touch $@

demo: setup
	$(ONE_CORE) $(BIN)/knockoffs demo --out out

# the inner loop: at most 90 seconds on two cores
quick: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(ONE_CORE) $(BIN)/python -m pytest -q -m "not slow" --ignore tests/density/test_world.py --numprocesses $(JOBS) \
		--dist loadfile $(QUICK:%=tests/%)

test: setup
	$(ONE_CORE) $(BIN)/python -m pytest -m "not slow" --ignore tests/gpu --numprocesses $(JOBS) --dist loadfile

# warnings are errors; the test opens every page and follows every link
docs: $(INSTALLED_DOCS)
	rm -rf docs/reference/generated  # pages of names that may be gone
	$(ONE_CORE) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	KNOCKOFFS_NEEDS_SITE=1 $(ONE_CORE) $(BIN)/python -m pytest -q -s tests/test_site.py tests/test_examples.py
	@echo "The site: docs/_build/html/index.html"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check

# a wheel and a source archive, in dist/
package: setup
	$(BIN)/python -m build

# the tests with the oldest versions that pyproject.toml allows, in an environment of its own
minimum:
	$(PYTHON) -m venv .venv-minimum
	.venv-minimum/bin/python -m pip install --quiet --constraint constraints-minimum.txt --editable ".[lightgbm,cluster,dev]"
	$(ONE_CORE) .venv-minimum/bin/python -m pytest -m "not slow" --ignore tests/gpu --numprocesses $(JOBS) --dist loadfile

# what needs a GPU, by the Python and torch that are there (PYTHON=...), without set-up
gpu:
	# only the plugins that are needed: those of another environment may warn, and warnings are errors
	PYTHONPATH=src PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(ONE_CORE) $(PYTHON) -m pytest -p xdist --quiet -rs --numprocesses $(JOBS) tests/gpu

slow: setup
	$(ONE_CORE) $(BIN)/python -m pytest -m slow --ignore tests/gpu

# every number of small configurations, here and in a commit, to the bit: before and after a change that moves code
net: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.net $(if $(BASE),--base $(BASE))

# sizes, imports and crossings of the package; COMMITS="a369464 ." for those of a commit and of the working tree
house: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.house $(COMMITS)

speed: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.speed

# where the time goes; SIZES="factors,2000,50" for another table
profile: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.profile $(if $(SIZES),--sizes $(SIZES))

# a million rows in a folder of Parquet files; ROWS=200000 for fewer
rows: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.rows $(if $(ROWS),--rows $(ROWS))

quality: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.quality --n-jobs $(JOBS)

statistics: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.statistics

groups: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.groups

methods: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.methods

# DATA=FOLDER adds the real data sets, where they are there
certificate: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.certificate $(if $(DATA),--data $(DATA))

calibration: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.calibration --data $(DATA)

# DATA=FOLDER adds the real tables
randomisation: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.randomisation null suite small cost $(if $(DATA),--data $(DATA))

# how often intervals of effects hold the truth
intervals: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.intervals

draws: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.draws
	$(ONE_CORE) $(BIN)/python -m benchmarks.guarantees

# DATA=FOLDER adds the real tables, where they are there
mixed: setup
	$(ONE_CORE) $(BIN)/python -m benchmarks.mixed $(if $(DATA),--data $(DATA))
	$(ONE_CORE) $(BIN)/python -m benchmarks.mixed_rates $(if $(DATA),--data $(DATA))

# the pages and figures of docs/benchmarks; RESULTS=FOLDER first puts the runs of a folder into benchmarks/results
paper: setup
	$(if $(RESULTS),$(BIN)/python -m benchmarks keep --out $(RESULTS))
	$(BIN)/python -m benchmarks page

clean:
	rm -rf .venv .venv-minimum out dist docs/_build docs/gallery docs/reference/generated docs/sg_execution_times.rst
