// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "sim/sweep/field_table.hpp"
#include "studies/sensitivity/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

constexpr std::size_t max_rows = 25;

const Fields<OrderChange>& order_change_fields() {
  using C = OrderChange;
  static const Fields<C> fields{{"factor", &C::factor, {.doc = "of the number"}},
                                {"value", &C::value},
                                {"policy", &C::policy, {.doc = "the fastest from there on"}},
                                {"within_interval", &C::within_interval}};
  return fields;
}

const Fields<NumberSensitivity>& number_fields() {
  using N = NumberSensitivity;
  static const Fields<N> fields{
      {"number", [](const N& n) { return n.number.pointer; }, {.doc = "in the machine file"}},
      {"value", [](const N& n) { return n.number.value; }},
      {"origin", [](const N& n) { return std::string{to_string(n.number.origin)}; }},
      {"elasticity",
       &N::elasticity,
       {.doc = "by policy: per cent of the makespan for 1 % more of the number"}},
      {"below", &N::below, order_change_fields()},
      {"above", &N::above, order_change_fields()}};
  return fields;
}

const Fields<OperationShare>& operation_fields() {
  using O = OperationShare;
  static const Fields<O> fields{{"operation", &O::operation},
                                {"tasks", &O::tasks, {.doc = "on the critical path"}},
                                {"running_us", &O::running},
                                {"share", &O::share, {.doc = "of the makespan"}}};
  return fields;
}

/// "7.3 % lower"
std::string change_text(const OrderChange& change) {
  return fmt::format(
      "{:.1f} % {}", 100 * std::abs(change.factor - 1), change.factor < 1 ? "lower" : "higher");
}

std::string turn_text(const std::optional<OrderChange>& change) {
  if (!change) return "";
  return fmt::format("{}{}: {}",
                     change_text(*change),
                     change->within_interval ? ", within its interval" : "",
                     change->policy);
}

/// The order change that needs the least change of a number.
const NumberSensitivity* most_delicate(const Sensitivity& result, const OrderChange*& change) {
  const NumberSensitivity* found = nullptr;
  for (const NumberSensitivity& number : result.numbers) {
    for (const auto* side : {&number.below, &number.above}) {
      if (!side->has_value()) continue;
      const double way = std::abs(std::log((*side)->factor));
      if (change != nullptr && way >= std::abs(std::log(change->factor))) continue;
      change = &**side;
      found = &number;
    }
  }
  return found;
}

std::string winner_text(const Sensitivity& result) {
  const std::string& best = result.policies[result.fastest];
  const Duration least = result.makespans[result.fastest];
  if (result.policies.size() == 1) return fmt::format("{}: {}.", best, readable(least));
  std::size_t next = result.fastest == 0 ? 1 : 0;
  for (std::size_t i = 0; i < result.policies.size(); ++i) {
    if (i != result.fastest && result.makespans[i] < result.makespans[next]) next = i;
  }
  return fmt::format("{} is the fastest ({}), {} takes {:.2f} % longer.",
                     best,
                     readable(least),
                     result.policies[next],
                     100 * (to_us(result.makespans[next]) / to_us(least) - 1));
}

std::string order_text(const Sensitivity& result) {
  if (result.policies.size() == 1 || result.numbers.empty()) return {};
  const OrderChange* change = nullptr;
  const NumberSensitivity* number = most_delicate(result, change);
  if (number == nullptr) {
    return fmt::format("{}, divided or multiplied by up to {:g}, makes another one faster.",
                       result.sought
                           ? fmt::format("None of the {} of the machine that would turn it first",
                                         counted(*result.sought, "number"))
                           : std::string{"No number of the machine"},
                       result.range);
  }
  return fmt::format("It is so unless {} ({}) is {}: then {} is faster.",
                     number->number.pointer,
                     to_string(number->number.origin),
                     change_text(*change),
                     change->policy);
}

std::string matters_text(const Sensitivity& result) {
  const NumberSensitivity* most = nullptr;
  for (const NumberSensitivity& number : result.numbers) {
    const double here = std::abs(number.elasticity[result.fastest]);
    if (most == nullptr || here > std::abs(most->elasticity[result.fastest])) most = &number;
  }
  if (most == nullptr) return "No number of the machine has an effect.";
  const double elasticity = most->elasticity[result.fastest];
  return fmt::format("{} matters most: 1 % more of it makes {} {:.2f} % {}.",
                     most->number.pointer,
                     result.policies[result.fastest],
                     std::abs(elasticity),
                     elasticity < 0 ? "faster" : "slower");
}

PrintedTable numbers_table(const Sensitivity& result, std::size_t max_numbers) {
  std::vector<std::string> names{"number", "origin", "value"};
  for (const std::string& policy : result.policies) names.push_back(policy);
  if (result.policies.size() > 1) names.insert(names.end(), {"order turns below", "above"});
  PrintedTable table = empty_table(names, 2);
  if (result.policies.size() > 1) {
    table.columns.back().is_number = false;
    table.columns[table.columns.size() - 2].is_number = false;
  }
  for (const NumberSensitivity& number : result.numbers) {
    if (table.rows.size() == max_numbers) break;
    auto& cells = table.rows.emplace_back(
        std::vector<std::string>{number.number.pointer,
                                 std::string{to_string(number.number.origin)},
                                 fmt::format("{:.6g}", number.number.value)});
    for (const double each : number.elasticity) cells.push_back(fmt::format("{:+.3f}", each));
    if (result.policies.size() == 1) continue;
    cells.push_back(turn_text(number.below));
    cells.push_back(turn_text(number.above));
  }
  return table;
}

constexpr const char* section_title = "How far the numbers of the machine can be off";

std::string section_text(const Sensitivity& result) {
  std::string text;
  for (const std::string& sentence :
       {winner_text(result), order_text(result), matters_text(result)}) {
    if (!sentence.empty()) text += sentence + " ";
  }
  return text + "Columns of policies: per cent of the makespan for 1 % more of a number.";
}

}  // namespace

const Fields<Sensitivity>& sensitivity_fields() {
  using S = Sensitivity;
  static const Fields<S> fields{
      {"name", &S::name},
      {"machine", &S::machine},
      {"step", &S::step, {.doc = "by which numbers are changed for an elasticity"}},
      {"range", &S::range, {.doc = "up to which factor order changes are sought"}},
      {"policies", &S::policies},
      {"fastest", [](const S& s) { return s.policies[s.fastest]; }},
      {"makespans_us",
       [](const S& s) {
         std::vector<double> all;
         for (const Duration each : s.makespans) all.push_back(to_us(each));
         return all;
       }},
      {"numbers", &S::numbers, number_fields()},
      {"without_effect", &S::without_effect, {.doc = "numbers of the machine"}},
      {"operations", &S::operations, operation_fields()}};
  return fields;
}

ReportTable sensitivity_table(const Sensitivity& result, std::size_t max_numbers) {
  ReportTable made{.title = section_title, .note = section_text(result), .table = {}};
  const PrintedTable printed = numbers_table(result, max_numbers);
  for (const PrintedTable::Column& column : printed.columns) {
    made.table.columns.push_back({column.name, ColumnRole::note});
  }
  for (const auto& row : printed.rows) made.table.rows.emplace_back(row.begin(), row.end());
  return made;
}

void add_sensitivity(ReportDocument& page,
                     const Sensitivity& result,
                     const std::string& of,
                     std::size_t max_numbers) {
  page.heading(section_title);
  page.paragraph(of + section_text(result));
  if (!result.numbers.empty()) page.table(numbers_table(result, max_numbers));
}

ReportDocument sensitivity_report(const Sensitivity& result) {
  ReportDocument report(fmt::format("{} on {}", result.name, result.machine));
  report.paragraph(winner_text(result), Tone::lead);
  report.paragraph(order_text(result), Tone::lead);
  report.paragraph(matters_text(result), Tone::lead);
  report.heading("What the numbers of the machine mean");
  report.paragraph(
      "Per cent that the makespan changes by for 1 % more of a number, by policy; how far the "
      "number "
      "can go before another policy is the fastest. One number changes at a time.");
  report.table(numbers_table(result, max_rows));
  if (result.numbers.size() > max_rows) {
    report.paragraph(
        fmt::format("{} more are in sensitivity.json.", result.numbers.size() - max_rows),
        Tone::note);
  }
  report.paragraph(
      fmt::format("{} have no effect.", counted(result.without_effect, "other number")));
  report.heading("What its kernels mean");
  report.paragraph(
      fmt::format("Tasks on the critical path of {}: a kind that takes 1 % less shortens the run "
                  "by its share of "
                  "1 %.",
                  result.policies[result.fastest]));
  PrintedTable table = empty_table({"operation", "tasks", "time", "share"});
  for (const OperationShare& each : result.operations) {
    if (each.running == Duration{0}) continue;
    table.rows.push_back({each.operation,
                          fmt::format("{}", each.tasks),
                          readable(each.running),
                          fmt::format("{:.1f} %", 100 * each.share)});
  }
  report.table(std::move(table));
  return report;
}

}  // namespace schedlab
