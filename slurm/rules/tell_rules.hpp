// SPDX-License-Identifier: Apache-2.0
// Which program of the site's is told what muster does: the block `slurm.tell` of muster.yaml.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"

namespace muster::slurm {

struct TellRules {
  MUSTER_DESCRIBED(TellRules);
  // The whole path; empty: nobody is told.
  MUSTER_FIELD(std::string, program, "the site's program that is told, the whole path");
  MUSTER_FIELD(std::vector<std::string>, arguments,
               "what it is given before the event's kind and node");
  // The time limit of each call. No hook lasts longer for it.
  MUSTER_FIELD(Seconds, deadline, "a call ends within") = {5};
  MUSTER_FIELD(std::string, user, "it runs as this user, where muster is root") = "nobody";
  MUSTER_FIELD(std::vector<std::string>, events,
               "kinds of events that it is told of") = std::vector<std::string>{
      "drained", "refused", "resumed", "stopped"};
};

}  // namespace muster::slurm
