// SPDX-License-Identifier: Apache-2.0
// The checks of an acceptance itself, for commands that list and explain checks.
#pragma once

#include <array>

#include "lib/accept/step.hpp"
#include "lib/report/bench_checks.hpp"

namespace muster::accept {

inline constexpr std::array kAcceptChecks{
    BenchCheck{kStepCheck, "A step of an acceptance runs on its node, and is judged",
               "A node on which muster cannot run, or whose reports leave a question open, is held "
               "or not tested: it is not accused.",
               "The message has the reason. Remove it, then run `muster accept --run DIR --retest "
               "NODE`."},
    BenchCheck{kOrderCheck, "The node is the one that was ordered",
               "`host=` and `serial=` of the order are compared with the node's physical host and "
               "with the serial numbers of its parts.",
               "Correct the order in a new run, or report the node to the provider."},
    BenchCheck{kSerialCheck, "No two nodes of a delivery share a serial number",
               "A part cannot be in two nodes, so one of the two reports another's identity. Both "
               "are held.",
               "Compare the serial numbers in `muster snapshot` of both nodes with the labels of "
               "their parts, then retest both."},
    BenchCheck{kProfileCheck, "The node has the profile of its group",
               "Nodes of a group are compared with each other, which makes no sense if they are "
               "of different kinds.",
               "Give the nodes of each kind their own `group=`, or find out why the node was "
               "recognised as another kind."},
    BenchCheck{kGpusCheck, "At least one GPU is observed on the node",
               "A node without GPUs is checked and its host is tested, but it is not accepted.",
               "Run `muster check --only 'gpu.*'` on the node: the driver may be missing."},
    BenchCheck{kClockCheck, "The node's clock agrees with the driver's within 5 s",
               "Logs of a node whose clock is wrong cannot be compared with those of others. It is "
               "a remark, and the times of the acceptance are the driver's.",
               "Look at the time service of the node, such as chrony."},
    BenchCheck{kLostCheck, "The node always answered",
               "A node that stops answering, or reboots on its own, starts over once and is "
               "rejected the second time.",
               "Look at the console of the node, and at the events of its provider."},
    BenchCheck{kChangedCheck, "Parts and versions are the same after the soak as before it",
               "A part that is missing after the soak is a failure, and another version of "
               "software or firmware a remark.",
               "Report a missing part to the provider. Find out what updates software during an "
               "acceptance, and switch it off."},
    BenchCheck{kSlowerCheck, "No GPU, link or HCA lost 5% of its speed in the soak",
               "The tests after the soak are compared with those before it. A part that has become "
               "slower may fail soon, but it is still within its limits.",
               "Test the node again when it has cooled down, and watch the part."}};

}  // namespace muster::accept
