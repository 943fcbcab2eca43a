// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/sweep/results_store.hpp"
#include "studies/sweep/shard.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// The folder of a shard within that of its sweep: "shard_3_of_64".
[[nodiscard]] std::string shard_folder(const Shard& shard);

/// The results of all shards of the sweep that `header` speaks of, in `folders` or in folders of
/// shards beneath them. Throws InputError unless every scenario is there exactly once.
[[nodiscard]] std::vector<ResultsStore> open_shards(const std::vector<std::string>& folders,
                                                    const ResultsHeader& header);

/// Adds all rows, with their samples, of one store to another of the same columns.
void copy_rows(const ResultsStore& from, ResultsStore& to);

/// A word of a command line of a POSIX shell.
[[nodiscard]] std::string quoted_for_shell(const std::string& word);

}  // namespace schedlab
