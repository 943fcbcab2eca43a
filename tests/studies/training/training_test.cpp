// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/thread_ranks.hpp"
#include "real_exec/training/idx_samples.hpp"
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "sim/base/json_node.hpp"
#include "sim/engine/simulator.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/training/measured_cut.hpp"
#include "studies/training/mpi_launch.hpp"
#include "studies/training/parameter_file.hpp"
#include "studies/training/resolved_training.hpp"
#include "studies/training/training_results.hpp"
#include "studies/training/training_spec.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::TemporaryFolder;

namespace {

/// A valid spec with one part replaced.
std::string spec_with(const std::string& from = {}, const std::string& to = {}) {
  std::string text = R"({"schedlab": "training", "version": 1,
  "data": {"kind": "synthetic", "shape": [6, 6, 1], "classes": 3, "samples": 60, "noise": 0.1},
  "layers": [{"kind": "conv2d", "units": 4, "relu": true}, {"kind": "max_pool"},
             {"kind": "dropout", "rate": 0.25}, {"kind": "dense", "units": 8, "relu": true},
             {"kind": "dense", "units": 3}],
  "batch": 12, "microbatches": 3, "replicas": 2, "stages": [2, 3],
  "iterations": 4, "verified_iterations": 4, "policy": "pipeline_1f1b"})";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of(const std::string& text) {
  return message_of([&] { static_cast<void>(parse_training_spec(text, "t.json")); });
}

std::string ranks_error(const std::string& text, std::uint32_t ranks) {
  return message_of(
      [&] { static_cast<void>(stages_for_ranks(parse_training_spec(text, "t.json"), ranks)); });
}

/// An IDX file: its heading of the dimensions, then the values.
std::string idx(const std::vector<unsigned>& dimensions, const std::string& values) {
  std::string bytes{"\0\0\x08", 3};
  bytes += static_cast<char>(dimensions.size());
  for (const unsigned size : dimensions) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(size >> shift);
  }
  return bytes + values;
}

/// Three pictures of 1 x 2 to train on, the labels compressed, and one to test on.
void write_idx_files(const std::filesystem::path& folder) {
  const auto write = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  };
  write("train-images-idx3-ubyte", idx({3, 1, 2}, std::string{"\x00\xff\x33\x00\xff\xff", 6}));
  write("train-labels-idx1-ubyte.gz", gzip(idx({3}, std::string{"\0\1\0", 3})));
  write("t10k-images-idx3-ubyte", idx({1, 1, 2}, std::string{"\x66\x00", 2}));
  write("t10k-labels-idx1-ubyte", idx({1}, "\2"));
}

}  // namespace

TEST_CASE("a training spec is read") {
  const TrainingSpec spec = parse_training_spec(spec_with(), "folder/t.json");
  CHECK(spec.name == "t");
  CHECK(spec.training.net.layers.size() == 5);
  CHECK(spec.training.net.layers[2].rate == 0.25);
  CHECK(spec.training.data.size() == 48);  // every fifth of 60 is for testing
  CHECK(spec.test.size() == 12);
  CHECK(spec.layers_per_stage == std::vector<std::int64_t>{2, 3});
  CHECK(spec.ranks() == 4);
  CHECK(spec.policy == "pipeline_1f1b");
  const TrainingSpec open = parse_training_spec(spec_with(R"("stages": [2, 3],)"), "t.json");
  CHECK_FALSE(open.ranks());
  CHECK(stages_for_ranks(open, 6) == 3);
  const TrainingSpec options = parse_training_spec(
      spec_with(R"("pipeline_1f1b")", R"({"name": "pipeline_zb_h1", "transfers": "blocking"})"),
      "t.json");
  CHECK(options.policy == "pipeline_zb_h1");
  CHECK(options.policy_options.size() == 1);
  const TrainingSpec searched = parse_training_spec(
      spec_with(R"("pipeline_1f1b")", R"({"name": "search", "evaluations": 100})"), "t.json");
  CHECK(searched.policy == "search");
}

TEST_CASE("what is wrong with a training spec is named") {
  CHECK(error_of(spec_with(R"("classes": 3)", R"("classes": 4)"))
            .starts_with("t.json: /layers: found 3 values behind the last layer, expected one for "
                         "each of the 4 classes"));
  CHECK(error_of(spec_with(R"("units": 4, "relu")", R"("units": 4, "kernel": 7, "relu")"))
            .starts_with("t.json: /layers/0/kernel: found 7, expected at most 6"));
  CHECK(error_of(spec_with(R"("batch": 12)", R"("batch": 5)"))
            .starts_with("t.json: /batch: found 5, expected at least 6"));
  CHECK(error_of(spec_with(R"("batch": 12)", R"("batch": 49)"))
            .starts_with("t.json: /batch: found 49, expected at most 48"));
  CHECK(error_of(spec_with("[2, 3]", "[2, 2]"))
            .starts_with("t.json: /stages: found 4 layers in all, expected 5"));
  CHECK(error_of(spec_with("[2, 3]", "6"))
            .starts_with("t.json: /stages: found 6, expected at most 5"));
  CHECK(error_of(spec_with(R"("replicas": 2)", R"("replicas": 2, "virtual_stages": 3)"))
            .starts_with("t.json: /virtual_stages: found 3, expected a divisor of the 2 stages"));
  CHECK(error_of(spec_with("pipeline_1f1b", "pipeline_2f2b"))
            .find("/policy: found the unknown policy \"pipeline_2f2b\"") != std::string::npos);
  CHECK(error_of(spec_with("pipeline_1f1b", "heft")).find("a schedule of a pipeline") !=
        std::string::npos);
  CHECK(error_of(spec_with(R"("iterations")", R"("iteration")")).find("\"iterations\"") !=
        std::string::npos);
}

TEST_CASE("how messages travel, and passes, is read") {
  const std::string how = R"("microbatches": 3, "compression": "int8", "passes": "layers")";
  const TrainingSpec spec = parse_training_spec(spec_with(R"("microbatches": 3)", how), "t.json");
  CHECK(spec.training.compression == Compression::int8);
  CHECK(spec.training.by_layer);
  const TrainingSpec plain = parse_training_spec(spec_with(), "t.json");
  CHECK(plain.training.compression == Compression::none);
  CHECK_FALSE(plain.training.by_layer);
  const std::string unequal = spec_with(R"("batch": 12, "microbatches": 3)",
                                        R"("batch": 13, "microbatches": 3, "passes": "layers")");
  CHECK(error_of(unequal).starts_with("t.json: /batch: found 13, expected a multiple of 6"));
  CHECK(error_of(spec_with(R"("microbatches": 3)", R"("microbatches": 3, "compression": "fp8")"))
            .starts_with("t.json: /compression: found \"fp8\", expected one of none, bf16, int8"));
}

TEST_CASE("a cut keeps the memory limit, and a stage that cannot is named") {
  // 2 samples a micro-batch, 1F1B: the first stage holds two of them, the last one. Behind the
  // convolution (40 parameters, 6 x 6 values in, 4 x 4 x 4 out): twice 160 bytes, 2 x 2 x 100 x 4
  // of activations, 1920 bytes; behind it 163 parameters and 64 + 16 + 16 + 16 + 8 + 3 values,
  // 2288. Behind the pool: 320 + 2 x 2 x (36 + 64 + 16 + 16) x 4 = 2432. Later ones need more.
  const auto cut = [](const std::string& keys) {
    return cut_layers(
        parse_training_spec(spec_with(R"("stages": [2, 3],)", keys), "t.json"), 2, LinkSpeed{});
  };
  const auto message = [&](const std::string& keys) -> std::string {
    try {
      static_cast<void>(cut(keys));
    } catch (const InfeasibleError& error) {
      return error.what();
    }
    return "no error";
  };
  // 0.0022 MiB are 2306 bytes.
  for (const char* const balance : {"time", "memory"}) {
    CHECK(cut(R"("memory_limit_mib": 0.0022, "balance": ")" + std::string{balance} + "\",") ==
          std::vector<std::int64_t>{1, 4});
  }
  CHECK(message(R"("memory_limit_mib": 0.002,)").find("2288 bytes") != std::string::npos);
  CHECK(cut(R"("stages": [2, 3], "memory_limit_mib": 0.0024,)") == std::vector<std::int64_t>{2, 3});
  CHECK(message(R"("stages": [2, 3], "memory_limit_mib": 0.0022,)")
            .starts_with("t.json: stage 0 of 2 layers from \"layer 0\" needs 2432 bytes"));
  const std::vector<std::int64_t> open = cut(R"("balance": "memory",)");
  CHECK(open.size() == 2);
  CHECK(open[0] + open[1] == 5);
}

TEST_CASE("a number of ranks that does not fit is named") {
  CHECK(ranks_error(spec_with(), 0) == "no error");
  CHECK(ranks_error(spec_with(), 4) == "no error");
  CHECK(ranks_error(spec_with(), 3).starts_with("--ranks: found 3, expected 4: 2 replicas of 2"));
  const std::string open = spec_with(R"("stages": [2, 3],)");
  CHECK(ranks_error(open, 0).starts_with("--ranks: found none"));
  CHECK(
      ranks_error(open, 3).starts_with("--ranks: found 3, expected a multiple of the 2 replicas"));
  CHECK(ranks_error(open, 12).starts_with("--ranks: found 12, expected at most 5 stages"));
}

TEST_CASE("a plan that cannot be is refused before ranks start") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      const TrainingSpec spec = parse_training_spec(text, "t.json");
      expect_plan(spec, stages_for_ranks(spec, 0));
    } catch (const InfeasibleError& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message(spec_with()) == "no error");
  CHECK(message(spec_with("[2, 3]", R"([2, 3], "virtual_stages": 2)"))
            .find("pipeline_interleaved_1f1b, or \"virtual_stages\": 1") != std::string::npos);
  CHECK(message(spec_with("[2, 3]", R"([2, 3], "memory_limit_mib": 0.001)"))
            .starts_with("t.json: stage 0"));
  // Three ranks of two chunks, 2 samples a micro-batch: 640 floats of each are 5120 bytes, above
  // what is buffered.
  std::string ring =
      spec_with(R"("pipeline_1f1b")", R"({"name": "pipeline_flush", "transfers": "blocking"})");
  const auto replace = [&ring](const std::string& from, const std::string& to) {
    ring.replace(ring.find(from), from.size(), to);
  };
  replace(R"("units": 4, "relu")", R"("units": 160, "relu")");
  replace(R"({"kind": "dense", "units": 8, "relu": true})",
          R"({"kind": "dense", "units": 640}, {"kind": "dense", "units": 640})");
  replace("[2, 3]", R"([1, 1, 1, 1, 1, 1], "virtual_stages": 2)");
  const std::string stuck = message(ring);
  CHECK(stuck.find("waits in send of message") != std::string::npos);
  CHECK(stuck.find("\"transfers\": \"overlapped\"") != std::string::npos);
}

TEST_CASE("data from a file is relative to the spec") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "d.csv") << "label,a,b\n0,0.5,1\n1,1,0.5\n0,0,1\n1,1,0\n1,0,0\n";
  const std::string text = R"({"schedlab": "training", "version": 1,
    "data": {"kind": "file", "path": "d.csv", "shape": [1, 2, 1]},
    "layers": [{"kind": "dense", "units": 2}], "batch": 2, "policy": "pipeline_naive"})";
  const TrainingSpec spec = parse_training_spec(text, "t.json", folder.path().string());
  CHECK(spec.training.data.size() == 4);
  CHECK(spec.test.size() == 1);
}

TEST_CASE("pictures in MNIST's format are read, with their own test, and what is wrong is named") {
  const TemporaryFolder folder;
  write_idx_files(folder.path());
  const auto read = [&] { return read_idx_folder(folder.path(), {1, 2, 1}); };
  const TrainingData data = read();
  CHECK(data.train.labels == std::vector<std::int32_t>{0, 1, 0});
  CHECK(data.train.values == std::vector<float>{0, 1, 0.2F, 0, 1, 1});
  CHECK(data.test.values == std::vector<float>{0.4F, 0});
  CHECK(data.train.classes == 3);  // the test has a class of its own

  const std::string text = R"({"schedlab": "training", "version": 1,
    "data": {"kind": "idx", "path": ".", "shape": [1, 2, 1]},
    "layers": [{"kind": "dense", "units": 3}], "batch": 3, "policy": "pipeline_naive"})";
  const TrainingSpec spec = parse_training_spec(text, "t.json", folder.path().string());
  CHECK(spec.training.data.size() == 3);
  CHECK(spec.test.size() == 1);

  const auto problem = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    return message_of([&] { static_cast<void>(read()); });
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(read_idx_folder(folder.path(), {2, 2, 1})),
                       doctest::Contains("1x2x1"),
                       InputError);
  CHECK(problem("t10k-labels-idx1-ubyte", idx({2}, "\2\1")).find("1, one for each picture") !=
        std::string::npos);
  CHECK(problem("t10k-labels-idx1-ubyte", idx({3}, "\2\1")).find("2 bytes") != std::string::npos);
  CHECK(problem("t10k-labels-idx1-ubyte", "2,1").find("IDX file of bytes") != std::string::npos);
  std::filesystem::remove(folder.path() / "t10k-labels-idx1-ubyte");
  const std::string missing = message_of([&] { static_cast<void>(read()); });
  CHECK(missing.find("t10k-labels-idx1-ubyte") != std::string::npos);
  CHECK(missing.find("scripts/export_digits.py --idx") != std::string::npos);
}

std::string text_spec(const std::string& from = {}, const std::string& to = {}) {
  std::string text = R"({"schedlab": "training", "version": 1,
  "data": {"kind": "text", "path": "words.txt", "length": 5},
  "layers": [{"kind": "embedding", "units": 4, "vocabulary": 7, "name": "in"},
             {"kind": "dense", "units": 12, "per_row": true}, {"kind": "attention", "heads": 2},
             {"kind": "add", "adds": "in"}, {"kind": "layer_norm", "name": "norm"},
             {"kind": "dense", "units": 7, "per_row": true}],
  "batch": 4, "stages": [3, 3], "iterations": 2, "policy": "pipeline_1f1b"})";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_CASE("a text is read in windows, and what does not fit it is named") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "words.txt") << "abcabdabcabdabcabdabcabdabcabd";  // 4 classes
  const std::string place = folder.path().string();
  const TrainingSpec spec = parse_training_spec(text_spec(), "t.json", place);
  const LabelledSamples& data = spec.training.data;
  CHECK(data.classes == 4);
  CHECK(data.labels_per_sample == 5);
  CHECK(spec.training.net.labels == 5);
  CHECK(data.size() + spec.test.size() == 5);  // of 29 characters with one behind them
  for (std::int64_t i = 0; i < data.size(); ++i) {
    for (std::size_t k = 0; k + 1 < 5; ++k) {
      CHECK(data.sample(i)[k + 1] == static_cast<float>(data.labels_of(i)[k]));
    }
  }
  const auto error = [&](const std::string& from, const std::string& to) {
    return message_of(
        [&] { static_cast<void>(parse_training_spec(text_spec(from, to), "t.json", place)); });
  };
  CHECK(error("\"vocabulary\": 7", "\"vocabulary\": 3") ==
        "t.json: /layers/0/vocabulary: found 3, expected at least 4, the characters of the text");
  CHECK(error("\"adds\": \"in\"", "\"adds\": \"it\"").find("/layers/3/adds") != std::string::npos);
  CHECK(error("\"heads\": 2", "\"heads\": 3").find("/layers/2/heads") != std::string::npos);
  CHECK(error("\"units\": 12", "\"units\": 18").find("/layers/3/adds") != std::string::npos);
  CHECK(error("\"units\": 7, \"per_row\": true", "\"units\": 7").find("a row for each") !=
        std::string::npos);
  CHECK(error("\"layer_norm\"", "\"layer_norm\", \"reads\": \"in\"").find("/layers/4/reads") !=
        std::string::npos);
  CHECK(error("\"length\": 5", "\"length\": 7").find("five windows of 7") != std::string::npos);
}

TEST_CASE("parameters are written, read and trained on") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "words.txt") << "abcabdabcabdabcabdabcabdabcabd";
  const std::string place = folder.path().string();
  const TrainingSpec spec = parse_training_spec(text_spec(), "t.json", place);
  const NetSpec& net = spec.training.net;
  TrainingStage whole(net, {0, net.layers.size()}, {.seed = 9});
  const std::string bytes = parameters_npz(net, whole.parameters());
  const std::vector<float> again = read_parameters_npz(bytes, "p.npz", net);
  CHECK(
      std::equal(again.begin(), again.end(), whole.parameters().begin(), whole.parameters().end()));
  std::ofstream(folder.path() / "p.npz", std::ios::binary) << bytes;
  const TrainingSpec loaded = parse_training_spec(
      text_spec("\"batch\"", "\"parameters\": \"p.npz\", \"batch\""), "t.json", place);
  for (const NetLayerRange range : {NetLayerRange{0, 2}, NetLayerRange{3, 6}}) {
    TrainingStage stage(net, range, loaded.training.setting);
    TrainingStage same(net, range, {.seed = 9});
    CHECK(std::equal(stage.parameters().begin(),
                     stage.parameters().end(),
                     same.parameters().begin(),
                     same.parameters().end()));
  }
  NetSpec other = net;
  other.layers[0].vocabulary = 8;
  CHECK(message_of([&] { static_cast<void>(read_parameters_npz(bytes, "p.npz", other)); }) ==
        "p.npz: in.words: found {'descr': '<f4', 'fortran_order': False, 'shape': (7, 4), }, "
        "expected '<f4' (8, 4) in C order");
  other = net;
  other.layers[4].name = "mean";
  CHECK(message_of([&] { static_cast<void>(read_parameters_npz(bytes, "p.npz", other)); }) ==
        "p.npz: mean.gain: found no such array, expected one for each array of the net's layers");
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    CHECK_THROWS_AS(static_cast<void>(read_parameters_npz(bytes.substr(0, size), "p.npz", net)),
                    InputError);
  }
}

TEST_CASE("ranks resolve a spec, train and write the same as they would over MPI") {
  const TrainingSpec spec = parse_training_spec(spec_with("[2, 3]", "2"), "t.json");
  run_on_threads(4, [&](RankLink& link) {
    const ResolvedTraining resolved = resolve_training(spec, link);
    const PipelineRunResult run = run_pipeline(resolved.training,
                                               resolved.graph,
                                               resolved.plan,
                                               link,
                                               {.iterations = 4, .verified_iterations = 4});
    if (link.rank() != 0) return;
    CHECK(resolved.cut_by_time);
    CHECK(resolved.training.stages.size() == 2);
    TrainingResults results{.spec = spec, .resolved = resolved, .run = run};
    results.cores = 2;
    results.predicted = simulate(resolved.problem(), resolved.plan);
    CHECK(results.same_as_unsplit());
    CHECK(results.makespan() > Duration{0});
    CHECK_FALSE(results.lossy());
    // Four ranks on two cores cannot be faster than half of all work.
    CHECK(results.prediction() >= results.work_per_core());
    const std::string json = training_results_json(results);
    CHECK_NOTHROW(read_checked_json(json, training_results_schema(), "r.json"));
    const TemporaryFolder folder;
    const RunFiles files = write_training_files(folder.path(), results);
    for (const char* const name :
         {"training.json", "losses.csv", "parameters.npz", "trace.json", "timeline.svg"}) {
      CAPTURE(name);
      CHECK(std::filesystem::exists(folder.path() / name));
    }
    const std::string text = training_results_text(results, "out", files);
    CHECK(text.find("4 ranks share 2 cores") != std::string::npos);
  });
}

TEST_CASE("mpirun's paragraphs are kept back, and say which rank died") {
  const std::string frame(74, '-');
  MpirunMessages messages;
  CHECK(messages.take("note: a line of the program"));
  CHECK_FALSE(messages.take(frame));
  CHECK_FALSE(messages.take("Primary job  terminated normally, but 1 process returned"));
  CHECK_FALSE(messages.take(frame));
  CHECK(messages.cause().empty());
  CHECK_FALSE(messages.take(frame));
  CHECK_FALSE(
      messages.take("mpirun noticed that process rank 1 with PID 0 on node vm exited on "
                    "signal 9 (Killed)."));
  CHECK_FALSE(messages.take(frame));
  CHECK(messages.cause() == "rank 1 was ended by signal 9 (Killed)");
  CHECK_FALSE(messages.program_said());
  CHECK_FALSE(messages.take("[host:3438] [[24976,0],0] ORTE_ERROR_LOG: Data unpack would read"));
  CHECK(messages.take("error: rank 2: no memory"));
  CHECK(messages.program_said());
  CHECK(messages.paragraphs().size() == 2);
}
