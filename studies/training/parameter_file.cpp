// SPDX-License-Identifier: Apache-2.0
#include "studies/training/parameter_file.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

// Signatures and sizes of APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.16.
constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::size_t local_size = 30;
constexpr std::size_t central_size = 46;
constexpr std::size_t end_size = 22;
constexpr std::uint16_t zip_version = 20;
constexpr std::uint16_t first_of_1980 = 0x21;  // the earliest date there is

std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

template <class Number>
void put(std::string& to, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    to += static_cast<char>((value >> (8 * i)) & 0xffU);
  }
}

template <class Number>
Number get(std::string_view from, std::size_t at) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    const auto byte = static_cast<Number>(static_cast<unsigned char>(from.at(at + i)));
    value = static_cast<Number>(value | static_cast<Number>(byte << (8 * i)));
  }
  return value;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape.front())
                           : fmt::format("({})", fmt::join(shape, ", "));
}

std::string npy(const std::vector<std::int64_t>& shape, std::span<const float> values) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape_text(shape));
  constexpr std::size_t before = 10;  // magic, version, length
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes{"\x93NUMPY\x01\x00", 8};
  put(bytes, static_cast<std::uint16_t>(header.size()));
  bytes += header;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    put(bytes, bits);
  }
  return bytes;
}

/// What local and central headers have in common.
void put_entry(std::string& to, const std::string& name, const std::string& data) {
  put(to, zip_version);
  put(to, std::uint16_t{0});  // flags
  put(to, std::uint16_t{0});  // stored
  put(to, std::uint16_t{0});  // time
  put(to, first_of_1980);
  put(to, crc32_of(data));
  put(to, static_cast<std::uint32_t>(data.size()));
  put(to, static_cast<std::uint32_t>(data.size()));
  put(to, static_cast<std::uint16_t>(name.size()));
  put(to, std::uint16_t{0});  // extra
}

struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{}));
  }
};

/// In the order of the parameters.
std::vector<NamedArray> arrays_of(const NetSpec& net) {
  const std::vector<SampleShape> shapes = layer_shapes(net);
  const std::vector<std::size_t> owners = parameter_owners(net);
  std::vector<NamedArray> all;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    if (owners[i] != i) continue;
    const std::string& given = net.layers[i].name;
    const std::string layer = given.empty() ? fmt::format("layer{}", i) : given;
    for (ParameterArray& array : parameter_arrays(net.layers[i], shapes[i])) {
      all.push_back({fmt::format("{}.{}", layer, array.name), std::move(array.shape)});
    }
  }
  return all;
}

/// The stored entries of an archive, by name.
class ArchiveReader {
 public:
  ArchiveReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  [[nodiscard]] std::map<std::string, std::string_view> entries() const {
    try {
      return read();
    } catch (const std::out_of_range&) {
      refuse({}, "an archive that ends early", "an .npz file");
    }
  }

  [[noreturn]] void refuse(const std::string& array,
                           const std::string& found,
                           const std::string& expected,
                           const std::string& hint = {}) const {
    throw InputError(
        {.file = file_, .pointer = array, .found = found, .expected = expected, .hint = hint});
  }

 private:
  [[nodiscard]] std::map<std::string, std::string_view> read() const {
    if (bytes_.size() < end_size ||
        get<std::uint32_t>(bytes_, bytes_.size() - end_size) != end_signature) {
      refuse({}, "no ZIP archive", "an .npz file, as a training or numpy.savez writes it");
    }
    const std::size_t end = bytes_.size() - end_size;
    const auto count = get<std::uint16_t>(bytes_, end + 10);
    std::size_t at = get<std::uint32_t>(bytes_, end + 16);
    std::map<std::string, std::string_view> all;
    for (int i = 0; i < count; ++i) {
      if (get<std::uint32_t>(bytes_, at) != central_signature) {
        refuse({}, "a broken list of arrays", "an .npz file");
      }
      const auto name_size = get<std::uint16_t>(bytes_, at + 28);
      const std::string name{bytes_.substr(at + central_size, name_size)};
      if (get<std::uint16_t>(bytes_, at + 10) != 0) {
        refuse(name, "a compressed array", "a stored one", "write it with numpy.savez");
      }
      const std::size_t size = get<std::uint32_t>(bytes_, at + 20);
      const std::size_t local = get<std::uint32_t>(bytes_, at + 42);
      const std::size_t data = local + local_size + get<std::uint16_t>(bytes_, local + 26) +
                               get<std::uint16_t>(bytes_, local + 28);
      if (data > bytes_.size() || size > bytes_.size() - data) throw std::out_of_range("entry");
      all.emplace(name, bytes_.substr(data, size));
      at += central_size + name_size + get<std::uint16_t>(bytes_, at + 30) +
            get<std::uint16_t>(bytes_, at + 32);
    }
    return all;
  }

  std::string_view bytes_;
  const std::string& file_;
};

void append_array(const ArchiveReader& archive,
                  const NamedArray& array,
                  std::string_view bytes,
                  std::vector<float>& into) {
  const std::string what = fmt::format("'<f4' {} in C order", shape_text(array.shape));
  if (bytes.size() < 10 || bytes.substr(0, 6) != std::string_view{"\x93NUMPY", 6} ||
      bytes.size() < 10U + get<std::uint16_t>(bytes, 8)) {
    archive.refuse(array.name, "no .npy array of format 1.0", what);
  }
  const std::string_view header = bytes.substr(10, get<std::uint16_t>(bytes, 8));
  const std::string_view values = bytes.substr(10 + header.size());
  const bool right = header.find("'<f4'") != std::string_view::npos &&
                     header.find("'fortran_order': False") != std::string_view::npos &&
                     header.find("'shape': " + shape_text(array.shape)) != std::string_view::npos;
  if (!right || values.size() != 4 * array.size()) {
    archive.refuse(array.name, std::string{header.substr(0, header.find_last_of('}') + 1)}, what);
  }
  for (std::size_t i = 0; i < array.size(); ++i) {
    const auto bits = get<std::uint32_t>(values, 4 * i);
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    into.push_back(value);
  }
}

}  // namespace

std::string parameters_npz(const NetSpec& net, std::span<const float> parameters) {
  std::string archive;
  std::string central;
  std::uint16_t count = 0;
  for (const NamedArray& array : arrays_of(net)) {
    SCHEDLAB_EXPECTS(array.size() <= parameters.size(), "parameters of the whole net");
    const std::string name = array.name + ".npy";
    const std::string data = npy(array.shape, parameters.first(array.size()));
    parameters = parameters.subspan(array.size());
    put(central, central_signature);
    put(central, zip_version);
    put_entry(central, name, data);
    put(central, std::uint16_t{0});  // comment
    put(central, std::uint16_t{0});  // disk
    put(central, std::uint16_t{0});  // attributes
    put(central, std::uint32_t{0});
    put(central, static_cast<std::uint32_t>(archive.size()));
    central += name;
    put(archive, local_signature);
    put_entry(archive, name, data);
    archive += name + data;
    ++count;
  }
  const auto begin = static_cast<std::uint32_t>(archive.size());
  archive += central;
  put(archive, end_signature);
  put(archive, std::uint32_t{0});  // disks
  put(archive, count);
  put(archive, count);
  put(archive, static_cast<std::uint32_t>(central.size()));
  put(archive, begin);
  put(archive, std::uint16_t{0});  // comment
  return archive;
}

std::vector<float> read_parameters_npz(std::string_view bytes,
                                       const std::string& file,
                                       const NetSpec& net) {
  const ArchiveReader archive(bytes, file);
  const auto entries = archive.entries();
  std::vector<float> parameters;
  for (const NamedArray& array : arrays_of(net)) {
    const auto found = entries.find(array.name + ".npy");
    if (found == entries.end()) {
      archive.refuse(array.name, "no such array", "one for each array of the net's layers");
    }
    append_array(archive, array, found->second, parameters);
  }
  return parameters;
}

}  // namespace schedlab
