// SPDX-License-Identifier: Apache-2.0
// libibverbs, loaded at run time because it need not be installed. Work requests are posted and
// completions polled through the context, as the library's header does.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "lib/base/result.hpp"

namespace muster {

// Member, whether it is required, function. Older libraries have no registration with relaxed
// ordering or of GPU memory.
// clang-format off
#define MUSTER_VERBS_FUNCTIONS(X) \
  X(list, true, ibv_get_device_list) \
  X(free_list, true, ibv_free_device_list) \
  X(name, true, ibv_get_device_name) \
  X(open, true, ibv_open_device) \
  X(close, true, ibv_close_device) \
  X(query_device, true, ibv_query_device) \
  X(query_port, true, ibv_query_port) \
  X(query_gid, true, ibv_query_gid) \
  X(query_pkey, true, ibv_query_pkey) \
  X(alloc_pd, true, ibv_alloc_pd) \
  X(dealloc_pd, true, ibv_dealloc_pd) \
  X(reg_mr, true, ibv_reg_mr) \
  X(dereg_mr, true, ibv_dereg_mr) \
  X(create_cq, true, ibv_create_cq) \
  X(destroy_cq, true, ibv_destroy_cq) \
  X(create_qp, true, ibv_create_qp) \
  X(modify_qp, true, ibv_modify_qp) \
  X(destroy_qp, true, ibv_destroy_qp) \
  X(status_text, true, ibv_wc_status_str) \
  X(reg_mr_relaxed, false, ibv_reg_mr_iova2) \
  X(reg_dmabuf, false, ibv_reg_dmabuf_mr)
// clang-format on

struct VerbsLibrary {
#define MUSTER_VERBS_MEMBER(member, required, function) decltype(&(function)) member = nullptr;
  MUSTER_VERBS_FUNCTIONS(MUSTER_VERBS_MEMBER)
#undef MUSTER_VERBS_MEMBER

  // Queries a port. The library's function fills the beginning of the structure, which is enough
  // here. Returns 0 or an errno.
  [[nodiscard]] int port(ibv_context* context, unsigned number, ibv_port_attr& attributes) const;
};

// Loads the named file, or libibverbs.so.1 if `named` is empty; the error is `missing` if it does
// not exist. The library is never unloaded, because its users are short-lived.
[[nodiscard]] Result<VerbsLibrary> open_verbs(const std::string& named = {});

}  // namespace muster
