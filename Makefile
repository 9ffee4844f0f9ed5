# swage: `make help` lists what can be asked for.
PRESET ?= dev
OUT ?= $(CURDIR)/out/quickstart
BUILD = build/$(PRESET)
JOBS ?= $(shell nproc)

export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
export CCACHE_SLOPPINESS ?= pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_PCH_EXTSUM ?= 1
export CCACHE_MAXSIZE ?= 10G

.DEFAULT_GOAL := help
.PHONY: help setup setup-gpu doctor build programs quickstart test test-attacks test-gpu test-unit test-integration test-system fuzz test-sanitizers test-learning test-cluster chart test-chart cluster-up cluster-down images test-images test-teacher format lint tidy clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing (Debian 12; root or sudo)
	@tools/setup.sh

setup-gpu: ## install what GPU code is compiled with (PRESET=gpu builds it)
	@tools/setup.sh --gpu

doctor: ## say what this machine lacks
	@tools/doctor.sh

$(BUILD)/build.ninja: CMakePresets.json | setup
	@cmake --preset $(PRESET) && touch $@

build: setup $(BUILD)/build.ninja ## build everything, with the tests (PRESET=dev)
	@ninja -C $(BUILD) -j $(JOBS)

programs: setup $(BUILD)/build.ninja ## build what is run, without the tests (the first time about ten minutes on 2 cores)
	@ninja -C $(BUILD) -j $(JOBS) programs

quickstart: programs ## the whole loop on this machine, at most 10 minutes once built; goes on with a stopped one
	@$(BUILD)/bin/swage run examples/quickstart.yaml --local --again --out $(OUT) --evaluation-rollouts 16

test: setup ## what CI checks; slower groups have targets of their own
	@python3 tools/run_tests.py all

test-unit: setup ## unit tests
	@python3 tools/run_tests.py unit

test-sanitizers: setup ## address, undefined-behaviour and thread sanitizers
	@python3 tools/run_tests.py sanitizers

test-integration: setup ## with real Redis, gRPC, compilers, sandboxes and model hosts
	@python3 tools/run_tests.py integration

test-system: setup ## whole runs: bad input, full disks, kill -9 of every process
	@python3 tools/run_tests.py system

fuzz: setup ## ten seconds of libFuzzer on each parser of foreign input
	@python3 tools/run_tests.py fuzz

test-attacks: setup ## exploits against the judge, each without its guard, with it, and its twin
	@python3 tools/run_tests.py attacks

test-gpu: ## the GPU's tests, where there is one
	@tests/gpu/here.sh

cluster-up: setup ## a real Kubernetes on this machine (root; 10 minutes the first time, then 10 s)
	@PYTHONPATH=tests/cluster python3 -m testcluster up

cluster-down: ## end it; nothing is left
	@PYTHONPATH=tests/cluster python3 -m testcluster down

test-cluster: setup ## what needs a real Kubernetes: brings one up unless it is
	@python3 tools/run_tests.py cluster

images: build ## OCI images of everything, in the cache directory (images/README.md)
	@PYTHONPATH=images python3 -m swage_images --preset $(PRESET)

test-images: setup ## images: the same input gives the same digest (a minute)
	@python3 tools/run_tests.py images

chart: ## rewrite what follows from the chart's schema: values, tables, manifests
	@python3 tools/chart.py

test-chart: setup ## the chart's renderings and values (half a minute; needs helm)
	@python3 tools/run_tests.py chart

test-teacher: setup ## every kernel of the teacher: is it right, and which tier it earns (slow)
	@python3 tools/run_tests.py teacher

test-learning: setup ## the reward rises over three seeds (slow: half an hour)
	@python3 tools/run_tests.py learning

lint: setup ## format, architecture, metrics, Python
	@python3 tools/run_tests.py lint

tidy: setup ## clang-tidy on pure and adapter code
	@python3 tools/run_tests.py tidy

format: ## rewrite sources in the project's format
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i
	@$${XDG_CACHE_HOME:-$$HOME/.cache}/swage/venv/bin/ruff format -q .

clean: ## remove build trees and runs, keep downloads
	@rm -rf build out
