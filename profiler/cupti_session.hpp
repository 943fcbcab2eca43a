// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"
#include "profiler/cpu_clock.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace schedlab {

/// What is recorded of a launch of a device graph.
enum class GraphDetail : std::uint8_t {
  nodes,   ///< every kernel of it; widens the gaps between them
  launch,  ///< one span from its first to its last node, and no kernels: for makespans
};

struct ProfilerOptions {
  GraphDetail graphs = GraphDetail::nodes;
  bool calls = true;             ///< record the calls of the run-time that plans are made of
  bool synchronizations = true;  ///< record waits, and events with their times on the device
  /// Record when kernels were queued and submitted. Only for a session that is made before the
  /// first CUDA call.
  bool latencies = false;
  Bytes buffer{std::int64_t{4} << 20};  ///< of one of CUPTI's buffers; Kineto takes 4 MiB as well
};

struct ProfilerStatus {
  bool available = false;
  std::string reason;   ///< why not
  std::string version;  ///< of the library, if there is one: "130001"
};
/// Could a CuptiSession be made here? Asks for library and driver; says nothing of a profiler or
/// debugger that may hold CUPTI, which only making the session shows.
[[nodiscard]] ProfilerStatus profiler_available();

/// Records what the process has its NVIDIA devices do, from construction to finish(). One session
/// per process: in CUDA 13.0 a second one gives kernels of device graphs wrong correlations
/// (NVIDIA, CUPTI release notes, 13.1 Update 1).
///
/// Make it before the first CUDA call, warm up, discard(), run, finish(). Around the launches of a
/// task push() who they are for, and pop() after; both also around the creation of the nodes of a
/// device graph.
///
/// Errors  DeviceError names the call and what to do: no toolkit in this build, no driver, another
///         session, another profiler or debugger (by name where CUPTI knows it).
class CuptiSession {
 public:
  /// Times of the log are mapped to `clock`, which must outlive the session.
  CuptiSession(const ProfilerOptions& options, const CpuClock& clock);
  CuptiSession(const CuptiSession&) = delete;
  CuptiSession& operator=(const CuptiSession&) = delete;
  ~CuptiSession();

  /// What this thread does next is for `work`, until pop(). Nests.
  void push(WorkId work);
  void pop();

  /// Forgets what was recorded so far, e.g. the warm-up. `synchronize_device` is called first: what
  /// runs when CUPTI's buffers are emptied would be lost or cut in two.
  void discard(const std::function<void()>& synchronize_device);

  /// Ends the recording. Throws DeviceError if records were lost, which makes times meaningless.
  [[nodiscard]] ActivityLog finish(const std::function<void()>& synchronize_device);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// push() and pop() of a scope.
class ProfiledWork {
 public:
  ProfiledWork(CuptiSession& session, WorkId work) : session_(&session) { session.push(work); }
  ProfiledWork(const ProfiledWork&) = delete;
  ProfiledWork& operator=(const ProfiledWork&) = delete;
  ~ProfiledWork() { session_->pop(); }

 private:
  CuptiSession* session_;
};

}  // namespace schedlab
