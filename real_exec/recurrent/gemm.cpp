// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/gemm.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

#ifdef SCHEDLAB_WITH_ONEDNN
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#else
#include <Eigen/Core>
#endif

namespace schedlab {
namespace {

void check_sizes(const Gemm& p) {
  SCHEDLAB_EXPECTS(p.m >= 0 && p.n >= 0 && p.k >= 0,
                   fmt::format("gemm: sizes {} x {} x {}", p.m, p.n, p.k));
  const auto enough = [](std::int64_t stride, std::int64_t width, const char* name) {
    SCHEDLAB_EXPECTS(
        stride >= std::max<std::int64_t>(width, 1),
        fmt::format("gemm: stride {} of {}, whose rows have {} elements", stride, name, width));
  };
  enough(p.stride_a, p.op_a == Transpose::no ? p.k : p.m, "A");
  enough(p.stride_b, p.op_b == Transpose::no ? p.n : p.k, "B");
  enough(p.stride_c, p.n, "C");
}

#ifdef SCHEDLAB_WITH_ONEDNN

void multiply(const Gemm& p) {
  const dnnl_status_t status = dnnl_sgemm(p.op_a == Transpose::no ? 'N' : 'T',
                                          p.op_b == Transpose::no ? 'N' : 'T',
                                          p.m,
                                          p.n,
                                          p.k,
                                          p.alpha,
                                          p.a,
                                          p.stride_a,
                                          p.b,
                                          p.stride_b,
                                          p.beta,
                                          p.c,
                                          p.stride_c);
  if (status != dnnl_success) {
    throw DeviceError(fmt::format(
        "dnnl_sgemm({} x {} x {}): status {}", p.m, p.n, p.k, static_cast<int>(status)));
  }
}

#else

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstRows = Eigen::Map<const Rows, Eigen::Unaligned, Eigen::OuterStride<>>;

ConstRows factor(const float* data, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  return {data, rows, columns, Eigen::OuterStride<>(stride)};
}

void multiply(const Gemm& p) {
  const bool plain_a = p.op_a == Transpose::no;
  const bool plain_b = p.op_b == Transpose::no;
  const ConstRows a = factor(p.a, plain_a ? p.m : p.k, plain_a ? p.k : p.m, p.stride_a);
  const ConstRows b = factor(p.b, plain_b ? p.k : p.n, plain_b ? p.n : p.k, p.stride_b);
  Eigen::Map<Rows, Eigen::Unaligned, Eigen::OuterStride<>> c(
      p.c, p.m, p.n, Eigen::OuterStride<>(p.stride_c));
  if (p.beta == 0.0F) {
    c.setZero();
  } else if (p.beta != 1.0F) {
    c *= p.beta;
  }
  if (plain_a && plain_b) {
    c.noalias() += p.alpha * a * b;
  } else if (plain_a) {
    c.noalias() += p.alpha * a * b.transpose();
  } else if (plain_b) {
    c.noalias() += p.alpha * a.transpose() * b;
  } else {
    c.noalias() += p.alpha * a.transpose() * b.transpose();
  }
}

#endif

}  // namespace

void gemm(const Gemm& product) {
  check_sizes(product);
  multiply(product);
}

#ifdef SCHEDLAB_WITH_ONEDNN
std::string_view gemm_library() {
  return "onednn";
}
void prepare_worker_thread() {
  omp_set_num_threads(1);
}
#else
std::string_view gemm_library() {
  return "eigen";
}
void prepare_worker_thread() {}
#endif

}  // namespace schedlab
