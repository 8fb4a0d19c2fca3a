// SPDX-License-Identifier: Apache-2.0
// What each XID and SXID means and calls for: the content of configs/xids.yaml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// What one or several numbers mean. `kind` is the class in xids.yaml.
struct XidRule {
  Words xids;
  std::string meaning, kind, remedy, remedy_in_vm, code, context;
  Words settled_by, seen_by;

  MUSTER_FIELDS(
      XidRule,
      MUSTER_FIELD(xids, "the numbers"),
      MUSTER_FIELD(meaning, "in a few words"),
      field("class", &Self::kind, "fatal, degraded, application, ignore or decode"),
      MUSTER_CHOICE(remedy, kRemedyWords, "what to do"),
      MUSTER_CHOICE(remedy_in_vm, kRemedyWords, "the same in a virtual machine, where it differs"),
      MUSTER_FIELD(code, "Azure's fault code, where this number has one of its own"),
      MUSTER_FIELD(context, "what else to know or to look at"),
      MUSTER_FIELD(settled_by, "numbers that, in the same incident, make it no more than degraded"),
      MUSTER_FIELD(seen_by, "checks that find the same fault in the GPU's own facts"));
};

// What the driver calls for with an XID 154.
struct XidAction {
  std::string meaning, remedy;

  MUSTER_FIELDS(XidAction,
                MUSTER_FIELD(meaning, "in a few words"),
                MUSTER_CHOICE(remedy, kRemedyWords, "what to do; none where all is well"));
};

// A unit of NVLink 5 and what the bits of its error status call for.
struct NvlinkUnit {
  Words units, reset, reset_if_flagged, evaluate, ignore;

  MUSTER_FIELDS(NvlinkUnit,
                MUSTER_FIELD(units, "its names in the log"),
                MUSTER_FIELD(reset, "status words that call for a reset of the GPU"),
                MUSTER_FIELD(reset_if_flagged,
                             "status words that do where the first word's flag is set: bit 7, or "
                             "bit 10 before driver 575"),
                MUSTER_FIELD(evaluate, "status words that an XID 154 decides about"),
                MUSTER_FIELD(ignore, "status words that call for nothing"));
};

// Why a link of NVLink 5 went down.
struct NvlinkReason {
  Words reasons;
  bool reset = true;
  std::string context;

  MUSTER_FIELDS(NvlinkReason,
                MUSTER_FIELD(reasons, "bits 20 to 25 of the first word"),
                MUSTER_FIELD(reset, "it calls for a reset of the GPU"),
                MUSTER_FIELD(context, "where to look"));
};

// What bits of the registers mean that follow an error of NVLink up to Hopper (XID 74).
struct NvlinkBits {
  int number = 1;
  Words bits;
  std::string kind;
  bool hardware = false;
  std::string context;

  MUSTER_FIELDS(NvlinkBits,
                field("register", &Self::number, "which of the seven, from 1"),
                MUSTER_FIELD(bits, "from 0, the least"),
                field("class", &Self::kind, "fatal or degraded, where the line says fatal"),
                MUSTER_FIELD(hardware, "three times on one link: replace"),
                MUSTER_FIELD(context, "where to look"));
};

struct XidLimits {
  Seconds window{}, coalesce{}, jobs_window{};
  int jobs = 0;
  bool of_programs = false;
  std::map<std::string, std::string> kinds, classes;
  std::vector<XidRule> rules;
  std::map<std::string, XidAction> actions;
  std::vector<NvlinkUnit> nvlink_units;
  std::vector<NvlinkReason> nvlink_reasons;
  std::vector<NvlinkBits> nvlink_bits;

  MUSTER_FIELDS(
      XidLimits,
      MUSTER_FIELD(window, "how far back what is not fatal counts"),
      MUSTER_FIELD(coalesce, "XIDs of one GPU this near are one incident"),
      MUSTER_FIELD(jobs,
                   "an application's XID in this many jobs on one GPU is degraded; 0 for never"),
      MUSTER_FIELD(jobs_window, "within this time, over reboots too"),
      MUSTER_FIELD(of_programs, "believe lines that programs wrote to /dev/kmsg too, for trials"),
      MUSTER_CHOICE(kinds, kOutcomeWords, "class to outcome: fail, warn or pass"),
      MUSTER_FIELD(classes, "number to class, in place of the rules'"),
      MUSTER_FIELD(rules, "what each number means"),
      MUSTER_FIELD(actions, "what an XID 154 calls for, by its value"),
      MUSTER_FIELD(nvlink_units, "XIDs 144 to 150, by unit and status"),
      MUSTER_FIELD(nvlink_reasons, "XID 149, by reason of a link that is down"),
      MUSTER_FIELD(nvlink_bits, "XID 74, by the bits of its registers"));
};

struct SxidLimits {
  Seconds window{}, coalesce{};
  std::map<std::string, std::string> kinds, classes;
  std::vector<XidRule> rules;

  MUSTER_FIELDS(SxidLimits,
                MUSTER_FIELD(window, "how far back what is not fatal counts"),
                MUSTER_FIELD(coalesce, "SXIDs of one NVSwitch this near are one incident"),
                MUSTER_CHOICE(kinds, kOutcomeWords, "class to outcome: fail, warn or pass"),
                MUSTER_FIELD(classes, "number to class, in place of the rules'"),
                MUSTER_FIELD(rules, "what each number means, where the line does not say"));
};

}  // namespace muster
