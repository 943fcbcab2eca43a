// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/models/conv_interpreter.hpp"

#include "tests/workloads/models/conv_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace schedlab::testing {
namespace {

using detail::ConvLayer;
using detail::LayerKind;

void add_to(Numbers& sum, const Numbers& term) {
  if (sum.size() != term.size()) throw std::runtime_error("sum of arrays of different sizes");
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
}

}  // namespace

/// One task: its layer, its images, and the arrays it may touch.
struct ConvInterpreter::Call {
  ConvInterpreter& self;
  TaskId task;
  std::string name;
  std::size_t number = 0;  ///< of the layer
  LayerOnImages at;
  std::size_t first = 0;  ///< of the data's images

  [[nodiscard]] const Numbers& only(const std::vector<TensorId>& found, const char* what) const {
    if (found.size() == 1) return self.values_[found.front()];
    throw std::runtime_error(
        fmt::format("{} reads {} of {}", self.graph_.name(task), found.size(), what));
  }
  /// What layer `layer` handed on.
  [[nodiscard]] const Numbers& output(std::size_t layer) const {
    const std::string start = layer == 0 ? "images" : fmt::format("x({})", layer);
    return only(self.named(self.reads_[task], start), "x");
  }
  [[nodiscard]] const Numbers& input() const { return output(at.layer.inputs.front()); }
  [[nodiscard]] const Numbers& weights() const { return read("W("); }
  [[nodiscard]] const Numbers& read(const char* start) const {
    return only(self.named(self.reads_[task], start), start);
  }
  /// The gradient of the layer's output.
  [[nodiscard]] const Numbers& dy() const {
    auto found = self.named(self.reads_[task], "dx(");
    for (const TensorId each : self.named(self.reads_[task], "dy(")) found.push_back(each);
    return only(found, "dy");
  }
  void write(const char* start, Numbers value) const {
    const auto found = self.named(self.writes_[task], start);
    if (found.size() != 1) {
      throw std::runtime_error(
          fmt::format("{} writes {} of {}", self.graph_.name(task), found.size(), start));
    }
    self.values_[found.front()] = std::move(value);
  }
  /// Images over which statistics were taken.
  [[nodiscard]] std::size_t statistics_count() const {
    return name == "batch_norm" && !self.named(self.writes_[task], "statistics").empty() ? at.images
           : self.graph_.find("batch_norm_statistics(" + std::to_string(number) + ")/0").valid() ||
                   self.graph_.find("batch_norm_statistics(" + std::to_string(number) + ")").valid()
               ? self.begins_.back() - self.begins_.front()
               : at.images;
  }
};

ConvInterpreter::ConvInterpreter(const detail::ConvLayers& net,
                                 TaskGraph graph,
                                 const ConvData& data,
                                 std::size_t first,
                                 std::vector<std::size_t> sizes)
    : net_(net),
      graph_(std::move(graph)),
      data_(data),
      begins_{first},
      reads_(graph_.task_count()),
      writes_(graph_.task_count()),
      values_(graph_.tensors().size()) {
  for (const std::size_t size : sizes) begins_.push_back(begins_.back() + size);
  const auto image = static_cast<std::size_t>(net.layers().front().map.elements());
  const auto slice_of = [](const std::string& name) {
    const std::size_t slash = name.rfind('/');
    return slash == std::string::npos ? std::size_t{0} : std::stoul(name.substr(slash + 1));
  };
  for (const TensorId tensor : graph_.tensors().ids()) {
    for (const TaskId task : graph_.tensors().readers(tensor)) reads_[task].push_back(tensor);
    for (const TaskId task : graph_.tensors().writers(tensor)) writes_[task].push_back(tensor);
    const std::string name = graph_.tensors().name(tensor);
    if (name.starts_with("images")) {
      const std::size_t slice = slice_of(name);
      const auto begin = data.images.begin();
      values_[tensor].assign(begin + static_cast<std::ptrdiff_t>(begins_[slice] * image),
                             begin + static_cast<std::ptrdiff_t>(begins_[slice + 1] * image));
    } else if (name.starts_with("W(")) {
      values_[tensor] = data.parameters.at(std::stoul(name.substr(2)));
    }
  }
}

std::vector<TensorId> ConvInterpreter::named(const std::vector<TensorId>& among,
                                             const std::string& start) const {
  std::vector<TensorId> found;
  for (const TensorId tensor : among) {
    if (graph_.tensors().name(tensor).starts_with(start)) found.push_back(tensor);
  }
  return found;
}

void ConvInterpreter::run(const std::vector<TaskId>& order) {
  for (const TaskId task : order) compute(task);
}

void ConvInterpreter::compute(TaskId task) {
  const std::string& name = graph_.operation(task).name;
  const Tags& tags = graph_.tags(task);
  const std::size_t slice =
      name == "merge" || tags.microbatch < 0 ? 0 : static_cast<std::size_t>(tags.microbatch);
  const auto number = static_cast<std::size_t>(tags.layer);
  const ConvLayer& layer = net_.layers().at(number);
  const detail::FeatureMap x = layer.inputs.empty() ? layer.map : net_.input_of(layer);
  const Call call{
      .self = *this,
      .task = task,
      .name = name,
      .number = number,
      .at = {.layer = layer, .x = x, .y = layer.map, .images = begins_[slice + 1] - begins_[slice]},
      .first = begins_[slice]};
  if (name == "update") return;
  if (name == "merge") return merge(call);
  const bool back =
      name.ends_with("gradient") || name == "gradient_sum" || name == "batch_norm_sums";
  return back ? backward(call) : forward(call);
}

/// The buffer of slice 0, which holds that slice's part, becomes the sum.
void ConvInterpreter::merge(const Call& call) {
  const TensorId into = writes_[call.task].at(0);
  Numbers sum = values_[into];
  for (const TensorId part : reads_[call.task]) {
    if (part != into) add_to(sum, values_[part]);
  }
  values_[into] = std::move(sum);
}

void ConvInterpreter::concat(const Call& call) {
  const LayerOnImages& at = call.at;
  Numbers y;
  for (std::size_t n = 0; n < at.images; ++n) {
    for (const std::size_t part : at.layer.inputs) {
      const auto own = static_cast<std::ptrdiff_t>(net_.layers()[part].map.elements());
      const auto from = call.output(part).begin() + static_cast<std::ptrdiff_t>(n) * own;
      y.insert(y.end(), from, from + own);
    }
  }
  call.write("x(", std::move(y));
}

void ConvInterpreter::losses(const Call& call) {
  const LayerOnImages& at = call.at;
  const auto classes = static_cast<std::size_t>(at.x.elements());
  Numbers dx = call.input();
  Numbers losses(at.images, 0.0);
  for (std::size_t n = 0; n < at.images; ++n) {
    double* logits = dx.data() + n * classes;
    const double shift = *std::max_element(logits, logits + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - shift);
    const std::size_t label = data_.labels[call.first + n];
    losses[n] = (std::log(sum) + shift - logits[label]) / static_cast<double>(data_.batch);
    for (std::size_t c = 0; c < classes; ++c) {
      logits[c] = (std::exp(logits[c] - shift) / sum - (c == label ? 1.0 : 0.0)) /
                  static_cast<double>(data_.batch);
    }
  }
  call.write("dx(", std::move(dx));
  call.write("loss", std::move(losses));
}

void ConvInterpreter::concat_gradient(const Call& call) {
  const LayerOnImages& at = call.at;
  const Numbers& dy = call.dy();
  const auto parts = named(writes_[call.task], "dx(");
  for (const TensorId part : parts) values_[part].clear();
  auto from = dy.begin();
  for (std::size_t n = 0; n < at.images; ++n) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto own =
          static_cast<std::ptrdiff_t>(net_.layers()[at.layer.inputs.at(i)].map.elements());
      values_[parts[i]].insert(values_[parts[i]].end(), from, from + own);
      from += own;
    }
  }
}

void ConvInterpreter::forward(const Call& call) {
  const LayerOnImages& at = call.at;
  const std::string& name = call.name;
  if (name == "conv_forward") {
    call.write("x(", conv_forward(at, call.input(), call.weights()));
  } else if (name == "dense_forward") {
    call.write("x(", dense_forward(at, call.input(), call.weights()));
  } else if (name == "bias_add") {
    Numbers y = call.input();
    const Numbers& bias = call.weights();
    const auto positions = static_cast<std::size_t>(at.y.positions());
    const auto channels = static_cast<std::size_t>(at.y.c);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i / positions % channels];
    call.write("x(", std::move(y));
  } else if (name == "relu") {
    Numbers y = call.input();
    for (double& value : y) value = std::max(value, 0.0);
    call.write("x(", std::move(y));
  } else if (name == "batch_norm_statistics") {
    call.write("statistics", norm_statistics(at, call.input()));
  } else if (name == "batch_norm") {
    const bool own = !named(writes_[call.task], "statistics").empty();
    const Numbers statistics = own ? norm_statistics(at, call.input()) : call.read("statistics");
    const std::size_t count = call.statistics_count();
    call.write("x(", norm_apply(at, call.input(), statistics, call.weights(), count));
    if (own) call.write("statistics", statistics);
  } else if (name == "response_norm") {
    call.write("x(", response_norm(at, call.input()));
  } else if (name == "max_pool") {
    call.write("x(", max_pool(at, call.input()));
  } else if (name == "average_pool") {
    call.write("x(", average_pool(at, call.input()));
  } else if (name == "add") {
    Numbers y = call.output(at.layer.inputs.front());
    add_to(y, call.output(at.layer.inputs.back()));
    call.write("x(", std::move(y));
  } else if (name == "concat") {
    concat(call);
  } else if (name == "loss") {
    losses(call);
  } else {
    throw std::runtime_error("no definition of " + name);
  }
}

void ConvInterpreter::backward(const Call& call) {
  const LayerOnImages& at = call.at;
  const std::string& name = call.name;
  if (name == "gradient_sum") {
    auto parts = named(reads_[call.task], "dx(");
    for (const TensorId each : named(reads_[call.task], "dy(")) parts.push_back(each);
    Numbers sum = values_[parts.at(0)];
    for (std::size_t i = 1; i < parts.size(); ++i) add_to(sum, values_[parts[i]]);
    call.write("dy(", std::move(sum));
  } else if (name == "conv_data_gradient") {
    call.write("dx(", conv_data(at, call.dy(), call.weights()));
  } else if (name == "conv_weight_gradient") {
    call.write("dW(", conv_weights(at, call.dy(), call.input()));
  } else if (name == "dense_data_gradient") {
    call.write("dx(", dense_data(at, call.dy(), call.weights()));
  } else if (name == "dense_weight_gradient") {
    call.write("dW(", dense_weights(at, call.dy(), call.input()));
  } else if (name == "bias_gradient") {
    const Numbers& dy = call.dy();
    Numbers db(static_cast<std::size_t>(at.y.c), 0.0);
    const auto positions = static_cast<std::size_t>(at.y.positions());
    for (std::size_t i = 0; i < dy.size(); ++i) db[i / positions % db.size()] += dy[i];
    call.write("dW(", std::move(db));
  } else if (name == "relu_gradient") {
    Numbers dx = call.dy();
    const Numbers& y = call.output(call.number);
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = y[i] > 0 ? dx[i] : 0.0;
    call.write("dx(", std::move(dx));
  } else if (name == "batch_norm_sums" || name == "batch_norm_gradient") {
    const Numbers& statistics = call.read("statistics");
    const std::size_t count = call.statistics_count();
    const Numbers sums = norm_sums(at, call.dy(), call.input(), statistics, count);
    if (name == "batch_norm_gradient") {
      call.write("dx(",
                 norm_data(at, call.dy(), call.input(), statistics, call.weights(), sums, count));
    }
    call.write("dW(", sums);
  } else if (name == "batch_norm_data_gradient") {
    call.write("dx(",
               norm_data(at,
                         call.dy(),
                         call.input(),
                         call.read("statistics"),
                         call.weights(),
                         call.read("dW("),
                         call.statistics_count()));
  } else if (name == "response_norm_gradient") {
    call.write("dx(", response_norm_data(at, call.dy(), call.input()));
  } else if (name == "max_pool_gradient") {
    call.write("dx(", max_pool_data(at, call.dy(), call.input()));
  } else if (name == "average_pool_gradient") {
    call.write("dx(", average_pool_data(at, call.dy()));
  } else if (name == "concat_gradient") {
    concat_gradient(call);
  } else {
    throw std::runtime_error("no definition of " + name);
  }
}

Numbers ConvInterpreter::gradient(std::size_t layer) const {
  for (const TensorId tensor : graph_.tensors().ids()) {
    const std::string name = graph_.tensors().name(tensor);
    // Merged gradients lie in the buffer of slice 0.
    if (name == fmt::format("dW({})", layer) || name == fmt::format("dW({})/0", layer)) {
      return values_[tensor];
    }
  }
  return {};
}

double ConvInterpreter::loss() const {
  double sum = 0;
  for (const TensorId tensor : graph_.tensors().ids()) {
    if (!graph_.tensors().name(tensor).starts_with("loss")) continue;
    for (const double part : values_[tensor]) sum += part;
  }
  return sum;
}

}  // namespace schedlab::testing
