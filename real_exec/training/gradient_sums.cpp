// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/gradient_sums.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace schedlab::detail {
namespace {

/// What one collective of a pipeline's graph sums: the parameters of layers, by their owners.
struct SumSubject {
  std::vector<std::size_t> owners;
  std::int64_t floats = 0;
};

/// In the order in which pipeline_graph() makes its collectives: of each stage what is its own,
/// then what several stages use; those that one rank would sum alone are left out.
std::vector<SumSubject> sum_subjects(const PipelineTraining& training) {
  const std::vector<std::size_t> owners = parameter_owners(training.net);
  const std::vector<SampleShape> shapes = layer_shapes(training.net);
  std::map<std::size_t, std::set<std::uint32_t>> stages_of;
  for (std::uint32_t stage = 0; stage < training.stage_count(); ++stage) {
    for (std::size_t i = training.stages[stage].first; i < training.stages[stage].last; ++i) {
      if (layer_parameters(training.net.layers[i], shapes[i]) > 0) {
        stages_of[owners[i]].insert(stage);
      }
    }
  }
  std::vector<SumSubject> subjects;
  const auto add = [&](const std::vector<std::size_t>& of, const std::set<std::uint32_t>& stages) {
    std::set<std::uint32_t> ranks;
    for (std::uint32_t replica = 0; replica < training.replicas; ++replica) {
      for (const std::uint32_t stage : stages) ranks.insert(training.rank_of(replica, stage));
    }
    if (ranks.size() < 2 || of.empty()) return;
    SumSubject subject{of, 0};
    for (const std::size_t owner : of) {
      subject.floats += layer_parameters(training.net.layers[owner], shapes[owner]);
    }
    subjects.push_back(std::move(subject));
  };
  for (std::uint32_t stage = 0; stage < training.stage_count(); ++stage) {
    std::vector<std::size_t> own;
    for (const auto& [owner, stages] : stages_of) {
      if (stages == std::set{stage}) own.push_back(owner);
    }
    add(own, {stage});
  }
  for (const auto& [owner, stages] : stages_of) {
    if (stages.size() > 1) add({owner}, stages);
  }
  return subjects;
}

}  // namespace

GradientSums::GradientSums(const PipelineTraining& training,
                           const TaskGraph& graph,
                           LocalStages& stages,
                           RankLink& link)
    : stages_(stages), link_(link) {
  const std::vector<SumSubject> subjects = sum_subjects(training);
  const CollectiveTable& collectives = graph.collectives();
  SCHEDLAB_EXPECTS(
      subjects.size() == collectives.size(),
      fmt::format("{} collectives in the graph, {} expected", collectives.size(), subjects.size()));
  std::set<std::size_t> summed;
  for (const CollectiveId id : collectives.ids()) {
    const SumSubject& subject = subjects[id.value()];
    SCHEDLAB_EXPECTS(
        collectives.spec(id).bytes == Bytes{4 * subject.floats},
        fmt::format("collective {} of {} bytes", id.value(), collectives.spec(id).bytes.count()));
    std::vector<int> ranks;
    TaskId mine;
    for (const TaskId task : collectives.tasks(id)) {
      ranks.push_back(static_cast<int>(graph.rank(task)));
      if (ranks.back() == link.rank()) mine = task;
    }
    if (!mine.valid()) continue;
    std::sort(ranks.begin(), ranks.end());
    Sum& sum = sums_[mine];
    sum.group = link.add_group(ranks);
    for (const std::size_t owner : subject.owners) {
      sum.copies.push_back(copies_of(owner));
      summed.insert(owner);
    }
    sum.buffer.resize(static_cast<std::size_t>(subject.floats));
  }
  for (std::size_t owner = 0; owner < training.net.layers.size(); ++owner) {
    Copies copies = copies_of(owner);
    if (copies.size() > 1 && !summed.contains(owner)) local_.push_back(std::move(copies));
  }
}

GradientSums::Copies GradientSums::copies_of(std::size_t owner) const {
  Copies copies;
  for (const auto& [number, stage] : stages_) {
    for (const TrainingStage::Block& block : stage->blocks()) {
      if (block.owner == owner) copies.push_back({number, block.offset, block.size});
    }
  }
  return copies;
}

std::span<float> GradientSums::gradient(const Piece& piece) {
  return stages_.at(piece.stage)->gradients().subspan(piece.offset, piece.size);
}

void GradientSums::pack(Sum& sum) {
  auto to = sum.buffer.begin();
  for (const Copies& copies : sum.copies) {
    const auto begin = to;
    const auto first = gradient(copies.front());
    to = std::copy(first.begin(), first.end(), to);
    for (std::size_t i = 1; i < copies.size(); ++i) {
      const auto more = gradient(copies[i]);
      std::transform(more.begin(), more.end(), begin, begin, std::plus<>{});
    }
  }
}

void GradientSums::unpack(Sum& sum) {
  auto from = sum.buffer.begin();
  for (const Copies& copies : sum.copies) {
    for (const Piece& piece : copies) {
      std::copy_n(from, piece.size, gradient(piece).begin());
    }
    from += static_cast<std::ptrdiff_t>(copies.front().size);
  }
}

void GradientSums::start(TaskId task) {
  Sum& sum = sums_.at(task);
  pack(sum);
  sum.request = link_.start_sum(sum.buffer, sum.group);
  sum.under_way = true;
}

bool GradientSums::under_way(TaskId task) const {
  const auto found = sums_.find(task);
  return found != sums_.end() && found->second.under_way;
}

void GradientSums::finish(TaskId task) {
  Sum& sum = sums_.at(task);
  link_.wait(sum.request);
  sum.under_way = false;
  unpack(sum);
}

void GradientSums::add_local_copies() {
  for (const Copies& copies : local_) {
    const auto first = gradient(copies.front());
    for (std::size_t i = 1; i < copies.size(); ++i) {
      const auto more = gradient(copies[i]);
      std::transform(more.begin(), more.end(), first.begin(), first.begin(), std::plus<>{});
    }
    for (std::size_t i = 1; i < copies.size(); ++i) {
      std::copy(first.begin(), first.end(), gradient(copies[i]).begin());
    }
  }
}

}  // namespace schedlab::detail
