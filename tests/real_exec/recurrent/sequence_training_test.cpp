// SPDX-License-Identifier: Apache-2.0
// Sequences of different lengths in one batch, and training over several steps.
#include "real_exec/recurrent/kept_lines.hpp"
#include "real_exec/recurrent/sequence_corpus.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace schedlab;
using doctest::Approx;

namespace {

constexpr std::uint64_t weights_seed = 3;
constexpr float weight = 20.0F;

RecurrentSpec network(std::int64_t steps, std::int64_t batch) {
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  spec.steps = steps;
  spec.batch = batch;
  spec.tensors = true;
  return spec;
}

SequenceCorpus corpus_of(const std::vector<std::int64_t>& lengths) {
  const RecurrentSpec spec = network(1, 1);
  return {lengths, spec.input, spec.hidden, 7};
}

/// A network with its graph; runs one after another.
struct Trainer {
  explicit Trainer(const RecurrentSpec& given)
      : spec(given), graph(recurrent(given)), work(given, graph, weights_seed) {}

  void step(const SequenceCorpus& corpus,
            const std::vector<std::uint32_t>& members,
            const RecurrentWork& weights) {
    PaddedBatch batch;
    corpus.fill(members, spec.batch, spec.steps, weight, batch);
    work.train_on(batch);
    work.continue_from(weights);
    run_serially(work, graph);
  }

  RecurrentSpec spec;
  TaskGraph graph;
  RecurrentWork work;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return most;
}

}  // namespace

TEST_CASE("padding changes no gradient, not by a bit") {
  const SequenceCorpus corpus = corpus_of({4, 4, 4});
  for (const Recompute recompute : {Recompute::keep_backward, Recompute::data_drop}) {
    CAPTURE(std::string{to_string(recompute)});
    RecurrentSpec spec = network(4, 3);
    spec.recompute = recompute;
    Trainer exact{spec};
    spec.steps = 9;
    Trainer padded{spec};
    const Trainer origin{network(2, 3)};
    exact.step(corpus, {0, 1, 2}, origin.work);
    padded.step(corpus, {0, 1, 2}, origin.work);
    const RecurrentResults<float> a = exact.work.results();
    const RecurrentResults<float> b = padded.work.results();
    CHECK(a.loss > 0);
    CHECK(a.loss == b.loss);
    for (std::size_t i = 0; i < a.chains.size(); ++i) {
      CHECK(a.chains[i].dwx == b.chains[i].dwx);
      CHECK(a.chains[i].dwh == b.chains[i].dwh);
      CHECK(a.chains[i].dbias == b.chains[i].dbias);
      CHECK(a.chains[i].wh == b.chains[i].wh);
    }
    // dx of real steps is the same, of padding zero.
    const std::vector<float> real(b.dx.begin(),
                                  b.dx.begin() + static_cast<std::ptrdiff_t>(a.dx.size()));
    CHECK(real == a.dx);
    CHECK(std::accumulate(b.dx.begin() + static_cast<std::ptrdiff_t>(a.dx.size()),
                          b.dx.end(),
                          0.0,
                          [](double sum, float x) { return sum + std::abs(x); }) == 0.0);
  }
}

TEST_CASE("a batch of different lengths has the summed gradients of its sequences") {
  const std::vector<std::int64_t> lengths{5, 2, 4};
  const SequenceCorpus corpus = corpus_of(lengths);
  const Trainer origin{network(1, 1)};
  Trainer together{network(6, 4)};  // the fourth row stays empty
  together.step(corpus, {0, 1, 2}, origin.work);
  const RecurrentResults<float> all = together.work.results();

  std::vector<double> sum(all.chains[0].dwh.size(), 0.0);
  double loss = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    Trainer alone{network(lengths[i], 1)};
    alone.step(corpus, {i}, origin.work);
    const RecurrentResults<float> one = alone.work.results();
    // Alone it is divided by its own steps, in the batch by the 11 of all.
    const double share = static_cast<double>(lengths[i]) / 11;
    loss += share * static_cast<double>(one.loss);
    for (std::size_t j = 0; j < sum.size(); ++j) {
      sum[j] += share * static_cast<double>(one.chains[0].dwh[j]);
    }
  }
  CHECK(static_cast<double>(all.loss) == Approx(loss).epsilon(1e-5));
  const std::vector<float> expected(sum.begin(), sum.end());
  CHECK(largest_difference(all.chains[0].dwh, expected) < 1e-6);
  const double size = largest_difference(expected, std::vector<float>(expected.size(), 0.0F));
  CHECK(size > 1e-3);  // so that the line before says something
}

TEST_CASE("packed sequences have the gradients that they have in rows of their own") {
  const std::vector<std::int64_t> lengths{3, 2, 4, 1};
  for (RecurrentSpec spec : {network(8, 2),
                             test::odd_network(RecurrentCell::gru),
                             test::odd_network(RecurrentCell::gru_reset_before),
                             test::projected_network(),
                             test::recomputed_network(test::projected_network())}) {
    CAPTURE(static_cast<int>(spec.cell));
    CAPTURE(spec.projection);
    CAPTURE(std::string{to_string(spec.recompute)});
    spec.steps = 9;
    spec.batch = 2;
    const SequenceCorpus corpus{
        lengths, spec.input, spec.projection > 0 ? spec.projection : spec.hidden, 7};
    RecurrentSpec apart = spec;
    apart.batch = 4;
    const TaskGraph origin_graph = recurrent(spec);
    const RecurrentWork origin{spec, origin_graph, weights_seed};
    const auto trained = [&](const RecurrentSpec& of, const std::vector<std::uint32_t>& rows) {
      const TaskGraph graph = recurrent(of);
      RecurrentWork work{of, graph, weights_seed};
      PaddedBatch batch;
      corpus.fill(std::vector<std::uint32_t>{0, 1, 3, 2}, of.batch, of.steps, weight, batch, rows);
      CHECK(batch.breaks.empty() == rows.empty());
      work.train_on(batch);
      work.continue_from(origin);
      run_serially(work, graph);
      return work.results();
    };
    // 3, 2 and 1 steps with one between each two fill 8 of the first row.
    const RecurrentResults<float> packed = trained(spec, {0, 0, 0, 1});
    const RecurrentResults<float> alone = trained(apart, {});
    CHECK(packed.loss == Approx(alone.loss).epsilon(1e-6));
    for (std::size_t i = 0; i < packed.chains.size(); ++i) {
      CAPTURE(i);
      CHECK(largest_difference(packed.chains[i].dwx, alone.chains[i].dwx) < 2e-6);
      CHECK(largest_difference(packed.chains[i].dwh, alone.chains[i].dwh) < 2e-6);
      CHECK(largest_difference(packed.chains[i].dbias, alone.chains[i].dbias) < 2e-6);
      CHECK(largest_difference(packed.chains[i].dwp, alone.chains[i].dwp) < 2e-6);
      // So that the lines before say something.
      const std::vector<float> zero(alone.chains[i].dwh.size(), 0.0F);
      CHECK(largest_difference(alone.chains[i].dwh, zero) > 1e-3);
    }
  }
}

TEST_CASE("weights go on from step to step and from bucket to bucket") {
  const SequenceCorpus corpus = corpus_of({3, 3, 6, 6});
  Trainer small{network(3, 2)};
  Trainer large{network(6, 2)};
  small.step(corpus, {0, 1}, small.work);
  const auto before = small.work.results().chains[1];
  large.step(corpus, {2, 3}, small.work);
  const auto after = large.work.results().chains[1];
  std::vector<float> expected = before.wh;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] -= static_cast<float>(sgd_rate) * after.dwh[i];
  }
  CHECK(largest_difference(after.wh, expected) < 1e-7);
  CHECK(after.wh != before.wh);
}

TEST_CASE("the loss falls as a network is trained on the corpus") {
  const SequenceCorpus corpus = corpus_of({4, 6, 5, 6, 3, 6, 2, 6});
  Trainer trainer{network(6, 8)};
  trainer.step(corpus, {0, 1, 2, 3, 4, 5, 6, 7}, trainer.work);
  const float first = trainer.work.loss();
  for (int i = 0; i < 30; ++i) {
    trainer.step(corpus, {0, 1, 2, 3, 4, 5, 6, 7}, trainer.work);
  }
  CHECK(trainer.work.loss() < 0.8F * first);
}

TEST_CASE("what a sequence holds does not depend on its batch") {
  const SequenceCorpus corpus = corpus_of({2, 3});
  PaddedBatch together;
  PaddedBatch alone;
  corpus.fill(std::vector<std::uint32_t>{0, 1}, 2, 4, weight, together);
  corpus.fill(std::vector<std::uint32_t>{1}, 1, 3, weight, alone);
  CHECK(together.lengths == std::vector<std::int64_t>{2, 3});
  CHECK(together.scale == Approx(weight / 5));
  constexpr std::size_t input = 5;  // of odd_network()
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < input; ++i) {
      CHECK(together.x[(step * 2 + 1) * input + i] == alone.x[step * input + i]);
    }
  }
  CHECK(together.x[(2 * 2 + 0) * input] == 0.0F);  // beyond the end of sequence 0
}

TEST_CASE("what cannot be trained on sequences is refused with what to do") {
  const auto refused = [](const RecurrentSpec& spec) -> std::string {
    Trainer trainer{spec};
    const PaddedBatch batch{.x = trainer.work.inputs().x,
                            .target = trainer.work.inputs().target,
                            .lengths = std::vector<std::int64_t>(3, 1),
                            .scale = 1.0F};
    try {
      trainer.work.train_on(batch);
    } catch (const InfeasibleError& error) {
      return error.what();
    }
    return "accepted";
  };
  RecurrentSpec spec = network(4, 3);
  spec.optimizer = Optimizer::adam;
  CHECK(refused(spec).find("\"optimizer\": \"sgd\"") != std::string::npos);
  spec = network(4, 3);
  spec.bidirectional = Bidirectional::first;
  CHECK(refused(spec).find("\"bidirectional\": \"none\"") != std::string::npos);
  spec = network(4, 3);
  spec.pass = RecurrentPass::forward;
  CHECK(refused(spec).find("\"pass\": \"training\"") != std::string::npos);
  Trainer trainer{network(4, 3)};
  CHECK_THROWS_AS(trainer.work.train_on({}), ContractViolation);
}

TEST_CASE("memory that is given back is taken again, and arrays do not overlap") {
  detail::KeptLines lines;
  std::vector<std::pair<char*, std::size_t>> taken;
  for (const std::size_t bytes : {100UL, 4096UL, 100UL, 3UL << 20U, 64UL, 8UL << 20U, 100UL}) {
    taken.emplace_back(static_cast<char*>(lines.take(bytes)), bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(taken.back().first) % 64 == 0);
    std::fill_n(taken.back().first, bytes, static_cast<char>(taken.size()));
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    CHECK(taken[i].first[0] == static_cast<char>(i + 1));
    CHECK(taken[i].first[taken[i].second - 1] == static_cast<char>(i + 1));
  }
  for (const auto& [memory, bytes] : taken) lines.give_back(memory, bytes);
  CHECK(lines.take(3UL << 20U) == taken[3].first);
  CHECK(lines.take(100) == taken[6].first);  // the last one that came back
  CHECK(lines.take(100) == taken[2].first);
}
