// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/row_split.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/graph/row_kernels.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "tests/comparisons/reference_data.hpp"

#include <algorithm>
#include <string>
#include <vector>

// Products and recurrent layers of a public benchmark (baidu-research/DeepBench, training rows).
namespace schedlab::testing::deepbench {

/// The devices of the benchmark by their names there, and the machines that model them.
struct Target {
  const char* device;
  const char* precision;
  const char* machine;
  DataType type;  ///< of the operands
};
inline constexpr Target targets[] = {{"NV_M40", "FP32", "m40", DataType::fp32},
                                     {"NV_P100", "FP32", "p100", DataType::fp32},
                                     {"NV_V100", "FP32", "v100", DataType::fp32},
                                     {"NV_V100", "Mixed", "v100", DataType::fp16}};

struct Product {
  std::int64_t m, n, k;
  GemmLayout layout;
  double us;
  RowUse use;
};

/// One layer without its input product, steps in a chain.
struct Layer {
  std::string cell;
  std::int64_t gates;  ///< matrices of hidden x hidden side by side
  std::int64_t hidden;
  std::int64_t batch;
  std::int64_t steps;
  double forward_us = 0;  ///< of a call; 0: not measured
  double data_gradient_us = 0;
  double weight_gradient_us = 0;
  RowUse use = RowUse::report;
};

/// Of both files of the benchmark, those that are there.
inline std::vector<CsvRow> rows_of(const Target& target, const char* first, const char* second) {
  std::vector<CsvRow> rows;
  for (const char* name : {first, second}) {
    const auto file = reference_data_folder() / "deepbench" / name;
    if (!std::filesystem::exists(file)) continue;
    for (CsvRow& row : read_csv(file)) {
      if (row["device"] == target.device && row["precision"] == target.precision) {
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

inline std::vector<Product> products_of(const Target& target) {
  std::vector<Product> products;
  for (CsvRow& row : rows_of(target, "gemm.csv", "gemm_opened.csv")) {
    const bool a = row["transA"] == "T";
    const bool b = row["transB"] == "T";
    products.push_back({std::stoll(row["M"]),
                        std::stoll(row["N"]),
                        std::stoll(row["K"]),
                        a   ? GemmLayout::tn
                        : b ? GemmLayout::nt
                            : GemmLayout::nn,
                        1e3 * std::stod(row["time_ms"]),
                        row_use(row["M"] + "x" + row["N"] + "x" + row["K"])});
  }
  return products;
}

inline std::vector<Layer> layers_of(const Target& target) {
  std::vector<Layer> layers;
  const auto us = [](const std::string& ms) { return ms.empty() ? 0.0 : 1e3 * std::stod(ms); };
  for (CsvRow& row : rows_of(target, "rnn.csv", "rnn_opened.csv")) {
    const std::string& cell = row["cell"];
    layers.push_back({.cell = cell,
                      .gates = cell == "lstm"  ? 4
                               : cell == "gru" ? 3
                                               : 1,
                      .hidden = std::stoll(row["hidden"]),
                      .batch = std::stoll(row["batch"]),
                      .steps = std::stoll(row["timesteps"]),
                      .forward_us = us(row["fwd_ms"]),
                      .data_gradient_us = us(row["bwd_inputs_ms"]),
                      .weight_gradient_us = us(row["bwd_weights_ms"]),
                      .use = row_use(cell + "/" + row["hidden"] + "/" + row["batch"])});
  }
  return layers;
}

inline Operation product_operation(std::int64_t m, std::int64_t n, std::int64_t k, DataType type) {
  return {
      .name = "product", .kind = TaskKind::gemm, .kernels = {gemm_kernel(m, n, k, type, false)}};
}

inline Operation step_product(const Layer& layer, DataType type, bool forward) {
  const std::int64_t wide = layer.gates * layer.hidden;
  return forward ? product_operation(layer.batch, wide, layer.hidden, type)
                 : product_operation(layer.batch, layer.hidden, wide, type);
}

/// All steps in one product.
inline Operation weight_gradient(const Layer& layer, DataType type) {
  const std::int64_t wide = layer.gates * layer.hidden;
  return {.name = "weight gradient",
          .kind = TaskKind::gemm,
          .task_class = TaskClass::weight_gradient,
          .kernels = {gemm_kernel(wide, layer.hidden, layer.steps * layer.batch, type, true)}};
}

inline double weight_gradient_us(const Layer& layer, DataType type, const Device& device) {
  const GemmOptions options{.library = LibraryUse::recurrent_data_gradient};
  return to_us(TiledGemm{options}.estimate(weight_gradient(layer, type), device).duration);
}

/// Reads both pre-activations and the state, writes gates and state; about 5 FLOP per gate.
inline Operation step_cell(const Layer& layer, DataType type) {
  const std::int64_t elements = layer.batch * layer.hidden;
  const std::int64_t size = bytes_per_element(type);
  Kernel kernel = pointwise_kernel(elements, 1, 5.0 * static_cast<double>(layer.gates), type);
  kernel.bytes_read = Bytes{size * elements * (2 * layer.gates + 1)};
  kernel.bytes_written = Bytes{size * elements * (layer.gates + (layer.gates > 1 ? 2 : 0))};
  return {.name = "cell", .kind = TaskKind::pointwise, .kernels = {kernel}};
}

/// The library that the machine lists for a type; nullptr if there is none.
inline const MatrixLibrary* library_of(const Device& device, DataType type) {
  if (device.profile == nullptr) return nullptr;
  for (const MatrixLibrary& library : device.profile->libraries) {
    if (std::find(library.types.begin(), library.types.end(), type) != library.types.end()) {
      return &library;
    }
  }
  return nullptr;
}

/// From the start of a product to the start of the next in a loop of calls.
inline double product_us(const Product& product,
                         DataType type,
                         const Device& device,
                         GemmOptions options = {}) {
  options.layout = product.layout;
  const Operation operation = product_operation(product.m, product.n, product.k, type);
  return to_us(TiledGemm{options}.estimate(operation, device).duration + device.stream_gap);
}

/// Of a call whose steps are `pass`, a cell each, in one stream.
inline double call_us(const Layer& layer,
                      bool forward,
                      DataType type,
                      const Device& device,
                      const RecurrentPassCost& pass) {
  const GemmOptions options{.library = forward ? LibraryUse::recurrent_forward
                                               : LibraryUse::recurrent_data_gradient};
  const Duration step =
      TiledGemm{options}.estimate(step_product(layer, type, forward), device).duration +
      TiledGemm{}.estimate(step_cell(layer, type), device).duration + 2 * device.stream_gap;
  return to_us(step * layer.steps + pass.early * std::min(layer.steps, recurrent_early_steps));
}

}  // namespace schedlab::testing::deepbench
