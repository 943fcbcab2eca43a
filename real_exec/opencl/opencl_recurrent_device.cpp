// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_recurrent_device.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <vector>

namespace schedlab::detail {
namespace {

constexpr long long max_groups = 1024;  // assumed: fills any device; kernels go over longer arrays

std::uintptr_t number_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);  // NOLINT(*-reinterpret-cast): an address
}

}  // namespace

std::shared_ptr<void> OpenClRecurrentDevice::allocate(std::size_t bytes) {
  OpenClBuffer made = lane_.context().make_buffer(bytes);
  void* const range =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();  // NOLINT(*-cstyle-cast): the system's own
  const auto& arrays = lane_.context().arrays;
  arrays->emplace(number_of(range), OpenClArray{.handle = std::move(made), .bytes = bytes});
  return {range, [arrays, bytes](void* begin) {
            arrays->erase(number_of(begin));
            munmap(begin, bytes);
          }};
}

std::shared_ptr<void> OpenClRecurrentDevice::allocate_host(std::size_t bytes) {
  const auto made = std::make_shared<std::vector<std::byte>>(bytes);
  return {made, made->data()};
}

OpenClPlace OpenClRecurrentDevice::bytes_place(const void* byte) const {
  const std::uintptr_t address = number_of(byte);
  const OpenClArrays& arrays = *lane_.context().arrays;
  auto found = arrays.upper_bound(address);
  SCHEDLAB_EXPECTS(found != arrays.begin(), "an address on an OpenCL device that is no array's");
  --found;
  const std::uintptr_t at = address - found->first;
  SCHEDLAB_EXPECTS(at < found->second.bytes, "an address on an OpenCL device that is no array's");
  return {.buffer = found->second.handle.get(), .at = at};
}

OpenClPlace OpenClRecurrentDevice::place(const float* element) const {
  if (element == nullptr) return {.buffer = none_.get(), .at = 0};
  OpenClPlace found = bytes_place(element);
  found.at /= sizeof(float);
  return found;
}

OpenClPlace OpenClRecurrentDevice::scratch(std::size_t elements) {
  if (elements > scratch_elements_) {
    scratch_ = lane_.context().make_buffer(elements * sizeof(float));
    scratch_elements_ = elements;
  }
  return {.buffer = scratch_.get(), .at = 0};
}

Bytes OpenClRecurrentDevice::scratch_bytes() const {
  return Bytes{static_cast<std::int64_t>(scratch_elements_ * sizeof(float))};
}

void OpenClRecurrentDevice::upload(void* to, const void* from, std::size_t bytes) {
  lane_.write(bytes_place(to), from, bytes);
  lane_.finish();
}

void OpenClRecurrentDevice::upload_rows(
    void* to, std::size_t stride, const void* from, std::size_t row_bytes, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row) {
    upload(static_cast<std::byte*>(to) + row * stride,
           static_cast<const std::byte*>(from) + row * row_bytes,
           row_bytes);
  }
}

void OpenClRecurrentDevice::download(void* to, const void* from, std::size_t bytes) {
  lane_.read(to, bytes_place(from), bytes);
  lane_.finish();
}

void OpenClRecurrentDevice::copy(void* to, const void* from, std::size_t bytes) {
  lane_.copy(bytes_place(to), bytes_place(from), bytes);
  lane_.finish();
}

void OpenClRecurrentDevice::fill(void* to, unsigned char byte, std::size_t bytes) {
  lane_.fill(bytes_place(to), byte, bytes);
  lane_.finish();
}

void OpenClRecurrentDevice::round_to_bf16(const float* /*from*/,
                                          Bf16* /*to*/,
                                          long long /*elements*/) {
  SCHEDLAB_EXPECTS(false, "bf16 on an OpenCL device");
}

template <class... Args>
void OpenClRecurrentQueue::launch(const std::string& name, long long items, const Args&... args) {
  const auto size = static_cast<long long>(lane_.context().group_size);
  const auto groups = static_cast<std::size_t>((items + size - 1) / size);
  lane_.launch(name, std::max<std::size_t>(groups, 1), lane_.context().group_size, args...);
}

void OpenClRecurrentQueue::multiply(const BlasProduct& product) {
  SCHEDLAB_EXPECTS(product.type == DataType::fp32,
                   "a product on an OpenCL device that is not one of fp32");
  for (std::int64_t i = 0; product.count > 1 && i < product.count; ++i) {
    const auto later = [i](const void* data, std::int64_t distance) {
      return static_cast<const float*>(data) + i * distance;
    };
    BlasProduct one = product;
    one.count = 1;
    one.a.data = later(product.a.data, product.a.product);
    one.b.data = later(product.b.data, product.b.product);
    one.c = static_cast<float*>(product.c) + i * product.c_product;
    multiply(one);
  }
  if (product.count > 1) return;
  lane_.multiply<float>({.m = static_cast<std::size_t>(product.m),
                         .n = static_cast<std::size_t>(product.n),
                         .k = static_cast<std::size_t>(product.k),
                         .a = device_.place(static_cast<const float*>(product.a.data)),
                         .b = device_.place(static_cast<const float*>(product.b.data)),
                         .c = device_.place(static_cast<const float*>(product.c)),
                         .a_stride = static_cast<std::size_t>(product.a.stride),
                         .b_stride = static_cast<std::size_t>(product.b.stride),
                         .c_stride = static_cast<std::size_t>(product.c_stride),
                         .a_lies = product.a.transposed,
                         .b_lies = product.b.transposed,
                         .add = product.add});
}

/// `result`: what the kernel does with the result. `c`: the arguments between those of the step
/// before and of the result.
template <class... C>
void OpenClRecurrentQueue::forward(const std::string& name,
                                   const DeviceCellForward& args,
                                   int result,
                                   const C&... c) {
  launch(name,
         static_cast<long long>(args.rows) * args.hidden,
         device_.place(args.products),
         device_.place(args.gates),
         device_.place(args.recurrent),
         device_.place(args.bias),
         device_.place(args.before),
         c...,
         device_.place(args.h),
         result,
         args.rows,
         args.hidden,
         args.products_stride,
         args.gates_stride,
         args.recurrent_stride,
         args.before_stride,
         args.h_stride);
}

void OpenClRecurrentQueue::lstm_forward(const DeviceCellForward& args) {
  // 2: c is there already
  forward("lstm_forward",
          args,
          args.h == nullptr ? 0 : (args.before == nullptr ? 2 : 1),
          device_.place(args.c));
}

void OpenClRecurrentQueue::gru_forward(const DeviceCellForward& args) {
  forward("gru_forward", args, args.h != nullptr ? 1 : 0);
}

void OpenClRecurrentQueue::reset_gates_forward(const DeviceCellForward& args) {
  launch("reset_gates_forward",
         static_cast<long long>(args.rows) * args.hidden,
         device_.place(args.gates),
         device_.place(args.recurrent),
         device_.place(args.bias),
         device_.place(args.before),
         device_.place(args.reset),
         args.rows,
         args.hidden,
         args.gates_stride,
         args.recurrent_stride,
         args.before_stride);
}

void OpenClRecurrentQueue::reset_cell_forward(const DeviceCellForward& args) {
  launch("reset_cell_forward",
         static_cast<long long>(args.rows) * args.hidden,
         device_.place(args.gates),
         device_.place(args.recurrent),
         device_.place(args.bias),
         device_.place(args.before),
         device_.place(args.h),
         args.rows,
         args.hidden,
         args.gates_stride,
         args.recurrent_stride,
         args.before_stride,
         args.h_stride);
}

/// `c`: the arguments between those of the gates and of the step before.
template <class... C>
void OpenClRecurrentQueue::backward(const std::string& name,
                                    const DeviceCellBackward& args,
                                    const C&... c) {
  launch(name,
         static_cast<long long>(args.rows) * args.hidden,
         device_.place(args.gates),
         c...,
         device_.place(args.before),
         device_.place(args.dh),
         args.slices,
         device_.place(args.upstream[0]),
         device_.place(args.upstream[1]),
         (args.upstream[0] != nullptr ? 1 : 0) + (args.upstream[1] != nullptr ? 1 : 0),
         args.upstream_stride,
         device_.place(args.carry),
         device_.place(args.gate_gradients),
         args.rows,
         args.hidden,
         args.gates_stride,
         args.before_stride,
         args.gate_gradients_stride);
}

void OpenClRecurrentQueue::lstm_backward(const DeviceCellBackward& args) {
  backward("lstm_backward", args, device_.place(args.c));
}

void OpenClRecurrentQueue::gru_backward(const DeviceCellBackward& args) {
  backward("gru_backward", args);
}

void OpenClRecurrentQueue::reset_candidate_backward(const DeviceCellBackward& args) {
  backward("reset_candidate_backward", args);
}

void OpenClRecurrentQueue::reset_cell_backward(const DeviceCellBackward& args) {
  launch("reset_cell_backward",
         static_cast<long long>(args.rows) * args.hidden,
         device_.place(args.gates),
         device_.place(args.before),
         device_.place(args.reset_gradient),
         device_.place(args.carry),
         device_.place(args.gate_gradients),
         args.rows,
         args.hidden,
         args.gates_stride,
         args.before_stride,
         args.gate_gradients_stride);
}

void OpenClRecurrentQueue::sum_gradients(const DeviceGradientSum& args) {
  launch("sum_gradients",
         static_cast<long long>(args.rows) * args.columns,
         device_.place(args.to),
         device_.place(args.dh),
         device_.place(args.upstream[0]),
         device_.place(args.upstream[1]),
         args.upstream[0] != nullptr ? (args.upstream[1] != nullptr ? 2 : 1) : 0,
         args.rows,
         args.columns,
         args.slices,
         args.upstream_stride);
}

void OpenClRecurrentQueue::add_column_sums(const DeviceColumnSums& args) {
  launch("column_sums",
         args.columns,
         device_.place(args.d),
         device_.place(args.sums),
         args.rows,
         args.columns,
         args.stride);
}

void OpenClRecurrentQueue::transpose(const DeviceTranspose& args) {
  launch("transpose",
         static_cast<long long>(args.rows) * args.columns,
         device_.place(args.from),
         device_.place(args.to),
         args.rows,
         args.columns,
         args.from_stride,
         args.to_stride);
}

void OpenClRecurrentQueue::add(const DeviceAddition& args) {
  launch("add",
         std::min(static_cast<long long>(args.rows) * args.columns,
                  max_groups * static_cast<long long>(lane_.context().group_size)),
         device_.place(args.to),
         device_.place(args.from),
         args.rows,
         args.columns,
         args.stride);
}

OpenClPlace OpenClRecurrentQueue::gathered(const DeviceLoss& args) {
  const auto elements = static_cast<std::size_t>(args.elements);
  const std::size_t of_step =
      static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(args.columns);
  const OpenClPlace to = device_.scratch(elements);
  for (std::size_t begin = 0; begin < elements; begin += of_step) {
    lane_.copy({.buffer = to.buffer, .at = begin * sizeof(float)},
               device_.bytes_place(args.host_y_steps[begin / of_step]),
               of_step * sizeof(float));
  }
  return to;
}

void OpenClRecurrentQueue::squared_error(const DeviceLoss& args) {
  // A buffer has no address that a kernel could look up in a list.
  const OpenClPlace y = args.host_y_steps == nullptr ? device_.place(args.y) : gathered(args);
  // One work item for each part, in groups that divide them.
  const std::size_t group = std::min<std::size_t>(lane_.context().group_size, 32);
  cl_mem parts = device_.bytes_place(args.parts).buffer;
  cl_mem loss = device_.bytes_place(args.loss).buffer;
  cl_mem lengths = args.lengths != nullptr ? device_.bytes_place(args.lengths).buffer
                                           : device_.place(nullptr).buffer;
  lane_.launch("loss_parts",
               std::size_t{loss_parts} / group,
               group,
               y,
               device_.place(args.target),
               device_.place(args.dy),
               parts,
               lengths,
               args.lengths != nullptr ? 1 : 0,
               static_cast<cl_ulong>(args.elements),
               args.batch,
               args.columns,
               args.scale);
  lane_.launch("loss_sum", 1, 1, parts, loss_parts, loss, static_cast<float>(args.divisor));
}

void OpenClRecurrentQueue::update_weights(const DeviceUpdate& args) {
  const long long items =
      std::min(args.elements, max_groups * static_cast<long long>(lane_.context().group_size));
  const auto elements = static_cast<cl_ulong>(args.elements);
  if (args.mean == nullptr) {
    launch("update_sgd",
           items,
           device_.place(args.w),
           device_.place(args.gradient),
           args.rate,
           elements);
    return;
  }
  launch("update_adam",
         items,
         device_.place(args.w),
         device_.place(args.gradient),
         device_.place(args.mean),
         device_.place(args.variance),
         args.rate,
         elements);
}

void OpenClRecurrentQueue::round_to_bf16(const float* /*from*/,
                                         Bf16* /*to*/,
                                         long long /*elements*/) {
  SCHEDLAB_EXPECTS(false, "bf16 on an OpenCL device");
}

void OpenClRecurrentQueue::upload(void* to, const void* from, std::size_t bytes) {
  lane_.write(device_.bytes_place(to), from, bytes);
}

void OpenClRecurrentQueue::download(void* to, const void* from, std::size_t bytes) {
  lane_.read(to, device_.bytes_place(from), bytes);
}

}  // namespace schedlab::detail
