# Everything runs in a virtual environment of its own, made on first use.
#   make demo       certify the embedded model and write a report to open in a browser
#   make example-imagenet  certify a network of ImageNet's size, in some minutes (docs/scale.md)
#   make example-orientation  make a document classifier bear noise, and certify it (docs/adapt.md)
#   make test       lint, type checks and the ordinary tests
#   make test-slow  the long tests (recorded runs, mpmath, kill -9)
#   make coverage   the lines that the ordinary tests reach, in percent
#   make test-pythons  the ordinary tests on the oldest and the newest Python, where there are any
#   make check-boxes  certificates of random boxes, proved again in ball arithmetic
#   make reference  docs/commands.md, from the options of the commands
#   make docs       the documentation as a site, in build/site
#   make paper      the paper's theory, tables and figures, computed again (LOGS=DIR: the public logs)
#   make gallery    the pictures of docs/gallery.md and of the README, from the embedded model
#   make dist       sdist and wheel, checked and tried in an environment of their own
#   make benchmark  speed, as ratios measured in one run
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: demo example-imagenet example-orientation test test-slow coverage test-pythons check-boxes reference docs paper gallery dist benchmark clean

demo: $(VENV)/.with-demo
	$(BIN)/dsrs demo

example-imagenet: $(VENV)/.with-imagenet-example
	$(BIN)/python examples/imagenet.py --output runs/imagenet

example-orientation: $(VENV)/.with-orientation-example
	$(BIN)/python examples/orientation.py --output runs/orientation

test: $(VENV)/.with-test
	scripts/install-chromium
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m dsrs.proofs.compiling & $(BIN)/mypy; found=$$?; wait; exit $$found
	$(BIN)/pytest -q --numprocesses auto --dist loadfile

test-slow: $(VENV)/.with-test $(VENV)/.with-imagenet-example $(VENV)/.with-orientation-example
	$(BIN)/python -m dsrs.proofs.compiling
	$(BIN)/pytest -q -m slow --numprocesses auto

# Lines of kernels count where a test interprets them; compiled they cannot be seen.
coverage: $(VENV)/.with-test
	$(BIN)/coverage run -m pytest -q --numprocesses auto --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --sort=cover --skip-covered

test-pythons:
	@for version in 3.10 3.13; do \
	    if ! python$$version -c '' 2> /dev/null; then echo "no python$$version here"; continue; fi; \
	    $(MAKE) VENV=.venv-$$version PYTHON=python$$version .venv-$$version/.with-test || exit 1; \
	    .venv-$$version/bin/pytest -q --numprocesses auto --dist loadfile || exit 1; \
	done

check-boxes: $(VENV)/.with-test
	$(BIN)/python benchmarks/check_boxes.py

reference: $(VENV)/.with-test
	$(BIN)/python -m dsrs.cli.reference > docs/commands.md

docs: $(VENV)/.with-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

paper: $(VENV)/.with-demo
	$(BIN)/python -m reproduction theory
	$(if $(LOGS),$(BIN)/python -m reproduction tables --logs $(LOGS))
	$(BIN)/python -m reproduction figures $(if $(LOGS),--logs $(LOGS)) --output build/paper --overwrite

gallery: $(VENV)/.with-demo
	$(BIN)/python scripts/gallery.py

dist: $(VENV)/.with-dist
	scripts/make-dist $(BIN)/python

benchmark: $(VENV)/.with-test
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/certificates.py
	$(BIN)/python benchmarks/sampling_throughput.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.with-%: $(VENV)/bin/python pyproject.toml constraints.txt
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_BUILD_CONSTRAINT=$(CURDIR)/constraints.txt \
	    $(BIN)/pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
