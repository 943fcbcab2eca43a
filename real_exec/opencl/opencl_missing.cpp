// SPDX-License-Identifier: Apache-2.0
// What stands in the place of the OpenCL sources in a build without its headers.
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_rnn.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "sim/base/error.hpp"

namespace schedlab {
namespace {

constexpr const char* missing =
    "this program was built without OpenCL's headers; install opencl-headers and libclblast-dev "
    "and build again";

[[noreturn]] void fail_without_opencl() {
  throw DeviceError(missing);
}

}  // namespace

OpenClDevices opencl_devices(const std::string& /*library*/) {
  return {.devices = {}, .reason = missing};
}

class OpenClExecutor::Impl {};

OpenClExecutor::OpenClExecutor(const OpenClExecutorOptions& /*options*/) {
  fail_without_opencl();
}
OpenClExecutor::~OpenClExecutor() = default;
const DeviceProperties& OpenClExecutor::properties() const {
  fail_without_opencl();
}
DeviceExecutorOptions& OpenClExecutor::run_options() {
  fail_without_opencl();
}
const OpenClDeviceFacts& OpenClExecutor::facts() const {
  fail_without_opencl();
}
void OpenClExecutor::run(const TaskGraph& /*graph*/,
                         const Plan& /*plan*/,
                         DeviceWork& /*work*/,
                         Execution& /*out*/) {
  fail_without_opencl();
}
void OpenClExecutor::run(const Problem& /*problem*/,
                         OnlinePolicy& /*policy*/,
                         DeviceWork& /*work*/,
                         Execution& /*out*/) {
  fail_without_opencl();
}
std::string OpenClExecutor::products() const {
  fail_without_opencl();
}
std::shared_ptr<detail::OpenClContext> OpenClExecutor::context() const {
  fail_without_opencl();
}

std::vector<TunedKernel> tune_products(OpenClExecutor& /*executor*/,
                                       bool /*quick*/,
                                       const TuningProgress& /*progress*/) {
  fail_without_opencl();
}

std::string detail::describe_clblast(const RnnDevice& /*device*/) {
  fail_without_opencl();
}
std::unique_ptr<LibraryRnn> detail::make_clblast_rnn(const RecurrentSpec& /*spec*/,
                                                     const RecurrentInputs<float>& /*inputs*/,
                                                     const RnnDevice& /*device*/) {
  fail_without_opencl();
}

class OpenClProxyWork::Implementation {};

OpenClProxyWork::OpenClProxyWork(const OpenClExecutor& /*executor*/,
                                 const TaskGraph& /*graph*/,
                                 const CostTable& /*costs*/,
                                 ProxyKernels /*kernels*/) {
  fail_without_opencl();
}
OpenClProxyWork::~OpenClProxyWork() = default;
void OpenClProxyWork::launch(TaskId /*task*/, detail::OpenClLane& /*to*/) {
  fail_without_opencl();
}

class OpenClRecurrentWork::Implementation {};

OpenClRecurrentWork::OpenClRecurrentWork(const OpenClExecutor& /*executor*/,
                                         const RecurrentSpec& /*spec*/,
                                         const TaskGraph& /*graph*/,
                                         std::uint64_t /*seed*/,
                                         TensorAllocation /*allocation*/) {
  fail_without_opencl();
}
OpenClRecurrentWork::~OpenClRecurrentWork() = default;
void OpenClRecurrentWork::launch(TaskId /*task*/, detail::OpenClLane& /*to*/) {
  fail_without_opencl();
}
void OpenClRecurrentWork::reset() {
  fail_without_opencl();
}
std::optional<AllocatedMemory> OpenClRecurrentWork::memory() const {
  fail_without_opencl();
}
void OpenClRecurrentWork::train_on(const PaddedBatch& /*batch*/) {
  fail_without_opencl();
}
void OpenClRecurrentWork::continue_from(const TrainedNetwork& /*other*/) {
  fail_without_opencl();
}
float OpenClRecurrentWork::loss() const {
  fail_without_opencl();
}
Bytes OpenClRecurrentWork::kept_memory() const {
  fail_without_opencl();
}
const RecurrentInputs<float>& OpenClRecurrentWork::inputs() const {
  fail_without_opencl();
}
RecurrentResults<float> OpenClRecurrentWork::results() const {
  fail_without_opencl();
}

}  // namespace schedlab
