// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/diagnostics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

// Chakra's schema 0.0.4: mlcommons/chakra, schema/protobuf/et_def.proto. Fields of the same numbers
// in earlier versions mean the same.

enum class ChakraNodeType : std::uint8_t {
  invalid = 0,
  metadata = 1,
  memory_load = 2,
  memory_store = 3,
  compute = 4,
  send = 5,
  receive = 6,
  collective = 7,
};

/// One node of a binary Chakra trace. Texts point into what was read.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string_view name;
  std::uint64_t type = 0;            ///< a ChakraNodeType, or one that is not listed here
  std::vector<std::uint64_t> needs;  ///< ids, of control and of data dependencies
  std::uint64_t duration_us = 0;     ///< 0: not known

  // Attributes that simulators and converters use.
  bool on_host = false;                         ///< is_cpu_op
  std::optional<std::int64_t> flops;            ///< num_ops
  std::optional<std::int64_t> bytes;            ///< tensor_size, of all operands together
  std::optional<std::int64_t> collective_type;  ///< comm_type
  std::int64_t message_bytes = 0;               ///< comm_size
  std::string group;                            ///< pg_name; empty: all ranks
  std::optional<std::int64_t> stream;
};

/// Does a file begin like a binary Chakra trace: messages behind their lengths, the first one
/// GlobalMetadata, the second a Node? `beginning`: some thousand bytes, or all of it.
[[nodiscard]] bool is_chakra_binary(std::string_view beginning);

/// The nodes of a binary trace, in the order of the file. Counts messages that are no nodes
/// (unreadable_node) and attributes of another type than they should have (unreadable_field: NAME).
/// Throws InputError where a message is cut off, and for more than four million nodes.
[[nodiscard]] std::vector<ChakraNode> read_chakra_nodes(std::string_view text,
                                                        const std::string& file,
                                                        Diagnostics& problems);

}  // namespace schedlab::detail
