// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLASLt that muster calls. Products take the time of the scenario's hardware,
// and only their first column is computed. It is stricter than the real library.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/fakes/cuda/state.hpp"
#include "tests/fakes/numbers.hpp"

namespace fake = muster::fakes::gpu;
namespace cublas = muster::bench::cublas;

namespace {

struct Blas {
  int gpu = 0;
};

struct Operation {
  int compute = 0, scale = 0;
  bool transposed = false;
};

struct Layout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t stride = 0;
};

struct Preference {
  std::uint64_t workspace = 0;
};

template <class Handle, class State>
fake::Table<Handle, State>& table() {
  static fake::Table<Handle, State> all;
  return all;
}

constexpr auto handles = table<cublas::Handle, Blas>;
constexpr auto operations = table<cublas::Operation, Operation>;
constexpr auto layouts = table<cublas::Layout, Layout>;
constexpr auto preferences = table<cublas::Preference, Preference>;

std::size_t width_of(int type) {
  if (type == cublas::kFp64) return 8;
  return type == cublas::kFp32 ? 4 : type == cublas::kFp8 ? 1 : 2;
}

const muster::fakes::SmallFormat& small_format(int type) {
  if (type == cublas::kFp8) return muster::fakes::kFloat8e4m3;
  return type == cublas::kBf16 ? muster::fakes::kBfloat16 : muster::fakes::kHalf;
}

template <class Number>
Number read(const void* memory, std::uint64_t index) {
  Number number{};
  std::memcpy(&number, static_cast<const char*>(memory) + index * sizeof number, sizeof number);
  return number;
}

double number_at(int type, const void* memory, std::uint64_t index) {
  if (type == cublas::kFp64) return read<double>(memory, index);
  if (type == cublas::kFp32) return static_cast<double>(read<float>(memory, index));
  const std::uint32_t code =
      type == cublas::kFp8 ? read<std::uint8_t>(memory, index) : read<std::uint16_t>(memory, index);
  return small_format(type).number(code);
}

void append(std::vector<unsigned char>& bytes, int type, double number) {
  const auto add = [&](const auto& value) {
    const auto at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  if (type == cublas::kFp64) return add(number);
  if (type == cublas::kFp32) return add(static_cast<float>(number));
  add(static_cast<std::uint16_t>(small_format(type).code(number)));
}

// The products that the library supports, by their names in profiles.
struct Known {
  std::string_view name;
  int in, out, compute, scale;
};

constexpr std::array kKnown{
    Known{"bf16", cublas::kBf16, cublas::kBf16, cublas::kComputeFp32, cublas::kFp32},
    Known{"fp16", cublas::kFp16, cublas::kFp16, cublas::kComputeFp32, cublas::kFp32},
    Known{"fp8", cublas::kFp8, cublas::kBf16, cublas::kComputeFp32, cublas::kFp32},
    Known{"tf32", cublas::kFp32, cublas::kFp32, cublas::kComputeTf32, cublas::kFp32},
    Known{"fp32", cublas::kFp32, cublas::kFp32, cublas::kComputeFp32, cublas::kFp32},
    Known{"fp64", cublas::kFp64, cublas::kFp64, cublas::kComputeFp64, cublas::kFp64}};

// Empty if the library does not support the product.
std::string_view name_of(const Operation& operation, int in, int out) {
  const auto* const found = std::ranges::find_if(kKnown, [&](const Known& known) {
    return known.in == in && known.out == out && known.compute == operation.compute &&
           known.scale == operation.scale && operation.transposed;
  });
  return found == kKnown.end() ? std::string_view() : found->name;
}

double tflops_of(int gpu, std::string_view name) {
  const auto& node = fake::scenario().node;
  return fake::number_for(node.gemm, std::string(name), 0) *
         fake::number_for(node.gemm_share, std::to_string(gpu), 1);
}

// The speed of each algorithm; the library's first suggestion is not the best.
constexpr std::array<double, 3> kShares{0.9, 1.0, 0.7};

struct Product {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  std::uint64_t rows = 0, columns = 0, depth = 0;
  int in = 0, out = 0;
};

void flip(int gpu, std::uint64_t launch, const Product& product) {
  const auto& flip = fake::scenario().node.gemm_flip;
  if (!flip || !flip->is(gpu, launch)) return;
  static_cast<unsigned char*>(product.d)[flip->index] ^=
      static_cast<unsigned char>(1U << flip->bit);
}

std::string beginning_of(const void* memory) {
  constexpr std::size_t kEnough = 64;
  return {static_cast<const char*>(memory), kEnough};
}

// Computed once for matrices with the same beginning.
const std::vector<unsigned char>& first_column(const Product& product) {
  using Key = std::tuple<int, int, std::uint64_t, std::uint64_t, std::string, std::string>;
  static std::map<Key, std::vector<unsigned char>> known;
  auto& column = known[{product.in, product.out, product.rows, product.depth,
                        beginning_of(product.a), beginning_of(product.b)}];
  if (!column.empty()) return column;
  for (std::uint64_t row = 0; row < product.rows; ++row) {
    double sum = 0;
    for (std::uint64_t k = 0; k < product.depth; ++k) {
      sum += number_at(product.in, product.a, row * product.depth + k) *
             number_at(product.in, product.b, k);
    }
    append(column, product.out, sum);
  }
  return column;
}

void compute(int gpu, const Product& product) {
  static std::map<int, std::uint64_t> launches;
  const auto launch = ++launches[gpu];
  const auto& lost = fake::scenario().node.lost_gemm;
  if (lost && lost->is(gpu, launch)) return;
  const auto& column = first_column(product);
  std::memcpy(product.d, column.data(), column.size());
  flip(gpu, launch, product);
  fake::written(product.d, product.rows * product.columns * width_of(product.out), column.size());
}

}  // namespace

FAKE_CALL int cublasLtCreate(cublas::Handle* handle) {
  FAKE_BEGIN("cublasLtCreate")
  if (handle == nullptr) return cublas::kInvalidValue;
  if (fake::current_gpu() < 0) return cublas::kNotInitialised;
  *handle = handles().add({.gpu = fake::current_gpu()});
  return cublas::kSuccess;
}

FAKE_CALL int cublasLtDestroy(cublas::Handle handle) {
  FAKE_BEGIN("cublasLtDestroy")
  return handles().drop(handle) ? cublas::kSuccess : cublas::kInvalidValue;
}

FAKE_CALL const char* cublasLtGetStatusString(int code) {
  return code == cublas::kNotSupported ? "the requested functionality is not supported"
                                       : "an error of the fake";
}

FAKE_CALL int cublasLtMatmulDescCreate(cublas::Operation* operation, int compute, int scale) {
  FAKE_BEGIN("cublasLtMatmulDescCreate")
  if (operation == nullptr) return cublas::kInvalidValue;
  *operation = operations().add({.compute = compute, .scale = scale});
  return cublas::kSuccess;
}

FAKE_CALL int cublasLtMatmulDescSetAttribute(cublas::Operation operation, int attribute,
                                             const void* value, std::size_t bytes) {
  FAKE_BEGIN("cublasLtMatmulDescSetAttribute")
  auto* state = operations().find(operation);
  if (state == nullptr || attribute != cublas::kTransposeFirst || bytes != sizeof(int)) {
    return cublas::kInvalidValue;
  }
  int transposed = 0;
  std::memcpy(&transposed, value, sizeof transposed);
  state->transposed = transposed == cublas::kTransposed;
  return cublas::kSuccess;
}

FAKE_CALL int cublasLtMatmulDescDestroy(cublas::Operation operation) {
  FAKE_BEGIN("cublasLtMatmulDescDestroy")
  return operations().drop(operation) ? cublas::kSuccess : cublas::kInvalidValue;
}

FAKE_CALL int cublasLtMatrixLayoutCreate(cublas::Layout* layout, int type, std::uint64_t rows,
                                         std::uint64_t columns, std::int64_t stride) {
  FAKE_BEGIN("cublasLtMatrixLayoutCreate")
  if (layout == nullptr || rows == 0 || columns == 0) return cublas::kInvalidValue;
  *layout = layouts().add({.type = type, .rows = rows, .columns = columns, .stride = stride});
  return cublas::kSuccess;
}

FAKE_CALL int cublasLtMatrixLayoutDestroy(cublas::Layout layout) {
  FAKE_BEGIN("cublasLtMatrixLayoutDestroy")
  return layouts().drop(layout) ? cublas::kSuccess : cublas::kInvalidValue;
}

FAKE_CALL int cublasLtMatmulPreferenceCreate(cublas::Preference* preference) {
  FAKE_BEGIN("cublasLtMatmulPreferenceCreate")
  if (preference == nullptr) return cublas::kInvalidValue;
  *preference = preferences().add({});
  return cublas::kSuccess;
}

FAKE_CALL int cublasLtMatmulPreferenceSetAttribute(cublas::Preference preference, int attribute,
                                                   const void* value, std::size_t bytes) {
  FAKE_BEGIN("cublasLtMatmulPreferenceSetAttribute")
  auto* state = preferences().find(preference);
  if (state == nullptr || attribute != cublas::kMaxWorkspace || bytes != sizeof state->workspace) {
    return cublas::kInvalidValue;
  }
  std::memcpy(&state->workspace, value, sizeof state->workspace);
  return cublas::kSuccess;
}

FAKE_CALL int cublasLtMatmulPreferenceDestroy(cublas::Preference preference) {
  FAKE_BEGIN("cublasLtMatmulPreferenceDestroy")
  return preferences().drop(preference) ? cublas::kSuccess : cublas::kInvalidValue;
}

FAKE_CALL int cublasLtMatmulAlgoGetHeuristic(cublas::Handle handle, cublas::Operation operation,
                                             cublas::Layout first, cublas::Layout second,
                                             cublas::Layout third, cublas::Layout to,
                                             cublas::Preference preference, int most,
                                             cublas::Choice* choices, int* count) {
  FAKE_BEGIN("cublasLtMatmulAlgoGetHeuristic")
  const auto* blas = handles().find(handle);
  const auto* what = operations().find(operation);
  const auto* a = layouts().find(first);
  const auto* b = layouts().find(second);
  const auto* c = layouts().find(third);
  const auto* d = layouts().find(to);
  const auto* wish = preferences().find(preference);
  if (blas == nullptr || what == nullptr || a == nullptr || b == nullptr || c == nullptr ||
      d == nullptr || wish == nullptr || most < 1 || a->type != b->type || c->type != d->type) {
    return cublas::kInvalidValue;
  }
  *count = 0;
  const auto name = name_of(*what, a->type, d->type);
  if (name.empty() || tflops_of(blas->gpu, name) <= 0) return cublas::kNotSupported;
  for (std::size_t i = 0; i < kShares.size() && *count < most; ++i) {
    choices[*count] = {.algorithm = {{i + 1}},
                       .workspace = std::min<std::uint64_t>(wish->workspace, i << 20U),
                       .state = cublas::kSuccess,
                       .waves = 1,
                       .reserved = {}};
    ++*count;
  }
  return cublas::kSuccess;
}

FAKE_CALL int cublasLtMatmul(cublas::Handle handle, cublas::Operation operation, const void* alpha,
                             const void* a, cublas::Layout first, const void* b,
                             cublas::Layout second, const void* beta, const void* c,
                             cublas::Layout third, void* d, cublas::Layout to,
                             const cublas::Algorithm* algorithm, void* workspace,
                             std::size_t workspace_bytes, muster::bench::cuda::Stream stream) {
  FAKE_BEGIN("cublasLtMatmul")
  const auto* blas = handles().find(handle);
  const auto* what = operations().find(operation);
  const auto* left = layouts().find(first);
  const auto* right = layouts().find(second);
  const auto* out = layouts().find(to);
  if (blas == nullptr || blas->gpu != fake::current_gpu() || what == nullptr || left == nullptr ||
      right == nullptr || out == nullptr || layouts().find(third) != out || c != d ||
      left->type != right->type) {
    return cublas::kInvalidValue;
  }
  const auto packed = [](const Layout& layout) {
    return layout.stride == static_cast<std::int64_t>(layout.rows);
  };
  const bool fits = right->rows == left->rows && out->rows == left->columns &&
                    out->columns == right->columns && packed(*left) && packed(*right) &&
                    packed(*out);
  const auto index = algorithm == nullptr ? 0 : algorithm->data[0];
  if (!fits || !what->transposed || index < 1 || index > kShares.size() ||
      number_at(what->scale, alpha, 0) != 1 || number_at(what->scale, beta, 0) != 0) {
    return cublas::kInvalidValue;
  }
  const Product product{.a = a,
                        .b = b,
                        .d = d,
                        .rows = out->rows,
                        .columns = out->columns,
                        .depth = left->rows,
                        .in = left->type,
                        .out = out->type};
  const auto bytes_of = [](const Layout& layout) {
    return layout.rows * layout.columns * width_of(layout.type);
  };
  if (fake::reach(a) < bytes_of(*left) || fake::reach(b) < bytes_of(*right) ||
      fake::reach(d) < bytes_of(*out) || fake::reach(workspace) < workspace_bytes) {
    return cublas::kInvalidValue;
  }
  if (index == fake::scenario().node.refused_algorithm) return cublas::kNotSupported;
  const double tflops = tflops_of(blas->gpu, name_of(*what, left->type, out->type));
  const auto operations =
      2 * static_cast<double>(product.rows) * static_cast<double>(product.columns * product.depth);
  const double seconds = operations / (tflops * 1e12 * kShares.at(index - 1));
  return fake::put(stream, [=, gpu = blas->gpu]() -> fake::Step {
    return [=](fake::Time& now) {
      compute(gpu, product);
      now += fake::time_of(fake::work_for(gpu, seconds));
      return true;
    };
  });
}
