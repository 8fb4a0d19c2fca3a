// SPDX-License-Identifier: Apache-2.0
// The reasons that muster gives Slurm, and whose a reason is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/report/finding.hpp"

namespace muster::slurm {

inline constexpr std::string_view kOurs = "muster: ";  // a check's verdict
inline constexpr std::string_view kByAdmin =
    "; muster-admin: ";  // `muster drain`, which hooks never undo
// The reason of a new node that the site wants accepted before it runs jobs.
inline constexpr std::string_view kNewNode = "muster: new node; not accepted yet";
inline constexpr std::size_t kLongestReason = 200;

// "muster: gpu.ecc_remapped_rows gpu3: row remapping failed; reseat or replace the part". One line
// of ASCII without characters that are special to a shell or a glob. If it is too long, the message
// is cut, never the remedy.
// `others` is the number of further faults of the node: "…, and 2 more; …".
[[nodiscard]] std::string make_reason(const Finding& finding, std::size_t others = 0);

// The parts of a reason that make_reason wrote.
struct ReasonParts {
  std::string check;
  std::string device;  // empty for the whole node
  Remedy remedy = Remedy::none;

  bool operator==(const ReasonParts&) const = default;
};

// Returns nothing for any other text, such as an admin's own after "muster: ".
[[nodiscard]] std::optional<ReasonParts> parse_reason(std::string_view reason);

// The N of ", and N more" in a reason that make_reason wrote; 0 if there is none.
[[nodiscard]] std::size_t others_in(std::string_view reason);

// Strips what Slurm appends to a reason, or writes in place of one that it dropped, when the node
// is rebooted or powered down or up: " : reboot issued", "ResumeTimeout reached".
[[nodiscard]] std::string_view without_reboot(std::string_view reason);

// "swapping a cable; muster-admin: alice": sinfo -R shows the first 20 characters.
[[nodiscard]] std::string make_admins_reason(std::string_view user, std::string_view text);

// "gpu.persistence gpu3"; without the device if it is the whole node.
[[nodiscard]] std::string subject_of(const std::string& check, const std::string& device);

[[nodiscard]] bool is_ours(std::string_view reason);
[[nodiscard]] bool is_admins(std::string_view reason);  // given by `muster drain`

}  // namespace muster::slurm
