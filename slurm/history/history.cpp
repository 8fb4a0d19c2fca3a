// SPDX-License-Identifier: Apache-2.0

#include "slurm/history/history.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/files.hpp"
#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct TextField {
  const char* key;
  std::string Event::*text;
};

constexpr std::array kTextFields{
    TextField{"node", &Event::node},       TextField{"kind", &Event::kind},
    TextField{"context", &Event::context}, TextField{"job", &Event::job},
    TextField{"check", &Event::check},     TextField{"device", &Event::device},
    TextField{"message", &Event::message}, TextField{"reason", &Event::reason},
    TextField{"boot_id", &Event::boot_id}};

std::string to_text_line(const Json& json) {
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

Json to_json(const Event& event) {
  Json json{{"schema", "muster.event/1"}, {"id", event.id}, {"at", utc(event.at)}};
  for (const auto& [key, text] : kTextFields) json[key] = event.*text;
  return json;
}

// The same as to_json_line, with the exact texts.
std::string to_stored_line(const Event& event) {
  auto json = to_json(event);
  json["seconds"] = event.at.time_since_epoch().count();
  return to_text_line(json);
}

// Returns nothing for a damaged line.
std::optional<Event> parse_stored_line(std::string_view line) {
  const auto json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto id = json.find("id");
  const auto seconds = json.find("seconds");
  if (id == json.end() || !id->is_number_integer()) return std::nullopt;
  if (seconds == json.end() || !seconds->is_number_integer()) return std::nullopt;
  Event event{.id = id->get<std::int64_t>(),
              .at = Time(std::chrono::seconds(seconds->get<std::int64_t>()))};
  for (const auto& [key, text] : kTextFields) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return std::nullopt;
    event.*text = found->get<std::string>();
  }
  return event;
}

constexpr std::size_t kBlock = 64UL << 10U;
constexpr std::size_t kLongestLine = 1UL << 20U;

fs::path older(const fs::path& file) { return fmt::format("{}.1", file.string()); }

// Creates folders of mode 0755 regardless of the umask.
Result<void> make_folder(const fs::path& folder) {
  struct stat status = {};
  if (folder.empty() || ::stat(folder.c_str(), &status) == 0) return {};
  TRY(make_folder(folder.parent_path()));
  if (::mkdir(folder.c_str(), 0755) == 0) {
    if (::chmod(folder.c_str(), 0755) == 0) return {};
  } else if (errno == EEXIST) {
    return {};
  }
  return os_error("create", folder.native(), errno);
}

Result<Descriptor> open_file(const fs::path& file, int flags) {
  Descriptor opened(
      ::open(file.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  if (!opened.is_open()) {
    const auto error = os_error("open", file.native(), errno);
    return errno == ENOENT ? make_missing(error.value().message) : error;
  }
  struct stat status = {};
  if (::fstat(opened.get(), &status) != 0) return os_error("open", file.native(), errno);
  if (S_ISREG(status.st_mode)) return opened;
  return make_error(fmt::format("open {}: not a regular file", file.string()));
}

// Held while an event is added: ids grow, and a file that is renamed is renamed once.
Result<Descriptor> lock(const fs::path& folder) {
  constexpr int kTries = 200;
  Descriptor locked(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!locked.is_open()) return os_error("open", folder.native(), errno);
  for (int i = 0; i < kTries; ++i) {
    if (::flock(locked.get(), LOCK_EX | LOCK_NB) == 0) return locked;
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    ::usleep(10'000);
  }
  return os_error("lock", folder.native(), errno);
}

bool ends_in_a_line(int file, std::uintmax_t size) {
  char last = 0;
  return size == 0 || (::pread(file, &last, 1, static_cast<off_t>(size) - 1) == 1 && last == '\n');
}

// Calls `visit` for each line of a file from the last on, until it returns false. Returns false
// then.
Result<bool> walk_lines_back(const fs::path& file,
                             const std::function<bool(std::string_view)>& visit) {
  const auto opened = open_file(file, O_RDONLY);
  if (!opened && opened.error().missing) return true;
  if (!opened) return tl::unexpected(opened.error());
  struct stat status = {};
  if (::fstat(opened->get(), &status) != 0) return os_error("read", file.native(), errno);
  std::string rest;  // the beginning of a line whose other lines were visited
  for (auto end = static_cast<std::size_t>(status.st_size); end > 0;) {
    const auto size = std::min(end, kBlock);
    std::string block(size, '\0');
    end -= size;
    const auto got = ::pread(opened->get(), block.data(), size, static_cast<off_t>(end));
    if (got < 0) return os_error("read", file.native(), errno);
    block.resize(static_cast<std::size_t>(got));
    rest.insert(0, block);
    for (auto newline = rest.rfind('\n'); newline != std::string::npos;
         newline = rest.rfind('\n')) {
      const std::string line = rest.substr(newline + 1);
      rest.resize(newline);
      if (!line.empty() && !visit(line)) return false;
    }
    if (rest.size() > kLongestLine) rest.clear();
  }
  return rest.empty() || visit(rest);
}

bool is_selected(const std::vector<std::string>& wanted, const std::string& one) {
  return wanted.empty() || std::ranges::find(wanted, one) != wanted.end();
}

}  // namespace

std::string summary(const Event& event) {
  return fmt::format("{} {}: {}", event.kind, printable(event.node, 100), printable(event.message));
}

std::string to_line(const Event& event) {
  const auto job = event.job.empty() ? "" : fmt::format(" job {}", printable(event.job, 40));
  return fmt::format("{} {} {} {}{}: {}\n", utc(event.at), event.kind, printable(event.node, 100),
                     event.context, job, printable(event.message));
}

std::string to_json_line(const Event& event) {
  auto json = to_json(event);
  for (const auto* key : {"node", "job", "device"}) {
    json[key] = printable(json[key].get_ref<const std::string&>());
  }
  json["message"] = printable(event.message, 1000);
  return to_text_line(json);
}

std::vector<Event> lasting_refusals(const std::vector<Event>& events) {
  std::vector<Event> lasting;
  for (const auto& event : events) {
    const bool is_refused = event.kind == "refused";
    // A command that was refused is not a fault.
    if (is_refused && event.context == "admin") continue;
    const bool ends_all =
        event.kind == "drained" || event.kind == "resumed" || event.kind == "released";
    if (!is_refused && !ends_all && event.kind != "over") continue;
    std::erase_if(lasting, [&](const Event& each) {
      return each.node == event.node &&
             (ends_all || event.check.empty() || each.check == event.check);
    });
    if (is_refused) lasting.push_back(event);
  }
  return lasting;
}

Result<History> History::open(const fs::path& file) {
  TRY(make_folder(file.parent_path()));
  TRY(check_own_folder(file.parent_path()));
  TRY(check_own_file(file));
  TRY(open_file(file, O_WRONLY | O_CREAT));
  return History(file);
}

Result<History> History::read(const fs::path& file) {
  if (::geteuid() == 0) TRY(check_no_others_link(file));
  TRY(open_file(file, O_RDONLY));
  return History(file);
}

Result<void> History::walk_back(const std::function<bool(Event)>& visit) const {
  const auto visit_line = [&](std::string_view line) {
    auto event = parse_stored_line(line);
    return !event || visit(*std::move(event));
  };
  for (const auto& file : {file_, older(file_)}) {
    TRY_ASSIGN(const bool goes_on, walk_lines_back(file, visit_line));
    if (!goes_on) break;
  }
  return {};
}

Result<void> History::add(std::vector<Event> events) {
  TRY_ASSIGN(const auto locked, lock(file_.parent_path()));
  std::int64_t id = 0;
  TRY(walk_back([&](const Event& newest) {
    id = newest.id;
    return false;
  }));
  TRY_ASSIGN(auto file, open_file(file_, O_RDWR | O_APPEND | O_CREAT));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return os_error("write", file_.native(), errno);
  auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size > kLargestFile) {
    if (::rename(file_.c_str(), older(file_).c_str()) != 0) {
      return os_error("rename", file_.native(), errno);
    }
    TRY_ASSIGN(file, open_file(file_, O_RDWR | O_APPEND | O_CREAT));
    size = 0;
  }
  // A killed process or a full disk may have left half a line.
  std::string lines = ends_in_a_line(file.get(), size) ? "" : "\n";
  for (auto& event : events) {
    event.id = ++id;
    lines += to_stored_line(event);
  }
  const int failure = write_all(file.get(), lines);
  if (failure != 0) return os_error("write", file_.native(), failure);
  return {};
}

Result<std::vector<Event>> History::events(const EventFilter& filter) const {
  std::vector<Event> found;
  TRY(walk_back([&](Event event) {
    if (event.id <= filter.after_id) return false;
    const bool is_wanted = is_selected(filter.nodes, event.node) &&
                           is_selected(filter.kinds, event.kind) &&
                           (!filter.since || event.at >= *filter.since);
    if (is_wanted) found.push_back(std::move(event));
    return filter.most == 0 || found.size() < filter.most;
  }));
  std::ranges::reverse(found);
  return found;
}

}  // namespace muster::slurm
