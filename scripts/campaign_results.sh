# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Part of gpu_campaign.sh, which has the variables: clocks, summary, archives. What comes home from a machine that may
# end at any time.

# Clocks, power, temperature and what holds the clocks down, twice a second for as long as the campaign runs.
log_clocks() {
  local fields=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu reasons=clocks_event_reasons.active
  nvidia-smi -i 0 "--query-gpu=$reasons" --format=csv,noheader >/dev/null 2>&1 || reasons=clocks_throttle_reasons.active
  exec timeout --foreground "$((limit + 3600))" \
    nvidia-smi -i 0 "--query-gpu=$fields,$reasons" --format=csv,noheader,nounits -lms 500 >>"$out/clocks.csv" 2>/dev/null
}

# The samples of clocks.csv that lie within each section of sections.csv, but for those of an idle device.
clocks_table() {
  if [ ! -s "$out/clocks.csv" ] || [ ! -s "$out/sections.csv" ]; then return; fi
  echo
  echo "| section | samples, busy | SM clock MHz, least | median | most | power W, most | temperature C, most | clocks held down by |"
  echo "|---|---|---|---|---|---|---|---|"
  sort -t, -k2,2n "$out/clocks.csv" | awk -F', *' '
    function bits(hex,    i, value) {
      value = 0
      hex = tolower(substr(hex, length(hex) - 3))
      for (i = 1; i <= length(hex); ++i) value = value * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
      return value
    }
    BEGIN {
      split("1 2 4 8 16 32 64 128", bit, " ")
      split("idle,application clocks,power cap,hardware slowdown,sync boost,temperature (software),temperature (hardware),power brake", word, ",")
    }
    FILENAME != "-" { section[++count] = $1; begin[count] = $2; end[count] = $3; next }
    NF == 7 && $2 + 0 > 0 {
      reasons = bits($7)
      if (reasons % 2 == 1) next
      for (s = 1; s <= count; ++s) {
        if ($1 < begin[s] || $1 > end[s]) continue
        clock[s, ++samples[s]] = $2 + 0
        if ($4 + 0 > power[s]) power[s] = $4 + 0
        if ($5 + 0 > heat[s]) heat[s] = $5 + 0
        for (i = 2; i <= 8; ++i) if (int(reasons / bit[i]) % 2 == 1) ++held[s, i]
      }
    }
    END {
      for (s = 1; s <= count; ++s) {
        n = samples[s]
        if (n == 0) continue
        why = ""
        for (i = 2; i <= 8; ++i) if (held[s, i] > 0) why = why (why == "" ? "" : ", ") word[i] " (" int(100 * held[s, i] / n + 0.5) " %)"
        printf "| %s | %d | %d | %d | %d | %.0f | %d | %s |\n", section[s], n, clock[s, 1], clock[s, int((n + 1) / 2)], clock[s, n], power[s], heat[s], why == "" ? "nothing" : why
      }
    }' "$out/sections.csv" -
}

write_summary() {
  {
    echo "# Campaign on $name"
    echo
    awk '/^date: / { text = "" } { text = text "    " $0 "\n" } END { printf "%s", text }' "$out/environment.txt" 2>/dev/null || true
    echo
    echo "| section | outcome | seconds |"
    echo "|---|---|---|"
    local mark text
    for mark in "${all_sections[@]}"; do
      if [ -s "$out/.done/$mark" ]; then
        echo "| $mark | done | $(cat "$out/.done/$mark") |"
      elif [ -s "$out/log/$mark.failed" ]; then
        echo "| $mark | failed: $(tail -n 1 "$out/log/$mark.failed" | tr '|' ' ' | cut -c1-200) | |"
      elif [[ " ${skipped[*]} " == *" $mark "* ]]; then
        echo "| $mark | not run: no time left | |"
      elif [ "$mark" = "$section" ]; then
        echo "| $mark | began | |"
      else
        echo "| $mark | not run | |"
      fi
    done
    clocks_table
    if [ -s "$out/archives.txt" ]; then
      echo
      echo "What is large:"
      echo
      sed 's/^/* /' "$out/archives.txt"
    fi
    for text in quoted validation backward crossover recompute buckets; do
      if [ -s "$out/$text.txt" ]; then
        echo
        echo "## $text"
        echo
        sed 's/^/    /' "$out/$text.txt"
      fi
    done
  } >"$out/.summary.part"
  mv "$out/.summary.part" "$out/summary.md"
  if [ "$archive_to" != "$out" ]; then place "$out/summary.md" summary.md; fi
}

# Files of the results, but for what is packed and for what a run that was killed has left beside them.
result_files() {
  (cd "$out" && find . \( -name '.*.partial' -o -name '.*.old' -o -name .partial -o -path ./.pack \) -prune -o -type f \
    ! -name '.*.lock' ! -name '*.part' ! -name 'small.tar.gz*' ! -name 'large_*.tar.gz.*' ! -path ./.running ! -path ./.stopped \
    ! -path ./.begun "$@" -print)
}

# Everything by which a campaign is judged, or goes on elsewhere: whatever its size what every section needs, and of the
# rest but recordings what is small. Pictures are also in the reports.
small_files() {
  result_files \( -path './.done/*' -o -path './*.*' ! -path './*/*' ! -path './*.tar.gz' \
    -o -name .schedlab.json -o -name 'baseline.*' -o -name predictions.csv -o -name buckets.csv -o -name scenarios.csv \
    -o ! -path './*_recording/*' ! -name '*.png' ! -name '*.pdf' ! -name '*.svg' -size "-${1}k" \)
}

# A file gets its name when it is whole: killed at any time, what is there can be read.
place() {
  cp "$1" "$archive_to/$2.part"
  mv "$archive_to/$2.part" "$archive_to/$2"
}

# LIST: as a compressed archive. That a log has grown meanwhile (1) does no harm.
pack() { tar -C "$out" -czf - -T "$1" || [ "$?" -eq 1 ]; }

pack_small() {
  local kilobytes
  for kilobytes in 1000 200 40 1; do
    small_files "$kilobytes" >"$out/.pack/small"
    pack "$out/.pack/small" >"$out/.pack/small.tar.gz" || return 1
    if [ "$(wc -c <"$out/.pack/small.tar.gz")" -lt 5000000 ]; then break; fi
  done
  place "$out/.pack/small.tar.gz" small.tar.gz
}

# What the section that has just ended has left besides, in pieces that a machine which keeps few files lets go. With
# summary.md, small.tar.gz and one that is being written they are at most eight.
pack_large() {
  local pieces old piece
  result_files -newer "$out/.begun" | sort >"$out/.pack/new"
  sort "$out/.pack/small" | comm -13 - "$out/.pack/new" | grep -vE '\.(png|pdf|svg)$' >"$out/.pack/large" || return 0
  pack "$out/.pack/large" | split -b 15m -d - "$out/.pack/large_$section.tar.gz." || return 1
  pieces=("$out/.pack/large_$section.tar.gz."*)
  rm -f "$archive_to/large_$section.tar.gz."*
  old=("$archive_to"/large_*.tar.gz.*)
  if [ ! -e "${old[0]}" ]; then old=(); fi
  touch "$out/archives.txt"
  sed -i "/^of $section:/d" "$out/archives.txt"
  if [ "$((${#old[@]} + ${#pieces[@]}))" -gt 5 ]; then
    echo "of $section: not packed, ${#pieces[@]} pieces would be too many; in $out" >>"$out/archives.txt"
  else
    for piece in "${pieces[@]}"; do place "$piece" "$(basename "$piece")"; done
    echo "of $section: cat large_$section.tar.gz.* | tar -xz (${#pieces[@]} of at most 15 MB)" >>"$out/archives.txt"
  fi
}

bring_home() {
  rm -rf "$out/.pack" "$archive_to"/*.part
  mkdir "$out/.pack"
  write_summary
  { pack_small && pack_large; } || echo "note: not packed after $section"
  write_summary # which names what is large
  rm -rf "$out/.pack"
}
