// SPDX-License-Identifier: Apache-2.0
// The lines about processors, memory, interfaces, file systems, load and services, judged as NHC
// does.
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <map>

#include "checks/nhc_conf/table.hpp"

namespace muster::nhc {
namespace {

using checks::count_value;
using checks::failed;
using checks::hardware_remedy;
using checks::kNode;
using checks::not_known;
using checks::passed;
using checks::skipped;

enum class Unit { bytes, inodes };

struct Amount {
  double value = 0;
  bool percent = false;
};

// "5%"; "1915071MB" in powers of 1024, in kB without a unit; "10k" inodes in powers of 1000.
Result<Amount> parse_amount(std::string_view text, Unit unit) {
  constexpr std::string_view kPowers = "kmgtpe";
  const bool bytes = unit == Unit::bytes;
  const bool percent = text.ends_with('%');
  auto number = lower_case(text.substr(0, text.size() - (percent ? 1 : 0)));
  if (bytes && number.ends_with('b')) number.pop_back();
  const auto place = number.empty() ? std::string::npos : kPowers.find(number.back());
  const bool scaled = place != std::string::npos;
  if (scaled) number.pop_back();
  const auto value = parse_unsigned(number);
  if (!value || (percent && (*value > 100 || scaled))) {
    return unexpected_word(text,
                           fmt::format("an amount such as {} or 5%", bytes ? "512MB" : "10k"));
  }
  if (percent) return Amount{static_cast<double>(*value), true};
  const auto power = scaled ? static_cast<int>(place) + 1 : bytes ? 1 : 0;
  return Amount{static_cast<double>(*value) * std::pow(bytes ? 1024.0 : 1000.0, power)};
}

// "512 kB", "1870.2 GiB".
std::string size_in_words(double bytes) {
  return bytes < 1024.0 * 1024 * 1024 ? fmt::format("{:.0f} kB", bytes / 1024)
                                      : checks::in_gib(bytes);
}

// The options that getopts of bash reads, up to the first other word.
struct Options {
  std::map<char, std::vector<std::string>> given;  // a flag has empty values
  std::vector<std::string> rest;
};

// `known`: the option letters, as for getopt: a colon after one that takes a value.
Result<Options> read_options(const std::vector<std::string>& arguments, std::string_view known) {
  Options options;
  auto word = arguments.begin();
  for (; word != arguments.end() && word->size() > 1 && word->front() == '-'; ++word) {
    if (*word == "--") {
      ++word;
      break;
    }
    for (std::size_t i = 1; i < word->size(); ++i) {
      const char letter = (*word)[i];
      const auto place = letter == ':' ? std::string_view::npos : known.find(letter);
      if (place == std::string_view::npos) {
        return make_error("-{} is not translated, let NHC run it",
                          printable(word->substr(i, 1), 8));
      }
      auto& values = options.given[letter];
      if (!known.substr(place + 1).starts_with(':')) {
        values.emplace_back();
        continue;
      }
      values.push_back(word->substr(i + 1));
      if (!values.back().empty()) break;
      if (++word == arguments.end()) return make_error("-{}: missing value", letter);
      values.back() = *word;
      break;
    }
  }
  options.rest.assign(word, arguments.end());
  return options;
}

// Where /proc/cpuinfo names no sockets, as on Arm, NHC counts every processor as a socket.
bool counts_threads_as_sockets(const Cpu& cpu, const JudgedLine& line) {
  constexpr std::uint64_t kManySockets = 32;
  const auto sockets = parse_unsigned(line.argument(0));
  return sockets && *sockets > kManySockets && cpu.threads && *cpu.threads == *sockets &&
         line.argument(1) == line.argument(0) && line.argument(2) == line.argument(0);
}

// Compares each argument with a count or an amount of the node; an empty one leaves it out.
template <class T, class Parse, class Judge>
void compare(const JudgedLine& line, std::size_t index, std::string_view what, const Fact<T>& seen,
             const Parse& parse, const Judge& judge, Findings& findings) {
  const auto word = line.argument(index);
  if (word.empty()) return;
  if (const auto limit = parse(word); !limit) {
    findings.push_back(
        not_judged(fmt::format("\"{}\", expected a number for {}", printable(word, 40), what)));
  } else if (!seen) {
    findings.push_back(not_known(kNode, what, seen));
  } else {
    checks::append(findings, judge(*seen, *limit));
  }
}

// MIN [MAX [TOLERANCE]]. As in NHC, a tolerance in percent is one of the observed size.
Result<Findings> judge_size(const JudgedLine& line, std::string_view what,
                            const Fact<std::uint64_t>& size, Remedy too_small) {
  if (!size) return Findings{not_known(kNode, fmt::format("the size of {}", what), size)};
  const auto seen = static_cast<double>(*size);
  const auto amount = [&](std::size_t index) {
    const auto word = line.argument(index);
    return parse_amount(word.empty() ? "0" : word, Unit::bytes);
  };
  TRY_ASSIGN(const auto least, amount(0));
  TRY_ASSIGN(const auto most, amount(1));
  TRY_ASSIGN(const auto tolerance, amount(2));
  const double band = tolerance.percent ? seen * tolerance.value / 100 : tolerance.value;
  const bool low = seen + band < least.value;
  const bool high = !line.argument(1).empty() && seen - band > most.value;
  auto message = fmt::format("{} of {}", size_in_words(seen), what);
  if (!low && !high) return Findings{passed(std::move(message))};
  const double limit = low ? least.value : most.value;
  message += fmt::format(", expected at {} {}", low ? "least" : "most", size_in_words(limit));
  if (band > 0) message += fmt::format(" within {}", line.argument(2));
  return Findings{
      failed(kNode, std::move(message), low ? too_small : Remedy::fix_config,
             {count_value(*size), count_value(static_cast<std::uint64_t>(limit)), "B"})};
}

const Mount* mount_at(const Snapshot& snapshot, std::string_view point) {
  const auto on_top = snapshot.mounts->on_top();
  const auto found = on_top.find(point);
  return found == on_top.end() ? nullptr : found->second;
}

struct WantedMount {
  std::vector<std::string> points;
  std::vector<std::string> sources, types, options;  // match strings
};

// "/point [source [type [options]]]", or the same as options.
Result<WantedMount> wanted_mount(const CheckLine& line) {
  if (line.argument(0).starts_with('/')) {
    const auto words = [&](std::size_t index) {
      const auto word = line.argument(index);
      return word.empty() ? std::vector<std::string>() : std::vector{std::string(word)};
    };
    return WantedMount{words(0), words(1), words(2), words(3)};
  }
  TRY_ASSIGN(auto options, read_options(line.arguments, "f:o:s:t:"));
  auto& given = options.given;
  WantedMount wanted{given['f'], given['s'], given['t'], given['o']};
  wanted.points.insert(wanted.points.end(), options.rest.begin(), options.rest.end());
  if (wanted.points.empty()) return make_error("no mount point given");
  return wanted;
}

// The entry of /proc/mounts for the point: a file system with data, else one of the kernel.
std::optional<KernelMount> shown_at(const Snapshot& snapshot, const std::string& point) {
  if (const Mount* mount = mount_at(snapshot, point); mount != nullptr) {
    return KernelMount{mount->point, mount->type, mount->source, mount->read_only, mount->options};
  }
  const auto& kernel = snapshot.mounts->kernel;
  if (!kernel) return std::nullopt;
  const auto found = std::ranges::find(*kernel, point, &KernelMount::point);
  return found == kernel->end() ? std::nullopt : std::optional(*found);
}

// The first match string that the mount does not match.
std::optional<Finding> mismatch(const KernelMount& mount, const WantedMount& wanted) {
  const auto options = mount.options ? fmt::format("{}", fmt::join(*mount.options, ","))
                                     : std::string(mount.read_only ? "ro" : "rw");
  const std::array<std::pair<std::string, const std::vector<std::string>*>, 3> rules{
      {{mount.source, &wanted.sources}, {mount.type, &wanted.types}, {options, &wanted.options}}};
  for (const auto& [seen, expressions] : rules) {
    for (const auto& expression : *expressions) {
      const auto found = matches(expression, seen);
      if (!found) return not_judged(found.error().message, mount.point);
      if (*found) continue;
      return failed(mount.point,
                    fmt::format("{} is mounted: {}, expected {}", printable(mount.point),
                                printable(seen, 80), printable(expression, 80)),
                    Remedy::fix_config, {seen, expression});
    }
  }
  return std::nullopt;
}

Finding judge_point(const Snapshot& snapshot, const WantedMount& wanted, const std::string& point) {
  const auto unused = not_judged(
      fmt::format("{} is mounted on first use and was not used yet", printable(point)), point);
  const auto mount = shown_at(snapshot, point);
  if (!mount) {
    if (snapshot.mounts->automount_of(point) != nullptr) return unused;
    if (!snapshot.mounts->kernel) {
      return not_judged(fmt::format("{} was not observed", printable(point)), point);
    }
    return failed(point, fmt::format("{} is not mounted", printable(point)), Remedy::fix_config,
                  {false, true});
  }
  auto wrong = mismatch(*mount, wanted);
  // An automount point becomes another file system once it is used.
  if (mount->type == "autofs" && (wrong || !wanted.options.empty())) return unused;
  if (wrong) return *std::move(wrong);
  return passed(fmt::format("{} is mounted ({} from {})", printable(point), printable(mount->type),
                            printable(mount->source)),
                point);
}

Result<Findings> judge_mounts(const JudgedLine& line, std::string_view option) {
  TRY_ASSIGN(auto wanted, wanted_mount(line.line));
  if (!option.empty()) wanted.options.emplace_back(option);
  Findings findings;
  for (const auto& point : wanted.points) {
    findings.push_back(judge_point(line.snapshot, wanted, point));
  }
  return findings;
}

// POINT LIMIT, counted like df: free space must reach the limit, used space must stay below it. NHC
// passes a point without a file system, and one that counts nothing.
Finding judge_space(const JudgedLine& line, Unit unit, bool free) {
  const std::string point = printable(line.argument(0));
  const Mount* mount = mount_at(line.snapshot, line.argument(0));
  if (mount == nullptr) return skipped(fmt::format("nothing is mounted on {}", point), point);
  if (mount->hung) {
    return failed(point, fmt::format("{} does not answer", point), Remedy::restart_service);
  }
  const auto& space = mount->space;
  if (!space) return not_known(point, fmt::format("the space of {}", point), space);
  const bool bytes = unit == Unit::bytes;
  const auto available = static_cast<double>(bytes ? space->available_bytes : space->inodes_free);
  const double used = bytes ? static_cast<double>(space->used_bytes)
                            : static_cast<double>(space->inodes_total) - available;
  if (used + available <= 0) return skipped(fmt::format("{} reports no size", point), point);
  const auto limit = parse_amount(line.argument(1), unit);
  if (!limit) return not_judged(limit.error().message, point);
  const double used_percent = std::ceil(100 * used / (used + available));  // df rounds up
  const double percent = free ? 100 - used_percent : used_percent;
  const double amount = free ? available : used;
  auto message = fmt::format("{} {} on {} ({:g}%)",
                             bytes ? size_in_words(amount) : fmt::format("{:.0f} inodes", amount),
                             free ? "free" : "used", point, percent);
  const double seen = limit->percent ? percent : amount;
  if (free ? seen >= limit->value : seen < limit->value) return passed(std::move(message), point);
  message += fmt::format(", expected {} {}", free ? "at least" : "less than", line.argument(1));
  return failed(point, std::move(message), Remedy::fix_config);
}

// Services that distributions run as units of another name.
constexpr std::array kUnits{
    std::pair{"sshd", "ssh"},       std::pair{"crond", "cron"},
    std::pair{"nfs", "nfs-server"}, std::pair{"nfs", "nfs-mountd"},
    std::pair{"httpd", "apache2"},  std::pair{"nfslock", "rpc-statd"},
    std::pair{"mysqld", "mariadb"}, std::pair{"ntpd", "ntp"},
    std::pair{"chronyd", "chrony"}, std::pair{"munged", "munge"},
};

// The active unit of a service, else the unit of the same name.
std::string unit_of(const Services& services, std::string_view name) {
  for (const auto& [service, unit] : kUnits) {
    auto other = fmt::format("{}.service", unit);
    if (name == service && std::ranges::count(*services.active, other) > 0) return other;
  }
  return name.ends_with(".service") ? std::string(name) : fmt::format("{}.service", name);
}

Result<Findings> judge_cpuinfo(const JudgedLine& line) {
  const auto& cpu = *line.snapshot.cpu;
  if (counts_threads_as_sockets(cpu, line)) {
    return Findings{
        passed(fmt::format("{}, which NHC counts as sockets", counted(*cpu.threads, "thread")))};
  }
  Findings findings;
  std::vector<std::string> seen;
  const auto judge = [&](std::size_t index, std::string_view noun, const Fact<unsigned>& count) {
    if (count) seen.push_back(counted(*count, noun));
    compare(
        line, index, fmt::format("the number of {}s", noun), count, parse_unsigned,
        [&](unsigned is, std::uint64_t wanted) -> std::optional<Finding> {
          if (is == wanted) return std::nullopt;
          return failed(kNode, fmt::format("{}, expected {}", counted(is, noun), wanted),
                        is < wanted ? hardware_remedy(line.snapshot) : Remedy::fix_config,
                        {count_value(is), count_value(wanted)});
        },
        findings);
  };
  judge(0, "socket", cpu.sockets);
  judge(1, "core", cpu.cores);
  judge(2, "thread", cpu.threads);
  return checks::or_pass(std::move(findings), fmt::format("{}", fmt::join(seen, ", ")));
}

Result<Findings> judge_eth(const JudgedLine& line) {
  const auto name = line.argument(0);
  // The probe leaves out lo: every network namespace has one.
  if (name == "lo") return Findings{passed("lo exists in every network", name)};
  for (const auto& interface : line.snapshot.network->interfaces) {
    TRY_ASSIGN(const bool found, matches(name, interface.name));
    if (found) return Findings{passed(fmt::format("the interface {} exists", name), name)};
  }
  return Findings{failed(name, fmt::format("no interface {}", printable(name, 80)),
                         Remedy::fix_config, {false, true})};
}

// [LOAD1 [LOAD5 [LOAD15]]].
Result<Findings> judge_load(const JudgedLine& line) {
  const auto& tasks = *line.snapshot.processes;
  Findings findings;
  const auto judge = [&](std::size_t index, int minutes, const Fact<double>& load) {
    const auto what = fmt::format("the {}-minute load average", minutes);
    compare(
        line, index, what, load, parse_number,
        [&](double is, double limit) -> std::optional<Finding> {
          if (is < limit) return std::nullopt;
          return failed(kNode, fmt::format("{} is {:g}, expected less than {:g}", what, is, limit),
                        Remedy::watch, {is, limit});
        },
        findings);
  };
  judge(0, 1, tasks.load1);
  judge(1, 5, tasks.load5);
  judge(2, 15, tasks.load15);
  return checks::or_pass(std::move(findings), "the load is below the limits");
}

// Judges the systemd unit of the service; NHC looks for a process instead.
Result<Findings> judge_service(const JudgedLine& line) {
  TRY_ASSIGN(const auto options, read_options(line.line.arguments, "Scd:ru:"));
  if (options.rest.size() != 1) return make_error("expected one service");
  const auto& services = *line.snapshot.services;
  if (!services.active) {
    return Findings{not_known(kNode, "the list of active services", services.active)};
  }
  const auto name = printable(options.rest.front(), 80);
  const auto unit = unit_of(services, name);
  if (std::ranges::count(*services.active, unit) == 0) {
    return Findings{failed(name, fmt::format("{} is not active", unit), Remedy::restart_service)};
  }
  if (const auto owner = options.given.find('u'); owner != options.given.end()) {
    const bool wants_root = owner->second.back() == "root" || owner->second.back() == "0";
    const auto& of_root = services.of_root;
    if (!wants_root || !of_root || std::ranges::count(*of_root, unit) == 0) {
      return Findings{not_judged(fmt::format("the user of {} is not known", unit), name)};
    }
  }
  return Findings{passed(fmt::format("{} is active", unit), name)};
}

Row direct(std::string_view name, std::size_t least, std::size_t most, ProbeSet needs,
           JudgeLine judge) {
  return {.name = name, .least = least, .most = most, .judge = judge, .needs = needs};
}

// "POINT LIMIT" of free or used space or inodes.
template <Unit kUnit, bool kFree>
Row space_row(std::string_view name) {
  return direct(name, 2, 2, Probe::mounts, [](const JudgedLine& line) -> Result<Findings> {
    return Findings{judge_space(line, kUnit, kFree)};
  });
}

}  // namespace

std::vector<Row> host_rows() {
  return {
      direct("check_hw_cpuinfo", 0, 3, Probe::cpu, judge_cpuinfo),
      direct("check_hw_physmem", 1, 3, Probe::memory,
             [](const JudgedLine& line) {
               return judge_size(line, "memory", line.snapshot.memory->total_bytes,
                                 hardware_remedy(line.snapshot));
             }),
      direct("check_hw_swap", 1, 3, Probe::memory,
             [](const JudgedLine& line) {
               return judge_size(line, "swap", line.snapshot.memory->swap_total_bytes,
                                 Remedy::fix_config);
             }),
      direct("check_hw_eth", 1, 1, Probe::network, judge_eth),
      direct("check_fs_mount", 1, kAny, Probe::mounts,
             [](const JudgedLine& line) { return judge_mounts(line, {}); }),
      direct("check_fs_mount_rw", 1, kAny, Probe::mounts,
             [](const JudgedLine& line) { return judge_mounts(line, "/(^|,)rw($|,)/"); }),
      direct("check_fs_mount_ro", 1, kAny, Probe::mounts,
             [](const JudgedLine& line) { return judge_mounts(line, "/(^|,)ro($|,)/"); }),
      space_row<Unit::bytes, true>("check_fs_free"),
      space_row<Unit::bytes, false>("check_fs_used"),
      space_row<Unit::inodes, true>("check_fs_ifree"),
      space_row<Unit::inodes, false>("check_fs_iused"),
      direct("check_ps_loadavg", 1, 3, Probe::processes, judge_load),
      direct("check_ps_service", 1, kAny, Probe::services, judge_service),
  };
}

}  // namespace muster::nhc
