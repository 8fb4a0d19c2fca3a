// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/verbs/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "lib/base/text.hpp"

namespace muster {
namespace {

class Binder {
 public:
  explicit Binder(void* handle) : handle_(handle) {}

  template <class Function>
  void optional(Function& function, const char* name) const {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is for.
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
  }

  template <class Function>
  void required(Function& function, const char* name) {
    optional(function, name);
    if (function == nullptr && lacks_.empty()) lacks_ = name;
  }

  [[nodiscard]] const std::string& lacks() const { return lacks_; }

 private:
  void* handle_;
  std::string lacks_;
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
  Binder binder(handle);
  binder.required(library.list, "ibv_get_device_list");
  binder.required(library.free_list, "ibv_free_device_list");
  binder.required(library.name, "ibv_get_device_name");
  binder.required(library.open, "ibv_open_device");
  binder.required(library.close, "ibv_close_device");
  binder.required(library.query_device, "ibv_query_device");
  binder.required(library.query_port, "ibv_query_port");
  binder.required(library.query_gid, "ibv_query_gid");
  binder.required(library.query_pkey, "ibv_query_pkey");
  binder.required(library.alloc_pd, "ibv_alloc_pd");
  binder.required(library.dealloc_pd, "ibv_dealloc_pd");
  binder.required(library.reg_mr, "ibv_reg_mr");
  binder.required(library.dereg_mr, "ibv_dereg_mr");
  binder.required(library.create_cq, "ibv_create_cq");
  binder.required(library.destroy_cq, "ibv_destroy_cq");
  binder.required(library.create_qp, "ibv_create_qp");
  binder.required(library.modify_qp, "ibv_modify_qp");
  binder.required(library.destroy_qp, "ibv_destroy_qp");
  binder.required(library.status_text, "ibv_wc_status_str");
  binder.optional(library.reg_mr_relaxed, "ibv_reg_mr_iova2");
  binder.optional(library.reg_dmabuf, "ibv_reg_dmabuf_mr");
  if (!binder.lacks().empty()) {
    return make_error(fmt::format("{} lacks {}", file, binder.lacks()));
  }
  return library;
}

}  // namespace muster
