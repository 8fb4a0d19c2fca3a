// SPDX-License-Identifier: Apache-2.0
#include "lib/report/finding.hpp"

namespace muster {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "pass";
    case Outcome::warn:
      return "warn";
    case Outcome::fail:
      return "fail";
    case Outcome::unknown:
      return "unknown";
    case Outcome::skip:
      return "skip";
  }
  return "unknown";
}

std::string_view to_string(Remedy remedy) {
  switch (remedy) {
    case Remedy::none:
      return "none";
    case Remedy::watch:
      return "watch";
    case Remedy::restart_app:
      return "restart_app";
    case Remedy::reset_gpu:
      return "reset_gpu";
    case Remedy::restart_service:
      return "restart_service";
    case Remedy::reboot:
      return "reboot";
    case Remedy::reseat_or_replace:
      return "reseat_or_replace";
    case Remedy::fix_config:
      return "fix_config";
    case Remedy::report_to_provider:
      return "report_to_provider";
  }
  return "none";
}

std::string_view describe(Remedy remedy) {
  switch (remedy) {
    case Remedy::none:
      return "";
    case Remedy::watch:
      return "watch it";
    case Remedy::restart_app:
      return "restart the application";
    case Remedy::reset_gpu:
      return "reset the GPU";
    case Remedy::restart_service:
      return "restart the service";
    case Remedy::reboot:
      return "reboot the node";
    case Remedy::reseat_or_replace:
      return "reseat or replace the part";
    case Remedy::fix_config:
      return "fix the configuration";
    case Remedy::report_to_provider:
      return "report to the provider";
  }
  return "";
}

int rank(Outcome outcome) {
  switch (outcome) {
    case Outcome::fail:
      return 0;
    case Outcome::unknown:
      return 1;
    case Outcome::warn:
      return 2;
    case Outcome::pass:
      return 3;
    case Outcome::skip:
      return 4;
  }
  return 1;
}

}  // namespace muster
