// SPDX-License-Identifier: Apache-2.0
#include "accept/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/digest.hpp"
#include "lib/base/files.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/base/uuid.hpp"
#include "lib/command/version.hpp"
#include "lib/process/child.hpp"

namespace muster::accept {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kFileMode = 0644;
constexpr std::string_view kOrderFile = "run.json";
constexpr std::string_view kLock = "driver.lock";

template <class A>
std::string node_of(const A& attempt) {
  if constexpr (requires { attempt.node; }) return attempt.node;
  return {};
}

template <class A>
std::vector<std::string> group_of(const A& attempt) {
  if constexpr (requires { attempt.nodes; }) return attempt.nodes;
  return {};
}

template <class A>
void set_group(A& attempt, const std::vector<std::string>& nodes) {
  if constexpr (requires { attempt.nodes; }) attempt.nodes = nodes;
}

std::vector<Attempt>& list_of(Results& results, const Attempt& /*of*/) { return results.attempts; }

std::vector<GroupAttempt>& list_of(Results& results, const GroupAttempt& /*of*/) {
  return results.groups;
}

tl::unexpected<Failure> undecided_run(std::string message) {
  return undecided(Error{.message = std::move(message)});
}

template <class T>
Result<T> read_file_as(const fs::path& file) {
  TRY_ASSIGN(const auto text, read_text(file));
  auto value = from_json<T>(text);
  if (!value) return make_error("{}: {}", file.string(), value.error().message);
  return value;
}

Result<void> sync_folder(const fs::path& folder) {
  const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems do not sync folders.
  if (open.is_open() && (::fsync(open.get()) == 0 || errno == EINVAL)) return {};
  return os_error("write", folder.string(), errno);
}

// A line of journal.jsonl.
struct JournalLine {
  MUSTER_DESCRIBED(JournalLine);
  MUSTER_FIELD(std::string, at, "RFC 3339");
  MUSTER_FIELD(std::string, file, "");
  MUSTER_FIELD(AttemptEnd, end, "") = AttemptEnd::running;
  MUSTER_UNLESS_EMPTY(std::string, sha256, "");
  MUSTER_UNLESS_EMPTY(std::string, why, "");
};

}  // namespace

RunFolder::RunFolder(const fs::path& path, WriteHook hook) : hook_(std::move(hook)) {
  std::error_code ignored;
  path_ = fs::absolute(path, ignored);
}

OrFailure<RunFolder> RunFolder::create(const fs::path& path, Order order, WriteHook hook) {
  RunFolder folder(path, std::move(hook));
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) {
    return undecided_run(fmt::format("create {}: {}", path.string(), failure.message()));
  }
  const auto names = names_in(folder.path_);
  if (!names) return undecided(names.error());
  const bool used = std::ranges::any_of(*names, [](const auto& name) {
    return name != kLock && !name.starts_with(fmt::format("{}.", kOrderFile));
  });
  if (used) {
    return bad_configuration({fmt::format(
        "{} is not empty, and not the folder of a run: it has no {}", path.string(), kOrderFile)});
  }
  if (auto locked = folder.lock(); !locked) return tl::unexpected(locked.error());
  folder.order_ = std::move(order);
  const auto written =
      folder.write(std::string(kOrderFile), fmt::format("{}\n", to_json_line(folder.order_)));
  if (!written) return undecided(written.error());
  return folder;
}

OrFailure<RunFolder> RunFolder::open(const fs::path& path, Use use, WriteHook hook) {
  RunFolder folder(path, std::move(hook));
  const auto file = folder.path_ / kOrderFile;
  auto order = read_file_as<Order>(file);
  if (!order) {
    if (::access(file.c_str(), F_OK) == 0) return bad_configuration(order.error());
    return bad_configuration({fmt::format("{} is not the folder of a run: it has no {}",
                                          folder.path_.string(), kOrderFile)});
  }
  folder.order_ = *std::move(order);
  if (use == Use::drive) {
    if (auto locked = folder.lock(); !locked) return tl::unexpected(locked.error());
  }
  folder.watched_ = use == Use::read && folder.is_driven();
  if (const auto read = folder.read_results(use); !read) return undecided(read.error());
  return folder;
}

bool RunFolder::is_driven() const {
  const Descriptor lock(::open((path_ / kLock).c_str(), O_RDONLY | O_CLOEXEC));
  return lock.is_open() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

OrFailure<void> RunFolder::lock() {
  who_ = user_name(::geteuid());  // first, because its child process would briefly hold the lock
  const auto file = path_ / kLock;
  lock_ = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  if (!lock_.is_open()) {
    return undecided(os_error("write", file.string(), errno).value());
  }
  // Readers hold it for a moment.
  int code = EWOULDBLOCK;
  for (int tries = 0; tries < 5 && code == EWOULDBLOCK; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    code = ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  }
  if (code != 0) {
    if (code != EWOULDBLOCK) return undecided(os_error("lock", file.string(), code).value());
    const auto holder = read_text(file).value_or("");
    return undecided_run(fmt::format("{} is being driven by {}", path_.string(),
                                     holder.empty() ? "another muster" : printable(trim(holder))));
  }
  const auto text =
      fmt::format("{} on {}, process {}, since {}\n", who_, host_name(), ::getpid(), utc_now());
  if (::ftruncate(lock_.get(), 0) != 0 || write_all(lock_.get(), text) != 0) {
    return undecided(os_error("write", file.string(), errno).value());
  }
  return {};
}

Result<void> RunFolder::read_results(Use use) {
  auto files = read_node_files(path_ / "nodes", order_.nodes);
  for (std::size_t i = 0; i < files.size(); ++i) {
    TRY(files[i]);
    TRY(take_attempts(*std::move(files[i]), Attempt{.node = order_.nodes[i].name}, use));
  }
  TRY_ASSIGN(auto groups, read_group_files(path_ / "group"));
  TRY(take_attempts(std::move(groups), GroupAttempt{}, use));
  return read_decisions();
}

template <class A>
RunFolder::Key RunFolder::key_of(const A& attempt) {
  return {node_of(attempt), attempt.stage, attempt.number};
}

template <class A>
Result<void> RunFolder::take_attempts(std::vector<AttemptFile<A>> files, const A& like, Use use) {
  for (auto& [name, result] : files) {
    A named = like;
    named.stage = name.stage;
    named.number = name.number;
    if (!name.started) {
      TRY_ASSIGN(auto attempt, checked_attempt(named, std::move(result), use));
      remember(std::move(attempt));
      continue;
    }
    if (places_.contains(key_of(named))) continue;
    const auto started =
        read_file_as<StartedAttempt>(path_ / fmt::format("{}{}", name_of(named), kStartedEnd));
    if (started) {
      named.started = started->at;
      set_group(named, started->nodes);
    }
    remember(named);
    if (watched_) continue;
    named.end = AttemptEnd::interrupted;
    named.ended = named.started;
    named.why = "the driver ended before the attempt";
    if (use == Use::drive) TRY(end_attempt(named, std::nullopt));
    remember(named);
  }
  return {};
}

// Sets a damaged result aside, and marks its attempt as interrupted.
template <class A>
Result<A> RunFolder::checked_attempt(const A& named, Result<A> read, Use use) {
  const auto name = name_of(named);
  const auto file = path_ / fmt::format("{}{}", name, kResultEnd);
  if (read && key_of(*read) == key_of(named)) return *std::move(read);
  auto damaged = named;
  damaged.end = AttemptEnd::interrupted;
  damaged.why =
      fmt::format("its result was damaged and was set aside as {}.bad", file.filename().string());
  if (use == Use::read) return damaged;
  const auto aside = fmt::format("{}.bad", file.string());
  if (::rename(file.c_str(), aside.c_str()) != 0) return os_error("rename", file.string(), errno);
  const auto started = read_file_as<StartedAttempt>(path_ / fmt::format("{}{}", name, kStartedEnd));
  if (started) {
    damaged.started = damaged.ended = started->at;
    set_group(damaged, started->nodes);
  }
  TRY(write(fmt::format("{}{}", name, kResultEnd), fmt::format("{}\n", to_json_line(damaged))));
  note(name, damaged, "");
  return damaged;
}

Result<void> RunFolder::read_decisions() {
  TRY_ASSIGN(auto names, names_in(path_ / "decisions"));
  for (const auto& name : names) {
    if (!name.ends_with(kResultEnd)) continue;
    TRY_ASSIGN(auto decision, read_file_as<Decision>(path_ / "decisions" / name));
    decided_ = std::max(decided_, decision.at);
    results_.decisions.push_back(std::move(decision));
  }
  return {};
}

template <class A>
Result<void> RunFolder::begin_attempt(A attempt) {
  attempt.started = std::max(attempt.started, decided_ + 1);
  const auto* const job = std::getenv("SLURM_JOB_ID");
  const StartedAttempt started{.at = attempt.started,
                               .deadline = attempt.started + deadline_s(order_.plan, attempt.stage),
                               .who = who_,
                               .host = host_name(),
                               .pid = ::getpid(),
                               .job = job == nullptr ? "" : job,
                               .nodes = group_of(attempt)};
  const auto name = name_of(attempt);
  TRY(write(fmt::format("{}{}", name, kStartedEnd), fmt::format("{}\n", to_json_line(started))));
  note(name, attempt, "");
  remember(std::move(attempt));
  return {};
}

Result<void> RunFolder::begin(const NodeStart& step, std::int64_t now) {
  return begin_attempt(Attempt{.node = order_.nodes.at(step.node).name,
                               .stage = step.stage,
                               .number = step.number,
                               .started = now});
}

Result<void> RunFolder::begin(const GroupStart& step, std::int64_t now) {
  GroupAttempt attempt{.stage = step.stage, .number = step.number, .started = now};
  for (const auto node : step.nodes) attempt.nodes.push_back(order_.nodes.at(node).name);
  return begin_attempt(std::move(attempt));
}

template <class A>
Result<void> RunFolder::end_attempt(const A& attempt, const std::optional<StepAnswer>& answer) {
  auto text = to_json_line(attempt);
  if (answer) {
    const auto answer_text = to_json_line(*answer);
    text.pop_back();
    text += fmt::format(R"(,"answer_sha256":"{}"{}{}}})", sha256_of(answer_text), kAnswerBegin,
                        answer_text);
  }
  text += '\n';
  const auto name = name_of(attempt);
  TRY(write(fmt::format("{}{}", name, kResultEnd), text));
  note(name, attempt, sha256_of(text));
  std::error_code ignored;
  fs::remove(path_ / fmt::format("{}{}", name, kStartedEnd), ignored);
  remember(attempt);
  return {};
}

Result<void> RunFolder::end(const Attempt& attempt, const std::optional<StepAnswer>& answer) {
  return end_attempt(attempt, answer);
}

Result<void> RunFolder::end(const GroupAttempt& attempt, const std::optional<StepAnswer>& answer) {
  return end_attempt(attempt, answer);
}

std::int64_t RunFolder::latest() const {
  auto latest = decided_;
  const auto add = [&](const auto& each) { latest = std::max({latest, each.started, each.ended}); };
  std::ranges::for_each(results_.attempts, add);
  std::ranges::for_each(results_.groups, add);
  return latest;
}

Result<void> RunFolder::decide(Decision decision) {
  decision.at = std::max(decision.at, latest() + 1);
  decided_ = decision.at;
  TRY(write(fmt::format("decisions/{:06}{}", results_.decisions.size() + 1, kResultEnd),
            fmt::format("{}\n", to_json_line(decision))));
  results_.decisions.push_back(std::move(decision));
  return {};
}

template <class A>
Result<std::optional<StepAnswer>> RunFolder::answer(const A& attempt) const {
  std::optional<StepAnswer> answer;
  if (attempt.end == AttemptEnd::interrupted) return answer;  // its file may be damaged
  const auto file = path_ / fmt::format("{}{}", name_of(attempt), kResultEnd);
  TRY_ASSIGN(const auto text, read_text(file));
  const auto read =
      read_json_text(text, [&](const JsonReader& json) { json.member("answer", answer); });
  if (!read) return make_error("{}: {}", file.string(), read.error().message);
  return answer;
}

template Result<std::optional<StepAnswer>> RunFolder::answer(const Attempt& attempt) const;
template Result<std::optional<StepAnswer>> RunFolder::answer(const GroupAttempt& attempt) const;

Result<void> RunFolder::write(const std::string& name, std::string_view content) const {
  const auto file = path_ / name;
  std::error_code failure;
  fs::create_directories(file.parent_path(), failure);
  if (failure) {
    return make_error("create {}: {}", file.parent_path().string(), failure.message());
  }
  if (hook_) TRY(hook_(file, false));
  TRY_ASSIGN(auto replacement, FileReplacement::begin(file, kFileMode));
  TRY(replacement.append(content));
  TRY(replacement.sync());
  TRY(replacement.finish());
  TRY(sync_folder(file.parent_path()));
  return hook_ ? hook_(file, true) : Result<void>{};
}

template <class A>
void RunFolder::remember(A attempt) {
  auto& list = list_of(results_, attempt);
  const auto [place, is_new] = places_.try_emplace(key_of(attempt), list.size());
  if (is_new) {
    list.push_back(std::move(attempt));
  } else {
    list.at(place->second) = std::move(attempt);
  }
}

// The journal is only informative, so a line that cannot be written is dropped.
template <class A>
void RunFolder::note(const std::string& name, const A& attempt, std::string sha256) const {
  const auto line = to_json_line(JournalLine{.at = utc_now(),
                                             .file = name,
                                             .end = attempt.end,
                                             .sha256 = std::move(sha256),
                                             .why = attempt.why});
  const auto file = path_ / "journal.jsonl";
  const Descriptor journal(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode));
  if (journal.is_open()) {
    static_cast<void>(write_all(journal.get(), fmt::format("{}\n", line)));
  }
}

Order make_order(Plan plan, std::vector<OrderedNode> nodes) {
  return {.id = make_uuid(),
          .muster = std::string(kVersion),
          .created = wall_time().time_since_epoch().count(),
          .plan = std::move(plan),
          .nodes = std::move(nodes)};
}

}  // namespace muster::accept
