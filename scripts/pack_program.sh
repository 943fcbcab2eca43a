#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs a program that was built here for a machine where nothing can be built or installed: the programs, and the
# libraries that they need and that such a machine may not have. The CUDA libraries are not among them; they are found
# there by name, or in LD_LIBRARY_PATH. Leaves the folder and, beside it, the same as FOLDER.tar.gz.
#   scripts/pack_program.sh BUILD_FOLDER TARGET_FOLDER
# Afterwards, there: scripts/gpu_campaign.sh --program TARGET_FOLDER/schedlab --tests TARGET_FOLDER
set -euo pipefail

if [ "$#" -ne 2 ] || [ ! -x "$1/schedlab" ]; then
  echo "usage: scripts/pack_program.sh BUILD_FOLDER TARGET_FOLDER   (BUILD_FOLDER holds schedlab)" >&2
  exit 2
fi
build=$1
target=$2
mkdir -p "$target/lib" "$target/bin"

programs=("$build/schedlab")
while read -r test; do
  programs+=("$test")
done < <(find "$build/tests" -type f -name 'cuda_device_test' -perm -u+x 2>/dev/null || true)

for program in "${programs[@]}"; do
  name=$(basename "$program")
  strip -o "$target/bin/$name" "$program"
  # All but what belongs to the C library, which must be the machine's own.
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so' | while read -r library; do
    cp -Lu "$library" "$target/lib/"
  done
  cat >"$target/$name" <<'END'
#!/usr/bin/env bash
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/bin/$(basename "${BASH_SOURCE[0]}")" "$@"
END
  chmod +x "$target/$name"
done
# For a campaign's environment.txt: where it runs there may be no repository.
{ git rev-parse HEAD && { git diff --quiet || echo "with changes"; }; } 2>/dev/null | paste -sd' ' >"$target/commit.txt" || true
tar -C "$(dirname "$target")" -czf "${target%/}.tar.gz" "$(basename "$target")"
du -sh "$target" "${target%/}.tar.gz"
