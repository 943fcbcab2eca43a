// SPDX-License-Identifier: Apache-2.0
// Fits the matrix libraries of the machine files to the open rows of a public benchmark and prints
// them as they stand in hw_models/specs/*.json: scripts/fit_libraries.sh. Each form of the model
// (largest split of k, narrow and slow kernels or none) is fitted to the rows of RowUse::fit; the
// form with the smallest error on these and the rows of RowUse::choose is taken, where each kernel
// more must be worth 5 %. Rows of RowUse::report count nowhere.
#include "hw_models/machine_spec.hpp"
#include "sim/base/rng.hpp"
#include "tests/comparisons/deepbench.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

namespace schedlab::testing::deepbench {
namespace {

using Vector = std::vector<double>;

struct Range {
  double low, high;
};

/// Differential evolution (Storn and Price, J. Global Optimization 11, 1997): rand/1/bin, F drawn
/// from [0.5, 1), CR 0.7. Deterministic.
Vector minimize(const std::function<double(const Vector&)>& error,
                const std::vector<Range>& ranges,
                int generations) {
  Rng rng{1};
  const std::size_t count = 10 * ranges.size();
  std::vector<Vector> points(count, Vector(ranges.size()));
  Vector errors(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < ranges.size(); ++j) {
      points[i][j] = ranges[j].low + rng.uniform() * (ranges[j].high - ranges[j].low);
    }
    errors[i] = error(points[i]);
  }
  for (int generation = 0; generation < generations; ++generation) {
    for (std::size_t i = 0; i < count; ++i) {
      const Vector& a = points[rng.below(count)];
      const Vector& b = points[rng.below(count)];
      const Vector& c = points[rng.below(count)];
      const double scale = 0.5 + 0.5 * rng.uniform();
      const std::size_t sure = rng.below(ranges.size());
      Vector trial = points[i];
      for (std::size_t j = 0; j < trial.size(); ++j) {
        if (j != sure && rng.uniform() > 0.7) continue;
        trial[j] = std::clamp(a[j] + scale * (b[j] - c[j]), ranges[j].low, ranges[j].high);
      }
      const double value = error(trial);
      if (value > errors[i]) continue;
      errors[i] = value;
      points[i] = std::move(trial);
    }
  }
  return points[static_cast<std::size_t>(std::min_element(errors.begin(), errors.end()) -
                                         errors.begin())];
}

/// Mean size of log(predicted / measured), what is beyond 0.5 counting a sixth: some rows ran in
/// kernels that no parameter explains.
class RobustError {
 public:
  void add(double predicted, double measured) {
    const double size = std::abs(std::log(predicted / measured));
    sum_ += std::min(size, 0.5) + 0.2 * size;
    ++count_;
  }
  [[nodiscard]] double mean() const { return count_ > 0 ? sum_ / count_ : 0.0; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

/// Three significant digits, as the files have them.
double rounded(double value) {
  return std::stod(fmt::format("{:.3g}", value));
}

/// Of the error, for each kernel that a form has more.
constexpr double worth = 0.05;

struct Form {
  std::int64_t max_split;
  std::int64_t narrow_side;
};
constexpr std::array<std::int64_t, 5> tile_m{128, 128, 64, 64, 32};
constexpr std::array<std::int64_t, 5> tile_n{128, 64, 64, 32, 32};

/// Efficiency of the largest tile, its factor for each halving of the area; logarithms of the three
/// times in us; memory share; factor of T,N; efficiency of narrow tiles.
const std::vector<Range> product_ranges{{0.3, 0.98},
                                        {0.7, 0.995},
                                        {std::log(0.002), std::log(0.4)},
                                        {std::log(0.1), std::log(80)},
                                        {std::log(0.1), std::log(60)},
                                        {0.35, 1.0},
                                        {0.6, 1.2},
                                        {0.02, 0.9}};

void set_products(const Vector& at,
                  const Form& form,
                  const Device& device,
                  MatrixLibrary& library) {
  library.tiles.clear();
  for (std::size_t i = 0; i < tile_m.size(); ++i) {
    const double halvings = std::log2(128.0 * 128.0 / static_cast<double>(tile_m[i] * tile_n[i]));
    GemmTile tile{.m = tile_m[i], .n = tile_n[i]};
    tile.efficiency = rounded(at[0] * std::pow(at[1], halvings));
    for (const GemmTile& listed : device.rates.gemm_tiles) {
      if (listed.m == tile.m && listed.n == tile.n) tile.block = listed.block;
    }
    library.tiles.push_back(tile);
  }
  library.tile_step = from_us(rounded(std::exp(at[2])));
  library.call = from_us(rounded(std::exp(at[3])));
  library.split = from_us(rounded(std::exp(at[4])));
  library.memory_share = rounded(at[5]);
  library.layout = {1.0, 1.0, rounded(at[6])};
  library.narrow_side = form.narrow_side;
  library.narrow_efficiency = form.narrow_side > 0 ? rounded(at[7]) : 1.0;
  library.max_split = form.max_split;
}

double products_error(const std::vector<Product>& products,
                      RowUse use,
                      DataType type,
                      const Device& device) {
  RobustError error;
  for (const Product& product : products) {
    if (product.use == use) error.add(product_us(product, type, device), product.us);
  }
  return error.mean();
}

double rows_with(const std::vector<Product>& products, RowUse use) {
  return static_cast<double>(std::count_if(
      products.begin(), products.end(), [&](const Product& p) { return p.use == use; }));
}

/// `library` is the only one of `device`.
void fit_products(const Target& target, const Device& device, MatrixLibrary& library) {
  const std::vector<Product> products = products_of(target);
  double best = std::numeric_limits<double>::max();
  const std::array<double, 2> counts{rows_with(products, RowUse::fit),
                                     rows_with(products, RowUse::choose)};
  MatrixLibrary chosen;
  const auto score = [&](double fitted, double held, int kernels_more) {
    return (fitted * counts[0] + held * counts[1]) * (1 + worth * kernels_more);
  };
  for (const std::int64_t narrow : {0, 16, 32}) {
    for (const std::int64_t split : {1, 4, 16}) {
      const Form form{split, narrow};
      const auto error = [&](const Vector& at) {
        set_products(at, form, device, library);
        return products_error(products, RowUse::fit, target.type, device);
      };
      const Vector found = minimize(error, product_ranges, 60);
      const double fitted = error(found);
      const double held = products_error(products, RowUse::choose, target.type, device);
      fmt::print(stderr,
                 "{} {} narrow {} split {}: {:.4f} on fitted rows, {:.4f} on choosing rows\n",
                 target.machine,
                 to_string(target.type),
                 narrow,
                 split,
                 fitted,
                 held);
      if (score(fitted, held, narrow > 0 ? 1 : 0) >= best) continue;
      best = score(fitted, held, narrow > 0 ? 1 : 0);
      chosen = library;
    }
  }
  library = chosen;
  best = score(products_error(products, RowUse::fit, target.type, device),
               products_error(products, RowUse::choose, target.type, device),
               0);
  // All else fixed: products in other layouts are as without it.
  double least = std::numeric_limits<double>::max();
  double share = 1.0;
  for (int hundredths = 30; hundredths < 100; ++hundredths) {
    library.strided_share = hundredths / 100.0;
    const double fitted = products_error(products, RowUse::fit, target.type, device);
    if (fitted >= least) continue;
    least = fitted;
    share = library.strided_share;
  }
  library.strided_share = share;
  const double held = products_error(products, RowUse::choose, target.type, device);
  fmt::print(stderr,
             "{} {} strided share {}: {:.4f} on fitted rows, {:.4f} on choosing rows\n",
             target.machine,
             to_string(target.type),
             share,
             least,
             held);
  if (score(least, held, 1) >= best) library.strided_share = 1.0;
}

/// Logarithms of `fixed` and `early` in us; memory share; efficiency; logarithms of
/// `narrow_efficiency` and of `slow_step` in us.
const std::vector<Range> pass_ranges{{std::log(0.5), std::log(120)},
                                     {std::log(0.1), std::log(120)},
                                     {0.1, 1.0},
                                     {0.1, 1.0},
                                     {std::log(0.02), std::log(0.9)},
                                     {std::log(0.05), std::log(0.4)}};

struct PassForm {
  bool narrow;
  bool slow;
};

void set_pass(const Vector& at, const PassForm& form, RecurrentPassCost& pass) {
  pass = {.fixed = from_us(rounded(std::exp(at[0]))),
          .early = from_us(rounded(std::exp(at[1]))),
          .memory_share = rounded(at[2]),
          .efficiency = rounded(at[3]),
          .narrow_efficiency = form.narrow ? rounded(std::exp(at[4])) : 0.0,
          .slow_step = from_us(form.slow ? rounded(std::exp(at[5])) : 0.0)};
}

double mean_error(const std::vector<Layer>& layers,
                  RowUse use,
                  const std::function<double(const Layer&)>& measured,
                  const std::function<double(const Layer&)>& predicted) {
  RobustError error;
  for (const Layer& layer : layers) {
    if (layer.use == use && measured(layer) > 0) error.add(predicted(layer), measured(layer));
  }
  return error.mean();
}

void fit_pass(const Target& target, const Device& device, bool forward, RecurrentPassCost& pass) {
  std::vector<Layer> layers;
  for (const Layer& layer : layers_of(target)) {
    if (layer.steps > 1) layers.push_back(layer);
  }
  const auto error_on = [&](RowUse use) {
    return mean_error(
        layers,
        use,
        [&](const Layer& layer) { return forward ? layer.forward_us : layer.data_gradient_us; },
        [&](const Layer& layer) { return call_us(layer, forward, target.type, device, pass); });
  };
  double best = std::numeric_limits<double>::max();
  RecurrentPassCost chosen;
  for (const PassForm form : {PassForm{false, false}, {false, true}, {true, false}, {true, true}}) {
    const auto error = [&](const Vector& at) {
      set_pass(at, form, pass);
      return error_on(RowUse::fit);
    };
    const Vector found = minimize(error, pass_ranges, 200);
    const double fitted = error(found);
    const double held = error_on(RowUse::choose);
    fmt::print(stderr,
               "{} {} {}, narrow {} slow {}: {:.4f} on fitted rows, {:.4f} on choosing rows\n",
               target.machine,
               to_string(target.type),
               forward ? "forward" : "data gradient",
               form.narrow,
               form.slow,
               fitted,
               held);
    const int more = (form.narrow ? 1 : 0) + (form.slow ? 1 : 0);
    const double score = (2 * fitted + held) * (1 + worth * more);
    if (score >= best) continue;
    best = score;
    chosen = pass;
  }
  pass = chosen;
}

/// Logarithm of `fixed` in us; efficiency; moves of the result and of the operands.
const std::vector<Range> weight_ranges{
    {std::log(0.5), std::log(400)}, {0.2, 1.0}, {1.0, 12.0}, {1.0, 12.0}};

void fit_weight_gradient(const Target& target, const Device& device, WeightGradientCost& pass) {
  const std::vector<Layer> layers = layers_of(target);
  const auto error_on = [&](RowUse use) {
    return mean_error(
        layers,
        use,
        [](const Layer& layer) { return layer.weight_gradient_us; },
        [&](const Layer& layer) { return weight_gradient_us(layer, target.type, device); });
  };
  const auto error = [&](const Vector& at) {
    pass = {.fixed = from_us(rounded(std::exp(at[0]))),
            .efficiency = rounded(at[1]),
            .result_moves = rounded(at[2]),
            .operand_moves = rounded(at[3])};
    return error_on(RowUse::fit);
  };
  const Vector found = minimize(error, weight_ranges, 100);
  const double fitted = error(found);
  fmt::print(stderr,
             "{} {} weight gradient: {:.4f} on fitted rows, {:.4f} on choosing rows\n",
             target.machine,
             to_string(target.type),
             fitted,
             error_on(RowUse::choose));
}

std::string text(const RecurrentPassCost& pass) {
  return fmt::format(
      R"({{"fixed_us": {}, "early_us": {}, "memory_share": {}, "efficiency": {}, "narrow_efficiency": {}, "slow_step_ns": {}}})",
      rounded(to_us(pass.fixed)),
      rounded(to_us(pass.early)),
      pass.memory_share,
      pass.efficiency,
      pass.narrow_efficiency,
      rounded(1e3 * to_us(pass.slow_step)));
}

/// As it stands in the machine's file, but for its name and source.
void print(const Target& target, const MatrixLibrary& library) {
  fmt::print("{}:\n        \"types\": [\"{}\"],\n        \"tiles\": [\n",
             target.machine,
             to_string(target.type));
  for (const GemmTile& tile : library.tiles) {
    fmt::print("          {{\"m\": {}, \"n\": {}, \"efficiency\": {}}}{}\n",
               tile.m,
               tile.n,
               tile.efficiency,
               &tile == &library.tiles.back() ? "]," : ",");
  }
  fmt::print(
      "        \"call_us\": {}, \"split_us\": {}, \"tile_step_ns\": {}, \"max_split\": {},\n",
      rounded(to_us(library.call)),
      rounded(to_us(library.split)),
      rounded(1e3 * to_us(library.tile_step)),
      library.max_split);
  fmt::print(
      "        \"memory_share\": {}, \"strided_share\": {}, \"layout_tn\": {}, "
      "\"narrow_side\": {}, \"narrow_efficiency\": {},\n",
      library.memory_share,
      library.strided_share,
      library.layout[static_cast<std::size_t>(GemmLayout::tn)],
      library.narrow_side,
      library.narrow_efficiency);
  fmt::print(
      "        \"recurrent\": {{\n          \"forward\": {},\n          \"data_gradient\": {},\n",
      text(library.forward),
      text(library.data_gradient));
  const WeightGradientCost& weights = library.weight_gradient;
  fmt::print(
      "          \"weight_gradient\": {{\"fixed_us\": {}, \"efficiency\": {}, "
      "\"result_moves\": {}, \"operand_moves\": {}}}}},\n",
      rounded(to_us(weights.fixed)),
      weights.efficiency,
      weights.result_moves,
      weights.operand_moves);
}

int run() {
  if (!std::filesystem::exists(reference_data_folder() / "deepbench" / "gemm.csv")) {
    fmt::print(stderr, "skipped: no reference data (set SCHEDLAB_REFERENCE_DATA)\n");
    return 77;
  }
  for (const Target& target : targets) {
    Device device = load_machine(target.machine).platform.devices[DeviceId{0}];
    const auto profile = std::make_shared<KernelProfile>();
    profile->libraries.resize(1);
    MatrixLibrary& library = profile->libraries.front();
    library.types = {target.type};
    device.profile = profile;
    fit_products(target, device, library);
    library.recurrent = true;
    fit_pass(target, device, true, library.forward);
    fit_pass(target, device, false, library.data_gradient);
    fit_weight_gradient(target, device, library.weight_gradient);
    print(target, library);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace schedlab::testing::deepbench

int main() {
  return schedlab::testing::deepbench::run();
}
