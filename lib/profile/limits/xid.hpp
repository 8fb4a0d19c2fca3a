// SPDX-License-Identifier: Apache-2.0
// What each XID and SXID means and calls for: the content of configs/xids.yaml.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// What one or several numbers mean. `kind` is the class in xids.yaml.
struct XidRule {
  MUSTER_DESCRIBED(XidRule);
  MUSTER_FIELD(Words, xids, "the numbers");
  MUSTER_FIELD(std::string, meaning, "in a few words");
  MUSTER_KEY(std::string, kind, "class", "fatal, degraded, application, ignore or decode");
  MUSTER_FIELD(Remedy, remedy, "what to do") = Remedy::none;
  MUSTER_FIELD(Limit<Remedy>, remedy_in_vm, "the same in a virtual machine, where it differs");
  MUSTER_FIELD(std::string, code, "Azure's fault code, where this number has one of its own");
  MUSTER_FIELD(std::string, context, "what else to know or to look at");
  MUSTER_FIELD(Words, settled_by,
               "numbers that, in the same incident, make it no more than degraded");
  MUSTER_FIELD(Words, seen_by, "checks that find the same fault in the GPU's own facts");
};

// What the driver calls for with an XID 154.
struct XidAction {
  MUSTER_DESCRIBED(XidAction);
  MUSTER_FIELD(std::string, meaning, "in a few words");
  MUSTER_FIELD(Limit<Remedy>, remedy, "what to do; none where all is well");
};

// A unit of NVLink 5 and what the bits of its error status call for.
struct NvlinkUnit {
  MUSTER_DESCRIBED(NvlinkUnit);
  MUSTER_FIELD(Words, units, "its names in the log");
  MUSTER_FIELD(Words, reset, "status words that call for a reset of the GPU");
  MUSTER_FIELD(Words, reset_if_flagged,
               "status words that do where the first word's flag is set: bit 7, or "
               "bit 10 before driver 575");
  MUSTER_FIELD(Words, evaluate, "status words that an XID 154 decides about");
  MUSTER_FIELD(Words, ignore, "status words that call for nothing");
};

// Why a link of NVLink 5 went down.
struct NvlinkReason {
  MUSTER_DESCRIBED(NvlinkReason);
  MUSTER_FIELD(Words, reasons, "bits 20 to 25 of the first word");
  MUSTER_FIELD(bool, reset, "it calls for a reset of the GPU") = true;
  MUSTER_FIELD(std::string, context, "where to look");
};

// What bits of the registers mean that follow an error of NVLink up to Hopper (XID 74).
struct NvlinkBits {
  MUSTER_DESCRIBED(NvlinkBits);
  MUSTER_KEY(int, number, "register", "which of the seven, from 1") = 1;
  MUSTER_FIELD(Words, bits, "from 0, the least");
  MUSTER_KEY(std::string, kind, "class", "fatal or degraded, where the line says fatal");
  MUSTER_FIELD(bool, hardware, "three times on one link: replace") = false;
  MUSTER_FIELD(std::string, context, "where to look");
};

struct XidLimits {
  MUSTER_DESCRIBED(XidLimits);
  MUSTER_FIELD(Seconds, window, "how far back what is not fatal counts") = {};
  MUSTER_FIELD(Seconds, coalesce, "XIDs of one GPU this near are one incident") = {};
  MUSTER_FIELD(int, jobs,
               "an application's XID in this many jobs on one GPU is degraded; 0 for never") = 0;
  MUSTER_FIELD(Seconds, jobs_window, "within this time, over reboots too") = {};
  MUSTER_FIELD(bool, of_programs,
               "believe lines that programs wrote to /dev/kmsg too, for trials") = false;
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(ByName<std::string>, classes, "number to class, in place of the rules'");
  MUSTER_FIELD(std::vector<XidRule>, rules, "what each number means");
  MUSTER_FIELD(ByName<XidAction>, actions, "what an XID 154 calls for, by its value");
  MUSTER_FIELD(std::vector<NvlinkUnit>, nvlink_units, "XIDs 144 to 150, by unit and status");
  MUSTER_FIELD(std::vector<NvlinkReason>, nvlink_reasons,
               "XID 149, by reason of a link that is down");
  MUSTER_FIELD(std::vector<NvlinkBits>, nvlink_bits, "XID 74, by the bits of its registers");
};

struct SxidLimits {
  MUSTER_DESCRIBED(SxidLimits);
  MUSTER_FIELD(Seconds, window, "how far back what is not fatal counts") = {};
  MUSTER_FIELD(Seconds, coalesce, "SXIDs of one NVSwitch this near are one incident") = {};
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(ByName<std::string>, classes, "number to class, in place of the rules'");
  MUSTER_FIELD(std::vector<XidRule>, rules, "what each number means, where the line does not say");
};

}  // namespace muster
