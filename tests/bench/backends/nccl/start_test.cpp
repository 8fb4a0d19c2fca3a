// SPDX-License-Identifier: Apache-2.0
// The start of the NCCL back end, and its errors.
#include <fmt/format.h>

#include <cstdlib>

#include "bench/backends/nccl/binding.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/backends/nccl/log.hpp"
#include "tests/bench/backends/battery.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

std::string count_gpus(const std::string& file) {
  const auto gpus = usable_gpus(file);
  return gpus ? fmt::format("{}", *gpus) : gpus.error().message;
}

Result<std::string> own_text(std::string_view text) { return std::string(text); }

std::string make_alone(NcclOptions options) {
  options.broadcast = own_text;
  const auto backend = make_nccl_backend(std::move(options));
  return backend ? (*backend)->library() : backend.error().message;
}

TEST(NcclStartTest, CountsUsableGpus) {
  const auto count = [] { return count_gpus(fake_cuda()); };
  EXPECT_EQ(run_alone(R"({"gpus": 8})", count), "8");
  EXPECT_EQ(
      run_alone(R"({"gpus": 0})", count),
      "cuInit: no CUDA-capable device is detected (CUDA 100, CUDA_ERROR_NO_DEVICE): no GPU is "
      "visible to this process");
  EXPECT_EQ(
      run_alone(R"({"answers": {"cuInit": 802}})", count),
      "cuInit: system not yet initialized (CUDA 802, CUDA_ERROR_SYSTEM_NOT_READY): the Fabric "
      "Manager is not running, or has not set up the NVSwitches");
  EXPECT_THAT(run_alone(R"({"answers": {"cuInit": 34}})", count), HasSubstr("stub library"));
  EXPECT_THAT(run_alone(R"({"answers": {"cuInit": 209}})", count), HasSubstr("older than Volta"));
  EXPECT_THAT(run_alone(R"({"answers": {"cuInit": 226}})", count), HasSubstr("hardware failed"));
}

TEST(NcclStartTest, MarksErrorsAsMissingOrBroken) {
  const auto marks = [](int code) {
    return run_alone(fmt::format(R"({{"answers": {{"cuInit": {}}}}})", code), [] {
      const auto gpus = usable_gpus(fake_cuda());
      const auto backend = make_nccl_backend({.cuda = fake_cuda(), .nccl = fake_nccl()});
      return fmt::format("{}{}{}", !gpus && gpus.error().missing ? "missing " : "",
                         !backend && backend.error().missing ? "missing " : "",
                         !backend && backend.error().broken ? "broken" : "");
    });
  };
  for (const int code : {34, 100}) EXPECT_EQ(marks(code), "missing missing ") << code;
  for (const int code : {214, 220, 226, 714, 719, 802}) EXPECT_EQ(marks(code), "broken") << code;
  for (const int code : {2, 3, 101, 222, 803, 1002, 2141}) EXPECT_EQ(marks(code), "") << code;
}

TEST(NcclStartTest, CountsInAChildProcess) {
  EXPECT_EQ(run_alone("{}",
                      [] {
                        const auto counted = count_gpus(fake_cuda());
                        const auto library = cuda::open_library(fake_cuda());
                        int count = 0;
                        return fmt::format("{}, {} here", counted,
                                           library->device_count.call(&count));
                      }),
            "8, 3 here");
}

TEST(NcclStartTest, ReportsAMissingDriver) {
  const auto gpus = usable_gpus("/nowhere/libcuda.so.1");
  ASSERT_FALSE(gpus);
  EXPECT_TRUE(gpus.error().missing);
  EXPECT_THAT(gpus.error().message, HasSubstr("/nowhere/libcuda.so.1"));
}

std::string library_with(const std::string& cuda, const std::string& nccl) {
  return run_alone("{}", [&] { return make_alone({.cuda = cuda, .nccl = nccl}); });
}

TEST(NcclStartTest, NamesAMissingLibraryOrFunction) {
  EXPECT_THAT(library_with("/nowhere/libcuda.so.1", fake_nccl()),
              HasSubstr("/nowhere/libcuda.so.1"));
  EXPECT_THAT(library_with(fake_cuda(), "/nowhere/libnccl.so.2"),
              HasSubstr("/nowhere/libnccl.so.2"));
  EXPECT_THAT(library_with(fake_cuda(), fake_cuda()),
              AllOf(HasSubstr("is not a usable NCCL library: ncclGetVersion, "),
                    HasSubstr("ncclGroupEnd")));
}

TEST(NcclStartTest, UsesACublasThatTheDriverCanRun) {
  const std::string toolkit = "/usr/local/cuda/lib64/libcublasLt.so";
  EXPECT_THAT(cublas::files_for(13000),
              ElementsAre("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", toolkit));
  EXPECT_THAT(cublas::files_for(12040),
              ElementsAre("libcublasLt.so.12", "libcublasLt.so.11", toolkit));
  EXPECT_THAT(cublas::files_for(11080), ElementsAre("libcublasLt.so.11", toolkit));
}

TEST(NcclStartTest, HasAVersion) {
  EXPECT_EQ(library_with(fake_cuda(), fake_nccl()), "NCCL 2.28.9");
  EXPECT_EQ(library_with(fake_cuda(), fake_nccl("nccl_old")), "NCCL 2.8.4");
  EXPECT_EQ(nccl_version_text(21805), "2.18.5");
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
}

TEST(NcclStartTest, HasMembers) {
  const auto answers =
      run_ranks({.ranks = 4, .scenario = R"({"gpus": 2})", .gpus = 2}, [](Backend& backend) {
        const auto member = backend.members().front();
        return fmt::format("{} {} {} {} {}", member.rank, member.host, member.device,
                           member.device_id, member.pci_address);
      });
  EXPECT_EQ(answers[0], "0 node0 NVIDIA H100 80GB HBM3 gpu0 0001:0a:00.0");
  EXPECT_THAT(answers[1], StartsWith("1 node0 NVIDIA H100 80GB HBM3 gpu1 0002:0a:00.0"));
}

TEST(NcclStartTest, ChoosesTheGpuOfTheLocalRank) {
  const auto chosen = [](int local_rank, int gpus, std::string_view visible) {
    const auto choice = choose_gpu(5, local_rank, gpus, visible);
    return choice ? fmt::format("{} {}", choice->ordinal, choice->device_id)
                  : choice.error().message;
  };
  EXPECT_EQ(chosen(3, 8, ""), "3 gpu3");
  EXPECT_EQ(chosen(1, 3, "6,2,7"), "1 gpu2");
  // A UUID does not reveal the number.
  EXPECT_EQ(chosen(1, 2, "GPU-6cf8,GPU-77aa"), "1 ");
  EXPECT_EQ(chosen(3, 1, "GPU-6cf8"), "0 ");
  // The launcher has chosen the GPU.
  EXPECT_EQ(chosen(3, 1, "3"), "0 gpu3");
  EXPECT_EQ(chosen(2, 2, ""), "rank 5 is local rank 2, and only 2 GPUs are visible");
  EXPECT_EQ(chosen(1, 1, ""), "rank 5 is local rank 1, and only 1 GPU is visible");
  EXPECT_EQ(chosen(2, 2, "0,1"),
            "rank 5 is local rank 2, and only 2 GPUs are visible (CUDA_VISIBLE_DEVICES=0,1)");
}

TEST(NcclStartTest, UsesVisibleGpus) {
  EXPECT_EQ(run_alone("{}",
                      [] {
                        ::setenv("CUDA_VISIBLE_DEVICES", "6,2", 1);
                        const auto backend = make_nccl_backend({.cuda = fake_cuda(),
                                                                .nccl = fake_nccl(),
                                                                .local_rank = 1,
                                                                .broadcast = own_text});
                        if (!backend) return backend.error().message;
                        const auto member = (*backend)->members().front();
                        return fmt::format("{} {}", member.device_id, member.pci_address);
                      }),
            "gpu2 0003:0a:00.0");
}

TEST(NcclStartTest, ReportsTwoRanksOnOneGpu) {
  const auto answers = run_ranks({.ranks = 2, .scenario = R"({"hosts": [0, 0]})", .gpus = 1},
                                 [](Backend&) { return std::string("began"); });
  EXPECT_THAT(answers, Each(AllOf(HasSubstr("ncclCommInitRankConfig: invalid usage"),
                                  HasSubstr("(NCCL 5): Duplicate GPU detected : rank "))));
}

TEST(NcclStartTest, ReportsUnsupportedFeatures) {
  const auto lacks = [](const World& world) {
    return run_ranks(world, [](Backend& backend) {
      std::string text;
      const auto ask = [&](const Operation& operation, const Pace& pace) {
        const auto supported = backend.supports(operation, pace);
        text += fmt::format("{}\n", supported ? "yes" : supported.error().message);
      };
      ask({}, {});
      ask({.type = Type::bf16}, {});
      ask({.reduction = Reduction::avg}, {});
      ask({}, {.graph = true});
      ask({.collective = Collective::alltoall}, {});
      ask({.collective = Collective::alltoall, .in_place = true}, {});
      ask({.collective = Collective::broadcast, .root = 1}, {});
      return text;
    });
  };
  EXPECT_THAT(lacks({.ranks = 1}),
              ElementsAre("yes\nyes\nyes\nyes\nyes\nNCCL 2.28.9 has no alltoall in place\n"
                          "invalid root 1 of 1 ranks\n"));
  EXPECT_THAT(lacks({.ranks = 1, .nccl = "nccl_old"}),
              ElementsAre("yes\nNCCL 2.8.4 has no bf16\nNCCL 2.8.4 has no average\n"
                          "NCCL 2.8.4 has no support of CUDA graphs\nyes\n"
                          "NCCL 2.8.4 has no alltoall in place\n"
                          "invalid root 1 of 1 ranks\n"));
  EXPECT_THAT(lacks({.ranks = 1, .cuda = "cuda_old"}),
              ElementsAre(HasSubstr("the CUDA driver is older than CUDA 11.4")));
}

std::string reduce_once(Backend& backend) {
  const auto batch = measure_once(backend, {.bytes = 1024}, {.warm_up = 1, .iterations = 3});
  return batch ? backend.log() : batch.error().message;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(NcclStartTest, KeepsNcclsLog) {
  for (const auto& log : run_ranks({.ranks = 2}, reduce_once)) {
    EXPECT_THAT(log, AllOf(HasSubstr("Using network IB"), HasSubstr("Channel 00/0 : "),
                           HasSubstr(" via P2P/CUMEM")));
    EXPECT_EQ(count_of(log, "-> Algo "), 0);
  }
}

std::string account_for_one(Backend& backend) {
  (void)reduce_once(backend);
  const auto told = backend.account_for({.bytes = 1024});
  (void)reduce_once(backend);  // and no longer
  return told ? backend.log() : told.error().message;
}

// An old NCCL cannot change what it logs.
TEST(NcclStartTest, FindsTheAlgorithmInASeparatePass) {
  for (const auto& [nccl, found] : {std::pair{"nccl", 1U}, {"nccl_old", 0U}}) {
    for (const auto& log : run_ranks({.ranks = 2, .nccl = nccl}, account_for_one)) {
      EXPECT_EQ(count_of(log, "-> Algo RING proto SIMPLE"), found);
      EXPECT_EQ(count_of(log, "Using network IB"), 1) << "earlier lines are kept";
    }
  }
}

std::string remarks_and_log(Backend& backend) {
  const auto log = reduce_once(backend);
  const auto remarks = backend.remarks();
  return fmt::format("{}|{}", fmt::join(remarks, ";"), log);
}

TEST(NcclStartTest, KeepsNoLogIfTheUserDoes) {
  const TempDir folder;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  ::setenv("NCCL_DEBUG_FILE", (folder.path() / "log").c_str(), 1);
  ::setenv("NCCL_DEBUG", "WARN", 1);  // NOLINT(concurrency-mt-unsafe): likewise
  const auto answers = run_ranks({.ranks = 2}, remarks_and_log);
  ::unsetenv("NCCL_DEBUG");       // NOLINT(concurrency-mt-unsafe): likewise
  ::unsetenv("NCCL_DEBUG_FILE");  // NOLINT(concurrency-mt-unsafe): likewise
  EXPECT_THAT(
      answers,
      Each("NCCL_DEBUG=WARN and NCCL_DEBUG_FILE are set: NCCL's log goes to that file, so the "
           "transport is unknown|"));
}

TEST(NcclStartTest, KeepsTheLogAndReplaysIt) {
  ::setenv("NCCL_DEBUG", "WARN", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  const auto answers = run_ranks(
      {.ranks = 1, .scenario = R"({"log": ["NCCL WARN so it is"]})"}, [](Backend& backend) {
        auto said = remarks_and_log(backend);
        ::testing::internal::CaptureStderr();
        replay_nccl_log();
        replay_nccl_log();
        return fmt::format("{}|{}", said, ::testing::internal::GetCapturedStderr());
      });
  ::unsetenv("NCCL_DEBUG");  // NOLINT(concurrency-mt-unsafe): likewise
  const auto& said = answers.front();
  EXPECT_THAT(said, StartsWith("NCCL_DEBUG=WARN is set: NCCL's log is kept"));
  EXPECT_THAT(said, HasSubstr("Using network IB"));
  const auto shown = said.substr(said.rfind('|') + 1);
  EXPECT_THAT(shown, HasSubstr("NCCL WARN so it is"));
  EXPECT_EQ(count_of(shown, "\n"), 1);
}

}  // namespace
}  // namespace muster::bench
