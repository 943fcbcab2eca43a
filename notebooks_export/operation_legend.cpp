// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/operation_legend.hpp"

#include "notebooks_export/palette.hpp"
#include "notebooks_export/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace schedlab {
namespace {

constexpr std::size_t max_colors = 16;  // of operation_colors; beyond that it repeats them
constexpr std::string_view rest_color = "#DDDDDD";

/// The begin of the UTF-8 character that byte `at` is of.
std::size_t character(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return at;
}

/// Indices of `running`, the longest first.
std::vector<std::size_t> by_time(const std::vector<Duration>& running) {
  std::vector<std::size_t> order(running.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return running[a] > running[b];
  });
  return order;
}

/// Where the first of two names differ that begin alike.
std::size_t common_prefix(const std::string& a, const std::string& b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(at.first - a.begin());
}

}  // namespace

std::vector<std::string> colors_by_time(const std::vector<std::string>& operations,
                                        const std::vector<Duration>& running,
                                        const std::vector<std::string>& others) {
  std::vector<std::string> named = operations;
  named.insert(named.end(), others.begin(), others.end());
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  if (named.size() > max_colors) {
    std::vector<std::size_t> order = by_time(running);
    order.resize(std::min(order.size(), max_legend_entries));
    named.clear();
    for (const std::size_t i : order) named.push_back(operations[i]);
  }
  const auto colors = operation_colors(std::move(named));
  std::vector<std::string> result;
  for (const std::string& name : operations) {
    const auto found = colors.find(name);
    result.push_back(found == colors.end() ? std::string{rest_color} : found->second);
  }
  return result;
}

std::vector<std::string> fitted_apart(const std::vector<std::string>& names,
                                      double width,
                                      double size) {
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < names.size(); ++i) alike[fitted(names[i], width, size)].push_back(i);
  std::vector<std::string> result(names.size());
  for (const auto& [text, members] : alike) {
    for (const std::size_t i : members) {
      std::size_t differs = 0;
      for (const std::size_t other : members) {
        if (other != i) differs = std::max(differs, common_prefix(names[i], names[other]));
      }
      result[i] = text;
      if (members.size() == 1) continue;
      constexpr std::size_t head = 8;  // enough to tell a library
      const std::string& name = names[i];
      const std::string_view begin =
          std::string_view{name}.substr(0, character(name, std::min(head, name.size())));
      const std::string_view end =
          std::string_view{name}.substr(character(name, differs < 4 ? 0 : differs - 4));
      result[i] = fitted(fmt::format("{}{}{}", begin, ellipsis, end), width, size);
    }
  }
  return result;
}

OperationGroups::OperationGroups(std::span<const TraceDocument* const> runs,
                                 const std::vector<std::string>& others) {
  for (const TraceDocument* run : runs) {
    for (const TaskSpan& span : run->trace.tasks) {
      const std::string& name = run->tasks[span.task].operation;
      const auto [entry, added] =
          group_of_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
      if (added) {
        names_.push_back(name);
        running_.emplace_back(0);
      }
      running_[entry->second] += span.duration();
    }
  }
  colors_ = colors_by_time(names_, running_, others);
}

void OperationGroups::add_to(Legend& legend) const {
  std::vector<std::size_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::size_t shown = std::min(order.size(), max_legend_entries);
  if (shown < order.size()) order = by_time(running_);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i) names.push_back(names_[order[i]]);
  const std::vector<std::string> labels = fitted_apart(names, 220, 11);
  for (std::size_t i = 0; i < shown; ++i) legend.add({labels[i], colors_[order[i]]});
  if (shown == order.size()) return;
  legend.add({fmt::format("and {} more", order.size() - shown), colors_[order[shown]]});
}

}  // namespace schedlab
