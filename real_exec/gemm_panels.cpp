// SPDX-License-Identifier: Apache-2.0
#include "real_exec/gemm_panels.hpp"

#include "real_exec/pointwise_simd.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab::detail {
namespace {

/// One tile of a result, kept in registers: `outer` times `inner` terms are added to it.
struct Tile {
  const float* a = nullptr;
  std::ptrdiff_t a_outer = 0;
  const float* b = nullptr;
  std::ptrdiff_t b_outer = 0;
  std::ptrdiff_t b_panel = 0;  ///< from one panel of B to the next
  float* c = nullptr;
  std::ptrdiff_t c_panel = 0;
  std::ptrdiff_t outer = 0;
  std::ptrdiff_t inner = 0;
  bool from_zero = false;
  /// What tiles after this one read, fetched into the second-level cache while this one computes:
  /// a line of each per term. Both point to something.
  const float* ahead = nullptr;
  const float* ahead_too = nullptr;
  float* next_c = nullptr;  ///< of the next tile, with the same distance of panels
};

/// How the elements of A lie for one term: rows of a tile side by side or in different rows of a
/// panel.
enum class Left : bool { by_rows, by_features };

template <std::ptrdiff_t rows, std::ptrdiff_t panels, Left left>
// Loops one level deep that the compiler unrolls.
// NOLINTNEXTLINE(readability-function-cognitive-complexity,readability-function-size)
SCHEDLAB_INLINE void compute(const Tile& tile) {
  constexpr std::ptrdiff_t row_stride = left == Left::by_rows ? lanes : 1;
  constexpr std::ptrdiff_t term_stride = left == Left::by_rows ? 1 : lanes;
  constexpr auto height = static_cast<std::size_t>(rows);
  constexpr auto width = static_cast<std::size_t>(panels);
  // Arrays of vectors, whose alignment std::array drops.
  // NOLINTBEGIN(modernize-avoid-c-arrays,cppcoreguidelines-avoid-c-arrays)
  Floats sum[height][width];
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t p = 0; p < panels; ++p) {
      sum[i][p] = tile.from_zero ? Floats{} : load(tile.c + p * tile.c_panel + i * lanes);
    }
  }
  // One loop with jumps and not two loops: between two the compiler moves all sums to memory and
  // back.
  if (left == Left::by_features) {
#pragma GCC unroll 16
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::ptrdiff_t p = 0; p < panels; ++p) {
        __builtin_prefetch(tile.next_c + p * tile.c_panel + i * lanes, 1);
      }
    }
  }
  const float* ahead = tile.ahead;
  const float* ahead_too = tile.ahead_too;
  const float* a = tile.a;
  const float* b = tile.b;
  const std::ptrdiff_t a_jump = tile.a_outer - tile.inner * term_stride;
  const std::ptrdiff_t b_jump = tile.b_outer - tile.inner * lanes;
  std::ptrdiff_t left_inside = tile.inner;
  for (std::ptrdiff_t k = tile.outer * tile.inner; k > 0; --k) {
    Floats right[width];
    // NOLINTEND(modernize-avoid-c-arrays,cppcoreguidelines-avoid-c-arrays)
#pragma GCC unroll 4
    for (std::ptrdiff_t p = 0; p < panels; ++p) {
      right[p] = load(b + p * tile.b_panel);
    }
#pragma GCC unroll 16
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::ptrdiff_t p = 0; p < panels; ++p) sum[i][p] += a[i * row_stride] * right[p];
    }
    if (left == Left::by_rows) {
      __builtin_prefetch(ahead, 0, 2);
      __builtin_prefetch(ahead_too, 0, 2);
      ahead += lanes;
      ahead_too += lanes;
    }
    a += term_stride;
    b += lanes;
    if (--left_inside == 0) {
      left_inside = tile.inner;
      a += a_jump;
      b += b_jump;
    }
  }
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t p = 0; p < panels; ++p)
      store(tile.c + p * tile.c_panel + i * lanes, sum[i][p]);
  }
}

// The same for each instruction set; what differs is how many sums fit into its registers: 8 x 3 of
// 32 (AVX-512), 5 x 2 (halves of a panel) of 16 (AVX2), 2 x 4 of 16 (SSE).
#ifdef SCHEDLAB_SEVERAL_INSTRUCTION_SETS
template <std::ptrdiff_t rows, std::ptrdiff_t panels, Left left>
[[gnu::target("arch=x86-64-v4"), gnu::noinline]] void compute_v4(const Tile& tile) {
  compute<rows, panels, left>(tile);
}
template <std::ptrdiff_t rows, std::ptrdiff_t panels, Left left>
[[gnu::target("arch=x86-64-v3"), gnu::noinline]] void compute_v3(const Tile& tile) {
  compute<rows, panels, left>(tile);
}
#endif
template <std::ptrdiff_t rows, std::ptrdiff_t panels, Left left>
[[gnu::noinline]] void compute_any(const Tile& tile) {
  compute<rows, panels, left>(tile);
}

constexpr std::size_t most_rows = 8;
constexpr std::size_t most_panels = 3;

/// Functions by [panels - 1][rows - 1].
struct Kernels {
  using Function = void (*)(const Tile&);
  std::ptrdiff_t rows = 1;
  std::ptrdiff_t panels = 1;
  std::array<std::array<Function, most_rows>, most_panels> by_rows{};
  std::array<std::array<Function, most_rows>, most_panels> by_features{};
};

// NOLINTBEGIN(bugprone-macro-parentheses): names of templates take none
#define SCHEDLAB_FILL_KERNELS(name)                                                            \
  template <std::size_t rows, std::size_t panels>                                              \
  Kernels name##_kernels() {                                                                   \
    Kernels k{.rows = rows, .panels = panels};                                                 \
    const auto fill_panels = [&]<std::size_t p, std::size_t... r>(std::index_sequence<r...>) { \
      ((k.by_rows[p][r] = &name<r + 1, p + 1, Left::by_rows>), ...);                           \
      ((k.by_features[p][r] = &name<r + 1, p + 1, Left::by_features>), ...);                   \
    };                                                                                         \
    const auto fill = [&]<std::size_t... p>(std::index_sequence<p...>) {                       \
      (fill_panels.template operator()<p>(std::make_index_sequence<rows>{}), ...);             \
    };                                                                                         \
    fill(std::make_index_sequence<panels>{});                                                  \
    return k;                                                                                  \
  }

#ifdef SCHEDLAB_SEVERAL_INSTRUCTION_SETS
SCHEDLAB_FILL_KERNELS(compute_v4)
SCHEDLAB_FILL_KERNELS(compute_v3)
#endif
SCHEDLAB_FILL_KERNELS(compute_any)
#undef SCHEDLAB_FILL_KERNELS
// NOLINTEND(bugprone-macro-parentheses)

Kernels best_kernels() {
#ifdef SCHEDLAB_SEVERAL_INSTRUCTION_SETS
  if (instruction_set() == InstructionSet::avx512) return compute_v4_kernels<8, 3>();
  if (instruction_set() == InstructionSet::avx2) return compute_v3_kernels<5, 1>();
#endif
#if defined(__AVX512F__)
  return compute_any_kernels<8, 3>();
#elif defined(__AVX2__)
  return compute_any_kernels<5, 1>();
#else
  return compute_any_kernels<2, 1>();
#endif
}

const Kernels& kernels() {
  static const Kernels best = best_kernels();
  return best;
}

// Terms of a sum that are added before the next rows of A are taken: 3 panels of B of so many rows
// (24 KiB) then stay in the first-level cache. Measured on a Sapphire Rapids processor
// (docs/real_kernels.md).
constexpr std::ptrdiff_t terms_at_once = 128;

}  // namespace

void multiply(const PanelProduct& product, PanelRange panels) {
  const Kernels& k = kernels();
  const std::ptrdiff_t rows = product.rows;
  const std::ptrdiff_t b_panel = product.b_rows * lanes;
  for (std::ptrdiff_t p = panels.begin; p < panels.end; p += k.panels) {
    const std::ptrdiff_t width = std::min<std::ptrdiff_t>(k.panels, panels.end - p);
    const auto& functions = k.by_rows[static_cast<std::size_t>(width - 1)];
    for (std::ptrdiff_t term = 0; term < product.k; term += terms_at_once) {
      const std::ptrdiff_t terms = std::min(terms_at_once, product.k - term);
      const float* b = product.b + p * b_panel + term * lanes;
      // The block of B after this one: further terms, or the next panels.
      const float* next = b;
      if (term + terms < product.k) {
        next = b + terms * lanes;
      } else if (p + k.panels < panels.end) {
        next = product.b + (p + k.panels) * b_panel;
      }
      std::ptrdiff_t fetched = 0;
      for (std::ptrdiff_t row = 0; row < rows; row += k.rows) {
        const std::ptrdiff_t height = std::min<std::ptrdiff_t>(k.rows, rows - row);
        // A tile fetches two of the next panels if there are few tiles to do it, else one.
        const bool few = rows <= 2 * k.rows;
        const float* ahead = fetched < width ? next + fetched++ * b_panel : b;
        const float* ahead_too = few && fetched < width ? next + fetched++ * b_panel : ahead;
        functions[static_cast<std::size_t>(height - 1)]({.a = product.a + term * rows + row * lanes,
                                                         .a_outer = rows * lanes,
                                                         .b = b,
                                                         .b_outer = lanes * lanes,
                                                         .b_panel = b_panel,
                                                         .c = product.c + (p * rows + row) * lanes,
                                                         .c_panel = rows * lanes,
                                                         .outer = terms / lanes,
                                                         .inner = lanes,
                                                         .from_zero = term == 0,
                                                         .ahead = ahead,
                                                         .ahead_too = ahead_too});
      }
    }
  }
}

void accumulate(const PanelGradient& gradient, PanelRange panels) {
  const Kernels& k = kernels();
  const std::ptrdiff_t rows = gradient.rows;
  const std::ptrdiff_t steps_at_once = std::max<std::ptrdiff_t>(1, terms_at_once / rows);
  for (std::ptrdiff_t s = 0; s < gradient.steps; s += steps_at_once) {
    const std::ptrdiff_t steps = std::min(steps_at_once, gradient.steps - s);
    for (std::ptrdiff_t p = panels.begin; p < panels.end; p += k.panels) {
      const std::ptrdiff_t width = std::min<std::ptrdiff_t>(k.panels, panels.end - p);
      const auto& functions = k.by_features[static_cast<std::size_t>(width - 1)];
      // A tile does not reach from one panel of A into the next.
      for (std::ptrdiff_t f = 0; f < gradient.features;) {
        const std::ptrdiff_t lane = f % lanes;
        const std::ptrdiff_t height = std::min<std::ptrdiff_t>(k.rows, lanes - lane);
        float* c = gradient.c + (p * gradient.features + f) * lanes;
        functions[static_cast<std::size_t>(height - 1)](
            {.a = gradient.a + s * gradient.a_step + (f - lane) * rows + lane,
             .a_outer = gradient.a_step,
             .b = gradient.d + s * gradient.d_step + p * rows * lanes,
             .b_outer = gradient.d_step,
             .b_panel = rows * lanes,
             .c = c,
             .c_panel = gradient.features * lanes,
             .outer = steps,
             .inner = rows,
             .next_c = c + height * lanes});
        f += height;
      }
    }
  }
}

}  // namespace schedlab::detail
