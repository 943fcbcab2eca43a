// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/lstm_scene.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::bench {

/// The graph of a scene, with a duration per task, as text in our two formats.
class GraphFiles {
 public:
  /// Throws std::runtime_error if a format does not give the graph back.
  explicit GraphFiles(const LstmScene& scene);

  /// Name and one reading from memory, ours and yardsticks. This must outlive them.
  [[nodiscard]] std::vector<std::pair<std::string, std::function<void()>>> readers() const;

 private:
  std::string text_;
  std::string json_;
};

}  // namespace schedlab::bench
