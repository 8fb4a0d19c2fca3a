// SPDX-License-Identifier: Apache-2.0
// The meaning and remedy of each XID and SXID: the content of configs/xids.yaml.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// The meaning of some numbers. `kind` is the class in xids.yaml.
struct XidRule {
  MUSTER_DESCRIBED(XidRule);
  MUSTER_FIELD(Words, xids, "the numbers");
  MUSTER_FIELD(std::string, meaning, "in a few words");
  MUSTER_KEY(std::string, kind, "class", "fatal, degraded, application, ignore or decode");
  MUSTER_FIELD(Remedy, remedy, "what to do") = Remedy::none;
  MUSTER_FIELD(Limit<Remedy>, remedy_in_vm, "what to do in a virtual machine, if it differs");
  MUSTER_FIELD(std::string, code, "Azure's fault code, if this number has its own");
  MUSTER_FIELD(std::string, context, "further advice");
  MUSTER_FIELD(Words, settled_by,
               "numbers that make it degraded at most if they occur in the same incident");
  MUSTER_FIELD(Words, seen_by, "checks that find the same fault in the GPU's facts");
};

// The remedy that the driver requests with an XID 154.
struct XidAction {
  MUSTER_DESCRIBED(XidAction);
  MUSTER_FIELD(std::string, meaning, "in a few words");
  MUSTER_FIELD(Limit<Remedy>, remedy, "what to do; unset if all is well");
};

// A unit of NVLink 5, and the actions for the bits of its error status.
struct NvlinkUnit {
  MUSTER_DESCRIBED(NvlinkUnit);
  MUSTER_FIELD(Words, units, "its names in the log");
  MUSTER_FIELD(Words, reset, "status words that call for a reset of the GPU");
  MUSTER_FIELD(
      Words, reset_if_flagged,
      "status words that call for a reset if the first word's flag is set: bit 7, or bit 10 "
      "before driver 575");
  MUSTER_FIELD(Words, evaluate, "status words for which an XID 154 decides");
  MUSTER_FIELD(Words, ignore, "status words that call for nothing");
};

// A reason why a link of NVLink 5 went down.
struct NvlinkReason {
  MUSTER_DESCRIBED(NvlinkReason);
  MUSTER_FIELD(Words, reasons, "bits 20 to 25 of the first word");
  MUSTER_FIELD(bool, reset, "calls for a reset of the GPU") = true;
  MUSTER_FIELD(std::string, context, "where to look");
};

// The meaning of bits in the registers of an NVLink error up to Hopper (XID 74).
struct NvlinkBits {
  MUSTER_DESCRIBED(NvlinkBits);
  MUSTER_KEY(int, number, "register", "register 1 to 7") = 1;
  MUSTER_FIELD(Words, bits, "bit numbers from 0, the least significant");
  MUSTER_KEY(std::string, kind, "class", "class if the line says fatal: fatal or degraded");
  MUSTER_FIELD(bool, hardware, "three times on one link: replace") = false;
  MUSTER_FIELD(std::string, context, "where to look");
};

struct XidLimits {
  MUSTER_DESCRIBED(XidLimits);
  MUSTER_FIELD(Seconds, window, "how far back XIDs that are not fatal count") = {};
  MUSTER_FIELD(Seconds, coalesce, "XIDs of one GPU within this time are one incident") = {};
  MUSTER_FIELD(int, jobs,
               "an application's XID in this many jobs on one GPU is degraded; 0 for never") = 0;
  MUSTER_FIELD(Seconds, jobs_window, "time for `jobs`, across reboots") = {};
  MUSTER_FIELD(bool, of_programs,
               "also accept lines that programs wrote to /dev/kmsg, for trials") = false;
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(ByName<std::string>, classes, "number to class, overriding the rules");
  MUSTER_FIELD(std::vector<XidRule>, rules, "what each number means");
  MUSTER_FIELD(ByName<XidAction>, actions, "remedy of an XID 154, by its value");
  MUSTER_FIELD(std::vector<NvlinkUnit>, nvlink_units, "XIDs 144 to 150, by unit and status");
  MUSTER_FIELD(std::vector<NvlinkReason>, nvlink_reasons,
               "XID 149, by the reason why a link is down");
  MUSTER_FIELD(std::vector<NvlinkBits>, nvlink_bits, "XID 74, by the bits of its registers");
};

struct SxidLimits {
  MUSTER_DESCRIBED(SxidLimits);
  MUSTER_FIELD(Seconds, window, "how far back XIDs that are not fatal count") = {};
  MUSTER_FIELD(Seconds, coalesce, "SXIDs of one NVSwitch within this time are one incident") = {};
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(ByName<std::string>, classes, "number to class, overriding the rules");
  MUSTER_FIELD(std::vector<XidRule>, rules, "what each number means if the line does not say");
};

}  // namespace muster
