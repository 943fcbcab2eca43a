// SPDX-License-Identifier: Apache-2.0
// Reading a profile of the PyTorch profiler, against what no reader can beat by much.
//
//   import_bench                 a generated profile of 64 MB, plain and compressed
//   import_bench --mb=500        another size
//   import_bench --file=PATH     a profile of your own
//
// Processor time, the fastest of five readings: other programs may run beside.
#include "sim/base/byte_source.hpp"
#include "sim/base/gzip.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/clock.hpp"
#include "workloads/traces/kineto.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace schedlab::bench {
namespace {

/// The events of one operator: two spans of host code, a launch with its arrow, a kernel.
constexpr const char* one_operator = R"json(
{{"ph": "X", "cat": "cpu_op", "name": "aten::op{0}", "pid": 1, "tid": 2, "ts": {1}.250, "dur": 18.5, "args": {{"External id": {2}, "Ev Idx": {2}, "Input Dims": [[{0}, 128], [128, 256]], "Input type": ["float", "float"]}}}},
{{"ph": "X", "cat": "cpu_op", "name": "aten::inner", "pid": 1, "tid": 2, "ts": {1}.500, "dur": 10.5, "args": {{"External id": {2}, "Ev Idx": {2}, "Fwd thread id": 0, "Sequence number": {2}}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": {1}.625, "dur": 6.5, "args": {{"External id": {2}, "cbid": 211, "correlation": {2}}}}},
{{"ph": "s", "id": {2}, "pid": 1, "tid": 2, "ts": {1}.625, "cat": "ac2g", "name": "ac2g"}},
{{"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::Half>, at::detail::Array<char*, 1> >(int, {0})", "pid": 0, "tid": 7, "ts": {3}.125, "dur": 10.001, "args": {{"External id": {2}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {2}, "registers per thread": 16, "shared memory": 0, "blocks per SM": 1.185185, "warps per SM": 4.740741, "grid": [128, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 5}}}},
{{"ph": "f", "id": {2}, "pid": 0, "tid": 7, "ts": {3}.125, "cat": "ac2g", "name": "ac2g", "bp": "e"}},)json";

std::string generated(std::size_t bytes, std::uint64_t& operators) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  constexpr std::uint64_t first_us = 1'707'417'525'512'110;
  for (operators = 0; text.size() < bytes; ++operators) {
    const std::uint64_t start = first_us + 20 * operators;
    text +=
        fmt::format(fmt::runtime(one_operator), operators % 64, start, operators + 1, start + 9);
  }
  text += "\n{}]}";
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  return text;
}

double fastest(const std::function<void()>& work) {
  double best = 1e300;
  for (int i = 0; i < 5; ++i) {
    const double start = processor_seconds();
    work();
    best = std::min(best, processor_seconds() - start);
  }
  return best;
}

/// Every quote of the text: one pass of the fastest search there is.
std::uint64_t quotes(std::string_view text) {
  std::uint64_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while ((at = static_cast<const char*>(
              std::memchr(at, '"', static_cast<std::size_t>(end - at)))) != nullptr) {
    ++count;
    if (++at == end) break;
  }
  return count;
}

void measure(const std::string& file, std::size_t bytes) {
  std::uint64_t operators = 0;
  const std::string text = file.empty() ? generated(bytes, operators) : read_file_or_gzip(file);
  const std::string compressed = gzip(text);
  const double megabytes = static_cast<double>(text.size()) * 1e-6;
  std::uint64_t kernels = 0;
  const auto import = [&](std::unique_ptr<ByteSource> source) {
    kernels = count(read_kineto(*source, "bench")).kernels;
    if (file.empty() && kernels != operators) {
      throw std::runtime_error("the importer lost kernels");
    }
  };
  const double plain = fastest([&] { import(std::make_unique<TextSource>(text)); });
  const double zipped =
      fastest([&] { import(decompressed(std::make_unique<TextSource>(compressed), "bench")); });
  std::uint64_t found = 0;
  const double search = fastest([&] { found = quotes(text); });
  simdjson::dom::parser parser;
  const double dom = fastest([&] {
    if (parser.parse(text.data(), text.size(), false).error() != simdjson::SUCCESS) {
      throw std::runtime_error("no JSON");
    }
  });
  fmt::print("{:.1f} MB, {} kernels, {} quotes\n", megabytes, kernels, found);
  const auto line = [&](const char* name, double seconds) {
    fmt::print("{:<34} {:>8.0f} MB/s {:>8.2f} x one pass of memchr, {:>6.2f} x simdjson's DOM\n",
               name,
               megabytes / seconds,
               seconds / search,
               seconds / dom);
  };
  line("import", plain);
  line("import, compressed", zipped);
  line("memchr for quotes", search);
  line("simdjson DOM, nothing looked at", dom);
}

}  // namespace

int run(int argc, char** argv) {
  std::string file;
  std::size_t megabytes = 64;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--file=")) {
      file = argument.substr(7);
    } else if (argument.starts_with("--mb=")) {
      megabytes = std::strtoull(argv[i] + 5, nullptr, 10);
    } else {
      fmt::print(stderr, "unknown: {}; --mb=N and --file=PATH are known\n", argument);
      return 2;
    }
  }
  measure(file, megabytes * 1'000'000);
  return 0;
}

}  // namespace schedlab::bench
