#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything docs/s1_map.md speaks of, from one command: the reproduction of TurboLSTM's numbers, the sweeps of
# experiments/s1_map_*.json and the pictures. About a minute on two cores.
#   scripts/s1_map.sh [FOLDER]     results go to FOLDER (out/s1 if left out), pictures to FOLDER/images
# SCHEDLAB names the program (build/release/schedlab if unset).
set -euo pipefail
cd "$(dirname "$0")/.."
program="${SCHEDLAB:-build/release/schedlab}"
out="${1:-out/s1}"
images="$out/images"
mkdir -p "$images"

"$program" reproduce --system s1 --out "$out/reproduction" --overwrite || true
for spec in experiments/s1_map_*.json; do
  name="$(basename "$spec" .json)"
  "$program" sweep "$spec" --out "$out/$name" --timelines none --overwrite || true # plans too large for a device are findings
done

# map NAME SWEEP FLAG...
map() {
  local name="$1" sweep="$2"
  shift 2
  "$program" plot "$out/$sweep" --out "$images/$name.png" "$@"
}
for baseline in cudnn_like_1 cudnn_like_2 cudnn_like_all; do
  for split in 16 1; do
    map "s1_p100_split_${split}_over_${baseline}" s1_map_p100 --policy critical_first --over "$baseline" \
      --x batch --y hidden --panels layers --at "split_k=$split,input_steps=2"
  done
  for machine in v100 h200; do
    map "s1_${machine}_over_${baseline}" "s1_map_$machine" --policy critical_first --over "$baseline" \
      --x batch --y hidden --panels layers --at data_type=fp32,input_steps=2
  done
done
map s1_modes s1_map_modes --policy critical_first --over cudnn_like_2 --x batch --y hidden --panels machine,split_k --at launch=eager,input_steps=2
map s1_modes_graph s1_map_modes --policy critical_first --over cudnn_like_2 --x batch --y hidden --panels machine,split_k \
  --at launch=graph_launch,input_steps=2
map s1_blocks s1_map_blocks --policy critical_first --over cudnn_like_2 --x batch --y hidden --panels machine,sharing --at split_k=1
map s1_p100_steps s1_map_p100 --policy critical_first --over cudnn_like_2 --x steps --y layers --panels hidden,split_k --at input_steps=2
map s1_h200_fp16 s1_map_h200 --policy critical_first --over cudnn_like_2 --x batch --y hidden --panels layers --at data_type=fp16,input_steps=2
map s1_ascend s1_map_ascend --policy critical_first --over cann_like --x batch --y hidden --panels data_type,layers
map s1_accumulation s1_map_accumulation --policy critical_first --over cudnn_like_2 --x accumulation_steps --y hidden \
  --panels split_k,batch
map s1_connections s1_map_connections --policy critical_first --over cudnn_like_2 --x connections --y layers \
  --panels hidden,batch --at split_k=1
for policy in critical_first no_priorities five_streams no_filling critical_first_listing; do
  map "s1_synchronisation_$policy" s1_map_synchronisation --policy "$policy" --over cudnn_like_2 --x layers --y hidden \
    --panels batch,machine --at split_k=1
done
echo "$out"
