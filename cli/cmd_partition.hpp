// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/partition/partition_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `partition`.
CLI::App* add_to(CLI::App& app, PartitionOptions& options);

}  // namespace schedlab
