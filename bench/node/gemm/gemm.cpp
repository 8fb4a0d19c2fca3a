// SPDX-License-Identifier: Apache-2.0
// gpu.gemm: the speed of matrix products on each GPU, in each number type that it supports.
#include "bench/node/gemm/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "bench/backends/nccl/library.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr std::uint64_t kWorkspace = 32UL << 20U;
constexpr std::uint64_t kTable = 1UL << 20U;   // a matrix repeats this many numbers
constexpr std::uint64_t kSecond = 1UL << 40U;  // the first number of the second matrix
constexpr std::uint64_t kComputed = 64;        // numbers that the host computes as well
constexpr std::uint64_t kSlowSize = 4096;

constexpr std::array kKinds{
    GemmKind{.name = "bf16", .in = Type::bf16, .out = Type::bf16},
    GemmKind{.name = "fp16", .in = Type::f16, .out = Type::f16},
    GemmKind{.name = "fp8", .in = Type::f8e4m3, .out = Type::bf16, .tolerance = 0.1},
    GemmKind{.name = "tf32", .compute = cublas::kComputeTf32},
    GemmKind{.name = "fp32", .size = kSlowSize},
    GemmKind{.name = "fp64",
             .in = Type::f64,
             .out = Type::f64,
             .compute = cublas::kComputeFp64,
             .scale = cublas::kFp64,
             .size = kSlowSize},
};

// The number of a type in cuBLAS.
int type_of(Type type) {
  for (const auto& [known, number] :
       {std::pair(Type::f64, cublas::kFp64), std::pair(Type::bf16, cublas::kBf16),
        std::pair(Type::f16, cublas::kFp16), std::pair(Type::f8e4m3, cublas::kFp8)}) {
    if (type == known) return number;
  }
  return cublas::kFp32;
}

// Returns the bytes of `count` numbers from `first` on.
std::vector<unsigned char> varied_numbers(Type type, std::uint64_t first, std::uint64_t count) {
  std::vector<unsigned char> bytes(count * size_of(type));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = varied_number(type, first + i);
    std::memcpy(bytes.data() + i * size_of(type), &number, size_of(type));
  }
  return bytes;
}

void* as_memory(cuda::Pointer address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): CUDA's are numbers
}

}  // namespace

std::uint64_t varied_number(Type type, std::uint64_t i) {
  const auto format = format_of(type);
  auto random = (i + 1) * 0x9e3779b97f4a7c15U;
  random ^= random >> 29U;
  random *= 0xbf58476d1ce4e5b9U;
  const auto fraction = (random >> (64U - format.fraction_bits())) | 1U;
  const auto exponent = static_cast<std::uint64_t>(-format.least_exponent) + (random & 1U);
  const auto sign = random >> 1U & 1U;
  return sign << (format.bits - 1) | exponent << format.fraction_bits() | fraction;
}

std::span<const GemmKind> gemm_kinds() { return kKinds; }

std::uint64_t matrix_size(const GemmKind& kind, std::uint64_t bytes) {
  constexpr std::uint64_t kStep = 256;
  if (bytes == 0) return kind.size;
  const auto most = std::sqrt(static_cast<double>(bytes) / static_cast<double>(size_of(kind.in)));
  return std::clamp(static_cast<std::uint64_t>(most) / kStep * kStep, kStep, kind.size);
}

Result<std::unique_ptr<Gemm>> Gemm::prepare(NodeGpu& gpu, const cublas::Library& library,
                                            const GemmKind& kind, const GemmShape& shape) {
  TRY(gpu.gpu().use());
  // NOLINTNEXTLINE(modernize-make-unique): private
  std::unique_ptr<Gemm> made(new Gemm(gpu, library, kind, shape));
  TRY(made->describe());
  TRY(made->fill());
  TRY(made->choose());
  return made;
}

Gemm::~Gemm() {
  if (!gpu().gpu().use()) return;
  if (preference_ != nullptr) library_.preference_destroy.call(preference_);
  for (auto* layout : {out_, first_in_, second_in_}) {
    if (layout != nullptr) library_.layout_destroy.call(layout);
  }
  if (operation_ != nullptr) library_.operation_destroy.call(operation_);
  if (handle_ != nullptr) library_.destroy.call(handle_);
}

// The first matrix is stored by rows and the second by columns, a layout that all types support.
Result<void> Gemm::describe() {
  TRY(call(library_, library_.create, &handle_));
  TRY(call(library_, library_.operation_create, &operation_, kind_.compute, kind_.scale));
  const int transposed = cublas::kTransposed;
  TRY(call(library_, library_.operation_set, operation_, cublas::kTransposeFirst, &transposed,
           sizeof transposed));
  const auto& [rows, columns, depth] = shape_;
  const auto stride = static_cast<std::int64_t>(depth);
  const int in = type_of(kind_.in);
  TRY(call(library_, library_.layout_create, &first_in_, in, depth, rows, stride));
  TRY(call(library_, library_.layout_create, &second_in_, in, depth, columns, stride));
  TRY(call(library_, library_.layout_create, &out_, type_of(kind_.out), rows, columns,
           static_cast<std::int64_t>(rows)));
  TRY(call(library_, library_.preference_create, &preference_));
  return call(library_, library_.preference_set, preference_, cublas::kMaxWorkspace, &kWorkspace,
              sizeof kWorkspace);
}

Result<cuda::Pointer> Gemm::matrix_of(std::uint64_t first, std::uint64_t count) {
  const auto bytes = count * size_of(kind_.in);
  TRY_ASSIGN(const auto memory, gpu().allocate(bytes));
  numbers_ = varied_numbers(kind_.in, first, std::min(kTable, count));
  for (std::uint64_t at = 0; at < bytes; at += numbers_.size()) {
    TRY(call(gpu().library(), gpu().library().copy_in, memory + at, numbers_.data(),
             std::min(numbers_.size(), bytes - at), gpu().gpu().stream()));
  }
  TRY(gpu().wait());
  return memory;
}

Result<void> Gemm::fill() {
  const auto bytes = out_bytes();
  TRY_ASSIGN(a_, matrix_of(0, shape_.rows * shape_.depth));
  TRY_ASSIGN(b_, matrix_of(kSecond, shape_.columns * shape_.depth));
  TRY(gpu().allocate({&first_, &last_}, bytes));
  TRY(gpu().gpu().poison(first_, bytes));
  TRY(gpu().gpu().poison(last_, bytes));
  TRY_ASSIGN(workspace_, gpu().allocate(kWorkspace));
  return gpu().wait();
}

Result<void> Gemm::multiply(const Algorithm& algorithm, cuda::Pointer to) {
  // cuBLAS reads them as the type of `scale`.
  const std::array<double, 2> wide{1, 0};
  const std::array<float, 2> narrow{1, 0};
  const bool is_wide = kind_.scale == cublas::kFp64;
  const void* const one = is_wide ? static_cast<const void*>(wide.data()) : narrow.data();
  const void* const zero = is_wide ? static_cast<const void*>(&wide[1]) : &narrow[1];
  return call(library_, library_.multiply, handle_, operation_, one, as_memory(a_), first_in_,
              as_memory(b_), second_in_, zero, as_memory(to), out_, as_memory(to), out_, &algorithm,
              as_memory(workspace_), kWorkspace, gpu().gpu().stream());
}

Result<void> Gemm::choose() {
  std::array<cublas::Choice, 8> choices{};
  int count = 0;
  const int code =
      library_.heuristic.call(handle_, operation_, first_in_, second_in_, out_, out_, preference_,
                              static_cast<int>(choices.size()), choices.data(), &count);
  if (code == cublas::kNotSupported || (code == cublas::kSuccess && count == 0)) {
    return make_missing("no products in {}", kind_.name);
  }
  if (code != cublas::kSuccess) {
    return tl::unexpected(trouble(library_, library_.heuristic.name, code));
  }
  double best = std::numeric_limits<double>::infinity();
  std::optional<Error> refused;
  for (const auto& choice : std::span(choices).first(static_cast<std::size_t>(count))) {
    if (choice.state != cublas::kSuccess || choice.workspace > kWorkspace) continue;
    const auto once = [&] { return multiply(choice.algorithm, first_); };
    const auto warmed_up = gpu().timed(once);
    const auto seconds = warmed_up ? gpu().timed(once) : warmed_up;
    if (!seconds && !refused) refused = seconds.error();
    if (!seconds || *seconds >= best) continue;
    best = *seconds;
    algorithm_ = choice.algorithm;
  }
  if (!std::isfinite(best) && refused) return tl::unexpected(*refused);
  if (!std::isfinite(best)) return make_missing("no products in {}", kind_.name);
  TRY(gpu().gpu().poison(first_, out_bytes()));
  return multiply(algorithm_, first_);
}

Result<void> Gemm::start() {
  for (int i = 0; i < repeats_; ++i) TRY(multiply(algorithm_, last_));
  return {};
}

Result<void> Gemm::adjust_to(double seconds) {
  constexpr double kMaxRepeats = 500;  // more would not fit into a stream
  TRY_ASSIGN(const auto one, gpu().timed([this] { return start(); }));
  repeats_ = static_cast<int>(std::clamp(seconds / one, 1.0, kMaxRepeats));
  return {};
}

Result<std::optional<std::string>> Gemm::wrong() {
  TRY_ASSIGN(auto last, wrong_in_last());
  TRY(gpu().gpu().poison(last_, out_bytes()));
  TRY(multiply(algorithm_, last_));
  TRY_ASSIGN(auto again, wrong_in_last());
  return last ? last : again;
}

Result<std::optional<std::string>> Gemm::wrong_in_last() {
  const auto words = out_bytes() / 4;
  TRY(gpu().clear_counts());
  TRY(gpu().compare(last_, first_, words, words));
  TRY_ASSIGN(const auto counts, gpu().counts());
  if (counts.wrong == 0) return wrong_number();
  return fmt::format(
      "{} 4-byte words of a product in {} differ from the same product before, the first in column "
      "{}; bits {:08x} differ",
      counts.wrong, kind_.name, counts.first * 4 / size_of(kind_.out) / shape_.rows, counts.bits);
}

void Gemm::compute_sums() {
  const auto depth = shape_.depth;
  const auto period = std::min(kTable, shape_.rows * depth);
  sums_.assign(kComputed, 0);
  for (std::uint64_t row = 0; row < kComputed; ++row) {
    for (std::uint64_t k = 0; k < depth; ++k) {
      sums_[row] += value_of(kind_.in, varied_number(kind_.in, (row * depth + k) % period)) *
                    value_of(kind_.in, varied_number(kind_.in, kSecond + k));
    }
  }
}

// Checks the beginning of the first column.
Result<std::optional<std::string>> Gemm::wrong_number() {
  numbers_.resize(kComputed * size_of(kind_.out));
  TRY(gpu().copy_to_host(numbers_.data(), last_, numbers_.size()));
  if (sums_.empty()) compute_sums();
  const double usual = std::sqrt(static_cast<double>(shape_.depth));
  for (std::uint64_t row = 0; row < kComputed; ++row) {
    const double sum = sums_[row];
    std::uint64_t bits = 0;
    std::memcpy(&bits, numbers_.data() + row * size_of(kind_.out), size_of(kind_.out));
    const double seen = value_of(kind_.out, bits);
    const double most = kind_.tolerance * usual + 0.01 * std::abs(sum);
    if (std::abs(seen - sum) <= most) continue;
    return fmt::format("a product in {} is wrong: row {}, column 0 is {:.6g}, expected {:.6g}",
                       kind_.name, row, seen, sum);
  }
  return std::nullopt;
}

namespace {

using Span = std::chrono::duration<double>;
constexpr double kLaunchSeconds = 0.02;  // that are timed at once

// TFLOPS of each launch.
Result<std::vector<double>> rates_of(GpuLoad& load, Span time) {
  constexpr std::size_t kMin = 5;
  constexpr std::size_t kMax = 500;
  std::vector<double> rates;
  const auto end = Clock::now() + time;
  while (rates.size() < kMin || (rates.size() < kMax && Clock::now() < end)) {
    TRY_ASSIGN(const auto seconds, load.gpu().timed([&] { return load.start(); }));
    rates.push_back(load.operations() / seconds / kTera);
  }
  return rates;
}

class GemmTest {
 public:
  GemmTest(const TestInput& input, NodeGpus& all, TestResult& result)
      : input_(input),
        all_(all),
        result_(result),
        share_(input.time / std::max(1.0, static_cast<double>(all.gpus.size()))) {}

  void run() {
    if (all_.gpus.empty()) return;
    const auto library = cublas::open_library(input_.cublas, all_.gpus.front()->library());
    if (!library) {
      result_.lines.push_back(fmt::format(
          "cuBLASLt is not available ({}): only muster's own kernel in fp32 is measured",
          printable(library.error().message)));
      return measure_own(share_);
    }
    // The type of the limit takes half of the time.
    const double parts = 2.0 * static_cast<double>(gemm_kinds().size());
    for (const auto& kind : gemm_kinds()) {
      measure(*library, kind, is_judged(kind) ? share_ / 2 : share_ / parts);
    }
    measure_own(share_ / parts);
  }

 private:
  [[nodiscard]] bool is_judged(const GemmKind& kind) const {
    return kind.name == input_.limit.type.value_or("bf16");
  }

  [[nodiscard]] static Series series_of(std::string what, std::string_view name) {
    return {.what = std::move(what),
            .quantity = fmt::format("gemm_{}", name),
            .unit = "TFLOPS",
            .tolerance = 0.05};
  }

  void measure(const cublas::Library& library, const GemmKind& kind, Span time) {
    auto series = series_of(fmt::format("products in {} by cuBLASLt", kind.name), kind.name);
    series.limited = is_judged(kind);
    const auto n = matrix_size(kind, input_.bytes);
    series.size_bytes = static_cast<std::int64_t>(n * n * size_of(kind.in));
    on_each(series, [&](NodeGpu& gpu) -> Result<void> {
      TRY_ASSIGN(auto gemm, Gemm::prepare(gpu, library, kind, {n, n, n}));
      return measure(*gemm, time, series);
    });
  }

  void measure_own(Span time) {
    auto series = series_of("products in fp32 by muster's own kernel", "f32_own");
    const auto known = make_known_product(0);
    on_each(series, [&](NodeGpu& gpu) -> Result<void> {
      ProductLoad load(gpu, known);
      TRY(load.prepare());
      return measure(load, time, series);
    });
  }

  // A GPU without the type of the products is left out.
  void on_each(Series& series, const std::function<Result<void>(NodeGpu&)>& work) {
    all_.on_each(result_, [&](NodeGpu& gpu) {
      auto done = work(gpu);
      gpu.release_all();
      return !done && done.error().missing ? Result<void>() : done;
    });
    result_.add(std::move(series));
  }

  [[nodiscard]] Result<void> measure(GpuLoad& load, Span time, Series& series) {
    TRY(load.adjust_to(kLaunchSeconds));
    TRY_ASSIGN(const auto rates, rates_of(load, time));
    TRY_ASSIGN(const auto wrong, load.wrong());
    if (wrong) result_.findings.push_back(broken(load.gpu().name(), *wrong));
    series.add(load.gpu().name(), rates);
    return {};
  }

  const TestInput& input_;
  NodeGpus& all_;
  TestResult& result_;
  Span share_;  // of one GPU
};

}  // namespace

Result<TestResult> run_gpu_gemm(const TestInput& input) {
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  GemmTest(input, all, result).run();
  return result;
}

}  // namespace muster::bench::node
