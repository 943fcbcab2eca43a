#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes docs/reference/ of what the program declares. A test compares.
# SCHEDLAB names the program (build/release/schedlab if unset).
set -euo pipefail
cd "$(dirname "$0")/.."
"${SCHEDLAB:-build/release/schedlab}" reference markdown --out docs/reference
