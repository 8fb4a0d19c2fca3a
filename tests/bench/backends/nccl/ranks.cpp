// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/backends/nccl/ranks.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

// A text that rank 0 leaves for the others.
struct Board {
  std::atomic<std::size_t> length{0};
  std::array<char, 4096> text{};
};

class SharedBoard {
 public:
  SharedBoard()
      : memory_(::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) {
    board_ = new (memory_) Board;  // NOLINT(cppcoreguidelines-owning-memory): in the mapping
  }

  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;

  ~SharedBoard() { ::munmap(memory_, sizeof(Board)); }

  std::string broadcast(int rank, const std::string& text) {
    if (rank == 0) {
      std::memcpy(board_->text.data(), text.data(), text.size());
      board_->length.store(text.size());
      return text;
    }
    while (board_->length.load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {board_->text.data(), board_->length.load()};
  }

 private:
  void* memory_;
  Board* board_ = nullptr;
};

NcclOptions options_of(const World& world, int rank, SharedBoard& board) {
  return {.cuda = fake_cuda(world.cuda),
          .nccl = fake_nccl(world.nccl),
          .rank = rank,
          .ranks = world.ranks,
          .local_rank = rank % world.gpus,
          .host = fmt::format("node{}", rank / world.gpus),
          .broadcast = [rank, &board](std::string_view text) -> Result<std::string> {
            return board.broadcast(rank, std::string(text));
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
  SharedBoard board;
  Children children;
  const auto deadline = Clock::now() + world.patience;
  for (int rank = 0; rank < world.ranks; ++rank) {
    children.start(fmt::format("{}", rank), deadline, [&, rank]() -> std::string {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): the child has one thread
      ::setenv("MUSTER_FAKE_GPU", (folder.path() / "scenario.json").c_str(), 1);
      auto backend = make_nccl_backend(options_of(world, rank, board));
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
