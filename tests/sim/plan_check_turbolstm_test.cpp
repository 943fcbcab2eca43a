// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/platform.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/sim/turbolstm_listing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace schedlab;
using test::LstmBackward;

namespace {

std::size_t count(const std::vector<Finding>& findings, FindingKind kind) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [kind](const Finding& f) { return f.kind == kind; }));
}

bool says(const std::vector<Finding>& findings, FindingKind kind, std::string_view message) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return f.kind == kind && f.message == message;
  });
}

}  // namespace

TEST_CASE("the checker names the races of the printed TurboLSTM listing, 2 layers x 3 steps") {
  const LstmBackward lstm(2, 3);
  const Plan plan = test::turbolstm_listing(lstm);
  const std::vector<Finding> findings = check(lstm.graph(), ideal_platform(2), plan);

  // Nodes are visited in the order (1,2) (0,2) (1,1) (0,1) (1,0) (0,0). The first calls are
  //   0 launch primary_2 cell(1,2)   1 launch primary_2 hidden_1(1,2)   2 record primary_2 event 0
  //   3 launch primary_1 hidden_2(1,2)   4 wait primary_0 event 0   5 launch primary_0 cell(0,2)
  // hidden_2 of layer 1 sits on primary_1, which never waits: 3 steps unordered after their cells
  // ...
  CHECK(says(
      findings,
      FindingKind::missing_dependency,
      "hidden_2(1,2) on primary_1 (call 3) is not ordered after cell(1,2) on primary_2 (call 0): "
      "event 0 is recorded on primary_2 after cell(1,2) (call 2), but primary_1 does not wait "
      "for it"));
  // ... and 3 cells of layer 0 unordered after hidden_2 of layer 1, since the event comes too
  // early.
  CHECK(says(
      findings,
      FindingKind::missing_dependency,
      "cell(0,2) on primary_0 (call 5) is not ordered after hidden_2(1,2) on primary_1 (call 3): "
      "event 0, for which primary_0 waits, is recorded before hidden_2(1,2) is launched (call 2 "
      "on primary_2)"));
  // The drain gives the nodes the streams 0 1 2 3 4 0. Stream 0 has waited for all cells of layer 1
  // and has those of layer 0 itself, stream 2 has those of layer 1; the weights on streams 1, 3 and
  // 4, of (0,2), (0,1) and (1,0), run free of their cells: 3 nodes x 2 weights = 6.
  CHECK(count(findings, FindingKind::missing_dependency) == 3 + 3 + 6);
  for (const char* weight : {"weight_1(0,2) on primary_1",
                             "weight_2(0,2) on primary_1",
                             "weight_1(0,1) on primary_3",
                             "weight_2(0,1) on primary_3",
                             "weight_1(1,0) on secondary",
                             "weight_2(1,0) on secondary"}) {
    CAPTURE(weight);
    CHECK(std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
      return f.kind == FindingKind::missing_dependency && f.message.rfind(weight, 0) == 0;
    }));
  }
  // Per layer and matrix three additions on three streams, none ordered: 2 pairs x 2 layers x 2
  // matrices.
  CHECK(count(findings, FindingKind::unordered_accumulation) == 8);
  CHECK(std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::unordered_accumulation &&
           f.message.find("both add into dWx(0)") != std::string::npos;
  }));
  CHECK(findings.size() == 12 + 8);
}

TEST_CASE("the repaired TurboLSTM plan has no findings and 2L+1 streams, 2LT events") {
  for (std::uint32_t layers = 1; layers <= 4; ++layers) {
    for (std::uint32_t steps = 1; steps <= 5; ++steps) {
      CAPTURE(layers);
      CAPTURE(steps);
      const LstmBackward lstm(layers, steps);
      const Plan plan = test::turbolstm_repaired(lstm);
      CHECK(plan.streams.size() == 2 * layers + 1);
      CHECK(plan.count(HostCallKind::record) == 2 * layers * steps);
      CHECK(check(lstm.graph(), ideal_platform(2), plan).empty());
    }
  }
}

TEST_CASE("the printed listing is wrong at every size with two layers or more") {
  for (std::uint32_t layers = 2; layers <= 6; ++layers) {
    for (std::uint32_t steps = 1; steps <= 6; ++steps) {
      CAPTURE(layers);
      CAPTURE(steps);
      const LstmBackward lstm(layers, steps);
      const auto findings = check(
          lstm.graph(), ideal_platform(2), test::turbolstm_listing(lstm), {.max_findings = 10000});
      const auto unordered = [&](std::string_view after, std::string_view before) {
        return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) {
          return f.kind == FindingKind::missing_dependency && f.message.rfind(after, 0) == 0 &&
                 f.message.find(std::string("after ") + std::string(before)) != std::string::npos;
        });
      };
      // Every layer but the lowest has its hidden_2 on a stream that never waits.
      CHECK(unordered("hidden_2(", "cell(") == (layers - 1) * steps);
      CHECK(unordered("cell(", "hidden_2(") == (layers - 1) * steps);
      CHECK(unordered("cell(", "cell(") == 0);
      CHECK(unordered("cell(", "hidden_1(") == 0);
    }
  }
}
