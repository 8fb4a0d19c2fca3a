// SPDX-License-Identifier: Apache-2.0
#include "bench/run/rank.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/backends/nccl/log.hpp"
#include "bench/group/reachability.hpp"
#include "bench/launch/local.hpp"
#include "bench/run/agreement.hpp"
#include "bench/run/backend_choice.hpp"
#include "bench/run/conclusion.hpp"
#include "bench/run/emergency.hpp"
#include "bench/run/exchange.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/operation_timer.hpp"
#include "bench/run/plan.hpp"
#include "bench/run/reporter.hpp"
#include "bench/run/stop_signals.hpp"
#include "bench/run/time_limit.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

std::string_view signal_name(int number) {
  if (number == SIGTERM) return "SIGTERM";
  return number == SIGINT ? "SIGINT" : "SIGHUP";
}

class Rank {
 public:
  Rank(const BenchCommand& command, const World& world, LocalRank&& self)
      : command_(command),
        console_(world.console),
        variables_(world.variables),
        asked_(world.asked),
        place_(std::move(self.place)),
        listener_(std::move(self.listener)),
        secret_(std::move(self.secret)),
        emergency_(place_.rank),
        account_(command_, console_, emergency_) {}

  // What goes wrong before the others are met is this process' own; after that everybody is told.
  [[nodiscard]] int go() {
    if (auto prepared = prepare(); !prepared) return refuse(prepared.error());
    if (auto met = gather_ranks(); !met) return give_up(met.error());
    if (auto started = start(); !started) return give_up(started.error());
    auto status = refusal();
    if (status && *status == kExitHealthy) status = measure();
    if (!status) return give_up(status.error());
    leave();
    return *status;
  }

 private:
  [[nodiscard]] bool leads() const { return place_.rank == 0; }

  // A line for who started it, among those of other programs.
  void say(std::string_view line) const { console_.note(fmt::format("muster-bench: {}", line)); }

  // What every rank finds out for itself, or those of one node alone, is said once on each node.
  int refuse(const Failure& failure) {
    if (place_.local_rank.value_or(0) == 0) {
      say(fmt::format("{}{}", who(), failure.message));
    }
    return failure.status;
  }

  // Whose words a line is, where there are several who may speak.
  [[nodiscard]] std::string who() const {
    if (leads()) return {};
    return fmt::format("rank {} on {}: ", place_.rank, host_name());
  }

  // Everybody is told, once there is somebody to tell; rank 0's report is the run's. What has
  // failed is not tidied up: it might hang.
  int give_up(const Error& error) {
    // Where another rank is lost, operations fail everywhere; the loss is the news, and the thread
    // of the group ends this process with it.
    constexpr auto kLossesFirst = std::chrono::milliseconds(300);
    emergency_.watch(static_cast<Backend*>(nullptr));
    (void)backend_.release();
    (void)mpi_.release();
    if (group_ != nullptr && place_.world > 1) std::this_thread::sleep_for(kLossesFirst);
    if (!leads() || group_ == nullptr) {
      const bool named = error.message.starts_with(fmt::format("rank {} on ", place_.rank));
      say(fmt::format("{}{}", named ? "" : who(), error.message));
    }
    if (group_ == nullptr) return kExitUndecided;
    const Trouble trouble{.kind = Trouble::Kind::given_up,
                          .phase = phase(),
                          .what = error.message,
                          .ranks = {place_.rank},
                          .arrived = {}};
    if (leads()) emergency_.report(trouble);
    group_->give_up(error.message);
    replay_nccl_log();
    return exit_status_of(trouble);
  }

  [[nodiscard]] Attempt<void> prepare() {
    auto choice = choose_profile(command_, variables_);
    if (!choice) return tl::unexpected(choice.error());
    const auto kind = pick_backend(command_, place_, choice->profile, place_.evidence);
    if (!kind) return tl::unexpected(kind.error());
    kind_ = *kind;
    if (kind_ != BackendKind::sim) settings_ = take_settings(choice->profile, kind_, variables_);
    if (kind_ != BackendKind::sim && place_.mpi) {
      auto set = spare_fabric_search(variables_);
      if (!set.empty()) place_.evidence.push_back(std::move(set));
    }
    account_.begin(*std::move(choice), to_string(kind_), host_name(), variables_);
    return {};
  }

  [[nodiscard]] Result<void> gather_ranks() {
    emergency_.tell_by({.report = [this](const Trouble& it) { account_.tell(it, nccl_warnings()); },
                        .note = [this](const Trouble& it) { note(it); },
                        .last = replay_nccl_log});
    on_stop_signal([this](const StopSignal& signal) { stop(signal); });
    if (kind_ != BackendKind::sim) {
      const TimeLimit limit(
          emergency_, place_.rank, "start of MPI", to_duration(command_.join_deadline));
      auto mpi = join_mpi(place_, kind_ == BackendKind::mpi);
      if (!mpi) return tl::unexpected(mpi.error());
      mpi_ = *std::move(mpi);
    }
    if (secret_.empty()) {
      auto secret = job_secret(command_, variables_);
      if (!secret) return tl::unexpected(secret.error());
      secret_ = *std::move(secret);
    }
    if (place_.world > 1 && mpi_ == nullptr && secret_.empty()) {
      place_.evidence.emplace_back(
          "without a job secret nobody proved to be a rank of this run: MUSTER_JOB_SECRET or "
          "--secret-file");
    }
    std::optional<TimeLimit> limit;
    if (mpi_ != nullptr) {  // which says where rank 0 listens, and watches nobody
      limit.emplace(emergency_, place_.rank, "meeting", 2 * to_duration(command_.join_deadline));
    }
    auto group = meet({.command = &command_,
                       .place = &place_,
                       .mpi = mpi_.get(),
                       .secret = secret_,
                       .listener = std::move(listener_),
                       .note = [this](std::string_view line) { say(line); },
                       .on_trouble = [this](const Trouble& trouble) { emergency_.end(trouble); }});
    limit.reset();
    if (!group) return tl::unexpected(group.error());
    group_ = *std::move(group);
    emergency_.watch(group_.get());
    return introduce();
  }

  // Every process says who it is, and rank 0 tells all what comes of it.
  [[nodiscard]] Result<void> introduce() {
    enter("introduction", to_duration(command_.operation_deadline));
    Introduction introduction{.host = kind_ == BackendKind::sim ? "model" : host_name(),
                              .pid = ::getpid(),
                              .backend = std::string(to_string(kind_)),
                              .profile = account_.known().choice.profile.name,
                              .asked = asked_,
                              .doors = {}};
    if (place_.rank == 1) open_door(introduction);
    const auto texts = group_->gather(to_wire(introduction));
    if (!texts) return tl::unexpected(texts.error());
    std::vector<std::string> remarks;
    const auto mine = leads() ? agree(*texts, remarks) : Agreement();
    const auto told = group_->broadcast(to_wire(mine));
    if (!told) return tl::unexpected(told.error());
    auto agreed = parse_agreement(*told);
    if (!agreed) return tl::unexpected(agreed.error());
    if (!agreed->complaint.empty()) return make_error(agreed->complaint);
    local_rank_ =
        place_.local_rank.value_or(agreed->local_ranks.at(static_cast<std::size_t>(place_.rank)));
    if (agreed->deputy > 0) take_part_in_loss(*agreed);
    account_.line_up(std::move(agreed->hosts), remarks);
    return {};
  }

  // Open, and never accepted from: others see that this process is there.
  void open_door(Introduction& introduction) {
    auto listener = listen_anywhere();
    if (!listener) return;
    door_ = std::move(listener->socket);
    introduction.doors = std::move(listener->addresses);
  }

  // Who does what where rank 0 is gone: the deputy looks whether rank 1 is, too.
  void take_part_in_loss(const Agreement& agreed) {
    constexpr auto kTogether = std::chrono::milliseconds(200);  // what dies with rank 0
    constexpr auto kLook = std::chrono::milliseconds(300);
    if (place_.rank == agreed.deputy) {
      emergency_.stand_in([doors = agreed.doors, kTogether, kLook] {
        std::this_thread::sleep_for(kTogether);
        return !answers(doors, kLook);
      });
    } else {
      emergency_.stay(2 * (kTogether + kLook));
    }
  }

  [[nodiscard]] Result<void> start() {
    if (auto started = start_backend(); !started) return started;
    return agree_on_sizes();
  }

  // The status of what cannot be run, by the first rank that cannot, or cannot be written in the
  // end: rank 0 says why, and all end together. Healthy where there is nothing of the kind.
  [[nodiscard]] Result<int> refusal() {
    largest_ = operations_of(command_, sizes_, *backend_);
    const auto told = group_->gather(largest_ ? "" : largest_.error().message);
    if (!told) return tl::unexpected(told.error());
    const auto mine =
        leads() ? first_refusal(*told) : Failure{.status = kExitHealthy, .message = {}};
    if (!mine.message.empty()) say(mine.message);
    return broadcast_number(*group_, mine.status);
  }

  [[nodiscard]] Failure first_refusal(const std::vector<std::string>& told) const {
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
      const auto& text = told[rank];
      if (text.empty()) continue;
      return {.status = kExitUsage,
              .message = rank == 0 ? text : fmt::format("rank {}: {}", rank, text)};
    }
    const auto can = account_.can_conclude();
    if (can) return {.status = kExitHealthy, .message = {}};
    return {.status = kExitUndecided, .message = fmt::format("--output: {}", can.error().message)};
  }

  [[nodiscard]] Result<int> measure() {
    enter("reservation of memory", to_duration(command_.operation_deadline));
    // Out of place where both are run: it needs the most.
    if (auto reserved = backend_->reserve(largest_->front()); !reserved) {
      return tl::unexpected(reserved.error());
    }
    for (auto& remark : backend_->remarks()) place_.evidence.push_back(std::move(remark));
    if (leads()) account_.begin_table(sizes_, place_.evidence, settings_);
    Sweep sweep(*group_,
                *backend_,
                {.pace = pace_of(command_),
                 .precision = command_.precision,
                 .shared = shared(),
                 .operation_deadline = command_.operation_deadline,
                 .join_deadline = command_.join_deadline});
    for (const auto size : sizes_) {
      if (auto ran = run_size(sweep, size); !ran) return tl::unexpected(ran.error());
    }
    if (auto told = gather_transport(); !told) return tl::unexpected(told.error());
    if (auto repeated = repeat(sweep); !repeated) return tl::unexpected(repeated.error());
    return end();
  }

  [[nodiscard]] Result<void> start_backend() {
    enter(fmt::format("start of {}", to_string(kind_)),
          to_duration(command_.join_deadline) + to_duration(command_.operation_deadline));
    auto backend = make_backend({.command = &command_,
                                 .kind = kind_,
                                 .group = group_.get(),
                                 .mpi = mpi_.get(),
                                 .local_rank = local_rank_,
                                 .host = host_name()});
    if (!backend) return tl::unexpected(backend.error());
    backend_ = *std::move(backend);
    emergency_.watch(backend_.get());
    auto members = gather_members(*group_, *backend_);
    if (!members) return tl::unexpected(members.error());
    const bool gpus = kind_ == BackendKind::nccl || kind_ == BackendKind::sim;
    account_.enrol(*std::move(members), backend_->library(), gpus);
    return {};
  }

  // Nodes may be of several kinds; rank 0's limits name the sizes.
  [[nodiscard]] Result<void> agree_on_sizes() {
    const auto mine = backend_->memory_free();
    const auto free = group_->gather(mine ? std::to_string(*mine) : "");
    if (!free) return tl::unexpected(free.error());
    const auto room = least_room(*free);
    if (!room) return tl::unexpected(room.error());
    const auto& known = account_.known();
    const Setting setting{.nodes = static_cast<int>(known.hosts.size()),
                          .ranks = backend_->ranks(),
                          .gpus = known.gpus};
    const auto sizes = sizes_of(command_, known.choice.profile, setting, *room);
    if (leads() && !sizes.remark.empty()) account_.remark(sizes.remark);
    auto told = broadcast_sizes(*group_, sizes.bytes);
    if (!told) return tl::unexpected(told.error());
    sizes_ = *std::move(told);
    return {};
  }

  // So many iterations in a row are one mean.
  [[nodiscard]] std::size_t shared() const {
    const bool means = command_.pipelined && kind_ != BackendKind::nccl;
    return means ? static_cast<std::size_t>(command_.iterations) : 1;
  }

  void enter(const std::string& phase, Clock::duration limit) {
    set_phase(phase);
    group_->enter(phase, limit);
  }

  void set_phase(std::string phase) {
    const std::lock_guard lock(phase_guard_);
    phase_ = std::move(phase);
  }

  [[nodiscard]] std::string phase() const {
    const std::lock_guard lock(phase_guard_);
    return phase_;
  }

  [[nodiscard]] Result<void> time_into(Sweep& sweep, const Operation& operation, Row& row) {
    set_phase(describe(operation));
    auto measured = sweep.run(operation);
    if (!measured) return tl::unexpected(measured.error());
    if (!leads()) return {};
    if (measured->cut_short) {
      account_.remark(fmt::format("{}: --precision was not reached with {} iterations",
                                  describe(operation),
                                  measured->samples.front().seconds.size()));
    }
    auto timing = timing_of(operation, backend_->ranks(), measured->samples, shared());
    if (!timing) return tl::unexpected(timing.error());
    timing->checked = true;
    timing->wrong = std::move(measured->wrong);
    placement_of(row, operation) = *std::move(timing);
    return {};
  }

  [[nodiscard]] Result<void> run_size(Sweep& sweep, std::uint64_t size) {
    auto operations = *largest_;
    for (auto& operation : operations) operation.bytes = size;
    Row row = row_of(operations.front(), backend_->ranks());
    for (const auto& operation : operations) {
      if (auto timed = time_into(sweep, operation, row); !timed) return timed;
    }
    if (!leads()) return {};
    account_.add(std::move(row));
    return {};
  }

  // A value next to its limit or below is measured twice more, and the median of all decides.
  [[nodiscard]] Result<void> repeat(Sweep& sweep) {
    const auto wanted = leads() ? account_.to_repeat() : std::nullopt;
    const auto word = group_->broadcast(wanted ? std::to_string(wanted->bytes) : "");
    if (!word) return tl::unexpected(word.error());
    if (word->empty()) return {};
    const auto size = parse_unsigned(*word);
    if (!size) return tl::unexpected(size.error());
    if (leads()) account_.remark("next to its limit or below: measured twice more");
    for (int round = 0; round < kRepeats; ++round) {
      if (auto ran = run_size(sweep, *size); !ran) return ran;
    }
    return {};
  }

  [[nodiscard]] Result<int> end() {
    enter("report", to_duration(command_.operation_deadline));
    return broadcast_number(*group_, leads() ? account_.conclude() : kExitHealthy);
  }

  // What the library says of itself, in a pass of its own.
  [[nodiscard]] Result<void> gather_transport() {
    enter("account of the transport", to_duration(command_.operation_deadline));
    if (auto told = backend_->account_for(largest_->front()); !told) return told;
    const auto logs = group_->gather(telling_lines(backend_->log()));
    if (!logs) return tl::unexpected(logs.error());
    if (!leads()) return {};
    const auto& known = account_.known();
    const auto required = required_transports(command_.require_transport,
                                              known.choice.profile,
                                              known.gpus,
                                              static_cast<int>(known.hosts.size()));
    account_.add(account_of(*logs, known.members, required, command_.collective));
    return {};
  }

  // For a trouble that another rank reports, or that comes after the report.
  void note(const Trouble& trouble) const {
    say(fmt::format("rank {} on {}: {}", place_.rank, host_name(), trouble.what));
  }

  // A launcher that ends all ranks because one has ended is not what went wrong: who notices the
  // loss has time to say so. Other ranks leave the report to rank 0.
  void stop(const StopSignal& signal) {
    constexpr auto kOthersFirst = std::chrono::milliseconds(300);
    constexpr auto kReportFirst = std::chrono::seconds(2);
    if (signal.lost) {
      emergency_.end({.kind = Trouble::Kind::lost,
                      .phase = phase(),
                      .what = fmt::format("rank {} has ended before all had met", *signal.lost),
                      .ranks = {*signal.lost},
                      .arrived = {},
                      .without_rank_0 = *signal.lost == 0});
    }
    emergency_.begin_stop();
    std::this_thread::sleep_for(kOthersFirst);
    if (!leads()) std::this_thread::sleep_for(kReportFirst);
    emergency_.end(
        {.kind = Trouble::Kind::stopped,
         .phase = phase(),
         .what = fmt::format("it was told to end by the signal {}", signal_name(signal.number)),
         .ranks = {place_.rank},
         .arrived = {}});
  }

  void leave() {
    emergency_.watch(static_cast<Backend*>(nullptr));
    backend_.reset();
    emergency_.watch(static_cast<Group*>(nullptr));
    group_.reset();
    if (mpi_ == nullptr) return;
    {
      const auto held = emergency_.hold();
      emergency_.mark_reported();  // by rank 0
    }
    const TimeLimit limit(
        emergency_, place_.rank, "end of MPI", to_duration(command_.operation_deadline));
    if (auto finished = mpi_->finish(); !finished) say(finished.error().message);
  }

  const BenchCommand& command_;
  const Console& console_;
  Variables variables_;
  std::string asked_;
  Place place_;
  Descriptor listener_;  // rank 0's, where it was open before this process was
  std::string secret_;
  Emergency emergency_;
  Account account_;
  BackendKind kind_ = BackendKind::sim;
  Settings settings_;  // of the profile
  mutable std::mutex phase_guard_;
  std::string phase_ = "start";  // what this process is at, for its last words
  int local_rank_ = 0;
  Descriptor door_;  // rank 1's
  std::vector<std::uint64_t> sizes_;
  Result<std::vector<Operation>> largest_;  // every placement of the largest size
  std::unique_ptr<MpiJob> mpi_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace

int run_rank(const BenchCommand& command, const World& world, LocalRank self) {
  return Rank(command, world, std::move(self)).go();
}

}  // namespace muster::bench
