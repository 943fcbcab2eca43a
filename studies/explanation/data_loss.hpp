// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/fields.hpp"
#include "sim/base/units.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A stretch of a profile in which nodes of device graphs are missing: it is unknown when its
/// device was busy, and when idle.
struct UnreliableStretch {
  Time from{};
  Time to{};

  [[nodiscard]] Duration duration() const { return to - from; }
};

/// What a profile lacks of its graph launches, and what was put in its place.
struct DataLoss {
  std::vector<UnreliableStretch> unreliable{};  ///< by time, apart from each other
  std::string lost{};     ///< a sentence for people; empty: every launch is whole, or was filled
  std::string assumed{};  ///< what was filled in; empty: nothing

  std::vector<std::string> missing{};  ///< kernels of which some are not there, by name
  bool all_named = true;               ///< false: others may be missing, too

  /// Does no unreliable stretch reach into this one?
  [[nodiscard]] bool reliable(Time from, Time to) const;
  /// Is every kernel of this name, or with this part in its name, there?
  [[nodiscard]] bool has_all_of(std::string_view kernel) const;
  [[nodiscard]] Duration unreliable_time() const;
  /// Behind a heading of figures: " (unreliable)"; empty without unreliable stretches.
  [[nodiscard]] std::string mark() const { return unreliable.empty() ? "" : " (unreliable)"; }
};
[[nodiscard]] DataLoss data_loss(const ImportedTrace& trace);

/// A launch with the trace that it is of.
struct LossOf {
  const ImportedTrace& trace;
  const GraphLoss& loss;
};
[[nodiscard]] std::vector<LossOf> graph_losses(const ImportedTrace& trace);
[[nodiscard]] Fields<LossOf> graph_loss_fields();
[[nodiscard]] Fields<DataLoss> data_loss_fields();

}  // namespace schedlab
