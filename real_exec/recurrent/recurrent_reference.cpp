// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_reference.hpp"

#include "sim/base/error.hpp"

#include <Eigen/Core>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::RowVectorXd;
using Sequence = std::vector<Matrix>;  // by step

Matrix matrix(const std::vector<double>& values, std::int64_t rows, std::int64_t columns) {
  SCHEDLAB_EXPECTS(
      static_cast<std::int64_t>(values.size()) == rows * columns,
      fmt::format("recurrent reference: {} values for [{}, {}]", values.size(), rows, columns));
  return Eigen::Map<const Matrix>(values.data(), rows, columns);
}

Sequence sequence(const std::vector<double>& values,
                  std::int64_t steps,
                  std::int64_t rows,
                  std::int64_t columns) {
  const Matrix all = matrix(values, steps * rows, columns);
  Sequence parts;
  for (std::int64_t t = 0; t < steps; ++t) parts.emplace_back(all.middleRows(t * rows, rows));
  return parts;
}

std::vector<double> plain(const Matrix& m) {
  return {m.data(), m.data() + m.size()};
}

std::vector<double> plain(const Sequence& parts) {
  std::vector<double> values;
  for (const Matrix& m : parts) values.insert(values.end(), m.data(), m.data() + m.size());
  return values;
}

Matrix sigmoid(const Matrix& x) {
  return (1.0 + (-x.array()).exp()).inverse();
}

Matrix times(const Matrix& a, const Matrix& b) {
  return a.cwiseProduct(b);
}

/// s (1 - s)
Matrix slope(const Matrix& s) {
  return s.array() * (1.0 - s.array());
}

/// One direction of one layer. Steps are counted in its direction.
class ReferenceChain {
 public:
  ReferenceChain(const RecurrentSpec& spec,
                 const RecurrentChainInputs<double>& in,
                 std::int64_t width)
      : cell_(spec.cell), hidden_(spec.hidden), segment_(segment_steps(spec)) {
    const std::int64_t output = spec.projection > 0 ? spec.projection : spec.hidden;
    if (spec.projection > 0) wp_ = matrix(in.wp, hidden_, output);
    const std::int64_t gates = cell_ == RecurrentCell::lstm ? 4 : 3;
    wx_ = matrix(in.wx, width, gates * hidden_);
    wh_ = matrix(in.wh, output, gates * hidden_);
    bias_ = matrix(in.bias, 1, (cell_ == RecurrentCell::gru_reset_before ? 3 : 4) * hidden_);
    h0_ = matrix(in.h0, spec.batch, output);
    if (cell_ == RecurrentCell::lstm) c0_ = matrix(in.c0, spec.batch, hidden_);
  }

  Sequence forward(const Sequence& x) {
    x_ = x;
    Sequence h;
    for (const Matrix& input : x) {
      saved_.push_back(step(input, h.empty() ? h0_ : h.back()));
      h.push_back(saved_.back().h);
    }
    return h;
  }

  /// Returns dx; `dh` are gradients of all outputs.
  Sequence backward(const Sequence& dh, const Matrix& dh_last, const Matrix& dc_last) {
    dwx_ = Matrix::Zero(wx_.rows(), wx_.cols());
    dwh_ = Matrix::Zero(wh_.rows(), wh_.cols());
    dbias_ = Row::Zero(bias_.size());
    dwp_ = Matrix::Zero(wp_.rows(), wp_.cols());
    dh_ = dh_last;
    dc_ = dc_last;
    Sequence dx(x_.size());
    for (std::size_t t = x_.size(); t-- > 0;) {
      if ((static_cast<std::int64_t>(t) + 1) % segment_ == 0) stop_gradient();
      dh_ += dh[t];
      dx[t] = cell_ == RecurrentCell::lstm  ? lstm_gradient(t)
              : cell_ == RecurrentCell::gru ? gru_gradient(t)
                                            : reset_gradient(t);
    }
    if (segment_ < static_cast<std::int64_t>(x_.size())) stop_gradient();
    return dx;
  }

  [[nodiscard]] RecurrentChainResults<double> results() const {
    RecurrentChainResults<double> results;
    results.dwx = plain(dwx_);
    results.dwh = plain(dwh_);
    results.dbias = plain(dbias_);
    results.dwp = plain(dwp_);
    results.dh0 = plain(dh_);
    if (cell_ == RecurrentCell::lstm) results.dc0 = plain(dc_);
    return results;
  }

 private:
  struct Saved {
    Matrix h_before, c_before, i, f, g, o, tanh_c, c, m, r, z, n, a, h;
  };

  [[nodiscard]] auto gate(const Matrix& all, int index) const {
    return all.middleCols(index * hidden_, hidden_);
  }

  Saved step(const Matrix& x, const Matrix& h_before) {
    Saved s;
    s.h_before = h_before;
    const Matrix zx = x * wx_;
    const Matrix zh = h_before * wh_;
    const auto sum = [&](int index) -> Matrix {
      return (gate(zx, index) + gate(zh, index)).rowwise() + Row(gate(bias_, index));
    };
    if (cell_ == RecurrentCell::lstm) {
      s.c_before = saved_.empty() ? c0_ : saved_.back().c;
      s.i = sigmoid(sum(0));
      s.f = sigmoid(sum(1));
      s.g = sum(2).array().tanh();
      s.o = sigmoid(sum(3));
      s.c = times(s.f, s.c_before) + times(s.i, s.g);
      s.tanh_c = s.c.array().tanh();
      s.m = times(s.o, s.tanh_c);
      s.h = wp_.size() > 0 ? Matrix(s.m * wp_) : s.m;
      return s;
    }
    s.r = sigmoid(sum(0));
    s.z = sigmoid(sum(1));
    Matrix argument = gate(zx, 2).rowwise() + Row(gate(bias_, 2));
    if (cell_ == RecurrentCell::gru) {
      s.a = gate(zh, 2).rowwise() + Row(gate(bias_, 3));
      argument += times(s.r, s.a);
    } else {
      argument += times(s.r, h_before) * gate(wh_, 2);
    }
    s.n = argument.array().tanh();
    s.h = times((1.0 - s.z.array()).matrix(), s.n) + times(s.z, h_before);
    return s;
  }

  /// What a truncated loss does not follow.
  void stop_gradient() {
    if (segment_ == static_cast<std::int64_t>(x_.size())) return;
    dh_.setZero();
    dc_.setZero();
  }

  /// Sums gradients of weights; returns dx.
  Matrix products(std::size_t t, const Matrix& dx_gates) {
    dwx_ += x_[t].transpose() * dx_gates;
    dbias_.head(dx_gates.cols()) += dx_gates.colwise().sum();
    return dx_gates * wx_.transpose();
  }

  Matrix lstm_gradient(std::size_t t) {
    const Saved& s = saved_[t];
    Matrix dm = dh_;
    if (wp_.size() > 0) {
      dwp_ += s.m.transpose() * dh_;
      dm = dh_ * wp_.transpose();
    }
    const Matrix dc = dc_.array() + dm.array() * s.o.array() * (1.0 - s.tanh_c.array().square());
    Matrix dgates(dh_.rows(), 4 * hidden_);
    dgates << times(times(dc, s.g), slope(s.i)), times(times(dc, s.c_before), slope(s.f)),
        (dc.array() * s.i.array() * (1.0 - s.g.array().square())).matrix(),
        times(times(dm, s.tanh_c), slope(s.o));
    dwh_ += s.h_before.transpose() * dgates;
    dh_ = dgates * wh_.transpose();
    dc_ = times(dc, s.f);
    return products(t, dgates);
  }

  Matrix gru_gradient(std::size_t t) {
    const Saved& s = saved_[t];
    const Matrix dn = dh_.array() * (1.0 - s.z.array()) * (1.0 - s.n.array().square());
    const Matrix dz = times(times(dh_, s.h_before - s.n), slope(s.z));
    const Matrix dr = times(times(dn, s.a), slope(s.r));
    const Matrix da = times(dn, s.r);
    Matrix dx_gates(dh_.rows(), 3 * hidden_);
    Matrix dh_gates(dh_.rows(), 3 * hidden_);
    dx_gates << dr, dz, dn;
    dh_gates << dr, dz, da;
    dwh_ += s.h_before.transpose() * dh_gates;
    dbias_.tail(hidden_) += da.colwise().sum();
    dh_ = times(dh_, s.z) + dh_gates * wh_.transpose();
    return products(t, dx_gates);
  }

  Matrix reset_gradient(std::size_t t) {
    const Saved& s = saved_[t];
    const Matrix dn = dh_.array() * (1.0 - s.z.array()) * (1.0 - s.n.array().square());
    const Matrix dz = times(times(dh_, s.h_before - s.n), slope(s.z));
    const Matrix dreset = dn * gate(wh_, 2).transpose();
    const Matrix dr = times(times(dreset, s.h_before), slope(s.r));
    Matrix dx_gates(dh_.rows(), 3 * hidden_);
    dx_gates << dr, dz, dn;
    const Matrix first_two = dx_gates.leftCols(2 * hidden_);
    dwh_.leftCols(2 * hidden_) += s.h_before.transpose() * first_two;
    dwh_.rightCols(hidden_) += times(s.r, s.h_before).transpose() * dn;
    dh_ = times(dh_, s.z) + times(dreset, s.r) + first_two * wh_.leftCols(2 * hidden_).transpose();
    return products(t, dx_gates);
  }

  RecurrentCell cell_;
  std::int64_t hidden_;
  std::int64_t segment_;
  Matrix wx_, wh_, bias_, wp_, h0_, c0_;
  Sequence x_;
  std::vector<Saved> saved_;
  Matrix dwx_, dwh_, dwp_, dh_, dc_;
  Row dbias_;
};

Sequence turned(Sequence parts, bool turn) {
  if (turn) std::reverse(parts.begin(), parts.end());
  return parts;
}

/// One step of the optimizer from the start of its state.
std::vector<double> updated(std::vector<double> w,
                            const std::vector<double>& gradient,
                            Optimizer optimizer) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double g = gradient[i];
    if (optimizer == Optimizer::sgd) {
      w[i] -= sgd_rate * g;
      continue;
    }
    // Kingma and Ba, arXiv 1412.6980, algorithm 1 with t = 1.
    const double m = (1.0 - 0.9) * g;
    const double v = (1.0 - 0.999) * g * g;
    w[i] -= adam_rate * (m / (1.0 - 0.9)) / (std::sqrt(v / (1.0 - 0.999)) + 1e-8);
  }
  return w;
}

class RecurrentNetwork {
 public:
  RecurrentNetwork(const RecurrentSpec& spec, const RecurrentInputs<double>& inputs)
      : spec_(spec), in_(inputs), output_(spec.projection > 0 ? spec.projection : spec.hidden) {
    if (spec_.input == 0) spec_.input = spec_.hidden;
    std::int64_t width = spec_.input;
    std::size_t next = 0;
    for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
      std::vector<ReferenceChain>& chains = layers_.emplace_back();
      for (std::int64_t d = 0; d < directions(layer); ++d) {
        SCHEDLAB_EXPECTS(next < in_.chains.size(), "recurrent reference: too few chains");
        chains.emplace_back(spec_, in_.chains[next++], width);
      }
      width = directions(layer) * output_;
    }
  }

  RecurrentResults<double> run() {
    RecurrentResults<double> results;
    Sequence y = forward();
    results.y = plain(y);
    if (spec_.pass == RecurrentPass::training) {
      const Sequence target = sequence(in_.target, spec_.steps, spec_.batch, y.front().cols());
      for (std::size_t t = 0; t < y.size(); ++t) {
        y[t] -= target[t];
        results.loss += 0.5 * y[t].squaredNorm() / static_cast<double>(spec_.batch);
        y[t] /= static_cast<double>(spec_.batch);
      }
    } else if (spec_.pass == RecurrentPass::backward) {
      y = sequence(in_.dy, spec_.steps, spec_.batch, y.front().cols());
    }
    if (spec_.pass == RecurrentPass::forward) {
      results.chains.resize(in_.chains.size());
    } else {
      results.dx = plain(backward(std::move(y)));
      for (const auto& chains : layers_) {
        for (const ReferenceChain& chain : chains) results.chains.push_back(chain.results());
      }
    }
    update(results);
    return results;
  }

 private:
  [[nodiscard]] std::int64_t directions(std::int64_t layer) const {
    const bool both = spec_.bidirectional == Bidirectional::all ||
                      (spec_.bidirectional == Bidirectional::first && layer == 0);
    return both ? 2 : 1;
  }

  Sequence forward() {
    Sequence x = sequence(in_.x, spec_.steps, spec_.batch, spec_.input);
    for (auto& chains : layers_) {
      Sequence y = chains[0].forward(x);
      if (chains.size() == 2) {
        const Sequence back = turned(chains[1].forward(turned(x, true)), true);
        for (std::size_t t = 0; t < y.size(); ++t) {
          Matrix both(y[t].rows(), 2 * output_);
          both << y[t], back[t];
          y[t] = both;
        }
      }
      x = std::move(y);
    }
    return x;
  }

  Sequence backward(Sequence dy) {
    std::size_t chain = in_.chains.size();
    for (std::size_t l = layers_.size(); l-- > 0;) {
      std::vector<ReferenceChain>& layer = layers_[l];
      chain -= layer.size();
      Sequence dx;
      for (std::size_t d = 0; d < layer.size(); ++d) {
        Sequence half;
        for (const Matrix& m : dy) {
          half.emplace_back(m.middleCols(static_cast<std::int64_t>(d) * output_, output_));
        }
        const RecurrentChainInputs<double>& in = in_.chains[chain + d];
        const Matrix dh = matrix(in.dh_last, spec_.batch, output_);
        const Matrix dc = in.dc_last.empty() ? Matrix(Matrix::Zero(spec_.batch, spec_.hidden))
                                             : matrix(in.dc_last, spec_.batch, spec_.hidden);
        const bool turn = d == 1;
        const Sequence part = turned(layer[d].backward(turned(half, turn), dh, dc), turn);
        if (dx.empty()) {
          dx = part;
        } else {
          for (std::size_t t = 0; t < dx.size(); ++t) dx[t] += part[t];
        }
      }
      dy = std::move(dx);
    }
    return dy;
  }

  void update(RecurrentResults<double>& results) const {
    for (std::size_t i = 0; i < results.chains.size(); ++i) {
      RecurrentChainResults<double>& r = results.chains[i];
      const RecurrentChainInputs<double>& in = in_.chains[i];
      r.wx = in.wx;
      r.wh = in.wh;
      r.bias = in.bias;
      r.wp = in.wp;
      if (spec_.pass != RecurrentPass::training) continue;
      r.wx = updated(r.wx, r.dwx, spec_.optimizer);
      r.wh = updated(r.wh, r.dwh, spec_.optimizer);
      r.bias = updated(r.bias, r.dbias, spec_.optimizer);
      r.wp = updated(r.wp, r.dwp, spec_.optimizer);
    }
  }

  RecurrentSpec spec_;
  const RecurrentInputs<double>& in_;
  std::int64_t output_;  // width of h
  std::vector<std::vector<ReferenceChain>> layers_;
};

}  // namespace

RecurrentInputs<double> to_double(const RecurrentInputs<float>& inputs) {
  const auto wide = [](const std::vector<float>& v) {
    return std::vector<double>(v.begin(), v.end());
  };
  RecurrentInputs<double> result;
  result.x = wide(inputs.x);
  result.dy = wide(inputs.dy);
  result.target = wide(inputs.target);
  for (const RecurrentChainInputs<float>& chain : inputs.chains) {
    result.chains.push_back({.wx = wide(chain.wx),
                             .wh = wide(chain.wh),
                             .bias = wide(chain.bias),
                             .h0 = wide(chain.h0),
                             .c0 = wide(chain.c0),
                             .dh_last = wide(chain.dh_last),
                             .dc_last = wide(chain.dc_last),
                             .wp = wide(chain.wp)});
  }
  return result;
}

RecurrentResults<double> recurrent_reference(const RecurrentSpec& spec,
                                             const RecurrentInputs<double>& inputs) {
  return RecurrentNetwork{spec, inputs}.run();
}

}  // namespace schedlab
