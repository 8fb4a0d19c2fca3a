// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/local.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "bench/launch/random.hpp"
#include "bench/launch/supervisor.hpp"
#include "bench/sockets/sockets.hpp"
#include "lib/process/process.hpp"

namespace muster::bench {
namespace {

tl::unexpected<Error> failed(std::string_view what) {
  return make_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// Rank 0's, on loopback at any free port.
Result<std::pair<Descriptor, Rendezvous>> listen_on_loopback() {
  Rendezvous where{.host = "127.0.0.1"};
  auto listener = listen_on(where);
  if (!listener) return tl::unexpected(listener.error());
  const auto port = port_of(*listener);
  if (!port) return tl::unexpected(port.error());
  where.port = *port;
  return std::pair{*std::move(listener), std::move(where)};
}

// What is the same for all ranks of this process.
Result<LocalRank> prepare(const Place& place, int count) {
  if (const auto good = may_become(place, count); !good) return tl::unexpected(good.error());
  LocalRank common{.place = place};
  common.place.world = place.world * count;
  common.place.local_world = count;
  common.place.evidence.push_back(fmt::format("--local: this process becomes ranks {} to {} of {}",
                                              place.rank * count,
                                              (place.rank + 1) * count - 1,
                                              common.place.world));
  if (place.world > 1 || place.rendezvous) return common;
  auto listening = listen_on_loopback();
  if (!listening) return tl::unexpected(listening.error());
  auto secret = random_secret();
  if (!secret) return tl::unexpected(secret.error());
  common.listener = std::move(listening->first);
  common.place.rendezvous = std::move(listening->second);
  common.secret = *std::move(secret);
  return common;
}

LocalRank become(LocalRank common, int rank_of_process, int index) {
  auto& place = common.place;
  place.rank = rank_of_process * *place.local_world + index;
  place.local_rank = index;
  if (place.rank != 0) common.listener = Descriptor();
  return common;
}

}  // namespace

Result<void> may_become(const Place& place, int count) {
  constexpr int kMost = 1024;
  if (count < 1 || count > kMost) {
    return make_error(fmt::format("--local {}: expected 1 to {} ranks", count, kMost));
  }
  if (place.world > INT_MAX / count)
    return make_error(fmt::format("--local {} is too many", count));
  if (place.mpi || place.local_world.value_or(1) > 1) {
    return make_error(fmt::format(
        "--local {} contradicts the launcher ({}), which starts each rank by itself: leave out "
        "--local, or give --launch alone",
        count,
        to_string(place.launcher)));
  }
  return {};
}

Result<std::variant<LocalRank, LocalEnd>> fork_local_ranks(const Place& place,
                                                           const LocalOptions& options) {
  auto common = prepare(place, options.count);
  if (!common) return tl::unexpected(common.error());
  // Or each child would write what lies in the buffers. What cannot be written now cannot later.
  [[maybe_unused]] const int ignored = std::fflush(nullptr);
  const HeldSignals signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
  Supervisor supervisor(signals, options);
  for (int index = 0; index < options.count; ++index) {
    const pid_t pid = fork_child(1);
    if (pid == 0) return become(*std::move(common), place.rank, index);
    if (pid < 0) {
      const auto error = failed(fmt::format("start rank {} of {}", index, options.count));
      supervisor.kill_all();
      [[maybe_unused]] const auto end = supervisor.wait();
      return error;
    }
    supervisor.add(place.rank * options.count + index, pid);
  }
  common->listener = Descriptor();
  return supervisor.wait();
}

}  // namespace muster::bench
