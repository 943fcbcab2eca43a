// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace schedlab {

/// Serves a folder over HTTP at 127.0.0.1, to be read: GET and HEAD alone, for a Host that is this
/// computer, files as ServedFolder::open() gives them. One thread; a request has 10 seconds and
/// 8 KiB, 64 connections are open at most.
///
/// `port`: 0 takes any that is free. `started` is told the port. Ends when `stop` is set.
/// Throws InputError for a folder that is none or a port that is taken.
void serve_results(const std::filesystem::path& folder,
                   std::uint16_t port,
                   const StopFlag* stop,
                   const std::function<void(std::uint16_t)>& started);

}  // namespace schedlab
