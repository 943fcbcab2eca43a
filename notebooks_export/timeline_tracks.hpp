// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/figure.hpp"
#include "notebooks_export/operation_legend.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/timeline_rows.hpp"
#include "sim/trace/trace.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Throws ContractViolation if the trace names a task, stream, device or host without a label.
void expect_labels(const TraceDocument& run);
/// What a row of a stream is called.
[[nodiscard]] std::string stream_label(const TraceDocument& run, StreamId stream);

struct TrackOptions {
  double width = 1200;           ///< of the picture, in pixels
  std::size_t max_streams = 48;  ///< beyond it those with most work are drawn; of several devices
                                 ///< the first ones, whole
  Duration axis_begin{0};
  Duration axis_end{0};  ///< where the time axis ends, at least unless `clipped`
  double axis_left = 0;  ///< where it begins at least, in pixels
  bool clipped = false;  ///< what lies beyond the axis is left out
  std::vector<TaskId> outlined{};
  std::vector<std::string> other_operations{};  ///< as of OperationGroups
};

/// What each run is called and drawn in, where two are compared.
inline constexpr std::array<std::string_view, 2> run_names{"simulated", "measured"};
inline constexpr std::array<std::string_view, 2> run_colors{okabe_ito::blue, okabe_ito::vermillion};

/// A row per host thread and stream over one time axis. Two runs of one graph have a track each in
/// every row, the first above the second.
class TrackRows {
 public:
  /// One or two runs. Throws ContractViolation if a trace names a task, stream, device or host
  /// without a label.
  TrackRows(std::vector<const TraceDocument*> runs, const TrackOptions& options);

  /// With the title of the first run, its operations and host calls in the legend.
  FigureFrame frame;

  [[nodiscard]] const OperationGroups& operations() const { return operations_; }
  [[nodiscard]] const TimeScale& scale() const { return scale_; }
  /// "12 tasks on 3 streams", and what is left out.
  [[nodiscard]] std::string counts() const;

  /// Upper edge of the first row; it moves when the legend grows.
  [[nodiscard]] double top() const;
  /// Where the rows of hosts and streams end.
  [[nodiscard]] double bottom() const { return stream_top(rows_); }
  /// Upper and lower edge of a shown stream's row; nullopt for others.
  struct Edges {
    double top;
    double bottom;
  };
  [[nodiscard]] std::optional<Edges> edges(StreamId stream) const;
  /// Where labels at the left of the rows end.
  [[nodiscard]] double label_right() const;

  /// The axis at `axis_y`, beneath whatever follows the rows, and the rows.
  void draw(Svg& svg, double axis_y) const;

 private:
  using Tracks = std::vector<std::vector<Bar>>;  // of a run: by stream or by host

  void choose_streams(std::size_t most);
  void keep_first_devices(std::size_t most);
  void lay_out(const TrackOptions& options);
  [[nodiscard]] const TraceDocument& document_of(StreamId stream) const;
  [[nodiscard]] double row_span(double track_height) const;
  [[nodiscard]] double stream_top(std::size_t row) const;
  [[nodiscard]] Tracks stream_tracks(const TraceDocument& run) const;
  void draw_hosts(Svg& svg) const;
  void draw_streams(Svg& svg) const;
  void draw_tracks(Svg& svg,
                   double top,
                   double height,
                   std::size_t index,
                   const std::vector<Tracks>& tracks,
                   const RowStyle& style) const;
  void draw_label(Svg& svg, double top, double height, std::string_view label) const;

  std::vector<const TraceDocument*> runs_;
  OperationGroups operations_;
  std::vector<TaskId> outlined_;
  std::vector<StreamId> streams_;  // shown
  std::size_t used_streams_ = 0;
  std::size_t shown_devices_ = 0;  // 0: all
  std::size_t hosts_ = 0;          // shown
  std::size_t rows_ = 1;
  TimeScale scale_;
  RowStyle style_;
  double host_height_ = 16;
  double track_height_ = 24;
  double gap_ = 4;  // between rows
};

}  // namespace schedlab
