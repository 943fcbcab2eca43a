#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that are processes train the same parameters as ranks that are threads, bit by bit: sums of
# two ranks have one order.
#
#   ranks_alike.sh PROGRAM SPEC FOLDER
set -euo pipefail
for device in mpi threads; do
  "$1" execute "$2" --device "$device" --out "$3/$device" --overwrite
done
cmp "$3/mpi/parameters.npz" "$3/threads/parameters.npz"
