// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/recurrent_files.hpp"

#include "real_exec/recurrent/recurrent_work.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace schedlab::bench {
namespace {

void write(const std::filesystem::path& path, const std::vector<float>& values) {
  std::ofstream out{path, std::ios::binary};
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

void write_files(const RecurrentSpec& spec, const std::string& folder) {
  const std::filesystem::path to =
      std::filesystem::path{folder} /
      fmt::format("lstm_{}_{}_{}_{}", spec.layers, spec.hidden, spec.batch, spec.steps);
  std::filesystem::create_directories(to);
  const TaskGraph graph = recurrent(spec);
  RecurrentWork work{spec, graph, 1};
  run_serially(work, graph);
  const RecurrentInputs<float>& in = work.inputs();
  const RecurrentResults<float> out = work.results();
  std::ofstream shape{to / "shape.json"};
  shape << fmt::format(
      "{{\"layers\": {}, \"hidden\": {}, \"batch\": {}, \"steps\": {}, \"input\": {}, \"loss\": "
      "{}}}\n",
      spec.layers,
      spec.hidden,
      spec.batch,
      spec.steps,
      spec.input == 0 ? spec.hidden : spec.input,
      out.loss);
  if (!shape) throw std::runtime_error("cannot write " + (to / "shape.json").string());
  write(to / "x.f32", in.x);
  write(to / "target.f32", in.target);
  write(to / "y.f32", out.y);
  write(to / "dx.f32", out.dx);
  for (std::size_t c = 0; c < in.chains.size(); ++c) {
    const auto name = [&](const char* what) { return to / fmt::format("{}_{}.f32", what, c); };
    write(name("wx"), in.chains[c].wx);
    write(name("wh"), in.chains[c].wh);
    write(name("bias"), in.chains[c].bias);
    write(name("h0"), in.chains[c].h0);
    write(name("c0"), in.chains[c].c0);
    write(name("dwx"), out.chains[c].dwx);
    write(name("dwh"), out.chains[c].dwh);
    write(name("dbias"), out.chains[c].dbias);
    write(name("dh0"), out.chains[c].dh0);
    write(name("dc0"), out.chains[c].dc0);
  }
}

}  // namespace schedlab::bench
