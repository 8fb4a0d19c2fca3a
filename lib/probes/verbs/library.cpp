// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/verbs/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "lib/base/text.hpp"

namespace muster {
namespace {

class SymbolLoader {
 public:
  explicit SymbolLoader(void* handle) : handle_(handle) {}

  template <class Function>
  void optional(Function& function, const char* name) const {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is for.
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
  }

  template <class Function>
  void required(Function& function, const char* name) {
    optional(function, name);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

}  // namespace

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
  SymbolLoader symbols(handle);
  symbols.required(library.list, "ibv_get_device_list");
  symbols.required(library.free_list, "ibv_free_device_list");
  symbols.required(library.name, "ibv_get_device_name");
  symbols.required(library.open, "ibv_open_device");
  symbols.required(library.close, "ibv_close_device");
  symbols.required(library.query_device, "ibv_query_device");
  symbols.required(library.query_port, "ibv_query_port");
  symbols.required(library.query_gid, "ibv_query_gid");
  symbols.required(library.query_pkey, "ibv_query_pkey");
  symbols.required(library.alloc_pd, "ibv_alloc_pd");
  symbols.required(library.dealloc_pd, "ibv_dealloc_pd");
  symbols.required(library.reg_mr, "ibv_reg_mr");
  symbols.required(library.dereg_mr, "ibv_dereg_mr");
  symbols.required(library.create_cq, "ibv_create_cq");
  symbols.required(library.destroy_cq, "ibv_destroy_cq");
  symbols.required(library.create_qp, "ibv_create_qp");
  symbols.required(library.modify_qp, "ibv_modify_qp");
  symbols.required(library.destroy_qp, "ibv_destroy_qp");
  symbols.required(library.status_text, "ibv_wc_status_str");
  symbols.optional(library.reg_mr_relaxed, "ibv_reg_mr_iova2");
  symbols.optional(library.reg_dmabuf, "ibv_reg_dmabuf_mr");
  if (!symbols.missing().empty()) {
    return make_error(fmt::format("{} has no {}", file, symbols.missing()));
  }
  return library;
}

}  // namespace muster
