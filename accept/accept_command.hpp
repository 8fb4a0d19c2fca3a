// SPDX-License-Identifier: Apache-2.0
// `muster accept`: tests a delivery of nodes, and writes one page about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/page.hpp"
#include "lib/command/output.hpp"

namespace muster::app {

struct AcceptCommand {
  static constexpr std::string_view kName = "accept";

  std::vector<std::string> words;  // host lists and @FILE
  std::string run;                 // folder
  std::string plan;                // empty: standard, or the plan of the run
  std::string by;                  // empty: detected
  std::string soak;                // a time, instead of the plan's
  std::string sim;                 // words of --by sim
  std::string muster;              // the program on the nodes; empty: this one's path
  bool dry_run = false;
  bool status = false;
  bool page = false;
  accept::For whom = accept::For::site;  // the reader of the page
  std::string retest, withdraw;          // host lists
  std::string go_on;                     // a check
  std::string why;
  std::string step;  // on a node: a request from the driver
};

// Returns the exit status: 0 complete and all nodes accepted; 1 complete, but not all accepted; 2
// not complete.
[[nodiscard]] int run_accept(const AcceptCommand& command, const Caller& caller);

}  // namespace muster::app
