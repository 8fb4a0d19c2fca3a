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
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/base/uuid.hpp"
#include "lib/command/version.hpp"
#include "lib/process/child.hpp"

namespace muster::accept {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kFileMode = 0644;
constexpr std::string_view kOrderFile = "run.json";
constexpr std::string_view kResultEnd = ".json";
constexpr std::string_view kStartedEnd = ".started";
// The answer must be the last member of a result.
constexpr std::string_view kAnswerBegin = R"(,"answer":)";
constexpr std::string_view kAnswerEnd = "}\n";

// Return the paths of an attempt's files, without their suffixes, below the run's folder.
std::string name_of(const Attempt& attempt) {
  return fmt::format("nodes/{}/{}.{}", attempt.node, to_string(attempt.stage), attempt.number);
}

std::string name_of(const GroupAttempt& attempt) {
  return fmt::format("group/{}.{}", to_string(attempt.stage), attempt.number);
}

std::string node_of(const Attempt& attempt) { return attempt.node; }

std::string node_of(const GroupAttempt& /*attempt*/) { return {}; }

std::vector<std::string> group_of(const Attempt& /*attempt*/) { return {}; }

std::vector<std::string> group_of(const GroupAttempt& attempt) { return attempt.nodes; }

void set_group(Attempt& /*attempt*/, const std::vector<std::string>& /*nodes*/) {}

void set_group(GroupAttempt& attempt, const std::vector<std::string>& nodes) {
  attempt.nodes = nodes;
}

std::vector<Attempt>& list_of(Results& results, const Attempt& /*of*/) { return results.attempts; }

std::vector<GroupAttempt>& list_of(Results& results, const GroupAttempt& /*of*/) {
  return results.groups;
}

tl::unexpected<Failure> undecided_run(std::string message) {
  return undecided(Error{.message = std::move(message)});
}

const Root& host() {
  static const Root kHost;
  return kHost;
}

Result<std::string> read_text(const fs::path& file) {
  constexpr std::size_t kMaxBytes = 256UL * 1024 * 1024;
  return host().read(file.string(), kMaxBytes);
}

template <class T>
Result<T> read_file_as(const fs::path& file) {
  TRY_ASSIGN(const auto text, read_text(file));
  auto value = from_json<T>(text);
  if (!value) return make_error("{}: {}", file.string(), value.error().message);
  return value;
}

// Reads an attempt but verifies only the checksum of its answer: the answers of 10,000 nodes take
// long to parse.
template <class A>
Result<A> read_result(const fs::path& file) {
  TRY_ASSIGN(auto text, read_text(file));
  std::string sum_of_answer;
  const auto begin = text.find(kAnswerBegin);
  if (begin != std::string::npos && text.ends_with(kAnswerEnd)) {
    const auto answer = std::string_view(text).substr(begin + kAnswerBegin.size());
    sum_of_answer = sha256_of(answer.substr(0, answer.size() - kAnswerEnd.size()));
    text.replace(begin, std::string::npos, kAnswerEnd);
  }
  A attempt;
  std::string sum;
  TRY(read_json_text(text, [&](const JsonReader& json) {
    json.read(attempt);
    json.member("answer_sha256", sum);
  }));
  if (sum != sum_of_answer) return make_error("the answer does not match its checksum");
  return attempt;
}

Result<std::optional<StepAnswer>> read_answer(const fs::path& file) {
  TRY_ASSIGN(const auto text, read_text(file));
  std::optional<StepAnswer> answer;
  const auto read =
      read_json_text(text, [&](const JsonReader& json) { json.member("answer", answer); });
  if (!read) return make_error("{}: {}", file.string(), read.error().message);
  return answer;
}

Result<void> sync_folder(const fs::path& folder) {
  const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems do not sync folders.
  if (open.is_open() && (::fsync(open.get()) == 0 || errno == EINVAL)) return {};
  return os_error("write", folder.string(), errno);
}

}  // namespace

// "STAGE.NUMBER.json" or "STAGE.NUMBER.started".
struct AttemptName {
  Stage stage = Stage::inventory;
  std::int64_t number = 0;
  bool started = false;
};

// A file of an attempt, and the attempt if the file is its result.
template <class A>
struct AttemptFile {
  AttemptName name;
  Result<A> result;
};

namespace {

std::optional<AttemptName> parse_name(std::string_view name) {
  const auto parts = split(name, '.');
  if (parts.size() != 3) return std::nullopt;
  const auto stage = parse_word<Stage>(parts[0]);
  const auto number = parse_signed(parts[1]);
  const bool started = parts[2] == kStartedEnd.substr(1);
  if (!stage || !number || !(started || parts[2] == kResultEnd.substr(1))) return std::nullopt;
  return AttemptName{*stage, *number, started};
}

// Returns the names in a folder, sorted; none if the folder does not exist.
Result<std::vector<std::string>> names_in(const fs::path& folder) {
  auto names = host().list(folder.string());
  if (!names && names.error().missing) return std::vector<std::string>();
  return names;
}

template <class A>
using AttemptFiles = Result<std::vector<AttemptFile<A>>>;

// The sorted names put a result before the .started file of its attempt.
template <class A>
AttemptFiles<A> read_attempt_files(const fs::path& folder) {
  TRY_ASSIGN(const auto names, names_in(folder));
  std::vector<AttemptFile<A>> files;
  for (const auto& name : names) {
    const auto parsed = parse_name(name);
    if (!parsed) continue;
    files.push_back({*parsed, parsed->started ? A{} : read_result<A>(folder / name)});
  }
  return files;
}

// Reads with several threads, because most of the time is spent opening files.
std::vector<AttemptFiles<Attempt>> read_all_nodes(const fs::path& folder,
                                                  const std::vector<OrderedNode>& nodes) {
  constexpr unsigned kMostThreads = 8;
  std::vector<AttemptFiles<Attempt>> files(nodes.size());
  std::atomic<std::size_t> next = 0;
  const auto read = [&] {
    for (std::size_t i = next++; i < nodes.size(); i = next++) {
      files[i] = read_attempt_files<Attempt>(folder / nodes[i].name);
    }
  };
  std::vector<std::jthread> others(
      std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads) - 1);
  for (auto& other : others) other = std::jthread(read);
  read();
  others.clear();
  return files;
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
    return name != "driver.lock" && !name.starts_with(fmt::format("{}.", kOrderFile));
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
  if (const auto read = folder.read_results(use); !read) return undecided(read.error());
  return folder;
}

OrFailure<void> RunFolder::lock() {
  who_ = user_name(::geteuid());  // first, because its child process would briefly hold the lock
  const auto file = path_ / "driver.lock";
  lock_ = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  if (!lock_.is_open()) {
    return undecided(os_error("write", file.string(), errno).value());
  }
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
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
  auto files = read_all_nodes(path_ / "nodes", order_.nodes);
  for (std::size_t i = 0; i < files.size(); ++i) {
    TRY(files[i]);
    TRY(take_attempts(*std::move(files[i]), Attempt{.node = order_.nodes[i].name}, use));
  }
  TRY_ASSIGN(auto groups, read_attempt_files<GroupAttempt>(path_ / "group"));
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
    if (use == Use::read) continue;
    named.end = AttemptEnd::interrupted;
    named.ended = named.started;
    named.why = "the driver ended before the attempt";
    TRY(end_attempt(named, std::nullopt));
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
  note(to_json_line(JournalLine{
      .at = utc_now(), .file = name, .end = damaged.end, .sha256 = "", .why = damaged.why}));
  return damaged;
}

Result<void> RunFolder::read_decisions() {
  TRY_ASSIGN(auto names, names_in(path_ / "decisions"));
  for (const auto& name : names) {
    if (!name.ends_with(kResultEnd)) continue;
    TRY_ASSIGN(auto decision, read_file_as<Decision>(path_ / "decisions" / name));
    results_.decisions.push_back(std::move(decision));
  }
  return {};
}

template <class A>
Result<void> RunFolder::begin_attempt(const A& attempt, std::int64_t deadline) {
  const auto* const job = std::getenv("SLURM_JOB_ID");
  const StartedAttempt started{.at = attempt.started,
                               .deadline = deadline,
                               .who = who_,
                               .host = host_name(),
                               .pid = ::getpid(),
                               .job = job == nullptr ? "" : job,
                               .nodes = group_of(attempt)};
  const auto name = name_of(attempt);
  TRY(write(fmt::format("{}{}", name, kStartedEnd), fmt::format("{}\n", to_json_line(started))));
  note(to_json_line(JournalLine{.at = utc_now(), .file = name, .end = AttemptEnd::running}));
  remember(attempt);
  return {};
}

Result<void> RunFolder::begin(const NodeStart& step, std::int64_t now) {
  const Attempt attempt{.node = order_.nodes.at(step.node).name,
                        .stage = step.stage,
                        .number = step.number,
                        .started = now};
  return begin_attempt(attempt, now + deadline_s(order_.plan, step.stage));
}

Result<void> RunFolder::begin(const GroupStart& step, std::int64_t now) {
  GroupAttempt attempt{.stage = step.stage, .number = step.number, .started = now};
  for (const auto node : step.nodes) attempt.nodes.push_back(order_.nodes.at(node).name);
  return begin_attempt(attempt, now + deadline_s(order_.plan, step.stage));
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
  note(to_json_line(JournalLine{.at = utc_now(),
                                .file = name,
                                .end = attempt.end,
                                .sha256 = sha256_of(text),
                                .why = attempt.why}));
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

Result<void> RunFolder::decide(const Decision& decision) {
  TRY(write(fmt::format("decisions/{:06}{}", results_.decisions.size() + 1, kResultEnd),
            fmt::format("{}\n", to_json_line(decision))));
  results_.decisions.push_back(decision);
  return {};
}

Result<std::optional<StepAnswer>> RunFolder::answer(const Attempt& attempt) const {
  return read_answer(path_ / fmt::format("{}{}", name_of(attempt), kResultEnd));
}

Result<std::optional<StepAnswer>> RunFolder::answer(const GroupAttempt& attempt) const {
  return read_answer(path_ / fmt::format("{}{}", name_of(attempt), kResultEnd));
}

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
void RunFolder::note(const std::string& line) const {
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
