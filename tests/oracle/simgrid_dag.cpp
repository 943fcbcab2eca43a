// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/simgrid_dag.hpp"

#include <simgrid/s4u.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace schedlab::test {
namespace {

Time exact(double date) {
  return Time{Duration{std::llround(date)}};
}

}  // namespace

std::vector<SimGridDag::Span> SimGridDag::run() const {
  namespace sg = simgrid::s4u;
  std::string program = "oracle";
  std::string quiet = "--log=root.thresh:error";
  std::array<char*, 3> arguments{program.data(), quiet.data(), nullptr};
  int count = 2;
  sg::Engine engine(&count, arguments.data());
  auto* zone = sg::create_star_zone("resources");
  std::vector<sg::Host*> hosts;
  for (const int at_once : at_once_) {
    const std::string name = std::to_string(hosts.size());
    hosts.push_back(zone->create_host(name, 1.0)->set_core_count(at_once)->seal());
  }
  zone->seal();

  std::vector<sg::ExecPtr> execs;
  execs.reserve(activities_.size());
  for (const Activity& activity : activities_) {
    auto exec = sg::Exec::init();
    exec->set_flops_amount(static_cast<double>(activity.work.count()));
    exec->set_host(hosts[activity.resource]);
    execs.push_back(exec);
  }
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    Set after = activities_[i].after;
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (const std::uint32_t before : after) execs[before]->add_successor(execs[i]);
  }
  for (const auto& exec : execs) exec->vetoable_start();
  engine.run();

  std::vector<Span> spans;
  spans.reserve(execs.size());
  for (const auto& exec : execs) {
    spans.push_back({exact(exec->get_start_time()), exact(exec->get_finish_time())});
  }
  return spans;
}

}  // namespace schedlab::test
