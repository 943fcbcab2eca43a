// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_values.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace schedlab {

/// Calls visit(name, array of `a`, array of `b`) for all results; scalars as arrays of one.
template <class A, class B, class Visit>
void for_each_result(const RecurrentResults<A>& a, const RecurrentResults<B>& b, Visit visit) {
  visit(std::string("y"), a.y, b.y);
  visit(std::string("dx"), a.dx, b.dx);
  visit(std::string("loss"), std::vector<A>{a.loss}, std::vector<B>{b.loss});
  for (std::size_t i = 0; i < a.chains.size(); ++i) {
    const auto& x = a.chains[i];
    const auto& y = b.chains[i];
    const std::string of = "(" + std::to_string(i) + ")";
    visit("dWx" + of, x.dwx, y.dwx);
    visit("dWh" + of, x.dwh, y.dwh);
    visit("db" + of, x.dbias, y.dbias);
    visit("dh0" + of, x.dh0, y.dh0);
    visit("dc0" + of, x.dc0, y.dc0);
    visit("Wx" + of, x.wx, y.wx);
    visit("Wh" + of, x.wh, y.wh);
    visit("b" + of, x.bias, y.bias);
    visit("dWp" + of, x.dwp, y.dwp);
    visit("Wp" + of, x.wp, y.wp);
  }
}

/// Euclidean norm of the difference over that of `expected`; of two zeros 0.
template <class A, class B>
double relative_difference(const std::vector<A>& found, const std::vector<B>& expected) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto e = static_cast<double>(expected[i]);
    const double d = static_cast<double>(found[i]) - e;
    difference += d * d;
    norm += e * e;
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

}  // namespace schedlab
