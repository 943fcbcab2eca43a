// SPDX-License-Identifier: Apache-2.0
// What stands for cupti_session.cpp in a build without CUPTI.
#include "profiler/cupti_session.hpp"
#include "sim/base/error.hpp"

namespace schedlab {
namespace {

constexpr const char* reason =
    "this build has no CUPTI: configure it where the CUDA toolkit, version 13 or later, is "
    "installed";

}  // namespace

class CuptiSession::Impl {};

ProfilerStatus profiler_available() {
  return {.available = false, .reason = reason, .version = {}};
}

CuptiSession::CuptiSession(const ProfilerOptions& /*options*/, const CpuClock& /*clock*/) {
  throw DeviceError(std::string{"no profiler: "} + reason);
}

CuptiSession::~CuptiSession() = default;

// No object exists that the rest could be called on.
void CuptiSession::push(WorkId /*work*/) {}
void CuptiSession::pop() {}
void CuptiSession::discard(const std::function<void()>& /*synchronize_device*/) {}
ActivityLog CuptiSession::finish(const std::function<void()>& /*synchronize_device*/) {
  return {};
}

}  // namespace schedlab
