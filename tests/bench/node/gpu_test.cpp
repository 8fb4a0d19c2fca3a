// SPDX-License-Identifier: Apache-2.0
// The GPU tests on the fake driver: their measurements, and that each fault is found and named.

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "bench/node/gemm/gemm.hpp"
#include "bench/node/products.hpp"
#include "bench/node/test.hpp"
#include "bench/node/test_report.hpp"
#include "tests/bench/node/fake_devices.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench::node {
namespace {

using ::testing::Field;

struct Request {
  Level level = Level::quick;
  double seconds = 0.001;
  std::uint64_t bytes = 1U << 20U;
  std::string cublas = "/nowhere/libcublasLt.so";
  std::optional<std::string> type = {};  // of the limit
  std::optional<double> limit_size = 1U << 20U;
};

const Request kWithCublas{.cublas = fmt::format("{}/cublas/libcublasLt.so.13", MUSTER_FAKES)};

Result<TestResult> run_on(const std::string& scenario, std::string_view name,
                          const Request& request = {}) {
  return run_on_fake("MUSTER_FAKE_GPU", scenario, name,
                     {.level = request.level,
                      .time = std::chrono::duration<double>(request.seconds),
                      .cuda = fmt::format("{}/cuda/libcuda.so.1", MUSTER_FAKES),
                      .nvml = "/nowhere/libnvidia-ml.so.1",
                      .cublas = request.cublas,
                      .limit = {.size = request.limit_size, .type = request.type},
                      .bytes = request.bytes});
}

// The findings under limits of H100.
std::vector<Finding> judged(const std::string& scenario, std::string_view name,
                            const Request& request = {}) {
  Profile profile;
  profile.name = "x";
  profile.bench->host_copy.fail_below = BytesPerSecond{48e9};
  profile.bench->peer_copy.fail_below = BytesPerSecond{300e9};
  profile.bench->gpu_memory.fail_below = BytesPerSecond{2670e9};
  if (request.cublas == kWithCublas.cublas) profile.bench->gemm.fail_below = Flops{715e12};
  return findings_of({.test = find_test(name), .result = run_on(scenario, name, request)}, profile);
}

std::vector<Finding> bad(const std::string& scenario, std::string_view name,
                         const Request& request = {}) {
  return not_passed(judged(scenario, name, request));
}

auto is_fail(const std::string& device, const std::string& message) {
  return is_finding(Outcome::fail, device, message);
}

// Such a failure, and nothing about other devices.
auto fails_only(const std::string& device, const std::string& message) {
  return AllOf(Contains(is_fail(device, message)), Each(Field(&Finding::device, device)));
}

TEST(GpuNodeTest, HealthyGpusPassEveryTest) {
  for (const auto& test : node_tests()) {
    if (!test.name.starts_with("gpu.")) continue;
    const auto findings =
        judged("{}", test.name, {.seconds = test.times.from == Level::soak ? 20 : 0.001});
    EXPECT_THAT(not_passed(findings), IsEmpty()) << test.name << ": " << findings.at(0).message;
    EXPECT_FALSE(findings.empty()) << test.name;
  }
}

// Small buffers may fit the GPU's caches.
TEST(GpuNodeTest, DoesNotJudgeSmallBuffersByTheLimitOfLargeOnes) {
  for (const auto& [test, size] : std::map<std::string, std::string>{
           {"gpu.copy", "64 MiB"}, {"gpu.p2p", "64 MiB"}, {"gpu.memory", "1 GiB"}}) {
    const auto findings = judged(R"({"gpus": 2})", test, {.limit_size = {}});
    EXPECT_THAT(findings, Each(Field(&Finding::outcome, Outcome::skip))) << test;
    EXPECT_EQ(findings.back().message,
              fmt::format("the limit of profile x is not judged: {} used buffers of 1 MiB, and the "
                          "limit is for {}",
                          test, size));
  }
}

TEST(GpuNodeTest, TimesCopiesInEachDirection) {
  const auto result = run_on("{}", "gpu.copy");
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->series.size(), 5U);
  for (const auto& series : result->series) {
    ASSERT_EQ(series.values.size(), 8U);
    const double expected = series.quantity == "host_device_both" ? 110 : 55;
    EXPECT_NEAR(series.values[7].value, expected, 0.1) << series.quantity;
    EXPECT_EQ(series.values[7].device, "gpu7");
  }
}

TEST(GpuNodeTest, NamesAGpuWithASlowLink) {
  EXPECT_THAT(bad(R"({"node": {"pcie": {"3": 27.5}}})", "gpu.copy"),
              fails_only("gpu3", "host to device 27.5 GB/s; the median of 8 is 55.0 (-50.0%"));
}

struct Fault {
  std::string scenario;
  std::string_view test;
  std::string device, message;
  double seconds = 0.001;
};

TEST(GpuNodeTest, NamesOnlyTheDeviceAtFault) {
  std::vector<Fault> faults{
      {R"({"node": {"spoilt_copy": 6}})", "gpu.copy", "gpu6", "differs from byte 524288 on"},
      {R"({"node": {"lost_copy": 2}})", "gpu.copy", "gpu2", "differs from byte 0 on"},
      {R"({"node": {"spoilt_pair": "2-0"}})", "gpu.p2p", "gpu2-gpu0", "1 8-byte words were"},
      {R"({"node": {"memory": {"2": 2000}}})", "gpu.memory", "gpu2", "triad 2000 GB/s"},
      {R"({"node": {"stuck": {"gpu": 1, "index": 9, "bit": 40}}})", "gpu.memory", "gpu1",
       "the first at byte 72 of the tested memory; bits 0000010000000000 differ"},
      {R"({"node": {"flip": {"gpu": 5, "product": 3, "index": 777, "bit": 0}}})", "gpu.truth",
       "gpu5",
       "1 numbers of product 3 are wrong, the first in row 3, column 9; bits 00000001 differ"},
      {R"({"node": {"lost_product": {"gpu": 5, "product": 2}}})", "gpu.truth", "gpu5",
       "numbers of product 2 are wrong"},
      {R"({"node": {"lost_product": {"gpu": 5, "product": 6}}})", "gpu.soak", "gpu5",
       "are wrong, the first in row 0", 5}};
  for (const int launch : {1, 2, 11}) {
    faults.push_back(
        {fmt::format(R"({{"node": {{"lost_triad": {{"gpu": 3, "product": {}}}}}}})", launch),
         "gpu.memory", "gpu3", "elements of a triad are wrong; element 0 is"});
  }
  // GPU 4 reads from 1 five times while that reads from it, and five times alone.
  for (int first = 1; first <= 10; ++first) {
    faults.push_back({fmt::format(R"({{"node": {{"lost_pair": "4-1", "lost_from": {}}}}})", first),
                      "gpu.p2p", "gpu4-gpu1", "words were corrupted"});
  }
  for (const auto& [scenario, test, device, message, seconds] : faults) {
    EXPECT_THAT(bad(scenario, test, {.seconds = seconds}), ElementsAre(is_fail(device, message)))
        << scenario;
  }
}

// When a copy does nothing, memory still holds what earlier ones wrote. Each
// GPU copies to the host 6 times alone, 2 times to be verified, 24 times together and once to be
// verified; into the GPU's memory goes one copy more.
TEST(GpuNodeTest, FindsThatCopiesDoNothingFromSomePointOn) {
  const auto lost = [](std::string_view kind, int first) {
    return bad(fmt::format(R"({{"node": {{"{}": 2, "lost_from": {}}}}})", kind, first), "gpu.copy",
               {.seconds = 0});
  };
  for (const int first : {1, 2, 6, 7, 8, 9, 32, 33}) {
    EXPECT_THAT(lost("lost_copy", first),
                ElementsAre(is_fail("gpu2", "a copy from the GPU differs from byte 0 on")))
        << first;
    EXPECT_THAT(lost("lost_copy_in", first + 1),
                Contains(is_fail("gpu2", "a copy to the GPU differs from byte 0 on")))
        << first;
  }
}

// Each of the two GPUs has made nine copies from pinned memory before they start to copy together.
TEST(GpuNodeTest, ReportsWrongCopiesThoughAllAtOnceFail) {
  const auto found = bad(R"({"gpus": 2, "node": {"spoilt_copy": 1, "refused_copy": 20}})",
                         "gpu.copy", {.seconds = 0});
  EXPECT_THAT(found, Contains(is_fail("gpu1", "a copy from the GPU differs from byte 524288 on")));
  EXPECT_THAT(
      found, Contains(is_finding(Outcome::unknown, "node", "all GPUs at once: cuMemcpyHtoDAsync")));
}

TEST(GpuNodeTest, NamesASlowPairAndShowsItInTheMatrix) {
  const std::string scenario = R"({"node": {"peer": {"1-4": 90}}})";
  EXPECT_THAT(bad(scenario, "gpu.p2p"),
              fails_only("gpu1-gpu4", "peer copy 90.0 GB/s; the median of 56 is 350"));
  const auto result = run_on(scenario, "gpu.p2p");
  ASSERT_TRUE(result);
  ASSERT_EQ(result->matrices.size(), 2U);
  const auto lines = lines_of(result->matrices[0]);
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_EQ(lines[3], "gpu1    350     -   350   350  90.0   350   350   350");
}

// GPUs that are bridged in pairs copy to the others through the host.
TEST(GpuNodeTest, LimitsConnectedPairsAndThoseThatLostTheirConnection) {
  const std::string bridged =
      R"({"gpus": 4, "node": {"peer": {"0-2": 0, "0-3": 0, "1-2": 0, "1-3": 0,
                                       "2-0": 0, "2-1": 0, "3-0": 0, "3-1": 0%}}})";
  const auto with = [&](std::string_view more) {
    auto text = bridged;
    return text.replace(text.find('%'), 1, more);
  };
  EXPECT_THAT(bad(with(""), "gpu.p2p"), IsEmpty());
  EXPECT_THAT(bad(with(R"(, "2-3": 150)"), "gpu.p2p"),
              ElementsAre(is_fail("gpu2-gpu3", "peer copy 150 GB/s")));
  EXPECT_THAT(bad(R"({"node": {"peer": {"5-6": 0}}})", "gpu.p2p"),
              Contains(is_fail("gpu5-gpu6", "peer copy 20.0 GB/s")));
}

TEST(GpuNodeTest, ASoakFindsAGpuThatThrottlesAfterAMinute) {
  const std::string scenario = R"({"node": {"throttle": {"gpu": 2, "after_s": 60, "share": 0.7}}})";
  EXPECT_THAT(bad(scenario, "gpu.soak", {.seconds = 30}), IsEmpty());
  const auto found = bad(scenario, "gpu.soak", {.seconds = 120});
  EXPECT_THAT(found, fails_only("gpu2", "fell from 40 to 28 TFLOPS after 6"));
  EXPECT_THAT(found, Contains(is_fail("gpu2", "NVML: ")));
}

std::vector<std::string> quantities_of(const Result<TestResult>& result) {
  std::vector<std::string> all;
  for (const auto& series : result->series) all.push_back(series.quantity);
  return all;
}

// Slow chips, so that a launch is a few products.
std::string soaked(std::string_view fault) {
  return fmt::format(R"({{"gpus": 2, "node": {{"gemm": {{"bf16": 0.01}}, {}}}}})", fault);
}

const Request kSoak{.seconds = 4, .cublas = kWithCublas.cublas};

TEST(GpuSoakTest, HeatsWithProductsOfCublas) {
  const auto result = run_on(soaked(R"("pcie_gbs": 55)"), "gpu.soak", kSoak);
  ASSERT_TRUE(result) << result.error().message;
  const std::string kept = "kept its speed for 4 s of work: 0.01 TFLOPS at the beginning, 0.01 at";
  EXPECT_THAT(result->findings, ElementsAre(is_finding(Outcome::pass, "gpu0", kept),
                                            is_finding(Outcome::pass, "gpu1", kept)));
  EXPECT_THAT(quantities_of(result), ElementsAre("soak_bf16"));
  EXPECT_NEAR(result->series.front().values.at(1).value, 0.01, 0.0001);
  const auto without = run_on(soaked(R"("tflops": 0.01)"), "gpu.soak", {.seconds = 4});
  EXPECT_THAT(quantities_of(without), ElementsAre("soak_f32_own"));
  EXPECT_THAT(without->lines, ElementsAre(HasSubstr("cuBLASLt is not available (/nowhere")));
}

TEST(GpuSoakTest, FindsAGpuWhoseProductsOfCublasSlowDown) {
  EXPECT_THAT(
      bad(soaked(R"("throttle": {"gpu": 1, "after_s": 3, "share": 0.7})"), "gpu.soak", kSoak),
      Contains(is_fail("gpu1", "fell from 0.01 to 0.007 TFLOPS after 3")));
}

// Eight products choose an algorithm and time it. Each launch has nine, of which the last is
// compared, and so is one more on poisoned memory.
TEST(GpuSoakTest, FindsAWrongProductOfCublas) {
  for (const auto* fault : {R"("gemm_flip": {"gpu": 1, "product": 47, "index": 5, "bit": 4})",
                            R"("lost_gemm": {"gpu": 1, "product": 48})"}) {
    EXPECT_THAT(bad(soaked(fault), "gpu.soak", kSoak),
                Contains(is_fail("gpu1", "differ from the same product before")))
        << fault;
  }
}

TEST(GpuNodeTest, SkipsMissingGpusUnlessTheyAreExpected) {
  EXPECT_TRUE(run_on(R"({"gpus": 0})", "gpu.copy").error().missing);
  const TestRun ran{.test = find_test("gpu.p2p"), .result = run_on(R"({"gpus": 1})", "gpu.p2p")};
  EXPECT_EQ(ran.result.error(), (Error{.message = "the node has only one GPU", .missing = true}));
  Profile profile;
  profile.gpu->present.count = 1;
  EXPECT_EQ(findings_of(ran, profile).at(0).outcome, Outcome::skip);
  profile.gpu->present.count = 2;
  EXPECT_EQ(findings_of(ran, profile).at(0).outcome, Outcome::unknown);
}

TEST(GpuNodeTest, ErrorsOfTheDriverAreUnknownWithTheirReason) {
  const auto refused = run_on(R"({"answers": {"cuInit": 802}})", "gpu.truth");
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().missing);
  EXPECT_THAT(refused.error().message, HasSubstr("Fabric Manager"));
  EXPECT_THAT(judged(R"({"gpus": 2, "answers": {"cuMemHostAlloc": 2}})", "gpu.copy"),
              ElementsAre(is_finding(Outcome::unknown, "gpu0", "cuMemHostAlloc"),
                          is_finding(Outcome::unknown, "gpu1", "cuMemHostAlloc")));
}

TEST(GpuNodeTest, ALimitThatWasNotMeasuredIsSkippedUnlessItWasGiven) {
  Profile profile;
  profile.name = "x";
  profile.bench->gemm.fail_below = Flops{715e12};
  const TestRun ran{.test = find_test("gpu.gemm"), .result = run_on("{}", "gpu.gemm")};
  const auto shipped = findings_of(ran, profile);
  ASSERT_EQ(shipped.size(), 2U);
  EXPECT_EQ(shipped[0].outcome, Outcome::pass);
  EXPECT_EQ(shipped[1].outcome, Outcome::skip);
  profile.values["bench.gemm.fail_below"].origin.file = "--set";
  const auto given = findings_of(ran, profile);
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(given[1].outcome, Outcome::unknown);
  EXPECT_EQ(given[1].message,
            "the limit of --set is not judged: gpu.gemm did not measure its quantity");
}

TEST(GpuGemmTest, MeasuresEachTypeOfTheChip) {
  const auto result = run_on("{}", "gpu.gemm", kWithCublas);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(quantities_of(result), ElementsAre("gemm_bf16", "gemm_fp16", "gemm_fp8", "gemm_tf32",
                                                 "gemm_fp32", "gemm_fp64", "gemm_f32_own"));
  EXPECT_THAT(result->findings, IsEmpty());
  for (const auto& series : result->series) EXPECT_EQ(series.values.size(), 8U) << series.what;
  EXPECT_NEAR(result->series[0].values[3].value, 770, 1);
  EXPECT_NEAR(result->series[5].values[7].value, 60, 1);
  EXPECT_TRUE(result->series[0].values[0].repeats);
  const auto older =
      run_on(R"({"node": {"gemm": {"fp8": 0, "bf16": 0}}})", "gpu.gemm", kWithCublas);
  ASSERT_TRUE(older);
  EXPECT_EQ(quantities_of(older).front(), "gemm_fp16");
  EXPECT_THAT(older->findings, IsEmpty());
}

TEST(GpuGemmTest, JudgesTheTypeOfTheLimitAndNamesASlowGpu) {
  EXPECT_THAT(bad("{}", "gpu.gemm", kWithCublas), IsEmpty());
  EXPECT_THAT(bad(R"({"node": {"gemm_share": {"3": 0.9}}})", "gpu.gemm", kWithCublas),
              ElementsAre(is_fail("gpu3", "products in bf16 by cuBLASLt 693 TFLOPS")));
  auto request = kWithCublas;
  request.type = "fp16";
  const auto other = run_on("{}", "gpu.gemm", request);
  ASSERT_TRUE(other);
  for (const auto& series : other->series) {
    EXPECT_EQ(series.limited, series.quantity == "gemm_fp16") << series.quantity;
  }
}

// The others are compared with the seventh.
TEST(GpuGemmTest, FindsAProductThatDiffersFromTheFirst) {
  EXPECT_THAT(bad(R"({"node": {"gemm_flip": {"gpu": 5, "product": 7, "index": 700, "bit": 2}}})",
                  "gpu.gemm", kWithCublas),
              ElementsAre(AllOf(is_fail("gpu5", "the first in column 0; bits 00000004 differ"),
                                Field(&Finding::remedy, Remedy::reseat_or_replace))));
}

TEST(GpuGemmTest, FindsAProductThatIsWrongEveryTime) {
  EXPECT_THAT(
      bad(R"({"gpus": 1, "node": {"gemm_flip": {"gpu": 0, "product": 0, "index": 1, "bit": 6}}})",
          "gpu.gemm", kWithCublas),
      Contains(is_fail("gpu0", "a product in bf16 is wrong: row 0, column 0 is ")));
}

TEST(GpuGemmTest, ErrorsOfTheLibraryAreUnknownWithTheirReason) {
  const auto result =
      run_on(R"({"gpus": 2, "answers": {"cublasLtCreate": 1}})", "gpu.gemm", kWithCublas);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->findings,
              Contains(is_finding(Outcome::unknown, "gpu1",
                                  "cublasLtCreate: an error of the fake (cuBLAS 1)")));
  EXPECT_THAT(quantities_of(result), ElementsAre("gemm_f32_own"));
}

// The finding if one of the last three launches of a product stores nothing.
std::string wrong_without(int launch) {
  const auto scenario =
      fmt::format(R"({{"node": {{"lost_gemm": {{"gpu": 0, "product": {}}}}}}})", launch);
  const auto answer = ask_with("MUSTER_FAKE_GPU", scenario, [&]() -> std::string {
    const auto all = open_gpus({.cuda = fmt::format("{}/cuda/libcuda.so.1", MUSTER_FAKES)});
    if (!all) return all.error().message;
    auto& gpu = *all->gpus.front();
    const auto library = cublas::open_library(kWithCublas.cublas, gpu.library());
    if (!library) return library.error().message;
    const auto gemm = Gemm::prepare(gpu, *library, gemm_kinds().front(), {256, 256, 256});
    if (!gemm) return gemm.error().message;
    for (int i = 0; i < 3; ++i) {
      if (const auto begun = (*gemm)->start(); !begun) return begun.error().message;
    }
    const auto wrong = (*gemm)->wrong();
    return wrong ? wrong->value_or("") : wrong.error().message;
  });
  return answer ? *answer : answer.error().message;
}

// Six choose an algorithm and the seventh is the one to compare with. Three follow, and one more is
// verified on poisoned memory.
TEST(GpuGemmTest, FindsAProductThatStoredNothing) {
  EXPECT_EQ(wrong_without(99), "");
  EXPECT_THAT(wrong_without(7), HasSubstr("differ from the same product before"));
  EXPECT_THAT(wrong_without(11), HasSubstr("differ from the same product before"));
}

TEST(GpuGemmTest, UsesTheOtherAlgorithmsIfOneFails) {
  const auto result =
      run_on(R"({"gpus": 1, "node": {"refused_algorithm": 2}})", "gpu.gemm", kWithCublas);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->findings.empty()) << result->findings.front().message;
  EXPECT_EQ(quantities_of(result).front(), "gemm_bf16");
  EXPECT_NEAR(result->series.front().values.front().value, 0.9 * 770, 1);
}

TEST(GpuGemmTest, MeasuresItsOwnKernelWithoutTheLibrary) {
  const auto result = run_on("{}", "gpu.gemm");
  ASSERT_TRUE(result);
  EXPECT_THAT(quantities_of(result), ElementsAre("gemm_f32_own"));
  EXPECT_THAT(result->lines, ElementsAre(HasSubstr("cuBLASLt is not available (/nowhere")));
}

TEST(NumbersTest, AreVariedInEveryType) {
  for (const auto type : {Type::f64, Type::f32, Type::bf16, Type::f16, Type::f8e4m3}) {
    std::set<double> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const double value = value_of(type, varied_number(type, i));
      EXPECT_TRUE(std::abs(value) > 0.5 && std::abs(value) < 2) << value;
      seen.insert(value);
    }
    EXPECT_GE(seen.size(), type == Type::f8e4m3 ? 16U : 100U) << to_string(type);
  }
}

TEST(KnownProductTest, IsVariedAndCorrect) {
  const auto known = make_known_product(1);
  EXPECT_NE(known.a, known.b);
  EXPECT_NE(known.a, make_known_product(2).a);
  for (const float each : known.a) EXPECT_TRUE(std::abs(each) > 0.5F && std::abs(each) < 2.0F);
  float sum = 0;
  for (std::size_t k = 0; k < kProductSize; ++k) {
    sum = std::fma(known.a[kProductSize + k], known.b[k * kProductSize + 2], sum);
  }
  EXPECT_EQ(known.c[kProductSize + 2], sum);
}

}  // namespace
}  // namespace muster::bench::node
