// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages: in the engine by closed forms, in the plan checker by what they order.
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/plan_json.hpp"
#include "tests/support/ranks.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace schedlab;
using testing::RankScene;

namespace {

constexpr Duration latency = 2us;  // two NICs of 1 us each, nothing in between

/// Ranks on one switch, 10 GB/s each way: 10,000 bytes take a microsecond.
class MessageScene : public RankScene {
 public:
  explicit MessageScene(std::uint32_t ranks, Bytes eager = Bytes{64'000}) : RankScene(ranks) {
    platform.network.topology = Topology::fat_tree;
    platform.network.node = {10_GB_per_s, 1us};
    platform.network.eager_threshold = eager;
  }
  /// Makes the host busy for so long.
  void sleep(std::uint32_t rank, Duration time) {
    call(rank, HostCall::sleep_ns(static_cast<std::uint32_t>(time / 1ns)));
  }
  /// A task that shows, by the time of its launch, when the host got so far.
  TaskId mark(std::uint32_t rank) {
    const TaskId id = task(rank, 1us);
    launch(rank, 0, id);
    return id;
  }
  [[nodiscard]] static Time at(const Trace& trace, TaskId mark) {
    return span(trace, mark).submitted;
  }
};

std::vector<FindingKind> kinds(const std::vector<Finding>& findings) {
  std::vector<FindingKind> result;
  for (const Finding& finding : findings) result.push_back(finding.kind);
  return result;
}

}  // namespace

TEST_CASE("a small message leaves at once; it is there after its bytes and one latency") {
  MessageScene scene{2};
  const std::uint32_t message = scene.message(0, 1, Bytes{10'000});
  scene.sleep(0, 5us);
  scene.call(0, HostCall::send(message));
  scene.call(1, HostCall::receive(message));
  const TaskId sent = scene.mark(0);
  const TaskId received = scene.mark(1);
  const Trace trace = scene.run({.record_flows = true});
  CHECK(MessageScene::at(trace, sent) == Time{5us});
  CHECK(MessageScene::at(trace, received) == Time{5us + 1us + latency});
  REQUIRE(trace.messages.size() == 1);
  CHECK(trace.messages[0] == MessageSpan{.message = 0,
                                         .from = HostId{0},
                                         .to = HostId{1},
                                         .bytes = Bytes{10'000},
                                         .left = Time{5us},
                                         .arrived = Time{8us}});
}

TEST_CASE("a small message that came before it was asked for is taken at once") {
  MessageScene scene{2};
  const std::uint32_t message = scene.message(0, 1, Bytes{10'000});
  scene.call(0, HostCall::send(message));
  scene.sleep(1, 30us);
  scene.call(1, HostCall::receive(message));
  const TaskId received = scene.mark(1);
  CHECK(MessageScene::at(scene.run(), received) == Time{30us});
}

TEST_CASE("a large message waits for its receiver, and its sender until it has left") {
  for (const Duration receive_at : {Duration{0us}, Duration{50us}}) {
    for (const Duration send_at : {Duration{0us}, Duration{20us}, Duration{70us}}) {
      MessageScene scene{2};
      const std::uint32_t message = scene.message(0, 1, Bytes{1'000'000});
      scene.sleep(0, send_at);
      scene.sleep(1, receive_at);
      scene.call(0, HostCall::send(message));
      scene.call(1, HostCall::receive(message));
      const TaskId sent = scene.mark(0);
      const TaskId received = scene.mark(1);
      const Trace trace = scene.run();
      // The request takes a latency, the answer another once it has come and is expected.
      const Duration left = std::max(send_at + latency, receive_at) + latency + 100us;
      CHECK(MessageScene::at(trace, sent) == Time{left});
      CHECK(MessageScene::at(trace, received) == Time{left + latency});
    }
  }
}

TEST_CASE("without a network both ends of a message meet, and nothing else takes time") {
  RankScene scene{2};
  const std::uint32_t message = scene.message(0, 1, 1_GiB);
  scene.platform.hosts[HostId{0}].costs.send = 3us;
  scene.platform.hosts[HostId{0}].costs.receive = 2us;
  scene.call(0, HostCall::sleep_ns(10'000));
  scene.call(0, HostCall::send(message));
  scene.call(1, HostCall::receive(message));
  CHECK(scene.run().makespan() == 13us);
}

TEST_CASE("both send first: runs below the threshold, is a deadlock above it") {
  for (const std::int64_t bytes : {64'000, 64'001}) {
    MessageScene scene{2};
    const std::uint32_t there = scene.message(0, 1, Bytes{bytes});
    const std::uint32_t back = scene.message(1, 0, Bytes{bytes});
    scene.call(0, HostCall::send(there));
    scene.call(0, HostCall::receive(back));
    scene.call(1, HostCall::send(back));
    scene.call(1, HostCall::receive(there));
    const auto findings = scene.check();
    if (bytes == 64'000) {
      CHECK(findings.empty());
      CHECK(scene.run().makespan() == 6400ns + latency);
      continue;
    }
    REQUIRE(kinds(findings) == std::vector{FindingKind::deadlock});
    CHECK(findings[0].message.find("waits in send of message 0 for host \"rank 1\"") !=
          std::string::npos);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(scene.run()),
        doctest::Contains("(send) of message 0 (64001 bytes): host 1 has not begun to receive it"),
        InfeasibleError);
  }
}

TEST_CASE("isend and irecv let hosts work while the bytes move") {
  MessageScene scene{2};
  const std::uint32_t message = scene.message(0, 1, Bytes{1'000'000});
  scene.call(0, HostCall::isend(message));
  scene.call(1, HostCall::irecv(message));
  const TaskId during = scene.mark(0);
  scene.sleep(0, 30us);
  scene.sleep(1, 200us);
  scene.call(0, HostCall::wait_message(message));
  scene.call(1, HostCall::wait_message(message));
  const TaskId sent = scene.mark(0);
  const TaskId received = scene.mark(1);
  CHECK(scene.check().empty());
  const Trace trace = scene.run();
  CHECK(MessageScene::at(trace, during) == Time{});
  CHECK(MessageScene::at(trace, sent) == Time{2 * latency + 100us});
  CHECK(MessageScene::at(trace, received) == Time{200us});
}

TEST_CASE("both isend first, above the threshold: no deadlock, and both ways move side by side") {
  MessageScene scene{2};
  const std::uint32_t there = scene.message(0, 1, Bytes{1'000'000});
  const std::uint32_t back = scene.message(1, 0, Bytes{1'000'000});
  for (const auto& [rank, mine, other] : {std::tuple{0U, there, back}, {1U, back, there}}) {
    scene.call(rank, HostCall::isend(mine));
    scene.call(rank, HostCall::receive(other));
    scene.call(rank, HostCall::wait_message(mine));
  }
  CHECK(scene.check().empty());
  CHECK(scene.run().makespan() == 3 * latency + 100us);
}

TEST_CASE("messages into one rank share its NIC, and what is left speeds up") {
  MessageScene scene{3, Bytes{10'000'000}};
  const std::uint32_t small = scene.message(1, 0, Bytes{100'000});
  const std::uint32_t large = scene.message(2, 0, Bytes{300'000});
  scene.call(1, HostCall::send(small));
  scene.call(2, HostCall::send(large));
  scene.call(0, HostCall::receive(small));
  const TaskId first = scene.mark(0);
  scene.call(0, HostCall::receive(large));
  const TaskId second = scene.mark(0);
  const Trace trace = scene.run();
  // Half the bandwidth each for 20 us, then 200 kB at the whole of it for 20 us.
  CHECK(MessageScene::at(trace, first) == Time{20us + latency});
  CHECK(MessageScene::at(trace, second) == Time{40us + latency});
}

TEST_CASE("a message orders what its sender knew before what its receiver does after it") {
  const auto findings = [](auto&& program) {
    MessageScene scene{3};
    const TaskId producer = scene.task(0, 1us);
    const TaskId consumer = scene.task(2, 1us);
    scene.builder.add_edge(producer, consumer);
    program(scene, producer, consumer);
    return kinds(scene.check());
  };
  using Kinds = std::vector<FindingKind>;
  const auto sync = HostCall::synchronize_stream(RankScene::stream(0, 0));
  const Bytes bytes{1000};
  CHECK(findings([&](MessageScene& s, TaskId producer, TaskId consumer) {
          const std::uint32_t m = s.message(0, 2, bytes);
          s.launch(0, 0, producer);
          s.call(0, sync);
          s.call(0, HostCall::send(m));
          s.call(2, HostCall::receive(m));
          s.launch(2, 0, consumer);
        }).empty());
  CHECK(findings([&](MessageScene& s, TaskId producer, TaskId consumer) {
          const std::uint32_t m = s.message(0, 2, bytes);
          s.launch(0, 0, producer);  // launched, but not known to be done
          s.call(0, HostCall::send(m));
          s.call(2, HostCall::receive(m));
          s.launch(2, 0, consumer);
        }) == Kinds{FindingKind::missing_dependency});
  CHECK(findings([&](MessageScene& s, TaskId producer, TaskId consumer) {
          const std::uint32_t m = s.message(0, 2, bytes);
          s.launch(0, 0, producer);
          s.call(0, sync);
          s.call(0, HostCall::isend(m));
          s.call(0, HostCall::wait_message(m));
          s.call(2, HostCall::irecv(m));
          s.launch(2, 0, consumer);  // before it waits for the message
          s.call(2, HostCall::wait_message(m));
        }) == Kinds{FindingKind::missing_dependency});
  // By way of rank 1, which has no task of its own in it.
  CHECK(findings([&](MessageScene& s, TaskId producer, TaskId consumer) {
          const std::uint32_t m = s.message(0, 1, bytes);
          const std::uint32_t n = s.message(1, 2, bytes);
          s.launch(0, 0, producer);
          s.call(0, sync);
          s.call(0, HostCall::send(m));
          s.call(1, HostCall::receive(m));
          s.call(1, HostCall::send(n));
          s.call(2, HostCall::receive(n));
          s.launch(2, 0, consumer);
        }).empty());
}

TEST_CASE("what a receiver knew reaches the sender only where the sender waits for it") {
  for (const std::int64_t bytes : {1000, 1'000'000}) {
    MessageScene scene{2};
    const TaskId producer = scene.task(1, 1us);
    const TaskId consumer = scene.task(0, 1us);
    scene.builder.add_edge(producer, consumer);
    const std::uint32_t m = scene.message(0, 1, Bytes{bytes});
    scene.launch(1, 0, producer);
    scene.call(1, HostCall::synchronize_stream(RankScene::stream(1, 0)));
    scene.call(1, HostCall::receive(m));
    scene.call(0, HostCall::send(m));
    scene.launch(0, 0, consumer);
    CHECK(scene.check().empty() == (bytes > 64'000));
  }
}

TEST_CASE("a one-sided message leaves at once whatever its size, and the receiver is not asked") {
  const auto received = [](bool put, Duration asked) {
    MessageScene scene{2};
    const std::uint32_t message = scene.message(0, 1, Bytes{1'000'000});
    if (put) scene.plan.messages[message].one_sided = OneSided::put;
    scene.call(0, HostCall::send(message));
    scene.sleep(1, asked);
    scene.call(1, HostCall::receive(message));
    const TaskId sent = scene.mark(0);
    const TaskId there = scene.mark(1);
    const Trace trace = scene.run();
    CHECK(MessageScene::at(trace, sent) == (put ? Time{} : Time{asked + latency + 100us}));
    return MessageScene::at(trace, there);
  };
  // 100 us for the bytes and one latency; a rendezvous asks, then moves them.
  CHECK(received(true, 30us) == Time{102us});
  CHECK(received(true, 500us) == Time{500us});
  CHECK(received(false, 500us) == Time{500us + 2 * latency + 100us});
}

TEST_CASE("a get takes its request's way and the bytes', whatever its owner does meanwhile") {
  for (const bool waits : {true, false}) {
    MessageScene scene{2};
    const std::uint32_t message = scene.message(0, 1, Bytes{1'000'000});
    scene.plan.messages[message].one_sided = OneSided::get;
    scene.sleep(0, 1000us);
    const TaskId owner = scene.mark(0);
    scene.sleep(1, 30us);
    scene.call(1, waits ? HostCall::receive(message) : HostCall::irecv(message));
    const TaskId asked = scene.mark(1);
    if (!waits) scene.call(1, HostCall::wait_message(message));
    const TaskId received = scene.mark(1);
    CHECK(scene.check().empty());
    const Trace trace = scene.run({.record_flows = true});
    const Time there{30us + latency + 100us + latency};
    CHECK(MessageScene::at(trace, owner) == Time{1000us});
    CHECK(MessageScene::at(trace, asked) == (waits ? there : Time{30us}));
    CHECK(MessageScene::at(trace, received) == there);
    REQUIRE(trace.messages.size() == 1);
    CHECK(trace.messages[0].left == Time{30us + latency});
    CHECK(trace.messages[0].arrived == there);
  }
}

TEST_CASE("gets move as puts that their owners post one latency later") {
  constexpr std::uint32_t ranks = 5;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    MessageScene gets{ranks};
    MessageScene puts{ranks};
    std::vector<std::map<Duration, std::uint32_t>> asked(ranks);  // by reader, then by time
    std::vector<std::map<Duration, std::uint32_t>> sent(ranks);   // by owner
    for (int i = 0; i < 30; ++i) {
      const auto from = static_cast<std::uint32_t>(rng.below(ranks));
      const auto to = static_cast<std::uint32_t>((from + 1 + rng.below(ranks - 1)) % ranks);
      const Bytes bytes{static_cast<std::int64_t>(rng.below(1'000'000))};
      const std::uint32_t message = gets.message(from, to, bytes);
      gets.plan.messages[message].one_sided = OneSided::get;
      REQUIRE(puts.message(from, to, bytes) == message);
      puts.plan.messages[message].one_sided = OneSided::put;
      const Duration at = static_cast<std::int64_t>(rng.below(1'000'000)) * 1ns;
      asked[to][at] = message;
      sent[from][at + latency] = message;
      puts.call(to, HostCall::irecv(message));
    }
    const auto write = [](MessageScene& scene, std::uint32_t rank, const auto& posts, auto&& call) {
      Duration now{0};
      for (const auto& [at, message] : posts) {
        scene.sleep(rank, at - now);
        scene.call(rank, call(message));
        now = at;
      }
    };
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      write(gets, rank, asked[rank], HostCall::irecv);
      write(puts, rank, sent[rank], HostCall::isend);
    }
    const Trace trace = gets.run({.record_flows = true});
    CHECK(trace.messages.size() == 30);
    CHECK(trace.messages == puts.run({.record_flows = true}).messages);
  }
}

TEST_CASE("a get orders nothing: another message must have told its reader before") {
  for (const bool told : {true, false}) {
    MessageScene scene{2};
    const TaskId producer = scene.task(0, 1us);
    const TaskId consumer = scene.task(1, 1us);
    scene.builder.add_edge(producer, consumer);
    const std::uint32_t flag = scene.message(0, 1, Bytes{8});
    const std::uint32_t data = scene.message(0, 1, Bytes{1'000'000});
    scene.plan.messages[data].one_sided = OneSided::get;
    scene.launch(0, 0, producer);
    scene.call(0, HostCall::synchronize_stream(RankScene::stream(0, 0)));
    if (told) scene.call(0, HostCall::send(flag));
    if (told) scene.call(1, HostCall::receive(flag));
    scene.call(1, HostCall::receive(data));
    scene.launch(1, 0, consumer);
    using Kinds = std::vector<FindingKind>;
    CHECK(kinds(scene.check()) == (told ? Kinds{} : Kinds{FindingKind::missing_dependency}));
    CHECK(plan_from_json(plan_to_json(scene.plan, scene.graph()), scene.graph(), "plan.json") ==
          scene.plan);
  }
}

TEST_CASE("the owner of a get has no call for it") {
  MessageScene scene{2};
  const std::uint32_t message = scene.message(0, 1, Bytes{10});
  scene.plan.messages[message].one_sided = OneSided::get;
  scene.call(0, HostCall::isend(message));
  scene.call(0, HostCall::wait_message(message));
  scene.call(1, HostCall::receive(message));
  const auto findings = scene.check();
  REQUIRE(kinds(findings) == std::vector(2, FindingKind::malformed));
  CHECK(findings[0].message.find(
            "is for message 0, which host \"rank 1\" gets and no host sends") != std::string::npos);
  CHECK_THROWS_WITH_AS(expect_well_formed(scene.plan, 0),
                       doctest::Contains("concerns message 0, which its receiver gets"),
                       ContractViolation);
  const std::string text = plan_to_json(scene.plan, scene.graph());
  const std::string word = "\"get\"";
  std::string wrong = text;
  wrong.replace(text.find(word), word.size(), "\"read\"");
  CHECK_THROWS_WITH_AS(static_cast<void>(plan_from_json(wrong, scene.graph(), "plan.json")),
                       doctest::Contains("/messages/0/one_sided"),
                       InputError);
  std::string older = text;
  older.replace(text.find(word), word.size(), "true");
  CHECK(plan_from_json(older, scene.graph(), "plan.json").messages[message].one_sided ==
        OneSided::put);
}

TEST_CASE("ranks that all send first hang; as a group, or one-sided, they do not") {
  enum class How { one_after_other, group, one_sided };
  const auto findings = [](How how) {
    MessageScene scene{4};
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const std::uint32_t message = scene.message(rank, (rank + 1) % 4, Bytes{1'000'000});
      if (how == How::one_sided) scene.plan.messages[message].one_sided = OneSided::put;
    }
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const std::uint32_t comes = (rank + 3) % 4;
      if (how == How::group) {  // all begin, then all are waited for
        scene.call(rank, HostCall::isend(rank));
        scene.call(rank, HostCall::irecv(comes));
        scene.call(rank, HostCall::wait_message(rank));
        scene.call(rank, HostCall::wait_message(comes));
      } else {
        scene.call(rank, HostCall::send(rank));
        scene.call(rank, HostCall::receive(comes));
      }
      scene.mark(rank);
    }
    const std::vector<Finding> found = scene.check();
    // Each rank's message has links of its own; the group asks and answers first.
    if (found.empty()) {
      const Duration asked = how == How::group ? 2 * latency : Duration{0};
      CHECK(scene.run().makespan() == asked + 100us + latency + 1us);
      CHECK(plan_from_json(plan_to_json(scene.plan, scene.graph()), scene.graph(), "plan.json") ==
            scene.plan);
    }
    return kinds(found);
  };
  CHECK(findings(How::one_after_other) == std::vector<FindingKind>{FindingKind::deadlock});
  CHECK(findings(How::group).empty());
  CHECK(findings(How::one_sided).empty());
}

TEST_CASE("a message that is sent but never received, or waited for but never begun, is reported") {
  MessageScene scene{2};
  const std::uint32_t lost = scene.message(0, 1, Bytes{10});
  const std::uint32_t unbegun = scene.message(0, 1, Bytes{10});
  scene.call(0, HostCall::send(lost));
  scene.call(0, HostCall::wait_message(unbegun));
  const auto findings = scene.check();
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].message.find("which this host has not begun to send") != std::string::npos);
  CHECK(findings[1].message.find("sends message 0, which host \"rank 1\" never receives") !=
        std::string::npos);
}

TEST_CASE("non-blocking calls survive a round trip through JSON") {
  MessageScene scene{2};
  const std::uint32_t message = scene.message(0, 1, Bytes{10});
  scene.call(0, HostCall::isend(message));
  scene.call(1, HostCall::irecv(message));
  scene.call(1, HostCall::wait_message(message));
  const TaskGraph& graph = scene.graph();
  CHECK(plan_from_json(plan_to_json(scene.plan, graph), graph, "plan.json") == scene.plan);
}

TEST_CASE("runs with messages are repeatable, whatever ran before in the same simulator") {
  MessageScene scene{16};
  std::vector<std::uint32_t> ring;
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    ring.push_back(scene.message(rank, (rank + 5) % 16, Bytes{1'000 * (1 + rank * rank)}));
  }
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    scene.call(rank, HostCall::isend(ring[rank]));
    scene.call(rank, HostCall::receive(ring[(rank + 11) % 16]));
    scene.call(rank, HostCall::wait_message(ring[rank]));
    scene.mark(rank);
  }
  const CostTable costs{scene.graph(), scene.platform};
  const Problem problem{scene.graph(), scene.platform, costs};
  Simulator simulator;
  const Trace first = simulator.run(problem, scene.plan, {.record_flows = true});
  CHECK(first.messages.size() == 16);
  CHECK(simulator.run(problem, scene.plan, {.record_flows = true}) == first);
}
