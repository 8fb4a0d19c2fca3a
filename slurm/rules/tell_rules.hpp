// SPDX-License-Identifier: Apache-2.0
// The site's program that is run for events: the block `slurm.tell` of muster.yaml.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"

namespace muster::slurm {

struct TellRules {
  MUSTER_DESCRIBED(TellRules);
  MUSTER_FIELD(std::string, program, "the site's program, an absolute path; empty: none");
  MUSTER_FIELD(std::vector<std::string>, arguments,
               "its arguments before the event's kind and node");
  MUSTER_FIELD(Seconds, deadline, "a call ends within") = {5};
  MUSTER_FIELD(std::string, user, "it runs as this user, if muster is root") = "nobody";
  MUSTER_FIELD(std::vector<std::string>, events,
               "kinds of events that it is run for") = std::vector<std::string>{
      "drained", "refused", "resumed", "stopped"};
};

}  // namespace muster::slurm
