// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_json_operation.hpp"

#include "workloads/formats/task_class_words.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace schedlab::detail {
namespace {

constexpr std::int64_t largest = GraphTotals::largest_size;

}  // namespace

Operation JsonOperationReader::read(JsonValues::Object fields) {
  Operation operation{.name = {}, .kernels = {}};
  for (auto field : fields) {
    const std::string_view key = JsonValues::key_of(field);
    place_.field(key);
    if (key == "name") {
      operation.name = values_.string(field.value());
    } else if (key == "kind") {
      operation.kind = static_cast<TaskKind>(values_.word(field.value(), enum_names<TaskKind>()));
    } else if (key == "class") {
      operation.task_class =
          static_cast<TaskClass>(values_.word(field.value(), task_class_names()));
    } else if (key == "duration_us") {
      operation.fixed_duration = values_.duration(field.value());
    } else if (key == "kernels") {
      for (auto item : values_.array(field.value())) {
        place_.inner(operation.kernels.size());
        operation.kernels.push_back(read_kernel(values_.object(item)));
        place_.field("kernels");
      }
    } else {
      place_.refuse_key(key, {"name", "kind", "class", "duration_us", "kernels"});
    }
  }
  return operation;
}

Kernel JsonOperationReader::read_kernel(JsonValues::Object fields) {
  Kernel kernel;
  for (auto field : fields) {
    const std::string_view key = JsonValues::key_of(field);
    place_.inner_field(key);
    if (key == "kind") {
      kernel.kind = static_cast<TaskKind>(values_.word(field.value(), enum_names<TaskKind>()));
    } else if (key == "data_type") {
      kernel.type = static_cast<DataType>(values_.word(field.value(), enum_names<DataType>()));
    } else if (key == "m") {
      kernel.m = values_.integer(field.value(), 0, largest);
    } else if (key == "n") {
      kernel.n = values_.integer(field.value(), 0, largest);
    } else if (key == "k") {
      kernel.k = values_.integer(field.value(), 0, largest);
    } else if (key == "flops") {
      kernel.flops = Flops{values_.number(field.value(), 1e30)};
    } else if (key == "bytes_read") {
      kernel.bytes_read = Bytes{values_.integer(field.value(), 0, largest)};
    } else if (key == "bytes_written") {
      kernel.bytes_written = Bytes{values_.integer(field.value(), 0, largest)};
    } else if (key == "pageable") {
      kernel.pageable = values_.flag(field.value());
    } else if (key == "attention") {
      kernel.attention = read_attention(values_.object(field.value()));
    } else if (!read_grid(key, field.value(), kernel.grid)) {
      place_.refuse_key(key,
                        {"kind",
                         "data_type",
                         "m",
                         "n",
                         "k",
                         "flops",
                         "bytes_read",
                         "bytes_written",
                         "pageable",
                         "blocks",
                         "threads",
                         "registers",
                         "shared_memory_bytes",
                         "compute_share",
                         "attention"});
    }
  }
  if (!totals_.add_bytes(kernel.bytes_read.count() + kernel.bytes_written.count())) {
    place_.refuse("more bytes than can be counted", "smaller kernels");
  }
  return kernel;
}

AttentionShape JsonOperationReader::read_attention(JsonValues::Object fields) {
  AttentionShape shape;
  const std::pair<std::string_view, std::int64_t*> members[] = {{"sequences", &shape.sequences},
                                                                {"queries", &shape.queries},
                                                                {"keys", &shape.keys},
                                                                {"heads", &shape.heads},
                                                                {"kv_heads", &shape.kv_heads},
                                                                {"head", &shape.head}};
  for (auto field : fields) {
    const std::string_view key = JsonValues::key_of(field);
    const auto* const found = std::find_if(std::begin(members),
                                           std::end(members),
                                           [&](const auto& member) { return member.first == key; });
    if (found == std::end(members)) {
      place_.refuse_key(key, {"sequences", "queries", "keys", "heads", "kv_heads", "head"});
    }
    *found->second = values_.integer(field.value(), 1, largest);
  }
  if (!is_valid(shape)) {
    place_.refuse("an attention without its shape",
                  "sequences, queries, keys of at least as many, heads, kv_heads that divide them, "
                  "and head, all above 0");
  }
  return shape;
}

bool JsonOperationReader::read_grid(std::string_view key,
                                    JsonValues::Value value,
                                    KernelGrid& grid) {
  if (key == "blocks") {
    grid.blocks = static_cast<std::uint32_t>(values_.integer(value, 0, max_blocks));
  } else if (key == "threads") {
    grid.block.threads = static_cast<std::uint16_t>(values_.integer(value, 0, max_threads));
  } else if (key == "registers") {
    grid.block.registers = static_cast<std::uint16_t>(values_.integer(value, 0, max_registers));
  } else if (key == "shared_memory_bytes") {
    grid.block.shared_memory =
        static_cast<std::uint32_t>(values_.integer(value, 0, max_shared_memory));
  } else if (key == "compute_share") {
    grid.compute_share = static_cast<float>(values_.number(value, 1));
  } else {
    return false;
  }
  return true;
}

}  // namespace schedlab::detail
