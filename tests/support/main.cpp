// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

namespace {

constexpr int exit_skipped = 77;

/// Counts the test cases that ran, which doctest tells only its reporters.
class RunCounter final : public doctest::IReporter {
 public:
  explicit RunCounter(const doctest::ContextOptions& /*options*/) {}

  static int& run() {
    static int count = 0;
    return count;
  }

  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    run() = static_cast<int>(stats.numTestCasesPassingFilters);
  }
  void test_case_start(const doctest::TestCaseData& /*data*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*signature*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}
};

REGISTER_LISTENER("run_counter", 1, RunCounter);

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit() || result != 0) {
    return result;
  }
  const bool all_skipped =
      RunCounter::run() > 0 && schedlab::testing::skip_count() >= RunCounter::run();
  return all_skipped ? exit_skipped : 0;
}
