// SPDX-License-Identifier: Apache-2.0
#include "studies/serving/serve_verb.hpp"

#include "studies/serving/result_server.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace schedlab {

int run(const ServeOptions& options, const Terminal& terminal) {
  serve_results(options.folder, options.port, terminal.stop, [&](std::uint16_t port) {
    const std::string address = fmt::format("http://127.0.0.1:{}/", port);
    if (options.json) {
      const nlohmann::ordered_json summary{
          {"verb", "serve"}, {"folder", options.folder}, {"address", address}};
      terminal.out << summary.dump() << '\n';
    } else {
      terminal.out << fmt::format("{}: {} (Ctrl-C ends it)\n", options.folder, address);
    }
    terminal.out.flush();
  });
  return exit_done;
}

}  // namespace schedlab
