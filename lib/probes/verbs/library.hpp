// SPDX-License-Identifier: Apache-2.0
// libibverbs, loaded at run time because it need not be installed. Work requests are posted and
// completions polled through the context, as the library's header does.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "lib/base/result.hpp"

namespace muster {

struct VerbsLibrary {
  decltype(&ibv_get_device_list) list = nullptr;
  decltype(&ibv_free_device_list) free_list = nullptr;
  decltype(&ibv_get_device_name) name = nullptr;
  decltype(&ibv_open_device) open = nullptr;
  decltype(&ibv_close_device) close = nullptr;
  decltype(&ibv_query_device) query_device = nullptr;
  decltype(&ibv_query_port) query_port = nullptr;
  decltype(&ibv_query_gid) query_gid = nullptr;
  decltype(&ibv_query_pkey) query_pkey = nullptr;
  decltype(&ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&ibv_reg_mr) reg_mr = nullptr;
  decltype(&ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&ibv_create_cq) create_cq = nullptr;
  decltype(&ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&ibv_create_qp) create_qp = nullptr;
  decltype(&ibv_modify_qp) modify_qp = nullptr;
  decltype(&ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&ibv_wc_status_str) status_text = nullptr;
  // Null in older libraries: registration with relaxed ordering, and of GPU memory.
  decltype(&ibv_reg_mr_iova2) reg_mr_relaxed = nullptr;
  decltype(&ibv_reg_dmabuf_mr) reg_dmabuf = nullptr;

  // Queries a port. The library's function fills the beginning of the structure, which is enough
  // here. Returns 0 or an errno.
  [[nodiscard]] int port(ibv_context* context, unsigned number, ibv_port_attr& attributes) const;
};

// Loads the named file, or libibverbs.so.1 if `named` is empty; the error is `missing` if it does
// not exist. The library is never unloaded, because its users are short-lived.
[[nodiscard]] Result<VerbsLibrary> open_verbs(const std::string& named = {});

}  // namespace muster
