// SPDX-License-Identifier: Apache-2.0
#include "bench/run/meeting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "bench/backends/nccl/ras.hpp"
#include "bench/group/trouble.hpp"
#include "bench/launch/random.hpp"
#include "bench/run/agreement.hpp"
#include "bench/run/emergency.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/rank_backend.hpp"
#include "bench/run/time_limit.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

// What rank 0 tells the others through MPI: the secret, and one address on each further line.
std::string invitation(const std::string& secret, const std::vector<Rendezvous>& addresses) {
  auto text = secret;
  for (const auto& each : addresses) text += fmt::format("\n{}", to_text(each));
  return text;
}

Result<std::vector<Rendezvous>> addresses_in(const std::vector<std::string_view>& lines) {
  std::vector<Rendezvous> addresses;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto address = parse_endpoint(lines[i]);
    if (!address) return make_error("rank 0 gave addresses that cannot be read");
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

// Any free port of rank 0, and a secret that only MPI has carried.
Result<void> meet_through_mpi(MpiJob& mpi, JoinOptions& options) {
  std::string text;
  if (options.rank == 0) {
    TRY_ASSIGN(auto listener, listen_anywhere());
    TRY_ASSIGN(auto secret, random_secret());
    options.listener = std::move(listener.socket);
    text = invitation(secret, listener.addresses);
  }
  TRY_ASSIGN(const auto told, mpi.broadcast(text));
  const auto lines = split(told, '\n');
  TRY_ASSIGN(auto addresses, addresses_in(lines));
  options.secret = std::string(lines.front());
  options.addresses = std::move(addresses);
  return {};
}

// Fills in how the ranks find each other.
Result<void> find_rank_0(const RankContext& self, const Membership& membership,
                         JoinOptions& options) {
  if (self.place.world == 1) return {};
  if (membership.mpi != nullptr) return meet_through_mpi(*membership.mpi, options);
  if (!self.place.rendezvous) {
    return make_error(
        "nothing says where rank 0 listens: give --rendezvous HOST:PORT, or set MASTER_ADDR and "
        "MASTER_PORT");
  }
  options.addresses = {*self.place.rendezvous};
  return {};
}

// Of many ranks a list would say less than their number.
void show_wait(RankContext& self, const std::vector<int>& missing, Clock::duration patience) {
  constexpr std::size_t kFew = 12;
  const auto who =
      missing.size() > kFew ? fmt::format("{} ranks", missing.size()) : ranks_in_words(missing);
  self.reporter.progress(
      fmt::format("waiting for {} of {}, {} at most", who, self.place.world, in_words(patience)));
}

std::string words_of_ras(const RankContext& self) {
  if (self.kind != BackendKind::nccl) return {};
  const auto words = ask_ras(std::chrono::seconds(3));
  return words.empty() ? "" : fmt::format("NCCL's RAS service says: {}", words);
}

Result<void> join_group(RankContext& self, Membership& membership, Descriptor listener,
                        std::string secret) {
  const auto patience = to_duration(self.command.join_deadline);
  std::optional<TimeLimit> limit;
  // MPI says where rank 0 listens, and watches nobody.
  if (membership.mpi != nullptr)
    limit.emplace(self.emergency, self.place.rank, Phase{"meeting", Part::meeting}, 2 * patience);
  JoinOptions options{
      .rank = self.place.rank,
      .world = self.place.world,
      .addresses = {},
      .listener = std::move(listener),
      .secret = std::move(secret),
      .name = fmt::format("{} (pid {})", host_name(), ::getpid()),
      .patience = patience,
      .on_trouble = [&self](const Trouble& trouble) { self.emergency.end(trouble); },
      .explain_late = [&self] { return words_of_ras(self); },
      .note = [&self](std::string_view line) { self.say(line); },
      .missing = [&self,
                  patience](const std::vector<int>& ranks) { show_wait(self, ranks, patience); }};
  if (auto found = find_rank_0(self, membership, options); !found) return found;
  if (self.leads() && self.place.world > 1) {
    std::vector<int> others(static_cast<std::size_t>(self.place.world - 1));
    std::iota(others.begin(), others.end(), 1);
    show_wait(self, others, patience);
  }
  if (auto joined = put(membership.group, Group::join(std::move(options))); !joined) return joined;
  self.emergency.watch(membership.group.get());
  return {};
}

// Every process says who it is, and rank 0 tells all what comes of it.
Result<void> introduce(RankContext& self, Membership& membership) {
  self.enter(*membership.group, {"introduction", Part::starting},
             to_duration(self.command.operation_deadline));
  const Introduction introduction{.host = self.kind == BackendKind::sim ? "model" : host_name(),
                                  .pid = ::getpid(),
                                  .backend = std::string(to_string(self.kind)),
                                  .profile = self.reporter.record().choice.profile.name,
                                  .asked = self.input.asked};
  TRY_ASSIGN(const auto texts, membership.group->gather(to_message(introduction)));
  std::vector<std::string> remarks;
  TRY_ASSIGN(auto agreed,
             broadcast(*membership.group, self.leads() ? agree(texts, remarks) : Agreement()));
  if (!agreed.complaint.empty()) return make_error(agreed.complaint);
  membership.local_rank = self.place.local_rank.value_or(
      agreed.local_ranks.at(static_cast<std::size_t>(self.place.rank)));
  self.reporter.set_hosts(agreed.hosts, remarks);
  membership.agreed = std::move(agreed);
  return {};
}

// Initialises MPI if its launcher started this process and its module can be opened. Null if that
// fails and MPI is not `needed`; the reason is added to the place's evidence.
Result<std::unique_ptr<MpiJob>> join_mpi(Place& place, bool needed) {
  if (!place.mpi) {
    if (!needed) return nullptr;
    return make_error(
        "no MPI launcher started this process, and MPI cannot begin without: use mpirun, or srun "
        "--mpi=pmix");
  }
  auto job = start_mpi(mpi_module_path());
  if (!job) {
    if (needed) return tl::unexpected(job.error());
    place.evidence.push_back(fmt::format("without MPI: {}", job.error().message));
    return nullptr;
  }
  TRY_ASSIGN(const auto fitting,
             fits({.rank = (*job)->rank(), .size = (*job)->size()}, place, needed));
  if (!fitting) {
    // It is of no use, and whether it ends well changes nothing.
    [[maybe_unused]] const auto ignored = (*job)->finish();
    return nullptr;
  }
  return std::move(*job);
}

}  // namespace

Result<bool> fits(const MpiSizes& told, Place& place, bool needed) {
  if (told.rank == place.rank && told.size == place.world) return true;
  auto contradiction = fmt::format(
      "MPI says rank {} of {}, and the launcher's variables say rank {} of {}: was this process "
      "started by another MPI's mpirun?",
      told.rank, told.size, place.rank, place.world);
  if (needed) return make_error(std::move(contradiction));
  place.evidence.push_back(fmt::format("without MPI: {}", contradiction));
  return false;
}

Result<std::string> job_secret(const BenchCommand& command, const Variables& variables) {
  if (command.secret_file.empty()) {
    const auto found = variables.find("MUSTER_JOB_SECRET");
    return found == variables.end() ? std::string() : found->second;
  }
  const auto secret = Root().read(command.secret_file);
  if (!secret) {
    return make_error(fmt::format("--secret-file: {}", secret.error().message));
  }
  std::error_code gone;
  const auto mode = std::filesystem::status(command.secret_file, gone).permissions();
  if (!gone && (mode & std::filesystem::perms(0007)) != std::filesystem::perms::none) {
    return make_error(fmt::format("--secret-file: everybody may use {}: chmod o-rwx {}",
                                  printable(command.secret_file), printable(command.secret_file)));
  }
  if (trim(*secret).empty()) {
    return make_error(fmt::format("--secret-file: {} is empty", command.secret_file));
  }
  return std::string(trim(*secret));
}

Result<void> meet(RankContext& self, Membership& membership, Descriptor listener,
                  std::string secret) {
  if (self.kind != BackendKind::sim) {
    const TimeLimit limit(self.emergency, self.place.rank, {"start of MPI", Part::meeting},
                          to_duration(self.command.join_deadline));
    const bool needed = self.kind == BackendKind::mpi;
    if (auto joined = put(membership.mpi, join_mpi(self.place, needed)); !joined) return joined;
  }
  if (secret.empty()) {
    if (auto given = put(secret, job_secret(self.command, self.variables)); !given) return given;
  }
  if (self.place.world > 1 && membership.mpi == nullptr && secret.empty()) {
    constexpr std::string_view kWarning =
        "without a job secret nobody proved to be a rank of this run: MUSTER_JOB_SECRET or "
        "--secret-file";
    if (self.leads()) self.reporter.remark(kWarning);
  }
  if (auto joined = join_group(self, membership, std::move(listener), std::move(secret)); !joined) {
    return joined;
  }
  return introduce(self, membership);
}

}  // namespace muster::bench
