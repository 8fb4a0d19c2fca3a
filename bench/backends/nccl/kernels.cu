// SPDX-License-Identifier: Apache-2.0
// Fills and verifies buffers on a GPU, as bench/collectives/pattern.hpp describes.
// tools/make-ptx.sh compiles this to kernels.ptx; the driver compiles that for the GPU at run time.

using u64 = unsigned long long;

// Element i of the stretch that begins at `buffer` becomes bits[(i + shift) % period].
template <class Word>
__device__ void fill(Word* buffer, u64 count, const u64* bits, u64 period, u64 shift) {
  const u64 stride = u64(gridDim.x) * blockDim.x;
  const u64 step = stride % period;
  u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  u64 at = (i % period + shift % period) % period;
  for (; i < count; i += stride) {
    buffer[i] = Word(bits[at]);
    at += step;
    if (at >= period) at -= period;
  }
}

// result[0]: how many elements are wrong; result[1]: the least index of one of them, counted from
// `first`, which is the index of the stretch's first element.
template <class Word>
__device__ void verify(const Word* buffer, u64 first, u64 count, const u64* low, const u64* high,
                       u64 period, u64 shift, u64* result) {
  const u64 stride = u64(gridDim.x) * blockDim.x;
  const u64 step = stride % period;
  u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  u64 at = (i % period + shift % period) % period;
  u64 wrong = 0;
  u64 least = ~0ULL;
  for (; i < count; i += stride) {
    const u64 seen = buffer[i];
    if (seen < low[at] || seen > high[at]) {
      ++wrong;
      if (first + i < least) least = first + i;
    }
    at += step;
    if (at >= period) at -= period;
  }
  if (wrong != 0) {
    atomicAdd(&result[0], wrong);
    atomicMin(&result[1], least);
  }
}

#define MUSTER_KERNELS(width, Word)                                                             \
  extern "C" __global__ void muster_fill_##width(Word* buffer, u64 count, const u64* bits,      \
                                                 u64 period, u64 shift) {                       \
    fill(buffer, count, bits, period, shift);                                                   \
  }                                                                                             \
  extern "C" __global__ void muster_verify_##width(const Word* buffer, u64 first, u64 count,    \
                                                   const u64* low, const u64* high, u64 period, \
                                                   u64 shift, u64* result) {                    \
    verify(buffer, first, count, low, high, period, shift, result);                             \
  }

MUSTER_KERNELS(1, unsigned char)
MUSTER_KERNELS(2, unsigned short)
MUSTER_KERNELS(4, unsigned int)
MUSTER_KERNELS(8, unsigned long long)
