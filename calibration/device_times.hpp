// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "sim/machine/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// One number of a machine file as it was measured.
struct MeasuredNumber {
  std::string pointer;  ///< "/host/launch_us"
  double value = 0;     ///< in the unit of the key
  std::string how;
};

/// Which of a case's runs are kept: the first is not, then until `seconds` are over, but at least
/// `min_runs` and at most `max_runs`.
struct Effort {
  double seconds = 1.0;
  std::size_t min_runs = 5;
  std::size_t max_runs = 15;
};
/// Calls `use` with each run that is kept.
void repeat(CalibrationBench& bench,
            const BenchCase& what,
            const Effort& effort,
            const std::function<void(const Execution&)>& use);

/// What host calls cost, and how long a launch and a wake-up take: medians over plans of many calls
/// whose tasks spin for 5 us. A call costs the time to the start of the next one, so that the loop
/// around it counts.
[[nodiscard]] std::vector<MeasuredNumber> measure_host(CalibrationBench& bench,
                                                       const Effort& effort);

/// From the end of a task to the start of one in another stream that waits for its event.
[[nodiscard]] MeasuredNumber measure_event_latency(CalibrationBench& bench, const Effort& effort);

/// Bytes read and written per second by copies of 32 MiB per worker: of one worker, and of all.
[[nodiscard]] std::vector<MeasuredNumber> measure_bandwidth(CalibrationBench& bench,
                                                            const Effort& effort);

/// How much longer a block takes while all other workers run blocks of other tasks, by kind of
/// kernel: blocks of stacks in several streams (`diagonal`, `heft`) compared with themselves in a
/// single stream. Only those count beside which the others were busy for at least 80 % of the time.
/// What it costs that data is in another worker's cache is in it. Empty with one worker.
/// `platform`: its device's profile says how kernels are cut and how long they take.
[[nodiscard]] std::vector<CoRunSlowDown> measure_co_run(CalibrationBench& bench,
                                                        const Effort& effort,
                                                        const Platform& platform,
                                                        bool quick);

}  // namespace schedlab
