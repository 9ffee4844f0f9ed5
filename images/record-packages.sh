#!/bin/sh
# mmdebstrap's extract hook: $1 is the root. Packages that are laid out without dpkg leave no record;
# the control files go where scanners look for them (as in Google's distroless images).
set -eu
out=$1/var/lib/dpkg/status.d
mkdir -p "$out"
for file in "$1"/var/cache/apt/archives/*.deb; do
  dpkg-deb --field "$file" > "$out/$(dpkg-deb --field "$file" Package)"
done
