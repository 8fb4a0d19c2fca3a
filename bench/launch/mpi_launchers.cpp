// SPDX-License-Identifier: Apache-2.0
// Open MPI's mpirun, hydra (MPICH and Intel MPI), and PMIx.
#include <fmt/format.h>

#include "bench/launch/detection.hpp"

namespace muster::bench {
namespace {

constexpr SizeNames kOpenMpi{.rank = "OMPI_COMM_WORLD_RANK",
                             .world = "OMPI_COMM_WORLD_SIZE",
                             .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                             .local_world = "OMPI_COMM_WORLD_LOCAL_SIZE"};

constexpr SizeNames kHydra{.rank = "PMI_RANK",
                           .world = "PMI_SIZE",
                           .local_rank = "MPI_LOCALRANKID",
                           .local_world = "MPI_LOCALNRANKS"};

Result<Place> read_mpi_place(const Environment& environment, Launcher launcher,
                             const SizeNames& names, std::string_view program) {
  auto place = read_place(environment, names);
  if (!place) return place;
  place->launcher = launcher;
  place->mpi = true;
  place->evidence.push_back(fmt::format("started by {}: {} of {}", program,
                                        setting(environment, names.rank),
                                        setting(environment, names.world)));
  TRY(add_mpi_rendezvous(environment, *place));
  return place;
}

Detection see(const Environment& environment, Launcher launcher, const SizeNames& names,
              std::string_view program) {
  Detection result{.launcher = launcher, .missing = environment.missing({names.rank, names.world})};
  if (!environment.has(names.rank)) return result;
  result.seen = setting(environment, names.rank);
  if (!result.missing.empty()) return result;
  result.seen = fmt::format("{} of {}", result.seen, setting(environment, names.world));
  result.place = read_mpi_place(environment, launcher, names, program);
  return result;
}

// srun --mpi=pmi2 sets these too, but not hydra's local ranks.
bool is_of_srun(const Environment& environment) {
  return !environment.has(kHydra.local_rank) && environment.has("PMI_RANK") &&
         environment.text("PMI_RANK") == environment.text("SLURM_PROCID") &&
         environment.text("PMI_SIZE") == environment.text("SLURM_NTASKS");
}

}  // namespace

Detection detect_open_mpi(const Environment& environment, const LaunchFlags& /*flags*/) {
  return see(environment, Launcher::open_mpi, kOpenMpi, "Open MPI's mpirun");
}

Detection detect_hydra(const Environment& environment, const LaunchFlags& /*flags*/) {
  auto result = see(environment, Launcher::hydra, kHydra, "mpiexec of MPICH or Intel MPI");
  if (is_of_srun(environment)) result.unsuited = "srun has set it";
  return result;
}

// PMIx has no variable for the number of ranks, but srun has.
Detection detect_pmix(const Environment& environment, const LaunchFlags& /*flags*/) {
  constexpr std::string_view kRank = "PMIX_RANK";
  Detection result{.launcher = Launcher::pmix, .missing = environment.missing({kRank})};
  if (!environment.has(kRank) ||
      environment.text(kRank) == environment.text("OMPI_COMM_WORLD_RANK")) {
    return result;
  }
  result.seen = setting(environment, kRank);
  const std::string_view world =
      environment.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  if (!environment.has(world)) {
    result.place = make_error(
        fmt::format("{} is set, but the number of ranks is unknown: give --rank, --world and "
                    "--rendezvous, or start with mpirun or srun --mpi=pmix",
                    result.seen));
    return result;
  }
  result.seen = fmt::format("{} of {}", result.seen, setting(environment, world));
  auto slurm = detect_slurm(environment, {});
  const auto own = read_place(environment, {.rank = kRank, .world = world});
  if (!own || !slurm.place) {
    result.place = own ? slurm.place : own;
    return result;
  }
  if (slurm.missing.empty() && slurm.place->rank != own->rank) {
    result.place =
        make_error(fmt::format("{} contradicts {}: unset one of them, or name the launcher with "
                               "--launch",
                               setting(environment, kRank), setting(environment, "SLURM_PROCID")));
    return result;
  }
  result.place = slurm.missing.empty() ? *slurm.place : *own;
  result.place->launcher = Launcher::pmix;
  result.place->mpi = true;
  result.place->evidence = {fmt::format("started with PMIx: {}", result.seen)};
  return result;
}

}  // namespace muster::bench
