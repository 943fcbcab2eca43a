#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of docs/gallery.md, and the sweep of README.md: runs the specs and converts one picture of each. Seconds.
#   scripts/gallery.sh [FOLDER]     results go to FOLDER (out/gallery if left out), pictures to docs/images/gallery
# SCHEDLAB names the program (build/release/schedlab if unset). Needs rsvg-convert.
set -euo pipefail
cd "$(dirname "$0")/.."
program="${SCHEDLAB:-build/release/schedlab}"
out="${1:-out/gallery}"
images=docs/images/gallery
mkdir -p "$out" "$images"

# picture VERB NAME SVG [FLAG...]: runs experiments/NAME.json and keeps the SVG of its folder
picture() {
  local verb="$1" name="$2" svg="$3"
  shift 3
  "$program" "$verb" "experiments/$name.json" --out "$out/$name" --overwrite "$@" >/dev/null
  rsvg-convert --width 720 --background-color white --output "$images/$name.png" "$out/$name/$svg"
}
picture simulate quickstart_timeline timeline.svg
picture sweep quickstart plots/speed_up.svg
rsvg-convert --width 1600 --background-color white --output docs/images/speedup.png "$out/quickstart/plots/speed_up.svg" # of README.md
picture sweep grid_theory plots/makespan_over_layers.svg --timelines none
picture sweep priorities plots/speed_up_over_query_us.svg --timelines none
picture sweep stream_cap plots/makespan_over_max_streams.svg --timelines none
picture sweep default_stream plots/speed_up_over_layers.svg --timelines none
picture simulate published_priority_blocking timeline.svg
picture simulate published_head_of_line timeline.svg
picture sweep launch plots/speed_up_over_hidden.svg --timelines none
picture sweep host_jitter plots/collective_wait_over_ranks.svg --timelines none
picture sweep core_groups plots/speed_up_over_split.svg --timelines none
picture simulate core_groups_timeline timeline.svg
picture sweep npu plots/speed_up_over_batch.svg --timelines none
picture buckets buckets epoch_time.svg
# The same step without a split above it, on the same time axis.
"$program" simulate experiments/core_groups_timeline_whole.json --out "$out/core_groups_timeline_whole" --overwrite >/dev/null
"$program" plot "$out/core_groups_timeline_whole" "$out/core_groups_timeline" --out "$out/core_groups_timeline/both.svg" >/dev/null
rsvg-convert --width 720 --background-color white --output "$images/core_groups_timeline.png" "$out/core_groups_timeline/both.svg"
ls "$images"
