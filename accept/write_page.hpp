// SPDX-License-Identifier: Apache-2.0
// Writes accept.json, page.html and accept.csv into the folder of a run.
#pragma once

#include <cstdint>

#include "accept/run_folder.hpp"
#include "lib/accept/page.hpp"

namespace muster::accept {

// Writes page.html, accept.json and accept.csv; for the provider, only provider.html.
[[nodiscard]] Result<void> write_page(const RunFolder& folder, const Actions& actions,
                                      std::int64_t now, For whom = For::site);

}  // namespace muster::accept
