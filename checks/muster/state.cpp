// SPDX-License-Identifier: Apache-2.0
// Says once when what earlier runs remembered could not be used, and rates start afresh.

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks::muster_state {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& /*profile*/) {
  const Earlier& earlier = snapshot.earlier;
  if (!earlier.note.empty()) return {skipped(earlier.note)};
  if (earlier.last_uptime_s <= 0) {
    return {skipped("no earlier run in this boot: rates are judged from the next run on")};
  }
  return {passed("earlier runs are remembered")};
}

}  // namespace

constinit const Check check{
    .id = "muster.state",
    .title = "What earlier runs saw can be used",
    .why =
        "Rates of errors, flaps of links and stuck tasks are differences to earlier runs, which a "
        "state file remembers. A state file of another boot, or one that cannot be read, is put "
        "aside: rates start afresh, and this is said once. It never fails a node.",
    .fix =
        "Nothing, after a reboot. A state file that is put aside again and again points to a full "
        "or failing disk, or to two versions of muster on one node.",
    .needs = {},
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::muster_state
