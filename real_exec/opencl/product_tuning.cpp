// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/product_tuning.hpp"

#include "real_exec/opencl/opencl_context.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_lane.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <sstream>
#include <utility>

namespace schedlab {
namespace {

/// C[m, n] = A * B, of which one may lie transposed.
struct Product {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  bool a_lies = false;
  bool b_lies = false;
};

// Of one step of a network, in the three layouts of its passes; // assumed
constexpr std::array tuned_products{Product{.m = 160, .n = 1024, .k = 256},
                                    Product{.m = 64, .n = 256, .k = 1024, .b_lies = true},
                                    Product{.m = 256, .n = 1024, .k = 64, .a_lies = true}};
// Where the larger kernel, which copies its operands first, may begin to be worth it.
constexpr std::array<std::size_t, 4> switch_sides{128, 256, 512, 1024};
constexpr std::uint32_t never = 1U << 20U;  // no product is as large

/// "WGD 32 KWID 2": names and numbers in turn.
KernelParameters parameters_of(const std::string& words) {
  KernelParameters parameters;
  std::istringstream from(words);
  std::string name;
  for (std::uint32_t value = 0; from >> name >> value;) parameters[name] = value;
  return parameters;
}

// Square tiles, of which a work item computes 4 x 4 results or 8 x 8: drivers of processors take a
// minute to compile larger parts.
KernelParameters direct(int tile, int groups, int vector, int padded) {
  return parameters_of(
      fmt::format("WGD {0} KWID 2 MDIMCD {1} NDIMCD {1} MDIMAD {1} NDIMBD {1} VWMD {2} VWND {2} "
                  "PADA {3} PADB {3}",
                  tile,
                  groups,
                  vector,
                  padded));
}

KernelParameters indirect(int tile, int groups, int vector, int local) {
  return parameters_of(
      fmt::format("GEMMK 0 KREG 1 MWG {0} NWG {0} KWG 32 KWI 2 MDIMC {1} NDIMC {1} MDIMA {1} "
                  "NDIMB {1} VWM {2} VWN {2} SA {3} SB {3} STRM 0 STRN 0",
                  tile,
                  groups,
                  vector,
                  local));
}

class ProductTuner {
 public:
  ProductTuner(std::shared_ptr<detail::OpenClContext> context, const TuningProgress& progress)
      : context_(std::move(context)),
        progress_(progress),
        library_(context_->product_parameters()),
        lane_(context_, context_->properties.least_priority) {
    const auto side = switch_sides.back();
    operands_ = context_->make_buffer(side * side * sizeof(float));
    results_ = context_->make_buffer(side * side * sizeof(float));
    lane_.launch("fill_pattern", side, 1, operands_.get(), static_cast<cl_ulong>(side * side));
    lane_.finish();
  }

  std::vector<TunedKernel> tune(bool quick);

 private:
  [[nodiscard]] const KernelParameters& own(const char* kernel) const {
    return library_.own().at(kernel);
  }
  static ProductParameters switched_at(std::uint32_t side) {
    return {{"GemmRoutine", {{"XGEMM_MIN_INDIRECT_SIZE", side}}}};
  }
  TunedKernel fastest(const std::string& kernel, std::vector<KernelParameters> sets);
  TunedKernel switched();
  double gflop_per_s(std::span<const Product> products);
  double seconds(const Product& product);
  bool multiply(const Product& product);
  bool right(const Product& product, std::vector<float>& expected);

  static constexpr int rounds_ = 3;

  std::shared_ptr<detail::OpenClContext> context_;
  const TuningProgress& progress_;
  const detail::ClBlastParameters& library_;
  detail::OpenClLane lane_;
  detail::OpenClBuffer operands_;
  detail::OpenClBuffer results_;
  std::array<std::vector<float>, tuned_products.size()> expected_;  // of the library's own
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

/// False: the device does not run these parameters.
bool ProductTuner::multiply(const Product& product) {
  try {
    lane_.multiply<float>({.m = product.m,
                           .n = product.n,
                           .k = product.k,
                           .a = {.buffer = operands_.get()},
                           .b = {.buffer = operands_.get()},
                           .c = {.buffer = results_.get()},
                           .a_stride = product.a_lies ? product.m : product.k,
                           .b_stride = product.b_lies ? product.k : product.n,
                           .c_stride = product.n,
                           .a_lies = product.a_lies,
                           .b_lies = product.b_lies});
    lane_.finish();
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

/// Is the product what it was at first, but for rounding?
bool ProductTuner::right(const Product& product, std::vector<float>& expected) {
  constexpr float relative = 1e-5F;
  if (!multiply(product)) return false;
  std::vector<float> found(product.m * product.n);
  lane_.read(found.data(), {.buffer = results_.get()}, found.size() * sizeof(float));
  lane_.finish();
  if (expected.empty()) expected = found;
  float largest = 0;
  float difference = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(found[i] - expected[i]));
  }
  return difference <= relative * largest;
}

double ProductTuner::seconds(const Product& product) {
  constexpr int tries = 3;
  double least = 1e9;
  for (int i = 0; i <= tries; ++i) {  // the first compiles
    const auto start = std::chrono::steady_clock::now();
    if (!multiply(product)) throw DeviceError("CLBlastSgemm failed");
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (i > 0) least = std::min(least, passed.count());
  }
  return least;
}

double ProductTuner::gflop_per_s(std::span<const Product> products) {
  double logarithms = 0;
  for (const Product& one : products) {
    const double flops = 2.0 * static_cast<double>(one.m * one.n * one.k);
    logarithms += std::log(flops / seconds(one) / 1e9);
  }
  return std::exp(logarithms / static_cast<double>(products.size()));
}

/// `sets`: the library's own first. In rounds: a machine that becomes slower favours none.
TunedKernel ProductTuner::fastest(const std::string& kernel, std::vector<KernelParameters> sets) {
  std::vector<std::vector<double>> speeds(sets.size());
  for (int round = 0; round < rounds_; ++round) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      progress_(done_++, total_);
      if (round > 0 && speeds[i].empty()) continue;  // it does not run here
      library_.set({{kernel, sets[i]}});
      bool all_right = true;
      for (std::size_t p = 0; round == 0 && p < tuned_products.size(); ++p) {
        all_right = all_right && right(tuned_products[p], expected_[p]);
      }
      if (all_right) speeds[i].push_back(gflop_per_s(tuned_products));
    }
  }
  std::size_t best = 0;
  std::vector<double> typical;
  for (const auto& of_set : speeds) typical.push_back(of_set.empty() ? 0.0 : median(of_set));
  best =
      static_cast<std::size_t>(std::max_element(typical.begin(), typical.end()) - typical.begin());
  library_.set({{kernel, sets[best]}});
  return {
      .kernel = kernel,
      .parameters = sets[best],
      .how = fmt::format("{}fastest of {} sets, {:.3g} GFLOP/s where CLBlast's own reach {:.3g}",
                         best == 0 ? "CLBlast's own, the " : "",
                         sets.size(),
                         typical[best],
                         typical.front())};
}

/// From which size on is the larger kernel the faster one? In rounds, as fastest().
TunedKernel ProductTuner::switched() {
  constexpr double none = 1e9;
  std::array<double, switch_sides.size()> small{none, none, none, none};
  std::array<double, switch_sides.size()> large = small;
  for (int round = 0; round < rounds_; ++round) {
    for (auto* least : {&small, &large}) {
      progress_(done_++, total_);
      library_.set(switched_at(least == &small ? never : 0));
      for (std::size_t i = 0; i < switch_sides.size(); ++i) {
        const std::size_t side = switch_sides[i];
        least->at(i) = std::min(least->at(i), seconds({.m = side, .n = side, .k = side}));
      }
    }
  }
  std::uint32_t from = never;
  for (std::size_t i = switch_sides.size(); i > 0 && large[i - 1] < small[i - 1]; --i) {
    from = static_cast<std::uint32_t>(switch_sides[i - 1]);
  }
  ProductParameters set = switched_at(from);
  library_.set(set);
  return {.kernel = "GemmRoutine",
          .parameters = set.at("GemmRoutine"),
          .how = fmt::format("side of the smallest of {} square products from which on Xgemm is "
                             "faster than XgemmDirect",
                             switch_sides.size())};
}

std::vector<TunedKernel> ProductTuner::tune(bool quick) {
  std::vector<KernelParameters> small{own("XgemmDirect"), direct(32, 8, 4, 0)};
  std::vector<KernelParameters> large{own("Xgemm"), indirect(32, 8, 4, 0)};
  if (!quick) {
    small.insert(
        small.end(),
        {direct(32, 8, 4, 1), direct(16, 4, 4, 0), direct(32, 4, 4, 0), direct(64, 16, 4, 1)});
    large.insert(large.end(), {indirect(64, 16, 4, 0), indirect(64, 16, 4, 1)});
  }
  total_ = rounds_ * (small.size() + large.size() + 2);
  std::vector<TunedKernel> tuned;
  library_.set(switched_at(never));
  tuned.push_back(fastest("XgemmDirect", std::move(small)));
  library_.set(switched_at(0));
  tuned.push_back(fastest("Xgemm", std::move(large)));
  tuned.push_back(switched());
  return tuned;
}

}  // namespace

std::vector<TunedKernel> tune_products(OpenClExecutor& executor,
                                       bool quick,
                                       const TuningProgress& progress) {
  const auto context = executor.context();
  if (!context->products().takes_parameters()) return {};
  try {
    return ProductTuner(context, progress).tune(quick);
  } catch (...) {
    context->blas_parameters.reset();
    throw;
  }
}

}  // namespace schedlab
