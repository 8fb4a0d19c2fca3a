// SPDX-License-Identifier: Apache-2.0
// The RDMA devices as seen by libibverbs, and so by every MPI and NCCL: whether they open, the
// state of their ports, and whether memory can be registered.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"
#include "lib/probes/verbs/library.hpp"

namespace muster {
namespace {

constexpr std::size_t kPage = 4096;

unsigned mtu_bytes(ibv_mtu mtu) {
  const auto number = static_cast<unsigned>(mtu);
  return number >= IBV_MTU_256 && number <= IBV_MTU_4096 ? 128U << number : 0;
}

// The library's numbers are bits: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X.
unsigned lanes(unsigned active_width) {
  using Width = std::pair<unsigned, unsigned>;
  for (const auto& [bit, count] :
       {Width{1, 1}, Width{2, 4}, Width{4, 8}, Width{8, 12}, Width{16, 2}}) {
    if (bit == active_width) return count;
  }
  return 0;
}

Result<std::vector<VerbsPort>> query_ports(const VerbsLibrary& library, ibv_context* context,
                                           std::string_view name) {
  ibv_device_attr device{};
  if (const int error = library.query_device(context, &device); error != 0) {
    return os_error("query device", name, error);
  }
  std::vector<VerbsPort> ports;
  for (unsigned number = 1; number <= device.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    const int error = library.port(context, number, port);
    if (error != 0) {
      return os_error(fmt::format("query port {} of", number), name, error);
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

// Registers one page: enough to detect a limit of locked memory or a refusing IOMMU.
Fact<bool> register_memory(const VerbsLibrary& library, ibv_context* context,
                           std::string_view name) {
  const std::unique_ptr<ibv_pd, int (*)(ibv_pd*)> domain(library.alloc_pd(context),
                                                         library.dealloc_pd);
  if (!domain) {
    return make_error("allocate a protection domain on {}: {}", name, errno_text(errno));
  }
  alignas(kPage) static std::array<char, kPage> page;
  ibv_mr* const region =
      library.reg_mr(domain.get(), page.data(), page.size(), IBV_ACCESS_LOCAL_WRITE);
  if (region == nullptr) {
    return make_error("register memory on {}: {}", name, errno_text(errno));
  }
  library.dereg_mr(region);
  return true;
}

VerbsDevice query_device(const VerbsLibrary& library, ibv_device* device) {
  VerbsDevice result{.name = printable(library.name(device), 64), .ports = {}, .registers = {}};
  const std::unique_ptr<ibv_context, int (*)(ibv_context*)> context(library.open(device),
                                                                    library.close);
  if (!context) {
    const std::string why = fmt::format("open {}: {}", result.name, errno_text(errno));
    result.ports = make_error(why);
    result.registers = make_error(why);
    return result;
  }
  result.ports = query_ports(library, context.get(), result.name);
  result.registers = register_memory(library, context.get(), result.name);
  return result;
}

}  // namespace

// A foreign root has no answer: the library uses the running kernel and the host's /dev, so it
// would describe this host.
Section<Verbs> probe_verbs(const Root& root) {
  if (root.foreign()) {
    return not_observed<Verbs>(
        Status::absent,
        "libibverbs queries the running kernel, not the files below a foreign root");
  }
  const auto library = open_verbs();
  if (!library) {
    return not_observed<Verbs>(is_own_lack(library.error()) ? Status::error : Status::absent,
                               library.error().message);
  }
  int count = 0;
  errno = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(library->list(&count),
                                                                  library->free_list);
  if (!list) {
    const int error = errno;
    if (error == ENOSYS) {
      return not_observed<Verbs>(
          Status::absent, "libibverbs finds no interface to the kernel: ib_uverbs is not loaded");
    }
    return not_observed<Verbs>(fmt::format("list RDMA devices: {}", errno_text(error)));
  }
  Verbs facts;
  for (int index = 0; index < count; ++index) {
    facts.devices.push_back(query_device(*library, list.get()[index]));
  }
  std::ranges::sort(facts.devices, {}, &VerbsDevice::name);
  return observed(std::move(facts));
}

int VerbsLibrary::port(ibv_context* context, unsigned number, ibv_port_attr& attributes) const {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast)
  return query_port(context, static_cast<std::uint8_t>(number),
                    reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
}

Result<VerbsLibrary> open_verbs(const std::string& named) {
  const std::string file = named.empty() ? "libibverbs.so.1" : named;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return make_missing(printable(::dlerror()));
  VerbsLibrary library;
#define MUSTER_VERBS_LOAD(member, required, function)                                      \
  library.member = reinterpret_cast<decltype(library.member)>(::dlsym(handle, #function)); \
  if ((required) && library.member == nullptr) {                                           \
    return make_error("{} has no {}", file, #function);                                    \
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): required by dlsym
  MUSTER_VERBS_FUNCTIONS(MUSTER_VERBS_LOAD)
#undef MUSTER_VERBS_LOAD
  return library;
}

}  // namespace muster
