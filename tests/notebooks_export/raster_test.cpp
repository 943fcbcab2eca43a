// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/raster.hpp"

#include "notebooks_export/svg.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, with a name that a shell would trip over.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("schedlab $(x) '" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

[[nodiscard]] std::string read(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

TEST_CASE("A picture becomes PNG and PDF where rsvg-convert is installed") {
  if (find_program("rsvg-convert").empty()) return testing::skip("rsvg-convert is not installed");
  const Folder folder;
  Svg svg{40, 20, "t"};
  svg.text({1, 10}, "text");
  const std::string picture = std::move(svg).finish();
  CHECK(convert_svg(picture, folder.path() / "a.png", RasterFormat::png).done);
  CHECK(convert_svg(picture, folder.path() / "a.pdf", RasterFormat::pdf).done);
  CHECK(read(folder.path() / "a.png").starts_with("\x89PNG"));
  CHECK(read(folder.path() / "a.pdf").starts_with("%PDF"));
  // Nothing else is left behind.
  CHECK(std::distance(fs::directory_iterator{folder.path()}, {}) == 2);
}

TEST_CASE("A picture that cannot be converted leaves no file and a reason") {
  if (find_program("rsvg-convert").empty()) return testing::skip("rsvg-convert is not installed");
  const Folder folder;
  const RasterResult result = convert_svg("no picture", folder.path() / "a.png", RasterFormat::png);
  CHECK_FALSE(result.done);
  CHECK(result.reason.find("a.png was not made") == 0);
  CHECK(fs::is_empty(folder.path()));
  CHECK_FALSE(convert_svg("<svg/>", folder.path() / "no" / "a.png", RasterFormat::png).done);
}

TEST_CASE("Programs are found by name, and only if they are there") {
  CHECK_FALSE(find_program("sh").empty());
  CHECK(find_program("no-such-program-of-schedlab").empty());
}

}  // namespace
}  // namespace schedlab
