// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/rank_link.hpp"

namespace schedlab {

namespace {

// These run between rounds, when no message of a plan is under way: any tag will do.
constexpr int text_tag = 0;

}  // namespace

void send_text(RankLink& link, std::string_view text, int to) {
  const std::uint64_t size = text.size();
  link.send(std::as_bytes(std::span{&size, 1}), to, text_tag);
  if (size > 0) link.send(std::as_bytes(std::span{text}), to, text_tag);
}

std::string receive_text(RankLink& link, int from) {
  std::uint64_t size = 0;
  link.receive(std::as_writable_bytes(std::span{&size, 1}), from, text_tag);
  std::string text(size, '\0');
  if (size > 0) link.receive(std::as_writable_bytes(std::span{text}), from, text_tag);
  return text;
}

std::vector<std::string> gather_texts(RankLink& link, std::string_view text) {
  if (link.rank() != 0) {
    send_text(link, text, 0);
    return {};
  }
  std::vector<std::string> all{std::string{text}};
  for (int from = 1; from < link.size(); ++from) all.push_back(receive_text(link, from));
  return all;
}

std::string broadcast_text(RankLink& link, std::string_view text) {
  if (link.rank() != 0) return receive_text(link, 0);
  for (int to = 1; to < link.size(); ++to) send_text(link, text, to);
  return std::string{text};
}

}  // namespace schedlab
