// SPDX-License-Identifier: Apache-2.0
// Imports documents from a source into the store.
#pragma once

#include "fleet/importer.hpp"
#include "fleet/sources.hpp"

namespace muster::fleet {

// Returns an error only if the store or a path cannot be used; documents that were already imported
// stay.
[[nodiscard]] Result<void> import_documents(Database& database, Importer& importer,
                                            DocumentSource& source, const JudgeSnapshot& judge);

}  // namespace muster::fleet
