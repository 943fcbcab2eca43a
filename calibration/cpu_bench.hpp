// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "sim/base/interrupt.hpp"

#include <cstdint>
#include <memory>

namespace schedlab {

/// The cores of this computer, through CpuExecutor. Recurrent models run their own numerics
/// (RecurrentWork), copies copy, all else spins.
class CpuBench final : public CalibrationBench {
 public:
  /// `workers`: 0 = one per core. With as many as there are cores the host shares the core of
  /// worker 0. Throws InfeasibleError for more than that.
  CpuBench(std::uint32_t workers, const StopFlag* stop);
  CpuBench(const CpuBench&) = delete;
  CpuBench& operator=(const CpuBench&) = delete;
  ~CpuBench() override;

  [[nodiscard]] std::uint32_t workers() const override;
  [[nodiscard]] BenchDevice device() const override;
  void run(const BenchCase& what, const std::function<bool(const Execution&)>& again) override;

 private:
  std::unique_ptr<CpuExecutor> preloaded_;
  std::unique_ptr<CpuExecutor> with_host_;
};

}  // namespace schedlab
