// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/sim/sim.hpp"

#include <chrono>
#include <future>
#include <thread>

#include "tests/bench/backends/battery.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

std::unique_ptr<Backend> sim_of(std::string_view words) {
  const auto cluster = parse_sim(words).value();
  return make_sim_backend(cluster, whole(cluster));
}

std::vector<Samples> measured(Backend& backend, const Pace& pace = {}) {
  Progress progress;
  const auto batch = backend.measure({.bytes = 1 << 20}, pace, progress);
  EXPECT_TRUE(batch) << batch.error().message;
  return batch ? batch->samples : std::vector<Samples>();
}

TEST(SimTest, OneProcessIsAllRanks) {
  const auto sim = sim_of("nodes=2,gpus=2");
  EXPECT_EQ(sim->ranks(), 4);
  const auto members = sim->members();
  ASSERT_THAT(members, SizeIs(4));
  EXPECT_EQ(members[3].rank, 3);
  EXPECT_EQ(members[3].host, "sim1");
  EXPECT_EQ(members[3].device_id, "gpu1");
}

TEST(SimTest, ANodeWithoutGpusUsesItsHca) {
  const SimCluster cluster{.nodes = 2, .gpus = 1, .on_host = true, .hcas = 1};
  const auto sim = make_sim_backend(cluster, whole(cluster));
  const auto members = sim->members();
  ASSERT_THAT(members, SizeIs(2));
  EXPECT_EQ(members[1].device_id, "host");
  EXPECT_EQ(sim->log(), "");
  const double rate = ClusterModel(cluster).bandwidth(whole(cluster), Collective::all_reduce, {});
  EXPECT_DOUBLE_EQ(rate, cluster.hca_rate.value / 8 * cluster.efficiency);
}

TEST(SimTest, EveryRankHasSamples) {
  const auto sim = sim_of("nodes=2,gpus=2");
  const auto samples = measured(*sim, {.warm_up = 2, .iterations = 3});
  ASSERT_THAT(samples, SizeIs(4));
  EXPECT_EQ(samples[3].rank, 3);
  EXPECT_THAT(samples[3].seconds, SizeIs(3));
  const auto cluster = *parse_sim("nodes=2,gpus=2");
  EXPECT_THAT(samples[3].seconds,
              Each(ClusterModel(cluster).seconds(whole(cluster), {.bytes = 1 << 20})));
}

TEST(SimTest, RunsAreReproducible) {
  const auto run = [] {
    const auto sim = sim_of("noise=5%,seed=3");
    auto seconds = measured(*sim)[0].seconds;
    const auto again = measured(*sim)[0].seconds;
    EXPECT_NE(seconds, again);  // each repeat has its own noise
    seconds.insert(seconds.end(), again.begin(), again.end());
    return seconds;
  };
  EXPECT_EQ(run(), run());
}

TEST(SimTest, HealthyDataAreCorrect) {
  EXPECT_THAT(verify_once(*sim_of(""), {.bytes = 1024}).value(), IsEmpty());
}

TEST(SimTest, HasTheWrongElementOfTheFault) {
  for (const auto type : every_type()) {
    const auto sim = sim_of("fault=wrong:13:100");
    const auto wrong = verify_once(*sim, {.type = type, .bytes = 1024});
    ASSERT_TRUE(wrong);
    ASSERT_THAT(*wrong, SizeIs(1)) << to_string(type);
    const auto& [rank, elements, first, observed, low, high, timed] = wrong->front();
    EXPECT_EQ(rank, 13);
    EXPECT_EQ(elements, 1U);
    EXPECT_EQ(first, 100U);
    EXPECT_TRUE(observed < low || observed > high) << to_string(type);
  }
}

TEST(SimTest, OnlyReceivedElementsCanBeWrong) {
  const auto sim = sim_of("fault=wrong:13:256");
  EXPECT_THAT(verify_once(*sim, {.bytes = 1024}).value(), IsEmpty());
  EXPECT_THAT(
      verify_once(*sim_of("fault=wrong:13:0"), {.collective = Collective::gather, .bytes = 1024})
          .value(),
      IsEmpty());
}

TEST(SimTest, RefusesAFaultOfAnElementThatNoSizeHas) {
  EXPECT_EQ(sim_of("fault=wrong:13:256")->supports({.bytes = 1024}, {}).error().message,
            "--sim: fault wrong: rank 13 has no element 256: expected 0 to 255 for 1 KiB");
  EXPECT_TRUE(sim_of("fault=wrong:13:255")->supports({.bytes = 1024}, {}));
  EXPECT_TRUE(
      sim_of("fault=wrong:13:0")->supports({.collective = Collective::gather, .bytes = 1024}, {}));
}

TEST(SimTest, AHungRankStopsAllUntilAbort) {
  const auto sim = sim_of("fault=hang:5:7");
  measured(*sim, {.warm_up = 0, .iterations = 4});
  Progress progress;
  auto call = std::async(std::launch::async, [&] {
    return sim->measure({.bytes = 64}, {.warm_up = 0, .iterations = 9}, progress);
  });
  while (progress.finished < 3) std::this_thread::yield();
  EXPECT_EQ(call.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  sim->abort();
  const auto samples = call.get();
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "rank 5 did not start operation 7");
  EXPECT_EQ(progress.finished, 3U);
}

TEST(SimTest, AVerificationMayHang) {
  for (const auto& [fault, rank] :
       {std::pair{"fault=hang:5:0", 5}, {"fault=hang:1", 8}, {"fault=hang_link:1:0", 8}}) {
    const auto sim = sim_of(fault);
    sim->abort();
    EXPECT_EQ(verify_once(*sim, {.bytes = 64}).error().message,
              fmt::format("rank {} did not start operation 0", rank));
  }
}

TEST(SimTest, AGroupHasItsOwnRanks) {
  const auto cluster = *parse_sim("nodes=4,fault=wrong:20:3");
  const auto sim = make_sim_backend(cluster, {.nodes = {2, 3}, .gpus = {4}});
  EXPECT_EQ(sim->ranks(), 2);
  EXPECT_EQ(sim->members()[0].host, "sim2");
  EXPECT_EQ(sim->members()[1].device_id, "gpu4");
  const auto wrong = verify_once(*sim, {.bytes = 1024});
  ASSERT_TRUE(wrong);
  ASSERT_THAT(*wrong, SizeIs(1));
  EXPECT_EQ(wrong->front().rank, 0);
}

TEST(SimTest, RefusesAnUnknownRoot) {
  const auto sim = sim_of("");
  EXPECT_EQ(sim->supports({.root = 16, .bytes = 64}, {}).error().message,
            "rank 16 is not in this run");
  EXPECT_TRUE(sim->supports({.root = 15, .bytes = 64}, {}));
}

TEST(SimTest, LogsAsNcclDoes) {
  const auto sim = sim_of("gpus=2");
  EXPECT_THAT(sim->log(), HasSubstr("sim0:0:0 [0] NCCL INFO Using network IB\n"));
  EXPECT_THAT(sim->log(), HasSubstr("sim0:1:1 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via "
                                    "NET/IB/0/GDRDMA\n"));
  EXPECT_THAT(sim->log(), HasSubstr("Channel 00/0 : 2[0] -> 3[1] via P2P/CUMEM\n"));
  EXPECT_THAT(sim->log(), Not(HasSubstr("Algo")));
  measured(*sim);
  EXPECT_THAT(sim->log(), HasSubstr("AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE"));
}

TEST(SimTest, LogsAFallBackWithItsCause) {
  const auto sim = sim_of("fault=tcp_fallback");
  EXPECT_THAT(sim->log(), HasSubstr("NET/IB : No device found.\n"));
  EXPECT_THAT(sim->log(), HasSubstr("Using network Socket\n"));
  EXPECT_THAT(sim->log(), HasSubstr("7[7] -> 8[0] [send] via NET/Socket/0\n"));
  EXPECT_THAT(sim->log(), Not(HasSubstr("GDRDMA")));
}

TEST(SimTest, OneNodeHasNoNetwork) {
  EXPECT_THAT(sim_of("nodes=1")->log(), Not(HasSubstr("via NET")));
  EXPECT_THAT(sim_of("nodes=1,gpus=1")->log(), Not(HasSubstr("Channel")));
}

}  // namespace
}  // namespace muster::bench
