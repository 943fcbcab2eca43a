#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to pictures: installs what is missing, builds, runs a small sweep, one scenario and a
# small validation on this computer's own cores.
#   scripts/quickstart.sh [OUT]     results go to OUT/quickstart*, by default below out/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-out}

scripts/install_packages.sh build run python

echo "== building (preset release)"
cmake --preset release
cmake --build --preset release

echo "== comparing policies"
build/release/schedlab sweep experiments/quickstart.json --out "$out/quickstart" --overwrite
echo "== one scenario, step by step"
build/release/schedlab simulate experiments/quickstart_timeline.json --out "$out/quickstart_timeline" --overwrite

echo "== predicted and measured on this computer's cores: half a minute, let nothing else run"
build/release/schedlab calibrate --quick --out "$out/this_computer.json"
build/release/schedlab validate experiments/validate_quick.json --device cpu --host preloaded \
  --machine "$out/this_computer.json" --out "$out/validation" --overwrite

# The Python package is built where its packages are installed.
python="For the Python package install its packages and run this again: scripts/install_packages.sh python"
for module in build/release/python/schedlab/_core*.so; do
  if [ -f "$module" ]; then
    python="From Python (docs/python.md):  PYTHONPATH=$PWD/build/release/python /usr/bin/python3 -c 'import schedlab'"
  fi
done

cat <<END

Done. Open
  $out/quickstart/report.html               the sweep: table, plots, best schedule of each case
  $out/quickstart_timeline/timeline.html    one schedule to explore: what ran on which stream and why then
  $out/quickstart_timeline/trace.json       the same in https://ui.perfetto.dev or chrome://tracing
  $out/validation/report.html               how far predictions are from what was measured here
$python
Then change experiments/quickstart.json (a list anywhere is an axis) and run the sweep again, or take docs/tutorial.md.
END
