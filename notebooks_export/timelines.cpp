// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timelines.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace schedlab {

std::string timelines_svg(std::span<const TraceDocument> documents, TimelineOptions options) {
  SCHEDLAB_EXPECTS(!documents.empty(), "timelines of no run");
  options.critical_path.clear();
  options.mean_utilization.reset();
  options.memory = nullptr;
  auto& names = options.other_operations;
  for (const TraceDocument& document : documents) {
    options.axis_end = std::max(options.axis_end, document.trace.makespan());
    for (const TaskLabel& task : document.tasks) names.push_back(task.operation);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // Drawn anew where the axis begins further to the left than that of another run.
  std::vector<TimelinePicture> drawn;
  for (const TraceDocument& document : documents) {
    drawn.push_back(timeline_picture(document, options));
    options.axis_left = std::max(options.axis_left, drawn.back().axis_left);
  }
  double height = 0;
  std::string pictures;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    TimelinePicture& picture = drawn[i];
    if (picture.axis_left < options.axis_left) picture = timeline_picture(documents[i], options);
    constexpr std::string_view opening = "<svg ";
    SCHEDLAB_EXPECTS(picture.svg.starts_with(opening), "a picture inside another");
    pictures += fmt::format("<svg y=\"{:.2f}\" ", height) + picture.svg.substr(opening.size());
    height += picture.height;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.2f}\" "
      "viewBox=\"0 0 {0} {1:.2f}\">\n{2}</svg>\n",
      options.width,
      height,
      pictures);
}

}  // namespace schedlab
