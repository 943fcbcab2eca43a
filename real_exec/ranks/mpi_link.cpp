// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/mpi_link.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <thread>

namespace schedlab {
namespace {

void expect_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw DeviceError(fmt::format("{}: {}", call, text.data()));
}

int mpi_count(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InfeasibleError(
        fmt::format("a message of {} bytes: MPI takes at most 2^31 - 1; cut micro-batches", size));
  }
  return static_cast<int>(size);
}

class MpiLink final : public RankLink {
 public:
  MpiLink() {
    int provided = 0;
    expect_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    int* bound = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found);
    largest_tag_ = found != 0 ? *bound : 32'767;  // the least that MPI promises
  }

  MpiLink(const MpiLink&) = delete;
  MpiLink& operator=(const MpiLink&) = delete;
  ~MpiLink() override {
    for (MPI_Comm& group : groups_) MPI_Comm_free(&group);
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int largest_tag() const override { return largest_tag_; }
  [[nodiscard]] std::string description() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string whole(text.data());
    return whole.substr(0, std::min(whole.find(','), whole.find('\n')));
  }

  Request start_send(std::span<const std::byte> data, int to, int tag) override {
    MPI_Request request = MPI_REQUEST_NULL;
    expect_mpi(
        MPI_Isend(data.data(), mpi_count(data.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request),
        "MPI_Isend");
    return keep(request);
  }

  Request start_receive(std::span<std::byte> data, int from, int tag) override {
    MPI_Request request = MPI_REQUEST_NULL;
    expect_mpi(
        MPI_Irecv(
            data.data(), mpi_count(data.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request),
        "MPI_Irecv");
    return keep(request);
  }

  Group add_group(const std::vector<int>& ranks) override {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    expect_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    expect_mpi(MPI_Group_incl(world, mpi_count(ranks.size()), ranks.data(), &some),
               "MPI_Group_incl");
    expect_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made), "MPI_Comm_create_group");
    MPI_Group_free(&some);
    MPI_Group_free(&world);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    groups_.push_back(made);
    return static_cast<Group>(groups_.size() - 1);
  }

  Request start_sum(std::span<float> values, Group group) override {
    MPI_Request request = MPI_REQUEST_NULL;
    expect_mpi(MPI_Iallreduce(MPI_IN_PLACE,
                              values.data(),
                              mpi_count(values.size()),
                              MPI_FLOAT,
                              MPI_SUM,
                              groups_.at(group),
                              &request),
               "MPI_Iallreduce");
    return keep(request);
  }

  [[nodiscard]] bool done(Request request) override {
    int done = 0;
    expect_mpi(MPI_Request_get_status(requests_.at(request), &done, MPI_STATUS_IGNORE),
               "MPI_Request_get_status");
    return done != 0;
  }

  void wait(Request request) override {
    const auto found = requests_.find(request);
    SCHEDLAB_EXPECTS(found != requests_.end(), fmt::format("request {} of this rank", request));
    MPI_Request open = found->second;
    requests_.erase(found);
    wait_quietly(open);
  }

  void barrier() override {
    MPI_Request open = MPI_REQUEST_NULL;
    expect_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &open), "MPI_Ibarrier");
    wait_quietly(open);
  }

 private:
  /// MPI_Wait spins, which takes the core from a rank that has work where ranks share cores. This
  /// one asks without a break for a while, then sleeps between questions.
  static void wait_quietly(MPI_Request& request) {
    constexpr auto restless = std::chrono::milliseconds{1};
    constexpr auto nap = std::chrono::microseconds{50};
    const auto began = std::chrono::steady_clock::now();
    for (;;) {
      int done = 0;
      expect_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) return;
      if (std::chrono::steady_clock::now() - began > restless) std::this_thread::sleep_for(nap);
    }
  }

  Request keep(MPI_Request request) {
    requests_.emplace(next_, request);
    return next_++;
  }

  int rank_ = 0;
  int size_ = 1;
  int largest_tag_ = 0;
  Request next_ = 0;
  std::map<Request, MPI_Request> requests_;
  std::vector<MPI_Comm> groups_;
};

}  // namespace

bool has_mpi() {
  return true;
}

std::unique_ptr<RankLink> open_mpi() {
  return std::make_unique<MpiLink>();
}

void give_up_mpi(int exit_code) {
  int open = 0;
  int closed = 0;
  MPI_Initialized(&open);
  MPI_Finalized(&closed);
  if (open != 0 && closed == 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace schedlab
