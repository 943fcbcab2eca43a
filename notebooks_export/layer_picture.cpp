// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/layer_picture.hpp"

#include "notebooks_export/figure.hpp"
#include "notebooks_export/palette.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace schedlab {
namespace {

constexpr double layers_width = 1180;
constexpr double side = 30;
constexpr double box_width = 84;
constexpr double box_height = 22;
constexpr double column_step = 102;
constexpr double lane_step = 30;
constexpr double line_gap = 26;
constexpr std::size_t max_layers = 600;
constexpr std::size_t max_stages = 110;
constexpr std::size_t max_legend_stages = 24;
constexpr auto boxes_per_line =
    static_cast<std::size_t>((layers_width - 2 * side + 18) / column_step);

/// Neighbouring stages differ; after six the colours come again.
std::string_view stage_color(std::uint32_t stage) {
  constexpr std::array<std::string_view, 6> order{okabe_ito::blue,
                                                  okabe_ito::orange,
                                                  okabe_ito::green,
                                                  okabe_ito::purple,
                                                  okabe_ito::sky_blue,
                                                  okabe_ito::vermillion};
  return order[stage % order.size()];
}

/// A stage as one box.
std::vector<PicturedLayer> by_stage(const std::vector<PicturedLayer>& layers) {
  std::vector<PicturedLayer> stages;
  std::vector<std::size_t> counts;
  std::vector<std::set<std::uint32_t>> inputs;
  for (const PicturedLayer& layer : layers) {
    if (layer.stage >= stages.size()) {
      stages.resize(layer.stage + std::size_t{1});
      counts.resize(stages.size());
      inputs.resize(stages.size());
    }
    ++counts[layer.stage];
    for (const std::uint32_t input : layer.inputs) {
      if (layers[input].stage != layer.stage) inputs[layer.stage].insert(layers[input].stage);
    }
  }
  for (std::uint32_t i = 0; i < stages.size(); ++i) {
    stages[i].name = fmt::format("{}: {} layers", i, counts[i]);
    stages[i].stage = i;
    stages[i].inputs.assign(inputs[i].begin(), inputs[i].end());
  }
  return stages;
}

class LayerDrawing {
 public:
  explicit LayerDrawing(const LayerPicture& picture)
      : layers_(picture.layers),
        frame_{.title = picture.title, .subtitle = picture.subtitle, .width = layers_width} {
    for (const PicturedLayer& layer : layers_) {
      for (const std::uint32_t input : layer.inputs) {
        SCHEDLAB_EXPECTS(input < layers_.size(), layer.name);
      }
    }
    if (layers_.size() > max_layers) {
      layers_ = by_stage(layers_);
      if (layers_.size() > max_stages) {
        frame_.subtitle += fmt::format("; the first {} of {} stages", max_stages, layers_.size());
        layers_.resize(max_stages);
      }
    }
    place();
    std::uint32_t stages = 0;
    for (const PicturedLayer& layer : layers_) stages = std::max(stages, layer.stage + 1);
    for (std::uint32_t i = 0; i < std::min<std::size_t>(stages, max_legend_stages); ++i) {
      frame_.legend.add({fmt::format("stage {}", i), std::string{stage_color(i)}});
    }
    if (stages > max_legend_stages) frame_.legend.add({"...", "#ffffff"});
  }

  [[nodiscard]] std::string draw() const {
    double bottom = frame_.top();
    std::vector<double> line_top;
    for (const std::size_t lanes : lanes_of_line_) {
      line_top.push_back(bottom);
      bottom += static_cast<double>(lanes) * lane_step + line_gap;
    }
    Svg svg = frame_.begin(bottom);
    for (std::size_t i = 0; i < layers_.size(); ++i) draw_reads(svg, i, line_top);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Point at = corner(i, line_top);
      const std::string_view color = stage_color(layers_[i].stage);
      svg.rect(at.x,
               at.y,
               box_width,
               box_height,
               {.fill = color, .stroke = "#444444", .stroke_width = 0.6},
               fmt::format("{}: stage {}", layers_[i].name, layers_[i].stage));
      svg.text({at.x + box_width / 2, at.y + box_height / 2 + 3.4},
               fitted(layers_[i].name, box_width - 4, 9.5),
               {.size = 9.5, .anchor = "middle", .fill = readable_on(color)});
    }
    return std::move(svg).finish();
  }

 private:
  struct Place {
    std::size_t depth = 0;
    std::size_t lane = 0;
  };

  /// Depth: one more than the deepest input before it in the list. Lane: that of the first input if
  /// it is free.
  void place() {
    places_.resize(layers_.size());
    std::map<std::size_t, std::set<std::size_t>> taken;  // lanes by depth
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Place& own = places_[i];
      std::size_t wanted = 0;
      bool first = true;
      for (const std::uint32_t input : layers_[i].inputs) {
        if (input >= i) continue;
        own.depth = std::max(own.depth, places_[input].depth + 1);
        if (first || places_[input].lane < wanted) wanted = places_[input].lane;
        first = false;
      }
      std::set<std::size_t>& lanes = taken[own.depth];
      while (lanes.contains(wanted)) ++wanted;
      own.lane = wanted;
      lanes.insert(wanted);
      const std::size_t line = own.depth / boxes_per_line;
      if (lanes_of_line_.size() <= line) lanes_of_line_.resize(line + 1, 1);
      lanes_of_line_[line] = std::max(lanes_of_line_[line], wanted + 1);
    }
  }

  [[nodiscard]] Point corner(std::size_t layer, const std::vector<double>& line_top) const {
    const Place& place = places_[layer];
    return {side + column_step * static_cast<double>(place.depth % boxes_per_line),
            line_top[place.depth / boxes_per_line] + lane_step * static_cast<double>(place.lane)};
  }

  void draw_reads(Svg& svg, std::size_t layer, const std::vector<double>& line_top) const {
    constexpr double middle = box_height / 2;
    const LineStyle style{.stroke = "#777777", .width = 1};
    for (const std::uint32_t input : layers_[layer].inputs) {
      if (input >= layers_.size()) continue;
      const Point a = corner(input, line_top);
      const Point b = corner(layer, line_top);
      const Point from{a.x + box_width, a.y + middle};
      const Point to{b.x, b.y + middle};
      if (input >= layer) {  // back along a cycle
        curve(svg, {a.x, a.y + middle}, {b.x + box_width, b.y + middle}, 16, style);
      } else if (places_[input].depth / boxes_per_line != places_[layer].depth / boxes_per_line) {
        svg.line(from, {from.x + 14, from.y}, style);  // goes on at the left of a later line
        svg.line({to.x - 14, to.y}, to, style);
      } else if (places_[layer].depth == places_[input].depth + 1) {
        svg.line(from, to, style);
      } else {
        curve(svg, from, to, a.y == b.y ? -24 : 0, style);
      }
    }
  }

  /// Leaves and arrives level, `bow` lower between.
  static void curve(Svg& svg, Point from, Point to, double bow, const LineStyle& style) {
    SvgPath path;
    path.add('M', {from.x, from.y});
    path.add('C', {from.x + 16, from.y + bow, to.x - 16, to.y + bow, to.x, to.y});
    svg.stroked_path(path, style);
  }

  std::vector<PicturedLayer> layers_;
  FigureFrame frame_;
  std::vector<Place> places_;
  std::vector<std::size_t> lanes_of_line_;
};

}  // namespace

std::string layer_picture_svg(const LayerPicture& picture) {
  return LayerDrawing{picture}.draw();
}

}  // namespace schedlab
