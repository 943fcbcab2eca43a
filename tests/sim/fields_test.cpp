// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/field_table.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

struct Part {
  double low = 0;
};
struct Whole {
  std::string name;
  Duration time{0};
  std::optional<Part> part;
  std::optional<double> error;
  std::vector<int> list;
  bool good = false;
};

Fields<Whole> whole_fields() {
  using W = Whole;
  const Fields<Part> part{{"low", &Part::low}};
  return {{"name", &W::name, unless_empty},
          time_fields<W>("time", &W::time),
          {"part", &W::part, part, files_only},
          {"error", &W::error, or_null},
          {"list", &W::list},
          when<W>(&W::good, {"good", &W::good, tables_only})};
}

TEST_CASE("JSON, schema and cells follow from one list of fields") {
  const Whole full{"a", Duration{1'500'000}, Part{2}, 0.5, {1, 2}, true};
  CHECK(
      whole_fields().json(full).dump() ==
      R"({"name":"a","time_us":1.5,"time_ps":1500000,"part":{"low":2.0},"error":0.5,"list":[1,2]})");
  CHECK(whole_fields().json({}).dump() == R"({"time_us":0.0,"time_ps":0,"error":null,"list":[]})");

  const schema::Json schema = whole_fields().schema();
  CHECK(schema["required"].dump() == R"(["time_us","time_ps","error","list"])");
  CHECK(schema["properties"]["error"]["type"].dump() == R"(["number","null"])");
  CHECK(schema["properties"]["part"]["required"].dump() == R"(["low"])");

  const Table table = table_of(whole_fields(), std::vector<Whole>{full, {}});
  REQUIRE(table.columns.size() == 5);
  CHECK(table.columns[1].name == "time_us");
  CHECK(table.rows[0] == std::vector<Cell>{"a", 1.5, 0.5, "1 2", std::int64_t{1}});
  CHECK(table.rows[1][0] == Cell{});
  CHECK(table.rows[1][4] == Cell{});
}

}  // namespace
}  // namespace schedlab
