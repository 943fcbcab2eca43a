#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes docs/reproduction.md (whole grids, minutes) and tests/golden/reproduction_quick.md (small ones, what a test compares).
#   scripts/reproduction.sh [FOLDER]     results go to FOLDER (out/reproduction if left out)
# SCHEDLAB names the program (build/release/schedlab if unset).
set -euo pipefail
cd "$(dirname "$0")/.."
program="${SCHEDLAB:-build/release/schedlab}"
out="${1:-out/reproduction}"

"$program" reproduce --quick --out "$out/quick" --overwrite
"$program" reproduce --out "$out/whole" --overwrite
cp "$out/quick/reproduction.md" tests/golden/reproduction_quick.md
cp "$out/whole/reproduction.md" docs/reproduction.md
echo "docs/reproduction.md tests/golden/reproduction_quick.md"
