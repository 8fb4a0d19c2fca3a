// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/verbs/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "lib/base/text.hpp"

namespace muster {
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
    return make_error(fmt::format("{} has no {}", file, #function));                       \
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): required by dlsym
  MUSTER_VERBS_FUNCTIONS(MUSTER_VERBS_LOAD)
#undef MUSTER_VERBS_LOAD
  return library;
}

}  // namespace muster
