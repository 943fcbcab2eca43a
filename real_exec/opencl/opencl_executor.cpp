// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_executor.hpp"

#include "real_exec/opencl/opencl_backend.hpp"
#include "real_exec/opencl/opencl_context.hpp"

namespace schedlab {

class OpenClExecutor::Impl {
 public:
  explicit Impl(const OpenClExecutorOptions& options)
      : context(detail::make_opencl_context(options)), backend(context), run(options.run) {}

  std::shared_ptr<detail::OpenClContext> context;
  detail::OpenClBackend backend;
  DeviceExecutorOptions run;
};

OpenClExecutor::OpenClExecutor(const OpenClExecutorOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

OpenClExecutor::~OpenClExecutor() = default;

const DeviceProperties& OpenClExecutor::properties() const {
  return impl_->context->properties;
}

DeviceExecutorOptions& OpenClExecutor::run_options() {
  return impl_->run;
}

const OpenClDeviceFacts& OpenClExecutor::facts() const {
  return impl_->context->facts;
}

void OpenClExecutor::run(const TaskGraph& graph,
                         const Plan& plan,
                         DeviceWork& work,
                         Execution& out) {
  impl_->backend.use(dynamic_cast<OpenClWork&>(work));
  DeviceExecutor(impl_->backend, impl_->run).run(graph, plan, out);
}

void OpenClExecutor::run(const Problem& problem,
                         OnlinePolicy& policy,
                         DeviceWork& work,
                         Execution& out) {
  impl_->backend.use(dynamic_cast<OpenClWork&>(work));
  DeviceExecutor(impl_->backend, impl_->run).run(problem, policy, out);
}

std::string OpenClExecutor::products() const {
  const auto& context = *impl_->context;
  if (context.wanted_products.empty()) return "clblast";
  return impl_->context->products().takes_parameters()
             ? "clblast, tuned"
             : "clblast, not tuned: its version does not take the machine's parameters";
}

std::shared_ptr<detail::OpenClContext> OpenClExecutor::context() const {
  return impl_->context;
}

}  // namespace schedlab
