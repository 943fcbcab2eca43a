// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/protobuf.hpp"

namespace schedlab::detail {

std::optional<std::uint64_t> read_varint(std::string_view text, std::size_t& at) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && at < text.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text[at++]);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return shift == 63 && byte > 1 ? std::nullopt : std::optional{number};
  }
  return std::nullopt;
}

bool WireReader::read_fixed(std::size_t size, std::uint64_t& value) {
  if (message_.size() - at_ < size) return false;
  value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(message_[at_ + i])} << (8 * i);
  }
  at_ += size;
  return true;
}

bool WireReader::next(WireField& field) {
  if (damaged_ || at_ == message_.size()) return false;
  damaged_ = true;  // until the field is whole
  const auto tag = read_varint(message_, at_);
  constexpr std::uint64_t max_fields = 0x1FFFFFFF;  // the format's own limit
  if (!tag || *tag >> 3U == 0 || *tag >> 3U > max_fields) return false;
  field = {.number = static_cast<std::uint32_t>(*tag >> 3U),
           .type = static_cast<WireType>(*tag & 7U),
           .value = 0,
           .bytes = {}};
  switch (field.type) {
    case WireType::varint: {
      const auto number = read_varint(message_, at_);
      if (!number) return false;
      field.value = *number;
      break;
    }
    case WireType::fixed64:
      if (!read_fixed(8, field.value)) return false;
      break;
    case WireType::fixed32:
      if (!read_fixed(4, field.value)) return false;
      break;
    case WireType::bytes: {
      const auto size = read_varint(message_, at_);
      if (!size || *size > message_.size() - at_) return false;
      field.bytes = message_.substr(at_, static_cast<std::size_t>(*size));
      at_ += field.bytes.size();
      break;
    }
    default:  // groups, which proto3 does not have
      return false;
  }
  damaged_ = false;
  return true;
}

bool DelimitedMessages::next(std::string_view& message) {
  if (cut_off_ || at_ == text_.size()) return false;
  offset_ = at_;
  const auto size = read_varint(text_, at_);
  if (!size || *size > text_.size() - at_) {
    cut_off_ = true;
    return false;
  }
  message = text_.substr(at_, static_cast<std::size_t>(*size));
  at_ += message.size();
  return true;
}

}  // namespace schedlab::detail
