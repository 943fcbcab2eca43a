// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/chakra_nodes.hpp"

#include "sim/base/error.hpp"
#include "workloads/traces/protobuf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab::detail {
namespace {

// assumed: a step of a large model has a million; a node of three bytes becomes one of 200
constexpr std::size_t max_nodes = 4'000'000;

/// The value of an attribute: a whole number, a text, or something else (lists, fractions), which
/// no attribute that is read has.
struct AttributeValue {
  std::optional<std::int64_t> number;
  std::optional<std::string_view> text;
};

std::int64_t zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

/// By the numbers of AttributeProto's fields.
AttributeValue value_of(const WireField& field) {
  switch (field.number) {
    case 7:   // int32
    case 9:   // int64
    case 11:  // uint32
    case 13:  // uint64
    case 27:  // bool
      if (field.type != WireType::varint) return {};
      return {.number = static_cast<std::int64_t>(field.value), .text = {}};
    case 15:  // sint32
    case 17:  // sint64
      if (field.type != WireType::varint) return {};
      return {.number = zigzag(field.value), .text = {}};
    case 19:  // fixed32
    case 21:  // fixed64
    case 25:  // sfixed64
      if (field.type == WireType::bytes) return {};
      return {.number = static_cast<std::int64_t>(field.value), .text = {}};
    case 23:  // sfixed32
      if (field.type == WireType::bytes) return {};
      return {.number = static_cast<std::int32_t>(field.value), .text = {}};
    case 29:  // string
      if (field.type != WireType::bytes) return {};
      return {.number = {}, .text = field.bytes};
    default:
      return {};
  }
}

class NodeReader {
 public:
  NodeReader(ChakraNode& node, Diagnostics& problems) : node_(node), problems_(problems) {}

  /// False for what is no Node.
  bool read(std::string_view message) {
    WireReader reader{message};
    WireField field;
    while (reader.next(field)) {
      if (!read_field(field)) return false;
    }
    return !reader.damaged();
  }

 private:
  bool read_field(const WireField& field) {
    switch (field.number) {
      case 1:
        node_.id = field.value;
        return field.type == WireType::varint;
      case 2:
        node_.name = field.bytes;
        return field.type == WireType::bytes;
      case 3:
        node_.type = field.value;
        return field.type == WireType::varint;
      case 4:  // ctrl_deps
      case 5:  // data_deps
        return read_needs(field);
      case 7:
        node_.duration_us = field.value;
        return field.type == WireType::varint;
      case 10:
        return field.type == WireType::bytes && read_attribute(field.bytes);
      default:
        return true;  // start time, operands; whatever later versions add
    }
  }

  /// Packed into one field, as proto3 writes it, or one field each.
  bool read_needs(const WireField& field) {
    if (field.type == WireType::varint) {
      node_.needs.push_back(field.value);
      return true;
    }
    if (field.type != WireType::bytes) return false;
    for (std::size_t at = 0; at < field.bytes.size();) {
      const auto id = read_varint(field.bytes, at);
      if (!id) return false;
      node_.needs.push_back(*id);
    }
    return true;
  }

  bool read_attribute(std::string_view message) {
    std::string_view name;
    AttributeValue value;
    WireReader reader{message};
    WireField field;
    while (reader.next(field)) {
      if (field.number == 1) {
        if (field.type != WireType::bytes) return false;
        name = field.bytes;
      } else if (field.number >= 3) {
        value = value_of(field);
      }
    }
    if (reader.damaged()) return false;
    take(name, value);
    return true;
  }

  void take(std::string_view name, const AttributeValue& value) {
    if (name == "pg_name") {
      if (value.text) node_.group = *value.text;
      if (value.number) node_.group = fmt::format("{}", *value.number);
      if (!value.text && !value.number) unreadable("pg_name");
      return;
    }
    for (const char* known :
         {"is_cpu_op", "num_ops", "tensor_size", "comm_type", "comm_size", "stream"}) {
      if (name != known) continue;
      if (value.number) {
        take_number(name, *value.number);
      } else {
        unreadable(known);
      }
    }
  }

  void take_number(std::string_view name, std::int64_t number) {
    if (name == "is_cpu_op") node_.on_host = number != 0;
    if (name == "num_ops") node_.flops = number;
    if (name == "tensor_size") node_.bytes = number;
    if (name == "comm_type") node_.collective_type = number;
    if (name == "comm_size") node_.message_bytes = number;
    if (name == "stream") node_.stream = number;
  }

  void unreadable(const char* name) {
    problems_.add(Severity::notice,
                  fmt::format("unreadable_field: {}", name),
                  fmt::format("node {}", node_.id));
  }

  ChakraNode& node_;
  Diagnostics& problems_;
};

/// A version of letters, digits and the like, and attributes; nothing else.
bool is_metadata(std::string_view message) {
  WireReader reader{message};
  WireField field;
  while (reader.next(field)) {
    if (field.type != WireType::bytes || field.number > 2) return false;
    const bool printable = std::all_of(
        field.bytes.begin(), field.bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (field.number == 1 && !printable) return false;
  }
  return !reader.damaged();
}

}  // namespace

bool is_chakra_binary(std::string_view beginning) {
  std::size_t at = 0;
  const auto size = read_varint(beginning, at);
  if (!size || *size > beginning.size() - at) return false;
  if (!is_metadata(beginning.substr(at, static_cast<std::size_t>(*size)))) return false;
  at += static_cast<std::size_t>(*size);
  if (at == beginning.size()) return *size > 0;  // a trace without nodes
  // A node's fields come in their order: an id, or the name where the id is 0.
  const auto node = read_varint(beginning, at);
  return node && *node > 0 && at < beginning.size() &&
         (beginning[at] == '\x08' || beginning[at] == '\x12');
}

std::vector<ChakraNode> read_chakra_nodes(std::string_view text,
                                          const std::string& file,
                                          Diagnostics& problems) {
  std::vector<ChakraNode> nodes;
  DelimitedMessages messages{text};
  std::string_view message;
  bool metadata = true;
  while (messages.next(message)) {
    if (std::exchange(metadata, false)) continue;
    if (nodes.size() == max_nodes) {
      throw InputError({.file = file,
                        .pointer = fmt::format("byte {}", messages.offset()),
                        .found = fmt::format("more than {} nodes", max_nodes),
                        .expected = "fewer: was the file made to fill a memory?",
                        .hint = {}});
    }
    ChakraNode node;
    if (!message.empty() && NodeReader{node, problems}.read(message)) {
      nodes.push_back(std::move(node));
    } else {
      problems.add(Severity::data_loss,
                   "unreadable_node",
                   fmt::format("{} bytes at byte {}", message.size(), messages.offset()));
    }
  }
  if (messages.cut_off()) {
    throw InputError({.file = file,
                      .pointer = fmt::format("byte {}", messages.offset()),
                      .found = fmt::format("the end of the file within a message, behind {} nodes",
                                           nodes.size()),
                      .expected = "the rest: was the file cut off?",
                      .hint = {}});
  }
  return nodes;
}

}  // namespace schedlab::detail
