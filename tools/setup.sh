#!/usr/bin/env bash
# Installs what swage is built, tested and run with on Debian 12: packages from tools/packages.txt and
# one Python environment with LibTorch. Idempotent; a second run takes seconds. Works as root or with
# sudo. Downloads stay in the cache directory, outside the repository.
# --gpu: also nvcc and NVML's headers, from PyPI (tools/requirements-gpu.txt).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/swage
venv=$cache/venv

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 69; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "needs root to install packages: run it as root, or install sudo"; fi
}

missing_packages() {
  grep -v '^#' "$here/packages.txt" | while read -r package; do
    [ -n "$package" ] || continue
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || echo "$package"
  done
}

install_packages() {
  command -v apt-get >/dev/null || die "needs Debian 12 (apt-get is missing); see tools/packages.txt for what to install elsewhere"
  local missing
  missing=$(missing_packages)
  if [ -z "$missing" ]; then say "packages: all there"; return; fi
  say "packages: installing $(echo "$missing" | wc -l): $(echo $missing | cut -c1-200)"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  # Debian starts these as services; swage starts its own.
  for service in redis-server prometheus etcd-server:etcd containerd; do
    package=${service%:*} service=${service#*:}
    echo "$missing" | grep -qx "$package" && command -v systemctl >/dev/null && as_root systemctl disable --now "$service" >/dev/null 2>&1 || true
  done
}

install_python() {  # install_python REQUIREMENTS_FILE NAME_OF_STAMP
  local want stamp=$venv/$2
  want=$(sha256sum < "$here/$1")
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then say "python environment ($1): up to date"; return; fi
  say "python environment: $1 into $venv (torch is a large download: 3 minutes the first time)"
  mkdir -p "$cache"
  [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/$1"
  echo "$want" > "$stamp"
}

install_packages
install_python requirements.txt .requirements
[ "${1:-}" != --gpu ] || install_python requirements-gpu.txt .requirements-gpu
say "done"
