// SPDX-License-Identifier: Apache-2.0
// Imports documents from a source into the store.
#pragma once

#include "fleet/importer.hpp"
#include "fleet/sources.hpp"

namespace muster::fleet {

// An error is one of the store or of a path; documents that were imported before it stay.
[[nodiscard]] Result<void> import_documents(Database& database, Importer& importer,
                                            DocumentSource& source, const JudgeSnapshot& judge);

}  // namespace muster::fleet
