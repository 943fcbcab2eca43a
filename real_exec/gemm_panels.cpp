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
};

/// How the elements of A lie for one term: rows of a tile side by side or in different rows of a
/// panel.
enum class Left : bool { by_rows, by_features };

template <std::ptrdiff_t rows, std::ptrdiff_t panels, Left left>
SCHEDLAB_INLINE void compute(const Tile& tile) {
  constexpr std::ptrdiff_t row_stride = left == Left::by_rows ? lanes : 1;
  constexpr std::ptrdiff_t term_stride = left == Left::by_rows ? 1 : lanes;
  constexpr auto height = static_cast<std::size_t>(rows);
  constexpr auto width = static_cast<std::size_t>(panels);
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): of vectors, whose alignment std::array drops
  Floats sum[height][width];
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t p = 0; p < panels; ++p) {
      sum[i][p] = tile.from_zero ? Floats{} : load(tile.c + p * tile.c_panel + i * lanes);
    }
  }
  const float* a_outer = tile.a;
  const float* b_outer = tile.b;
  for (std::ptrdiff_t o = 0; o < tile.outer; ++o) {
    const float* a = a_outer;
    const float* b = b_outer;
    for (std::ptrdiff_t k = 0; k < tile.inner; ++k) {
      Floats right[width];  // NOLINT(modernize-avoid-c-arrays): as above
#pragma GCC unroll 4
      for (std::ptrdiff_t p = 0; p < panels; ++p) right[p] = load(b + p * tile.b_panel);
#pragma GCC unroll 16
      for (std::ptrdiff_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (std::ptrdiff_t p = 0; p < panels; ++p) sum[i][p] += a[i * row_stride] * right[p];
      }
      a += term_stride;
      b += lanes;
    }
    a_outer += tile.a_outer;
    b_outer += tile.b_outer;
  }
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t p = 0; p < panels; ++p)
      store(tile.c + p * tile.c_panel + i * lanes, sum[i][p]);
  }
}

// The same for each instruction set; what differs is how many sums fit into its registers: 8 x 3 of
// 32 (AVX-512), 5 x 2 (halves of a panel) of 16 (AVX2), 2 x 4 of 16 (SSE).
#if defined(__x86_64__)
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

#if defined(__x86_64__)
SCHEDLAB_FILL_KERNELS(compute_v4)
SCHEDLAB_FILL_KERNELS(compute_v3)
#endif
SCHEDLAB_FILL_KERNELS(compute_any)
#undef SCHEDLAB_FILL_KERNELS

Kernels best_kernels() {
#if defined(__x86_64__)
  if (instruction_set() == InstructionSet::avx512) return compute_v4_kernels<8, 3>();
  if (instruction_set() == InstructionSet::avx2) return compute_v3_kernels<5, 1>();
#endif
  return compute_any_kernels<2, 1>();
}

const Kernels& kernels() {
  static const Kernels best = best_kernels();
  return best;
}

// Terms of a sum that are added before the next rows of A are taken: 3 panels of B of so many rows
// (48 KiB) then stay near. Measured on a Sapphire Rapids processor (docs/real_kernels.md).
constexpr std::ptrdiff_t terms_at_once = 256;

}  // namespace

void multiply(const PanelProduct& product, PanelRange panels) {
  const Kernels& k = kernels();
  const std::ptrdiff_t rows = product.rows;
  for (std::ptrdiff_t p = panels.begin; p < panels.end; p += k.panels) {
    const std::ptrdiff_t width = std::min<std::ptrdiff_t>(k.panels, panels.end - p);
    const auto& functions = k.by_rows[static_cast<std::size_t>(width - 1)];
    for (std::ptrdiff_t term = 0; term < product.k; term += terms_at_once) {
      const std::ptrdiff_t terms = std::min(terms_at_once, product.k - term);
      for (std::ptrdiff_t row = 0; row < rows; row += k.rows) {
        const std::ptrdiff_t height = std::min<std::ptrdiff_t>(k.rows, rows - row);
        functions[static_cast<std::size_t>(height - 1)](
            {.a = product.a + term * rows + row * lanes,
             .a_outer = rows * lanes,
             .b = product.b + (p * product.b_rows + term) * lanes,
             .b_outer = lanes * lanes,
             .b_panel = product.b_rows * lanes,
             .c = product.c + (p * rows + row) * lanes,
             .c_panel = rows * lanes,
             .outer = terms / lanes,
             .inner = lanes,
             .from_zero = term == 0});
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
        functions[static_cast<std::size_t>(height - 1)](
            {.a = gradient.a + s * gradient.a_step + (f - lane) * rows + lane,
             .a_outer = gradient.a_step,
             .b = gradient.d + s * gradient.d_step + p * rows * lanes,
             .b_outer = gradient.d_step,
             .b_panel = rows * lanes,
             .c = gradient.c + (p * gradient.features + f) * lanes,
             .c_panel = gradient.features * lanes,
             .outer = steps,
             .inner = rows,
             .from_zero = false});
        f += height;
      }
    }
  }
}

}  // namespace schedlab::detail
