// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/metrics_json.hpp"

#include "sim/trace/text_buffer.hpp"
#include "tests/sim/trace_support.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

using namespace testing;

TEST_CASE("metrics.json has every time twice, exact and readable") {
  const TinyRun run = tiny_run();
  const Metrics metrics = compute_metrics(run.problem(), run.plan, run.trace);
  const auto root =
      nlohmann::json::parse(metrics_json(metrics, run.problem(), run.plan, "a \"title\""));
  CHECK(root["schedlab"] == "metrics");
  CHECK(root["title"] == "a \"title\"");
  CHECK(root["policy"] == "by_hand");
  CHECK(root["machine"] == "tiny");
  CHECK(root["makespan_us"] == 60);
  CHECK(root["makespan_ps"] == 60'000'000);
  CHECK(root["peak_memory_bytes"] == 107);
  CHECK(root["lower_bounds"]["host_issue_us"] == 9.5);
  CHECK(root["lower_bounds"]["largest"] == "work");
  CHECK(root["stream_use"].size() == 2);
  CHECK(root["stream_use"][1]["stream"] == "stream 1");
  CHECK(root["operation_use"][0]["operation"] == "b");
  CHECK(root["critical_path"]["tasks"][0]["task"] == run.graph.name(TaskId{3}));
  CHECK(root["critical_path"]["tasks"][0]["cause"] == "host");
  CHECK(root["critical_path"]["waited_for_host_ps"] == 48'000'000);
  CHECK(root["critical_path"]["waited_for_launch_ps"] == 2'000'000);
}

TEST_CASE("Picoseconds are written as exact microseconds") {
  const auto text = [](std::int64_t picoseconds) {
    TextBuffer buffer;
    buffer.microseconds(picoseconds);
    return std::string{buffer.text()};
  };
  CHECK(text(0) == "0");
  CHECK(text(1) == "0.000001");
  CHECK(text(12'500'000) == "12.5");
  CHECK(text(-1'000'001) == "-1.000001");
  CHECK(text(std::numeric_limits<std::int64_t>::max()) == "9223372036854.775807");
  CHECK(text(std::numeric_limits<std::int64_t>::min()) == "-9223372036854.775808");
}

TEST_CASE("XML text is escaped and loses what XML forbids") {
  TextBuffer buffer;
  buffer.xml("<a b=\"c\">&'\x01\xFF\xED\xA0\x80 \xC3\xA9");
  CHECK(buffer.text() ==
        "&lt;a "
        "b=&quot;c&quot;&gt;&amp;&#39;\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
        "\xC3\xA9");
  TextBuffer reversed;
  reversed.xml(
      "a\xE2\x80\xAE"
      "b");  // U+202E would show b before a
  CHECK(reversed.text() ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("Rounded numbers have no trailing zeros and no minus before zero") {
  const auto text = [](double value, int decimals) {
    TextBuffer buffer;
    buffer.rounded(value, decimals);
    return std::string{buffer.text()};
  };
  CHECK(text(1.5, 2) == "1.5");
  CHECK(text(2.0, 2) == "2");
  CHECK(text(-0.001, 2) == "0");
  CHECK(text(100, 0) == "100");
  CHECK(text(std::numeric_limits<double>::infinity(), 2) == "0");
}

}  // namespace
}  // namespace schedlab
