#!/usr/bin/env bash
# Says what this machine lacks to build and run swage, and how to get it. Exit code 1 when something
# that is needed is missing; layers that only lower isolation are named and do not fail.
set -u
here=$(cd "$(dirname "$0")" && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/swage/venv
failed=0
good() { printf '  ok       %s\n' "$1"; }
bad() { printf '  MISSING  %s\n           remedy: %s\n' "$1" "$2"; failed=1; }
weak() { printf '  reduced  %s\n           %s\n' "$1" "$2"; }

echo "programs and libraries"
missing=$(grep -v '^#' "$here/packages.txt" | while read -r p; do
  [ -z "$p" ] || dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || echo "$p"; done)
if [ -z "$missing" ]; then good "Debian packages (tools/packages.txt)"
else bad "Debian packages: $(echo $missing)" "make setup"; fi
if "$venv/bin/python" -c 'import importlib.metadata as m; assert m.version("torch").startswith("2.11.0")' 2>/dev/null
then good "LibTorch 2.11.0 in $venv"; else bad "LibTorch 2.11.0 in $venv" "make setup"; fi

echo "machine"
cores=$(nproc); memory=$(awk '/MemAvailable/ {print int($2/1048576)}' /proc/meminfo)
[ "$cores" -ge 2 ] && good "$cores cores" || bad "$cores core" "at least 2 cores are needed: one judges while the other works"
[ "$memory" -ge 7 ] && good "$memory GiB of memory free" || bad "$memory GiB of memory free" "8 GiB are needed for make quickstart"
existing() { local p=$1; while [ ! -e "$p" ]; do p=$(dirname "$p"); done; echo "$p"; }
disk_of() { df -Pk "$(existing "$1")" | awk 'NR==2 {print $6}'; }
disk() { # GiB needed, a path on the disk, what for
  local space; space=$(df -Pk "$(existing "$2")" | awk 'NR==2 {print int($4/1048576)}')
  if [ "$space" -ge "$1" ]; then good "$space GiB free on the disk of $2"
  else bad "$space GiB free on the disk of $2" "$1 GiB are needed for $3"; fi; }
# 3 GiB for the build and one run, 6 for LibTorch and the caches: 1 each once they are there.
repository=$(cd "$here/.." && pwd); caches=${XDG_CACHE_HOME:-$HOME/.cache}
build=3; [ -x "$repository/build/dev/bin/swage" ] && build=1
cache=6; [ -e "$venv/.requirements" ] && cache=1
if [ "$(disk_of "$repository")" = "$(disk_of "$caches")" ]; then
  disk $((build + cache)) "$repository" "the build, LibTorch, caches (in $caches) and one run"
else
  disk $build "$repository" "the build and one run"
  disk $cache "$caches" "LibTorch and caches (XDG_CACHE_HOME names another place)"
fi
grep -q avx2 /proc/cpuinfo && good "AVX2" || bad "AVX2" "kernels are compiled for x86-64-v3; use a processor from 2015 or later"

echo "isolation"
if bwrap --ro-bind / / --unshare-all true 2>/dev/null; then good "bubblewrap"
else bad "bubblewrap cannot make namespaces" "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or run as root"; fi
[ "$(id -u)" = 0 ] && good "root: separate users for sandbox, agent and model hosts" || weak "not root" "sandbox and model hosts share your user: isolation=reduced, trust=reduced"
if [ -w /sys/fs/cgroup ] || [ -w /sys/fs/cgroup/memory ]; then good "cgroups are writable"
else weak "cgroups are not writable" "limits by rlimit only"; fi

echo "test cluster (make test-cluster)"
lacks=$(PYTHONPATH=$here/../tests/cluster python3 -c 'from testcluster import needs; print("; ".join(needs.missing()))' 2>&1)
if [ -z "$lacks" ]; then good "a real Kubernetes can run here"; else weak "no real Kubernetes" "$lacks"; fi
exit $failed
