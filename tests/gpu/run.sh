#!/usr/bin/env bash
# Runs the GPU's tests on a machine that has one, out of an archive of pack.sh that was unpacked
# here. Goes on after a failure; everything that is said is in RESULTS.
# usage: ./run.sh RESULTS_DIRECTORY [PYTHON]   (an interpreter whose packages include torch)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
results=$1
python=${2:-python3}
mkdir -p "$results"

# --- install: the libraries that are missing, and an environment where swage looks for it
cp -n "$here"/lib/* /usr/lib/x86_64-linux-gnu/ 2>/dev/null
cp -n "$here"/tools/* /usr/bin/ 2>/dev/null
site=$("$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent.parent)')
version=$("$python" -c 'import sys; print(f"python{sys.version_info.major}.{sys.version_info.minor}")')
printf '%s\n' "$site/torch/lib" "$site/nvidia/cu13/lib" > /etc/ld.so.conf.d/swage-torch.conf
ldconfig
venv=${XDG_CACHE_HOME:-$HOME/.cache}/swage/venv
mkdir -p "$venv/bin" "$venv/lib/$version"
ln -sfn "$("$python" -c 'import sys; print(sys.executable)')" "$venv/bin/python"
ln -sfn "$site" "$venv/lib/$version/site-packages"

say() { printf '\n=== %s\n' "$*"; }
failed=0
# part NAME SECONDS EXPECTED COMMAND...: its output goes to RESULTS/NAME.log, its end to the screen.
# EXPECTED: an extended regular expression that must match a line of it.
part() {
  local name=$1 limit=$2 expected=$3 begin=$SECONDS ended=passed
  shift 3
  timeout -k 5 "$limit" "$@" > "$results/$name.log" 2>&1
  local code=$?
  grep -qE "$expected" "$results/$name.log" || ended=FAILED failed=$((failed + 1))
  say "$name: $ended, exit $code after $((SECONDS - begin)) s"
  "$python" "$here/summary.py" "$results/$name.log"
}

. "$here/parts.sh"
say "$failed parts failed"
exit $((failed > 0))
