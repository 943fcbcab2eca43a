// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/executed_steps.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/memory_use.hpp"
#include "studies/buckets/step_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

namespace schedlab {
namespace {

/// Of the mean squared error in the loss, so that a pass of a hundred batches learns something with
/// the optimizer's rate; assumed.
constexpr float loss_weight = 20.0F;

bool all_finite(const RecurrentResults<float>& results) {
  const auto finite = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  };
  return std::all_of(results.chains.begin(), results.chains.end(), [&](const auto& chain) {
    return finite(chain.wx) && finite(chain.wh) && finite(chain.bias);
  });
}

/// Mean of the first or last tenth of the errors, at least one.
double mean_of(const std::vector<double>& errors, bool last) {
  const std::size_t count = std::max<std::size_t>(errors.size() / 10, 1);
  const std::size_t begin = last ? errors.size() - count : 0;
  double sum = 0;
  for (std::size_t i = begin; i < begin + count; ++i) sum += errors[i];
  return sum / static_cast<double>(count);
}

/// Which batches are the first of a chunk, one after another.
class ChunkOfBatch {
 public:
  explicit ChunkOfBatch(const Epoch& epoch) : epoch_(epoch) {}
  [[nodiscard]] bool next_begins() {
    const bool begins = left_ == 0;
    while (left_ == 0) left_ = epoch_.chunks[chunk_++].batches;
    --left_;
    return begins;
  }

 private:
  const Epoch& epoch_;
  std::size_t chunk_ = 0;
  std::size_t left_ = 0;
};

/// The file of each chunk that has a batch.
std::vector<std::size_t> files_of(const Epoch& epoch, const ChunkFiles& files) {
  std::vector<std::size_t> order;
  std::size_t batch = 0;
  for (const DataChunk& chunk : epoch.chunks) {
    if (chunk.batches == 0) continue;
    order.push_back(files.file_of(epoch.members[epoch.batches[batch].first]));
    batch += chunk.batches;
  }
  return order;
}

DeviceRequest request_of(const EpochExecution& epochs) {
  return {.workers = epochs.workers,
          .host = epochs.host.empty() ? HostPlacement::preloaded
                                      : enum_from<HostPlacement>(epochs.host),
          .pin = epochs.pin,
          .allocation = epochs.allocation};
}

}  // namespace

ExecutedSteps::ExecutedSteps(const BucketSpec& spec,
                             const TrainingSetup& setup,
                             const std::vector<std::int64_t>& lengths,
                             const std::vector<std::int64_t>& batches,
                             const EpochExecution& request,
                             const StopFlag* stop)
    : spec_(spec),
      setup_(setup),
      parsed_(parse_spec(step_scenario(spec, setup, lengths, {}, batches),
                         fmt::format("{}: /scenario", spec.file),
                         spec.folder)),
      grid_(parsed_),
      space_(parsed_, grid_),
      runner_(space_, stop) {
  const NamedDevice device = *device_from(request.device);
  const DeviceRequest resolved = device.kind->prepare(request_of(request), space_);
  executor_.emplace(space_, device.kind->open(device, resolved, space_, stop), stop);
  space_.components().check_all();
  expect_trainable(request.device);
  network_ = *space_.components().recurrent_spec(0, Granularity::fine);
  const std::int64_t record = spec.reading.bytes_per_step;
  if (record > 0) expect_record_bytes(input() + output(), record);
  for (std::uint64_t scenario = 0; scenario < grid_.size(); ++scenario) {
    const auto one = space_.components().recurrent_spec(grid_.part_index(scenario, Part::workload),
                                                        Granularity::fine);
    scenarios_[{one->steps, one->batch}] = scenario;
  }
}

void ExecutedSteps::expect_trainable(const std::string& device) const {
  const auto refuse = [&](const std::string& found, const char* expected) {
    throw InfeasibleError(
        fmt::format("{}: epochs are executed with {}, found {}", spec_.file, expected, found));
  };
  if (setup_.ranks != 1) refuse(fmt::format("{} ranks", setup_.ranks), "one rank");
  const auto network = space_.components().recurrent_spec(0, Granularity::fine);
  if (!network) refuse("another workload", "\"kind\": \"lstm\" or \"gru\"");
  if (network->bidirectional != Bidirectional::none) {
    refuse("bidirectional layers", "\"bidirectional\": \"none\"");
  }
  if (network->optimizer != Optimizer::sgd) refuse("adam", "\"optimizer\": \"sgd\"");
  if (setup_.packed && device != "cpu") refuse("packing on " + device, "packing on the CPU alone");
}

std::int64_t ExecutedSteps::input() const {
  return network_.input == 0 ? network_.hidden : network_.input;
}

std::uint64_t ExecutedSteps::scenario_of(std::int64_t length, std::int64_t batch) const {
  const auto found = scenarios_.find({length, batch});
  SCHEDLAB_EXPECTS(found != scenarios_.end(), fmt::format("length {}, batch {}", length, batch));
  return found->second;
}

const PredictedStep& ExecutedSteps::predicted(std::int64_t length, std::int64_t batch) {
  const std::uint64_t scenario = scenario_of(length, batch);
  const auto [found, fresh] = predicted_.try_emplace(scenario);
  if (!fresh) return found->second;
  const FullRun run = runner_.run_fully(scenario);
  PredictedStep& step = found->second;
  step.makespan = run.trace.makespan();
  for (const DeviceMemory& device : memory_use(run.scenario.problem->problem(), run.trace)) {
    step.peak = std::max(step.peak, device.peak);
  }
  return step;
}

void ExecutedSteps::fill(const Epoch& epoch,
                         const SequenceBatch& batch,
                         const SequenceCorpus& corpus,
                         std::uint64_t scenario,
                         const SequenceRecords* read) {
  const std::span members{epoch.members.data() + batch.first, batch.sequences};
  const std::span rows{epoch.rows.data() + batch.first, batch.sequences};
  corpus.fill(members,
              epoch.batch_rows[batch.bucket],
              epoch.boundaries[batch.bucket],
              loss_weight,
              padded_,
              rows,
              read);
  network(scenario).train_on(padded_);
}

TrainedNetwork& ExecutedSteps::network(std::uint64_t scenario) {
  TrainedNetwork* const found = executor_->network(scenario);
  SCHEDLAB_EXPECTS(found != nullptr, "an executed epoch of a workload that is not computed");
  return *found;
}

/// One step; its makespan.
Duration ExecutedSteps::execute(std::uint64_t scenario) {
  executor_->execute(scenario, TaskTiming::none, run_);
  return run_.trace.makespan();
}

/// Models with equal weights, each of which has run once.
ExecutedSteps::Models ExecutedSteps::made_models(const Epoch& epoch, const SequenceCorpus& corpus) {
  const std::uint64_t origin = scenario_of(epoch, epoch.boundaries.size() - 1);
  Models models(epoch.boundaries.size());
  std::vector<const SequenceBatch*> firsts(models.size(), nullptr);
  for (const SequenceBatch& batch : epoch.batches) {
    if (models[batch.bucket]) continue;
    models[batch.bucket] = scenario_of(epoch, batch.bucket);
    network(*models[batch.bucket]).continue_from(network(origin));
    firsts[batch.bucket] = &batch;
  }
  for (std::size_t bucket = 0; bucket < models.size(); ++bucket) {
    if (!models[bucket]) continue;
    fill(epoch, *firsts[bucket], corpus, *models[bucket]);
    static_cast<void>(execute(*models[bucket]));
  }
  return models;
}

EpochRun ExecutedSteps::train(const Epoch& epoch,
                              const SequenceCorpus& corpus,
                              const Models& models,
                              const ChunkFiles* files) {
  EpochRun result;
  std::vector<double> errors;
  std::optional<std::uint64_t> last;
  const auto started = std::chrono::steady_clock::now();
  std::optional<ChunkReader> reader;
  if (files != nullptr) {
    reader.emplace(*files,
                   files_of(epoch, *files),
                   static_cast<std::uint32_t>(spec_.reading.producers),
                   static_cast<std::size_t>(spec_.reading.chunks_ahead));
  }
  ChunkOfBatch chunks{epoch};
  SequenceRecords read;
  for (const SequenceBatch& batch : epoch.batches) {
    const std::uint64_t scenario = *models[batch.bucket];
    if (reader && chunks.next_begins()) read = files->records(reader->next());
    fill(epoch, batch, corpus, scenario, reader ? &read : nullptr);
    if (last) network(scenario).continue_from(network(*last));
    result.training += execute(scenario);
    last = scenario;
    // loss = weight / 2 * sum of squares / real steps.
    errors.push_back(2.0 * static_cast<double>(network(scenario).loss()) /
                     static_cast<double>(loss_weight * static_cast<float>(output())));
    if (const auto memory = executor_->allocated(scenario)) {
      result.tensors_peak = std::max(result.tensors_peak, memory->tensors_peak);
    }
  }
  result.total = std::chrono::steady_clock::now() - started;
  if (reader) {
    result.waiting = reader->waited();
    result.reading = reader->reading();
    result.read = reader->bytes();
  }
  result.finite =
      std::all_of(errors.begin(), errors.end(), [](double x) { return std::isfinite(x); });
  result.finite = result.finite && last && all_finite(network(*last).results());
  if (result.finite) {
    result.first_error = mean_of(errors, false);
    result.last_error = mean_of(errors, true);
  }
  return result;
}

EpochRun ExecutedSteps::run(const Epoch& epoch,
                            const SequenceCorpus& corpus,
                            const ChunkFiles* files) {
  SCHEDLAB_EXPECTS(!epoch.batches.empty(), "a epoch without batches");
  const Models models = made_models(epoch, corpus);
  if (files != nullptr) files->drop_cached();
  EpochRun result = train(epoch, corpus, models, files);
  for (const auto& model : models) {
    if (model) result.models += network(*model).kept_memory();
  }
  executor_->forget();
  return result;
}

}  // namespace schedlab
