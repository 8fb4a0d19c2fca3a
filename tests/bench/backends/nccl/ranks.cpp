// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/backends/nccl/ranks.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

// Returns rank 0's text, which it leaves in a file for the others.
std::string broadcast(int rank, std::string_view text, const TempDir& folder) {
  if (rank == 0) {
    folder.write("new", text);
    std::filesystem::rename(folder.path() / "new", folder.path() / "text");
  }
  while (!std::filesystem::exists(folder.path() / "text")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return folder.read("text");
}

NcclOptions options_of(const World& world, int rank, const TempDir& folder) {
  return {.cuda = fake_cuda(world.cuda),
          .nccl = fake_nccl(world.nccl),
          .rank = rank,
          .ranks = world.ranks,
          .local_rank = rank % world.gpus,
          .host = fmt::format("node{}", rank / world.gpus),
          .broadcast = [rank, &folder](std::string_view text) -> Result<std::string> {
            return broadcast(rank, text, folder);
          },
          .forming_limit = world.forming_limit,
          .registered = world.registered,
          .bind = world.bind,
          .root = world.root};
}

}  // namespace

std::string fake_cuda(std::string_view folder) {
  return fmt::format("{}/{}/libcuda.so.1", MUSTER_FAKES, folder);
}

std::string fake_nccl(std::string_view folder) {
  return fmt::format("{}/{}/libnccl.so.2", MUSTER_FAKES, folder);
}

std::string run_alone(const std::string& scenario, const std::function<std::string()>& work) {
  const TempDir folder;
  folder.write("scenario.json", scenario);
  Children children;
  children.start("alone", std::chrono::seconds(20), [&] {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the child has one thread
    ::setenv("MUSTER_FAKE_GPU", (folder.path() / "scenario.json").c_str(), 1);
    return work();
  });
  const auto answer = children.next().second;
  return answer.end == ChildAnswer::End::answered ? answer.bytes : answer.reason;
}

std::vector<std::string> run_ranks(const World& world,
                                   const std::function<std::string(Backend&)>& work) {
  const TempDir folder;
  folder.write("scenario.json", world.scenario);
  Children children;
  const auto deadline = Clock::now() + world.patience;
  for (int rank = 0; rank < world.ranks; ++rank) {
    children.start(fmt::format("{}", rank), deadline, [&, rank]() -> std::string {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): the child has one thread
      ::setenv("MUSTER_FAKE_GPU", (folder.path() / "scenario.json").c_str(), 1);
      auto backend = make_nccl_backend(options_of(world, rank, folder));
      if (!backend) return fmt::format("error: {}", backend.error().message);
      return work(**backend);
    });
  }
  std::vector<std::string> answers(static_cast<std::size_t>(world.ranks));
  for (auto next = children.next(); !next.first.empty(); next = children.next()) {
    const auto& answer = next.second;
    answers.at(*parse_unsigned(next.first)) =
        answer.end == ChildAnswer::End::answered ? answer.bytes : answer.reason;
  }
  return answers;
}

}  // namespace muster::bench
