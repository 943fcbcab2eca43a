// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace schedlab {

/// The path of a request's target ("/a%20b/report.html?x=1" -> "a b/report.html"), relative to the
/// folder that is served; a folder keeps its final '/', "" is the folder itself. nullopt: it names
/// something outside, a hidden file, or is no path.
[[nodiscard]] std::optional<std::string> served_path(std::string_view target);
/// As it stands in a link.
[[nodiscard]] std::string percent_encoded(std::string_view path);

/// An open file, closed at the end of its life.
class ServedFile {
 public:
  explicit ServedFile(int descriptor) : descriptor_(descriptor) {}
  ServedFile(ServedFile&& other) noexcept : descriptor_(other.release()) {}
  ServedFile& operator=(ServedFile&&) = delete;
  ServedFile(const ServedFile&) = delete;
  ServedFile& operator=(const ServedFile&) = delete;
  ~ServedFile();

  /// The caller closes it from now on.
  [[nodiscard]] int release() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return descriptor;
  }

 private:
  int descriptor_;
};

/// A folder whose files may be read from outside: regular files below it, none through a symbolic
/// link, and no hidden ones.
class ServedFolder {
 public:
  /// Throws InputError for what is no folder.
  explicit ServedFolder(std::filesystem::path root);

  /// What served_path() made. nullopt: there is no such file.
  [[nodiscard]] std::optional<ServedFile> open(const std::string& path) const;
  /// Is there such a folder?
  [[nodiscard]] bool has_folder(const std::string& path) const;
  /// A page about the results in the folder, or in one below it.
  [[nodiscard]] std::string page(const std::string& path) const;

 private:
  std::filesystem::path root_;
};

/// "text/html; charset=utf-8" and so on, by the name's ending; what is not known is no page.
[[nodiscard]] std::string_view content_type(std::string_view path);
/// What a browser may do with such a content: pages run their own scripts and fetch what is served
/// beside them, and load nothing from elsewhere.
[[nodiscard]] std::string_view content_policy(std::string_view type);

/// The script of the pages: hands a trace to Perfetto's page.
inline constexpr std::string_view script_path = "/-/traces.js";
[[nodiscard]] std::string_view trace_script();

}  // namespace schedlab
