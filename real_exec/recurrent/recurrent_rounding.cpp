// SPDX-License-Identifier: Apache-2.0
// Data type bf16: what a task hands to others is stored with the eight bits of a bf16, in a float.
#include "real_exec/recurrent/bf16.hpp"
#include "real_exec/recurrent/recurrent_steps.hpp"

namespace schedlab::detail {

void RecurrentSteps::round_panels(float* array, const PanelRange& panels) const {
  const std::ptrdiff_t panel = state_.spec.batch * lanes;
  round_to_bf16(array + panels.begin * panel, (panels.end - panels.begin) * panel);
}

void RecurrentSteps::round_input(const Portion& portion) {
  const RecurrentSpec& spec = state_.spec;
  const PanelRange rows = portion.of(spec.steps * spec.batch);
  const std::ptrdiff_t step_elements = state_.input_step(state_.chains.front());
  for (std::ptrdiff_t row = rows.begin; row < rows.end; ++row) {
    float* const first =
        state_.x.data() + row / spec.batch * step_elements + row % spec.batch * lanes;
    for (std::ptrdiff_t column = 0; column < spec.input; column += lanes) {
      round_to_bf16(first + column * spec.batch, lanes);
    }
  }
}

void RecurrentSteps::round_stored(SubTask task, const Portion& portion) {
  ChainState& chain = state_.chains[portion.chain];
  const PanelRange cell = portion.of(gate_panels(1));
  const auto round_gates = [&](float* array, std::int64_t begin, std::int64_t end) {
    for (std::int64_t gate = begin; gate < end; ++gate) {
      round_panels(array + gate * state_.cells(), cell);
    }
  };
  const bool candidate = state_.shape.candidate_gates > 0;
  switch (task) {
    case SubTask::transfer_in:
      return round_input(portion);
    case SubTask::input_gemm:
      return round_panels(products(chain, portion), portion.of(gate_panels(state_.shape.gates)));
    case SubTask::gates_forward:  // r, z, r * h; n is still a product
      round_gates(gates(chain, portion), 1, 3);
      return round_panels(inner(chain, portion, portion.step), cell);
    case SubTask::cell_forward:
      round_gates(gates(chain, portion), 0, candidate ? 1 : 4);
      return round_panels(state_.projected() ? inner(chain, portion, portion.step)
                                             : h(chain, portion, portion.step),
                          cell);
    case SubTask::projection_gemm:
      return round_panels(h(chain, portion, portion.step), portion.of(output_panels()));
    case SubTask::candidate_cell:
    case SubTask::cell:
      return round_gates(
          gate_gradients(chain, portion, portion.step), 0, state_.shape.gate_gradients);
    case SubTask::projection_sum:
      return round_panels(projected_gradient(chain, portion, portion.step),
                          portion.of(output_panels()));
    case SubTask::hidden_2: {
      Portion one = portion;
      for (std::int64_t i = 0; i < portion.steps; ++i) {
        one.step = portion.step - i * summed_direction(chain);
        round_panels(dx(chain, one), portion.of(chain.width / lanes));
      }
      return;
    }
    default:
      return;  // sums, c and its gradient stay fp32
  }
}

}  // namespace schedlab::detail
