// SPDX-License-Identifier: Apache-2.0

#include "repair/evidence.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/digest.hpp"
#include "lib/base/files.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"
#include "lib/process/process.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"
#include "lib/profile/choice.hpp"
#include "lib/profile/site.hpp"
#include "lib/report/report.hpp"
#include "repair/bundle.hpp"
#include "repair/collectors.hpp"
#include "repair/rules.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using namespace repair;  // NOLINT(google-build-using-namespace): the command is about nothing else

constexpr unsigned kMode = 0600;
constexpr std::string_view kBugReport = "nvidia-bug-report.log";

// The only variables of our own environment that a collector gets, because others may hold secrets.
Variables environment_of(const Variables& variables) {
  Variables kept{{"LANG", "C"}, {"HOME", "/"}};
  for (const auto* name : {"PATH", "SLURM_CONF", "MUSTER_HOSTNAME", "MUSTER_DATA_DIR"}) {
    if (const auto value = value_of(variables, name); !value.empty()) kept[name] = value;
  }
  kept.emplace("PATH", "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin:/opt/slurm/bin");
  return kept;
}

// Returns the start of a regular file; empty if it cannot be read.
std::string read_start(const fs::path& file, std::size_t most) {
  std::string content;
  const Descriptor opened(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (!opened.is_open() || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return content;
  }
  static_cast<void>(read_all(opened.get(), content, most));
  return content;
}

// Joins the newest benchmark reports that name the node, which also name its partners.
std::string newest_bench_reports(const fs::path& folder, const std::string& node) {
  constexpr std::size_t kMostRead = 200;
  constexpr int kReports = 3;
  std::vector<std::pair<fs::file_time_type, fs::path>> reports;
  std::error_code failure;
  for (fs::directory_iterator each(folder, failure), end; !failure && each != end;
       each.increment(failure)) {
    std::error_code ignored;
    if (each->path().extension() != ".json") continue;
    reports.emplace_back(each->last_write_time(ignored), each->path());
  }
  std::ranges::sort(reports, std::greater());
  reports.resize(std::min(reports.size(), kMostRead));
  std::string found;
  int count = 0;
  for (const auto& [time, file] : reports) {
    const auto content = read_start(file, kBenchShare / kReports);
    if (content.find(fmt::format("\"{}\"", node)) == std::string::npos) continue;
    found += content.substr(0, kBenchShare / kReports) + "\n";
    if (++count == kReports) break;
  }
  return found;
}

// Takes the ids of the newest jobs from the output of sacct.
std::string last_job_ids(std::string_view output) {
  constexpr std::size_t kJobIds = 3;
  auto ids = split_words(output);
  std::erase_if(ids, [](std::string_view id) { return !parse_unsigned(id); });
  ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(std::min(ids.size(), kJobIds)));
  return ids.empty() ? "" : fmt::format("{}\n", fmt::join(ids, "\n"));
}

// Removed with its content.
class WorkFolder {
 public:
  WorkFolder() {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }

  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] fs::path path() const { return path_; }

 private:
  std::string path_ = "/tmp/muster-evidence.XXXXXX";
};

class Collection {
 public:
  Collection(Variables environment, Clock::time_point end)
      : environment_(std::move(environment)), end_(end) {}

  // Runs the collectors concurrently. Each has its own deadline, and all end by ours.
  void run(const std::vector<Collector>& all, const fs::path& work) {
    RunningPrograms running;
    std::map<std::size_t, Clock::time_point> started;
    for (std::size_t key = 0; key < all.size(); ++key) {
      const auto& each = all[key];
      const auto program = find_program(each.program, environment_);
      started[key] = Clock::now();
      const auto began = program
                             ? running.start(key, {.program = *program,
                                                   .arguments = each.arguments,
                                                   .environment = environment_,
                                                   .limit = TimeLimit(each.deadline).until(end_),
                                                   .most_output = each.share,
                                                   .keep_partial = true})
                             : make_missing(program.error().message);
      if (!began) finish(each, tl::unexpected(began.error()), work);
    }
    while (running.size() > 0 && !is_stopped()) {
      for (const auto& [key, ended] : running.wait(end_, signals_.descriptor())) {
        const std::chrono::duration<double> duration = Clock::now() - started[key];
        finish(all[key], ended, work).duration_s = duration.count();
      }
    }
  }

  // Adds the result of a child of ours.
  void add(std::string name, const Result<std::string>& content, std::string file) {
    auto& result = results.emplace_back(CollectorResult{.name = std::move(name)});
    if (content && !content->empty()) return keep(std::move(file), *content);
    result.status = content ? Collected::absent : Collected::failed;
    result.reason = content ? "found nothing" : printable(content.error().message);
  }

  [[nodiscard]] bool is_stopped() { return signals_.count() > 0; }

  std::vector<BundledFile> files;
  std::vector<CollectorResult> results;

 private:
  void keep(std::string name, std::string content) {
    files.push_back({std::move(name), std::move(content)});
  }

  // Keeps the files of a collector. Returns whether one of them is larger than its share.
  bool keep_files(const Collector& collector, std::string output, const fs::path& work) {
    bool cut = output.size() >= collector.share;
    if (collector.name == kJobs) output = last_job_ids(output);
    if (!collector.file.empty() && !output.empty()) keep(collector.file, std::move(output));
    for (const auto& name : collector.written) {
      auto content = read_start(work / name, collector.share);
      if (content.empty()) continue;
      cut = cut || content.size() > collector.share;
      content.resize(std::min(content.size(), collector.share));
      if (name != kBugReport) {
        keep(name, std::move(content));
        if (name.starts_with(kBugReport)) break;  // the plain log would be the same
      } else {
        keep(fmt::format("{}.gz", name), gzip(content));
      }
    }
    return cut;
  }

  CollectorResult& finish(const Collector& collector, const Result<Ended>& ended,
                          const fs::path& work) {
    CollectorResult result{.name = collector.name};
    if (!ended) {
      result.status = ended.error().missing ? Collected::absent : Collected::failed;
      result.reason = printable(ended.error().message);
      return results.emplace_back(std::move(result));
    }
    const auto before = files.size();
    const bool cut = keep_files(collector, ended->out, work);
    result.exit_status = ended->status;
    if (cut || !ended->cut.empty()) {
      result.status = cut ? Collected::truncated : Collected::timed_out;
      result.reason = ended->cut.empty() ? "longer than its share" : ended->cut;
    } else if (ended->status > collector.most_status) {
      result.status = Collected::failed;
      result.reason = last_line(ended->err);
    } else if (files.size() == before) {
      result.status = Collected::absent;
      result.reason = "found nothing";
    }
    return results.emplace_back(std::move(result));
  }

  Variables environment_;
  Clock::time_point end_;
  StopSignals signals_;
};

Result<fs::path> make_folders(const fs::path& folder, const std::string& node) {
  std::error_code failure;
  fs::create_directories(folder.parent_path(), failure);
  for (const auto& each : {folder, folder / node}) {
    if (::mkdir(each.c_str(), 0700) != 0 && errno != EEXIST) {
      return os_error("create", each.native(), errno);
    }
    TRY(check_own_folder(each));
  }
  return folder / node;
}

class EvidenceRun {
 public:
  EvidenceRun(const EvidenceCommand& command, const Caller& caller, Clock::duration allowed)
      : command_(command),
        caller_(caller),
        node_(command.node.empty() ? std::string(without_domain(host_name())) : command.node),
        sources_(sources_of(caller.variables, command.root, {})),
        // The rest of the time is for writing.
        collected_by_(caller.started + allowed - allowed / 12),
        end_(caller.started + allowed) {}

  // Returns the path of the bundle.
  Attempt<std::string> run() {
    if (!is_host_name(node_)) {
      return undecided({.message = fmt::format("invalid node name \"{}\"", printable(node_, 80))});
    }
    auto prefix = command_.output;
    std::erase_if(stamp_, [](char c) { return c == '-' || c == ':'; });
    if (prefix.empty()) {
      const auto rules = read_repair_rules(sources_, command_.root);
      if (!rules) return bad_configuration(rules.error());
      const auto folder = make_folders(rules->folder, node_);
      if (!folder) return undecided(folder.error());
      prefix = (*folder / stamp_).string();
    }
    const auto written = write(prefix);
    if (!written) return undecided(written.error());
    return *written;
  }

 private:
  Result<std::string> write(const std::string& prefix) {
    const bool in_folder = command_.output.empty();
    auto bundle = in_folder ? fmt::format("{}.evidence.tar.gz", prefix) : with_host(prefix);
    TRY(check_own_file(bundle));
    TRY_ASSIGN(auto file, FileReplacement::begin(bundle, kMode));
    TRY(file.set_mode(kMode));
    Collection collection(environment_of(caller_.variables), collected_by_);
    {
      const WorkFolder work;
      if (work.path().empty()) return os_error("create", "/tmp/muster-evidence.*", errno);
      collection.run({own_report(muster(), command_.root, work.path())}, work.path());
      collect_bench_reports(collection);
      if (!collection.is_stopped()) {
        collection.run(collectors(node_, work.path()), work.path());
      }
    }
    if (collection.is_stopped()) return make_error("stopped by a signal: no evidence was written");
    auto& files = collection.files;
    const auto report = std::ranges::find(files, kReportFile, &BundledFile::name);
    if (in_folder && report != files.end()) {
      TRY(replace_file(fmt::format("{}.report.json", prefix), report->content, kMode));
    }
    auto manifest = manifest_of(collection, report == files.end() ? "" : report->content);
    files.insert(files.begin(), {"manifest.json", fmt::format("{}\n", to_json_line(manifest))});
    TRY(write_bundle(file, fmt::format("{}-{}", node_, stamp_), files, now_, end_));
    TRY(file.sync());
    TRY(file.finish());
    report_missing(manifest);
    return bundle;
  }

  [[nodiscard]] fs::path muster() const {
    return command_.muster.empty() ? "/proc/self/exe" : command_.muster;
  }

  // A folder on a file server may not answer.
  void collect_bench_reports(Collection& collection) const {
    constexpr auto kLongest = std::chrono::seconds(5);
    slurm::Rules rules;
    const auto read = read_slurm_block(sources_, rules, slurm::check_values);
    if (!read) return collection.add("bench_reports", make_error(read.error().message), "");
    const auto folder = rules.sweep.results;
    collection.add(
        "bench_reports",
        ask_child("bench reports", kLongest,
                  [&] { return folder.empty() ? "" : newest_bench_reports(folder, node_); }),
        "bench-reports.json");
  }

  [[nodiscard]] Manifest manifest_of(const Collection& collection, std::string_view json) const {
    Manifest manifest{.node = node_,
                      .started = utc(now_),
                      .muster = std::string(kVersion),
                      .collectors = collection.results};
    if (const auto report = parse_report(json)) {
      manifest.physical_host = report->physical_host;
      manifest.boot_id = report->boot_id;
      manifest.parts = report->parts;
    }
    for (const auto& [name, content] : collection.files) {
      manifest.files.push_back({name, content.size(), sha256_of(content)});
    }
    return manifest;
  }

  void report_missing(const Manifest& manifest) const {
    std::vector<std::string> missing;
    for (const auto& each : manifest.collectors) {
      if (each.status == Collected::complete) continue;
      missing.push_back(fmt::format("{} ({})", each.name, to_string(each.status)));
    }
    if (missing.empty()) return;
    caller_.console.note(
        fmt::format("muster: not complete, see manifest.json: {}", fmt::join(missing, ", ")));
  }

  const EvidenceCommand& command_;
  const Caller& caller_;
  std::string node_;
  ProfileSources sources_;
  std::chrono::sys_seconds now_ = wall_time();
  std::string stamp_ = utc(now_);  // 20261128T051000Z
  Clock::time_point collected_by_, end_;
};

}  // namespace

int run_evidence(const EvidenceCommand& command, const Caller& caller) {
  const auto allowed = to_duration(command.deadline.value_or(Seconds{180}));
  // Stops a collector that writes without end from filling the disk.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit lower{std::min<rlim_t>(before.rlim_cur, kLargestBundle), before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &lower);
  // Ends this process if a file system hangs.
  const auto longest = std::chrono::ceil<std::chrono::seconds>(allowed) + std::chrono::seconds(10);
  ::alarm(static_cast<unsigned>(longest.count()));
  const auto bundle = EvidenceRun(command, caller, allowed).run();
  ::alarm(0);
  ::setrlimit(RLIMIT_FSIZE, &before);
  if (!bundle) return fail(caller, bundle.error());
  return deliver(caller, "", fmt::format("{}\n", *bundle), kExitHealthy);
}

Result<void> start_evidence(const std::string& root, const std::string& node,
                            const Variables& variables, const std::filesystem::path& muster) {
  TRY_ASSIGN(const auto rules, read_repair_rules(sources_of(variables, root, {}), root));
  if (!rules.evidence) return {};
  return start_detached(muster, {"evidence", "--node", node, "--root", root},
                        environment_of(variables));
}

}  // namespace muster::app
