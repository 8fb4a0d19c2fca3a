// SPDX-License-Identifier: Apache-2.0
// The RDMA devices as libibverbs, and so every MPI and NCCL, sees them: which it lists, whether
// they open, what their ports say, and whether memory can be registered.
#include <dlfcn.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::size_t kPage = 4096;

// Opened by name, so that muster runs where it is not installed.
struct Library {
  decltype(&ibv_get_device_list) list = nullptr;
  decltype(&ibv_free_device_list) free_list = nullptr;
  decltype(&ibv_get_device_name) name = nullptr;
  decltype(&ibv_open_device) open = nullptr;
  decltype(&ibv_close_device) close = nullptr;
  decltype(&ibv_query_device) query_device = nullptr;
  decltype(&ibv_query_port) query_port = nullptr;
  decltype(&ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&ibv_reg_mr) reg_mr = nullptr;
  decltype(&ibv_dereg_mr) dereg_mr = nullptr;
};

Result<Library> open_library() {
  // Never closed: the probe's child ends soon.
  void* const handle = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return make_missing(printable(::dlerror()));
  Library library;
  bool complete = true;
  const auto bind = [&](auto& function, const char* name) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is for.
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    complete = complete && function != nullptr;
  };
  bind(library.list, "ibv_get_device_list");
  bind(library.free_list, "ibv_free_device_list");
  bind(library.name, "ibv_get_device_name");
  bind(library.open, "ibv_open_device");
  bind(library.close, "ibv_close_device");
  bind(library.query_device, "ibv_query_device");
  bind(library.query_port, "ibv_query_port");
  bind(library.alloc_pd, "ibv_alloc_pd");
  bind(library.dealloc_pd, "ibv_dealloc_pd");
  bind(library.reg_mr, "ibv_reg_mr");
  bind(library.dereg_mr, "ibv_dereg_mr");
  if (!complete) return make_error("libibverbs.so.1 lacks a function");
  return library;
}

std::string cause(int error) { return std::generic_category().message(error); }

unsigned mtu_bytes(ibv_mtu mtu) {
  const auto number = static_cast<unsigned>(mtu);
  return number >= IBV_MTU_256 && number <= IBV_MTU_4096 ? 128U << number : 0;
}

// The library's numbers are bits: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X.
unsigned lanes(unsigned active_width) {
  switch (active_width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

Result<std::vector<VerbsPort>> query_ports(const Library& library,
                                           ibv_context* context,
                                           std::string_view name) {
  ibv_device_attr device{};
  if (const int error = library.query_device(context, &device); error != 0) {
    return make_error(fmt::format("query device {}: {}", name, cause(error)));
  }
  std::vector<VerbsPort> ports;
  for (unsigned number = 1; number <= device.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    // The function takes the beginning of the structure, which has all that is read here.
    // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast)
    const int error = library.query_port(context,
                                         static_cast<std::uint8_t>(number),
                                         reinterpret_cast<_compat_ibv_port_attr*>(&port));
    // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
    if (error != 0) {
      return make_error(fmt::format("query port {} of {}: {}", number, name, cause(error)));
    }
    ports.push_back({.number = number,
                     .state = static_cast<unsigned>(port.state),
                     .physical_state = port.phys_state,
                     .active_mtu_bytes = mtu_bytes(port.active_mtu),
                     .width = lanes(port.active_width),
                     .active_speed = port.active_speed,
                     .lid = port.lid,
                     .sm_lid = port.sm_lid});
  }
  return ports;
}

// One page: enough to meet the limit of locked memory and an IOMMU that refuses.
Fact<bool> register_memory(const Library& library, ibv_context* context, std::string_view name) {
  const std::unique_ptr<ibv_pd, int (*)(ibv_pd*)> domain(library.alloc_pd(context),
                                                         library.dealloc_pd);
  if (!domain) {
    return Fact<bool>::unreadable(
        fmt::format("allocate a protection domain on {}: {}", name, cause(errno)));
  }
  alignas(kPage) static std::array<char, kPage> page;
  ibv_mr* const region =
      library.reg_mr(domain.get(), page.data(), page.size(), IBV_ACCESS_LOCAL_WRITE);
  if (region == nullptr) {
    return Fact<bool>::unreadable(fmt::format("register memory on {}: {}", name, cause(errno)));
  }
  library.dereg_mr(region);
  return true;
}

VerbsDevice query_device(const Library& library, ibv_device* device) {
  VerbsDevice result{.name = printable(library.name(device), 64), .ports = {}, .registers = {}};
  const std::unique_ptr<ibv_context, int (*)(ibv_context*)> context(library.open(device),
                                                                    library.close);
  if (!context) {
    const std::string why = fmt::format("open {}: {}", result.name, cause(errno));
    result.ports = Fact<std::vector<VerbsPort>>::unreadable(why);
    result.registers = Fact<bool>::unreadable(why);
    return result;
  }
  result.ports = query_ports(library, context.get(), result.name);
  result.registers = register_memory(library, context.get(), result.name);
  return result;
}

Section<Verbs> without(Status status, std::string reason) {
  Section<Verbs> section;
  section.status = status;
  section.reason = std::move(reason);
  return section;
}

}  // namespace

// Below a foreign root nothing is asked. The library talks to the running kernel first, and where
// that has no RDMA core it still looks for its character devices in the host's own /dev: whatever
// it listed would be about this host, or about both.
Section<Verbs> probe_verbs(const Root& root) {
  if (root.foreign()) {
    return without(Status::absent,
                   "libibverbs asks the running kernel, which a foreign root has not");
  }
  const auto library = open_library();
  if (!library) return without(Status::absent, library.error().message);
  int count = 0;
  errno = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(library->list(&count),
                                                                  library->free_list);
  if (!list) {
    const int error = errno;
    if (error == ENOSYS) {
      return without(Status::absent,
                     "libibverbs finds no interface to the kernel: ib_uverbs is not loaded");
    }
    return without(Status::error, fmt::format("list RDMA devices: {}", cause(error)));
  }
  Verbs facts;
  for (int index = 0; index < count; ++index) {
    facts.devices.push_back(query_device(*library, list.get()[index]));
  }
  std::ranges::sort(facts.devices, {}, &VerbsDevice::name);
  return observed(std::move(facts));
}

}  // namespace muster
