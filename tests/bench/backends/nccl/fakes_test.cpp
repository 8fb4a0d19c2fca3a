// SPDX-License-Identifier: Apache-2.0
// The fake CUDA driver and the fake NCCL reject invalid calls.
#include <fmt/format.h>

#include <array>

#include "bench/backends/nccl/library.hpp"
#include "tests/bench/backends/battery.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"
#include "tests/fakes/cuda/scenario.hpp"
#include "tests/fakes/strict_json.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

// A process with a context and a stream, and one buffer of 4096 bytes.
struct Bench {
  cuda::Library cuda = *cuda::open_library(fake_cuda());
  nccl::Library nccl = *nccl::open_library(fake_nccl());
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  cuda::Pointer memory = 0;

  void start() {
    int device = 0;
    cuda.init.call(0);
    cuda.device.call(&device, 0);
    cuda.retain.call(&context, device);
    cuda.set_current.call(context);
    cuda.stream_create.call(&stream, 0);
    cuda.allocate.call(&memory, 4096);
  }

  // A communicator of one rank, ready for use.
  [[nodiscard]] nccl::Communicator communicator() const {
    nccl::UniqueId id{};
    nccl.unique_id.call(&id);
    nccl::Communicator made = nullptr;
    nccl.init.call(&made, 1, id, 0);
    return made;
  }

  // NOLINTNEXTLINE(performance-no-int-to-ptr): as NCCL takes them
  [[nodiscard]] void* buffer() const { return reinterpret_cast<void*>(memory); }
};

using Codes = std::vector<int>;

// The codes that the calls return, such as "0 1".
std::string codes_of(const std::function<Codes(Bench&)>& calls,
                     const std::string& scenario = "{}") {
  return run_alone(scenario, [&] {
    Bench bench;
    return fmt::format("{}", fmt::join(calls(bench), " "));
  });
}

TEST(FakeCudaTest, NeedsInitialisationAndAContext) {
  const auto codes = [](Bench& bench) -> Codes {
    int count = 0;
    int device = 0;
    cuda::Pointer memory = 0;
    return {bench.cuda.device_count.call(&count),
            bench.cuda.allocate.call(&memory, 64),
            bench.cuda.init.call(7),
            bench.cuda.init.call(0),
            bench.cuda.allocate.call(&memory, 64),
            bench.cuda.device.call(&device, 8),
            bench.cuda.retain.call(&bench.context, 99)};
  };
  EXPECT_EQ(codes_of(codes), "3 3 1 0 201 101 101");
}

TEST(FakeCudaTest, RejectsInvalidHandles) {
  const auto codes = [](Bench& bench) -> Codes {
    bench.start();
    cuda::Event event = nullptr;
    cuda::Event other = nullptr;
    float milliseconds = 0;
    bench.cuda.event_create.call(&event, 0);
    bench.cuda.event_create.call(&other, 0);
    Codes seen{bench.cuda.stream_query.call(nullptr), bench.cuda.event_record.call(event, nullptr),
               bench.cuda.event_elapsed.call(&milliseconds, event, other)};
    bench.cuda.event_record.call(event, bench.stream);
    bench.cuda.event_record.call(other, bench.stream);
    seen.push_back(bench.cuda.event_elapsed.call(&milliseconds, event, other));
    seen.push_back(bench.cuda.stream_query.call(bench.stream));
    seen.push_back(bench.cuda.event_elapsed.call(&milliseconds, event, other));
    bench.cuda.stream_destroy.call(bench.stream);
    seen.push_back(bench.cuda.stream_query.call(bench.stream));
    return seen;
  };
  EXPECT_EQ(codes_of(codes), "400 400 400 600 0 0 400");
}

TEST(FakeCudaTest, WaitsForAnotherStreamsEvent) {
  const auto codes = [](Bench& bench) -> Codes {
    bench.start();
    cuda::Stream second = nullptr;
    cuda::Event event = nullptr;
    cuda::Event back = nullptr;
    bench.cuda.stream_create.call(&second, 0);
    bench.cuda.event_create.call(&event, 0);
    bench.cuda.event_create.call(&back, 0);
    return {bench.cuda.stream_wait.call(second, nullptr, 0),
            bench.cuda.stream_wait.call(second, event, 7),
            bench.cuda.event_record.call(event, bench.stream),
            bench.cuda.stream_wait.call(second, event, 0),
            bench.cuda.event_record.call(back, second),
            bench.cuda.stream_wait.call(bench.stream, back, 0),
            bench.cuda.event_query.call(back),
            bench.cuda.stream_query.call(bench.stream),
            bench.cuda.event_query.call(back)};
  };
  EXPECT_EQ(codes_of(codes), "400 1 0 0 0 0 600 0 0");
}

TEST(FakeCudaTest, RejectsInvalidMemory) {
  const auto codes = [](Bench& bench) -> Codes {
    bench.start();
    const std::array<char, 8> text{};
    cuda::Pointer more = 0;
    return {bench.cuda.copy_in.call(bench.memory + 4090, text.data(), 8, bench.stream),
            bench.cuda.set_bytes.call(bench.memory, 0, 4097, bench.stream),
            bench.cuda.allocate.call(&more, 80UL << 30),
            bench.cuda.allocate.call(&more, 0),
            bench.cuda.free.call(bench.memory + 1),
            bench.cuda.free.call(bench.memory),
            bench.cuda.free.call(bench.memory)};
  };
  EXPECT_EQ(codes_of(codes), "1 1 2 1 1 0 1");
}

TEST(FakeCudaTest, HasOnlyTheKernelsOfItsModule) {
  const auto codes = [](Bench& bench) -> Codes {
    bench.start();
    cuda::Module module = nullptr;
    cuda::Kernel kernel = nullptr;
    Codes seen{bench.cuda.module_load.call(&module, "no code")};
    bench.cuda.module_load.call(&module, ".target sm_70\n.visible .entry muster_fill_4(\n");
    seen.push_back(bench.cuda.module_function.call(&kernel, module, "muster_fill_8"));
    seen.push_back(bench.cuda.module_function.call(&kernel, module, "muster_melt_4"));
    seen.push_back(bench.cuda.module_function.call(&kernel, module, "muster_fill_4"));
    cuda::Pointer buffer = bench.memory;
    std::uint64_t count = 1025;  // one word more than there is room for
    std::uint64_t period = 1;
    std::uint64_t shift = 0;
    std::array<void*, 5> arguments{&buffer, &count, &buffer, &period, &shift};
    const auto launch = [&](unsigned blocks) {
      return bench.cuda.launch.call(kernel, blocks, 1, 1, 256, 1, 1, 0, bench.stream,
                                    arguments.data(), nullptr);
    };
    seen.push_back(launch(5));
    count = 1024;
    seen.push_back(launch(0));
    seen.push_back(launch(5));
    return seen;
  };
  EXPECT_EQ(codes_of(codes), "218 500 500 0 700 1 0");
}

TEST(FakeCudaTest, InvalidatesACaptureThatIsQueried) {
  const auto codes = [](Bench& bench) -> Codes {
    bench.start();
    cuda::Graph graph = nullptr;
    return {bench.cuda.capture_end.call(bench.stream, &graph),
            bench.cuda.capture_begin.call(bench.stream, cuda::kCaptureThreadLocal),
            bench.cuda.stream_query.call(bench.stream),
            bench.cuda.capture_end.call(bench.stream, &graph),
            bench.cuda.stream_query.call(bench.stream)};
  };
  EXPECT_EQ(codes_of(codes), "1 0 900 901 0");
}

TEST(FakeNcclTest, RejectsInvalidArguments) {
  const auto codes = [](Bench& bench) -> Codes {
    bench.start();
    auto* const one = bench.communicator();
    const auto broadcast = [&](std::size_t count, int type, int root, nccl::Communicator with) {
      return bench.nccl.broadcast.call(bench.buffer(), bench.buffer(), count, type, root, with,
                                       bench.stream);
    };
    const auto reduce = [&](int reduction) {
      return bench.nccl.all_reduce.call(bench.buffer(), bench.buffer(), 8, nccl::kFloat32,
                                        reduction, one, bench.stream);
    };
    Codes seen{broadcast(1024, nccl::kFloat32, 0, one),
               broadcast(1025, nccl::kFloat32, 0, one),
               broadcast(8, 77, 0, one),
               broadcast(8, nccl::kFloat32, 1, one),
               broadcast(8, nccl::kFloat32, 0, nullptr),
               reduce(nccl::kAvg),
               reduce(9),
               bench.nccl.group_end.call()};
    bench.nccl.destroy.call(one);
    seen.push_back(reduce(nccl::kSum));
    return seen;
  };
  EXPECT_EQ(codes_of(codes), "0 4 4 4 4 0 4 5 4");
  EXPECT_EQ(codes_of(codes, R"({"nccl_version": 20900})"), "0 4 4 4 4 4 4 5 4");
}

TEST(FakeNcclTest, RejectsAnInvalidStart) {
  const auto codes = [](Bench& bench) -> Codes {
    nccl::UniqueId id{};
    nccl::Communicator made = nullptr;
    nccl::Config config;
    bench.nccl.unique_id.call(&id);
    const auto begin = [&](int ranks, int rank) {
      return bench.nccl.init_config.call(&made, ranks, id, rank, &config);
    };
    Codes seen{begin(1, 0)};  // without a context
    bench.start();
    seen.push_back(begin(2, 2));
    config.magic = 1;
    seen.push_back(begin(2, 0));
    config.magic = 0xcafebeef;
    config.blocking = 0;
    seen.push_back(begin(2, 0));
    int state = 0;
    bench.nccl.async_error.call(made, &state);
    seen.push_back(state);
    seen.push_back(bench.nccl.all_reduce.call(bench.buffer(), bench.buffer(), 8, nccl::kFloat32,
                                              nccl::kSum, made, bench.stream));
    seen.push_back(begin(2, 0));  // once more
    id.bytes[0] = 'x';
    seen.push_back(begin(2, 1));
    return seen;
  };
  EXPECT_EQ(codes_of(codes), "1 4 4 7 7 4 5 2");
}

// The number of elements depends on the rank.
std::string reduce_by_rank(Backend& backend) {
  const auto rank = static_cast<std::uint64_t>(backend.members().front().rank);
  const auto wrongs = verify_once(backend, {.bytes = 64 + 4 * rank});
  return wrongs ? "no error" : wrongs.error().message;
}

TEST(FakeNcclTest, DetectsDifferentCalls) {
  for (const auto& answer : run_ranks({.ranks = 2}, reduce_by_rank)) {
    EXPECT_THAT(answer, HasSubstr("(NCCL 5): rank "));
    EXPECT_THAT(answer, HasSubstr("do not call the same operation with the same count"));
  }
}

TEST(FakeNcclTest, ReturnsTheErrorsOfTheScenario) {
  const auto answers =
      run_ranks({.ranks = 1, .scenario = R"({"answers": {"ncclAllReduce": 3}})"}, reduce_by_rank);
  EXPECT_THAT(answers, ElementsAre(HasSubstr("internal error")));
}

TEST(FakeScenarioTest, RefusesUnknownKeys) {
  const auto error_of = [](std::string_view text) {
    const auto scenario = fakes::from_strict_json<fakes::gpu::Scenario>(text);
    return scenario ? "" : scenario.error().message;
  };
  EXPECT_EQ(error_of(R"({"gpus": 2, "hosts": [0, 0], "lost": {"rank": 1}})"), "");
  EXPECT_EQ(error_of(R"({"gpus": 2, "lots": {"rank": 1}})"), "/: unknown key \"lots\"");
  EXPECT_EQ(error_of(R"({"node": {"throttle": {"gpu": 1, "part": 0.5}}})"),
            "/node/throttle: unknown key \"part\"");
}

TEST(FakeScenarioTest, AWrongScenarioEndsTheProcess) {
  for (const auto* const wrong :
       {R"({"lots": {"rank": 1}})", R"({"network": "sockets"})", R"({"busbw": {"allreduce": 3}})",
        R"({"node": {"gemm": {"fp88": 1}}})", R"({"answers": {"ncclAllReduction": 3}})",
        R"({"answers": {"cuStart": 3}})", R"({"answers": {"start": 3}})"}) {
    EXPECT_THAT(run_ranks({.ranks = 1, .scenario = wrong}, reduce_by_rank),
                ElementsAre(HasSubstr("killed by signal 6")))
        << wrong;
  }
}

}  // namespace
}  // namespace muster::bench
