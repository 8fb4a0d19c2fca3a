// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "bench/backends/nccl/binding.hpp"
#include "bench/backends/nccl/buffer_memory.hpp"
#include "bench/backends/nccl/communicator.hpp"
#include "bench/backends/nccl/errors.hpp"
#include "bench/backends/nccl/gpu.hpp"
#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/backends/nccl/ras.hpp"
#include "bench/backends/nccl/stream_timing.hpp"
#include "bench/backends/nccl/streamed.hpp"
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

// The buffers of NCCL's connections, which are made with the first operation, come on top.
constexpr std::uint64_t kLeftToNccl = 1UL << 30;

// What a buffer is read from, and written to; in place both lie in the second.
struct Sizes {
  std::uint64_t send = 0;
  std::uint64_t receive = 0;
};

Sizes bytes_of(const Operation& operation, const Shape& shape) {
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
    communicator_.reset();  // before the memory that it uses
    if (options_.log) replay_nccl_log();
  }

  [[nodiscard]] Result<void> begin() {
    if (const int code = nccl_.version.call(&version_); code != nccl::kSuccess) {
      return named<void>(tl::unexpected(trouble(nccl_, nccl_.version.name, code, nullptr)));
    }
    if (options_.registered &&
        (nccl_.memory_take.call == nullptr || nccl_.register_memory.call == nullptr)) {
      return lacks("registered memory: 2.19 has");
    }
    if (options_.diagnose && version_ < kDiagnosisSince) {
      return make_error(
          fmt::format("--diagnose: NCCL {} cannot: 2.31 can", nccl_version_text(version_)));
    }
    if (auto bound = options_.bind ? bind() : Result<void>{}; !bound) return named(bound);
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

  // What is reserved already would be given back for more.
  [[nodiscard]] std::optional<std::uint64_t> memory_free() const override {
    const auto free = gpu_->memory_free();
    if (!free) return std::nullopt;
    return *free - std::min(*free, kLeftToNccl) + memory_->send().bytes + memory_->receive().bytes;
  }

  [[nodiscard]] std::vector<std::string> remarks() const override {
    std::vector<std::string> all;
    if (!binding_.empty()) all.push_back(binding_);
    if (auto remark = options_.log ? nccl_log_remark() : ""; !remark.empty()) {
      all.push_back(std::move(remark));
    }
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
      return make_error(fmt::format("there is no rank {} for a root", operation.root));
    }
    if (operation.type == Type::bf16 && version_ < kBfloat16Since) return lacks("bf16");
    const bool eight_bits = operation.type == Type::f8e4m3 || operation.type == Type::f8e5m2;
    if (eight_bits && version_ < kFloat8Since) return lacks(to_string(operation.type));
    if (reduces(operation.collective) && operation.reduction == Reduction::avg &&
        version_ < kAverageSince) {
      return lacks("average");
    }
    const auto& use = definition_of(operation.collective).nccl;
    if (!use.is_there()) return lacks(collective);
    if (use.sends != nullptr &&
        (version_ < kSendSince || nccl_.send.call == nullptr || nccl_.receive.call == nullptr)) {
      return lacks(fmt::format("sends and receives, which {} is made of", collective));
    }
    // What is sent would be overwritten by what is received at the same time.
    if (operation.in_place && !use.in_place) return lacks(fmt::format("{} in place", collective));
    if (use.rounds != nullptr && pace.together > 1) {
      return make_error(fmt::format(
          "--together: {} is several groups, each of which needs the last", collective));
    }
    return pace.graph ? supports_graphs() : Result<void>{};
  }

  [[nodiscard]] Result<void> reserve(const Operation& largest) override {
    return named(grow_for(largest));
  }

  [[nodiscard]] Result<Batch> measure(const Operation& operation, const Pace& pace,
                                      Progress& progress) override {
    if (auto can = supports(operation, pace); !can) return tl::unexpected(can.error());
    return named(measured(operation, pace, progress));
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation, const Pace& pace,
                                                  Progress& progress) override {
    if (auto can = supports(operation, pace); !can) return tl::unexpected(can.error());
    return named(verified(operation, pace, progress));
  }

  [[nodiscard]] Result<void> account_for(const Operation& operation) override {
    return named(logged(operation));
  }

  [[nodiscard]] std::string log() const override { return options_.log ? nccl_log() : ""; }

  void abort() noexcept override { communicator()->abort(); }

  [[nodiscard]] StreamedOperation* streamed() override { return this; }

  [[nodiscard]] Result<void> choose(const Operation& operation) override {
    if (auto can = supports(operation, {}); !can) return can;
    TRY_ASSIGN(chosen_, named(prepare(operation)));
    return named(fill(*chosen_));
  }

  [[nodiscard]] Result<void> start() override { return once(*chosen_, {}); }

  [[nodiscard]] Result<void> healthy() override { return communicator_->healthy(); }

  [[nodiscard]] Result<std::vector<Wrong>> wrong() override {
    return named(wrong_elements(*chosen_));
  }

  [[nodiscard]] Gpu& gpu() override { return *gpu_; }

  [[nodiscard]] int ordinal() const override { return ordinal_.ordinal; }

  [[nodiscard]] const cuda::Library& cuda() const override { return cuda_; }

 private:
  // Before the context, so that what the driver sets up for it on the host is near, too.
  [[nodiscard]] Result<void> bind() {
    TRY_ASSIGN(const auto address, pci_address_of(cuda_, ordinal_.ordinal));
    TRY_ASSIGN(const auto root,
               options_.root.empty() ? Result<Root>(Root()) : Root::below(options_.root));
    binding_ = bind_to_gpu(address, root);
    return {};
  }

  // In a new communicator.
  [[nodiscard]] Result<void> meet() {
    auto made = std::make_shared<Communicator>(nccl_, options_.rank, options_.ranks);
    {
      const std::lock_guard lock(guard_);
      std::swap(made, communicator_);
    }
    made.reset();  // leaves the one before
    unformed_.reset();
    std::string id;
    if (options_.rank == 0) {
      TRY_ASSIGN(id, named(communicator_->make_id()));
    }
    TRY_ASSIGN(auto shared, options_.broadcast(id));
    const auto& limit = options_.forming_limit;
    std::optional<DiagnosisReader> reader;
    if (options_.diagnose) reader.emplace();
    auto joined = communicator_->join(shared, options_.blocking && !limit, limit);
    if (reader) diagnosis_ = reader->read();
    if (joined) return named(memory_->register_with(*communicator_));
    if (!limit) return named(joined);
    unformed_ = joined.error();
    return {};
  }

  // For the thread that aborts, while this one makes another.
  [[nodiscard]] std::shared_ptr<Communicator> communicator() {
    const std::lock_guard lock(guard_);
    return communicator_;
  }

  [[nodiscard]] tl::unexpected<Error> lacks(std::string_view what) const {
    return make_error(fmt::format("NCCL {} has no {}", nccl_version_text(version_), what));
  }

  [[nodiscard]] Result<void> supports_graphs() const {
    if (version_ < kGraphsSince) return lacks("support of CUDA graphs");
    if (cuda_.capture_begin.call == nullptr || cuda_.capture_end.call == nullptr ||
        cuda_.graph_instantiate.call == nullptr || cuda_.graph_launch.call == nullptr ||
        cuda_.graph_destroy.call == nullptr || cuda_.graph_run_destroy.call == nullptr) {
      return make_error("the CUDA driver has no graphs: it is older than CUDA 11.4");
    }
    return {};
  }

  [[nodiscard]] Result<void> grow_for(const Operation& largest) {
    if (auto used = gpu_->use(); !used) return used;
    communicator_->release_memory();
    Sizes needed{.send = sizeof(double), .receive = sizeof(double)};
    for (const bool in_place : {false, true}) {
      if (largest.in_place && !in_place) continue;
      auto operation = largest;
      operation.in_place = in_place;
      const auto bytes = bytes_of(operation, shape_of(operation, options_.rank, options_.ranks));
      needed.send = std::max(needed.send, bytes.send);
      needed.receive = std::max(needed.receive, bytes.receive);
    }
    auto grown = memory_->reserve(needed.send, needed.receive);
    return grown && !unformed_ ? memory_->register_with(*communicator_) : grown;
  }

  [[nodiscard]] Result<Batch> measured(const Operation& operation, const Pace& pace,
                                       Progress& progress) {
    TRY_ASSIGN(const auto run, prepare(operation));
    auto done = fill(run);
    if (!done) return tl::unexpected(done.error());
    progress.reset();
    done = warm_up(run, pace, progress);
    if (done && pace.graph) done = capture(run, pace.together);
    if (done && pace.graph) done = gpu_->launch_graph();  // the first puts the graph on the GPU
    if (done && pace.graph) done = wait();
    if (!done) return tl::unexpected(done.error());
    auto samples = time_on_stream({.gpu = *gpu_,
                                   .enqueue = [&] { return once(run, pace); },
                                   .healthy = [this] { return communicator_->healthy(); }},
                                  pace, progress);
    if (samples && !is_repeatable(operation)) {
      done = fill(run);
      if (done) done = once(run, {}, progress);
    }
    gpu_->drop_graph();
    if (!samples) return tl::unexpected(samples.error());
    if (!done) return tl::unexpected(done.error());
    for (auto& each : samples->seconds) each /= pace.together;
    for (auto& each : samples->cpu_seconds) each /= pace.together;
    samples->rank = options_.rank;
    return wrong_elements(run).map([&](std::vector<Wrong> wrong) {
      return Batch{.samples = {*std::move(samples)}, .wrong = std::move(wrong)};
    });
  }

  [[nodiscard]] Result<std::vector<Wrong>> verified(const Operation& operation, const Pace& pace,
                                                    Progress& progress) {
    TRY_ASSIGN(const auto run, prepare(operation));
    progress.reset();
    return run_once(run, pace, progress).and_then([&] { return wrong_elements(run); });
  }

  // NCCL before 2.24 cannot be told to log more than at first: then the algorithm stays unknown.
  [[nodiscard]] Result<void> logged(const Operation& operation) {
    const auto& reset = nccl_.reset_debug;
    if (!options_.log || reset.call == nullptr || !log_nccl_operations(true)) return {};
    TRY_ASSIGN(const auto run, prepare(operation));
    reset.call();
    auto done = once(run, {});
    if (done) done = wait();
    if (!done) return done;
    static_cast<void>(log_nccl_operations(false));  // what is timed after this logs nothing
    reset.call();
    return {};
  }

  [[nodiscard]] Result<Run> prepare(const Operation& operation) {
    if (unformed_) return tl::unexpected(*unformed_);
    if (auto used = gpu_->use(); !used) return tl::unexpected(used.error());
    Run run{.operation = operation, .shape = shape_of(operation, options_.rank, options_.ranks)};
    const auto bytes = bytes_of(operation, run.shape);
    const auto& send = memory_->send();
    const auto& receive = memory_->receive();
    if (bytes.send > send.bytes || bytes.receive > receive.bytes) {
      return make_error(fmt::format("{} needs buffers of {} and {} B, and {} and {} B are reserved",
                                    to_string(operation.collective), bytes.send, bytes.receive,
                                    send.bytes, receive.bytes));
    }
    const auto width = size_of(operation.type);
    run.receive = receive.begin + run.shape.receive_at * width;
    run.send = operation.in_place ? receive.begin + run.shape.send_at * width : send.begin;
    return run;
  }

  // What is received must have been written: nothing right is there before.
  [[nodiscard]] Result<void> fill(const Run& run) {
    auto done = gpu_->poison(memory_->receive().begin, bytes_of(run.operation, run.shape).receive);
    if (!done) return done;
    done = gpu_->fill(run.send, run.shape.send, size_of(run.operation.type),
                      input_of(run.operation, options_.rank, options_.ranks));
    return done ? wait() : done;
  }

  [[nodiscard]] Result<void> once(const Run& run, const Pace& pace) {
    if (pace.graph) return gpu_->launch_graph();
    return communicator_->enqueue(run, gpu_->stream(), pace.together);
  }

  // And waits for it.
  [[nodiscard]] Result<void> once(const Run& run, const Pace& pace, Progress& progress) {
    auto done = gpu_->mark(0);
    if (done) done = once(run, pace);
    if (!done) return done;
    return wait_counted(
        *gpu_, [this] { return communicator_->healthy(); }, progress);
  }

  // The first operation makes connections, which a graph must not hold.
  [[nodiscard]] Result<void> warm_up(const Run& run, const Pace& pace, Progress& progress) {
    const int rounds = pace.graph ? std::max(1, pace.warm_up) : pace.warm_up;
    for (int i = 0; i < rounds; ++i) {
      auto done = once(run, {}, progress);
      if (!done) return done;
    }
    return {};
  }

  [[nodiscard]] Result<void> capture(const Run& run, int together = 1) {
    auto done = gpu_->begin_capture();
    if (done) done = once(run, {.together = together});
    if (done) done = gpu_->end_capture();
    return done;
  }

  // On data filled anew.
  [[nodiscard]] Result<void> run_once(const Run& run, const Pace& pace, Progress& progress) {
    auto done = fill(run);
    if (done && pace.graph) {
      done = once(run, {});  // makes connections, which a graph must not hold
      if (done) done = wait();
      if (done) done = capture(run);
      if (done) done = fill(run);
    }
    if (!done) return done;
    done = once(run, {.graph = pace.graph}, progress);
    gpu_->drop_graph();
    return done;
  }

  [[nodiscard]] Result<std::vector<Wrong>> wrong_elements(const Run& run) {
    const auto& operation = run.operation;
    Wrong wrong{.rank = options_.rank};
    for (const auto& segment : expected_of(operation, options_.rank, options_.ranks)) {
      TRY(gpu_->verify(run.receive, size_of(operation.type), segment, wrong,
                       [this] { return communicator_->healthy(); }));
    }
    if (wrong.elements == 0) return std::vector<Wrong>{};
    return std::vector<Wrong>{wrong};
  }

  [[nodiscard]] Result<void> wait() {
    return gpu_->wait([this] { return communicator_->healthy(); });
  }

  // Where, before what; the rank and its node are said by whoever tells of it.
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
  std::string binding_;  // what came of it
  std::unique_ptr<Gpu> gpu_;
  std::mutex guard_;
  std::shared_ptr<Communicator> communicator_;
  std::optional<std::vector<std::string>> diagnosis_;
  std::optional<Error> unformed_;       // why it did not form
  std::optional<BufferMemory> memory_;  // from the beginning on
  std::optional<Run> chosen_;           // as a StreamedOperation
};

}  // namespace

std::string nccl_version_text(int version) {
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int rest = version >= 10000 ? version % 10000 : version % 1000;
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

Result<std::unique_ptr<Backend>> make_nccl_backend(NcclOptions options) {
  if (options.log) keep_nccl_log();
  if (options.diagnose) ask_for_diagnosis();
  if (options.rank == 0) choose_ras_address();
  TRY_ASSIGN(auto cuda, cuda::open_library(options.cuda));
  TRY_ASSIGN(auto nccl, nccl::open_library(options.nccl));
  MUSTER_CUDA_TRY(cuda, init, 0);
  int gpus = 0;
  MUSTER_CUDA_TRY(cuda, device_count, &gpus);
  auto ordinal =
      choose_gpu(options.rank, options.local_rank, gpus, variable("CUDA_VISIBLE_DEVICES"));
  if (!ordinal) return tl::unexpected(ordinal.error());
  auto backend = std::make_unique<NcclBackend>(std::move(options), std::move(cuda), std::move(nccl),
                                               std::move(*ordinal));
  TRY(backend->begin());
  return backend;
}

}  // namespace muster::bench
