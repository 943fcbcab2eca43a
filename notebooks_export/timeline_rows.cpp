// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline_rows.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace schedlab {

namespace {

constexpr double min_height = 0.3;  // of the row, for a slice in which hardly anything ran
constexpr std::string_view outline_color = "#000000";

/// Busy share per slice of one row, for one group of bars.
using Shares = std::vector<double>;

class Row {
 public:
  Row(Svg& svg, const TimeScale& scale, double top, double height, const RowStyle& style)
      : svg_(svg), scale_(scale), top_(top), height_(height), style_(style) {}

  void draw(const std::vector<Bar>& bars) {
    merge_narrow(bars);
    draw_merged();
    draw_wide(bars);
    draw_outlines(bars);
  }

 private:
  [[nodiscard]] double width_of(const Bar& bar) const {
    return scale_.x(bar.ended) - scale_.x(bar.started);
  }
  [[nodiscard]] std::size_t slices() const {
    return static_cast<std::size_t>(std::max(1.0, std::round(scale_.width)));
  }

  void merge_narrow(const std::vector<Bar>& bars) {
    shares_.assign(style_.colors.size(), {});
    for (const Bar& bar : bars) {
      if (width_of(bar) >= narrow_bar) continue;
      Shares& shares = shares_[bar.group];
      if (shares.empty()) shares.assign(slices(), 0.0);
      double from = scale_.x(bar.started) - scale_.left;
      const double to = scale_.x(bar.ended) - scale_.left;
      const auto last = static_cast<double>(shares.size() - 1);
      while (from < to) {  // at most two rounds: the bar is narrower than a slice
        const double slice = std::min(std::floor(from), last);
        const double until = slice == last ? to : std::min(to, slice + 1);
        shares[static_cast<std::size_t>(slice)] += until - from;
        from = until;
      }
    }
  }

  /// Stacked areas, the topmost first: each is painted from the bottom of the row up to the sum of
  /// its own and all lower shares, and the lower ones paint over it.
  void draw_merged() {
    Shares total(slices(), 0.0);
    for (const Shares& shares : shares_) {
      for (std::size_t i = 0; i < shares.size(); ++i) total[i] += shares[i];
    }
    Shares sum(slices(), 0.0);
    std::vector<std::pair<std::uint32_t, Shares>> stack;
    for (std::uint32_t group = 0; group < shares_.size(); ++group) {
      if (shares_[group].empty()) continue;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        if (total[i] > 0) sum[i] += shares_[group][i] / total[i] * visible(total[i]);
      }
      stack.emplace_back(group, sum);
    }
    for (auto layer = stack.rbegin(); layer != stack.rend(); ++layer) {
      svg_.filled_path(area(layer->second), style_.colors[layer->first]);
    }
  }

  [[nodiscard]] static double visible(double share) {
    return min_height + (1 - min_height) * std::min(share, 1.0);
  }

  /// A step curve; empty slices interrupt it.
  [[nodiscard]] SvgPath area(const Shares& shares) const {
    SvgPath path;
    const double bottom = top_ + height_;
    for (std::size_t i = 0; i < shares.size();) {
      if (level(shares[i]) == 0) {
        ++i;
        continue;
      }
      path.add('M', {scale_.left + static_cast<double>(i), bottom});
      double at = 0;
      while (i < shares.size() && level(shares[i]) > 0) {
        const double here = level(shares[i]);
        std::size_t run = 1;
        while (i + run < shares.size() && level(shares[i + run]) == here) ++run;
        path.add('v', {at - here}).add('h', {static_cast<double>(run)});
        at = here;
        i += run;
      }
      path.add('V', {bottom}).add('z', {});
    }
    return path;
  }

  /// Height of a share in half pixels: finer steps cannot be seen.
  [[nodiscard]] double level(double share) const {
    const double height = std::min(share, 1.0) * height_;
    return share > 0 ? std::max(0.5, std::round(2 * height) / 2) : 0.0;
  }

  void draw_wide(const std::vector<Bar>& bars) {
    std::vector<SvgPath> paths(style_.colors.size());
    for (const Bar& bar : bars) {
      const double width = width_of(bar);
      if (width < narrow_bar) continue;
      // A hair of background between neighbours, where it fits.
      const double gap = width > 3 ? 0.6 : width > 1.6 ? 0.3 : 0.0;
      const double x = scale_.x(bar.started);
      if (style_.tooltips) {
        svg_.rect(x, top_, width - gap, height_, {.fill = style_.colors[bar.group]}, tooltip(bar));
      } else {
        paths[bar.group].add('M', {x, top_}).add('h', {width - gap});
        paths[bar.group].add('v', {height_}).add('h', {gap - width}).add('z', {});
      }
    }
    for (std::size_t group = 0; group < paths.size(); ++group) {
      if (!paths[group].empty()) svg_.filled_path(paths[group], style_.colors[group]);
    }
    if (height_ < style_.label_size + 1) return;
    for (const Bar& bar : bars) draw_label(bar);
  }

  [[nodiscard]] static std::string tooltip(const Bar& bar) {
    return fmt::format("{}: {} from {}",
                       bar.label,
                       readable(bar.ended - bar.started),
                       readable(bar.started.time_since_epoch()));
  }

  /// The whole name, the same a little smaller, or what distinguishes it within its family.
  void draw_label(const Bar& bar) {
    const double space = width_of(bar) - 5;
    if (bar.label.empty() || space < 8) return;
    const bool has_family = !bar.family.empty() && bar.label.size() > bar.family.size() &&
                            bar.label.starts_with(bar.family);
    const std::string_view rest =
        has_family ? bar.label.substr(bar.family.size()) : std::string_view{};
    const double small = 0.85 * style_.label_size;
    for (const auto& [text, size] : {std::pair{bar.label, style_.label_size},
                                     std::pair{bar.label, small},
                                     std::pair{rest, small},
                                     std::pair{bar.shortest, small}}) {
      if (text.empty() || text_width(text, size) > space) continue;
      svg_.text({scale_.x(bar.started) + width_of(bar) / 2, top_ + height_ / 2 + 0.36 * size},
                text,
                {.size = size, .anchor = "middle", .fill = readable_on(style_.colors[bar.group])});
      return;
    }
  }

  /// Frames round wide bars; of narrow ones a line along the bottom of the row, joined where they
  /// touch.
  void draw_outlines(const std::vector<Bar>& bars) {
    SvgPath strip;
    std::optional<double> from;
    double until = 0;
    const auto close = [&] {
      if (!from) return;
      strip.add('M', {*from, top_ + height_ + 0.5}).add('h', {std::max(0.5, until - *from)});
      from.reset();
    };
    for (const Bar& bar : bars) {
      if (!bar.outlined) continue;
      const double x = scale_.x(bar.started);
      const double width = width_of(bar);
      if (width >= 4) {
        svg_.rect(x + 0.4,
                  top_ + 0.6,
                  width - 1.2,
                  height_ - 1.2,
                  {.stroke = outline_color, .stroke_width = 1.2});
        continue;
      }
      if (from && x > until + 0.7) close();
      if (!from) from = x;
      until = std::max(until, x + width);
    }
    close();
    if (!strip.empty()) svg_.stroked_path(strip, {.stroke = outline_color, .width = 1.6});
  }

  Svg& svg_;
  const TimeScale& scale_;
  double top_;
  double height_;
  const RowStyle& style_;
  std::vector<Shares> shares_;  // by group; empty: none
};

}  // namespace

void draw_row(Svg& svg,
              const TimeScale& scale,
              double top,
              double height,
              const std::vector<Bar>& bars,
              const RowStyle& style) {
  Row{svg, scale, top, height, style}.draw(bars);
}

}  // namespace schedlab
