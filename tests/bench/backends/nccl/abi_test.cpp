// SPDX-License-Identifier: Apache-2.0
// Compares muster's declarations of CUDA and NCCL with NVIDIA's headers, if they are installed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench/backends/nccl/library.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"

#ifdef MUSTER_HAS_CUDA_H
#include <cuda.h>
#endif
#ifdef MUSTER_HAS_CUBLAS_H
#include <cublasLt.h>
#endif
#ifdef MUSTER_HAS_NCCL_H
#include <nccl.h>
#endif

namespace muster::bench {
namespace {

// How a value is passed to a function. Only this must be the same.
enum class Way { integer, floating, pointer, memory };

struct Passed {
  Way way = Way::integer;
  std::size_t size = 0;

  bool operator==(const Passed&) const = default;
};

template <class T>
constexpr Passed passed() {
  if constexpr (std::is_pointer_v<T>) {
    return {Way::pointer, sizeof(void*)};
  } else if constexpr (std::is_void_v<T>) {
    return {};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {Way::floating, sizeof(T)};
  } else if constexpr (std::is_class_v<T>) {
    return {Way::memory, sizeof(T)};
  } else {
    return {Way::integer, sizeof(T)};
  }
}

// The result and the arguments of a function.
template <class Answer, class... Arguments>
std::vector<Passed> shape_of_call(Answer (* /*call*/)(Arguments...)) {
  return {passed<Answer>(), passed<Arguments>()...};
}

// A header that has another form of a function defines the name as a macro. The one with an
// equivalent second form is that of CUDA 12.8.
void expect_name(std::string_view name, std::string_view in_header) {
  if (name == "cuEventElapsedTime") return;
  EXPECT_EQ(name, in_header);
}

// Uses only the type; nothing is linked.
#define MUSTER_TEXT_OF(name) #name
#define MUSTER_EXPECT_SAME_CALL(member, required, function, ...)        \
  EXPECT_EQ(shape_of_call(library.member.call),                         \
            shape_of_call(static_cast<decltype(&(function))>(nullptr))) \
      << library.member.name;                                           \
  expect_name(library.member.name, MUSTER_TEXT_OF(function));

#define MUSTER_EXPECT_SAME_VALUE(name, value, theirs) EXPECT_EQ(value, theirs) << #name;

#ifdef MUSTER_HAS_CUDA_H

TEST(NcclAbiTest, CallsCudaFunctionsAsDeclared) {
  const cuda::Library library;
  MUSTER_CUDA_FUNCTIONS(MUSTER_EXPECT_SAME_CALL)
}

TEST(NcclAbiTest, HasTheConstantsOfTheCudaHeader) {
  MUSTER_CUDA_CONSTANTS(MUSTER_EXPECT_SAME_VALUE)
  EXPECT_EQ(cuda::kToOwner, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER);
  EXPECT_EQ(cuda::kToOwner, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
  EXPECT_EQ(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
  EXPECT_EQ(cuda::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
}

#endif

#ifdef MUSTER_HAS_NCCL_H

// NCCL calls ncclResetDebugInit() deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

TEST(NcclAbiTest, CallsNcclFunctionsAsDeclared) {
  const nccl::Library library;
  MUSTER_NCCL_FUNCTIONS(MUSTER_EXPECT_SAME_CALL)
}

TEST(NcclAbiTest, HasTheConfigurationOfTheHeader) {
  EXPECT_LE(sizeof(nccl::Config), sizeof(ncclConfig_t));
  EXPECT_EQ(offsetof(nccl::Config, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(nccl::Config, version), offsetof(ncclConfig_t, version));
  EXPECT_EQ(offsetof(nccl::Config, blocking), offsetof(ncclConfig_t, blocking));
  EXPECT_EQ(offsetof(nccl::Config, max_ctas), offsetof(ncclConfig_t, maxCTAs));
  EXPECT_EQ(offsetof(nccl::Config, net_name), offsetof(ncclConfig_t, netName));
  EXPECT_EQ(offsetof(nccl::Config, split_share), offsetof(ncclConfig_t, splitShare));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const nccl::Config ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(sizeof(nccl::UniqueId), sizeof(ncclUniqueId));
}

TEST(NcclAbiTest, HasTheConstantsOfTheNcclHeader) {
  EXPECT_EQ(nccl::kSuccess, ncclSuccess);
  MUSTER_NCCL_CONSTANTS(MUSTER_EXPECT_SAME_VALUE)
}

#endif

#ifdef MUSTER_HAS_CUBLAS_H

TEST(NcclAbiTest, CallsCublasFunctionsAsDeclared) {
  const cublas::Library library;
  MUSTER_CUBLAS_FUNCTIONS(MUSTER_EXPECT_SAME_CALL)
}

TEST(NcclAbiTest, HasTheStructuresAndConstantsOfTheCublasHeader) {
  EXPECT_EQ(sizeof(cublas::Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(cublas::Choice), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(cublas::Choice, workspace),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(cublas::Choice, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(cublas::kSuccess, CUBLAS_STATUS_SUCCESS);
  MUSTER_CUBLAS_CONSTANTS(MUSTER_EXPECT_SAME_VALUE)
}

#endif

#if !defined(MUSTER_HAS_CUDA_H) || !defined(MUSTER_HAS_NCCL_H) || !defined(MUSTER_HAS_CUBLAS_H)

TEST(NcclAbiTest, ComparesWithEveryHeader) { GTEST_SKIP() << "not all are on this machine"; }

#endif

// Descriptions of products work without a GPU.
TEST(NcclAbiTest, NvidiasCublasHasEveryFunctionAndAcceptsTheDescriptions) {
  if (std::string_view(MUSTER_REAL_CUBLAS).empty()) GTEST_SKIP() << "cuBLASLt is not here";
  const auto refused = run_alone("{}", []() -> std::string {
    const auto library = cublas::open_library(MUSTER_REAL_CUBLAS, *cuda::open_library(fake_cuda()));
    if (!library) return library.error().message;
    if (library->status_text.call == nullptr) return "cublasLtGetStatusString";
    cublas::Operation operation = nullptr;
    cublas::Layout layout = nullptr;
    cublas::Preference preference = nullptr;
    const int transposed = cublas::kTransposed;
    const std::uint64_t workspace = 32UL << 20U;
    const std::array codes{
        library->operation_create.call(&operation, cublas::kComputeFp32, cublas::kFp32),
        library->operation_set.call(operation, cublas::kTransposeFirst, &transposed,
                                    sizeof transposed),
        library->layout_create.call(&layout, cublas::kFp8, 8192, 8192, 8192),
        library->preference_create.call(&preference),
        library->preference_set.call(preference, cublas::kMaxWorkspace, &workspace,
                                     sizeof workspace),
        library->preference_destroy.call(preference),
        library->layout_destroy.call(layout),
        library->operation_destroy.call(operation)};
    std::string text;
    for (const int code : codes) text += code == cublas::kSuccess ? "" : fmt::format("{} ", code);
    return text;
  });
  EXPECT_EQ(refused, "");
}

// Including optional functions. The driver's library is the stub for linking.
TEST(NcclAbiTest, FindsEveryFunctionInNvidiasLibraries) {
  if (std::string_view(MUSTER_REAL_CUDA).empty() || std::string_view(MUSTER_REAL_NCCL).empty()) {
    GTEST_SKIP() << "NVIDIA's libraries are not on this machine";
  }
  const auto missing = run_alone("{}", [] {
    const auto cuda = cuda::open_library(MUSTER_REAL_CUDA);
    const auto nccl = nccl::open_library(MUSTER_REAL_NCCL);
    if (!cuda) return cuda.error().message;
    if (!nccl) return nccl.error().message;
    std::string names;
#define MUSTER_NAME_MISSING(library, member) \
  if ((library)->member.call == nullptr) names += fmt::format(" {}", (library)->member.name);
#define MUSTER_CUDA_MISSING(member, ...) MUSTER_NAME_MISSING(cuda, member)
#define MUSTER_NCCL_MISSING(member, ...) MUSTER_NAME_MISSING(nccl, member)
    MUSTER_CUDA_FUNCTIONS(MUSTER_CUDA_MISSING)
    MUSTER_NCCL_FUNCTIONS(MUSTER_NCCL_MISSING)
    return names;
  });
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace muster::bench
