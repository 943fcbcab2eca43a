// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/pointwise.hpp"

#include "real_exec/recurrent/pointwise_simd.hpp"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <cstddef>
#include <utility>

namespace schedlab::detail {
namespace {

SCHEDLAB_INLINE void evaluate_body(const Evaluation& e) {
  for (std::ptrdiff_t at = e.panels.begin * lanes; at < e.panels.end * lanes; at += lanes) {
    const Floats x = load(e.from + at);
    const Floats y = e.function == Evaluation::Function::exp       ? exp(x)
                     : e.function == Evaluation::Function::sigmoid ? sigmoid(x)
                                                                   : tanh(x);
    store(e.to + at, y);
  }
}

/// `count` panels side by side: a chain of additions alone would wait for each of them.
template <std::ptrdiff_t count>
SCHEDLAB_INLINE void column_sums(const ColumnSums& s, std::ptrdiff_t panel) {
  // Of vectors, whose alignment std::array drops.
  // NOLINTNEXTLINE(modernize-avoid-c-arrays,cppcoreguidelines-avoid-c-arrays)
  Floats sum[static_cast<std::size_t>(count)];
  for (std::ptrdiff_t i = 0; i < count; ++i) sum[i] = load(s.sums + (panel + i) * lanes);
  for (std::ptrdiff_t step = 0; step < s.steps; ++step) {
    const float* d = s.d + step * s.d_step + panel * s.rows * lanes;
    for (std::ptrdiff_t row = 0; row < s.rows; ++row) {
      for (std::ptrdiff_t i = 0; i < count; ++i) sum[i] += load(d + (i * s.rows + row) * lanes);
    }
  }
  for (std::ptrdiff_t i = 0; i < count; ++i) store(s.sums + (panel + i) * lanes, sum[i]);
}

SCHEDLAB_INLINE void add_column_sums_body(const ColumnSums& s) {
  std::ptrdiff_t p = s.panels.begin;
  for (; p + 4 <= s.panels.end; p += 4) column_sums<4>(s, p);
  for (; p < s.panels.end; ++p) column_sums<1>(s, p);
}

SCHEDLAB_INLINE void add_body(const Addition& a) {
  for (std::ptrdiff_t at = a.panels.begin * lanes; at < a.panels.end * lanes; at += lanes) {
    store(a.to + at, load(a.to + at) + load(a.from + at));
  }
}

SCHEDLAB_INLINE void sum_gradients_body(const GradientSum& s) {
  for (std::ptrdiff_t at = s.panels.begin * lanes; at < s.panels.end * lanes; at += lanes) {
    Floats sum = load(s.dh + at);
    for (std::ptrdiff_t i = 1; i < s.slices; ++i) sum += load(s.dh + i * s.slice_step + at);
    for (int i = 0; i < s.upstreams; ++i) sum += load(s.upstream[static_cast<std::size_t>(i)] + at);
    store(s.to + at, sum);
  }
}

SCHEDLAB_INLINE void squared_error_body(const SquaredError& e) {
  Floats sum{};
  for (std::ptrdiff_t at = e.panels.begin * lanes; at < e.panels.end * lanes; at += lanes) {
    const Floats difference = load(e.y + at) - load(e.target + at);
    store(e.dy + at, difference * e.scale);
    sum += difference * difference;
  }
  store(e.sums, sum);
}

// Kingma and Ba, arXiv 1412.6980: the constants proposed there.
constexpr float decay_mean = 0.9F;
constexpr float decay_variance = 0.999F;
constexpr float epsilon = 1e-8F;

/// The new weights at `at`, of the first step of the optimizer.
SCHEDLAB_INLINE Floats updated(const WeightUpdate& u, std::ptrdiff_t at) {
  const Floats g = load(u.gradient + at);
  const Floats w = load(u.w + at);
  if (u.mean == nullptr) return w - u.rate * g;
  const Floats m = decay_mean * load(u.mean + at) + (1.0F - decay_mean) * g;
  const Floats v = decay_variance * load(u.variance + at) + (1.0F - decay_variance) * (g * g);
  store(u.mean + at, m);
  store(u.variance + at, v);
  const Floats corrected_m = m * (1.0F / (1.0F - decay_mean));
  const Floats corrected_v = v * (1.0F / (1.0F - decay_variance));
  return w - u.rate * corrected_m / (sqrt(corrected_v) + epsilon);
}

struct SquareTile {
  // Of vectors, whose alignment std::array drops.
  // NOLINTNEXTLINE(modernize-avoid-c-arrays,cppcoreguidelines-avoid-c-arrays)
  Floats row[lanes];
};

/// Exchanges blocks of `half` lanes between rows that are `half` apart.
template <int half, int... lane>
SCHEDLAB_INLINE void exchange(SquareTile& tile, std::integer_sequence<int, lane...> /*all*/) {
  constexpr int count = sizeof...(lane);
  for (std::ptrdiff_t row = 0; row < count; ++row) {
    if ((row & half) != 0) continue;
    const Floats a = tile.row[row];
    const Floats b = tile.row[row + half];
    tile.row[row] =
        __builtin_shufflevector(a, b, ((lane & half) != 0 ? count + lane - half : lane)...);
    tile.row[row + half] =
        __builtin_shufflevector(a, b, ((lane & half) != 0 ? count + lane : lane + half)...);
  }
}

/// Where a transpose is written: into the caches or past them.
enum class Through : bool { caches, memory };

// Transposes of so many bytes and more are written past the caches: before the next step reads one,
// its other arrays have displaced it, and the lines need not be read before they are written (a
// fifth of what an update moves). Assumed: second-level caches of 1 or 2 MiB.
constexpr std::ptrdiff_t past_caches_from = std::ptrdiff_t{1} << 20;

template <Through through>
SCHEDLAB_INLINE void store_transpose(float* to, Floats value) {
#ifdef __SSE2__
  if (through == Through::memory) {
    // Four parts, which every x86-64 can write so; of whole lines they leave the processor as one.
    struct Parts {
      // NOLINTNEXTLINE(modernize-avoid-c-arrays,cppcoreguidelines-avoid-c-arrays)
      __m128 of[4];
    };
    const auto parts = __builtin_bit_cast(Parts, value);
    for (std::ptrdiff_t i = 0; i < 4; ++i) _mm_stream_ps(to + 4 * i, parts.of[i]);
    return;
  }
#endif
  store(to, value);
}

template <bool change, Through through>
SCHEDLAB_INLINE void tiles(const WeightUpdate& u) {
  const std::ptrdiff_t row_tiles = u.rows / lanes;
  for (std::ptrdiff_t t = u.panels.begin; t < u.panels.end; ++t) {
    const std::ptrdiff_t panel = t / row_tiles;
    const std::ptrdiff_t row_tile = t % row_tiles;
    const std::ptrdiff_t from = t * lanes * lanes;  // = (panel * rows + row_tile * 16) * 16
    // The transposes of neighbours lie far apart.
    const std::ptrdiff_t later = t + 2;
    const float* next =
        u.transposed + (later % row_tiles * u.n + later / row_tiles * lanes) * lanes;
    SquareTile tile{};
    for (std::ptrdiff_t i = 0; i < lanes; ++i) {
      const std::ptrdiff_t at = from + i * lanes;
      if (through == Through::caches) __builtin_prefetch(next + i * lanes, 1);
      tile.row[i] = change ? updated(u, at) : load(u.w + at);
      if (change) store(u.w + at, tile.row[i]);
    }
    constexpr std::make_integer_sequence<int, lanes> all{};
    exchange<8>(tile, all);
    exchange<4>(tile, all);
    exchange<2>(tile, all);
    exchange<1>(tile, all);
    float* to = u.transposed + (row_tile * u.n + panel * lanes) * lanes;
    for (std::ptrdiff_t i = 0; i < lanes; ++i) {
      store_transpose<through>(to + i * lanes, tile.row[i]);
    }
  }
#ifdef __SSE2__
  // Such stores are in no order with those that say that the task has ended.
  if (through == Through::memory) _mm_sfence();
#endif
}

template <bool change>
SCHEDLAB_INLINE void tiles(const WeightUpdate& u) {
  const std::ptrdiff_t bytes = u.rows * u.n * static_cast<std::ptrdiff_t>(sizeof(float));
  if (bytes >= past_caches_from) return tiles<change, Through::memory>(u);
  tiles<change, Through::caches>(u);
}

SCHEDLAB_INLINE void update_weights_body(const WeightUpdate& u) {
  if (u.transposed != nullptr) return tiles<true>(u);
  for (std::ptrdiff_t at = u.panels.begin * lanes; at < u.panels.end * lanes; at += lanes) {
    store(u.w + at, updated(u, at));
  }
}

SCHEDLAB_INLINE void transpose_weights_body(const WeightUpdate& u) {
  tiles<false>(u);
}

}  // namespace

SCHEDLAB_FOR_EACH_INSTRUCTION_SET(evaluate, Evaluation, evaluate_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(add_column_sums, ColumnSums, add_column_sums_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(add, Addition, add_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(sum_gradients, GradientSum, sum_gradients_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(squared_error, SquaredError, squared_error_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(update_weights, WeightUpdate, update_weights_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(transpose_weights, WeightUpdate, transpose_weights_body)

}  // namespace schedlab::detail
