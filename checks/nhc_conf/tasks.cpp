// SPDX-License-Identifier: Apache-2.0
// check_ps_loadavg, check_ps_service and check_ps_daemon by units and processes.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/options.hpp"
#include "checks/nhc_conf/processes.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

bool lists(const Fact<std::vector<std::string>>& units, const std::string& unit) {
  return units && std::ranges::find(*units, unit) != units->end();
}

// Debian's units have other names than the programs that they run.
constexpr std::array kOtherNames{
    std::pair{"sshd.service", "ssh.service"}, std::pair{"crond.service", "cron.service"},
    std::pair{"chronyd.service", "chrony.service"}, std::pair{"munged.service", "munge.service"}};

std::string unit_of(const Services& services, const std::string& name) {
  auto unit = name.ends_with(".service") ? name : fmt::format("{}.service", name);
  for (const auto& [program, other] : kOtherNames) {
    const bool known = lists(services.active, other) || lists(services.failed, other);
    if (unit == program && known && !lists(services.active, unit)) return other;
  }
  return unit;
}

// Whether a process of the unit is certainly this user's, whom NHC takes for a match string.
bool is_of(const Services& services, const std::string& unit, std::string_view owner) {
  return (owner == "root" || owner == "0") && lists(services.of_root, unit);
}

// Who is looked for: NHC takes the first word of a command, or all of it, for the service.
struct ServiceSearch {
  std::string name;    // of the service
  std::string match;   // a match string; empty: the name stands in the command
  bool whole = false;  // of the whole command
  std::string owner;   // a match string or a number; empty for anybody
};

Result<bool> is_wanted(const Processes& processes, const RunningProcess& process,
                       const ServiceSearch& search) {
  if (search.match.empty()) {
    if (process.command.find(search.name) == std::string::npos) return false;
  } else {
    const auto program = process.command.substr(0, process.command.find(' '));
    const auto found = matches(search.match, search.whole ? process.command : program);
    if (!found || !*found) return found;
  }
  return is_owned_by(processes, process, search.owner);
}

// The first of its processes; nothing where none runs, an error where that cannot be told.
Result<std::optional<RunningProcess>> find_service(const Processes& processes,
                                                   const ServiceSearch& search) {
  std::optional<Error> doubt;
  for (const auto& process : *processes.all) {
    const auto wanted = is_wanted(processes, process, search);
    if (!wanted) doubt = wanted.error();
    if (wanted && *wanted) return process;
  }
  if (doubt) return make_error(fmt::format("{} is not known", doubt->message));
  return std::optional<RunningProcess>();
}

std::string words_for(const RunningProcess& process) {
  return fmt::format("process {} ({})", process.pid, printable(process.command, 80));
}

// As NHC judges, by the list of processes. `forbidden`: none of them may run.
Finding by_processes(const Processes& processes, const ServiceSearch& search, bool forbidden) {
  const auto found = find_service(processes, search);
  const auto device = printable(search.name, 80);
  if (!found) return not_judged(found.error().message, device);
  const bool runs = found->has_value();
  const auto whose =
      search.owner.empty() ? std::string() : fmt::format(" of {}", printable(search.owner, 40));
  const auto words = runs ? fmt::format("{} runs", words_for(**found))
                          : fmt::format("no process {}{} runs", device, whose);
  if (runs != forbidden) return checks::passed(words, device);
  return checks::failed(device, forbidden ? fmt::format("{}, and must not", words) : words,
                        forbidden ? Remedy::fix_config : Remedy::restart_service);
}

Finding not_its_owner(const std::string& unit) {
  return not_judged(
      fmt::format("{} is active, and of the owners of its processes only root is observed", unit),
      unit);
}

// With -s, -k and -E the service must not run; that no unit does proves nothing of processes.
Finding unwanted_service(const Snapshot& snapshot, const std::string& name,
                         const Options& options) {
  const auto& services = *snapshot.services;
  const auto unit = unit_of(services, name);
  if (!lists(services.active, unit)) {
    return not_judged(fmt::format("whether {} runs is not observed where its unit is not active",
                                  printable(name, 80)),
                      unit);
  }
  if (options.has('u') && !is_of(services, unit, options.value('u'))) {
    return not_its_owner(unit);
  }
  // NHC would end it, look again, and pass.
  if (options.has('v') || options.has('V')) {
    return not_judged(fmt::format("{} is active, and muster ends nothing", unit), unit);
  }
  return checks::failed(unit, fmt::format("{} is active, and must not be", unit),
                        Remedy::fix_config);
}

// A unit's name without its kind, which no process has.
std::string plain_name(const std::string& name) {
  constexpr std::string_view kKind = ".service";
  return name.ends_with(kKind) ? name.substr(0, name.size() - kKind.size()) : name;
}

// NHC looks at processes; muster asks the units of systemd first, and then the processes.
Finding service_finding(const Snapshot& snapshot, const std::string& name, std::string_view owner) {
  const auto& services = *snapshot.services;
  const auto unit = unit_of(services, name);
  if (lists(services.failed, unit)) {
    return checks::failed(unit, fmt::format("{} has failed", unit), Remedy::restart_service);
  }
  if (!lists(services.active, unit)) {
    const std::string why =
        services.active ? std::string() : fmt::format(" ({})", services.active.why());
    return not_judged(
        fmt::format("no unit {} is known to be active, and processes are not observed{}",
                    printable(unit, 80), why),
        unit);
  }
  if (owner.empty()) return checks::passed(fmt::format("{} is active", unit), unit);
  if (!is_of(services, unit, owner)) return not_its_owner(unit);
  return checks::passed(fmt::format("{} is active, and root's", unit), unit);
}

Findings judge_loadavg(const Snapshot& snapshot, const Arguments& arguments) {
  const auto& tasks = *snapshot.processes;
  constexpr std::array kMinutes{1, 5, 15};
  const std::array loads{&tasks.load1, &tasks.load5, &tasks.load15};
  Findings findings;
  std::string seen;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto word = argument(arguments, i);
    if (word.empty()) continue;
    const auto what = fmt::format("the {}-minute load average", kMinutes.at(i));
    const auto limit = parse_number(word);
    if (!limit) {
      findings.push_back(
          not_judged(fmt::format("expects a load, got \"{}\"", printable(word, 40))));
    } else if (!*loads.at(i)) {
      findings.push_back(checks::not_known(checks::kNode, what, *loads.at(i)));
    } else if (**loads.at(i) >= *limit) {
      auto message = fmt::format("{} is {:g}, less than {:g} wanted", what, **loads.at(i), *limit);
      findings.push_back(
          compared(failed(std::move(message), Remedy::watch), **loads.at(i), *limit));
    } else {
      seen += fmt::format("{}{} is {:g}", seen.empty() ? "" : ", ", what, **loads.at(i));
    }
  }
  return checks::or_pass(std::move(findings), seen.empty() ? "no load is limited" : seen);
}

Findings judge_service(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, "0E:SVcd:e:fkm:rsu:v");
  if (!options) return {not_judged(options.error().message)};
  if (options->rest.size() != 1) return {not_judged("expects one service")};
  const bool listed = snapshot.processes->all.known();
  if (options->has('m') && !listed) {
    return {not_judged("processes are not observed, so -m cannot be told", options->rest.front())};
  }
  const auto& name = options->rest.front();
  ServiceSearch search{.name = name,
                       .match = options->value('m'),
                       .whole = options->has('f'),
                       .owner = options->value('u')};
  if (search.match.empty()) {
    search.match = fmt::format("*{}", options->has('d') ? options->value('d') : plain_name(name));
  }
  const bool unwanted = options->has('s') || options->has('k') || options->has('E');
  auto finding = unwanted ? unwanted_service(snapshot, name, *options)
                          : service_finding(snapshot, name, search.owner);
  // What the units do not tell, or the line does not ask them.
  const bool by_match = options->has('m') || options->has('d');
  if (listed && (finding.outcome == Outcome::unknown || by_match)) {
    finding = by_processes(*snapshot.processes, search, unwanted);
    // NHC would end it, look again, and pass.
    const bool verified = options->has('v') || options->has('V');
    if (unwanted && verified && finding.outcome == Outcome::fail) {
      finding = not_judged(fmt::format("{}; muster ends nothing", finding.message), finding.device);
    }
  }
  return {softened(std::move(finding), options->has('0'))};
}

Findings judge_daemon(const Snapshot& snapshot, const Arguments& arguments) {
  const std::string name(argument(arguments, 0));
  const std::string owner(argument(arguments, 1));
  const auto more = argument(arguments, 2);
  const auto finding = service_finding(snapshot, name, owner);
  if (!snapshot.processes->all || (finding.outcome != Outcome::unknown && more.empty())) {
    return {finding};
  }
  const auto wanted = more.empty() ? name : fmt::format("{} {}", name, more);
  return {by_processes(*snapshot.processes, {.name = wanted, .owner = owner}, false)};
}

}  // namespace

std::vector<Row> task_rows() {
  return {judged("check_ps_loadavg", judge_loadavg, Probe::processes, 1, 3),
          of_processes("check_ps_service", judge_service, Probe::services, 1),
          of_processes("check_ps_daemon", judge_daemon, Probe::services, 1, 3)};
}

}  // namespace muster::nhc
