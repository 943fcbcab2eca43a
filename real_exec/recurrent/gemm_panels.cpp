// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/gemm_panels.hpp"

#include "real_exec/recurrent/pointwise_simd.hpp"

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
  std::ptrdiff_t inner = 0;  ///< by rows always 16
  bool from_zero = false;
  /// What tiles after this one read, fetched while this one computes: with every term the line that
  /// lies so far behind b, into the second-level cache; by rows another such line, and with every
  /// 16 terms all lines of A so far behind these. Within the same memory, 0 for none.
  std::ptrdiff_t b_ahead = 0;
  std::ptrdiff_t b_ahead_too = 0;
  std::ptrdiff_t a_ahead = 0;
  const float* next_c =
      nullptr;  ///< by features: of the next tile, with the same distance of panels
};

/// How the elements of A lie for one term: rows of a tile side by side or in different rows of a
/// panel.
enum class Left : bool { by_rows, by_features };

/// The sums of a tile. Only constants index them, so that the compiler keeps each in a register of
/// its own; a loop over them, even one that is unrolled later, would send all of them through the
/// stack before and after the terms.
template <std::ptrdiff_t rows, std::ptrdiff_t panels>
struct TileSums {
  // Of vectors, whose alignment std::array drops.
  // NOLINTNEXTLINE(modernize-avoid-c-arrays,cppcoreguidelines-avoid-c-arrays)
  Floats of[static_cast<std::size_t>(rows * panels)];
};

template <std::ptrdiff_t rows, std::ptrdiff_t panels, std::ptrdiff_t... i>
SCHEDLAB_INLINE void load_sums(TileSums<rows, panels>& sums,
                               const Tile& tile,
                               std::integer_sequence<std::ptrdiff_t, i...> /*all*/) {
  if (tile.from_zero) {
    ((sums.of[i] = Floats{}), ...);
  } else {
    const float* c = tile.c;
    const std::ptrdiff_t next = tile.c_panel;
    ((sums.of[i] = load(c + i % panels * next + i / panels * lanes)), ...);
  }
}

template <std::ptrdiff_t rows, std::ptrdiff_t panels, std::ptrdiff_t... i>
SCHEDLAB_INLINE void store_sums(const TileSums<rows, panels>& sums,
                                const Tile& tile,
                                std::integer_sequence<std::ptrdiff_t, i...> /*all*/) {
  float* c = tile.c;
  const std::ptrdiff_t next = tile.c_panel;
  (store(c + i % panels * next + i / panels * lanes, sums.of[i]), ...);
}

/// A row of the next tile, to be written.
template <std::ptrdiff_t... p>
SCHEDLAB_INLINE void fetch_sums(const float* c,
                                std::ptrdiff_t c_panel,
                                std::integer_sequence<std::ptrdiff_t, p...> /*all*/) {
  (__builtin_prefetch(c + p * c_panel, 1), ...);
}

template <std::ptrdiff_t... row>
SCHEDLAB_INLINE void fetch_rows(const float* a,
                                std::integer_sequence<std::ptrdiff_t, row...> /*all*/) {
  (__builtin_prefetch(a + row * lanes), ...);
}

/// Row `row` of A, an element of each panel's row of B.
template <std::ptrdiff_t rows, std::ptrdiff_t panels, std::ptrdiff_t row, std::ptrdiff_t... p>
SCHEDLAB_INLINE void add_row(TileSums<rows, panels>& sums,
                             const float* a,
                             const TileSums<1, panels>& right,
                             std::integer_sequence<std::ptrdiff_t, p...> /*all*/) {
  const float left = *a;
  ((sums.of[row * panels + p] += left * right.of[p]), ...);
}

/// From one row of a tile to the next, and from one term to the next, in A.
template <Left left>
constexpr std::ptrdiff_t row_stride = left == Left::by_rows ? lanes : 1;
template <Left left>
constexpr std::ptrdiff_t term_stride = left == Left::by_rows ? 1 : lanes;

template <Left left,
          std::ptrdiff_t rows,
          std::ptrdiff_t panels,
          std::ptrdiff_t... row,
          std::ptrdiff_t... p>
SCHEDLAB_INLINE void add_term(TileSums<rows, panels>& sums,
                              const Tile& tile,
                              const float* a,
                              const float* b,
                              std::integer_sequence<std::ptrdiff_t, row...> /*rows*/,
                              std::integer_sequence<std::ptrdiff_t, p...> all) {
  const TileSums<1, panels> right{{load(b + p * tile.b_panel)...}};
  (add_row<rows, panels, row>(sums, a + row * row_stride<left>, right, all), ...);
  __builtin_prefetch(b + tile.b_ahead, 0, 2);
  if (left == Left::by_features) return;
  __builtin_prefetch(b + tile.b_ahead_too, 0, 2);
}

/// As many terms as there are numbers `term`, 0 and on.
template <Left left, std::ptrdiff_t rows, std::ptrdiff_t panels, std::ptrdiff_t... term>
SCHEDLAB_INLINE void add_terms(TileSums<rows, panels>& sums,
                               const Tile& tile,
                               const float*& a,
                               const float*& b,
                               std::integer_sequence<std::ptrdiff_t, term...> /*terms*/) {
  constexpr std::make_integer_sequence<std::ptrdiff_t, rows> each_row{};
  constexpr std::make_integer_sequence<std::ptrdiff_t, panels> each_panel{};
  (add_term<left>(sums, tile, a + term * term_stride<left>, b + term * lanes, each_row, each_panel),
   ...);
  a += sizeof...(term) * term_stride<left>;
  b += sizeof...(term) * lanes;
}

template <std::ptrdiff_t rows, std::ptrdiff_t panels, Left left>
SCHEDLAB_INLINE void compute(const Tile& tile) {
  constexpr std::make_integer_sequence<std::ptrdiff_t, rows * panels> each{};
  constexpr std::make_integer_sequence<std::ptrdiff_t, 1> one{};
  constexpr std::make_integer_sequence<std::ptrdiff_t, 4> four{};
  constexpr std::make_integer_sequence<std::ptrdiff_t, rows> each_row{};
  constexpr std::make_integer_sequence<std::ptrdiff_t, panels> each_panel{};
  TileSums<rows, panels> sums{};
  load_sums(sums, tile, each);
  const float* a = tile.a;
  const float* b = tile.b;
  const float* next_c = tile.next_c;
  const float* const next_c_end = left == Left::by_features ? next_c + rows * lanes : nullptr;
  const std::ptrdiff_t inner = left == Left::by_rows ? lanes : tile.inner;
  const std::ptrdiff_t a_jump = tile.a_outer - inner * term_stride<left>;
  const std::ptrdiff_t b_jump = tile.b_outer - inner * lanes;
  for (std::ptrdiff_t outside = tile.outer; outside > 0; --outside) {
    if (left == Left::by_rows) fetch_rows(a + tile.a_ahead, each_row);
    std::ptrdiff_t inside = inner;
    for (; inside >= 4; inside -= 4) {
      // Row by row: all at once would hold up what this tile reads.
      if (left == Left::by_features && next_c < next_c_end) {
        fetch_sums(next_c, tile.c_panel, each_panel);
        next_c += lanes;
      }
      add_terms<left>(sums, tile, a, b, four);
    }
    for (; inside > 0; --inside) add_terms<left>(sums, tile, a, b, one);
    a += a_jump;
    b += b_jump;
  }
  store_sums(sums, tile, each);
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

constexpr std::size_t max_rows = 8;
constexpr std::size_t max_panels = 3;

/// Functions by [panels - 1][rows - 1].
struct Kernels {
  using Function = void (*)(const Tile&);
  std::ptrdiff_t rows = 1;
  std::ptrdiff_t panels = 1;
  std::array<std::array<Function, max_rows>, max_panels> by_rows{};
  std::array<std::array<Function, max_rows>, max_panels> by_features{};
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
// (docs/real_kernels.md); on a Zen 5 96 to 256 differ by less than 1 %, 64 are 2 % slower.
constexpr std::ptrdiff_t terms_at_once = 128;

/// Panels that are computed together where `left` remain: 4 are two and two, as one alone would
/// wait for its loads.
std::ptrdiff_t panels_at_once(std::ptrdiff_t left) {
  const std::ptrdiff_t most = kernels().panels;
  return left == 4 && most == 3 ? 2 : std::min(most, left);
}

/// A block of B, some terms of some panels, that stays in the first-level cache while all rows of A
/// are multiplied with it.
struct FactorBlock {
  std::ptrdiff_t panel = 0;
  std::ptrdiff_t width = 0;
  std::ptrdiff_t term = 0;
};

/// The block after this one, itself after the last: further terms, or the next panels.
FactorBlock block_after(const FactorBlock& block, const PanelProduct& product, PanelRange panels) {
  if (block.term + terms_at_once < product.k) {
    return {.panel = block.panel, .width = block.width, .term = block.term + terms_at_once};
  }
  const std::ptrdiff_t panel = block.panel + block.width;
  if (panel == panels.end) return block;
  return {.panel = panel, .width = panels_at_once(panels.end - panel), .term = 0};
}

void multiply_block(const PanelProduct& product,
                    PanelRange panels,
                    const FactorBlock& block,
                    const FactorBlock& next) {
  const Kernels& k = kernels();
  const std::ptrdiff_t rows = product.rows;
  const std::ptrdiff_t b_panel = product.b_rows * lanes;
  const auto& functions = k.by_rows[static_cast<std::size_t>(block.width - 1)];
  const std::ptrdiff_t distance =
      (next.panel - block.panel) * b_panel + (next.term - block.term) * lanes;
  // A tile fetches two of the next panels if there are few tiles to do it, else one.
  const std::ptrdiff_t panels_fetched = rows <= 2 * k.rows ? 2 : 1;
  // The first panels bring A into the cache for the others.
  const bool more_terms = next.term > block.term;
  const std::ptrdiff_t a_ahead =
      block.panel == panels.begin && more_terms ? (next.term - block.term) * rows : 0;
  std::ptrdiff_t fetched = 0;
  const auto next_panel = [&] {
    return fetched < next.width ? distance + fetched++ * b_panel : distance;
  };
  for (std::ptrdiff_t row = 0; row < rows; row += k.rows) {
    const std::ptrdiff_t height = std::min<std::ptrdiff_t>(k.rows, rows - row);
    const std::ptrdiff_t ahead = next_panel();
    const std::ptrdiff_t ahead_too = panels_fetched == 2 ? next_panel() : ahead;
    functions[static_cast<std::size_t>(height - 1)](
        {.a = product.a + block.term * rows + row * lanes,
         .a_outer = rows * lanes,
         .b = product.b + block.panel * b_panel + block.term * lanes,
         .b_outer = lanes * lanes,
         .b_panel = b_panel,
         .c = product.c + (block.panel * rows + row) * lanes,
         .c_panel = rows * lanes,
         .outer = std::min(terms_at_once, product.k - block.term) / lanes,
         .inner = lanes,
         .from_zero = block.term == 0,
         .b_ahead = ahead,
         .b_ahead_too = ahead_too,
         .a_ahead = a_ahead});
  }
}

}  // namespace

void multiply(const PanelProduct& product, PanelRange panels) {
  if (panels.begin == panels.end || product.rows == 0) return;
  FactorBlock block{.panel = panels.begin, .width = panels_at_once(panels.end - panels.begin)};
  for (;;) {
    const FactorBlock next = block_after(block, product, panels);
    PanelProduct step = product;
    for (std::ptrdiff_t s = 0; s < product.steps; ++s) {
      multiply_block(step, panels, block, next);
      step.a += product.a_step;
      step.c += product.c_step;
    }
    if (next.panel == block.panel && next.term == block.term) return;
    block = next;
  }
}

void accumulate(const PanelGradient& gradient, PanelRange panels) {
  const Kernels& k = kernels();
  const std::ptrdiff_t rows = gradient.rows;
  const std::ptrdiff_t steps_at_once = std::max<std::ptrdiff_t>(1, terms_at_once / rows);
  const std::ptrdiff_t d_panel = rows * lanes;
  std::ptrdiff_t steps = 0;
  for (std::ptrdiff_t s = 0; s < gradient.steps; s += steps) {
    steps = std::min(steps_at_once, gradient.steps - s);
    std::ptrdiff_t width = 0;
    for (std::ptrdiff_t p = panels.begin; p < panels.end; p += width) {
      width = panels_at_once(panels.end - p);
      const auto& functions = k.by_features[static_cast<std::size_t>(width - 1)];
      // The first tiles fetch a panel each of those that come next.
      const std::ptrdiff_t next = p + width;
      const std::ptrdiff_t next_end =
          next < panels.end ? next + panels_at_once(panels.end - next) : next;
      std::ptrdiff_t fetched = next;
      // A tile does not reach from one panel of A into the next.
      for (std::ptrdiff_t f = 0; f < gradient.features;) {
        const std::ptrdiff_t lane = f % lanes;
        const std::ptrdiff_t height = std::min<std::ptrdiff_t>(k.rows, lanes - lane);
        float* c = gradient.c + (p * gradient.features + f) * lanes;
        functions[static_cast<std::size_t>(height - 1)](
            {.a = gradient.a + s * gradient.a_step + (f - lane) * rows + lane,
             .a_outer = gradient.a_step,
             .b = gradient.d + s * gradient.d_step + p * d_panel,
             .b_outer = gradient.d_step,
             .b_panel = d_panel,
             .c = c,
             .c_panel = gradient.features * lanes,
             .outer = steps,
             .inner = rows,
             .b_ahead = fetched < next_end ? (fetched - p) * d_panel : 0,
             .next_c = c + height * lanes});
        ++fetched;
        f += height;
      }
    }
  }
}

}  // namespace schedlab::detail
