// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/byte_source.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace schedlab {

struct KinetoReading {
  std::size_t batch_bytes = std::size_t{1} << 20U;  ///< of the file in memory at once, at least 1
};

/// Reads what the PyTorch profiler writes (Kineto's Chrome JSON, schemas of 2021 and later, plain
/// or gzip, CUDA and HIP), event by event: besides one batch only the rows are in memory.
///
/// Rows    Kernels, copies, memsets; calls of runtime and driver; operators, annotations and Python
///         functions; synchronisations; arrows between host threads. docs/import.md says which
///         field becomes what.
/// Errors  InputError for a file that is no such JSON as a whole, ends early or has no event that
///         can be read. What is wrong with single events is counted in ImportedTrace::problems.
/// Cost    O(bytes + rows log rows).
[[nodiscard]] ImportedTrace read_kineto(const std::filesystem::path& path,
                                        const KinetoReading& reading = {});
/// The same from any source; `file` is for messages.
[[nodiscard]] ImportedTrace read_kineto(ByteSource& source,
                                        const std::string& file,
                                        const KinetoReading& reading = {});

/// Several ranks of one run, in the order of their ranks; a file that does not say its rank has
/// that of its place in the list. Throws InputError when two say the same, or another number of
/// ranks than the first.
[[nodiscard]] std::vector<ImportedTrace> read_kineto_ranks(
    const std::vector<std::filesystem::path>& paths, const KinetoReading& reading = {});

}  // namespace schedlab
