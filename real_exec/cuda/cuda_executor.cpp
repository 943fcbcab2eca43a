// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_executor.hpp"

#include "real_exec/cuda/cuda_backend.hpp"
#include "real_exec/cuda/cuda_context.hpp"

namespace schedlab {

class CudaExecutor::Impl {
 public:
  explicit Impl(const CudaExecutorOptions& options)
      : context(detail::make_cuda_context(options)), backend(context), run(options.run) {}

  std::shared_ptr<const detail::CudaContext> context;
  detail::CudaBackend backend;
  DeviceExecutorOptions run;
};

CudaExecutor::CudaExecutor(const CudaExecutorOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

CudaExecutor::~CudaExecutor() = default;

const DeviceProperties& CudaExecutor::properties() const {
  return impl_->context->properties;
}

DeviceExecutorOptions& CudaExecutor::run_options() {
  return impl_->run;
}

void CudaExecutor::run(const TaskGraph& graph, const Plan& plan, DeviceWork& work, Execution& out) {
  impl_->backend.use(dynamic_cast<CudaWork&>(work));
  DeviceExecutor(impl_->backend, impl_->run).run(graph, plan, out);
}

void CudaExecutor::run(const Problem& problem,
                       OnlinePolicy& policy,
                       DeviceWork& work,
                       Execution& out) {
  impl_->backend.use(dynamic_cast<CudaWork&>(work));
  DeviceExecutor(impl_->backend, impl_->run).run(problem, policy, out);
}

std::shared_ptr<const detail::CudaContext> CudaExecutor::context() const {
  return impl_->context;
}

}  // namespace schedlab
