#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy with the house rules on some files, using the compile commands of the dev preset.
#   scripts/tidy.sh [FILE]...     default: the .cpp files changed since HEAD~1, committed or not
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "$#" -eq 0 ]; then
  mapfile -t changed < <(git diff --name-only --diff-filter=d HEAD~1 -- '*.cpp')
  set -- "${changed[@]}"
fi
if [ "$#" -eq 0 ]; then
  echo "no .cpp file has changed"
  exit 0
fi

# A folder of its own: clang-tidy cannot read the precompiled header of another compiler.
cmake --preset dev -B build/tidy-commands -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 clang-tidy-14 --quiet -p build/tidy-commands \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
