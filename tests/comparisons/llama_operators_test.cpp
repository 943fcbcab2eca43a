// SPDX-License-Identifier: Apache-2.0
// Operators of LLaMA-2-7B on an A100, as microsoft/vidur measured them by number of tokens, against
// those of the workload llama_decode with as many sequences. Every number is held out. The
// measurements have no attention core, no cache and no logits: nothing is said of these.
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/gzip.hpp"
#include "sim/machine/cost_model.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "workloads/models/transformer/transformer.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

namespace schedlab {
namespace {

using testing::Errors;

/// Durations of one layer's operators for so many sequences, in microseconds.
class Layer {
 public:
  explicit Layer(std::int64_t tokens) {
    TransformerSpec spec;
    spec.shape.layers = 1;
    spec.batch = tokens;
    graph_ = transformer_forward(spec);
    machine_ = load_machine("a100");
    costs_ = CostTable(graph_, machine_.platform, *make_cost_model("tiled_gemm"));
  }
  [[nodiscard]] double us(std::initializer_list<std::string_view> operations) const {
    double sum = 0;
    for (const TaskId task : graph_.tasks()) {
      for (const std::string_view name : operations) {
        if (graph_.operation(task).name == name) sum += to_us(costs_.duration(task));
      }
    }
    return sum;
  }

 private:
  TaskGraph graph_;
  MachineSpec machine_;
  CostTable costs_;
};

/// A column of the measurements and our operators. vidur's engine makes one product of q, k and v,
/// and one of gate and up.
struct Match {
  const char* column;
  std::initializer_list<std::string_view> operations;
  bool product;
};
const Match matches[] = {{"attn_pre_proj", {"q_projection", "k_projection", "v_projection"}, true},
                         {"attn_post_proj", {"output_projection"}, true},
                         {"mlp_up_proj", {"gate_projection", "up_projection"}, true},
                         {"mlp_down_proj", {"down_projection"}, true},
                         {"input_layernorm", {"attention_norm"}, false},
                         {"attn_rope", {"rotary"}, false},
                         {"post_attention_layernorm", {"ffn_norm"}, false},
                         {"mlp_act", {"gated_silu"}, false}};

TEST_CASE("operators of LLaMA-2-7B on an A100, from the data sheet, against measurements") {
  const auto path = testing::reference_data("vidur/a100_llama2_7b_mlp.csv.gz");
  if (!path) return;
  std::istringstream text{read_file_or_gzip(*path)};
  const auto rows = testing::read_csv(text);
  Errors few;    // products of up to 64 rows: bound by the weights
  Errors many;   // products of 512 rows and more
  Errors small;  // all else
  Errors layer;  // the sum of all, up to 64 tokens
  for (const auto& row : rows) {
    if (row.at("num_tensor_parallel_workers") != "1") continue;
    const std::int64_t tokens = std::stoll(row.at("num_tokens"));
    if (tokens > 64 && tokens % 512 != 0) continue;
    const Layer predicted{tokens};
    double sum = 0;
    double measured_sum = 0;
    for (const Match& match : matches) {
      const double us = predicted.us(match.operations);
      const double measured =
          1000 * std::stod(row.at(fmt::format("time_stats.{}.median", match.column)));
      sum += us;
      measured_sum += measured;
      if (tokens <= 64) {
        (match.product ? few : small).add(us, measured);
      } else if (match.product) {
        many.add(us, measured);
      }
    }
    if (tokens <= 64) layer.add(sum, measured_sum);
  }
  MESSAGE("products, up to 64 tokens: " << few.summary());
  MESSAGE("products, 512 tokens and more: " << many.summary());
  MESSAGE("other operators, up to 64 tokens: " << small.summary());
  MESSAGE("all of a layer, up to 64 tokens: " << layer.summary());
  REQUIRE(few.count() == 44);  // 11 counts of tokens, 4 products each
  // What docs/external_comparisons.md states; every prediction is too fast.
  CHECK(few.median() < 0.16);
  CHECK(few.median_signed() < 0);
  CHECK(many.median() < 0.10);
  CHECK(small.median() < 0.56);
  CHECK(layer.median() < 0.18);
}

}  // namespace
}  // namespace schedlab
