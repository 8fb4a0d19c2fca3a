// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "bench/backends/nccl/binding.hpp"
#include "bench/backends/nccl/communicator.hpp"
#include "bench/backends/nccl/gpu.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/backends/nccl/stream_timing.hpp"
#include "bench/collectives/definition.hpp"
#include "lib/base/quantity.hpp"

namespace muster::bench {
namespace {

constexpr int kSendSince = 2700;        // 2.7.0
constexpr int kBfloat16Since = 21000;   // 2.10.0
constexpr int kFloat8Since = 22400;     // 2.24.0; on GPUs from H100 on
constexpr int kAverageSince = 21000;    // 2.10.0
constexpr int kDiagnosisSince = 23100;  // 2.31.0
constexpr int kGraphsSince = 20900;     // 2.9.0

// NCCL needs its own memory for connections, which the first operation makes: with many ranks and
// channels, gigabytes.
std::uint64_t left_to_nccl(std::uint64_t memory) {
  constexpr std::uint64_t kGib = 1UL << 30;
  return std::clamp(memory / 16, kGib, 5 * kGib);
}

constexpr std::uint64_t kMinBuffer = sizeof(double);  // at least, in each buffer

// Bytes of the two buffers; in place, only the second is used.
struct BufferSizes {
  std::uint64_t send = 0;
  std::uint64_t receive = 0;
};

BufferSizes bytes_of(const Operation& operation, const Shape& shape) {
  const auto width = size_of(operation.type);
  if (!operation.in_place) return {.send = shape.send * width, .receive = shape.receive * width};
  const auto end = std::max(shape.send_at + shape.send, shape.receive_at + shape.receive);
  return {.send = 0, .receive = end * width};
}

class NcclBackend final : public Backend, public StreamedOperation {
 public:
  NcclBackend(NcclOptions options, cuda::Library cuda, nccl::Library nccl, Ordinal ordinal)
      : options_(std::move(options)),
        cuda_(std::move(cuda)),
        nccl_(std::move(nccl)),
        ordinal_(std::move(ordinal)) {}

  NcclBackend(const NcclBackend&) = delete;
  NcclBackend& operator=(const NcclBackend&) = delete;

  ~NcclBackend() override {
    communicator_.reset();  // uses the memory
    replay_nccl_log();
  }

  [[nodiscard]] Result<void> begin() {
    TRY(named(call(nccl_, nccl_.version, &version_)));
    if (options_.registered &&
        (nccl_.memory_take.call == nullptr || nccl_.register_memory.call == nullptr)) {
      return lacks("registered memory: needs 2.19");
    }
    if (options_.diagnose && version_ < kDiagnosisSince) {
      return make_error("--diagnose: NCCL {} is too old: needs 2.31", nccl_version_text(version_));
    }
    if (options_.bind) TRY(named(bind()));
    TRY_ASSIGN(gpu_, named(Gpu::open(cuda_, ordinal_.ordinal)));
    memory_.emplace(*gpu_, nccl_, options_.registered);
    if (ordinal_.device_id.empty()) ordinal_.device_id = gpu_->pci_address();
    return meet();
  }

  [[nodiscard]] std::string library() const override {
    return fmt::format("NCCL {}", nccl_version_text(version_));
  }

  [[nodiscard]] int ranks() const override { return options_.ranks; }

  [[nodiscard]] std::vector<Member> members() const override {
    return {{.rank = options_.rank,
             .host = options_.host,
             .pid = ::getpid(),
             .device = gpu_->name(),
             .device_id = ordinal_.device_id,
             .pci_address = gpu_->pci_address()}};
  }

  // Includes the buffers, which would be freed for larger ones.
  [[nodiscard]] std::optional<std::uint64_t> memory_free() const override {
    const auto free = gpu_->memory_free();
    if (!free) return std::nullopt;
    const auto all = *free + memory_->send().bytes + memory_->receive().bytes;
    return all - std::min(all, left_to_nccl(all));
  }

  [[nodiscard]] std::vector<std::string> remarks() const override {
    std::vector<std::string> all{binding_, nccl_log_remark()};
    std::erase(all, "");
    return all;
  }

  [[nodiscard]] std::optional<std::vector<std::string>> diagnosis() const override {
    return diagnosis_;
  }

  [[nodiscard]] Result<bool> renew() override {
    return meet().map([] { return true; });
  }

  [[nodiscard]] Result<void> supports(const Operation& operation, const Pace& pace) const override {
    const auto collective = to_string(operation.collective);
    if (operation.root < 0 || operation.root >= options_.ranks) {
      return make_error("invalid root {} of {} ranks", operation.root, options_.ranks);
    }
    if (operation.type == Type::bf16 && version_ < kBfloat16Since) return lacks("bf16");
    const bool eight_bits = operation.type == Type::f8e4m3 || operation.type == Type::f8e5m2;
    if (eight_bits && version_ < kFloat8Since) return lacks(to_string(operation.type));
    if (reduces(operation.collective) && operation.reduction == Reduction::avg &&
        version_ < kAverageSince) {
      return lacks("average");
    }
    const auto& definition = definition_of(operation.collective);
    const auto& use = definition.nccl;
    if (use.by == NcclUse::By::nothing) return lacks(collective);
    if (use.by != NcclUse::By::function &&
        (version_ < kSendSince || nccl_.send.call == nullptr || nccl_.receive.call == nullptr)) {
      return lacks(fmt::format("sends and receives, which {} needs", collective));
    }
    // Received data would overwrite data that are still being sent.
    if (operation.in_place && definition.exchanges)
      return lacks(fmt::format("{} in place", collective));
    if (use.by == NcclUse::By::groups && pace.together > 1) {
      return make_error("--together: {} consists of groups that depend on each other", collective);
    }
    return pace.graph ? supports_graphs() : Result<void>{};
  }

  [[nodiscard]] Result<void> reserve(const Operation& largest) override {
    return named(grow_for(largest));
  }

  [[nodiscard]] Result<Batch> measure(const Operation& operation, const Pace& pace,
                                      Progress& progress) override {
    TRY(supports(operation, pace));
    return named(measured(operation, pace, progress));
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation, const Pace& pace,
                                                  Progress& progress) override {
    TRY(supports(operation, pace));
    return named(verified(operation, pace, progress));
  }

  [[nodiscard]] Result<void> account_for(const Operation& operation) override {
    return named(logged(operation));
  }

  [[nodiscard]] std::string log() const override { return nccl_log(); }

  void abort() noexcept override { communicator()->abort(); }

  [[nodiscard]] StreamedOperation* streamed() override { return this; }

  [[nodiscard]] Result<void> choose(const Operation& operation) override {
    TRY(supports(operation, {}));
    TRY_ASSIGN(chosen_, named(prepare(operation)));
    return named(fill(*chosen_));
  }

  [[nodiscard]] Result<void> start() override { return once(*chosen_, {}); }

  [[nodiscard]] Result<void> healthy() override { return communicator_->healthy(); }

  [[nodiscard]] Result<std::vector<Wrong>> wrong() override {
    TRY_ASSIGN(auto wrong, named(wrong_elements(*chosen_)));
    Progress progress;
    TRY_ASSIGN(
        const auto at_last,
        named(run_once(*chosen_, {}, progress).and_then([&] { return wrong_elements(*chosen_); })));
    return wrong.empty() ? at_last : wrong;
  }

  [[nodiscard]] Gpu& gpu() override { return *gpu_; }

  [[nodiscard]] int ordinal() const override { return ordinal_.ordinal; }

  [[nodiscard]] const cuda::Library& cuda() const override { return cuda_; }

 private:
  // Called before the context is made, so that the driver's host memory is local too.
  [[nodiscard]] Result<void> bind() {
    TRY_ASSIGN(const auto address, pci_address_of(cuda_, ordinal_.ordinal));
    TRY_ASSIGN(const auto root,
               options_.root.empty() ? Result<Root>(Root()) : Root::below(options_.root));
    binding_ = bind_to_gpu(address, root);
    return {};
  }

  // Makes a new communicator with all ranks.
  [[nodiscard]] Result<void> meet() {
    auto made = std::make_shared<Communicator>(nccl_, options_.rank, options_.ranks);
    {
      const std::lock_guard lock(guard_);
      std::swap(made, communicator_);
    }
    made.reset();  // leaves the last one
    unformed_.reset();
    std::string id;
    if (options_.rank == 0) {
      TRY_ASSIGN(id, named(communicator_->make_id()));
    }
    TRY_ASSIGN(auto shared, options_.broadcast(id));
    const auto& limit = options_.forming_limit;
    std::optional<DiagnosisReader> reader;
    if (options_.diagnose) reader.emplace();
    auto joined = communicator_->join(shared, limit);
    if (reader) diagnosis_ = reader->read();
    if (joined) return named(memory_->register_with(*communicator_));
    if (!limit) return named(joined);
    unformed_ = joined.error();
    return {};
  }

  // For the thread that aborts while this one makes another communicator.
  [[nodiscard]] std::shared_ptr<Communicator> communicator() {
    const std::lock_guard lock(guard_);
    return communicator_;
  }

  [[nodiscard]] tl::unexpected<Error> lacks(std::string_view what) const {
    return make_error("NCCL {} has no {}", nccl_version_text(version_), what);
  }

  [[nodiscard]] Result<void> supports_graphs() const {
    if (version_ < kGraphsSince) return lacks("support of CUDA graphs");
    if (cuda_.capture_begin.call == nullptr || cuda_.capture_end.call == nullptr ||
        cuda_.graph_instantiate.call == nullptr || cuda_.graph_launch.call == nullptr ||
        cuda_.graph_destroy.call == nullptr || cuda_.graph_run_destroy.call == nullptr) {
      return make_error("the CUDA driver is older than CUDA 11.4 and has no graphs");
    }
    return {};
  }

  [[nodiscard]] Result<void> grow_for(const Operation& largest) {
    TRY(gpu_->use());
    communicator_->release_memory();
    auto in_place = largest;
    in_place.in_place = true;
    const auto shape = shape_of(largest, options_.rank, options_.ranks);
    const auto [send, receive] = bytes_of(largest, shape);
    TRY(memory_->reserve(std::max(send, kMinBuffer),
                         std::max({receive, bytes_of(in_place, shape).receive, kMinBuffer})));
    return unformed_ ? Result<void>() : memory_->register_with(*communicator_);
  }

  [[nodiscard]] Result<Batch> measured(const Operation& operation, const Pace& pace,
                                       Progress& progress) {
    TRY_ASSIGN(const auto run, prepare(operation));
    auto batch = time_and_verify(run, pace, progress);
    gpu_->drop_graph();
    return batch;
  }

  [[nodiscard]] Result<Batch> time_and_verify(const OperationRun& run, const Pace& pace,
                                              Progress& progress) {
    TRY_ASSIGN(auto samples, time(run, pace, progress));
    for (auto& each : samples.seconds) each /= pace.together;
    for (auto& each : samples.cpu_seconds) each /= pace.together;
    samples.rank = options_.rank;
    std::vector<Wrong> wrong;
    if (is_repeatable(run.operation)) {
      TRY_ASSIGN(wrong, wrong_elements(run));
    }
    TRY(fill(run));
    // Not as a group: an earlier operation of it would hide what the last one did not write.
    TRY(once(run, {.graph = pace.graph && pace.together == 1}, progress));
    TRY_ASSIGN(const auto at_last, wrong_elements(run));
    if (wrong.empty()) wrong = at_last;
    return Batch{.samples = {std::move(samples)}, .wrong = std::move(wrong)};
  }

  [[nodiscard]] Result<Samples> time(const OperationRun& run, const Pace& pace,
                                     Progress& progress) {
    TRY(fill(run));
    progress.reset();
    // The first operation makes connections, which must not be part of a graph.
    const int warm_up = pace.graph ? std::max(1, pace.warm_up) : pace.warm_up;
    for (int i = 0; i < warm_up; ++i) TRY(once(run, {}, progress));
    if (pace.graph) {
      TRY(capture(run, pace.together));
      TRY(gpu_->launch_graph());  // the first launch uploads the graph
      TRY(wait());
    }
    return time_on_stream(
        {.gpu = *gpu_, .enqueue = [&] { return once(run, pace); }, .healthy = watch()}, pace,
        progress);
  }

  [[nodiscard]] Result<std::vector<Wrong>> verified(const Operation& operation, const Pace& pace,
                                                    Progress& progress) {
    TRY_ASSIGN(const auto run, prepare(operation));
    progress.reset();
    return run_once(run, pace, progress).and_then([&] { return wrong_elements(run); });
  }

  // NCCL before 2.24 cannot change what it logs: then the algorithm stays unknown.
  [[nodiscard]] Result<void> logged(const Operation& operation) {
    const auto& reset = nccl_.reset_debug;
    if (reset.call == nullptr || !log_nccl_operations(true)) return {};
    TRY_ASSIGN(const auto run, prepare(operation));
    reset.call();
    TRY(once(run, {}));
    TRY(wait());
    static_cast<void>(log_nccl_operations(false));  // timed operations log nothing
    reset.call();
    return {};
  }

  [[nodiscard]] Result<OperationRun> prepare(const Operation& operation) {
    if (unformed_) return tl::unexpected(*unformed_);
    TRY(gpu_->use());
    OperationRun run{.operation = operation,
                     .shape = shape_of(operation, options_.rank, options_.ranks),
                     .expected = expected_of(operation, options_.rank, options_.ranks)};
    const auto bytes = bytes_of(operation, run.shape);
    const auto& send = memory_->send();
    const auto& receive = memory_->receive();
    if (bytes.send > send.bytes || bytes.receive > receive.bytes) {
      return make_error("{} needs buffers of {} and {} B, but {} and {} B are reserved",
                        to_string(operation.collective), bytes.send, bytes.receive, send.bytes,
                        receive.bytes);
    }
    const auto width = size_of(operation.type);
    run.receive = receive.begin + run.shape.receive_at * width;
    run.send = operation.in_place ? receive.begin + run.shape.send_at * width : send.begin;
    return run;
  }

  // Makes every element of the receive buffer wrong, then fills the send buffer.
  [[nodiscard]] Result<void> fill(const OperationRun& run) {
    const auto width = size_of(run.operation.type);
    for (const auto& segment : run.expected) {
      TRY(gpu_->fill(run.receive + segment.first * width, segment.count, width,
                     poison_of(segment, width)));
      TRY(wait());
    }
    TRY(gpu_->fill(run.send, run.shape.send, width,
                   input_of(run.operation, options_.rank, options_.ranks)));
    return wait();
  }

  [[nodiscard]] Result<void> once(const OperationRun& run, const Pace& pace) {
    if (pace.graph) return gpu_->launch_graph();
    return communicator_->enqueue(run, gpu_->stream(), pace.together);
  }

  // Also waits for it and counts it.
  [[nodiscard]] Result<void> once(const OperationRun& run, const Pace& pace, Progress& progress) {
    TRY(gpu_->mark(0));
    TRY(once(run, pace));
    return wait_counted(*gpu_, watch(), progress);
  }

  [[nodiscard]] Result<void> capture(const OperationRun& run, int together = 1) {
    return gpu_->capture([&] { return once(run, {.together = together}); });
  }

  // Uses fresh data.
  [[nodiscard]] Result<void> run_once(const OperationRun& run, const Pace& pace,
                                      Progress& progress) {
    TRY(fill(run));
    if (pace.graph) {
      TRY(once(run, {}));  // makes the connections
      TRY(wait());
      TRY(capture(run));
      TRY(fill(run));
    }
    const auto done = once(run, {.graph = pace.graph}, progress);
    gpu_->drop_graph();
    return done;
  }

  [[nodiscard]] Result<std::vector<Wrong>> wrong_elements(const OperationRun& run) {
    Wrong wrong{.rank = options_.rank};
    for (const auto& segment : run.expected) {
      TRY(gpu_->verify(run.receive, size_of(run.operation.type), segment, wrong, watch()));
    }
    return wrong.elements == 0 ? std::vector<Wrong>{} : std::vector{wrong};
  }

  [[nodiscard]] Gpu::Watch watch() {
    return [this] { return communicator_->healthy(); };
  }

  [[nodiscard]] Result<void> wait() { return gpu_->wait(watch()); }

  // Prefixes an error with the device; callers add rank and node.
  template <class T>
  [[nodiscard]] Result<T> named(Result<T> result) const {
    if (!result && !ordinal_.device_id.empty()) {
      result.error().message = fmt::format("{}: {}", ordinal_.device_id, result.error().message);
    }
    return result;
  }

  NcclOptions options_;
  cuda::Library cuda_;
  nccl::Library nccl_;
  Ordinal ordinal_;
  int version_ = 0;
  std::string binding_;  // a remark on it
  std::unique_ptr<Gpu> gpu_;
  std::mutex guard_;
  std::shared_ptr<Communicator> communicator_;
  std::optional<std::vector<std::string>> diagnosis_;
  std::optional<Error> unformed_;       // why the communicator did not form
  std::optional<BufferMemory> memory_;  // set by begin()
  std::optional<OperationRun> chosen_;  // as a StreamedOperation
};

}  // namespace

std::string nccl_version_text(int version) {
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int rest = version >= 10000 ? version % 10000 : version % 1000;
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

Result<std::unique_ptr<Backend>> make_nccl_backend(NcclOptions options) {
  keep_nccl_log();
  if (options.diagnose) request_diagnosis();
  if (options.rank == 0) choose_ras_address();
  TRY_ASSIGN(auto cuda, cuda::open_library(options.cuda));
  TRY_ASSIGN(auto nccl, nccl::open_library(options.nccl));
  TRY(call(cuda, cuda.init, 0));
  int gpus = 0;
  TRY(call(cuda, cuda.device_count, &gpus));
  TRY_ASSIGN(auto ordinal,
             choose_gpu(options.rank, options.local_rank, gpus, variable("CUDA_VISIBLE_DEVICES")));
  auto backend = std::make_unique<NcclBackend>(std::move(options), std::move(cuda), std::move(nccl),
                                               std::move(ordinal));
  TRY(backend->begin());
  return backend;
}

}  // namespace muster::bench
