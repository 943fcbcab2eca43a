// SPDX-License-Identifier: Apache-2.0
#include "studies/base/rank_process.hpp"

#include "real_exec/ranks/mpi_link.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <ostream>
#include <string>

namespace schedlab {

int run_as_rank(const Terminal& terminal, const std::function<int(RankLink&)>& work) {
  const std::unique_ptr<RankLink> link = open_mpi();
  try {
    return work(*link);
  } catch (const std::exception& error) {
    terminal.err << fmt::format("error: rank {}: {}\n", link->rank(), error.what()) << std::flush;
    give_up_mpi(exit_failed);
    return exit_failed;
  }
}

bool ranks_agree(RankLink& link, const Terminal& terminal, const std::function<void()>& read) {
  std::string problem;
  try {
    read();
  } catch (const InputError& error) {
    problem = error.what();
  }
  std::string verdict;
  for (const std::string& said : gather_texts(link, problem)) {
    if (verdict.empty()) verdict = said;
  }
  verdict = broadcast_text(link, verdict);
  if (verdict.empty()) return true;
  if (link.rank() == 0) terminal.err << "error: " << verdict << '\n' << std::flush;
  return false;
}

}  // namespace schedlab
