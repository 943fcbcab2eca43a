// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "calibration/device_bench.hpp"
#include "hw_models/machine_spec.hpp"
#include "real_exec/cpu/host_placement.hpp"
#include "real_exec/cpu/proxy_work.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "real_exec/vendor/library_rnn.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/machine/drift.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/registry_list.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

/// What executions are asked to be, whatever the device. A device passes over what it has no use
/// for; flags that only another device takes are refused before (expect_flags_of).
struct DeviceRequest {
  std::uint32_t workers = 0;            ///< 0: as calibrated, else one per core that is left
  std::optional<HostPlacement> host{};  ///< nullopt: on a core of its own, if one is left
  bool pin = true;
  /// With as many workers as the machine's profile was measured with, or not at all.
  bool as_calibrated = true;
  std::optional<ProxyKernels> proxy{};  ///< nullopt: real kernels where they are here
  TensorAllocation allocation = TensorAllocation::whole_run;  ///< recomputation is by tensor
  std::optional<std::uint32_t> connections{};                 ///< nullopt: as the machines have
  std::optional<CudaPrecision> precision{};                   ///< nullopt: of the data type
  CudaProducts products = CudaProducts::cublas;
  bool debug_sync = false;
};

/// "spin", "shapes", or "" for the real kernels where they are here.
[[nodiscard]] std::optional<ProxyKernels> proxy_from(std::string_view word);
/// One of enum_names<CudaProducts>(), or "" for cuBLAS.
[[nodiscard]] CudaProducts cuda_products_of(std::string_view word);

/// What is to be known of a device, to run scenarios on it and to say what ran.
struct DeviceTraits {
  std::string kind;                    ///< of DeviceKind
  std::string title;                   ///< "this CPU"
  std::string name;                    ///< "MODEL, 2 workers, host own_core"
  std::string products;                ///< what multiplies matrices
  std::string executor;                ///< as messages name it: "CPU"
  std::uint32_t workers = 0;           ///< 0: it has none
  std::uint32_t warm_up_runs = 1;      ///< of `execute`
  bool legacy_default_stream = false;  ///< it has one
  bool programmatic_launches = false;  ///< kernels can start while the one before them drains
  std::string no_partitions =          ///< of its units, why; empty: it has them
      "it does not divide a device's units (green contexts)";
  bool ends_synchronized = false;  ///< as DeviceKind says
  bool sees_blocks = false;        ///< every run has the times of its tasks and blocks
};

/// A device of this computer that scenarios run on.
class ExecutionDevice {
 public:
  struct PreparedWork {
    std::unique_ptr<DeviceWork> work;
    bool computes = false;  ///< what the workload means, not only something of the same shapes
  };

  ExecutionDevice() = default;
  ExecutionDevice(const ExecutionDevice&) = delete;
  ExecutionDevice& operator=(const ExecutionDevice&) = delete;
  virtual ~ExecutionDevice() = default;

  [[nodiscard]] virtual const DeviceTraits& traits() const = 0;
  [[nodiscard]] virtual PlanExecutor& executor() = 0;
  /// What the tasks of a problem do here; `spec` is that of a recurrent workload, else nullopt.
  [[nodiscard]] virtual PreparedWork make_work(const PreparedProblem& problem,
                                               const std::optional<RecurrentSpec>& spec) = 0;
  /// Makes what check_speed() needs, which takes longer than a check. False: its speed cannot be
  /// told.
  [[nodiscard]] virtual bool prepare_speed_check() { return false; }
  /// As Measurer::check_speed(), after prepare_speed_check().
  [[nodiscard]] virtual std::optional<DriftReading> check_speed() { return std::nullopt; }
};

/// What `calibrate` asks of a device's bench.
struct BenchRequest {
  std::uint32_t workers = 0;                   ///< 0: one per core
  std::string base{};                          ///< machine it resembles; empty: by its name
  std::optional<std::uint32_t> connections{};  ///< nullopt: the device's own choice
  CudaProducts products = CudaProducts::cublas;
  const StopFlag* stop = nullptr;
};

/// Where a device is calibrated: one of the two benches.
struct OpenedBench {
  std::unique_ptr<CalibrationBench> cores{};
  std::unique_ptr<DeviceBench> device{};
  MachineSpec base{};  ///< of `device`: the machine it is believed to be
};

struct DeviceKind;

/// "opencl:1/2": what kind of device, which one, and how it is split.
struct NamedDevice {
  const DeviceKind* kind = nullptr;
  int number = 0;
  std::uint32_t group_units = 0;  ///< of each of the groups that streams are spread over; 0: one
};

/// A kind of device that plans are executed on. An entry in device_kinds() is all that the verbs
/// execute, validate, buckets, baseline and calibrate need to know of it.
struct DeviceKind {
  std::string_view name;                      ///< as --device names it
  bool numbered = false;                      ///< "cuda:1" is the second one
  bool splits = false;                        ///< "opencl:1/2" is the second in groups of two units
  RnnLibrary library = RnnLibrary::onednn;    ///< of `baseline`
  std::vector<std::string_view> own_flags{};  ///< that other kinds refuse
  /// Runs end when the host has waited for the device. Else with the last activity.
  bool ends_synchronized = false;
  bool calibrates_for_seconds = false;  ///< `calibrate --seconds` says for how long
  /// Makes of a request what holds for this space, and prepares the space for it. Throws InputError
  /// for what does not fit the machines.
  DeviceRequest (*prepare)(DeviceRequest request, ScenarioSpace& space);
  /// `request`: what prepare() has made of it. Throws DeviceError if the device is not there.
  std::unique_ptr<ExecutionDevice> (*open)(const NamedDevice& device,
                                           const DeviceRequest& request,
                                           const ScenarioSpace& space,
                                           const StopFlag* stop);
  OpenedBench (*open_bench)(const NamedDevice& device, const BenchRequest& request);
  /// Those of this computer, with what they can do; if there is none, one entry that says why.
  std::vector<ListedEntry> (*list)();
};

/// All that there are, the default first.
[[nodiscard]] const std::vector<DeviceKind>& device_kinds();

/// The devices of this computer, of all kinds.
[[nodiscard]] ListedSection listed_devices();
/// nullopt: no such kind.
[[nodiscard]] std::optional<NamedDevice> device_from(std::string_view word);
/// "cpu, cuda, cuda:N, opencl, opencl:N or opencl:N/UNITS", with `more` behind: for help and
/// messages.
[[nodiscard]] std::string device_choices(std::span<const std::string_view> more = {});
/// What `execute` runs trainings on, besides.
inline constexpr std::array<std::string_view, 2> training_devices{"mpi", "threads"};

/// Throws InputError for the first flag that is given and that is another kind's own. `device`: as
/// it was given; empty: none was.
void expect_flags_of(std::string_view device,
                     std::initializer_list<std::pair<std::string_view, bool>> given);

/// Weights and inputs are drawn from it, on every device.
inline constexpr std::uint64_t execution_data_seed = 1;

}  // namespace schedlab
