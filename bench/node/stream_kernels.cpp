// SPDX-License-Identifier: Apache-2.0
// The kernels of STREAM.
#include "bench/node/host_stream.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace muster::bench::node {
namespace {

void copy(const StreamArrays& arrays) {
  const double* __restrict a = arrays.a;
  double* __restrict b = arrays.b;
  for (std::size_t i = 0; i < arrays.count; ++i) b[i] = a[i];
}

void scale(const StreamArrays& arrays) {
  const double* __restrict a = arrays.a;
  double* __restrict b = arrays.b;
  for (std::size_t i = 0; i < arrays.count; ++i) b[i] = kScalar * a[i];
}

void add(const StreamArrays& arrays) {
  const double* __restrict a = arrays.a;
  const double* __restrict b = arrays.b;
  double* __restrict c = arrays.c;
  for (std::size_t i = 0; i < arrays.count; ++i) c[i] = a[i] + b[i];
}

void triad(const StreamArrays& arrays) {
  const double* __restrict a = arrays.a;
  const double* __restrict b = arrays.b;
  double* __restrict c = arrays.c;
  for (std::size_t i = 0; i < arrays.count; ++i) c[i] = b[i] + kScalar * a[i];
}

#ifdef __x86_64__

// One set for each vector width. P: the prefix of the intrinsics of that width.
// NOLINTBEGIN(bugprone-macro-parentheses): names are concatenated
#define MUSTER_STREAMING(suffix, needs, Vector, P, kLanes)                             \
  __attribute__((target(needs))) void copy_##suffix(const StreamArrays& arrays) {      \
    for (std::size_t i = 0; i < arrays.count; i += kLanes) {                           \
      P##_stream_pd(arrays.b + i, P##_load_pd(arrays.a + i));                          \
    }                                                                                  \
    _mm_sfence();                                                                      \
  }                                                                                    \
  __attribute__((target(needs))) void scale_##suffix(const StreamArrays& arrays) {     \
    const Vector scalar = P##_set1_pd(kScalar);                                        \
    for (std::size_t i = 0; i < arrays.count; i += kLanes) {                           \
      P##_stream_pd(arrays.b + i, P##_mul_pd(scalar, P##_load_pd(arrays.a + i)));      \
    }                                                                                  \
    _mm_sfence();                                                                      \
  }                                                                                    \
  __attribute__((target(needs))) void add_##suffix(const StreamArrays& arrays) {       \
    for (std::size_t i = 0; i < arrays.count; i += kLanes) {                           \
      P##_stream_pd(arrays.c + i,                                                      \
                    P##_add_pd(P##_load_pd(arrays.a + i), P##_load_pd(arrays.b + i))); \
    }                                                                                  \
    _mm_sfence();                                                                      \
  }                                                                                    \
  __attribute__((target(needs))) void triad_##suffix(const StreamArrays& arrays) {     \
    const Vector scalar = P##_set1_pd(kScalar);                                        \
    for (std::size_t i = 0; i < arrays.count; i += kLanes) {                           \
      const Vector scaled = P##_mul_pd(scalar, P##_load_pd(arrays.a + i));             \
      P##_stream_pd(arrays.c + i, P##_add_pd(P##_load_pd(arrays.b + i), scaled));      \
    }                                                                                  \
    _mm_sfence();                                                                      \
  }
// NOLINTEND(bugprone-macro-parentheses)

MUSTER_STREAMING(sse2, "sse2", __m128d, _mm, 2)
MUSTER_STREAMING(avx2, "avx2", __m256d, _mm256, 4)
MUSTER_STREAMING(avx512, "avx512f", __m512d, _mm512, 8)

#undef MUSTER_STREAMING

#define MUSTER_CHOSEN(kernel)                          \
  (__builtin_cpu_supports("avx512f") ? kernel##_avx512 \
   : __builtin_cpu_supports("avx2")  ? kernel##_avx2   \
                                     : kernel##_sse2)

#else

// There is no portable streaming store.
#define MUSTER_CHOSEN(kernel) kernel

#endif

}  // namespace

const std::array<StreamKernel, kStreamKernels>& stream_kernels() {
  constexpr double kWord = sizeof(double);
  static const std::array<StreamKernel, kStreamKernels> kernels{
      {{"copy", 2 * kWord, false, copy, MUSTER_CHOSEN(copy)},
       {"scale", 2 * kWord, false, scale, MUSTER_CHOSEN(scale)},
       {"add", 3 * kWord, true, add, MUSTER_CHOSEN(add)},
       {"triad", 3 * kWord, true, triad, MUSTER_CHOSEN(triad)}}};
  return kernels;
}

#undef MUSTER_CHOSEN

}  // namespace muster::bench::node
