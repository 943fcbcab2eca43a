// SPDX-License-Identifier: Apache-2.0
// Traces that are damaged, hostile or odd.
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "tests/workloads/traces/kineto_text.hpp"
#include "workloads/traces/json_pieces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace schedlab {
namespace {

using testing::kineto_text;
using testing::problem_count;
using testing::read_text;

constexpr const char* operator_event =
    R"({"ph": "X", "cat": "cpu_op", "name": "a\\\"b{[", "pid": 1, "tid": 2, "ts": 5, "dur": 1})";

/// What reading `text` says; empty if it is read.
std::string refusal(std::string_view text) {
  try {
    (void)read_text(text);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

bool says(std::string_view text, const char* words) {
  return refusal(text).find(words) != std::string::npos;
}

TEST_CASE("kineto: a trace that ends early is refused, wherever it ends") {
  const std::string text = kineto_text(operator_event);
  REQUIRE(refusal(text).empty());
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(refusal(std::string_view{text}.substr(0, length)).empty());
  }
  CHECK(says(text.substr(0, text.size() - 20), "behind 0 whole elements"));
  CHECK(says(text.substr(0, text.size() - 1), "behind 1 whole elements"));
  CHECK(says(text.substr(0, text.size() - 1), "cut off"));
}

TEST_CASE("kineto: what is no trace is refused with what was expected") {
  CHECK(says("", "an empty file"));
  CHECK(says("digraph {}", "traceEvents"));
  CHECK(says(R"({"schedlab": "graph"})", "no list of events"));
  CHECK(says(R"({"traceEvents": 5})", "no list of events"));
  CHECK(says(kineto_text(operator_event) + "x", "more behind the last bracket"));
  CHECK(says(R"({"a" 1})", "a key without a value"));
  CHECK(says(R"({"a": })", "no value"));
  CHECK(says(kineto_text("1, 2, \"three\""), "none of 3 events can be read"));
}

TEST_CASE("kineto: nesting is limited before it is parsed") {
  CHECK(says(kineto_text(std::string(100'000, '[')), "nested deeper than 256 levels"));
  CHECK(says(R"({"a": )" + std::string(100'000, '{'), "nested deeper than 256 levels"));
  // 256 levels in an argument that is not read: 2 are the event and its "args"
  const std::string deep = std::string(254, '[') + std::string(254, ']');
  const ImportedTrace trace = read_text(
      kineto_text(R"({"ph": "X", "cat": "cpu_op", "name": "n", "ts": 1, "dur": 1, "args": {"x": )" +
                  deep + "}}"));
  CHECK(trace.operators.size() == 1);
}

TEST_CASE("kineto: an event that cannot be read is counted, the others are read") {
  const std::string good = operator_event;
  const ImportedTrace trace =
      read_text(kineto_text(good + R"(, {"ph" "X"}, )" + good + ", 17, {\"name\": \"\xFF\"}"));
  CHECK(trace.operators.size() == 2);
  CHECK(problem_count(trace, "unreadable_event") == 3);
  CHECK(trace.problems.entries().at("unreadable_event").severity == Severity::data_loss);
}

TEST_CASE("kineto: odd times are counted and never overflow") {
  const auto event = [](const std::string& time) {
    return R"({"ph": "X", "cat": "cpu_op", "name": "n", "pid": 1, "tid": 1, )" + time + "}";
  };
  const ImportedTrace trace = read_text(kineto_text(
      event(R"("ts": 100, "dur": 1)") + "," + event(R"("dur": 1)") + "," +
      event(R"("ts": NaN, "dur": 1)") + "," + event(R"("ts": 100)") + "," +
      event(R"("ts": 100, "dur": -5)") + "," + event(R"("ts": 9223372036854775807, "dur": 1)") +
      "," + event(R"("ts": -9223372036854775808.5, "dur": 1)") + "," +
      event(R"("ts": 100, "dur": 9e18)")));
  CHECK(trace.operators.size() == 3);
  CHECK(problem_count(trace, "event_without_time") == 3);
  CHECK(problem_count(trace, "span_without_end") == 1);
  CHECK(problem_count(trace, "negative_duration") == 1);
  CHECK(problem_count(trace, "time_out_of_range") == 2);
  CHECK(count(trace).span == 1us);
}

TEST_CASE("kineto: a field that is not what it should be is named") {
  const ImportedTrace trace = read_text(kineto_text(
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1,
          "args": {"device": 0, "stream": 7, "correlation": NaN, "grid": [1, "x"]}},
         {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 1,
          "args": {"device": 0, "stream": 7, "correlation": true}},
         {"ph": "X", "cat": "gpu_teleport", "name": "t", "ts": 1, "dur": 1})"));
  CHECK(trace.device_rows.size() == 2);
  CHECK(trace.device_rows[0].correlation == 0);
  CHECK(problem_count(trace, "unreadable_field: correlation") == 1);
  CHECK(problem_count(trace, "unreadable_field: grid") == 1);  // the last of an event
  CHECK(problem_count(trace, "unknown_category") == 1);
  CHECK(problem_count(trace, "activity_without_launch") == 2);
}

TEST_CASE("kineto: where the profiler held the program up for long is said") {
  const ImportedTrace trace = read_text(kineto_text(
      R"({"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "ts": 1, "dur": 2175},
         {"ph": "X", "cat": "overhead", "name": "Instrumentation", "ts": 3000, "dur": 3})"));
  CHECK(problem_count(trace, "profiler_overhead") == 1);
  CHECK(trace.problems.entries().at("profiler_overhead").example ==
        "Activity Buffer Request held the program up for 2175 us from 0 us on");
}

TEST_CASE("kineto: an argument of an operator is not the field of a launch of the same name") {
  const ImportedTrace trace = read_text(kineto_text(
      R"({"ph": "X", "cat": "cpu_op", "name": "grid_sample", "ts": 1, "dur": 1,
          "args": {"grid": "bilinear", "stream": "main", "Record function id": 3}},
         {"ph": "X", "cat": "cpu_op", "name": "b", "ts": 3, "dur": 1, "args": {"External id": "x"}})"));
  CHECK(problem_count(trace, "unreadable_field: grid") == 0);
  CHECK(problem_count(trace, "unreadable_field: stream") == 0);
  CHECK(problem_count(trace, "unreadable_field: External id") == 1);
}

TEST_CASE("kineto: lanes of an accelerator are streams with copies, programs and waits") {
  const ImportedTrace trace = read_text(kineto_text(
      R"({"ph": "X", "cat": "mtia_runtime", "name": "enqueueCommand memcpyHtoDAsync", "pid": 8,
          "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 5, "device": 17, "stream_id": "101"}},
         {"ph": "X", "cat": "mtia_ccp_events", "name": "dma_request", "pid": 17, "tid": 3536,
          "ts": 3, "dur": 2, "args": {"correlation": 5, "stream": 101, "size": 64,
          "direction": "HOST_TO_DEVICE"}},
         {"ph": "X", "cat": "mtia_runtime", "name": "runFunction - job", "pid": 8, "tid": 1, "ts": 4,
          "dur": 1, "args": {"correlation": 6, "device": 17, "stream_id": "101"}},
         {"ph": "X", "cat": "mtia_runtime", "name": "runFunction - job", "pid": 17, "tid": 9, "ts": 4,
          "dur": 1, "args": {"correlation": 6, "device": 17, "stream_id": "101"}},
         {"ph": "X", "cat": "mtia_ccp_events", "name": "event_wait", "pid": 17, "tid": 3536, "ts": 5,
          "dur": 1, "args": {"stream": 101, "wait_on_stream": 104}},
         {"ph": "X", "cat": "mtia_ccp_events", "name": "event_record", "pid": 17, "tid": 3536,
          "ts": 6, "dur": 1, "args": {"stream": 101}},
         {"ph": "X", "cat": "mtia_ccp_events", "name": "pe_exe", "pid": 17, "tid": 3536, "ts": 7,
          "dur": 9, "args": {"correlation": 6, "stream": 101}})"));
  REQUIRE(trace.device_rows.size() == 2);
  CHECK(trace.device_rows[0].kind == DeviceActivityKind::copy);
  CHECK(trace.device_rows[0].bytes == Bytes{64});
  CHECK(trace.texts[trace.device_rows[0].name] == "dma_request (HOST_TO_DEVICE)");
  CHECK(trace.device_rows[1].kind == DeviceActivityKind::kernel);
  CHECK(trace.device_rows[1].stream == 101);
  REQUIRE(trace.calls.size() == 2);  // that of the device's side is none of the host's
  CHECK(trace.calls[0].kind == CallKind::copy);
  CHECK(trace.calls[1].kind == CallKind::launch_kernel);
  REQUIRE(trace.synchronizations.size() == 1);
  CHECK(trace.synchronizations[0].wait_on_stream == 104);
  CHECK(problem_count(trace, "unknown_category") == 0);
  CHECK(problem_count(trace, "activity_without_launch") == 0);
}

TEST_CASE("kineto: escapes do not end a string, however the batches fall") {
  const std::string name = R"(\\\\\"]}\\\")";
  const std::string text =
      kineto_text(R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "ts": 1, "dur": 1})");
  for (std::size_t batch = 1; batch < 40; ++batch) {
    const ImportedTrace trace = read_text(text, {.batch_bytes = batch});
    REQUIRE(trace.operators.size() == 1);
    CHECK(trace.texts[trace.operators[0].name] == R"(\\"]}\")");
  }
}

/// A list of events of 100 bytes, made while it is read.
class EndlessEvents final : public ByteSource {
 public:
  explicit EndlessEvents(std::uint64_t events) : left_(events) {}

  [[nodiscard]] std::size_t read(char* to, std::size_t capacity) override {
    if (at_ == event_.size()) {
      if (left_ == 0) return 0;
      event_ = std::string(98, ' ');
      event_.replace(0, 2, "{}");
      event_ += --left_ == 0 ? "]\n" : ",\n";
      at_ = 0;
    }
    const std::size_t given = event_.copy(to, capacity, at_);
    at_ += given;
    given_ += given;
    return given;
  }
  [[nodiscard]] std::uint64_t given() const { return given_; }

 private:
  std::string event_ = "[\n";
  std::size_t at_ = 0;
  std::uint64_t left_;
  std::uint64_t given_ = 0;
};

TEST_CASE("kineto: however long a file is, no more than a batch of it is in memory") {
  constexpr std::uint64_t events = 200'000;  // 20 MB
  constexpr std::size_t batch = 4096;
  EndlessEvents source{events};
  detail::JsonPieces pieces{source, "long.json", "traceEvents", batch};
  detail::JsonPiece piece;
  std::uint64_t found = 0;
  std::uint64_t max_ahead = 0;
  while (pieces.next(piece)) {
    ++found;
    max_ahead = std::max(max_ahead, source.given() - piece.offset);
  }
  CHECK(found == events);
  CHECK(source.given() == events * 100 + 2);
  CHECK(max_ahead <= batch);
}

TEST_CASE("a gzip file made to fill the memory is refused") {
  // 80 MiB of blanks shrink to a 1000th.
  const std::string bomb = gzip("[" + std::string(std::size_t{80} << 20U, ' '));
  const auto source = decompressed(std::make_unique<TextSource>(bomb), "bomb.json.gz");
  CHECK_THROWS_WITH_AS(static_cast<void>(read_kineto(*source, "bomb.json.gz")),
                       doctest::Contains("grows to more than 400 times"),
                       InputError);
}

TEST_CASE("a gzip source that is cut or damaged says so") {
  const std::string text = kineto_text(operator_event);
  const std::string whole = gzip(text);
  const auto reading = [](const std::string& bytes) {
    const auto source = decompressed(std::make_unique<TextSource>(bytes), "t.json.gz");
    return read_kineto(*source, "t.json.gz").operators.size();
  };
  CHECK(reading(whole) == 1);
  CHECK(reading(gzip(text.substr(0, 30)) + gzip(text.substr(30))) == 1);  // two members
  CHECK_THROWS_WITH_AS(static_cast<void>(reading(whole.substr(0, whole.size() - 9))),
                       doctest::Contains("t.json.gz: found a gzip file that ends early"),
                       InputError);
  std::string damaged = whole;
  damaged[damaged.size() - 5] ^= 1;  // the sum over the text
  CHECK_THROWS_WITH_AS(
      static_cast<void>(reading(damaged)), doctest::Contains("damaged"), InputError);
}

}  // namespace
}  // namespace schedlab
