// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/decimal_time.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace schedlab::detail {

enum class KinetoCategory : std::uint8_t {
  none,  ///< metadata, or no category
  kernel,
  copy,
  memset,
  call,
  cpu_operator,
  annotation,
  device_annotation,
  python_function,
  synchronization,
  accelerator,  ///< whatever a device that is no GPU did: its name says what (device_work)
  profiler,     ///< what the profiler itself takes of the program's time
  ignored,      ///< known, and nothing that a trace has rows for
  other,
};

/// By Kineto's word for it, that of 2021 ("Kernel", "Runtime") or later ("kernel", "cuda_runtime").
[[nodiscard]] KinetoCategory kineto_category(std::string_view word);

/// One event of a Kineto file, as it stands there. Texts are valid until the next event is parsed.
struct KinetoEvent {
  char phase = 0;  ///< 'X', 'M', 's', 'f', 'i', ...
  KinetoCategory category = KinetoCategory::none;
  std::string_view category_name;
  std::string_view name;
  std::int64_t process = 0;
  std::int64_t thread = 0;  ///< of "stream 7" the number
  std::optional<DecimalTime> started;
  std::optional<DecimalTime> lasted;
  std::int64_t flow = 0;  ///< "id" of an arrow

  // What "args" has of it; the defaults mean that it has not.
  std::string_view label;  ///< "name" of a process or thread
  std::int64_t external_id = -1;
  std::int64_t correlation = 0;
  std::int64_t device = -1;
  std::int64_t stream = -1;
  std::int64_t event = 0;
  std::int64_t bytes = -1;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::int64_t registers_per_thread = 0;
  std::int64_t shared_memory = 0;
  std::int64_t graph = 0;
  std::int64_t graph_node = 0;
  std::int64_t priority = 0;
  std::int64_t record_function = -1;
  std::int64_t sequence_number = -1;
  std::int64_t forward_thread = 0;
  std::string_view shapes;
  std::string_view types;
  std::string_view synchronization;
  std::string_view direction;  ///< of a copy by an accelerator
  std::int64_t wait_on_stream = -1;
  std::int64_t wait_on_record = 0;
  std::int64_t wait_on_event = -1;
  bool has_collective = false;
  CollectiveInfo collective;

  std::string_view unreadable_field;  ///< a field that is not what it should be, if there is one
};

/// Parses single events.
class KinetoEventParser {
 public:
  KinetoEventParser();
  KinetoEventParser(const KinetoEventParser&) = delete;
  KinetoEventParser& operator=(const KinetoEventParser&) = delete;
  ~KinetoEventParser();

  /// `text` has JsonPieces::padding readable bytes behind it. nullptr and a reason if it is no JSON
  /// object.
  [[nodiscard]] const KinetoEvent* parse(std::string_view text);
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  class Fields;
  std::unique_ptr<Fields> fields_;
  std::string why_not_;
};

/// A key of the outermost object besides the events: rank, devices, or else kept as text.
void read_kineto_metadata(std::string_view key, std::string_view value, ImportedTrace& trace);

}  // namespace schedlab::detail
