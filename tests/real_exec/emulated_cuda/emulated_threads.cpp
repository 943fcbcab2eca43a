// SPDX-License-Identifier: Apache-2.0
#include "tests/real_exec/emulated_cuda/real_exec/cuda/kernel_launch.hpp"

#include <ucontext.h>

#include <cstddef>
#include <vector>

namespace schedlab::detail {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10U;

/// The threads of the block that is being run.
struct Block {
  std::vector<ucontext_t> contexts;
  std::vector<std::vector<std::byte>> stacks;
  std::vector<bool> ended;
  ucontext_t main{};
  std::size_t current = 0;
  const std::function<void()>* thread = nullptr;
};

Block& block() {
  static Block the_block;
  return the_block;
}

void thread_main() {
  (*block().thread)();
  block().ended[block().current] = true;
  swapcontext(&block().contexts[block().current], &block().main);
}

void run_block(std::size_t threads) {
  Block& b = block();
  b.contexts.resize(threads);
  while (b.stacks.size() < threads) b.stacks.emplace_back(stack_bytes);
  b.ended.assign(threads, false);
  for (std::size_t i = 0; i < threads; ++i) {
    getcontext(&b.contexts[i]);
    b.contexts[i].uc_stack.ss_sp = b.stacks[i].data();
    b.contexts[i].uc_stack.ss_size = stack_bytes;
    b.contexts[i].uc_link = nullptr;
    makecontext(&b.contexts[i], thread_main, 0);
  }
  // From one barrier to the next; a thread that has ended is at none.
  for (bool open = true; open;) {
    open = false;
    for (std::size_t i = 0; i < threads; ++i) {
      if (b.ended[i]) continue;
      b.current = i;
      threadIdx = {static_cast<unsigned>(i) % blockDim.x, static_cast<unsigned>(i) / blockDim.x, 0};
      swapcontext(&b.main, &b.contexts[i]);
      open = open || !b.ended[i];
    }
  }
}

}  // namespace

void __syncthreads() {  // NOLINT(bugprone-reserved-identifier): CUDA's name
  Block& b = block();
  const uint3 mine = threadIdx;
  swapcontext(&b.contexts[b.current], &b.main);
  threadIdx = mine;
}

void run_grid(const KernelShape& shape, const std::function<void()>& thread) {
  gridDim = shape.blocks;
  blockDim = shape.threads;
  block().thread = &thread;
  for (unsigned j = 0; j < shape.blocks.y; ++j) {
    for (unsigned i = 0; i < shape.blocks.x; ++i) {
      blockIdx = {i, j, 0};
      run_block(std::size_t{shape.threads.x} * shape.threads.y);
    }
  }
}

}  // namespace schedlab::detail
