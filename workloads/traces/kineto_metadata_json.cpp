// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/json_dom.hpp"
#include "workloads/traces/kineto_event.hpp"

#include <simdjson.h>

#include <string>
#include <utility>

namespace schedlab::detail {

namespace {

namespace dom = simdjson::dom;

constexpr std::size_t longest_kept = 4096;  // of metadata, which is not read here

ImportedDevice device_of(const dom::object& object) {
  ImportedDevice device{.id = value_or<std::int64_t>(object, "id", 0),
                        .name = {},
                        .multiprocessors = value_or<std::int64_t>(object, "numSms", 0),
                        .memory = Bytes{value_or<std::int64_t>(object, "totalGlobalMem", 0)},
                        .compute_major = value_or<std::int64_t>(object, "computeMajor", 0),
                        .compute_minor = value_or<std::int64_t>(object, "computeMinor", 0),
                        .threads_per_warp = value_or<std::int64_t>(object, "warpSize", 0)};
  device.name = text_or_empty(object, "name");
  return device;
}

/// False if it is not what Kineto writes under that key.
bool read_known(std::string_view key, const dom::element& value, ImportedTrace& trace) {
  if (key == "distributedInfo") {
    dom::object info;
    if (value.get(info) != simdjson::SUCCESS) return false;
    trace.rank = value_or<std::int64_t>(info, "rank", trace.rank);
    trace.world_size = value_or<std::int64_t>(info, "world_size", trace.world_size);
  } else if (key == "deviceProperties") {
    dom::array devices;
    if (value.get(devices) != simdjson::SUCCESS) return false;
    for (const dom::element device : devices) {
      dom::object object;
      if (device.get(object) != simdjson::SUCCESS) return false;
      trace.devices.push_back(device_of(object));
    }
  }
  return true;
}

}  // namespace

void read_kineto_metadata(std::string_view key, std::string_view value, ImportedTrace& trace) {
  dom::parser parser;
  dom::element parsed;
  const std::string name{key};
  if (parser.parse(value.data(), value.size()).get(parsed) != simdjson::SUCCESS ||
      !read_known(key, parsed, trace)) {
    trace.problems.add(Severity::notice, "unreadable_metadata", name);
  }
  if (value.size() <= longest_kept) trace.metadata[name] = std::string{value};
}

}  // namespace schedlab::detail
