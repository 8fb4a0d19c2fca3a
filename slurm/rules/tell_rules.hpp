// SPDX-License-Identifier: Apache-2.0
// Which program of the site's is told what muster does: the block `slurm.tell` of muster.yaml.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"

namespace muster::slurm {

struct TellRules {
  std::string program;                 // the whole path; empty: nobody is told
  std::vector<std::string> arguments;  // before the event's kind and node
  Seconds deadline{5};                 // of each call; no hook lasts longer for it
  std::string user = "nobody";         // whom root becomes before
  std::vector<std::string> events{"drained", "refused", "resumed", "stopped"};

  MUSTER_FIELDS(TellRules,
                MUSTER_FIELD(program, "the site's program that is told, the whole path"),
                MUSTER_FIELD(arguments, "what it is given before the event's kind and node"),
                MUSTER_FIELD(deadline, "a call ends within"),
                MUSTER_FIELD(user, "it runs as this user, where muster is root"),
                MUSTER_FIELD(events, "kinds of events that it is told of"));
};

}  // namespace muster::slurm
