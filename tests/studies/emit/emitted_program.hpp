// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/file.hpp"
#include "studies/emit/cuda_source.hpp"
#include "studies/emit/emitted_plan.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::testing {

/// The spec's plan, as `emit` loads it.
inline EmittedPlan emitted_plan(const std::string& spec) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "spec.json";
  write_file_atomically(file, spec);
  return load_emitted_plan(file.string(), {});
}

/// A program that was compiled against the recording run-time and run.
struct RecordedProgram {
  bool compiled = false;
  int exit_code = -1;
  std::string printed;
  std::vector<std::string> log;
};

/// `work`: false: nothing is computed.
inline RecordedProgram run_recorded(const std::string& source, bool work) {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  write_file_atomically(at("emitted.cu"), source);
  RecordedProgram program;
  const std::string compile = fmt::format(
      "{} -std=c++20 -O0 -w -DNVTX {} -I{}/tests/studies/emit/recording_cuda -x c++ {} -o {} > {} "
      "2>&1",
      SCHEDLAB_CXX,
      work ? "" : "-DSKIP_WORK",
      SCHEDLAB_CHECKOUT,
      at("emitted.cu"),
      at("program"),
      at("errors"));
  program.compiled = std::system(compile.c_str()) == 0;
  if (!program.compiled) {
    program.printed = read_file(at("errors"));
    return program;
  }
  const std::string run =
      fmt::format("RECORDING={} {} 1 > {} 2>&1", at("log"), at("program"), at("printed"));
  program.exit_code = std::system(run.c_str());
  program.printed = read_file(at("printed"));
  std::istringstream lines(read_file(at("log")));
  for (std::string line; std::getline(lines, line);) program.log.push_back(line);
  return program;
}

/// What a program's run of the plan asked of the run-time, in the plan's own numbers.
class RecordedPlan {
 public:
  /// `events`: of the plan; others keep launches of one graph in order.
  RecordedPlan(const std::vector<std::string>& log, std::uint32_t events) : events_(events) {
    for (const std::string& line : log) take(line);
    for (const Node& node : nodes_) finish(node);
  }
  std::vector<std::string> calls;                  ///< of run_plan
  std::vector<std::string> start;                  ///< streams that are there before
  std::map<int, std::vector<std::string>> graphs;  ///< nodes by executable graph
  std::map<std::string, int> pieces;               ///< by task

 private:
  struct Node {
    int graph = 0;
    int number = 0;
    int priority = 0;
    bool programmatic = false;
    std::string task;
    std::vector<int> needs;
  };

  void take(const std::string& line) {
    if (ended_) return;
    std::istringstream words(line);
    std::string word;
    words >> word;
    const auto number = [&] {
      int value = 0;
      words >> value;
      return value;
    };
    const auto rest = [&] {
      std::string text;
      std::getline(words >> std::ws, text);
      return text;
    };
    if (word == "push" || word == "pop") {
      const std::string name = rest();
      if (name == "plan") {
        in_plan_ = word == "push";
        ended_ = !in_plan_;  // later runs repeat it
      }
      if (word == "push" && in_plan_) open_.clear();
      return;
    }
    if (word == "create_stream") {
      number();
      const int priority = number();
      what_ = fmt::format("priority {} flags {}", priority, number());
      return;
    }
    if (word == "name") {
      const int stream = number();
      int planned = -1;
      words >> planned;
      if (words.fail()) return;  // of the program's own
      plan_stream_[stream] = planned;
      (in_plan_ ? calls : start).push_back(fmt::format("create_stream {} {}", planned, what_));
      return;
    }
    if (word == "programmatic") {
      programmatic_ = true;
      return;
    }
    if (word == "node") return take_node(words, number);
    if (word == "instantiate") {
      const int made = number();
      executable_[last_graph_] = made;
      flags_[made] = number();
      return;
    }
    if (!in_plan_) return;
    if (word == "piece") {
      const int stream = plan_stream(number());
      const std::string task = rest();
      ++pieces[task];
      const bool programmatic = std::exchange(programmatic_, false);
      if (open_ != task) {
        calls.push_back(
            fmt::format("launch {} {}{}", stream, task, programmatic ? " programmatic" : ""));
      }
      open_ = task;
    } else if (word == "record" || word == "wait") {
      const int stream = plan_stream(number());
      const auto event = static_cast<std::uint32_t>(number());
      if (event < events_) calls.push_back(fmt::format("{} {} {}", word, stream, event));
    } else if (word == "graph_launch") {
      const int stream = plan_stream(number());
      calls.push_back(fmt::format("{} {} {}", word, stream, number()));
    } else if (word == "synchronize") {
      calls.push_back(word);
    } else if (word == "synchronize_event") {
      calls.push_back(fmt::format("{} {}", word, number()));
    } else {
      calls.push_back(fmt::format("{} {}", word, plan_stream(number())));
    }
  }

  template <class Number>
  void take_node(std::istringstream& words, const Number& number) {
    Node node;
    node.graph = number();
    if (node.graph != last_graph_) count_ = 0;
    last_graph_ = node.graph;
    node.number = count_++;
    node.priority = number();
    for (std::string word; words >> word && word != "|";) node.needs.push_back(std::stoi(word));
    std::getline(words >> std::ws, node.task);
    node.programmatic = std::exchange(programmatic_, false);
    owner_[{node.graph, node.number}] = node.task;
    nodes_.push_back(node);
  }

  /// Several pieces of a task are one node of the plan.
  void finish(const Node& node) {
    std::vector<std::string> needs;
    for (const int need : node.needs) {
      const std::string& owner = owner_.at({node.graph, need});
      if (owner != node.task) needs.push_back(owner);
    }
    const bool first = needs.size() == node.needs.size();
    ++pieces[node.task];
    if (!first) return;
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    const int made = executable_.at(node.graph);
    graphs[made].push_back(fmt::format("{} priority {} needs [{}]{}",
                                       node.task,
                                       node.priority,
                                       fmt::join(needs, ", "),
                                       node.programmatic ? " programmatic" : ""));
  }

  [[nodiscard]] int plan_stream(int stream) const {
    const auto found = plan_stream_.find(stream);
    return found == plan_stream_.end() ? stream : found->second;
  }

  std::uint32_t events_;
  bool programmatic_ = false;  ///< the next piece is launched so
  bool in_plan_ = false;
  bool ended_ = false;
  int count_ = 0;
  int last_graph_ = -1;
  std::string what_;
  std::string open_;
  std::map<int, int> plan_stream_;
  std::map<int, int> executable_;
  std::map<int, int> flags_;
  std::map<std::pair<int, int>, std::string> owner_;
  std::vector<Node> nodes_;
};

/// The same of the plan itself.
struct PlannedCalls {
  explicit PlannedCalls(const EmittedPlan& emitted) {
    const Plan& plan = emitted.plan;
    std::vector<std::uint32_t> rows(plan.graphs.size(), 0);
    std::vector<int> first_executable;
    int next = 0;
    for (const DeviceGraph& graph : plan.graphs) {
      first_executable.push_back(next);
      next += static_cast<int>(graph.launch_count());
    }
    std::map<std::uint32_t, bool> made;
    for (const HostCall call : plan.hosts[HostId{0}].calls) {
      if (call.kind() == HostCallKind::create_stream) made[call.stream().value()] = true;
    }
    for (const StreamId stream : plan.streams.ids()) {
      const bool legacy = plan.streams[stream].sync == StreamSync::legacy_default;
      if (!made[stream.value()] && !legacy) start.push_back(created(plan, stream));
    }
    for (const HostCall call : plan.hosts[HostId{0}].calls) {
      const std::string name{to_string(call.kind())};
      switch (call.kind()) {
        case HostCallKind::create_stream:
          calls.push_back(created(plan, call.stream()));
          break;
        case HostCallKind::launch:
          calls.push_back(fmt::format("launch {} {}{}",
                                      stream_of(plan, call),
                                      emitted.graph().name(call.task()),
                                      call.programmatic() ? " programmatic" : ""));
          break;
        case HostCallKind::record:
        case HostCallKind::wait:
          calls.push_back(
              fmt::format("{} {} {}", name, stream_of(plan, call), call.event().value()));
          break;
        case HostCallKind::graph_launch:
          calls.push_back(
              fmt::format("graph_launch {} {}",
                          stream_of(plan, call),
                          first_executable[call.graph()] + static_cast<int>(rows[call.graph()]++)));
          break;
        case HostCallKind::synchronize:
          if (call.stream().valid()) {
            calls.push_back(fmt::format("synchronize_stream {}", stream_of(plan, call)));
          } else if (call.argument() != HostCall::none) {
            calls.push_back(fmt::format("synchronize_event {}", call.event().value()));
          } else {
            calls.emplace_back("synchronize");
          }
          break;
        case HostCallKind::sleep:
        case HostCallKind::graph_load:
          break;  // nothing is asked of the run-time
        default:
          calls.push_back(fmt::format("{} {}", name, stream_of(plan, call)));
      }
    }
    for (std::size_t g = 0; g < plan.graphs.size(); ++g) add_graph(emitted, g, first_executable[g]);
  }

  std::vector<std::string> calls;
  std::vector<std::string> start;
  std::map<int, std::vector<std::string>> graphs;

 private:
  static std::string created(const Plan& plan, StreamId stream) {
    const StreamSpec& spec = plan.streams[stream];
    return fmt::format("create_stream {} priority {} flags {}",
                       stream.value(),
                       spec.priority,
                       spec.sync == StreamSync::non_blocking ? 1 : 0);
  }
  static int stream_of(const Plan& plan, HostCall call) {
    const bool legacy = plan.streams[call.stream()].sync == StreamSync::legacy_default;
    return legacy ? -1 : static_cast<int>(call.stream().value());
  }
  void add_graph(const EmittedPlan& emitted, std::size_t g, int executable) {
    const DeviceGraph& graph = emitted.plan.graphs[g];
    for (std::uint32_t row = 0; row < graph.launch_count(); ++row) {
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        std::vector<std::string> needs;
        for (const std::uint32_t need : graph.needs(node)) {
          needs.push_back(emitted.graph().name(graph.task(row, need)));
        }
        std::sort(needs.begin(), needs.end());
        graphs[executable + static_cast<int>(row)].push_back(
            fmt::format("{} priority {} needs [{}]{}",
                        emitted.graph().name(graph.task(row, node)),
                        emitted.plan.streams[graph.stream(node)].priority,
                        fmt::join(needs, ", "),
                        graph.programmatic(node) ? " programmatic" : ""));
      }
    }
  }
};

}  // namespace schedlab::testing
