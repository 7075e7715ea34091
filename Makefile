# One recipe a task; `make` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DIST_VENV := .venv-dist
SITE_VENV := .venv-site
DEMO_VENV := .venv-demo
OUTBOUND_VENV := .venv-outbound
WORKERS_VENV := .venv-workers
# Its peer needs Python 3.12 or later.
PYTHON_3_12 ?= $(firstword $(foreach version,3.14 3.13 3.12,$(shell \
	python$(version) -c 'import sys; print(sys.executable)' 2>/dev/null)) python3)
RESULTS := bench/results
# How the bindings are built: `dev` for tests and the demo, `dist` for figures, as packages are.
PROFILE ?= dev
HOST = $(shell rustc --print host-tuple)
# How they are linked: `native`, or by `zig` as packages are, against an old C library. Tests run over what is shipped.
LINK ?= native
TESTED = $(if $(filter %-linux-gnu,$(HOST)),zig,native)
# Tests make many calls, and some look at a clock; the demo waits for nothing but the compiler.
OPTIMISED = $(if $(filter dev,$(PROFILE)),CARGO_PROFILE_DEV_OPT_LEVEL=1)
LINKED = $(if $(filter zig,$(LINK)),$(BIN)/python tools/dist/zig.py)
WEB_PACKAGES := tests/web/nest11/node_modules/.ready tests/web/runners/node_modules/.ready

.DEFAULT_GOAL := help
.PHONY: chromium linted untimed docs playground test-docs version dist dist-check help setup build generate demo test lint lint-format lint-rust lint-python lint-node test-stubs compiled notices audit redis-server pictures test-rust test-engine test-servers timed-rust test-features test-python untimed-python timed-python test-node untimed-node timed-node test-readme test-web test-web-python test-django test-beside test-web-node test-fleet untimed-fleet timed-fleet test-packages panics soak soak-shared scoreboard fmt bench bench-redis bench-round-trips bench-outbound bench-web bench-workers clean demo-python demo-node

help: ## What can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(VENV)/.ready node_modules/.ready ## The tools of all three languages, into this folder

# The linker before all else, so that what is compiled need not wait for what runs.
$(VENV)/.linker: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	grep zig $< | $(BIN)/pip install --quiet --disable-pip-version-check --requirement /dev/stdin
	@touch $@

$(VENV)/.ready: tests/python/requirements.txt bench/python/requirements.txt $(VENV)/.linker
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

node_modules/.ready: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

# Figures are those of what is shipped.
bench bench-redis bench-outbound bench-web bench-workers soak scoreboard: PROFILE := dist
bench bench-redis bench-outbound bench-web bench-workers soak scoreboard: LINK = $(TESTED)

# Into which virtual environment, and by way of which folder (not one of cargo, which are named like its profiles). Both
# bindings are compiled from the same libraries.
define wheel
rm -rf python/tidegate/_tidegate*.so $(2)
$(OPTIMISED) $(LINKED) $(1)/maturin build --quiet --profile $(PROFILE) --target $(HOST) --features together $(QUICKER) \
	--interpreter $(1)/python --compatibility linux --auditwheel skip --out $(2)
$(1)/pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall $(2)/*.whl
endef

# Its tool looks for what `dev` makes in a folder of that name, and finds it unless it is told so.
addon = $(OPTIMISED) $(LINKED) npm run --silent addon -- $(if $(filter dev,$(PROFILE)),,--profile $(PROFILE)) --features together \
	$(if $(QUICKER),-- $(QUICKER))

build: setup ## The Python package into the virtual environment, the Node package into node/dist
	$(call wheel,$(BIN),target/wheels)
	$(addon)
	npm run --silent build:lib

generate: ## Code of the bindings that follows from the definitions and from the Python stub
	cargo run --quiet -p tidegate-generate

# With few tools of its own, and all of it at once: what is installed comes while the bindings are compiled.
demo demo-python demo-node: OPTIMISED =
demo demo-python demo-node: QUICKER = --config=$(CURDIR)/examples/demo/cargo.toml
demo: ## One FastAPI and one Express app, the same burst to both, their answers side by side
	$(MAKE) --no-print-directory --jobs=4 demo-python demo-node
	$(DEMO_VENV)/bin/python examples/demo/run.py

$(DEMO_VENV)/.ready: examples/demo/requirements.txt
	$(PYTHON) -m venv $(DEMO_VENV)
	$(DEMO_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement examples/demo/requirements.txt
	@touch $@

demo-python: $(DEMO_VENV)/.ready
	$(call wheel,$(DEMO_VENV)/bin,target/demo-wheels)

# Not those of the project, for which the packages of every framework would be installed.
examples/demo/node_modules/.ready: examples/demo/package.json
	npm install --prefix examples/demo --no-package-lock --no-audit --no-fund --silent
	@touch $@

demo-node: export PATH := $(CURDIR)/examples/demo/node_modules/.bin:$(PATH)
demo-node: examples/demo/node_modules/.ready
	$(addon)
	npm run --silent build:lib -- --project examples/demo

# A run of make over what has been built, whose jobs are its own also where another one runs beside it.
TESTING = env MAKEFLAGS='$(filter-out -j% --jobserver-auth=%,$(MAKEFLAGS))' \
	$(MAKE) --no-print-directory --output-sync=target --old-file=build --old-file=compiled LINK=$(LINK)

# First what is downloaded and what is compiled, all of it at once: a binding is linked by one thread, for a minute. Then
# the tests, two suites at a time, and beside them the linters, which look through what was built and take what the suites
# leave of the processors. What looks at a clock comes after the others: such a suite waits for half of its time, so two
# leave each other a processor. Two at a time they take 2 minutes in place of 4.
test: LINK := $(TESTED)
# The linter compiles, so that it need not look through everything, libraries too, once more.
test: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
test: export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
test: ## Every test and linter of all three languages
	$(MAKE) --no-print-directory --jobs=5 --output-sync=target LINK=$(LINK) AFTER=nice \
		compiled build redis-server lint-format $(WEB_PACKAGES)
	$(MAKE) --no-print-directory --jobs=2 LINK=$(LINK) linted untimed
	$(TESTING) --jobs=2 timed-fleet timed-rust timed-python timed-node

linted:
	nice $(TESTING) lint-python lint-node

untimed:
	$(TESTING) --jobs=2 test-servers test-engine untimed-python test-web-node test-web-python untimed-node test-readme \
		untimed-fleet test-packages

lint: lint-rust lint-python lint-node ## The linters of all three languages

lint-format:
	cargo fmt --all --check

# In one run, with every feature of the engine: two would check most libraries twice. Each feature by itself is for
# `test-features`, and the documentation for `docs`.
lint-rust: lint-format
	cargo clippy --workspace --all-targets --features tidegate/toml,tidegate/tower,tidegate/yaml --quiet -- -D warnings

lint-python: build test-stubs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python tools/supply_chain.py --check
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --quiet --offline .github/workflows

# The stubs beside the built module, which differs from one version of Python to the next.
test-stubs: build
	$(BIN)/stubtest --mypy-config-file pyproject.toml --allowlist tests/python/stubtest.txt tidegate

lint-node: build
	npm run --silent lint
	npm run --silent typecheck

notices: setup ## Third-party notices and bills of materials anew, after a change of Cargo.lock
	$(BIN)/python tools/supply_chain.py

# Needs cargo-deny (cargo install --locked cargo-deny) and the network, for the advisories. Not part of the tests: to build
# it takes longer than they do, and a new advisory must not fail a change that has nothing to do with it.
audit: ## Known vulnerabilities, licences, bans and sources of what is built in
	cargo deny check

# The tests start servers of their own, on free ports.
redis-server:
	@{ command -v redis-server && command -v redis-cli && command -v ip; } >/dev/null || bash tests/install-redis.sh

# With the generator, whose test compares what it writes with what is committed, and with what has no tests, for the
# linter. Compiled and linked like the bindings.
CHECKED = -p tidegate -p tidegate-generate -p tidegate-bench -p tidegate-playground --all-features --target $(HOST)

compiled: $(if $(LINKED),$(VENV)/.linker) ## The tests of the engine, without a run
	$(AFTER) $(LINKED) cargo test $(CHECKED) --no-run --quiet

test-rust: test-engine test-servers timed-rust

# What is run beside another suite, and does not share the jobs of make.
APART := env -u MAKEFLAGS -u MFLAGS
cargo-test = $(APART) $(LINKED) cargo test $(CHECKED)

test-engine: redis-server compiled
	$(cargo-test) --lib --bins --test '[!r]*' --test 're[!d]*'
	$(cargo-test) --doc

# They wait for most of the time, so three run at once.
test-servers: redis-server compiled
	$(cargo-test) --test redis_servers -- --skip timed:: --test-threads=3

timed-rust: redis-server compiled
	$(cargo-test) --test redis_servers -- timed::
	$(cargo-test) --test 'redis_[!s]*'

# Overflow only wraps without its checks, with which the other run would stop. What a server decides is compiled the same
# way both times. Without the tests `redis_*`, empty without Redis.
WRAPPING := --config core/tests/wrapping.toml -p tidegate --no-default-features --features tokio,toml,yaml \
	--lib --test '[!r]*' --test 're[!d]*'

EXAMPLES := --manifest-path examples/rust/Cargo.toml --target-dir target/examples --all-features

# No tests run there: the compiler has a look. Only the release builds for the first; the second has words of 32 bits.
ELSEWHERE := x86_64-pc-windows-msvc i686-unknown-linux-gnu

# Memory alone compiles no runtime, no client of Redis and no TLS; a store over a network needs no client of Redis; Redis
# needs no TLS; and without being asked nothing reads TOML or YAML. Apart from the other tests, because each combination is
# compiled by itself.
test-features: redis-server ## Each feature of the crate by itself, arithmetic that wraps, and the examples in Rust
	cargo test $(WRAPPING)
	for features in "" tokio toml yaml remote redis shm tower cli; do \
		cargo clippy -p tidegate --no-default-features --features "$$features" --quiet -- -D warnings || exit 1; \
	done
	cargo clippy -p tidegate --all-targets --quiet -- -D warnings
	@# Without TLS, which a compiler of C would be needed for.
	for target in $(ELSEWHERE); do \
		rustc --print target-libdir --target $$target | xargs test -d || rustup target add $$target || exit 1; \
		RUSTFLAGS="-D warnings" cargo check -p tidegate --no-default-features --features cli,shm,tower --target $$target --quiet || exit 1; \
	done
	! cargo tree -p tidegate --no-default-features --edges normal --prefix none | grep -E "^(tokio|redis|rustls|ring) "
	! cargo tree -p tidegate --no-default-features --features remote --edges normal --prefix none | grep -E "^(redis|rustls|ring) "
	! cargo tree -p tidegate --no-default-features --features redis --edges normal --prefix none | grep -E "^(rustls|ring) "
	! cargo tree -p tidegate --edges normal --prefix none | grep -E "^(clap|flate2|indicatif|toml|serde-saphyr) "
	cargo test -p tidegate --no-default-features --features redis --test without_tls --quiet
	cargo clippy $(EXAMPLES) --all-targets --quiet -- -D warnings
	cargo test $(EXAMPLES) --quiet

# Two at a time, because many wait, but for tests that look at a clock: those come after the others, one by one.
PARALLEL := --numprocesses 2 --dist loadfile

test-python: untimed-python timed-python

untimed-python: build redis-server
	$(BIN)/pytest $(PARALLEL) --no-loadscope-reorder -m "not clock"

timed-python: build redis-server
	$(BIN)/pytest -m clock

test-node: untimed-node timed-node

untimed-node timed-node: build redis-server
	npm run --silent test:$(@:-node=)

test-readme: build redis-server
	$(BIN)/pytest $(PARALLEL) --dist load tests/readme
	$(BIN)/python tools/pictures.py --check
	for example in login wait http; do $(APART) $(LINKED) cargo run --quiet -p tidegate --all-features --target $(HOST) --example $$example || exit 1; done

pictures: build ## The pictures of the documentation anew, by the command `tidegate simulate`
	$(BIN)/python tools/pictures.py

# An older NestJS beside the one at the top, because each of its packages wants the others of its version; and the test
# runners of the examples, which nothing else needs. Not `npm ci`: it wants the packages of all platforms in the registry.
tests/web/%/node_modules/.ready: tests/web/%/package-lock.json
	npm install --no-save --prefix tests/web/$* --no-audit --no-fund --silent
	@touch $@

test-web: test-web-python test-web-node ## The web frameworks

test-web-python: build redis-server
	$(BIN)/pytest $(PARALLEL) tests/web/python

# Only in the workflow: a second Django, for interpreters that it supports. It stands before that of the virtual environment.
test-django: build redis-server
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then \
		$(BIN)/pip install --quiet --disable-pip-version-check --upgrade --target $(VENV)/django --requirement tests/web/python/django.txt && \
		PYTHONPATH=$(VENV)/django $(BIN)/pytest tests/web/python/test_django*.py tests/web/python/test_drf.py; \
	fi

BESIDE_VENV := .venv-beside
$(BESIDE_VENV)/.ready: tests/beside/requirements.txt
	$(PYTHON) -m venv $(BESIDE_VENV)
	$(BESIDE_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement tests/beside/requirements.txt
	@touch $@

# Unpacked and not installed: a package would start a server.
PROMETHEUS := target/prometheus
$(PROMETHEUS)/usr/bin/prometheus: | redis-server
	mkdir -p $(PROMETHEUS)
	cd $(PROMETHEUS) && { apt-get download prometheus || { apt-get update --quiet && apt-get download prometheus; }; } >/dev/null
	dpkg --extract $(PROMETHEUS)/prometheus_*.deb $(PROMETHEUS)

# Only in the workflow: libraries around language models and a job queue, which are large or want older dependencies, and
# a Prometheus.
test-beside: build redis-server $(BESIDE_VENV)/.ready $(PROMETHEUS)/usr/bin/prometheus
	$(BESIDE_VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall target/wheels/*.whl
	$(BESIDE_VENV)/bin/python -m pytest --override-ini=filterwarnings=default tests/beside

test-web-node: build redis-server $(WEB_PACKAGES)
	npm run --silent test:web

# A browser, which is installed where it is missing; after the server, because two installations would wait for a lock.
chromium: redis-server
	@command -v chromium >/dev/null || { apt-get update --quiet && apt-get install --quiet --yes chromium; } >/dev/null

# Only in the workflow, in a job of its own: three generators of references, and a browser.
test-docs: docs chromium ## The documentation as a site, in a browser
	node --test tests/site/*.test.mjs

test-fleet: untimed-fleet timed-fleet

untimed-fleet: build redis-server
	$(BIN)/pytest -m "not clock" tests/fleet

timed-fleet: build redis-server
	$(BIN)/pytest -m clock tests/fleet

# Exits, forks and threads, which the linker can spoil: over installed tarballs. The wheel is installed for every test.
test-packages: build redis-server
	$(APART) $(BIN)/python tools/dist/trial.py

# Tools of their own, which nothing else needs.
$(DIST_VENV)/.ready: tools/dist/requirements.txt
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement tools/dist/requirements.txt
	@touch $@

# Its tools are its own: the references of the three languages need a generator each.
$(SITE_VENV)/.ready: tools/site/requirements.txt tools/site/package-lock.json
	$(PYTHON) -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement tools/site/requirements.txt
	npm ci --prefix tools/site --no-audit --no-fund --silent
	@touch $@

# The engine in a page. Without the paths of this machine, and compressed, because a page from the disk cannot ask for
# another file: it stands as text in a script.
PAGE := wasm32-unknown-unknown
PLAYGROUND := target/$(PAGE)/page/tidegate_playground.wasm

playground: ## The engine for the playground of the documentation, as WebAssembly
	@rustc --print target-libdir --target $(PAGE) | xargs test -d || rustup target add $(PAGE)
	RUSTFLAGS="--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src=." \
		cargo build --quiet -p tidegate-playground --profile page --target $(PAGE)
	gzip -9 --no-name --keep --force $(PLAYGROUND)

docs: setup playground $(SITE_VENV)/.ready ## The documentation as a site, into target/site; open index.html there
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict --quiet
	@{ printf 'globalThis.tidegateEngine = "'; base64 $(PLAYGROUND).gz | tr -d '\n'; echo '"'; } \
		> target/site/javascripts/playground/engine.wasm.js
	tools/site/node_modules/.bin/typedoc --options tools/site/typedoc.json --logLevel Error
	@# Icons from a file of their own cannot be shown from the disk; a script has put them into each page as well.
	find target/site/reference/node -name '*.html' -exec sed -i 's|href="[./]*assets/icons.svg#|href="#|g' {} +
	RUSTDOCFLAGS="-D warnings" cargo doc --package tidegate --all-features --no-deps --quiet
	mkdir -p target/site/reference/rust && cp -r target/doc/. target/site/reference/rust/
	@# A link of a dependency's documentation that leads nowhere from the pages of those who use its traits.
	find target/site/reference/rust/tidegate -name '*.html' -exec sed -i 's|href="dispatcher#|href="https://docs.rs/tracing/latest/tracing/dispatcher/#|g' {} +
	@# The page of a trait asks for the list of those who implement it elsewhere, also where there is none.
	cd target/site/reference/rust && grep -rhoE 'trait\.impl/tidegate/[^"]+\.js' tidegate | sort --unique | while read -r list; do \
		test -e "$$list" || { mkdir -p "$${list%/*}" && : > "$$list"; }; done

version: ## One version for all packages: make version VERSION=1.2.3
	$(PYTHON) tools/dist/version.py $(VERSION)

dist: setup redis-server $(DIST_VENV)/.ready ## The packages that can be built here, checked and tried, into dist/
	$(DIST_VENV)/bin/python tools/dist/build.py
	$(BIN)/python tools/dist/trial.py dist

# As root: it makes a system of its own, in a folder that it removes.
dist-check: $(DIST_VENV)/.ready ## Those packages installed and used in a fresh Debian without a compiler
	$(DIST_VENV)/bin/python tools/dist/install.py

# Not part of the tests: it builds both bindings anew, so that they panic at chosen points.
panics: build redis-server ## Panics at every entry of both bindings: an error at the most, and the next call is fine
	$(BIN)/python tests/panics/run.py

# By hand: SOAK_MINUTES=60 is the default.
soak: build redis-server ## Faults in turns for an hour: bounds, memory, descriptors, threads
	PYTHONPATH=tests/redis $(BIN)/python tests/soak/soak.py

soak-shared: build ## Processes on shared memory, killed and stopped at random: bounds, hangs, damage; MINUTES=10
	$(BIN)/python tests/soak/shared.py $(or $(MINUTES),10)

# By hand, as root for the rows that lose packets, on a machine with nothing else to do: ROWS="killed stopped" for some.
scoreboard: build redis-server ## Faults and attacks with bounds in time, in both languages: figures beside bounds
	PYTHONPATH=tests/redis:tests/fleet:tests/soak $(BIN)/python tests/scoreboard/scoreboard.py $(ROWS)

fmt: setup ## Format everything
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	npm run --silent format

bench: build ## Figures beside the peers, as a table here and as JSON in bench/results
	@mkdir -p $(RESULTS)
	cargo build --profile bench --quiet -p tidegate-bench
	npm ci --prefix bench/node --no-audit --no-fund --silent
	target/release/tidegate-bench > $(RESULTS)/rust.json
	$(BIN)/python bench/python/bench.py > $(RESULTS)/python.json
	node bench/node/bench.mjs > $(RESULTS)/node.json
	@$(BIN)/python bench/table.py $(RESULTS)/rust.json $(RESULTS)/python.json $(RESULTS)/node.json

# Over a server of its own, one process at a time.
bench-redis: build redis-server ## The same beside the peers over Redis
	cargo build --release --quiet -p tidegate-bench --bin tidegate-bench-redis
	npm ci --prefix bench/node --no-audit --no-fund --silent
	@$(BIN)/python bench/redis/run.py $(RESULTS)

bench-round-trips: redis-server ## Calls without the store, and charges of calls that timed out, over long ways to a server
	@mkdir -p $(RESULTS)
	cargo build --release --quiet -p tidegate-bench --bin tidegate-bench-redis
	@$(PYTHON) bench/redis/run.py $(RESULTS) round-trips

$(OUTBOUND_VENV)/.ready: bench/outbound/requirements.txt
	$(PYTHON_3_12) -m venv $(OUTBOUND_VENV)
	$(OUTBOUND_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement bench/outbound/requirements.txt
	@touch $@

# Over Redis servers of their own.
bench-outbound: build redis-server $(OUTBOUND_VENV)/.ready ## Calls that go out: what a fleet uses and is refused, and tokens of a language model beside the peer
	@mkdir -p $(RESULTS)
	$(OUTBOUND_VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall target/wheels/*.whl
	@$(BIN)/python bench/outbound/tokens.py $(RESULTS) $(OUTBOUND_VENV)/bin/python
	@$(BIN)/python bench/outbound/outbound.py

$(WORKERS_VENV)/.ready: bench/workers/requirements.txt
	$(PYTHON_3_12) -m venv $(WORKERS_VENV)
	$(WORKERS_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement bench/workers/requirements.txt
	@touch $@

# No server is started where one is installed.
bench-workers: build redis-server $(WORKERS_VENV)/.ready ## Processes of one host that share a limit, beside the peers
	@command -v nginx memcached >/dev/null || { apt-get update --quiet && \
		RUNLEVEL=1 apt-get install --quiet --yes nginx-light memcached; } >/dev/null
	$(WORKERS_VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall target/wheels/*.whl
	@$(BIN)/python bench/workers/run.py $(RESULTS) $(WORKERS_VENV)/bin/python

# Over a server of its own, where a store is shared.
bench-web: build redis-server ## The cost of a rate limit in web frameworks, beside the peers
	npm ci --prefix bench/node --no-audit --no-fund --silent
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement bench/web/python/requirements.txt
	@$(BIN)/python bench/web/python/bench_web.py; python=$$?; node bench/web/node.mjs && exit $$python

clean: ## Remove what was built and installed
	rm -rf target dist $(VENV) $(DIST_VENV) $(SITE_VENV) $(DEMO_VENV) $(OUTBOUND_VENV) $(WORKERS_VENV) .venv-beside node_modules node/dist bench/node/node_modules tests/web/*/node_modules examples/demo/node_modules $(RESULTS)
