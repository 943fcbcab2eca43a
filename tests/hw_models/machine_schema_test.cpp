// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "studies/base/schema_check.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

bool fits_schema(const nlohmann::json& document) {
  static const PreparedSchema schema{machine_schema()};
  try {
    schema.check(parse_json_node(document.dump(), "m.json"), "m.json");
  } catch (const InputError&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the schema accepts every machine that the library carries") {
  for (const std::string& name : machine_names()) {
    CAPTURE(name);
    CHECK(fits_schema(nlohmann::json::parse(machine_text(name))));
  }
}

TEST_CASE("parameters of CLBlast's kernels are numbers with a source, and written again") {
  nlohmann::json machine = nlohmann::json::parse(machine_text("manycore_cpu"));
  machine["device"]["clblast"]["XgemmDirect"]["WGD"] = {{"value", 32}, {"measured", "here"}};
  CHECK(fits_schema(machine));
  const MachineSpec read = read_machine(machine.dump(), "m.json");
  CHECK(read.sources.back() == NumberSource{.pointer = "/device/clblast/XgemmDirect/WGD",
                                            .value = 32,
                                            .origin = Origin::measured,
                                            .text = "here"});
  CHECK(read_machine(write_machine(read), "again.json").sources == read.sources);
}

TEST_CASE("the schema refuses what the reader refuses") {
  const nlohmann::json good = nlohmann::json::parse(machine_text("v100"));
  REQUIRE(fits_schema(good));
  const auto broken = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json copy = good;
    copy[nlohmann::json::json_pointer{pointer}] = value;
    CAPTURE(pointer);
    CHECK_FALSE(fits_schema(copy));
    CHECK_THROWS(static_cast<void>(read_machine(copy.dump(), "m.json")));
  };
  broken("/device/connections", 8);
  broken("/device/connections/value", -8);
  broken("/device/connections/value", 8.5);
  broken("/device/connections/assumed", "and a source");
  broken("/device/memory_efficiency/value", 2);
  broken("/device/unknown", 1);
  broken("/device/clblast", {{"Xgemm", {{"MWG", 32}}}});
  broken("/host/unknown", {{"value", 1}, {"source", "s"}});
  broken("/device/unit_classes/sm", 80);
  broken("/device/runs_on/gem", "sm");
  broken("/device/gemm_tiles/0/efficiency", 0);
  broken("/device/sm_limits/threads_per_sm/value", 8);
  broken("/device/sm_limits/threads_per_sm", 2048);
  broken("/device/sm_limits/unknown", {{"value", 1}, {"source", "s"}});
  nlohmann::json tile = good["device"]["gemm_tiles"][0];
  REQUIRE(tile.erase("registers") == 1);
  broken("/device/gemm_tiles/0", tile);  // one of the three numbers of the block is missing
  broken("/name", "");
}

}  // namespace schedlab
