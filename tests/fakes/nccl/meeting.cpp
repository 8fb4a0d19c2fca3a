// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nccl/meeting.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "lib/base/descriptor.hpp"

namespace muster::fakes::gpu {
namespace {

constexpr std::string_view kPrefix = "/proc/";

}  // namespace

bool open_meeting(bench::nccl::UniqueId& id) {
  const int file = ::memfd_create("muster-fake-nccl", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, sizeof(Meeting)) != 0) return false;
  const auto path = fmt::format("{}{}/fd/{}", kPrefix, ::getpid(), file);
  id.bytes.fill('\0');
  std::memcpy(id.bytes.data(), path.data(), path.size());
  return true;
}

Meeting* join_meeting(const bench::nccl::UniqueId& id) {
  if (id.bytes.back() != '\0' || !std::string_view(id.bytes.data()).starts_with(kPrefix)) {
    return nullptr;
  }
  const Descriptor file(::open(id.bytes.data(), O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return nullptr;
  void* memory =
      ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr): the macro's
  if (memory == MAP_FAILED) return nullptr;
  return static_cast<Meeting*>(memory);
}

void leave_meeting(Meeting* meeting) { ::munmap(meeting, sizeof(Meeting)); }

}  // namespace muster::fakes::gpu
