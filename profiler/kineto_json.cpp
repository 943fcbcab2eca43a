// SPDX-License-Identifier: Apache-2.0
#include "profiler/kineto_json.hpp"

#include "sim/trace/text_buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace schedlab {
namespace {

std::string_view kineto_name(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::host_to_device:
      return "HtoD";
    case CopyDirection::device_to_host:
      return "DtoH";
    case CopyDirection::device_to_device:
      return "DtoD";
    case CopyDirection::host_to_host:
      return "HtoH";
    case CopyDirection::peer_to_peer:
      return "PtoP";
    default:
      return "Unknown";
  }
}

std::string_view kineto_name(MemoryPlace place) {
  switch (place) {
    case MemoryPlace::pageable:
      return "Pageable";
    case MemoryPlace::pinned:
      return "Pinned";
    case MemoryPlace::device:
      return "Device";
    case MemoryPlace::managed:
      return "Managed";
    case MemoryPlace::array:
      return "Array";
    default:
      return "Unknown";
  }
}

std::string_view kineto_name(SyncKind kind) {
  switch (kind) {
    case SyncKind::event:
      return "Event Sync";
    case SyncKind::stream_wait_event:
      return "Stream Wait Event";
    case SyncKind::stream:
      return "Stream Sync";
    case SyncKind::context:
      return "Context Sync";
    default:
      return "Unknown Sync";
  }
}

std::string_view kineto_name(OverheadKind kind) {
  switch (kind) {
    case OverheadKind::driver_compiler:
      return "Driver Compiler";
    case OverheadKind::buffer_flush:
      return "Buffer Flush";
    case OverheadKind::instrumentation:
      return "Instrumentation";
    case OverheadKind::resource:
      return "Resource";
    case OverheadKind::module_loading:
      return "Runtime Triggered Module Loading";
    case OverheadKind::lazy_function_loading:
      return "Lazy Function Loading";
    case OverheadKind::command_buffer_full:
      return "Command Buffer Full";
    case OverheadKind::buffer_request:
      return "Activity Buffer Request";
    default:
      return "Unrecognized";
  }
}

class KinetoWriter {
 public:
  KinetoWriter(const ActivityLog& log,
               const KinetoOptions& options,
               const std::function<void(std::string_view)>& sink)
      : log_(&log), options_(&options), sink_(&sink) {
    for (const ExternalCorrelation& known : log.correlations) {
      work_of_[known.correlation] = known.work;
    }
    for (const ApiActivity& call : log.calls) {
      call_of_.try_emplace(call.correlation, &call);
      process_ = call.process;
    }
  }

  void write() {
    out_ << "{\"schemaVersion\":1,\"deviceProperties\":[";
    for (std::size_t i = 0; i < log_->devices.size(); ++i) {
      if (i != 0) out_ << ',';
      device(log_->devices[i]);
    }
    out_ << "],\"traceEvents\":[";
    for (const ApiActivity& call : log_->calls) api(call);
    if (options_->name_of) operators();
    for (const KernelActivity& activity : log_->kernels) kernel(activity);
    for (const CopyActivity& activity : log_->copies) copy(activity);
    for (const MemsetActivity& activity : log_->memsets) memset(activity);
    for (const SyncActivity& activity : log_->synchronizations) synchronization(activity);
    for (const OverheadActivity& activity : log_->overheads) overhead(activity);
    for (const GraphLaunchActivity& activity : log_->graph_launches) graph(activity);
    tracks();
    out_ << "\n]}\n";
    (*sink_)(out_.text());
  }

 private:
  void device(const DeviceActivity& d) {
    out_ << "\n{\"id\":" << d.device << ",\"name\":";
    out_.json_string(d.name) << ",\"totalGlobalMem\":" << d.memory.count()
                             << ",\"computeMajor\":" << d.compute_major
                             << ",\"computeMinor\":" << d.compute_minor
                             << ",\"maxThreadsPerBlock\":" << d.threads_per_block
                             << ",\"maxThreadsPerMultiprocessor\":"
                             << d.warps_per_multiprocessor * d.threads_per_warp
                             << ",\"regsPerBlock\":" << d.registers_per_block
                             << ",\"regsPerMultiprocessor\":" << d.registers_per_multiprocessor
                             << ",\"warpSize\":" << d.threads_per_warp
                             << ",\"sharedMemPerBlock\":" << d.shared_memory_per_block.count()
                             << ",\"sharedMemPerMultiprocessor\":"
                             << d.shared_memory_per_multiprocessor.count()
                             << ",\"numSms\":" << d.multiprocessors << '}';
  }

  void begin() {
    constexpr std::size_t piece = std::size_t{1} << 20U;
    if (out_.size() > piece) {
      (*sink_)(out_.text());
      out_.clear();
    }
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
  }

  /// Up to "args":{ .
  void span(std::string_view category,
            std::string_view name,
            std::int64_t process,
            std::int64_t thread,
            ActivityTime started,
            ActivityTime ended) {
    begin();
    const Time from = log_->clock.to_host(started);
    out_ << "{\"ph\":\"X\",\"cat\":\"" << category << "\",\"name\":";
    out_.json_string(name) << ",\"pid\":" << process << ",\"tid\":" << thread << ",\"ts\":";
    out_.microseconds(from.time_since_epoch().count()) << ",\"dur\":";
    out_.microseconds((log_->clock.to_host(ended) - from).count()) << ",\"args\":{";
  }

  /// Kineto's External id is that of the operator; without one it is the correlation.
  void external_id(std::uint32_t correlation) {
    const auto found = work_of_.find(correlation);
    out_ << "\"External id\":"
         << (found == work_of_.end() ? std::uint64_t{correlation} : found->second.bits()) << ',';
  }

  void place(const ActivityPlace& place, std::uint32_t correlation) {
    external_id(correlation);
    out_ << "\"device\":" << place.device << ",\"context\":" << place.context
         << ",\"stream\":" << place.stream << ",\"correlation\":" << correlation;
  }

  void node(const ActivityNode& node) {
    if (node.node == 0) return;
    out_ << ",\"graph id\":" << node.graph << ",\"graph node id\":" << node.node;
  }

  template <class Activity>
  void flow(const Activity& activity) {
    const auto call = call_of_.find(activity.correlation);
    if (call == call_of_.end()) return;
    const ApiActivity& from = *call->second;
    if (drawn_.insert(activity.correlation).second) {
      begin();
      out_ << "{\"ph\":\"s\",\"id\":" << activity.correlation << ",\"pid\":" << from.process
           << ",\"tid\":" << from.thread << ",\"ts\":";
      out_.microseconds(log_->clock.to_host(from.started).time_since_epoch().count())
          << ",\"cat\":\"ac2g\",\"name\":\"ac2g\"}";
    }
    begin();
    out_ << "{\"ph\":\"f\",\"id\":" << activity.correlation << ",\"pid\":" << activity.place.device
         << ",\"tid\":" << activity.place.stream << ",\"ts\":";
    out_.microseconds(log_->clock.to_host(activity.started).time_since_epoch().count())
        << ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"}";
  }

  void api(const ApiActivity& call) {
    span(call.layer == ApiLayer::runtime ? "cuda_runtime" : "cuda_driver",
         call.name,
         call.process,
         call.thread,
         call.started,
         call.ended);
    external_id(call.correlation);
    out_ << "\"cbid\":" << call.callback << ",\"correlation\":" << call.correlation << "}}";
  }

  /// One span per WorkId and thread, from its first call to its last.
  void operators() {
    struct Span {
      ActivityTime started{};
      ActivityTime ended{};
      std::uint32_t process = 0;
    };
    std::map<std::pair<std::uint64_t, std::uint32_t>, Span> spans;
    for (const ApiActivity& call : log_->calls) {
      const auto work = work_of_.find(call.correlation);
      if (work == work_of_.end()) continue;
      auto& span = spans
                       .try_emplace({work->second.bits(), call.thread},
                                    Span{call.started, call.ended, call.process})
                       .first->second;
      span.started = std::min(span.started, call.started);
      span.ended = std::max(span.ended, call.ended);
    }
    for (const auto& [key, what] : spans) {
      span("cpu_op",
           options_->name_of(WorkId::from_bits(key.first)),
           what.process,
           key.second,
           what.started,
           what.ended);
      out_ << "\"External id\":" << key.first << "}}";
    }
  }

  void kernel(const KernelActivity& k) {
    span("kernel", k.name, k.place.device, k.place.stream, k.started, k.ended);
    place(k.place, k.correlation);
    out_ << ",\"queued\":";
    if (k.queued) {
      out_.microseconds(log_->clock.to_host(*k.queued).time_since_epoch().count());
    } else {
      out_ << '0';
    }
    out_ << ",\"registers per thread\":" << k.registers_per_thread << ",\"shared memory\":"
         << k.static_shared_memory.count() + k.dynamic_shared_memory.count() << ",\"grid\":["
         << k.grid[0] << ',' << k.grid[1] << ',' << k.grid[2] << "],\"block\":[" << k.block[0]
         << ',' << k.block[1] << ',' << k.block[2] << "],\"channel\":" << k.channel;
    node(k.node);
    out_ << "}}";
    flow(k);
  }

  template <class Activity>
  void transfer_arguments(const Activity& activity) {
    place(activity.place, activity.correlation);
    const auto nanoseconds = static_cast<double>((activity.ended - activity.started).count());
    out_ << ",\"bytes\":" << activity.bytes.count() << ",\"memory bandwidth (GB/s)\":"
         << (nanoseconds > 0 ? static_cast<double>(activity.bytes.count()) / nanoseconds : 0.0);
    node(activity.node);
    out_ << "}}";
    flow(activity);
  }
  void copy(const CopyActivity& c) {
    std::string name = "Memcpy ";
    name += kineto_name(c.direction);
    name += " (";
    name += kineto_name(c.from);
    name += " -> ";
    name += kineto_name(c.to);
    name += ")";
    span("gpu_memcpy", name, c.place.device, c.place.stream, c.started, c.ended);
    transfer_arguments(c);
  }
  void memset(const MemsetActivity& m) {
    std::string name = "Memset (";
    name += kineto_name(m.memory);
    name += ")";
    span("gpu_memset", name, m.place.device, m.place.stream, m.started, m.ended);
    transfer_arguments(m);
  }

  void synchronization(const SyncActivity& s) {
    const std::int64_t stream = s.stream ? std::int64_t{*s.stream} : -1;
    const std::string_view kind = kineto_name(s.kind);
    // CUPTI does not say the device: with one device it is that of the first kernel.
    const std::uint32_t device = log_->kernels.empty() ? 0 : log_->kernels.front().place.device;
    span("cuda_sync", kind, device, stream, s.started, s.ended);
    external_id(s.correlation);
    out_ << "\"cuda_sync_kind\":\"" << kind << '"';
    if (s.kind == SyncKind::event || s.kind == SyncKind::stream_wait_event) {
      const EventActivity* const recorded = record_of(s);
      out_ << ",\"wait_on_stream\":"
           << (recorded == nullptr ? std::int64_t{-1} : std::int64_t{recorded->place.stream})
           << ",\"wait_on_cuda_event_record_corr_id\":"
           << (recorded == nullptr ? std::int64_t{-1} : std::int64_t{recorded->correlation})
           << ",\"wait_on_cuda_event_id\":" << (s.event ? std::int64_t{*s.event} : -1);
    }
    out_ << ",\"stream\":" << stream << ",\"correlation\":" << s.correlation
         << ",\"device\":" << device << ",\"context\":" << s.context << "}}";
  }
  [[nodiscard]] const EventActivity* record_of(const SyncActivity& s) const {
    if (s.event_sync == 0) return nullptr;
    const auto found =
        std::lower_bound(log_->events.begin(),
                         log_->events.end(),
                         s.event_sync,
                         [](const EventActivity& e, std::uint64_t sync) { return e.sync < sync; });
    return found != log_->events.end() && found->sync == s.event_sync ? &*found : nullptr;
  }

  void overhead(const OverheadActivity& o) {
    span("overhead", kineto_name(o.kind), -1, 0, o.started, o.ended);
    out_ << "\"correlation\":" << o.correlation << "}}";
  }

  void graph(const GraphLaunchActivity& g) {
    span("kernel", "CUDA graph", g.place.device, g.place.stream, g.started, g.ended);
    place(g.place, g.correlation);
    out_ << ",\"graph id\":" << g.graph << "}}";
    flow(g);
  }

  void name_track(std::string_view what,
                  std::int64_t process,
                  std::int64_t thread,
                  std::string_view key,
                  const std::string& name) {
    begin();
    out_ << "{\"name\":\"" << what << "\",\"ph\":\"M\",\"ts\":0,\"pid\":" << process
         << ",\"tid\":" << thread << ",\"args\":{\"" << key << "\":";
    out_.json_string(name) << "}}";
  }
  void tracks() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> streams;
    for (const auto& k : log_->kernels) streams.emplace(k.place.device, k.place.stream);
    for (const auto& c : log_->copies) streams.emplace(c.place.device, c.place.stream);
    for (const auto& m : log_->memsets) streams.emplace(m.place.device, m.place.stream);
    for (const auto& g : log_->graph_launches) streams.emplace(g.place.device, g.place.stream);
    std::set<std::uint32_t> devices;
    for (const auto& [device, stream] : streams) {
      if (devices.insert(device).second) {
        name_track("process_name", device, 0, "name", options_->process_name);
        name_track("process_labels", device, 0, "labels", "GPU " + std::to_string(device));
      }
      name_track("thread_name", device, stream, "name", "stream " + std::to_string(stream) + " ");
    }
    if (!log_->calls.empty()) {
      name_track("process_name", process_, 0, "name", options_->process_name);
      name_track("process_labels", process_, 0, "labels", "CPU");
    }
  }

  const ActivityLog* log_;
  const KinetoOptions* options_;
  const std::function<void(std::string_view)>* sink_;
  TextBuffer out_;
  bool first_ = true;
  std::uint32_t process_ = 0;
  std::unordered_map<std::uint32_t, WorkId> work_of_;              // by correlation
  std::unordered_map<std::uint32_t, const ApiActivity*> call_of_;  // by correlation
  std::set<std::uint32_t> drawn_;  // correlations whose arrow has its tail
};

}  // namespace

void write_kineto_json(const ActivityLog& log,
                       const KinetoOptions& options,
                       const std::function<void(std::string_view)>& sink) {
  KinetoWriter{log, options, sink}.write();
}

std::string kineto_json(const ActivityLog& log, const KinetoOptions& options) {
  std::string text;
  write_kineto_json(log, options, [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace schedlab
