// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/idx_samples.hpp"

#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

constexpr unsigned unsigned_bytes = 0x08;  // the type of an IDX file's values, its third byte

std::uint32_t byte_at(std::string_view bytes, std::size_t place) {
  return static_cast<unsigned char>(bytes[place]);
}

/// One IDX file: two zeros, type, number of dimensions, sizes (big endian), values.
class IdxFile {
 public:
  IdxFile(const fs::path& folder, const std::string& name, std::size_t dimensions)
      : file_((folder / name).string()) {
    if (!fs::exists(file_) && fs::exists(file_ + ".gz")) file_ += ".gz";
    if (!fs::exists(file_)) {
      reject("no such file, nor one that ends in .gz",
             "an IDX file of MNIST's four",
             "scripts/export_digits.py --idx FOLDER writes four of them");
    }
    text_ = read_file_or_gzip(file_);
    const std::size_t heading = 4 + 4 * dimensions;
    const bool idx = text_.size() >= heading && byte_at(text_, 0) == 0 && byte_at(text_, 1) == 0;
    if (!idx || byte_at(text_, 2) != unsigned_bytes || byte_at(text_, 3) != dimensions) {
      reject("another beginning",
             fmt::format(
                 "an IDX file of bytes with {} dimensions, 0x0000080{}", dimensions, dimensions));
    }
    std::size_t values = 1;
    for (std::size_t i = 0; i < dimensions; ++i) {
      std::size_t size = 0;
      for (std::size_t k = 0; k < 4; ++k) size = size << 8U | byte_at(text_, 4 + 4 * i + k);
      sizes_.push_back(static_cast<std::int64_t>(size));
      // Beyond what the file holds the product does not matter, but must not wrap round.
      values = std::min(values, text_.size()) * size;
    }
    if (values != text_.size() - heading) {
      reject(fmt::format("{} bytes behind the heading", text_.size() - heading),
             fmt::format("{}, the product of its dimensions", values));
    }
  }

  [[noreturn]] void reject(std::string found, std::string expected, std::string hint = {}) const {
    throw InputError({.file = file_,
                      .pointer = {},
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = std::move(hint)});
  }

  [[nodiscard]] std::int64_t size(std::size_t dimension) const { return sizes_[dimension]; }
  [[nodiscard]] std::string_view values() const {
    return std::string_view{text_}.substr(4 + 4 * sizes_.size());
  }

 private:
  std::string file_;
  std::string text_;
  std::vector<std::int64_t> sizes_;
};

LabelledSamples read_idx_part(const fs::path& folder,
                              const std::string& part,
                              const SampleShape& shape) {
  const IdxFile pictures(folder, part + "-images-idx3-ubyte", 3);
  const IdxFile labels(folder, part + "-labels-idx1-ubyte", 1);
  const SampleShape there{pictures.size(1), pictures.size(2), 1};
  if (there != shape) {
    pictures.reject(fmt::format("pictures of {}", to_string(there)),
                    fmt::format("{}, the data's shape", to_string(shape)));
  }
  if (pictures.size(0) == 0) pictures.reject("no pictures", "one or more");
  if (labels.size(0) != pictures.size(0)) {
    labels.reject(fmt::format("{} labels", labels.size(0)),
                  fmt::format("{}, one for each picture", pictures.size(0)));
  }
  LabelledSamples samples{.shape = shape, .classes = 0, .values = {}, .labels = {}};
  samples.values.reserve(pictures.values().size());
  for (const char value : pictures.values()) {
    samples.values.push_back(static_cast<float>(static_cast<unsigned char>(value)) / 255.0F);
  }
  for (const char label : labels.values()) {
    samples.labels.push_back(static_cast<unsigned char>(label));
  }
  return samples;
}

}  // namespace

TrainingData read_idx_folder(const fs::path& folder, const SampleShape& shape) {
  TrainingData data{.train = read_idx_part(folder, "train", shape),
                    .test = read_idx_part(folder, "t10k", shape)};
  std::int32_t largest = 0;
  for (const LabelledSamples* part : {&data.train, &data.test}) {
    largest = std::max(largest, *std::max_element(part->labels.begin(), part->labels.end()));
  }
  data.train.classes = data.test.classes = largest + 1;
  return data;
}

}  // namespace schedlab
