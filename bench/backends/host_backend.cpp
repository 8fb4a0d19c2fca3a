// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/host_backend.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bench/collectives/definition.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLargePage = std::size_t{2} << 20U;
// Larger buffers use large pages, which let Open MPI move 256 KiB and more a fifth faster, but 32
// KiB a tenth slower. Hence the two pairs of buffers.
constexpr std::uint64_t kLong = std::uint64_t{64} << 10U;

bool in_one_buffer(const Operation& operation) {
  return operation.in_place || definition_of(operation.collective).one_buffer;
}

// Returns the number in the line that begins with this word; if it is empty, the number in the
// first line.
std::optional<std::uint64_t> number_in(const Root& root, std::string_view path,
                                       std::string_view word = "") {
  const auto text = root.read(path).value_or("");
  for (auto line : split_lines(text)) {
    if (!line.starts_with(word)) continue;
    const auto words = split_words(line.substr(word.size()));
    const auto number = parse_unsigned(words.empty() ? "" : words.front());
    return number ? std::optional(*number) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<HostMemory::Area> HostMemory::allocate(std::uint64_t bytes, std::size_t page) {
  const auto size = (std::max<std::uint64_t>(bytes, 1) + page - 1) / page * page;
  Area area;
  area.memory.reset(static_cast<std::byte*>(
      std::aligned_alloc(page, size)));  // NOLINT(cppcoreguidelines-no-malloc): aligned
  if (!area.memory) return make_error("allocate {} bytes of host memory", size);
  area.bytes = bytes;
  // Only a hint: without large pages it is slower.
  if (page == kLargePage) (void)::madvise(area.memory.get(), size, MADV_HUGEPAGE);
  std::memset(area.memory.get(), 0, size);
  return area;
}

Result<HostMemory::Pair> HostMemory::allocate_pair(std::uint64_t send, std::uint64_t receive,
                                                   std::size_t page) {
  Pair pair;
  TRY_ASSIGN(pair.receive, allocate(receive, page));
  TRY_ASSIGN(pair.send, allocate(send, send == 0 ? kPage : page));
  return pair;
}

Result<void> HostMemory::reserve(const Operation& largest) {
  // The byte type loses the least to rounding, so its buffers are the largest.
  auto in_bytes = largest;
  in_bytes.type = Type::u8;
  const auto shape = shape_of(in_bytes, rank_, ranks_);
  const auto receive = std::max(shape.send, shape.receive);
  const auto send = in_one_buffer(largest) ? 0 : shape.send;
  const auto large = receive < kLong ? 0 : send + receive;
  const auto need = std::min(send, kLong) + std::min(receive, kLong) + large;
  if (room_ && need > *room_) {
    return make_error("buffers need {}, but this rank's share of the host's available memory is {}",
                      size_text(need), size_text(*room_));
  }
  short_ = {};
  long_ = {};
  TRY_ASSIGN(short_, allocate_pair(std::min(send, kLong), std::min(receive, kLong), kPage));
  if (receive >= kLong) {
    TRY_ASSIGN(long_, allocate_pair(send, receive, kLargePage));
  }
  return {};
}

Result<HostMemory::Buffers> HostMemory::lay_out(const Operation& operation) const {
  const auto shape = shape_of(operation, rank_, ranks_);
  const auto width = size_of(operation.type);
  const bool one = in_one_buffer(operation);
  const auto all = std::max(shape.send, shape.receive) * width;
  const auto& pair = all < kLong ? short_ : long_;
  if (!pair.receive.memory || all > pair.receive.bytes ||
      (!one && shape.send * width > pair.send.bytes)) {
    return make_error("{} of {} bytes needs more memory than was reserved",
                      to_string(operation.collective), operation.bytes);
  }
  Buffers buffers{.shape = shape,
                  .whole = pair.receive.memory.get(),
                  .expected = expected_of(operation, rank_, ranks_)};
  buffers.send = one ? buffers.whole + shape.send_at * width : pair.send.memory.get();
  buffers.receive = one ? buffers.whole + shape.receive_at * width : buffers.whole;
  return buffers;
}

void HostMemory::poison_and_fill(const Operation& operation, const Buffers& buffers) const {
  const auto width = size_of(operation.type);
  for (const auto& segment : buffers.expected) {
    fill_host(buffers.receive + segment.first * width, segment.count, width,
              poison_of(segment, width));
  }
  if (buffers.shape.send == 0) return;
  fill_host(buffers.send, buffers.shape.send, width, input_of(operation, rank_, ranks_));
}

std::vector<Wrong> HostMemory::verify(const Operation& operation, const Buffers& buffers) const {
  Wrong wrong{.rank = rank_};
  verify_host(buffers.receive, size_of(operation.type), buffers.expected, wrong);
  if (wrong.elements == 0) return {};
  return {wrong};
}

void for_each_group(const Root& root, const std::function<void(const std::string& folder)>& use) {
  const auto text = root.read("/proc/self/cgroup");
  if (!text || !text->starts_with("0::")) return;
  auto path = std::string(trim(text->substr(3, text->find('\n') - 3)));
  for (;;) {
    use(fmt::format("/sys/fs/cgroup{}", path == "/" ? "" : path));
    if (path.size() <= 1) return;
    path.resize(path.rfind('/'));
    if (path.empty()) path = "/";
  }
}

std::optional<std::uint64_t> host_memory_available(const Root& root) {
  auto bytes = number_in(root, "/proc/meminfo", "MemAvailable:");
  if (!bytes) return std::nullopt;
  *bytes *= 1024;
  for_each_group(root, [&](const std::string& folder) {
    const auto limit = number_in(root, fmt::format("{}/memory.max", folder));
    const auto used = number_in(root, fmt::format("{}/memory.current", folder));
    if (!limit || !used) return;
    const auto cached = number_in(root, fmt::format("{}/memory.stat", folder), "inactive_file");
    const auto kept = *used - std::min(*used, cached.value_or(0));
    bytes = std::min(*bytes, *limit - std::min(*limit, kept));
  });
  return bytes;
}

Member host_member(int rank) {
  return {.rank = rank,
          .host = host_name(),
          .pid = ::getpid(),
          .device = "host memory",
          .device_id = "host"};
}

}  // namespace muster::bench
