// SPDX-License-Identifier: Apache-2.0
// libibverbs, opened by name, so that muster runs where it is not installed. Work requests are
// posted and completions polled through the context, as the library's header does.
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
  // What older libraries lack is null: registration with relaxed order, and of a GPU's memory.
  decltype(&ibv_reg_mr_iova2) reg_mr_relaxed = nullptr;
  decltype(&ibv_reg_dmabuf_mr) reg_dmabuf = nullptr;

  // The library's function takes the beginning of the structure, which has all that is read here.
  // Returns 0, or the errno of what went wrong.
  [[nodiscard]] int port(ibv_context* context, unsigned number, ibv_port_attr& attributes) const;
};

// The named file, or libibverbs.so.1 where none is named; `missing` where there is none. It is
// never closed: who opens it ends soon.
[[nodiscard]] Result<VerbsLibrary> open_verbs(const std::string& named = {});

}  // namespace muster
