// SPDX-License-Identifier: Apache-2.0
// Compiled once for all test programs: doctest and the standard headers most of them use. Nothing
// of ours, so that a changed header never rebuilds it, and every test file still includes what it
// uses.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
