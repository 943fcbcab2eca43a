// SPDX-License-Identifier: Apache-2.0
// How far the models are from measured products and recurrent layers of a public benchmark
// (baidu-research/DeepBench, training rows of M40, P100 and V100). The libraries of the machine
// files are fitted to half of the shapes, their form is chosen with another quarter; the rest is
// predicted (row_split.hpp), and so is all of the models without them.
#include "tests/comparisons/deepbench.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

namespace schedlab {
namespace {

using namespace testing::deepbench;
using testing::Errors;

bool data_is_here() {
  return testing::reference_data("deepbench/gemm.csv").has_value();
}

/// Errors by what a row was used for.
class ByUse {
 public:
  Errors& operator[](RowUse use) { return errors_[static_cast<std::size_t>(use)]; }
  void print(const std::string& what) const {
    constexpr std::array<const char*, 3> words{"fitted", "choosing", "predicted"};
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      if (errors_[i].count() == 0) continue;
      MESSAGE(fmt::format("{}, {} rows: {}", what, words[i], errors_[i].summary()));
    }
  }

 private:
  std::array<Errors, 3> errors_;
};

/// A product and a cell per step (forward), or a cell and a product (backward), in a chain.
TaskGraph chain(const Layer& layer, DataType type, bool forward) {
  TaskGraphBuilder builder;
  const OperationId product = builder.add_operation(step_product(layer, type, forward));
  const OperationId cell = builder.add_operation(step_cell(layer, type));
  const TensorId weights = builder.add_tensor(
      {.name = "W",
       .bytes = Bytes{bytes_per_element(type) * layer.gates * layer.hidden * layer.hidden},
       .persistent = true});
  TaskId before;
  for (std::int64_t i = 0; i < 2 * layer.steps; ++i) {
    const bool is_product = (i % 2 == 0) == forward;
    const TaskId task = builder.add_task(is_product ? product : cell);
    if (is_product) builder.reads(task, weights);
    if (i > 0) builder.add_edge(before, task);
    before = task;
  }
  return std::move(builder).build();
}

double simulated_us(const TaskGraph& graph, const Platform& platform, const GemmOptions& options) {
  const CostTable costs{graph, platform, TiledGemm{options}};
  const Problem problem{graph, platform, costs};
  return to_us(simulate(problem, make_policy("single_stream")->plan(problem)).makespan());
}

/// Of a call: the simulated chain, and what its first steps take longer.
double pass_us(const Layer& layer,
               const Target& target,
               const Platform& platform,
               bool forward,
               bool library) {
  const Device& device = platform.devices[DeviceId{0}];
  GemmOptions options{.library = LibraryUse::none};
  if (library) {
    options.library = forward ? LibraryUse::recurrent_forward : LibraryUse::recurrent_data_gradient;
  }
  double us = simulated_us(chain(layer, target.type, forward), platform, options);
  const MatrixLibrary* const known = library_of(device, target.type);
  if (library && known != nullptr) {
    us += to_us((forward ? known->forward : known->data_gradient).early) *
          static_cast<double>(std::min(layer.steps, recurrent_early_steps));
  }
  return us;
}

}  // namespace

TEST_CASE("products of M40, P100 and V100: fitted libraries and plain tiles") {
  if (!data_is_here()) return;
  for (const Target& target : targets) {
    const std::vector<Product> products = products_of(target);
    REQUIRE(products.size() > 10);
    const Device device = load_machine(target.machine).platform.devices[DeviceId{0}];
    ByUse fitted;
    Errors all;
    Errors plain;
    Errors roofline;
    for (const Product& product : products) {
      const double us = product_us(product, target.type, device);
      fitted[product.use].add(us, product.us);
      all.add(us, product.us);
      plain.add(product_us(product, target.type, device, {.library = LibraryUse::none}),
                product.us);
      roofline.add(
          to_us(make_cost_model("roofline")
                    ->estimate(product_operation(product.m, product.n, product.k, target.type),
                               device)
                    .duration),
          product.us);
    }
    const std::string name = fmt::format("{} {}", target.machine, to_string(target.type));
    MESSAGE(fmt::format("{}, roofline: {}", name, roofline.summary()));
    MESSAGE(fmt::format("{}, tiles without a library: {}", name, plain.summary()));
    MESSAGE(fmt::format("{}, library, all rows: {}", name, all.summary()));
    fitted.print(name + ", library");
    CAPTURE(name);
    CHECK(all.median() < 0.1);
    CHECK(all.quantile(0.9) < 0.3);
    CHECK(all.median() < plain.median());
  }
}

TEST_CASE("recurrent layers of M40, P100 and V100: a step of the library, and plain products") {
  if (!data_is_here()) return;
  for (const Target& target : targets) {
    const Platform platform = load_machine(target.machine).platform;
    std::map<std::string, ByUse> errors;
    std::map<std::string, Errors> all;
    std::map<std::string, Errors> plain;
    for (const Layer& layer : layers_of(target)) {
      const auto add = [&](const std::string& pass, double us, double plain_us, double measured) {
        if (measured <= 0) return;
        errors[pass][layer.use].add(us, measured);
        all[pass].add(us, measured);
        plain[pass].add(plain_us, measured);
      };
      for (const bool forward : {true, false}) {
        add(forward ? "forward" : "data gradient",
            pass_us(layer, target, platform, forward, true),
            pass_us(layer, target, platform, forward, false),
            forward ? layer.forward_us : layer.data_gradient_us);
      }
      const Operation weights = weight_gradient(layer, target.type);
      const Device& device = platform.devices[DeviceId{0}];
      add("weight gradient",
          weight_gradient_us(layer, target.type, device),
          to_us(TiledGemm{{.library = LibraryUse::none}}.estimate(weights, device).duration),
          layer.weight_gradient_us);
    }
    for (auto& [pass, error] : errors) {
      const std::string name =
          fmt::format("{} {}, {}", target.machine, to_string(target.type), pass);
      MESSAGE(fmt::format("{}, plain products: {}", name, plain[pass].summary()));
      MESSAGE(fmt::format("{}, library, all rows: {}", name, all[pass].summary()));
      error.print(name + ", library");
      CAPTURE(name);
      CHECK(all[pass].median() < 0.15);
      CHECK(error[RowUse::report].median() < 0.21);
    }
  }
}

TEST_CASE("where the model would split k, measurements say whether the library did") {
  if (!data_is_here()) return;
  for (const Target& target : targets) {
    const Device device = load_machine(target.machine).platform.devices[DeviceId{0}];
    Errors split;
    Errors whole;
    std::size_t nearer = 0;
    for (const Product& product : products_of(target)) {
      const double with = product_us(product, target.type, device);
      const double without = product_us(product, target.type, device, {.max_split = 1});
      CHECK(with <= without);  // it is used only where it is faster
      if (with == without) continue;
      split.add(with, product.us);
      whole.add(without, product.us);
      // On a logarithmic scale, as twice too slow is no better than half of it.
      nearer += std::abs(std::log(with / product.us)) < std::abs(std::log(without / product.us));
    }
    MESSAGE(
        fmt::format("{} {}: split-k would be faster in {} rows; nearer to the measured time in "
                    "{}; with it {}; without {}",
                    target.machine,
                    to_string(target.type),
                    split.count(),
                    nearer,
                    split.summary(),
                    whole.summary()));
  }
}

namespace {

/// Rows in which one of two predictions is nearer to the measured time.
struct Nearer {
  Errors split, whole;
  std::size_t without = 0;

  void add(double with_us, double without_us, double measured) {
    split.add(with_us, measured);
    whole.add(without_us, measured);
    // On a logarithmic scale, as twice too slow is no better than half of it.
    without += std::abs(std::log(without_us / measured)) < std::abs(std::log(with_us / measured));
  }
  [[nodiscard]] std::string text() const {
    return split.count() == 0
               ? std::string{"no rows"}
               : fmt::format("nearer without split-k in {} of {}; with it {}; without {}",
                             without,
                             split.count(),
                             split.summary(),
                             whole.summary());
  }
};

}  // namespace

TEST_CASE("products of recurrent steps: is a data gradient nearer to its products with split-k?") {
  if (!data_is_here()) return;
  // No parameter of these products is fitted to recurrent rows. A rule would be read off the half
  // of them that fits other models, and held against the rest.
  constexpr std::int64_t widest_of_rule = 1024;
  std::size_t held_out = 0;
  for (const Target& target : targets) {
    if (target.type != DataType::fp32) continue;
    const Platform platform = load_machine(target.machine).platform;
    std::map<std::int64_t, Nearer> by_hidden;
    std::map<std::pair<bool, bool>, Nearer> groups;  // up to the widest of the rule; held out
    for (const Layer& layer : layers_of(target)) {
      if (layer.data_gradient_us <= 0 || layer.steps < 2) continue;
      const TaskGraph graph = chain(layer, target.type, false);
      const double with = simulated_us(graph, platform, {});
      const double without = simulated_us(graph, platform, {.max_split = 1});
      const bool narrow = layer.hidden <= widest_of_rule;
      const bool report = layer.use != RowUse::fit;
      if (!report) by_hidden[layer.hidden].add(with, without, layer.data_gradient_us);
      groups[{narrow, report}].add(with, without, layer.data_gradient_us);
    }
    for (const auto& [hidden, nearer] : by_hidden) {
      MESSAGE(fmt::format("{}, hidden {}: {}", target.machine, hidden, nearer.text()));
    }
    for (const auto& [key, nearer] : groups) {
      MESSAGE(fmt::format("{}, hidden {} {}, {} rows: {}",
                          target.machine,
                          key.first ? "up to" : "above",
                          widest_of_rule,
                          key.second ? "held-out" : "other",
                          nearer.text()));
    }
    held_out += groups[{true, true}].split.count();
  }
  // The split by shapes leaves no row on which a rule for narrow layers could be tested.
  CHECK(held_out == 0);
}

}  // namespace schedlab
