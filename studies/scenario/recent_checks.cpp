// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/recent_checks.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace schedlab {
namespace {

/// As ==, but calls, of which there may be thousands, are compared as bytes.
bool equal(const Plan& a, const Plan& b) {
  static_assert(std::has_unique_object_representations_v<HostCall>);
  // Names every member: one that is added must be compared as well.
  const auto& [a_policy, a_streams, a_events, a_messages, a_graphs, a_partitions, a_hosts] = a;
  const auto& [b_policy, b_streams, b_events, b_messages, b_graphs, b_partitions, b_hosts] = b;
  const auto equal_hosts = [](const HostProgram& one, const HostProgram& other) {
    const auto& [name, calls] = one;
    return name == other.name && calls.size() == other.calls.size() &&
           std::memcmp(calls.data(), other.calls.data(), calls.size() * sizeof(HostCall)) == 0;
  };
  return a_policy == b_policy && a_streams == b_streams && a_events == b_events &&
         a_messages == b_messages && a_graphs == b_graphs && a_partitions == b_partitions &&
         std::equal(a_hosts.begin(), a_hosts.end(), b_hosts.begin(), b_hosts.end(), equal_hosts);
}

}  // namespace

std::vector<Finding> RecentChecks::check(std::uint64_t number,
                                         const std::shared_ptr<const TaskGraph>& graph,
                                         const Platform& platform,
                                         const Plan& plan,
                                         const CheckOptions& options) {
  if (graph->task_count() > max_recent_tasks)
    return schedlab::check(*graph, platform, plan, options);
  checker::PlainFacts facts = checker::plain_facts(platform, options);
  const Entry* const last = entries_.find(number);
  if (last != nullptr && last->number == number && last->graph == graph && last->facts == facts &&
      equal(last->plan, plan)) {
    ++known_;
    return {};
  }
  if (!checker::passes_fast_check(*graph, facts, plan)) {
    return checker::check_fully(*graph, platform, plan, options);
  }
  Entry& entry = entries_.make_entry(number, plan.memory_bytes());
  entry.graph = graph;
  entry.facts = std::move(facts);
  entry.plan = plan;
  return {};
}

}  // namespace schedlab
