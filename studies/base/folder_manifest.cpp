// SPDX-License-Identifier: Apache-2.0
#include "studies/base/folder_manifest.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int manifest_version = 1;
constexpr std::uintmax_t longest_process_number = 20;
constexpr std::size_t piece_size = std::size_t{1} << 20U;

/// FNV-1a, but over words of 8 bytes, with a rotation so that high bits reach low ones: a trace of
/// some hundred MB must cost no noticeable time. Every change of one word changes the result.
class Hash {
 public:
  void add(std::string_view bytes) {  // all calls but the last: a multiple of 8 bytes
    for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof word);
      mix(word);
    }
    for (const char byte : bytes) mix(static_cast<unsigned char>(byte));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void mix(std::uint64_t word) {
    // Prime and start: draft-eastlake-fnv, "The FNV Non-Cryptographic Hash Algorithm".
    value_ = std::rotl((value_ ^ word) * 1099511628211ULL, 29);
  }
  std::uint64_t value_ = 14695981039346656037ULL;
};

std::string digest_of(std::uint64_t bytes, const Hash& hash) {
  return fmt::format("{}-{:016x}", bytes, hash.value());
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// NAME.123-0.tmp as write_file_atomically() leaves it when it is killed -> NAME; else empty.
std::string_view name_of_temporary(std::string_view file) {
  if (!file.ends_with(".tmp")) return {};
  file.remove_suffix(4);
  const std::size_t dash = file.rfind('-');
  if (dash == std::string_view::npos || !all_digits(file.substr(dash + 1))) return {};
  const std::size_t dot = file.rfind('.', dash);
  if (dot == std::string_view::npos || !all_digits(file.substr(dot + 1, dash - dot - 1))) return {};
  return file.substr(0, dot);
}

/// Files that SQLite and ResultsStore keep beside a database.
constexpr std::array<std::string_view, 4> companions{".partial", "-journal", "-wal", "-shm"};

/// The database that a companion belongs to, also "x.sqlite.partial-wal" -> "x.sqlite".
std::string_view name_of_database(std::string_view file) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view end : companions) {
      if (!file.ends_with(end)) continue;
      file.remove_suffix(end.size());
      again = true;
    }
  }
  return file.ends_with(".sqlite") ? file : std::string_view{};
}

/// .NAME.lock with the number of a process, or nothing, in it: of a folder within this one.
bool is_lock_file(const fs::path& file) {
  const std::string name = file.filename().string();
  std::error_code error;
  if (!name.starts_with('.') || !name.ends_with(".lock") || !fs::is_regular_file(file, error)) {
    return false;
  }
  const auto bytes = fs::file_size(file, error);
  if (error || bytes > longest_process_number) return false;
  return bytes == 0 || all_digits(read_file(file));
}

/// What a process left behind that was killed, by its name alone.
bool is_leftover(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == manifest_file || name == inner_lock_file) return true;
  if (name_of_temporary(name) == manifest_file || is_lock_file(file)) return true;
  return name_of_database(name) != std::string_view{} && name_of_database(name) != name;
}

struct Listing {
  const fs::path& folder;
  const FolderManifest& manifest;
  std::vector<std::string>& result;

  [[nodiscard]] bool ours(const fs::directory_entry& entry, const std::string& name) const {
    if (name == inner_staging || is_leftover(entry.path())) return true;
    const fs::path owner = fs::path{name}.parent_path() /
                           std::string{name_of_temporary(entry.path().filename().string())};
    return owner.has_filename() && manifest.files.contains(owner.generic_string());
  }

  /// Has the manifest anything below a folder "a/b/", or itself?
  [[nodiscard]] bool lists_below(const std::string& name) const {
    const auto next = manifest.files.lower_bound(name);
    return next != manifest.files.end() && next->first.starts_with(name);
  }

  void visit(const fs::path& place) {
    std::vector<fs::directory_entry> entries{fs::directory_iterator{place}, {}};
    std::sort(entries.begin(), entries.end());
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().lexically_relative(folder).generic_string();
      if (ours(entry, name)) continue;
      if (entry.is_directory() && !entry.is_symlink()) {
        visit_folder(entry.path(), name);
      } else if (!manifest.files.contains(name)) {
        result.push_back(name);
      } else if (!manifest.is_untouched(folder, name)) {
        result.push_back(name + " (changed since it was written)");
      }
    }
  }

  void visit_folder(const fs::path& place, const std::string& name) {
    if (fs::exists(place / manifest_file)) {
      if (!manifest.files.contains(name + "/")) {
        result.push_back(name + "/ (results of their own)");
        return;
      }
      for (const std::string& inner : strangers(place)) result.push_back(name + "/" + inner);
    } else if (lists_below(name + "/")) {
      visit(place);
    } else {
      result.push_back(name + "/");
    }
  }
};

}  // namespace

std::string text_digest(std::string_view bytes) {
  Hash hash;
  hash.add(bytes);
  return digest_of(bytes.size(), hash);
}

std::string file_digest(const fs::path& file) {
  // Not by InputFile: results may be larger than what is taken as an input.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  Hash hash;
  std::uint64_t bytes = 0;
  std::string piece(piece_size, '\0');
  ssize_t got = descriptor < 0 ? -1 : 1;
  while (got > 0) {
    std::size_t filled = 0;  // whole pieces, as Hash wants them
    while (filled < piece.size() && got > 0) {
      got = ::read(descriptor, piece.data() + filled, piece.size() - filled);
      if (got > 0) filled += static_cast<std::size_t>(got);
    }
    hash.add({piece.data(), filled});
    bytes += filled;
  }
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (got < 0) {
    throw InputError({.file = file.string(),
                      .pointer = {},
                      .found = std::generic_category().message(error),
                      .expected = "a file that can be read",
                      .hint = {}});
  }
  return digest_of(bytes, hash);
}

std::optional<FolderManifest> FolderManifest::of(const fs::path& folder) {
  const fs::path file = folder / manifest_file;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  const Json json = Json::parse(read_file(file), nullptr, false);
  FolderManifest manifest;
  try {
    if (json.at("schedlab") != "output_folder" || json.at("version") != manifest_version) {
      throw InputError({.file = file.string(),
                        .pointer = {},
                        .found = "a list of another version",
                        .expected = fmt::format("version {}", manifest_version),
                        .hint = "use another --out"});
    }
    manifest.verb = json.at("verb").get<std::string>();
    manifest.finished = json.at("finished").get<bool>();
    for (const auto& [name, digests] : json.at("files").items()) {
      manifest.files[name] = digests.get<std::vector<std::string>>();
    }
  } catch (const Json::exception&) {
    throw InputError({.file = file.string(),
                      .pointer = {},
                      .found = "something else",
                      .expected = "the list of files that schedlab keeps in its folders",
                      .hint = "use another --out"});
  }
  return manifest;
}

void FolderManifest::write(const fs::path& folder) const {
  Json json{{"schedlab", "output_folder"},
            {"version", manifest_version},
            {"verb", verb},
            {"finished", finished},
            {"files", Json::object()}};
  for (const auto& [name, digests] : files) json["files"][name] = digests;
  write_file_atomically(folder / manifest_file, json.dump(1) + "\n");
}

void FolderManifest::list_all(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator{folder}) {
    std::string name = entry.path().lexically_relative(folder).generic_string();
    if (name == manifest_file) continue;
    if (!entry.is_directory()) {
      files[name] = {file_digest(entry.path())};
    } else if (fs::is_empty(entry.path())) {
      files[name + "/"] = {};
    }
  }
}

bool FolderManifest::is_untouched(const fs::path& folder, const std::string& name) const {
  const auto listed = files.find(name);
  if (listed == files.end()) return false;
  if (listed->second.empty()) return true;
  const fs::path file = folder / name;
  if (!fs::is_regular_file(file)) return false;
  const std::string now = file_digest(file);
  return std::find(listed->second.begin(), listed->second.end(), now) != listed->second.end();
}

std::vector<std::string> strangers(const fs::path& folder) {
  std::vector<std::string> result;
  const FolderManifest manifest = FolderManifest::of(folder).value_or(FolderManifest{});
  Listing{folder, manifest, result}.visit(folder);
  return result;
}

FolderState folder_state(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return FolderState::absent;
  if (!fs::is_directory(folder, error)) {
    throw InputError({.file = folder.string(),
                      .pointer = {},
                      .found = "a file",
                      .expected = "a folder, or a name that is free",
                      .hint = {}});
  }
  if (const auto manifest = FolderManifest::of(folder)) {
    return manifest->finished ? FolderState::finished : FolderState::unfinished;
  }
  const bool empty =
      std::all_of(fs::directory_iterator{folder}, {}, [](const fs::directory_entry& entry) {
        return is_leftover(entry.path());
      });
  return empty ? FolderState::empty : FolderState::foreign;
}

}  // namespace schedlab
