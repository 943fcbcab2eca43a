// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/traces/kineto.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace {

using namespace schedlab;  // NOLINT(google-build-using-namespace): a fuzz target's own file

/// nullopt if refused, which must come with words.
std::optional<ImportedTrace> read(const std::string& bytes, std::size_t batch) {
  const auto source = decompressed(std::make_unique<TextSource>(bytes), "fuzz.json");
  try {
    return read_kineto(*source, "fuzz.json", {.batch_bytes = batch});
  } catch (const InputError& error) {
    if (!std::string{error.what()}.empty()) return std::nullopt;
  }
  std::cerr << "refused without a word\n";
  std::abort();
}

void expect(bool holds, const char* claim) {
  if (holds) return;
  std::cerr << claim << '\n';
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes{reinterpret_cast<const char*>(data), size};
  const std::optional<ImportedTrace> whole = read(bytes, 1U << 16U);
  const std::optional<ImportedTrace> cut = read(bytes, 13);
  expect(whole.has_value() == cut.has_value(), "the size of batches decides what is accepted");
  if (!whole) return 0;
  expect(whole->device_rows == cut->device_rows && whole->calls == cut->calls &&
             whole->operators == cut->operators &&
             whole->synchronizations == cut->synchronizations && whole->flows == cut->flows,
         "the size of batches changes rows");
  expect(count(*whole).span >= Duration{0}, "a negative span");
  for (const DeviceRow& row : whole->device_rows) {
    expect(row.started >= Time{} && row.started <= row.ended, "a row outside of the trace");
  }
  return 0;
}
