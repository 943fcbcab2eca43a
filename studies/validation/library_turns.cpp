// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/library_turns.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <vector>

namespace schedlab {
namespace {

double library_turn_us(LibraryRnn& library, RecurrentPass pass) {
  if (pass == RecurrentPass::backward) static_cast<void>(library.run(RnnCall::forward));
  library.begin_steadily();
  Duration time{0};
  if (pass != RecurrentPass::backward) time += library.run(RnnCall::forward);
  if (pass != RecurrentPass::forward) time += library.run(RnnCall::backward);
  return to_us(time);
}

double plan_turn_us(Measurer& measurer, const MeasureRequest& plan) {
  const MeasuredRun run = measurer.measure(plan);
  return to_us(run.makespan.value_or(run.trace.makespan()));
}

}  // namespace

LibraryTurns measure_in_turns(Measurer& measurer,
                              const MeasureRequest& plan,
                              LibraryRnn& library,
                              RecurrentPass pass,
                              const TurnsRequest& request) {
  SCHEDLAB_EXPECTS(request.turns > 0, "no turns");
  std::vector<double> ours;
  std::vector<double> theirs;
  for (std::uint32_t turn = 0; turn < request.warm_up + request.turns; ++turn) {
    if (stop_requested(request.stop)) throw Interrupted("stopped between two turns");
    const double library_us = library_turn_us(library, pass);
    const double plan_us = plan_turn_us(measurer, plan);
    if (turn < request.warm_up) continue;
    theirs.push_back(library_us);
    ours.push_back(plan_us);
  }
  Rng rng{request.seed};
  LibraryTurns turns{.turns = request.turns,
                     .plan = bootstrap_median_95(ours, rng),
                     .library = bootstrap_median_95(theirs, rng)};
  turns.plan_us = median(ours);
  turns.library_us = median(theirs);
  if (request.library_us > 0) turns.drift = turns.library_us / request.library_us - 1;
  return turns;
}

}  // namespace schedlab
