// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/options.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

using namespace schedlab;

TEST_CASE("durations from rates round up to the next picosecond: no work is free") {
  CHECK(Bytes{1} / 1_GB_per_s == 1ns);
  CHECK(Bytes{1} / 3_GB_per_s == Duration{334});      // 333.3 ps
  CHECK(Flops{1} / 1000_TFLOP_per_s == Duration{1});  // 0.001 ps, never 0
  CHECK(Bytes{0} / 1_GB_per_s == Duration{0});
  CHECK(Flops{1e300} / FlopRate{1.0} == Duration::max());  // saturates
}

TEST_CASE("microseconds of a file become the nearest picosecond and come back") {
  CHECK(from_us(0.5) == 500ns);
  CHECK(from_us(1e-6) == Duration{1});
  CHECK(to_us(from_us(1234.567891)) == doctest::Approx(1234.567891));
  CHECK((Flops{10} / Bytes{4}).count() == 2.5);
}

TEST_CASE("literals mean what they say") {
  CHECK(4_KiB == Bytes{4096});
  CHECK(2_GiB == Bytes{std::int64_t{2} << 30});
  CHECK((900_GB_per_s).count() == 900e9);
  CHECK((15.7_TFLOP_per_s).count() == doctest::Approx(15.7e12));
}

TEST_CASE("an id is invalid until it is given, and an IdVector hands out the next") {
  CHECK_FALSE(TaskId{}.valid());
  CHECK(TaskId::none() == TaskId{});
  IdVector<TaskId, int> numbers;
  CHECK(numbers.push_back(7) == TaskId{0});
  CHECK(numbers.push_back(8) == TaskId{1});
  CHECK(numbers[TaskId{1}] == 8);
  CHECK_FALSE(numbers.contains(TaskId{2}));
  CHECK_FALSE(numbers.contains(TaskId::none()));
  std::uint32_t sum = 0;
  for (const TaskId id : numbers.ids()) sum += id.value();
  CHECK(sum == 1);
}

TEST_CASE("an input error says file, place, found, expected and what to do") {
  const InputError error{{.file = "lstm.json",
                          .pointer = "/tasks/17",
                          .found = "\"cel\"",
                          .expected = "a task",
                          .hint = "did you mean \"cell\"?"}};
  CHECK(std::string{error.what()} ==
        "lstm.json: /tasks/17: found \"cel\", expected a task\n  did you mean \"cell\"?");
}

TEST_CASE("a contract violation names the condition and the culprit") {
  const auto violate = [] { SCHEDLAB_EXPECTS(1 + 1 == 3, "task \"cell(0,1)\""); };
  CHECK_THROWS_WITH_AS(violate(), doctest::Contains("1 + 1 == 3"), ContractViolation);
  CHECK_THROWS_WITH_AS(violate(), doctest::Contains("cell(0,1)"), ContractViolation);
}

TEST_CASE("the closest spelling is offered only when it is likely meant") {
  const std::vector<std::string> words{"layers", "steps", "batch", "hidden"};
  CHECK(closest_spelling("layer", words) == "layers");
  CHECK(closest_spelling("hiden", words) == "hidden");
  CHECK(closest_spelling("bacth", words) == "");  // two edits in five letters: distance 2 > 5 / 3
  CHECK(closest_spelling("zzzzzz", words) == "");
  CHECK(closest_spelling("x", {}) == "");
}

TEST_CASE("a table for which huge pages are asked keeps what it holds") {
  std::vector<std::uint32_t> table{7, 8};
  constexpr std::size_t count = std::size_t{3} << 20U;  // 12 MiB
  reserve_large(table, count);
  CHECK(table.capacity() >= count);
  CHECK(table == std::vector<std::uint32_t>{7, 8});
  table.resize(count, 9);
  CHECK(std::count(table.begin(), table.end(), 9U) == count - 2);
  const std::uint32_t* const place = table.data();
  reserve_large(table, 10);  // less than it has
  CHECK(table.data() == place);
  ask_for_huge_pages(table.data() + 1, 4 * (count - 1));  // from anywhere, and of memory in use
  CHECK(table.front() == 7);
}

TEST_CASE("random numbers are the published SplitMix64 sequence, on every machine") {
  // First outputs for seed 1234567 as listed by several independent implementations.
  Rng rng{1234567};
  CHECK(rng.next() == 6457827717110365317ULL);
  CHECK(rng.next() == 3203168211198807973ULL);
  CHECK(rng.next() == 9817491932198370423ULL);
}

TEST_CASE("bounded random numbers stay in bounds and reach them") {
  Rng rng{1};
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(rng.below(6));
    const double u = rng.uniform();
    CHECK(u >= 0.0);
    CHECK(u < 1.0);
  }
  CHECK(seen.size() == 6);
  CHECK(*seen.rbegin() == 5);
}

namespace {

const std::vector<OptionSpec> specs{{.name = "streams",
                                     .default_value = std::int64_t{4},
                                     .doc = "how many",
                                     .minimum = 1,
                                     .maximum = 9},
                                    {.name = "factor", .default_value = 1.5, .doc = "how much"},
                                    {.name = "mode",
                                     .default_value = std::string{"ordered"},
                                     .doc = "which",
                                     .allowed = {"ordered", "partial"}},
                                    {.name = "fill", .default_value = true, .doc = "whether"}};

using Given = std::map<std::string, OptionValue>;

}  // namespace

TEST_CASE("options are complete: given values and defaults, an integer where a number is meant") {
  const Options options = resolve_options(
      "policy p", specs, {{"streams", std::int64_t{2}}, {"factor", std::int64_t{3}}});
  CHECK(options.integer("streams") == 2);
  CHECK(options.number("factor") == 3.0);
  CHECK(options.text("mode") == "ordered");
  CHECK(options.flag("fill"));
  CHECK_THROWS_AS((void)options.flag("mode"), ContractViolation);
}

TEST_CASE("wrong options are refused by name, with the range, the words or the closest spelling") {
  const auto refused = [](const Given& given, const char* message) {
    CAPTURE(message);
    CHECK_THROWS_WITH_AS(
        (void)resolve_options("policy p", specs, given), doctest::Contains(message), InputError);
  };
  refused({{"streams", std::int64_t{10}}}, "/streams: found 10, expected a value from 1 to 9");
  refused({{"streams", 2.5}}, "/streams: found \"2.5\", expected an integer");
  refused({{"mode", std::string{"orderd"}}}, "did you mean \"ordered\"?");
  refused({{"stream", std::int64_t{1}}}, "did you mean \"streams\"?");
}
