// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/thread_ranks.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <tuple>

namespace schedlab {
namespace {

/// One side of a message, or one rank's part of a sum.
struct LinkRequest {
  std::span<const std::byte> from;
  std::span<std::byte> to;
  std::span<float> values;
  std::string what;
  bool done = false;
  bool waited_for = false;
};
using LinkRequestPtr = std::shared_ptr<LinkRequest>;

/// What the threads share; everything under one mutex, as messages are few.
class LinkHub {
 public:
  explicit LinkHub(int ranks) : active_(ranks) {}

  using Key = std::tuple<int, int, int>;  // from, to, tag

  void post(const LinkRequestPtr& request, const Key& key, bool sends) {
    const std::lock_guard lock(mutex_);
    auto& [sending, receiving] = mailboxes_[key];
    auto& others = sends ? receiving : sending;
    if (others.empty()) {
      (sends ? sending : receiving).push_back(request);
      return;
    }
    const LinkRequestPtr other = others.front();
    others.pop_front();
    deliver(sends ? *request : *other, sends ? *other : *request);
    finish(*request);
    finish(*other);
  }

  /// Of a group: its ranks, how many groups of the same ranks were made before it, and its sums so
  /// far.
  using SumKey = std::tuple<std::vector<int>, std::size_t, std::uint64_t>;

  void join_sum(const LinkRequestPtr& request, const SumKey& key, int rank) {
    const std::lock_guard lock(mutex_);
    const std::vector<int>& ranks = std::get<0>(key);
    auto& parts = sums_[key];
    parts.emplace(rank, request);
    if (parts.size() < ranks.size()) return;
    std::vector<float> sum(request->values.size(), 0.0F);
    for (const auto& [who, part] : parts) {
      if (part->values.size() != sum.size()) fail(fmt::format("{}: unlike lengths", part->what));
      for (std::size_t i = 0; i < std::min(sum.size(), part->values.size()); ++i) {
        sum[i] += part->values[i];
      }
    }
    for (const auto& [who, part] : parts) {
      std::copy_n(sum.begin(), std::min(sum.size(), part->values.size()), part->values.begin());
      finish(*part);
    }
    sums_.erase(key);
  }

  void wait(const LinkRequestPtr& request) {
    std::unique_lock lock(mutex_);
    if (!request->done) {
      request->waited_for = true;
      waiting_.push_back(request.get());
      refuse_deadlock();
      changed_.wait(lock, [&] { return request->done || !failure_.empty(); });
    }
    if (!request->done) throw DeviceError(failure_);
  }

  /// Has it ended? Throws if it never will.
  bool done(const LinkRequest& request) {
    const std::lock_guard lock(mutex_);
    if (!request.done && !failure_.empty()) throw DeviceError(failure_);
    return request.done;
  }

  /// A rank's work has ended.
  void leave() {
    const std::lock_guard lock(mutex_);
    --active_;
    refuse_deadlock();
  }

  /// A rank's work has thrown.
  void failed(const std::string& message, const std::exception_ptr& cause) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) cause_ = cause;
    fail(message);
  }

  /// After all have left: what went wrong first, nullptr if nothing did.
  [[nodiscard]] std::exception_ptr cause() const {
    if (cause_ == nullptr && !failure_.empty()) {
      return std::make_exception_ptr(DeviceError(failure_));
    }
    return cause_;
  }

 private:
  void deliver(const LinkRequest& sender, const LinkRequest& receiver) {
    if (sender.from.size() > receiver.to.size()) {
      fail(fmt::format(
          "{}: {} bytes for {}", receiver.what, sender.from.size(), receiver.to.size()));
      return;
    }
    if (!sender.from.empty()) {
      std::memcpy(receiver.to.data(), sender.from.data(), sender.from.size());
    }
  }

  void finish(LinkRequest& request) {
    request.done = true;
    if (request.waited_for) std::erase(waiting_, &request);
    changed_.notify_all();
  }

  void fail(const std::string& message) {
    if (failure_.empty()) failure_ = message;
    changed_.notify_all();
  }

  void refuse_deadlock() {
    if (active_ == 0 || waiting_.size() < static_cast<std::size_t>(active_)) return;
    std::string text = "the ranks wait for each other:";
    for (const LinkRequest* request : waiting_) text += " " + request->what + ";";
    fail(text);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::pair<std::deque<LinkRequestPtr>, std::deque<LinkRequestPtr>>> mailboxes_;
  std::map<SumKey, std::map<int, LinkRequestPtr>> sums_;
  std::vector<const LinkRequest*> waiting_;
  std::string failure_;
  std::exception_ptr cause_;  // of failure_, where a rank threw it
  int active_;
};

class ThreadLink final : public RankLink {
 public:
  ThreadLink(LinkHub& hub, int rank, int size) : hub_(hub), rank_(rank), size_(size) {
    std::vector<int> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    everyone_ = ThreadLink::add_group(all);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int largest_tag() const override { return std::numeric_limits<int>::max(); }
  [[nodiscard]] std::string description() const override { return "threads"; }

  Request start_send(std::span<const std::byte> data, int to, int tag) override {
    return begin(
        {.from = data,
         .to = {},
         .values = {},
         .what = fmt::format("rank {} sends {} bytes to {} (tag {})", rank_, data.size(), to, tag)},
        [&](const LinkRequestPtr& request) {
          hub_.post(request, {rank_, to, tag}, true);
        });
  }

  Request start_receive(std::span<std::byte> data, int from, int tag) override {
    return begin({.from = {},
                  .to = data,
                  .values = {},
                  .what = fmt::format("rank {} receives from {} (tag {})", rank_, from, tag)},
                 [&](const LinkRequestPtr& request) {
                   hub_.post(request, {from, rank_, tag}, false);
                 });
  }

  Group add_group(const std::vector<int>& ranks) override {
    const auto alike = std::count_if(groups_.begin(), groups_.end(), [&](const auto& group) {
      return std::get<0>(group) == ranks;
    });
    groups_.emplace_back(ranks, static_cast<std::size_t>(alike), 0);
    return static_cast<Group>(groups_.size() - 1);
  }

  Request start_sum(std::span<float> values, Group group) override {
    LinkHub::SumKey& next = groups_.at(group);
    const LinkHub::SumKey key = next;
    ++std::get<2>(next);
    return begin(
        {.from = {},
         .to = {},
         .values = values,
         .what = fmt::format("rank {} sums with {} ranks", rank_, std::get<0>(key).size())},
        [&](const LinkRequestPtr& request) { hub_.join_sum(request, key, rank_); });
  }

  [[nodiscard]] bool done(Request request) override { return hub_.done(*requests_.at(request)); }

  void wait(Request request) override {
    const auto found = requests_.find(request);
    SCHEDLAB_EXPECTS(found != requests_.end(), fmt::format("request {} of this rank", request));
    const LinkRequestPtr held = found->second;
    requests_.erase(found);
    hub_.wait(held);
  }

  void barrier() override {
    float nothing = 0;
    wait(start_sum({&nothing, 1}, everyone_));
  }

 private:
  template <class Post>
  Request begin(LinkRequest request, const Post& post) {
    const auto held = std::make_shared<LinkRequest>(std::move(request));
    requests_.emplace(next_, held);
    post(held);
    return next_++;
  }

  LinkHub& hub_;
  int rank_;
  int size_;
  Group everyone_ = 0;
  Request next_ = 0;
  std::map<Request, LinkRequestPtr> requests_;
  std::vector<LinkHub::SumKey> groups_;  // each with the sums begun
};

}  // namespace

void run_on_threads(int ranks, const std::function<void(RankLink&)>& work) {
  LinkHub hub(ranks);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadLink link(hub, rank, ranks);
      try {
        work(link);
      } catch (const std::exception& error) {
        hub.failed(fmt::format("rank {} failed: {}", rank, error.what()), std::current_exception());
      }
      hub.leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (const std::exception_ptr cause = hub.cause()) std::rethrow_exception(cause);
}

}  // namespace schedlab
