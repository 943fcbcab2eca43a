// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/cost_export.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/explanation/export_verb.hpp"
#include "tests/studies/explanation/imported_profile.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace schedlab {
namespace {

struct Session : testing::VerbSession {
  testing::TemporaryFolder folder;

  std::string exported(const std::string& format, const std::string& input) {
    const std::filesystem::path file = folder.path() / ("costs." + format);
    REQUIRE(call(ExportOptions{.format = format,
                               .input = (folder.path() / input).string(),
                               .out = file.string(),
                               .overwrite = true}) == exit_done);
    return read_file(file);
  }
  void write(const char* name, const std::string& text) const {
    write_file_atomically(folder.path() / name, text);
  }
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("costs of a spec: by operation and shape, with what they rest on") {
  Session session;
  session.write("spec.json", R"({"workload": {"kind": "lstm", "layers": 1, "steps": 2, "batch": 8,
      "hidden": 64, "data_type": "bf16"}, "machine": "h100", "policy": "critical_first"})");
  const std::string csv = session.exported("costs", "spec.json");
  CHECK(csv.starts_with("operation,kind,shape,type,count,cost_us,cost_evidence\n"));
  CHECK(has(csv, "gemm,8x64x256,bf16,2,"));  // a product of the cell
  CHECK(has(csv, ",calibrated"));            // by the fitted library
  CHECK(has(csv, ",data_sheet"));            // point-wise work
  const std::string xla = session.exported("xla_costs", "spec.json");
  CHECK(has(xla, "costs { name: \""));
  CHECK(has(xla, " cost_us: "));
  CHECK(has(xla, "  # data_sheet\n"));
}

TEST_CASE("costs of a profile: operators with all that they launched, kernels without one") {
  Session session;
  session.write("profile.json", testing::small_profile());
  CHECK(session.exported("costs", "profile.json") ==
        "operation,kind,shape,type,count,cost_us,cost_evidence\n"
        "gemm,kernel,\"\",\"\",1,300,measured\n"
        "small,kernel,\"\",\"\",1,40,measured\n");
  session.write("linked.json", R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 11, "ts": 10, "dur": 20,
     "args": {"External id": 5, "Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"]}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 11, "ts": 12,
     "dur": 4, "args": {"correlation": 1, "External id": 5}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 30,
     "args": {"device": 0, "stream": 7, "correlation": 1, "External id": 5}},
    {"ph": "X", "cat": "kernel", "name": "reduce", "pid": 0, "tid": 7, "ts": 60, "dur": 6,
     "args": {"device": 0, "stream": 7, "correlation": 1, "External id": 5}}]})");
  const std::string csv = session.exported("costs", "linked.json");
  CHECK(has(csv, "aten::mm,operator,"));
  CHECK(has(csv, "\"[[8, 4], [4, 2]]\""));
  CHECK(has(csv, ",1,36,measured"));
}

TEST_CASE("costs of several scenarios are refused") {
  Session session;
  session.write("spec.json", R"({"workload": {"kind": "lstm", "layers": [1, 2], "steps": 2},
      "machine": "h100", "policy": "diagonal"})");
  CHECK_THROWS_AS((void)load_operation_costs(session.folder.path() / "spec.json", nullptr),
                  InputError);
}

}  // namespace
}  // namespace schedlab
