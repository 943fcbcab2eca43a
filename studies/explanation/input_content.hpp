// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab {

/// What a file that somebody wants to import or explain holds.
enum class InputContent : std::uint8_t {
  profile,        ///< of PyTorch (Kineto); also JSON that does not say what it is
  own_trace,      ///< a trace of ours, or the folder of a run
  foreign_graph,  ///< a graph of another program (foreign_format)
  chakra_binary,  ///< likewise; several files are ranks
  graph_file,     ///< a graph of ours, DOT, STG
  unknown,
};

/// By the content, plain or gzip. Reads only as far as it must: a profile may be larger than the
/// memory. Throws InputError for what cannot be read, and for a spec.
[[nodiscard]] InputContent input_content(const std::string& file);

/// Is this JSON, or its beginning, a spec?
[[nodiscard]] bool is_spec_text(std::string_view text);

}  // namespace schedlab
