// SPDX-License-Identifier: Apache-2.0
#include "bench/run/meeting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "bench/backends/mpi_module.hpp"
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
    auto listener = listen_anywhere();
    if (!listener) return tl::unexpected(listener.error());
    auto secret = random_secret();
    if (!secret) return tl::unexpected(secret.error());
    options.listener = std::move(listener->socket);
    text = invitation(*secret, listener->addresses);
  }
  const auto told = mpi.broadcast(text);
  if (!told) return tl::unexpected(told.error());
  const auto lines = split(*told, '\n');
  auto addresses = addresses_in(lines);
  if (!addresses) return tl::unexpected(addresses.error());
  options.secret = std::string(lines.front());
  options.addresses = *std::move(addresses);
  return {};
}

}  // namespace

Result<bool> fits(const MpiSizes& told, Place& place, bool needed) {
  if (told.rank == place.rank && told.size == place.world) return true;
  auto contradiction = fmt::format(
      "MPI says rank {} of {}, and the launcher's variables say rank {} of {}: was this process "
      "started by another MPI's mpirun?",
      told.rank,
      told.size,
      place.rank,
      place.world);
  if (needed) return make_error(std::move(contradiction));
  place.evidence.push_back(fmt::format("without MPI: {}", contradiction));
  return false;
}

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
  const auto fitting = fits({.rank = (*job)->rank(), .size = (*job)->size()}, place, needed);
  if (!fitting) return tl::unexpected(fitting.error());
  if (!*fitting) {
    // It is of no use, and whether it ends well changes nothing.
    [[maybe_unused]] const auto ignored = (*job)->finish();
    return nullptr;
  }
  return std::move(*job);
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
  if (trim(*secret).empty()) {
    return make_error(fmt::format("--secret-file: {} is empty", command.secret_file));
  }
  return std::string(trim(*secret));
}

Result<std::unique_ptr<Group>> meet(Meeting meeting) {
  const Place& place = *meeting.place;
  JoinOptions options{.rank = place.rank,
                      .world = place.world,
                      .addresses = {},
                      .listener = std::move(meeting.listener),
                      .secret = std::move(meeting.secret),
                      .name = fmt::format("{} (pid {})", host_name(), ::getpid()),
                      .patience = to_duration(meeting.command->join_deadline),
                      .on_trouble = std::move(meeting.on_trouble),
                      .note = std::move(meeting.note)};
  if (place.world == 1) return Group::join(std::move(options));
  if (meeting.mpi != nullptr) {
    if (auto met = meet_through_mpi(*meeting.mpi, options); !met) {
      return tl::unexpected(met.error());
    }
  } else if (place.rendezvous) {
    options.addresses = {*place.rendezvous};
  } else {
    return make_error(
        "nothing says where rank 0 listens: give --rendezvous HOST:PORT, or set MASTER_ADDR and "
        "MASTER_PORT");
  }
  return Group::join(std::move(options));
}

}  // namespace muster::bench
