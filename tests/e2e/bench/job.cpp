// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/bench/job.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "bench/launch/place.hpp"
#include "lib/base/descriptor.hpp"

namespace muster::e2e {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLookAgain = std::chrono::milliseconds(5);
constexpr const char* kMark = "MUSTER_E2E_JOB";

// Calls `look` until it returns something.
template <class Look>
pid_t wait_for_process(const Look& look) {
  pid_t pid = -1;
  static_cast<void>(wait_for([&] { return (pid = look()) > 0; }, kJobPatience));
  return pid;
}

std::string next_mark() {
  static std::atomic<int> number{0};
  return fmt::format("{}.{}", ::getpid(), ++number);
}

}  // namespace

nlohmann::json Ended::report() const {
  auto report = nlohmann::json::parse(out, nullptr, false);
  EXPECT_TRUE(report.is_object()) << out << err;
  return report;
}

nlohmann::json finding_of(const nlohmann::json& report, const std::string& check) {
  if (!report.is_object()) return nullptr;
  for (const auto& finding : report.value("findings", nlohmann::json::array())) {
    if (finding.value("check", "") == check) return finding;
  }
  return nullptr;
}

std::string outcome_of(const nlohmann::json& report, const std::string& check) {
  if (!report.is_object()) return {};
  for (const auto& each : report.value("checks", nlohmann::json::array())) {
    if (each.value("id", "") == check) return each.value("outcome", "");
  }
  return {};
}

std::string message_of(const nlohmann::json& report, const std::string& check) {
  const auto finding = finding_of(report, check);
  return finding.is_object() ? finding.value("message", "") : "";
}

Job::Job() : mark_(next_mark()) {}

Job::~Job() {
  for (const auto pid : alive()) ::kill(pid, SIGKILL);
}

std::size_t Job::start(const Words& words, const Variables& variables) {
  Variables settings{
      {kMark, mark_},
      {"MUSTER_DATA_DIR", fmt::format("{}/configs", MUSTER_SOURCE_DIR)},
      {"OMPI_MCA_mpi_yield_when_idle", "1"},
      // all ranks are local; Open MPI 5 complains about addresses it cannot pair
      {"OMPI_MCA_btl", "^tcp"},
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      // Open MPI 4 fails if another job removes the session folder that all share by default.
      {"OMPI_MCA_orte_tmpdir_base", folder().string()},
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
  };
  for (const auto* name : {"PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR", "MUSTER_MPI_MODULE"}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets any here
    if (const char* value = std::getenv(name)) settings.emplace(name, value);
  }
  settings.insert(variables.begin(), variables.end());
  const auto number = started_.size();
  started_.push_back(std::make_unique<Process>(words, settings,
                                               folder_.path(fmt::format("{}.out", number)),
                                               folder_.path(fmt::format("{}.err", number))));
  return number;
}

Ended Job::end_of(std::size_t process, std::chrono::seconds patience) {
  const int status = started_.at(process)->wait(patience);
  if (status < 0) {
    for (const auto pid : alive()) ::kill(pid, SIGKILL);
  }
  return {.status = status, .out = out_of(process), .err = err_of(process)};
}

Ended Job::end_of_ranks(int ranks, int status) {
  Ended first;
  for (int rank = 0; rank < ranks; ++rank) {
    auto ended = end_of(static_cast<std::size_t>(rank));
    EXPECT_EQ(ended.status, status) << "rank " << rank << ": " << ended.err << ended.out;
    if (rank == 0) {
      first = std::move(ended);
    } else {
      EXPECT_EQ(ended.out, "") << "rank " << rank;
    }
  }
  EXPECT_TRUE(leaves_nothing());
  return first;
}

Ended Job::end_of_mpirun(std::size_t process) {
  constexpr auto kItsOwnEnd = std::chrono::seconds(10);
  auto& started = *started_.at(process);
  const auto until = Clock::now() + kJobPatience;
  auto alone_since = Clock::now();
  while (started.running() && Clock::now() < until) {
    if (alive() != std::vector{started.pid()}) alone_since = Clock::now();
    if (Clock::now() - alone_since > kItsOwnEnd) started.signal(SIGKILL);
    std::this_thread::sleep_for(kLookAgain);
  }
  return end_of(process, std::chrono::seconds(0));
}

std::string Job::out_of(std::size_t process) const {
  return content_of(folder() / fmt::format("{}.out", process));
}

std::string Job::err_of(std::size_t process) const {
  return content_of(folder() / fmt::format("{}.err", process));
}

::testing::AssertionResult Job::says(std::size_t process, std::string_view text) {
  const auto until = Clock::now() + kJobPatience;
  for (bool ended = false; !ended && Clock::now() < until;) {
    std::this_thread::sleep_for(kLookAgain);
    ended = !started_.at(process)->running();  // before the look, so that its last output counts
    if (out_of(process).find(text) != std::string::npos) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << fmt::format("\"{}\" was not said, but:\n{}{}", text, out_of(process), err_of(process));
}

pid_t Job::rank_under_mpirun(int rank) const {
  const auto wanted = fmt::format("OMPI_COMM_WORLD_RANK={}", rank);
  return wait_for_process([&] {
    for (const auto& seen : live()) {
      const auto at = seen.variables.find(wanted);
      if (at != std::string::npos && seen.variables[at + wanted.size()] == '\0') return seen.pid;
    }
    return pid_t{-1};
  });
}

pid_t Job::local_rank_of(std::size_t process, int rank) const {
  return wait_for_process([&] {
    int index = 0;
    for (const auto& seen : live()) {
      if (seen.parent == pid_of(process) && index++ == rank) return seen.pid;
    }
    return pid_t{-1};
  });
}

std::vector<LiveProcess> Job::live() const {
  auto all = other_processes();
  const auto setting = fmt::format("{}={}", kMark, mark_);
  std::erase_if(all, [&](const LiveProcess& each) {
    return each.variables.find(setting) == std::string::npos;
  });
  return all;
}

std::vector<pid_t> Job::alive() const {
  std::vector<pid_t> pids;
  for (const auto& each : live()) pids.push_back(each.pid);
  return pids;
}

bool Job::leaves_nothing() const {
  return wait_for([this] { return alive().empty(); }, kJobPatience);
}

std::string Job::write(std::string_view name, std::string_view content) const {
  folder_.write(name, content);
  return (folder() / name).string();
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words muster_bench(const Words& words) { return with({MUSTER_BENCH_PROGRAM}, words); }

Words on_fake_gpus(Words words, const Words& more) {
  words.push_back(fmt::format("--cuda={}/cuda/libcuda.so.1", MUSTER_FAKES));
  words.push_back(fmt::format("--nccl={}/nccl/libnccl.so.2", MUSTER_FAKES));
  return with(std::move(words), more);
}

Words mpirun(int ranks, const Words& words) {
  Words all{"mpirun", "-n", std::to_string(ranks)};
  if (ranks > 2) all.emplace_back("--oversubscribe");
  return with(std::move(all), words);
}

Variables torchrun(int rank, int world, int port, int per_node) {
  const int local = per_node == 0 ? world : per_node;
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(world)},
          {"LOCAL_RANK", std::to_string(rank % local)},
          {"LOCAL_WORLD_SIZE", std::to_string(local)},
          {"GROUP_RANK", std::to_string(rank / local)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

int free_port() {
  const auto bound = [](int wanted) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{.sin_family = AF_INET,
                        .sin_port = ::htons(static_cast<std::uint16_t>(wanted)),
                        .sin_addr = {.s_addr = ::htonl(INADDR_LOOPBACK)}};
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    const bool done = ::bind(socket.get(), generic, length) == 0 &&
                      ::getsockname(socket.get(), generic, &length) == 0;
    return done ? static_cast<int>(::ntohs(address.sin_port)) : 0;
  };
  // Under torchrun the program listens a little above MASTER_PORT.
  for (int tries = 0; tries < 100; ++tries) {
    const int port = bound(0);
    if (port > 0 && port + bench::kPortOffset < 65536 && bound(port + bench::kPortOffset) > 0) {
      return port;
    }
  }
  return 0;
}

bool has_mpirun() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  static const bool found = std::system("command -v mpirun >/dev/null 2>&1") == 0;
  return found;
}

}  // namespace muster::e2e
