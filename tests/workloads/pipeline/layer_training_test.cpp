// SPDX-License-Identifier: Apache-2.0
// A training step of layers of a model or a file, whole and in slices of the batch.
#include "workloads/pipeline/layer_training.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/pipeline/layer_file.hpp"
#include "workloads/pipeline/layer_workloads.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace schedlab;

namespace {

using Given = std::map<std::string, OptionValue>;

LayerGraph layers_of(const std::string& model, std::int64_t samples, Given given = {}) {
  given["samples"] = samples;
  return make_layers(model, given).graph;
}

double flops_of(const TaskGraph& graph, const std::string& but = {}) {
  double sum = 0;
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).name != but) sum += graph.operation(task).flops().count();
  }
  return sum;
}

double training_flops(const LayerGraph& graph) {
  double sum = 0;
  for (const LayerId id : graph.layers.ids()) {
    const Layer& layer = graph.layers[id];
    for (const OperationId of :
         {layer.forward, layer.backward_data, layer.backward_weight, layer.update}) {
      if (of.valid()) sum += graph.operations[of].flops().count();
    }
  }
  return sum;
}

void check_same_work(const LayerGraph& found, const LayerGraph& expected) {
  // Sums over n samples have n - 1 additions, which are not linear.
  CHECK(training_flops(found) == doctest::Approx(training_flops(expected)).epsilon(0.001));
  REQUIRE(found.layers.size() == expected.layers.size());
  for (const LayerId id : found.layers.ids()) {
    const Layer& a = found.layers[id];
    const Layer& b = expected.layers[id];
    CAPTURE(a.name);
    CHECK(a.activation == b.activation);
    CHECK(a.kept == b.kept);
    for (auto pass : {&Layer::forward, &Layer::backward_data, &Layer::backward_weight}) {
      REQUIRE((a.*pass).valid() == (b.*pass).valid());
      if (!(a.*pass).valid()) continue;
      const auto& made = found.operations[a.*pass].kernels;
      const auto& own = expected.operations[b.*pass].kernels;
      REQUIRE(made.size() == own.size());
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (own[i].k == 0) continue;
        CHECK(made[i].m == own[i].m);
        CHECK(made[i].n == own[i].n);
        CHECK(made[i].k == own[i].k);
        CHECK(made[i].flops.count() == doctest::Approx(own[i].flops.count()));
        CHECK(made[i].bytes_read == own[i].bytes_read);
        CHECK(made[i].bytes_written == own[i].bytes_written);
      }
    }
  }
}

}  // namespace

TEST_CASE("layers of another batch are those that the model makes for it") {
  for (const char* model : {"mnist_cnn", "alexnet", "resnet50"}) {
    CAPTURE(model);
    check_same_work(with_samples(layers_of(model, 8), 2), layers_of(model, 2));
    check_same_work(with_samples(layers_of(model, 2), 6), layers_of(model, 6));
  }
  const Given small{{"blocks", std::int64_t{2}}, {"granularity", std::string{"operator"}}};
  check_same_work(with_samples(layers_of("gpt", 2, small), 4), layers_of("gpt", 4, small));
}

TEST_CASE("a batch that a product cannot be scaled to is refused by its name") {
  LayerGraph graph = layers_of("mnist_cnn", 8);
  graph.samples = 3;  // as a file might say
  CHECK_THROWS_WITH_AS(static_cast<void>(with_samples(graph, 6)),
                       doctest::Contains("samples of the file"),
                       InfeasibleError);
}

TEST_CASE(
    "a training step has every layer's work, and updates parameters after all who read them") {
  const LayerGraph layers = layers_of("resnet50", 4);
  const TaskGraph graph = layer_training(layers, true);
  CHECK(flops_of(graph) == doctest::Approx(training_flops(layers)));
  const TensorTable& tensors = graph.tensors();
  std::size_t parameters = 0;
  for (const TensorId id : tensors.ids()) {
    const std::string name = tensors.name(id);
    if (!name.starts_with("w(")) continue;
    ++parameters;
    const auto before = graph.predecessors(graph.find("update" + name.substr(1)));
    for (const TaskId reader : tensors.readers(id)) {
      CHECK(std::find(before.begin(), before.end(), reader) != before.end());
    }
  }
  CHECK(parameters > 50);
}

TEST_CASE("dependencies of a training step are complete without tensors") {
  const auto before = [](const TaskGraph& graph) {
    std::vector<std::set<std::uint32_t>> all(graph.task_count());
    for (const TaskId task : graph.topological_order()) {
      for (const TaskId direct : graph.predecessors(task)) {
        all[task.value()].insert(direct.value());
        all[task.value()].insert(all[direct.value()].begin(), all[direct.value()].end());
      }
    }
    return all;
  };
  const Given small{{"blocks", std::int64_t{1}}, {"tied", true}};
  for (const LayerGraph& layers : {layers_of("mnist_cnn", 4), layers_of("gpt", 2, small)}) {
    CHECK(before(layer_training(layers, true)) == before(layer_training(layers, false)));
  }
}

TEST_CASE("tied layers sum into one gradient and are updated once") {
  const Given small{{"blocks", std::int64_t{1}}, {"tied", true}};
  const TaskGraph graph = layer_training(layers_of("gpt", 2, small), true);
  const Given apart{{"blocks", std::int64_t{1}}, {"tied", false}};
  const TaskGraph other = layer_training(layers_of("gpt", 2, apart), true);
  const auto updates = [](const TaskGraph& of) {
    std::size_t count = 0;
    for (const TaskId task : of.tasks()) {
      if (of.operation(task).task_class == TaskClass::update) ++count;
    }
    return count;
  };
  CHECK(updates(graph) + 1 == updates(other));
}

TEST_CASE("an imported layer file is cut into slices of the batch, with the same work") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "layers.json";
  const Given small{{"blocks", std::int64_t{2}}, {"granularity", std::string{"operator"}}};
  const std::map<std::string, Given> models{{"resnet50", {}}, {"gpt", small}};
  for (const auto& [model, given] : models) {
    CAPTURE(model);
    write_file_atomically(path, write_layers_json(layers_of(model, 4, given)));
    const auto step = [&](std::int64_t batch, std::int64_t slices) {
      return make_workload("layer_file_training",
                           {{"path", path.string()}, {"batch", batch}, {"split", slices}});
    };
    const auto equals = [](double flops) { return doctest::Approx(flops).epsilon(0.001); };
    const TaskGraph whole = step(12, 1);
    CHECK(flops_of(whole) == equals(training_flops(layers_of(model, 12, given))));
    std::size_t updates = 0;
    for (const TaskId task : whole.tasks()) {
      if (whole.operation(task).task_class == TaskClass::update) ++updates;
    }
    for (const std::int64_t slices : {2, 5, 6}) {
      CAPTURE(slices);
      const TaskGraph cut = step(12, slices);
      CHECK(flops_of(cut, "merge") == equals(flops_of(whole)));
      // Updates once, and a merge for each.
      CHECK(cut.task_count() ==
            static_cast<std::size_t>(slices) * (whole.task_count() - updates) + 2 * updates);
    }
  }
}
