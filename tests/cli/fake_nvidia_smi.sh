#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nvidia-smi as gpu_campaign.sh calls it, on a machine without a device: an H200 that is busy, and under its power cap
# for half of the time.
case $* in
  *-lms*)
    clock=1980
    while true; do
      printf '%s, %d, 2619, 612.50, 61, 97, 0x000000000000000%d\n' "$(date '+%Y/%m/%d %H:%M:%S.%3N')" "$clock" \
        "$((clock == 1980 ? 0 : 4))"
      clock=$((3765 - clock)) # 1980 and 1785 in turns
      sleep 0.1
    done
    ;;
  -L) echo "GPU 0: NVIDIA H200" ;;
  *query-gpu=compute_cap*) echo 9.0 ;;
  *query-gpu=name,driver_version*) printf 'name, driver_version\nNVIDIA H200, 580.1\n' ;;
  *query-gpu=name*) echo "${FAKE_DEVICE:-NVIDIA H200}" ;;
esac
