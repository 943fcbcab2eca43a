#!/usr/bin/env bash
# Fits the matrix libraries of M40, P100 and V100 to the open rows of baidu-research/DeepBench and prints them as they
# stand in hw_models/specs/*.json (matrix_libraries). Needs the data of docs/external_comparisons.md.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset dev >/dev/null
cmake --build --preset dev --target fit_libraries
build/dev/tests/comparisons/fit_libraries
