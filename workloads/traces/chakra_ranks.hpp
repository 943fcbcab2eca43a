// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"
#include "workloads/traces/foreign_graph.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace schedlab {

/// Binary Chakra traces of the ranks of one job, as one graph.
struct ChakraRanks {
  std::vector<std::string> files;  ///< by rank
  ForeignGraph joined;             ///< tasks "rank2/NAME#ID"; collectives join one task per rank
  /// One host per rank, which launches its tasks in the order of their ids as far as dependencies
  /// let it, into the streams that the trace names; where it names none into one for
  /// work, one for collectives and one for the host's own.
  Plan plan;
};

/// Which file is whose: by the number in `NAME.3.et`, `NAME.3.et.gz`; where a file has no such
/// number, all count in the order given. Throws InputError for a number that two files have, or
/// that leaves a gap.
[[nodiscard]] std::vector<std::filesystem::path> in_order_of_ranks(
    std::vector<std::filesystem::path> files);

/// The files that a pattern means, in the order of ranks: `FOLDER/NAME.*.et`, where the star stands
/// for the rank. Throws InputError where there are none.
[[nodiscard]] std::vector<std::filesystem::path> files_of_ranks(
    const std::filesystem::path& pattern);
/// Does the file's name have a star?
[[nodiscard]] bool is_rank_pattern(const std::filesystem::path& path);

/// Reads the ranks and joins their collectives: the k-th one of each process group (pg_name; those
/// without one are of all ranks) is the same on each rank that has the group. It lasts as long as
/// on the rank that had to wait least, where all ranks recorded that; else what the machine's
/// network needs for its comm_size. Sends and receives are not joined.
///
/// Errors  those of read_foreign_graph(); InputError for ranks whose collectives differ: names
///         the first.
/// Cost    O(bytes); memory a few times the bytes of all files.
[[nodiscard]] ChakraRanks read_chakra_ranks(const std::vector<std::filesystem::path>& files);

}  // namespace schedlab
