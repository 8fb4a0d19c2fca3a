// SPDX-License-Identifier: Apache-2.0
#include "bench/run/meeting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "bench/backends/nccl/log.hpp"
#include "bench/model/cluster_model.hpp"
#include "bench/run/rank_backend.hpp"
#include "bench/sockets/greeting.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/process/startup.hpp"

namespace muster::bench {
namespace {

// Rank 0 listens on any free port. MPI carries its addresses and a random secret: the secret on the
// first line, and an address on each further line.
Result<void> meet_through_mpi(MpiJob& mpi, JoinOptions& options) {
  std::string invitation;
  if (options.rank == 0) {
    TRY_ASSIGN(auto listener, listen_anywhere());
    TRY_ASSIGN(invitation, random_secret());
    options.listener = std::move(listener.socket);
    for (const auto& each : listener.addresses) {
      invitation += fmt::format("\n{}", to_text(each));
    }
  }
  TRY_ASSIGN(const auto received, mpi.broadcast(invitation));
  const auto lines = split(received, '\n');
  options.secret = std::string(lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    TRY_ASSIGN(options.addresses.emplace_back(), parse_endpoint(lines[i]));
  }
  return {};
}

// Fills in how the ranks find each other.
Result<void> find_rank_0(const RankContext& self, JoinOptions& options) {
  if (self.place.world == 1) return {};
  if (self.membership.mpi != nullptr) return meet_through_mpi(*self.membership.mpi, options);
  if (!self.place.rendezvous) {
    return make_error(
        "the address of rank 0 is unknown: give --rendezvous HOST:PORT, or set MASTER_ADDR and "
        "MASTER_PORT");
  }
  options.addresses = {*self.place.rendezvous};
  return {};
}

void show_wait(RankContext& self, const std::vector<int>& missing, Clock::duration patience) {
  constexpr std::size_t kFew = 12;
  const auto who =
      missing.size() > kFew ? fmt::format("{} ranks", missing.size()) : ranks_in_words(missing);
  self.reporter.progress(
      fmt::format("waiting for {} of {}, {} at most", who, self.place.world, in_words(patience)));
}

std::string explain_by_ras(const RankContext& self) {
  if (self.kind != BackendKind::nccl) return {};
  const auto answer = ask_ras(std::chrono::seconds(3));
  return answer.empty() ? "" : fmt::format("NCCL's RAS service reports: {}", answer);
}

Result<void> join_group(RankContext& self, Descriptor listener, std::string secret) {
  const auto patience = to_duration(self.command.join_deadline);
  std::optional<PhaseDeadline> limit;
  // MPI has no deadline of its own.
  if (self.membership.mpi != nullptr) {
    limit.emplace(self.emergency, self.place.rank, Phase{"meeting", Part::meeting}, 2 * patience);
  }
  JoinOptions options{
      .rank = self.place.rank,
      .world = self.place.world,
      .listener = std::move(listener),
      .secret = std::move(secret),
      .name = fmt::format("{} (pid {})", host_name(), ::getpid()),
      .patience = patience,
      .on_trouble = [&self](const Trouble& trouble) { self.emergency.end(trouble); },
      .explain_late = [&self] { return explain_by_ras(self); },
      .note = [&self](std::string_view line) { self.say(line); },
      .missing = [&self,
                  patience](const std::vector<int>& ranks) { show_wait(self, ranks, patience); }};
  if (self.kind == BackendKind::sim) {
    options.simulated = [&self](const Stage& own) { return simulated_stages(self.cluster, own); };
  }
  TRY(find_rank_0(self, options));
  if (self.leads() && self.place.world > 1) {
    std::vector<int> others(static_cast<std::size_t>(self.place.world - 1));
    std::iota(others.begin(), others.end(), 1);
    show_wait(self, others, patience);
  }
  TRY_ASSIGN(self.membership.group, Group::join(std::move(options)));
  self.emergency.watch(self.membership.group.get());
  return {};
}

// Every process introduces itself, and rank 0 sends its conclusion to all.
Result<void> introduce_process(RankContext& self) {
  self.enter({"introduction", Part::starting}, to_duration(self.command.operation_deadline));
  auto& membership = self.membership;
  const Introduction introduction{.host = self.kind == BackendKind::sim ? "model" : host_name(),
                                  .backend = std::string(to_string(self.kind)),
                                  .profile = self.reporter.record().choice.profile.name,
                                  .command_line = self.input.command_line,
                                  .bare = self.reporter.record().facts.bare,
                                  .domain = self.domain};
  TRY_ASSIGN(const auto all, gather(*membership.group, introduction));
  TRY_ASSIGN(membership.agreed,
             broadcast(*membership.group, self.leads() ? agreement_of(all) : Agreement()));
  const auto& agreed = membership.agreed;
  if (!agreed.refusal.empty()) return make_error(agreed.refusal);
  membership.local_rank = self.place.local_rank.value_or(
      agreed.places.at(static_cast<std::size_t>(self.place.rank)).local);
  self.reporter.set_hosts(agreed.hosts, agreed.bare, agreed.is_one_domain(), other_profiles(all));
  return {};
}

// Initialises MPI if its launcher started this process and its module can be opened. Null if that
// fails and MPI is not `needed`; the reason is appended to the place's evidence.
Result<std::unique_ptr<MpiJob>> join_mpi(Place& place, bool needed) {
  if (!place.mpi) {
    if (!needed) return nullptr;
    return make_error(
        "MPI needs an MPI launcher, and none started this process: use mpirun, or srun "
        "--mpi=pmix");
  }
  auto job = start_mpi(mpi_module_path());
  if (!job) {
    if (needed) return tl::unexpected(job.error());
    place.evidence.push_back(fmt::format("without MPI: {}", job.error().message));
    return nullptr;
  }
  TRY_ASSIGN(const auto fitting, fits((*job)->rank(), (*job)->size(), place, needed));
  if (!fitting) {
    [[maybe_unused]] const auto ignored = (*job)->finish();
    return nullptr;
  }
  return std::move(*job);
}

// Returns the words in which two command lines differ, from the first to the last; an option with
// its value.
std::pair<std::string, std::string> difference(std::string_view one, std::string_view other) {
  auto a = split_words(one);
  auto b = split_words(other);
  std::string_view before;
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    before = a.front();
    a.erase(a.begin());
    b.erase(b.begin());
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.pop_back();
    b.pop_back();
  }
  const auto shown = [&](std::vector<std::string_view>& words) {
    const bool is_value = !words.empty() && !words.front().starts_with('-');
    if (is_value && before.starts_with("-")) words.insert(words.begin(), before);
    if (words.empty()) return std::string("nothing");
    return printable(fmt::format("{}", fmt::join(words, " ")), 200);
  };
  return {shown(a), shown(b)};
}

// Returns why the ranks do not run the same thing; empty if they do.
std::string difference_between(const std::vector<Introduction>& introductions) {
  const Introduction& first = introductions.front();
  for (std::size_t rank = 1; rank < introductions.size(); ++rank) {
    const Introduction& other = introductions[rank];
    if (other.command_line != first.command_line) {
      const auto [ours, theirs] = difference(first.command_line, other.command_line);
      return fmt::format(
          "rank {} on {} was started with {}, and rank 0 with {}: all ranks need the same "
          "arguments",
          rank, other.host, theirs, ours);
    }
    if (other.backend != first.backend) {
      return fmt::format(
          "rank 0 on {} would run the back end {}, and rank {} on {} {}: is a GPU or a library "
          "missing on one of them? Give --backend",
          first.host, first.backend, rank, other.host, other.backend);
    }
  }
  return {};
}

}  // namespace

std::vector<RankStage> simulated_stages(const SimCluster& cluster, const Stage& own) {
  std::vector<RankStage> ranks;
  for (int rank = 0; rank < ranks_of(cluster); ++rank) {
    ranks.push_back({.rank = rank, .name = "", .stage = own});
  }
  const auto hang = ClusterModel(cluster).hang_of(whole(cluster));
  if (!hang || hang->of_link) return ranks;
  auto& stage = *ranks[static_cast<std::size_t>(hang->rank)].stage;
  stage.started = stage.finished;
  return ranks;
}

bool Agreement::is_one_domain() const {
  return !domains.empty() && !domains.front().empty() &&
         std::ranges::adjacent_find(domains, std::not_equal_to<>()) == domains.end();
}

Agreement agreement_of(const std::vector<Introduction>& introductions) {
  Agreement agreement{.refusal = difference_between(introductions)};
  if (!agreement.refusal.empty()) return agreement;
  agreement.bare = std::ranges::all_of(introductions, &Introduction::bare);
  std::map<std::string, int> counts;
  for (const auto& introduction : introductions) {
    const int local = counts[introduction.host]++;
    if (local == 0) {
      agreement.hosts.push_back(introduction.host);
      agreement.domains.push_back(introduction.domain);
    }
    const auto host = std::ranges::find(agreement.hosts, introduction.host);
    agreement.places.push_back(
        {.node = static_cast<int>(host - agreement.hosts.begin()), .local = local});
  }
  return agreement;
}

std::vector<std::string> other_profiles(const std::vector<Introduction>& introductions) {
  constexpr std::size_t kMax = 4;
  std::vector<std::string> sentences;
  std::set<std::string> seen;
  for (const auto& each : introductions) {
    if (each.profile == introductions.front().profile || !seen.insert(each.host).second) continue;
    if (sentences.size() == kMax) break;
    sentences.push_back(
        fmt::format("{} looks like {}, unlike the node of rank 0", each.host, each.profile));
  }
  return sentences;
}

Result<bool> fits(int rank, int size, Place& place, bool needed) {
  if (rank == place.rank && size == place.world) return true;
  auto contradiction = fmt::format(
      "MPI reports rank {} of {}, and the launcher's variables rank {} of {}: was this process "
      "started by another MPI's mpirun?",
      rank, size, place.rank, place.world);
  if (needed) return make_error(std::move(contradiction));
  place.evidence.push_back(fmt::format("without MPI: {}", contradiction));
  return false;
}

Result<std::string> job_secret(const BenchCommand& command, const Variables& variables) {
  if (command.secret_file.empty()) return muster::value_of(variables, "MUSTER_JOB_SECRET");
  std::error_code unknown;
  const auto path = std::filesystem::absolute(command.secret_file, unknown);
  const auto secret = Root().read(path.string());
  if (!secret) return make_error("--secret-file: {}", secret.error().message);
  const auto file = printable(command.secret_file);
  std::error_code gone;
  const auto mode = std::filesystem::status(command.secret_file, gone).permissions();
  if (!gone && (mode & std::filesystem::perms(0007)) != std::filesystem::perms::none) {
    return make_error("--secret-file: {} is open to all users: chmod o-rwx {}", file, file);
  }
  if (trim(*secret).empty()) return make_error("--secret-file: {} is empty", file);
  return std::string(trim(*secret));
}

Result<void> meet(RankContext& self, Descriptor listener, std::string secret) {
  if (self.kind != BackendKind::sim) {
    const PhaseDeadline limit(self.emergency, self.place.rank, {"start of MPI", Part::meeting},
                              to_duration(self.command.join_deadline));
    TRY_ASSIGN(self.membership.mpi, join_mpi(self.place, self.kind == BackendKind::mpi));
  }
  if (self.place.world > 1 && self.membership.mpi == nullptr && secret.empty() && self.leads()) {
    self.reporter.remark(
        "without a job secret, ranks are not authenticated: set MUSTER_JOB_SECRET or give "
        "--secret-file");
  }
  TRY(join_group(self, std::move(listener), std::move(secret)));
  return introduce_process(self);
}

}  // namespace muster::bench
