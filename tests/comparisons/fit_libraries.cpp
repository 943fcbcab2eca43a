// SPDX-License-Identifier: Apache-2.0
// Fits the matrix libraries of the machine files to the open rows of a public benchmark and prints
// them as they stand in hw_models/specs/*.json: scripts/fit_libraries.sh. Each form of the model
// (largest split of k, narrow kernels or none) is fitted to the rows of RowUse::fit; the form with
// the smallest error on these and the rows of RowUse::choose is taken. Rows of RowUse::report count
// nowhere.
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
      // Of all open rows; a kernel more must be worth 5 %.
      const double score = fitted * counts[0] + held * counts[1];
      if (score >= best * (narrow > 0 ? 0.95 : 1.0)) continue;
      best = score;
      chosen = library;
    }
  }
  library = chosen;
}

/// Logarithms of `fixed` and `early` in us; memory share; efficiency.
const std::vector<Range> pass_ranges{
    {std::log(0.5), std::log(120)}, {std::log(0.1), std::log(120)}, {0.1, 1.0}, {0.1, 1.0}};

void set_pass(const Vector& at, RecurrentPassCost& pass) {
  pass = {.fixed = from_us(rounded(std::exp(at[0]))),
          .early = from_us(rounded(std::exp(at[1]))),
          .memory_share = rounded(at[2]),
          .efficiency = rounded(at[3])};
}

void fit_pass(const Target& target, const Device& device, bool forward, RecurrentPassCost& pass) {
  std::vector<Layer> layers;
  for (const Layer& layer : layers_of(target)) {
    if (layer.steps > 1 && !layer.slow_algorithm) layers.push_back(layer);
  }
  const auto error_on = [&](RowUse use) {
    RobustError error;
    for (const Layer& layer : layers) {
      const double measured = forward ? layer.forward_us : layer.data_gradient_us;
      if (layer.use != use || measured <= 0) continue;
      error.add(call_us(layer, forward, target.type, device, pass), measured);
    }
    return error.mean();
  };
  const auto error = [&](const Vector& at) {
    set_pass(at, pass);
    return error_on(RowUse::fit);
  };
  const Vector found = minimize(error, pass_ranges, 100);
  const double fitted = error(found);
  fmt::print(stderr,
             "{} {} {}: {:.4f} on fitted rows, {:.4f} on choosing rows\n",
             target.machine,
             to_string(target.type),
             forward ? "forward" : "data gradient",
             fitted,
             error_on(RowUse::choose));
}

std::string text(const RecurrentPassCost& pass) {
  return fmt::format(R"({{"fixed_us": {}, "early_us": {}, "memory_share": {}, "efficiency": {}}})",
                     rounded(to_us(pass.fixed)),
                     rounded(to_us(pass.early)),
                     pass.memory_share,
                     pass.efficiency);
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
      "        \"memory_share\": {}, \"layout_tn\": {}, \"narrow_side\": {}, "
      "\"narrow_efficiency\": {},\n",
      library.memory_share,
      library.layout[static_cast<std::size_t>(GemmLayout::tn)],
      library.narrow_side,
      library.narrow_efficiency);
  fmt::print(
      "        \"recurrent\": {{\n          \"forward\": {},\n          \"data_gradient\": {}}}\n",
      text(library.forward),
      text(library.data_gradient));
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
