# `make help` lists the targets. The work is done by cargo and by scripts/.

CARGO ?= cargo
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help demo build test test-all fuzz verdicts loom audit scaling bench bench-matrix bench-rma dispatch fidelity doc lint clean install uninstall deb dist wheel release deps own-mpis pypi-mpis mpi4py mpi4py-all pypi-readers

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# What tests need must be there; MEL_MAY_SKIP=1: they do without.
or_skip = || [ "$(MEL_MAY_SKIP)" = 1 ]

demo: ## Run a small MPI program under MEL and explain what it shows
	scripts/install-deps demo
	scripts/build demo
	@scripts/demo

build: ## Build target/release/mel, libmel.so and libmpit_events.so
	@scripts/build

test: ## Run the tests with what the distribution has; takes about 12 minutes
	@echo "make test: about 12 minutes on two processors the first time, most of them compiling; make test-all runs all tests"
	scripts/install-deps test
	scripts/test quick

test-all: ## Run all tests, on every MPI; the first time that takes an hour
	@echo "make test-all: about half an hour on two processors; an hour the first time, when MPIs are built from source"
	$(MAKE) --no-print-directory deps own-mpis pypi-mpis pypi-readers mpi4py
	@# Optimising a library as a whole keeps one processor busy. What does not compile is met again, and told, below.
	scripts/test compile >/dev/null 2>&1 & scripts/build variants && wait
	scripts/test all
	$(MAKE) --no-print-directory loom

loom: ## Try every order of threads on the events core's parts without locks
	RUSTFLAGS="--cfg loom" $(CARGO) test --release --target-dir target/loom -p mpit-events --lib models

fuzz: ## Fuzz the C functions and all readers, half a minute each
	scripts/fuzz

scaling: deps build ## Measure how the cost grows with the number of ranks, see docs/scaling.md
	scripts/scaling

bench: deps pypi-mpis build ## Measure what MEL costs, side by side with nothing attached and with EZTrace
	$(CARGO) build --release -p otf2-writer --example archive
	python3 benches/compare.py
	python3 benches/report.py
	python3 benches/archive.py
	python3 benches/figure1.py
	python3 benches/applications.py

bench-matrix: deps build ## Measure what counting who sends what to whom costs, beside Open MPI's own component
	python3 benches/matrix.py

bench-rma: deps build ## Measure what MEL costs one-sided communication from sixteen threads
	python3 benches/rma.py

dispatch: build ## Measure what a registration costs, beside an MPI's own events
	scripts/mpich-with-events
	@prefix=$$(scripts/mpich-with-events --prefix) && \
	$$prefix/bin/mpicc -O2 -Iinclude -o target/dispatch benches/dispatch.c -Wl,--no-as-needed \
		-Ltarget/release -lmpit_events -Wl,-rpath,$(CURDIR)/target/release -Wl,-rpath,$$prefix/lib && \
	$$prefix/bin/mpiexec -n 2 target/dispatch </dev/null

fidelity: build ## Compare the model with ob1 itself, in every mode, and write docs/fidelity.md
	scripts/openmpi-with-peruse
	python3 benches/fidelity/compare.py

doc: ## Build the documentation of the crates
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items

audit: ## Check licences, sources and versions of the crates that are used, from what is here
	scripts/audit

lint: doc audit ## Check formatting, lints, documentation, generated files, and that no function's name is taken apart
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask wrappers --check
	$(CARGO) xtask otf2-bindings --check
	$(CARGO) xtask names

# With sudo there may be no cargo: then what `make build` has left is installed.
install: ## Build, and install below PREFIX=/usr/local; LIBDIR=lib64, DESTDIR=/stage; see docs/install.md
	@if command -v $(CARGO) >/dev/null || [ ! -e target/release/libmel.so ]; then $(MAKE) --no-print-directory build; fi
	@PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" DESTDIR="$(DESTDIR)" scripts/install

uninstall: ## Remove what `make install` has put below PREFIX
	@PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" DESTDIR="$(DESTDIR)" scripts/install --uninstall

deb: build ## Make a Debian package of it: target/deb/mel_*.deb; scripts/test-deb tries it in a clean Debian 12
	@scripts/deb

wheel: ## Build and pack a wheel for pip, with the Python package mel_mpi: target/dist/mel_mpi-*.whl
	@scripts/wheel

dist: ## Build and pack a release for older systems: target/dist/mel-*.tar.gz, named after the oldest glibc for it
	@scripts/dist

release: build ## Make all parts of a release, with notes and checksums: target/dist
	@scripts/release

clean: ## Remove everything that was built
	$(CARGO) clean

# The MPIs that `make test-all` needs and Debian does not have. Does nothing the second time.
own-mpis:
	scripts/mpich-with-events $(or_skip)
	scripts/openmpi-with-peruse $(or_skip)

# Does nothing the second time.
pypi-mpis:
	scripts/pypi-mpis $(or_skip)

# Does nothing the second time.
mpi4py:
	scripts/mpi4py-tests $(or_skip)

mpi4py-all: deps mpi4py build ## Run the whole of mpi4py's own tests without and with MEL; takes half an hour
	$(CARGO) test -p mel-tests --test system -- --ignored --nocapture --test-threads 1 whole_suite_

verdicts: deps build ## Judge the verdicts on a corpus of small programs; wants a quiet machine
	$(CARGO) test -p mel-tests --test system -- --include-ignored --test-threads 1 verdicts_are_right::

# Does nothing the second time.
pypi-readers:
	scripts/pypi-readers $(or_skip)

deps: ## Install the system packages that are missing
	scripts/install-deps
