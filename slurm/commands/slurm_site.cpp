// SPDX-License-Identifier: Apache-2.0

#include "slurm/commands/slurm_site.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/files.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/choice.hpp"
#include "lib/profile/site.hpp"

namespace muster::app {
namespace {

std::string place_of(const Profile& noted, const SiteFile& site, const std::string& path) {
  const auto value = noted.values.find(path);
  return at(site.shown, value == noted.values.end() ? site.slurm.line : value->second.origin.line);
}

// The mistake in these keys, empty for none. `of` is the key whose values are checked alone, empty
// for all together.
std::string trouble_with(const SiteFile& site, const Yaml& block, std::string_view of,
                         slurm::Rules& rules) {
  Profile noted;
  Binder binder(noted);
  binder.begin(site.shown);
  const Place place{.path = "slurm", .line = site.slurm.line};
  if (const auto read = binder.value(block, place, rules); !read) {
    return read.error().message;
  }
  const auto broken = slurm::check_values(rules);
  if (broken.key.empty() || !broken.key.starts_with(of)) return "";
  if (broken.is_of_several && !of.empty()) return "";
  const auto path = fmt::format("slurm.{}", broken.key);
  return fmt::format("{}: '{}' {}", place_of(noted, site, path), path, broken.what);
}

constexpr std::string_view kSocket = "/dev/log";
constexpr std::string_view kJournal = "/run/systemd/journal/socket";

// Each kind of event has its own MESSAGE_ID: these digits, and its place in this list. New
// kinds go to the end.
constexpr std::string_view kMessageId = "c4a1f6e20b5d4f3e9d7a52b86e10f3";
constexpr auto kMessageKinds = std::to_array<std::string_view>(
    {"drained", "resumed", "undone", "released", "worsened", "stopped", "accepted", "kept",
     "refused", "over", "trouble", "planned", "submitted", "sweep", "confirmed", "cleared",
     "repair"});

std::string message_id_of(std::string_view kind) {
  const auto* const found = std::ranges::find(kMessageKinds, kind);
  if (found == kMessageKinds.end()) return {};
  return fmt::format("{}{:02x}", kMessageId, found - kMessageKinds.begin() + 1);
}

// Empty for a path that is too long.
std::optional<sockaddr_un> address_of(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return std::nullopt;
  socket.copy(static_cast<char*>(address.sun_path), socket.size());
  return address;
}

// Never blocks, neither to connect nor to send.
bool send_as(int type, const sockaddr_un& address, std::string_view message) {
  const Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  return socket.is_open() && ::connect(socket.get(), where, sizeof address) == 0 &&
         ::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(message.size());
}

}  // namespace

std::string file_trouble(const NamedFile& named, const SiteFile& site, std::string_view root) {
  if (named.path.empty()) return "";
  const auto path = below_root(root, named.path);
  int code = ::access(path.c_str(), named.access) == 0 ? 0 : errno;
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (code == 0 && is_folder != named.is_folder) code = is_folder ? EISDIR : ENOTDIR;
  if (code == 0) return "";
  const auto words = split(named.key, '.');
  const auto& block = words[0] == "repair" ? site.repair : site.slurm;
  const auto* key = block.find(words[1]);
  return fmt::format("{}: '{}' names {}: {}",
                     at(site.shown, key == nullptr ? block.line : key->line), named.key,
                     printable(path), errno_text(code));
}

SlurmBlock validate_slurm_block(const SiteFile& site, std::string_view root) {
  SlurmBlock block;
  if (site.slurm.kind == Yaml::Kind::null) return block;
  Yaml right = site.slurm;
  right.entries.clear();
  for (const auto& entry : site.slurm.entries) {
    Yaml alone = site.slurm;
    alone.entries = {entry};
    slurm::Rules rules;
    auto trouble = trouble_with(site, alone, entry.key, rules);
    if (trouble.empty()) {
      right.entries.push_back(entry);
    } else {
      block.troubles.push_back(std::move(trouble));
    }
  }
  // Mistakes of several keys together, such as a spread that is too long for its budget.
  auto together = trouble_with(site, right, "", block.rules);
  if (!together.empty()) block.troubles.push_back(std::move(together));
  const auto& rules = block.rules;
  const auto folder_of_metrics = std::filesystem::path(rules.metrics.file).parent_path().string();
  std::vector<NamedFile> files;
  if (site.slurm.find("programs") != nullptr) {
    for (const auto folder : split(rules.programs, ':'))
      files.push_back({"slurm.programs", folder, X_OK, true});
  }
  files.insert(files.end(), {{"slurm.nhc_conf", rules.nhc_conf},
                             {"slurm.conf", rules.conf},
                             {"slurm.metrics.file", folder_of_metrics, R_OK, true},
                             {"slurm.tell.program", rules.tell.program, X_OK},
                             {"slurm.sweep.results", rules.sweep.results, R_OK, true},
                             {"slurm.sweep.script", rules.sweep.script}});
  for (const auto& file : files) {
    if (auto why = file_trouble(file, site, root); !why.empty()) {
      block.troubles.push_back(std::move(why));
    }
  }
  return block;
}

bool write_journal(const std::string& socket, int priority, const slurm::Event& event,
                   std::string_view serial) {
  const auto address = address_of(socket);
  if (!address) return false;
  std::string entry = fmt::format("MESSAGE={}\nPRIORITY={}\nSYSLOG_IDENTIFIER=muster\n",
                                  slurm::summary(event), priority);
  // A printable text has no newline, which would need the protocol's binary form.
  const auto add_field = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) entry += fmt::format("{}={}\n", name, printable(text, 1000));
  };
  add_field("MESSAGE_ID", message_id_of(event.kind));
  add_field("MUSTER_KIND", event.kind);
  add_field("MUSTER_NODE", event.node);
  add_field("MUSTER_CONTEXT", event.context);
  add_field("MUSTER_JOB", event.job);
  add_field("MUSTER_CHECK", event.check);
  add_field("MUSTER_DEVICE", event.device);
  add_field("MUSTER_SERIAL", serial);
  add_field("MUSTER_REASON", event.reason);
  return send_as(SOCK_DGRAM, *address, entry);
}

bool write_syslog(const std::string& socket, int priority, std::string_view line) {
  const auto address = address_of(socket);
  if (!address) return false;
  // Leaves out the time: the receiver adds it, and local time would need a file.
  auto message = fmt::format("<{}>muster[{}]: {}", LOG_DAEMON | priority, ::getpid(), line);
  if (send_as(SOCK_DGRAM, *address, message)) return true;
  if (errno != EPROTOTYPE) return false;
  message.push_back('\0');  // ends a message in a stream
  return send_as(SOCK_STREAM, *address, message);
}

void log_event(const slurm::Event& event, std::string_view serial) {
  constexpr std::array<std::string_view, 4> kWarnings{"trouble", "refused", "stopped", "confirmed"};
  const int priority = std::ranges::count(kWarnings, event.kind) > 0 ? LOG_WARNING : LOG_NOTICE;
  if (write_journal(std::string(kJournal), priority, event, serial)) return;
  static_cast<void>(write_syslog(std::string(kSocket), priority, slurm::summary(event)));
}

void log_warning(const std::string& line) {
  static_cast<void>(write_syslog(std::string(kSocket), LOG_WARNING, line));
}

ProcessLock try_lock(const std::filesystem::path& file) {
  ProcessLock result;
  // In a folder that others can write to, it could be their link.
  if (!check_own_folder(file.parent_path())) return result;
  result.lock = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!result.lock.is_open()) return result;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  if (::fcntl(result.lock.get(), F_SETLK, &lock) == 0) {
    static_cast<void>(::futimens(result.lock.get(), nullptr));  // since when
    result.holder = ProcessLock::Holder::ours;
    return result;
  }
  if (errno != EAGAIN && errno != EACCES) return result;  // a file system without locks
  result.holder = ProcessLock::Holder::others;
  struct stat status = {};
  static_cast<void>(::fstat(result.lock.get(), &status));
  result.age = wall_time().time_since_epoch() - std::chrono::seconds(status.st_mtime);
  // If it were closed after a later try, it would release the lock of that one.
  result.lock = {};
  return result;
}

ProcessLock wait_for_lock(const std::filesystem::path& file, Clock::time_point end) {
  constexpr std::chrono::milliseconds kPause{10};
  auto lock = try_lock(file);
  while (lock.holder == ProcessLock::Holder::others && Clock::now() + kPause < end) {
    std::this_thread::sleep_for(kPause);
    lock = try_lock(file);
  }
  return lock;
}

Result<slurm::Rules> read_rules(std::string_view root, const Variables& variables) {
  TRY(check_root(root));
  slurm::Rules rules;
  TRY(read_slurm_block(sources_of(variables, root, {}), rules, slurm::check_values));
  return rules;
}

Result<std::filesystem::path> state_folder(const std::string& state, std::string_view root) {
  if (!state.empty()) return state;
  if (root == "/") return "/var/lib/muster";
  return make_error("with --root this needs --state for the history");
}

std::filesystem::path history_file(const std::filesystem::path& folder) {
  return folder / "events.jsonl";
}

std::string below_root(std::string_view root, std::string_view file) {
  const auto below = std::filesystem::path(file).relative_path();
  return (std::filesystem::path(root) / below).lexically_normal().string();
}

HookCommand with_site(HookCommand command, const slurm::Rules& rules) {
  if (command.nhc_conf.empty() && !rules.nhc_conf.empty()) {
    command.nhc_conf = below_root(command.root, rules.nhc_conf);
  }
  return command;
}

Result<std::unique_ptr<slurm::Controller>> reach_slurm(const slurm::Rules& rules,
                                                       const Variables& variables,
                                                       Clock::time_point end) {
  TRY_ASSIGN(auto installation, slurm::find_installation(rules, variables));
  return slurm::make_controller(std::move(installation),
                                {.deadline = to_duration(rules.controller_deadline), .end = end});
}

Result<void> check_programs(const slurm::Rules& rules, const Variables& variables,
                            Clock::time_point end) {
  TRY_ASSIGN(const auto installation, slurm::find_installation(rules, variables));
  const slurm::CallLimits limits{.deadline = to_duration(rules.controller_deadline), .end = end};
  for (const auto& program : {installation.sinfo, installation.scontrol}) {
    TRY(slurm::call(installation, program, {"--version"}, limits));
  }
  return {};
}

Result<std::string> call_accounting(const Variables& variables, std::string_view program,
                                    std::vector<std::string> words) {
  constexpr auto kLongest = std::chrono::minutes(5);  // a month of a large cluster's jobs
  TRY_ASSIGN(const auto rules, read_rules("/", variables));
  TRY_ASSIGN(const auto installation, slurm::find_installation(rules, variables));
  return slurm::call(installation, installation.scontrol.parent_path() / program, std::move(words),
                     {.deadline = kLongest, .end = Clock::now() + kLongest});
}

Attempt<Site> reach_site(std::string_view root, const Caller& caller) {
  auto rules = read_rules(root, caller.variables);
  if (!rules) return bad_configuration(rules.error());
  auto controller = reach_slurm(*rules, caller.variables, Clock::time_point::max());
  if (!controller) return undecided(controller.error());
  return Site{*std::move(rules), *std::move(controller)};
}

}  // namespace muster::app
