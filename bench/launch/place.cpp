// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "bench/launch/environment.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kMaxRanks = 1U << 24U;

tl::unexpected<Error> malformed(std::string_view name, std::string_view value,
                                std::string_view expected) {
  return make_error("{}={}: expected {}; {}", name, printable(value, 60), expected, kLaunchRemedy);
}

Result<void> check_below(int number, std::string_view name, int bound, std::string_view of) {
  if (number < bound) return {};
  return make_error("{}={} contradicts {}={}: ranks are counted from 0; {}", name, number, of,
                    bound, kLaunchRemedy);
}

using Detections = std::vector<Detection>;

// In order of priority. Slurm comes late: inside an allocation mpirun's processes all have
// SLURM_PROCID=0, so every process would think it is rank 0.
constexpr std::array kDetectors{detect_torchrun, detect_open_mpi, detect_hydra,
                                detect_pmix,     detect_slurm,    detect_tf_config};

std::string why_ignored(const Detection& ignored, const Place& place, const LaunchFlags& flags) {
  if (flags.launcher) return fmt::format("--launch names {}", to_string(*flags.launcher));
  if (place.launcher == Launcher::flags) return "--rank and --world come first";
  if (!ignored.missing.empty()) {
    return fmt::format("{} {} not set", fmt::join(ignored.missing, " and "),
                       ignored.missing.size() == 1 ? "is" : "are");
  }
  const bool mpirun = place.launcher == Launcher::open_mpi || place.launcher == Launcher::hydra;
  if (mpirun && ignored.launcher == Launcher::slurm) return "mpirun inside an allocation";
  if (!ignored.unsuited.empty()) return ignored.unsuited;
  return fmt::format("{} comes first", to_string(place.launcher));
}

void add_ignored(const Detections& detections, const LaunchFlags& flags, Place& place) {
  for (const auto& each : detections) {
    if (each.seen.empty() || each.launcher == place.launcher) continue;
    const bool same = each.missing.empty() && each.place && each.place->rank == place.rank &&
                      each.place->world == place.world;
    if (same) continue;
    place.evidence.push_back(
        fmt::format("{} is ignored: {}", each.seen, why_ignored(each, place, flags)));
  }
}

// Compares RANK and WORLD_SIZE with another launcher. That may have started torchrun itself, once
// per node. Without LOCAL_WORLD_SIZE it is not torchrun, and the two must agree.
Result<void> reconcile(const Detections& detections, Place& place) {
  for (const auto& other : detections) {
    const bool counts = other.suited() && other.place && other.launcher != Launcher::torchrun &&
                        other.launcher != Launcher::tf_config && other.place->world > 1;
    if (!counts) continue;
    const bool same = other.place->rank == place.rank && other.place->world == place.world;
    if (!same && !place.local_world) {
      return make_error(
          "RANK={} of WORLD_SIZE={} and {} contradict each other: unset RANK and "
          "WORLD_SIZE, or choose with --launch torchrun or --launch {}",
          place.rank, place.world, other.seen, to_string(other.launcher));
    }
    if (!same || !other.place->mpi) continue;
    place.mpi = true;
    place.evidence.push_back(fmt::format("{} agrees: MPI_Init may be called", other.seen));
    if (!place.local_rank) place.local_rank = other.place->local_rank;
    if (!place.local_world) place.local_world = other.place->local_world;
    return {};
  }
  return {};
}

Place from_flags(const LaunchFlags& flags) {
  Place place{.launcher = Launcher::flags, .rank = *flags.rank, .world = *flags.world};
  place.evidence.push_back(
      fmt::format("given by --rank and --world: rank {} of {}", place.rank, place.world));
  return place;
}

Place all_alone(std::string why) {
  Place place{.local_rank = 0, .local_world = 1};
  place.evidence.push_back(std::move(why));
  return place;
}

Result<Place> forced(const Detections& detections, Launcher launcher) {
  if (launcher == Launcher::alone) return all_alone("a single process: --launch alone");
  const auto found = std::ranges::find(detections, launcher, &Detection::launcher);
  if (!found->missing.empty()) {
    return make_error("--launch {} needs {} in the environment", to_string(launcher),
                      fmt::join(found->missing, ", "));
  }
  return found->place;
}

// If RANK and WORLD_SIZE name other ranks, fails rather than start N one-process runs.
Result<Place> alone_or_lost(const Environment& environment, const Detection& torchrun) {
  const bool others = environment.has("RANK") && environment.has("WORLD_SIZE") &&
                      environment.text("WORLD_SIZE") != "1";
  if (!others) return all_alone("a single process: no launcher was detected");
  return make_error(
      "{} is set, and MASTER_ADDR is not: set it to rank 0's host, or give --rendezvous, or "
      "--launch alone for a single process",
      torchrun.seen);
}

Result<Place> choose(const Environment& environment, const LaunchFlags& flags,
                     const Detections& detections) {
  if (flags.rank) return from_flags(flags);
  if (flags.launcher) return forced(detections, *flags.launcher);
  const auto found = std::ranges::find_if(detections, &Detection::suited);
  if (found == detections.end()) return alone_or_lost(environment, detections.front());
  TRY_ASSIGN(auto place, found->place);
  if (place.launcher == Launcher::torchrun) TRY(reconcile(detections, place));
  return place;
}

}  // namespace

std::string_view Environment::text(std::string_view name) const {
  const auto found = variables_->find(std::string(name));
  return found == variables_->end() ? std::string_view{} : std::string_view(found->second);
}

std::vector<std::string_view> Environment::missing(
    const std::vector<std::string_view>& names) const {
  std::vector<std::string_view> result;
  for (const auto name : names) {
    if (!has(name)) result.push_back(name);
  }
  return result;
}

Result<std::optional<int>> Environment::number(std::string_view name) const {
  const auto value = text(name);
  if (value.empty()) return std::nullopt;
  const auto parsed = parse_unsigned(value);
  if (!parsed || *parsed > kMaxRanks) return malformed(name, value, "a whole number");
  return static_cast<int>(*parsed);
}

Result<std::uint16_t> Environment::port(std::string_view name, std::uint16_t otherwise) const {
  const auto value = text(name);
  if (value.empty()) return otherwise;
  const auto parsed = parse_unsigned(value);
  if (!parsed || *parsed == 0 || *parsed > UINT16_MAX) {
    return malformed(name, value, "a port from 1 to 65535");
  }
  return static_cast<std::uint16_t>(*parsed);
}

std::string setting(const Environment& environment, std::string_view name) {
  return fmt::format("{}={}", name, printable(environment.text(name), 60));
}

Result<void> check_place(const Place& place, const SizeNames& names) {
  if (place.world == 0) {
    return make_error("{}=0: expected at least one rank; {}", names.world, kLaunchRemedy);
  }
  TRY(check_below(place.rank, names.rank, place.world, names.world));
  if (place.local_rank && place.local_world) {
    return check_below(*place.local_rank, names.local_rank, *place.local_world, names.local_world);
  }
  return {};
}

Result<Place> read_place(const Environment& environment, const SizeNames& names) {
  TRY_ASSIGN(const auto rank, environment.number(names.rank));
  TRY_ASSIGN(const auto world, environment.number(names.world));
  TRY_ASSIGN(const auto local_rank, environment.number(names.local_rank));
  TRY_ASSIGN(const auto local_world, environment.number(names.local_world));
  Place place{.rank = rank.value_or(0),
              .world = world.value_or(0),
              .local_rank = local_rank,
              .local_world = local_world};
  TRY(check_place(place, names));
  if (place.local_world && *place.local_world > place.world) {
    return make_error("{}={} is more than {}={}: {}", names.local_world, *place.local_world,
                      names.world, place.world, kLaunchRemedy);
  }
  return place;
}

std::uint16_t port_of_job(std::string_view job) {
  constexpr std::uint32_t kFirst = 10000;
  constexpr std::uint32_t kCount = 20000;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return static_cast<std::uint16_t>(kFirst + hash % kCount);
}

std::uint16_t shifted_port(std::uint16_t port) {
  const int sum = port + kPortOffset;
  return static_cast<std::uint16_t>(sum <= UINT16_MAX ? sum : port - kPortOffset);
}

Result<Launcher> parse_launcher(std::string_view name) {
  const auto launcher = parse_word<Launcher>(name);
  if (launcher && launcher != Launcher::flags) return *launcher;
  return make_error("unknown launcher \"{}\": expected {}", printable(name, 60),
                    fmt::join(std::span(kLauncherWords).subspan(1), ", "));
}

Result<Place> find_place(const Variables& variables, const LaunchFlags& flags) {
  const Environment environment(variables);
  Detections detections;
  for (const auto detect : kDetectors) detections.push_back(detect(environment, flags));
  TRY_ASSIGN(auto place, choose(environment, flags, detections));
  add_ignored(detections, flags, place);
  if (flags.rendezvous) {
    place.rendezvous = flags.rendezvous;
    place.evidence.push_back(fmt::format("rank 0 listens on {} port {}: --rendezvous",
                                         flags.rendezvous->host, flags.rendezvous->port));
  }
  return place;
}

}  // namespace muster::bench
