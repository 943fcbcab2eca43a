// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/presets.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace schedlab {
namespace {

std::map<std::string, OptionValue> lstm_shape(std::int64_t layers,
                                              std::int64_t steps,
                                              std::int64_t batch,
                                              std::int64_t hidden) {
  return {{"layers", layers}, {"steps", steps}, {"batch", batch}, {"hidden", hidden}};
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list{
      {"small", "2 layers, 8 steps: for trying things out", "assumed", lstm_shape(2, 8, 16, 256)},
      {"zaremba_medium",
       "word-level language model, 650 units",
       "Zaremba, Sutskever, Vinyals 2014, arXiv 1409.2329",
       lstm_shape(2, 35, 20, 650)},
      {"zaremba_large",
       "word-level language model, 1500 units",
       "Zaremba, Sutskever, Vinyals 2014, arXiv 1409.2329",
       lstm_shape(2, 35, 20, 1500)},
      {"gnmt_like",
       "8 layers of 1024 units, as one side of GNMT without attention",
       "Wu et al. 2016, arXiv 1609.08144 (8 layers, 1024 units, batch 128); 50 "
       "steps assumed",
       lstm_shape(8, 50, 128, 1024)},
  };
  return list;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& each : presets()) names.push_back(each.name);
  return names;
}

std::string_view preset_kind() {
  return "lstm";
}

const Preset& preset(std::string_view name) {
  const auto found = std::find_if(
      presets().begin(), presets().end(), [&](const Preset& each) { return each.name == name; });
  SCHEDLAB_EXPECTS(found != presets().end(), "preset \"" + std::string{name} + "\"");
  return *found;
}

}  // namespace schedlab
