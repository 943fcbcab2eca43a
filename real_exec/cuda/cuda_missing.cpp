// SPDX-License-Identifier: Apache-2.0
// What stands in the place of the CUDA sources in a build without the toolkit.
#include "real_exec/cuda/cuda_executor.hpp"
#include "sim/base/error.hpp"

namespace schedlab {
namespace {

constexpr const char* missing =
    "this program was built without the CUDA toolkit; install CUDA 12.3 or later and build again";

[[noreturn]] void fail_without_cuda() {
  throw DeviceError(missing);
}

}  // namespace

CudaAvailability cuda_available(int /*device*/) {
  return {.available = false, .reason = missing};
}

class CudaExecutor::Impl {};

CudaExecutor::CudaExecutor(const CudaExecutorOptions& /*options*/) {
  fail_without_cuda();
}
CudaExecutor::~CudaExecutor() = default;
const DeviceProperties& CudaExecutor::properties() const {
  fail_without_cuda();
}
DeviceExecutorOptions& CudaExecutor::run_options() {
  fail_without_cuda();
}
void CudaExecutor::run(const TaskGraph& /*graph*/,
                       const Plan& /*plan*/,
                       DeviceWork& /*work*/,
                       Execution& /*out*/) {
  fail_without_cuda();
}
void CudaExecutor::run(const Problem& /*problem*/,
                       OnlinePolicy& /*policy*/,
                       DeviceWork& /*work*/,
                       Execution& /*out*/) {
  fail_without_cuda();
}
std::shared_ptr<const detail::CudaContext> CudaExecutor::context() const {
  fail_without_cuda();
}

class CudaRecurrentWork::Implementation {};

CudaRecurrentWork::CudaRecurrentWork(const CudaExecutor& /*executor*/,
                                     const RecurrentSpec& /*spec*/,
                                     const TaskGraph& /*graph*/,
                                     std::uint64_t /*seed*/,
                                     std::optional<CudaPrecision> /*precision*/,
                                     TensorAllocation /*allocation*/) {
  fail_without_cuda();
}
CudaRecurrentWork::~CudaRecurrentWork() = default;
void CudaRecurrentWork::launch(TaskId /*task*/, const detail::CudaLaunch& /*to*/) {
  fail_without_cuda();
}
void CudaRecurrentWork::reset() {
  fail_without_cuda();
}
std::optional<AllocatedMemory> CudaRecurrentWork::memory() const {
  fail_without_cuda();
}
void CudaRecurrentWork::train_on(const PaddedBatch& /*batch*/) {
  fail_without_cuda();
}
void CudaRecurrentWork::continue_from(const TrainedNetwork& /*other*/) {
  fail_without_cuda();
}
float CudaRecurrentWork::loss() const {
  fail_without_cuda();
}
Bytes CudaRecurrentWork::kept_memory() const {
  fail_without_cuda();
}
CudaPrecision CudaRecurrentWork::precision() const {
  fail_without_cuda();
}
const RecurrentInputs<float>& CudaRecurrentWork::inputs() const {
  fail_without_cuda();
}
RecurrentResults<float> CudaRecurrentWork::results() const {
  fail_without_cuda();
}

class CudaProxyWork::Implementation {};

CudaProxyWork::CudaProxyWork(const CudaExecutor& /*executor*/,
                             const TaskGraph& /*graph*/,
                             const CostTable& /*costs*/,
                             const CudaProxyOptions& /*options*/) {
  fail_without_cuda();
}
CudaProxyWork::~CudaProxyWork() = default;
bool CudaProxyWork::multiplies() const {
  return false;
}
void CudaProxyWork::launch(TaskId /*task*/, const detail::CudaLaunch& /*to*/) {
  fail_without_cuda();
}
void CudaProxyWork::reset() {
  fail_without_cuda();
}
std::vector<CudaBlockRecord> CudaProxyWork::block_records() const {
  fail_without_cuda();
}

}  // namespace schedlab
