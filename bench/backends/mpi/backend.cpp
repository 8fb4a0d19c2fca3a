// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/backend.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <utility>

#include "bench/backends/host_backend.hpp"

namespace muster::bench::mpi {
namespace {

// This rank's equal share of the machine's memory. Returns after all ranks have measured it.
std::optional<std::uint64_t> room_of_rank() {
  const auto available = host_memory_available();
  MPI_Comm here = MPI_COMM_NULL;
  int ranks = 0;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) !=
      MPI_SUCCESS) {
    return std::nullopt;
  }
  const bool counted = MPI_Comm_size(here, &ranks) == MPI_SUCCESS && ranks > 0;
  MPI_Comm_free(&here);
  if (!available || !counted) return std::nullopt;
  return *available / static_cast<std::uint64_t>(ranks);
}

struct MpiCalls {
  CallPlan plan;
  int code = MPI_SUCCESS;

  [[nodiscard]] bool run() {
    code = plan.run();
    return code == MPI_SUCCESS;
  }

  [[nodiscard]] bool barrier() {
    code = MPI_Barrier(plan.communicator);
    return code == MPI_SUCCESS;
  }

  [[nodiscard]] Error error() const { return check(code, plan.use->name).error(); }
};

class MpiBackend final : public HostBackend<MpiCalls> {
 public:
  MpiBackend(std::string library, MPI_Comm communicator, int rank, int ranks, std::uint64_t most)
      : HostBackend("MPI", rank, ranks, room_of_rank()),
        library_(std::move(library)),
        communicator_(communicator),
        most_(most) {}

  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  ~MpiBackend() override {
    if (communicator_ != MPI_COMM_WORLD) MPI_Comm_free(&communicator_);
  }

  [[nodiscard]] std::string library() const override { return library_; }

  [[nodiscard]] Result<void> supports(const Operation& operation, const Pace& pace) const override {
    TRY(HostBackend::supports(operation, pace));
    return can_count(operation, rank(), ranks(), most_);
  }

 private:
  [[nodiscard]] MpiCalls calls_of(const Operation& operation,
                                  HostMemory::Buffers& buffers) override {
    if (definition_of(operation.collective).mpi.received_first) buffers.receive = buffers.whole;
    return {.plan = plan_of(operation, buffers, types_, communicator_, rank(), ranks(), most_)};
  }

  std::string library_;
  MPI_Comm communicator_;
  std::uint64_t most_;
  Types types_;
};

}  // namespace

Result<void> check(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    return make_error(fmt::format("{}: error {}", call, code));
  }
  return make_error(
      fmt::format("{}: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

// "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2\nMPICH Release date…", or "Intel(R) MPI
// Library 2021.5 for Linux* OS".
std::string library_name(std::string_view text) {
  text = text.substr(0, text.find_first_of(",\n"));
  std::string name;
  while (!text.empty()) {
    const auto end = text.find_first_of(" \t");
    auto word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (word.empty() || word == "Version:") continue;
    const bool is_version =
        word.size() > 1 && word[0] == 'v' && std::isdigit(static_cast<unsigned char>(word[1])) != 0;
    if (is_version) word.remove_prefix(1);
    if (!name.empty()) name += ' ';
    name += word;
  }
  return name;
}

Result<std::unique_ptr<Backend>> make_backend(std::string library, MPI_Comm communicator,
                                              std::uint64_t most) {
  int rank = 0;
  int ranks = 1;
  TRY(check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank"));
  TRY(check(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size"));
  return std::make_unique<MpiBackend>(std::move(library), communicator, rank, ranks, most);
}

}  // namespace muster::bench::mpi
