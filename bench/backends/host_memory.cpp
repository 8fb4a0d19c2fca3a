// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/host_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace muster::bench {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLargePage = std::size_t{2} << 20U;

// No value of a pattern: as a floating-point number it is none, and -1 as a signed integer.
constexpr int kPoison = 0xff;

bool in_one_buffer(const Operation& operation) {
  return operation.in_place || operation.collective == Collective::broadcast;
}

}  // namespace

void HostMemory::Free::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): aligned_alloc has no other end
}

Result<HostMemory::Area> HostMemory::allocate(std::uint64_t bytes) {
  // Buffers of a large page and more begin at one, so that the kernel may use such.
  const auto alignment = bytes >= kLargePage ? kLargePage : kPage;
  const auto size = (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  Area area;
  area.memory.reset(static_cast<std::byte*>(
      std::aligned_alloc(alignment, size)));  // NOLINT(cppcoreguidelines-no-malloc): aligned
  if (!area.memory) return make_error(fmt::format("allocate {} bytes of host memory", size));
  area.bytes = bytes;
  std::memset(area.memory.get(), 0, size);
  return area;
}

Result<void> HostMemory::reserve(const Operation& largest) {
  // Of all types, bytes are rounded down the least.
  auto in_bytes = largest;
  in_bytes.type = Type::u8;
  const auto shape = shape_of(in_bytes, rank_, ranks_);
  send_ = {};
  receive_ = {};
  auto receive = allocate(std::max(shape.send, shape.receive));
  if (!receive) return tl::unexpected(receive.error());
  receive_ = *std::move(receive);
  auto send = allocate(in_one_buffer(largest) ? 0 : shape.send);
  if (!send) return tl::unexpected(send.error());
  send_ = *std::move(send);
  return {};
}

Result<HostMemory::Buffers> HostMemory::lay_out(const Operation& operation) const {
  const auto shape = shape_of(operation, rank_, ranks_);
  const auto width = size_of(operation.type);
  const bool one = in_one_buffer(operation);
  const auto needed = one ? std::max(shape.send, shape.receive) : shape.receive;
  if (needed * width > receive_.bytes || (!one && shape.send * width > send_.bytes) ||
      !receive_.memory) {
    return make_error(fmt::format("{} of {} bytes needs more memory than was reserved",
                                  to_string(operation.collective),
                                  operation.bytes));
  }
  Buffers buffers{.shape = shape, .whole = receive_.memory.get()};
  buffers.send = one ? buffers.whole + shape.send_at * width : send_.memory.get();
  buffers.receive = one ? buffers.whole + shape.receive_at * width : buffers.whole;
  return buffers;
}

void HostMemory::fill(const Operation& operation, const Buffers& buffers) const {
  if (buffers.shape.send == 0) return;
  fill_host(buffers.send,
            buffers.shape.send,
            size_of(operation.type),
            input_of(operation, rank_, ranks_));
}

void HostMemory::poison_and_fill(const Operation& operation, const Buffers& buffers) const {
  const auto& shape = buffers.shape;
  const auto used = in_one_buffer(operation) ? std::max(shape.send, shape.receive) : shape.receive;
  std::memset(buffers.whole, kPoison, used * size_of(operation.type));
  fill(operation, buffers);
}

std::vector<Wrong> HostMemory::verify(const Operation& operation, const Buffers& buffers) const {
  Wrong wrong{.rank = rank_};
  verify_host(
      buffers.receive, size_of(operation.type), expected_of(operation, rank_, ranks_), wrong);
  if (wrong.elements == 0) return {};
  return {wrong};
}

Member host_member(int rank) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host.front() = '\0';
  return {.rank = rank,
          .host = host.data(),
          .pid = ::getpid(),
          .device = "host memory",
          .device_id = "host"};
}

}  // namespace muster::bench
