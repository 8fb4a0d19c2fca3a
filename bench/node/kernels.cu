// SPDX-License-Identifier: Apache-2.0
// The kernels of the GPU tests of a node: memory bandwidth, memory patterns, and products whose
// result is known to the last bit. tools/make-ptx.sh compiles this to kernels.ptx.

using u32 = unsigned int;
using u64 = unsigned long long;

__device__ u64 own_index() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ u64 all_threads() { return u64(gridDim.x) * blockDim.x; }

// c = a + 3b; one rounding each, as fmaf does on a host.
extern "C" __global__ void muster_triad(float4* c, const float4* a, const float4* b, u64 count) {
  for (u64 i = own_index(); i < count; i += all_threads()) {
    const float4 x = a[i];
    const float4 y = b[i];
    c[i] = make_float4(__fmaf_rn(3.0F, y.x, x.x), __fmaf_rn(3.0F, y.y, x.y),
                       __fmaf_rn(3.0F, y.z, x.z), __fmaf_rn(3.0F, y.w, x.w));
  }
}

// Word i: the seed, or with `spread` its own index in all bits.
__device__ u64 pattern(u64 i, u64 seed, u64 spread) { return seed ^ (i * spread); }

extern "C" __global__ void muster_pattern_write(u64* words, u64 count, u64 seed, u64 spread) {
  for (u64 i = own_index(); i < count; i += all_threads()) words[i] = pattern(i, seed, spread);
}

// Compares each word with the pattern, and leaves the pattern's inverse in its place. result: how
// many are wrong, the least index of one, and all bits that differed.
extern "C" __global__ void muster_pattern_check(u64* words, u64 count, u64 seed, u64 spread,
                                                u64* result) {
  u64 wrong = 0;
  u64 least = ~0ULL;
  u64 bits = 0;
  for (u64 i = own_index(); i < count; i += all_threads()) {
    const u64 expected = pattern(i, seed, spread);
    const u64 seen = words[i];
    words[i] = ~expected;
    if (seen == expected) continue;
    ++wrong;
    bits |= seen ^ expected;
    if (i < least) least = i;
  }
  if (wrong == 0) return;
  atomicAdd(&result[0], wrong);
  atomicMin(&result[1], least);
  atomicOr(&result[2], bits);
}

constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kEach = 4;  // a thread computes 4 x 4 elements of a tile

// c = a b with matrices of n x n, row by row; n is a multiple of 64. One block computes one tile of
// one copy of c, `repeats` times. Sums run along the rows of a with one rounding for each step, so
// that a host comes to the same bits.
extern "C" __global__ void __launch_bounds__(256, 4)
    muster_product(const float* a, const float* b, float* c, u64 n, u64 repeats) {
  __shared__ float rows[kDepth][kTile + 4];  // padded: stores down a column hit different banks
  __shared__ float columns[kDepth][kTile];
  const u64 tiles = n / kTile;
  const u64 tile = blockIdx.x % (tiles * tiles);
  const u64 copy = blockIdx.x / (tiles * tiles);
  const u64 row = tile / tiles * kTile;
  const u64 column = tile % tiles * kTile;
  const int x = threadIdx.x % 16;
  const int y = threadIdx.x / 16;
  float* own = c + copy * n * n + row * n + column;
  for (u64 repeat = 0; repeat < repeats; ++repeat) {
    float sum[kEach][kEach] = {};
    for (u64 k = 0; k < n; k += kDepth) {
      for (int i = threadIdx.x; i < kDepth * kTile; i += 256) {
        rows[i % kDepth][i / kDepth] = a[(row + i / kDepth) * n + k + i % kDepth];
        columns[i / kTile][i % kTile] = b[(k + i / kTile) * n + column + i % kTile];
      }
      __syncthreads();
#pragma unroll
      for (int step = 0; step < kDepth; ++step) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
#pragma unroll
          for (int j = 0; j < kEach; ++j) {
            sum[i][j] =
                __fmaf_rn(rows[step][y * kEach + i], columns[step][x * kEach + j], sum[i][j]);
          }
        }
      }
      __syncthreads();
    }
    for (int i = 0; i < kEach; ++i) {
      for (int j = 0; j < kEach; ++j) {
        own[(y * kEach + i) * n + x * kEach + j] = sum[i][j];
      }
    }
  }
}

// Compares copies of an answer with it, bit by bit: NaN is as wrong as any other.
extern "C" __global__ void muster_compare(const u32* seen, const u32* expected, u64 count,
                                          u64 period, u64* result) {
  u64 wrong = 0;
  u64 least = ~0ULL;
  u64 bits = 0;
  for (u64 i = own_index(); i < count; i += all_threads()) {
    const u32 differs = seen[i] ^ expected[i % period];
    if (differs == 0) continue;
    ++wrong;
    bits |= differs;
    if (i < least) least = i;
  }
  if (wrong == 0) return;
  atomicAdd(&result[0], wrong);
  atomicMin(&result[1], least);
  atomicOr(&result[2], bits);
}
