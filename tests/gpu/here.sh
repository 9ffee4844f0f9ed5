#!/usr/bin/env bash
# `make test-gpu`: runs the GPU's tests on this machine, or says by name what is missing and skips.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build/gpu
venv=${XDG_CACHE_HOME:-$HOME/.cache}/swage/venv
missing=()
ls /dev/nvidia[0-9]* >/dev/null 2>&1 || missing+=("an NVIDIA GPU (/dev/nvidia0)")
[ -x "$build/bin/swage-judge" ] || missing+=("a build with PRESET=gpu (make setup-gpu; make build PRESET=gpu)")
if [ ${#missing[@]} -gt 0 ]; then
  printf 'test-gpu: skipped, this machine lacks %s\n' "${missing[@]}"
  exit 0
fi
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
"$root/tests/gpu/pack.sh" "$build" "$stage/pack.tar.xz" && tar -C "$stage" -xf "$stage/pack.tar.xz" &&
  "$stage/run.sh" "$root/out/test-gpu" "$venv/bin/python"
