// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab::detail {

/// virtual stages, replicas, microbatches, batch, recompute, compression_*, algorithm: the options
/// of an iteration that all workloads of pipelines have.
void add_round_options(std::vector<OptionSpec>& options);

/// Sets them in a spec whose profile is there. `samples`: of a micro-batch where the batch is left
/// open. Throws InputError for virtual stages that do not divide the stages and a batch too small,
/// InfeasibleError for more tasks than can be held.
void set_round(const Options& options, std::int64_t samples, PipelineSpec& spec);

/// InputError at an option.
[[noreturn]] void refuse_option(const char* option, std::string found, std::string expected);

}  // namespace schedlab::detail
