// SPDX-License-Identifier: Apache-2.0
#include "calibration/hidden_latency.hpp"

#include "sim/base/robust_statistics.hpp"
#include "sim/graph/product_layout.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab {
namespace {

constexpr double min_waiting = 0.1;     // of a product's time: less is within what its fit errs
constexpr double min_slow_down = 1.02;  // below it is noise
constexpr double longest_us = 200;      // assumed: what lasts waits for little
constexpr std::size_t streams = 4;      // as many as a pass has layers in flight

const KernelClass* class_of(const ProfileFits& fits, const MeasuredKernel& product) {
  const Kernel& kernel = product.kernel;
  return fits.find({.name = product.operation, .kind = kernel.kind, .kernels = {kernel}}, kernel);
}

/// The products of the fitted kinds: those of a step, of a few steps, and a square one.
std::vector<MeasuredKernel> products_of(DataType type) {
  struct Shape {
    std::int64_t m, n, k;
  };
  constexpr std::array<Shape, 4> shapes{
      {{64, 1024, 4096}, {64, 4096, 1024}, {256, 1024, 1024}, {1152, 1152, 1152}}};
  std::vector<MeasuredKernel> products;
  for (const ProductLayout layout : {ProductLayout::nn, ProductLayout::nt}) {
    for (const Shape& shape : shapes) {
      products.emplace_back(product_name(layout),
                            gemm_kernel(shape.m, shape.n, shape.k, type, false));
    }
  }
  return products;
}

/// What one more of `product` in each of `chains` takes in a device graph, microseconds.
double one_more_us(DeviceBench& bench,
                   const BenchEffort& effort,
                   const MeasuredKernel& product,
                   std::size_t chains) {
  constexpr std::size_t few = 5;
  constexpr std::size_t many = 25;
  const auto read = [&](std::size_t count) {
    return read_runs(bench, graph_chains(chains, count, product), effort, after_graph_launch_us);
  };
  return median(slopes(read(few), read(many), many - few));
}

}  // namespace

double fit_hidden_latency(const ProfileFits& fits,
                          const std::vector<ProductsBeside>& measured,
                          std::uint32_t units,
                          double gap_us) {
  std::vector<double> hidden;
  for (const ProductsBeside& one : measured) {
    const KernelClass* const found = class_of(fits, one.product);
    const double own_us = one.alone_us - gap_us;
    if (found == nullptr || own_us <= 0 || one.product.kernel.grid.blocks < units) continue;
    if (one.beside_us < one.alone_us * min_slow_down) continue;  // how few units cannot be seen
    const double waiting = found->fit().waiting(one.product.kernel, units);
    if (waiting < min_waiting) continue;
    const double busy = one.beside_us / (static_cast<double>(one.streams) * own_us);
    hidden.push_back((1 - busy) / waiting);
  }
  return hidden.empty() ? 0.0 : std::clamp(median(std::move(hidden)), 0.0, 1.0);
}

double measure_hidden_latency(DeviceBench& bench,
                              const BenchEffort& effort,
                              const KernelProfile& profile,
                              const ProfileFits& fits,
                              double node_gap_us) {
  const DeviceFacts facts = bench.facts();
  if (!facts.device_graphs || facts.unit_kernels) return 0.0;
  std::vector<ProductsBeside> measured;
  for (const DataType type : {DataType::fp32, DataType::tf32, DataType::bf16}) {
    for (MeasuredKernel& product : products_of(type)) {
      const KernelClass* const found = class_of(fits, product);
      if (!facts.computes(type) || found == nullptr || found->type() != type) continue;
      product.kernel.grid.blocks = profile.cut.blocks(product.kernel, profile.units);
      if (found->fit().seconds(product.kernel, profile.units) * 1e6 > longest_us) continue;
      const double alone_us = one_more_us(bench, effort, product, 1);
      const double beside_us = one_more_us(bench, effort, product, streams);
      measured.push_back({std::move(product), streams, alone_us, beside_us});
    }
  }
  return fit_hidden_latency(fits, measured, profile.units, node_gap_us);
}

}  // namespace schedlab
