// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/legend.hpp"
#include "sim/base/units.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

inline constexpr std::size_t max_legend_entries = 14;

/// A colour for each operation. Where there are more than the palette has colours, the ones that
/// run longest (`running`) have one of their own each, and the rest are light grey. `others`: named
/// elsewhere in the same figure, so that colours agree.
[[nodiscard]] std::vector<std::string> colors_by_time(const std::vector<std::string>& operations,
                                                      const std::vector<Duration>& running,
                                                      const std::vector<std::string>& others);

/// Each name as far as it fits into `width`. Of names that would be cut to the same text, the part
/// in which they differ is shown, too.
[[nodiscard]] std::vector<std::string> fitted_apart(const std::vector<std::string>& names,
                                                    double width,
                                                    double size);

/// The operations of the runs of a picture, in the order in which they first start: each has a
/// number and a colour.
class OperationGroups {
 public:
  /// `others` as of colors_by_time().
  explicit OperationGroups(std::span<const TraceDocument* const> runs,
                           const std::vector<std::string>& others = {});

  [[nodiscard]] std::uint32_t group_of(std::string_view operation) const {
    return group_of_.at(operation);
  }
  /// By group, as colors().
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<std::string>& colors() const { return colors_; }
  /// The operations, of many those that run longest and how many more there are.
  void add_to(Legend& legend) const;

 private:
  std::map<std::string_view, std::uint32_t> group_of_;
  std::vector<std::string> names_;  // by group, as the following
  std::vector<Duration> running_;
  std::vector<std::string> colors_;
};

}  // namespace schedlab
