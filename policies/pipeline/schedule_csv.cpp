// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/schedule_csv.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

using Kind = ScheduleActionKind;

/// In the order of ScheduleActionKind.
constexpr std::array<std::string_view, 8> action_words{
    "F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B"};
constexpr std::array<std::string_view, 3> sharding_words{"UNSHARD", "RESHARD", "REDUCE_GRAD"};
constexpr std::string_view overlap_word = "OVERLAP_F_B";

std::string_view trimmed(std::string_view text) {
  constexpr const char* blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string entry_text(const ScheduleAction& action) {
  return fmt::format("{}{}{}",
                     action.stage,
                     action_words[static_cast<std::size_t>(action.kind)],
                     action.microbatch);
}

[[noreturn]] void refuse_schedule(const std::string& file,
                                  std::string where,
                                  std::string found,
                                  std::string expected,
                                  std::string hint = {}) {
  throw InputError({.file = file,
                    .pointer = std::move(where),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

std::string row_and_entry(std::size_t rank, std::size_t entry) {
  return fmt::format("row {} (rank {}), entry {}", rank + 1, rank, entry);
}

/// The number that the text begins with, which is taken off it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Adds the actions of an entry to a row. False: it is none.
bool add_entry(std::string_view text, std::size_t entry, std::vector<ScheduleAction>& row) {
  if (text.empty()) return true;
  if (text.front() == '(') {
    const std::size_t end = text.find(')');
    if (end == std::string_view::npos || text.substr(end + 1) != overlap_word) return false;
    const std::size_t first = row.size();
    for (const std::string_view part : parts_of(text.substr(1, end - 1), ';')) {
      if (!part.empty() && part.front() == '(') return false;
      if (!add_entry(part, entry, row)) return false;
    }
    for (std::size_t i = first; i + 1 < row.size(); ++i) row[i].with_next = true;
    return true;
  }
  const auto stage = take_number(text);
  if (!stage) return false;
  if (std::find(sharding_words.begin(), sharding_words.end(), text) != sharding_words.end()) {
    return true;
  }
  const std::size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) return false;
  const auto word = std::find(action_words.begin(), action_words.end(), text.substr(0, digits));
  text.remove_prefix(digits);
  const auto microbatch = take_number(text);
  if (word == action_words.end() || !microbatch || !text.empty()) return false;
  row.push_back({.kind = static_cast<Kind>(word - action_words.begin()),
                 .stage = *stage,
                 .microbatch = *microbatch,
                 .entry = entry});
  return true;
}

/// Runs the actions of all ranks as far as they come.
class ScheduleCheck {
 public:
  ScheduleCheck(const ScheduleTable& table, const PipelineShape& shape, const std::string& file)
      : table_(table), shape_(shape), file_(file), next_(table.size(), 0) {
    for (const auto& row : table) {
      messages_ = messages_ || std::any_of(row.begin(), row.end(), [](const ScheduleAction& a) {
                    return a.kind >= Kind::send_forward;
                  });
    }
  }

  void run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t rank = 0; rank < table_.size(); ++rank) {
        while (next_[rank] < table_[rank].size() && advance(rank)) moved = true;
      }
    }
    std::vector<std::string> stuck;
    for (std::size_t rank = 0; rank < table_.size(); ++rank) {
      if (next_[rank] == table_[rank].size()) continue;
      const ScheduleAction& action = table_[rank][next_[rank]];
      stuck.push_back(fmt::format("rank {} at {} (entry {}) waits for {}",
                                  rank,
                                  entry_text(action),
                                  action.entry,
                                  fmt::join(missing(rank, action), " and ")));
    }
    if (stuck.empty()) return;
    refuse_schedule(file_,
                    {},
                    fmt::format("a schedule that hangs: {}", fmt::join(stuck, "; ")),
                    "an order that every rank can finish",
                    "an action can only wait for actions of earlier entries, on any rank");
  }

 private:
  /// Does the next action, with all that overlap with it.
  bool advance(std::size_t rank) {
    const auto& row = table_[rank];
    std::size_t end = next_[rank];
    while (row[end].with_next) ++end;
    ++end;
    for (std::size_t i = next_[rank]; i < end; ++i) {
      if (!missing(rank, row[i]).empty()) return false;
    }
    for (; next_[rank] < end; ++next_[rank]) {
      const ScheduleAction& action = row[next_[rank]];
      done_.emplace(action.kind, action.stage, action.microbatch);
      // Both gradients count as each.
      if (action.kind == Kind::backward) {
        done_.emplace(Kind::backward_data, action.stage, action.microbatch);
      }
    }
    return true;
  }

  /// What the action waits for.
  [[nodiscard]] std::vector<std::string> missing(std::size_t rank,
                                                 const ScheduleAction& action) const {
    std::vector<std::string> result;
    const auto need = [&](Kind kind, std::uint32_t stage) {
      const ScheduleAction wanted{.kind = kind, .stage = stage, .microbatch = action.microbatch};
      if (!done_.contains({kind, stage, action.microbatch})) result.push_back(entry_text(wanted));
    };
    /// Of another stage: from its rank by a message, where the file has messages.
    const auto need_of = [&](std::uint32_t stage, Kind made, Kind received) {
      const bool here = shape_.place(stage, action.microbatch) == rank;
      if (messages_ && !here) return need(received, action.stage);
      need(made, stage);
    };
    const std::uint32_t s = action.stage;
    const bool first = s == 0;
    const bool last = s + 1 == shape_.stages();
    switch (action.kind) {
      case Kind::forward:
        if (!first) need_of(s - 1, Kind::forward, Kind::receive_forward);
        break;
      case Kind::backward:
      case Kind::backward_data:
        need(Kind::forward, s);
        if (!last) need_of(s + 1, Kind::backward_data, Kind::receive_backward);
        break;
      case Kind::backward_weight:
        need(Kind::backward_data, s);
        break;
      case Kind::send_forward:
        need(Kind::forward, s);
        break;
      case Kind::send_backward:
        need(Kind::backward_data, s);
        break;
      case Kind::receive_forward:
        if (!first) need(Kind::send_forward, s - 1);
        break;
      case Kind::receive_backward:
        if (!last) need(Kind::send_backward, s + 1);
        break;
    }
    return result;
  }

  const ScheduleTable& table_;
  const PipelineShape& shape_;
  const std::string& file_;
  std::vector<std::size_t> next_;
  std::set<std::tuple<Kind, std::uint32_t, std::uint32_t>> done_;
  bool messages_ = false;
};

/// Every pass is there once, on the rank that the workload has it on.
void expect_passes(const ScheduleTable& table,
                   const PipelineShape& shape,
                   const std::string& file) {
  if (table.size() != shape.ranks) {
    refuse_schedule(file,
                    {},
                    fmt::format("{} rows", table.size()),
                    fmt::format("{}, one for each rank of a replica of the workload", shape.ranks));
  }
  std::set<std::tuple<Kind, std::uint32_t, std::uint32_t>> passes;
  for (std::size_t rank = 0; rank < table.size(); ++rank) {
    for (const ScheduleAction& action : table[rank]) {
      const auto refuse = [&](std::string expected, std::string hint = {}) {
        refuse_schedule(file,
                        row_and_entry(rank, action.entry),
                        entry_text(action),
                        std::move(expected),
                        std::move(hint));
      };
      if (action.stage >= shape.stages()) {
        refuse(fmt::format("one of the workload's stages 0 to {}", shape.stages() - 1));
      }
      if (action.microbatch >= shape.microbatches) {
        refuse(fmt::format("one of the micro-batches 0 to {}", shape.microbatches - 1));
      }
      if (shape.place(action.stage, action.microbatch) != rank) {
        refuse(fmt::format("a stage of this rank: {}",
                           fmt::join(shape.stages_of(static_cast<std::uint32_t>(rank)), ", ")),
               "the workload's placement and virtual_stages say which rank has which stage");
      }
      if (action.kind == Kind::send_forward || action.kind == Kind::receive_backward) {
        if (action.stage + 1 == shape.stages()) refuse("no message beyond the last stage");
      }
      if (action.kind == Kind::send_backward || action.kind == Kind::receive_forward) {
        if (action.stage == 0) refuse("no message before the first stage");
      }
      const auto once = [&](Kind kind) {
        if (!passes.emplace(kind, action.stage, action.microbatch).second) {
          refuse("each pass and message once");
        }
      };
      if (action.kind == Kind::backward) {
        once(Kind::backward_data);
        once(Kind::backward_weight);
      } else {
        once(action.kind);
      }
    }
  }
  for (std::uint32_t stage = 0; stage < shape.stages(); ++stage) {
    for (std::uint32_t m = 0; m < shape.microbatches; ++m) {
      for (const Kind kind : {Kind::forward, Kind::backward_data, Kind::backward_weight}) {
        if (passes.contains({kind, stage, m})) continue;
        refuse_schedule(
            file,
            fmt::format("row {}", shape.place(stage, m) + 1),
            "no " + entry_text({.kind = kind, .stage = stage, .microbatch = m}),
            fmt::format("the passes of all {} micro-batches of the workload", shape.microbatches));
      }
    }
  }
}

}  // namespace

ScheduleTable parse_schedule_csv(std::string_view text, const std::string& file) {
  ScheduleTable table;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(line).empty()) continue;
    std::size_t entry = 0;
    table.emplace_back();
    for (const std::string_view part : parts_of(line, ',')) {
      ++entry;
      if (add_entry(part, entry, table.back())) continue;
      refuse_schedule(file,
                      row_and_entry(table.size() - 1, entry),
                      fmt::format("\"{}\"", part.substr(0, 40)),
                      "stage, action and micro-batch, as 2F0, 1I3, 1W3, 0B1 or 1SEND_F0",
                      "a row for each rank, as torch.distributed.pipelining writes it");
    }
  }
  return table;
}

std::string schedule_csv(const std::vector<StepOrder>& orders) {
  std::string text;
  for (const StepOrder& order : orders) {
    std::vector<std::string> entries;
    for (std::size_t i = 0; i < order.size();) {
      std::vector<std::string> together;
      for (const std::size_t end = end_of_overlap(order, i); i < end; ++i) {
        together.push_back(entry_text({.kind = static_cast<Kind>(order[i].kind),
                                       .stage = order[i].stage,
                                       .microbatch = order[i].microbatch}));
      }
      entries.push_back(together.size() == 1
                            ? together.front()
                            : fmt::format("({}){}", fmt::join(together, ";"), overlap_word));
    }
    text += fmt::format("{}\n", fmt::join(entries, ","));
  }
  return text;
}

std::vector<StepOrder> schedule_orders(const ScheduleTable& table,
                                       const PipelineShape& shape,
                                       const std::string& file) {
  expect_passes(table, shape, file);
  ScheduleCheck{table, shape, file}.run();
  std::vector<StepOrder> orders(table.size());
  for (std::size_t rank = 0; rank < table.size(); ++rank) {
    for (const ScheduleAction& action : table[rank]) {
      if (action.kind >= Kind::send_forward) continue;
      orders[rank].push_back({.kind = static_cast<StepKind>(action.kind),
                              .stage = action.stage,
                              .microbatch = action.microbatch,
                              .with_next = action.with_next});
    }
  }
  return orders;
}

}  // namespace schedlab
