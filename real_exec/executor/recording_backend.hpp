// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/device_backend.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// A backend without a device: does no work and writes down what it is asked for. For tests of
/// whatever drives a backend, and for a look at what a device would be asked.
class RecordingBackend final : public DeviceBackend {
 public:
  struct Stream {
    int priority = 0;
    StreamSync sync = StreamSync::non_blocking;
    bool open = false;
  };
  /// A row of a graph as it was loaded.
  struct Row {
    std::uint32_t graph = 0;
    std::uint32_t row = 0;
    std::vector<TaskId> tasks;  ///< by node, as the three below
    std::vector<int> priorities;
    std::vector<std::vector<std::uint32_t>> needs;
  };

  explicit RecordingBackend(DeviceProperties properties) : properties_(std::move(properties)) {}

  // The script; all may be empty.
  /// Is the stream idle at this query, counted from 0? Empty: always.
  std::function<bool(StreamId, std::size_t)> idle_rule;
  /// The text of the DeviceError to throw at this call; nullopt: none.
  std::function<std::optional<std::string>(HostCall)> failure;
  /// Changes what the device says it holds of a graph.
  std::function<void(std::vector<LoadedNode>&)> loaded_rule;
  /// What task_times() returns.
  std::vector<TaskTime> times;

  /// Calls of the latest run, in order: what of a plan's calls reaches a device; streams that are
  /// there from the start created first. Queries hold their answers.
  [[nodiscard]] const std::vector<HostCall>& calls() const { return calls_; }
  /// How many of them came before the clock was started.
  [[nodiscard]] std::size_t calls_before_start() const { return before_start_; }
  [[nodiscard]] const IdVector<StreamId, Stream>& streams() const { return streams_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::uint32_t runs_begun() const { return begun_; }
  [[nodiscard]] std::uint32_t runs_ended() const { return ended_; }

  [[nodiscard]] const DeviceProperties& properties() const override { return properties_; }
  void begin_run(const RunRequest& request) override;
  std::vector<LoadedNode> load_graph(const GraphRow& row, LaunchObserver* observer) override;
  [[nodiscard]] CpuClock start_clock() override;
  /// ContractViolation for a priority outside the range, and below for a stream that is not open, a
  /// row that was not loaded, or any call outside a run.
  void create_stream(StreamId stream, int priority, const StreamSpec& spec) override;
  void destroy_stream(StreamId stream) override;
  void launch(StreamId stream, TaskId task) override;
  void launch_programmatically(StreamId stream, TaskId task) override;
  void record(StreamId stream, EventId event) override;
  void wait(StreamId stream, EventId event) override;
  [[nodiscard]] bool idle(StreamId stream) override;
  void synchronize(StreamId stream) override;
  void synchronize(EventId event) override;
  void synchronize() override;
  void launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) override;
  void end_run() override;
  [[nodiscard]] std::vector<TaskTime> task_times() override { return times; }

 private:
  void note(HostCall call);
  void expect_open(StreamId stream) const;

  DeviceProperties properties_;
  std::vector<HostCall> calls_;
  std::size_t before_start_ = 0;
  std::size_t queries_ = 0;
  IdVector<StreamId, Stream> streams_;
  std::vector<Row> rows_;
  std::uint32_t begun_ = 0;
  std::uint32_t ended_ = 0;
};

}  // namespace schedlab
