// SPDX-License-Identifier: Apache-2.0
#include "studies/serving/served_folder.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    result += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return result;
}

bool is_allowed(std::string_view part) {
  if (part.empty() || part.front() == '.') return false;  // hidden, "." and ".."
  return std::ranges::none_of(
      part, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7F; });
}

/// Opens the last part of a path below `root`, step by step, so that no part is a symbolic link,
/// not even one that is put there meanwhile. Negative: it cannot be.
int open_below(const fs::path& root, std::string_view path, int flags) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): POSIX
  int folder = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (folder >= 0 && !path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string part{path.substr(0, slash)};
    const bool last = slash == std::string_view::npos || slash + 1 == path.size();
    const int next = ::openat(
        folder, part.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? flags : O_DIRECTORY));
    ::close(folder);
    folder = next;
    if (last) break;
    path.remove_prefix(slash + 1);
  }
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  return folder;
}

/// An ending of a name, and what such a file is.
using TypeOfEnding = std::pair<std::string_view, std::string_view>;
constexpr std::string_view page_type = "text/html; charset=utf-8";
constexpr std::string_view picture_type = "image/svg+xml";
constexpr std::array<TypeOfEnding, 12> types{{{".html", page_type},
                                              {".svg", picture_type},
                                              {".png", "image/png"},
                                              {".pdf", "application/pdf"},
                                              {".json", "application/json"},
                                              {".ipynb", "application/json"},
                                              {".js", "text/javascript; charset=utf-8"},
                                              {".css", "text/css; charset=utf-8"},
                                              {".csv", "text/csv; charset=utf-8"},
                                              {".txt", "text/plain; charset=utf-8"},
                                              {".md", "text/plain; charset=utf-8"},
                                              {".gz", "application/gzip"}}};

}  // namespace

std::optional<std::string> served_path(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  target = target.substr(0, target.find_first_of("?#"));
  std::optional<std::string> path = percent_decoded(target.substr(1));
  if (!path) return std::nullopt;
  std::string_view rest = *path;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    if (!is_allowed(rest.substr(0, slash))) return std::nullopt;
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
  }
  return path;
}

std::string percent_encoded(std::string_view path) {
  std::string result;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '/';
    if (plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

ServedFile::~ServedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ServedFolder::ServedFolder(fs::path root) : root_(std::move(root)) {
  std::error_code error;
  if (fs::is_directory(root_, error)) return;
  throw InputError({.file = root_.string(),
                    .pointer = {},
                    .found = "no such folder",
                    .expected = "a folder with results in it",
                    .hint = "schedlab sweep SPEC --out FOLDER makes one"});
}

std::optional<ServedFile> ServedFolder::open(const std::string& path) const {
  if (path.empty() || path.back() == '/') return std::nullopt;
  ServedFile file(open_below(root_, path, O_NONBLOCK));  // a pipe would wait for a writer
  const int descriptor = file.release();
  if (descriptor < 0) return std::nullopt;
  ServedFile opened(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return opened;
}

bool ServedFolder::has_folder(const std::string& path) const {
  const int descriptor = open_below(root_, path, O_DIRECTORY);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0;
}

std::string_view content_type(std::string_view path) {
  for (const auto& [ending, type] : types) {
    if (path.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

std::string_view content_policy(std::string_view type) {
  if (type == page_type) {
    return "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'; "
           "img-src 'self' data: blob:; font-src data:; connect-src 'self'; base-uri 'none'; "
           "form-action 'none'; frame-ancestors 'none'";
  }
  return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox";
}

}  // namespace schedlab
