// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Binary Chakra traces by hand, field by field of et_def.proto.

namespace schedlab::testing {

inline std::string varint(std::uint64_t number) {
  std::string bytes;
  while (number >= 0x80) {
    bytes += static_cast<char>((number & 0x7FU) | 0x80U);
    number >>= 7U;
  }
  return bytes + static_cast<char>(number);
}
/// A field's tag is 8 * its number + its wire type: 0 varint, 1 eight bytes, 2 length and bytes.
inline std::string number_field(unsigned field, std::uint64_t number) {
  return varint(8 * field) + varint(number);
}
inline std::string bytes_field(unsigned field, std::string_view bytes) {
  return varint(8 * field + 2) + varint(bytes.size()) + std::string{bytes};
}
inline std::string delimited(std::string_view message) {
  return varint(message.size()) + std::string{message};
}

/// AttributeProto with int64_val (9), bool_val (27) or string_val (29).
inline std::string integer_attribute(std::string_view name, std::uint64_t value) {
  return bytes_field(10, bytes_field(1, name) + number_field(9, value));
}
inline std::string flag_attribute(std::string_view name, bool value) {
  return bytes_field(10, bytes_field(1, name) + number_field(27, value ? 1 : 0));
}
inline std::string text_attribute(std::string_view name, std::string_view value) {
  return bytes_field(10, bytes_field(1, name) + bytes_field(29, value));
}

struct ChakraNodeText {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 4;  ///< 4 computes, 7 is a collective
  std::vector<std::uint64_t> needs{};
  std::uint64_t duration_us = 0;
  std::string attributes{};
};

inline std::string chakra_node(const ChakraNodeText& node) {
  std::string message = number_field(1, node.id) + bytes_field(2, node.name);
  message += number_field(3, node.type);
  std::string needs;
  for (const std::uint64_t need : node.needs) needs += varint(need);
  if (!needs.empty()) message += bytes_field(5, needs);  // packed
  if (node.duration_us > 0) message += number_field(7, node.duration_us);
  return delimited(message + node.attributes);
}

inline std::string chakra_trace(const std::vector<ChakraNodeText>& nodes) {
  std::string text = delimited(bytes_field(1, "0.0.4"));
  for (const ChakraNodeText& node : nodes) text += chakra_node(node);
  return text;
}

/// A collective: 0 all_reduce, 2 all_gather, 6 all_to_all, ...
inline ChakraNodeText chakra_collective(std::uint64_t id,
                                        std::uint64_t type,
                                        std::uint64_t bytes,
                                        std::string_view group,
                                        std::vector<std::uint64_t> needs,
                                        std::uint64_t duration_us = 0) {
  return {.id = id,
          .name = "collective",
          .type = 7,
          .needs = std::move(needs),
          .duration_us = duration_us,
          .attributes = flag_attribute("is_cpu_op", false) + integer_attribute("comm_type", type) +
                        integer_attribute("comm_size", bytes) +
                        (group.empty() ? std::string{} : text_attribute("pg_name", group))};
}

}  // namespace schedlab::testing
