#!/usr/bin/env bash
# Packs what tests/gpu/run.sh needs on a machine with a GPU: stripped binaries, the shared libraries
# that such a machine lacks, share files, tasks and these scripts. Plain tar; nothing is built.
# usage: tests/gpu/pack.sh BUILD_DIRECTORY ARCHIVE.tar.xz
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
archive=$2
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/bin" "$stage/lib" "$stage/tools" "$stage/share"
chmod 755 "$stage"  # hosts run as users of their own and read what is unpacked
for folder in model_host sandbox/template tasks; do
  [ -d "$build/share/swage/$folder" ] || { echo "$build/share/swage/$folder is not built" >&2; exit 1; }
done

for program in swage swage-judge; do
  strip -o "$stage/bin/$program" "$build/bin/$program"
done
cp -r "$build/share/swage" "$stage/share/"
strip "$stage"/share/swage/model_host/*.so
find "$stage" -name __pycache__ -prune -exec rm -rf {} +
cp -r "$root/tasks/builtin-cuda" "$stage/tasks-cuda"
cp "$root"/tests/gpu/*.sh "$root"/tests/gpu/*.py "$stage/"
cp "$(command -v bwrap)" "$stage/tools/"

# glibc and the compiler's runtime are the other machine's own.
for file in "$stage"/bin/* "$stage"/tools/*; do ldd "$file"; done |
  awk '$3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux[^/]*)\.so' |
  grep -vE '/(torch|nvidia)/' |
  while read -r library; do cp -L "$library" "$stage/lib/"; done
strip "$stage"/lib/* 2>/dev/null || true

mkdir -p "$(dirname "$archive")"
tar -C "$stage" -cf - . | xz -T0 -1 > "$archive"
echo "packed $(ls "$stage/lib" | wc -l) libraries, $(du -h "$archive" | cut -f1) in $archive"
