// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/output_layer.hpp"

#include "sim/base/error.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/models/recurrent/model_frame.hpp"
#include "workloads/models/recurrent/model_parts.hpp"
#include "workloads/workload_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

TaskGraph output_layer(const OutputLayerSpec& spec) {
  for (const auto& [name, value] : {std::pair{"steps", spec.steps},
                                    {"batch", spec.batch},
                                    {"width", spec.width},
                                    {"classes", spec.classes}}) {
    SCHEDLAB_EXPECTS(value >= 1, fmt::format("output_layer: {} is {}", name, value));
  }
  const double rows = static_cast<double>(spec.steps) * static_cast<double>(spec.batch);
  const auto width = static_cast<double>(spec.width);
  const auto classes = static_cast<double>(spec.classes);
  detail::check_elements("output_layer", rows * std::max(width, classes), "steps * batch by width");
  detail::check_elements("output_layer", (width + 1) * classes, "width by classes");

  detail::GraphEmitter out{spec.type, spec.tensors, true};
  const std::int64_t all_rows = spec.steps * spec.batch;
  const TensorId h =
      out.tensor("h", -1, detail::GraphEmitter::no_step, all_rows * spec.width, true);
  const detail::Steps states{{TaskId::none(), h, true}};
  detail::Projection projection{out,
                                {.rows = all_rows, .width = spec.width, .outputs = spec.classes}};
  projection.forward({&states});
  projection.backward({&states});
  detail::add_update(out, projection.parameter(), spec.optimizer);
  return std::move(out).build();
}

WorkloadInfo output_layer_workload() {
  const OutputLayerSpec d;
  std::vector<OptionSpec> options{
      detail::size_option("steps", d.steps, "time steps, computed at once"),
      detail::size_option("batch", d.batch, "sequences trained at once"),
      detail::size_option("width", d.width, "of the states that it reads"),
      detail::size_option("classes", d.classes, "of the softmax"),
      {.name = "data_type",
       .default_value = std::string{"fp32"},
       .doc = "type of all elements",
       .allowed = enum_names<DataType>()}};
  detail::add_training_options(options, d.optimizer);
  // The layers below copy.
  std::erase_if(options, [](const OptionSpec& o) { return o.name == "include_transfers"; });
  return {.name = "output_layer",
          .summary =
              "dense layer with softmax over classes at every step: its part of a training "
              "step",
          .options = std::move(options),
          .make = [](const Options& o) {
            return output_layer({.steps = o.integer("steps"),
                                 .batch = o.integer("batch"),
                                 .width = o.integer("width"),
                                 .classes = o.integer("classes"),
                                 .type = enum_value<DataType>(o.text("data_type")),
                                 .optimizer = detail::optimizer_from(o),
                                 .tensors = o.flag("include_tensors")});
          }};
}

}  // namespace schedlab
