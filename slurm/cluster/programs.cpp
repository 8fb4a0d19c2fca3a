// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/programs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/process/program.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;

std::string complaint_of(const Ended& ended) {
  for (const auto* stream : {&ended.err, &ended.out}) {
    if (auto line = last_line(*stream); !line.empty()) return line;
  }
  return "no output";
}

constexpr std::array<std::string_view, 5> kUsualConfs = {
    "/etc/slurm/slurm.conf",
    "/run/slurm/conf/slurm.conf",               // fetched by a configless slurmd
    "/var/spool/slurmd/conf-cache/slurm.conf",  // the same, in older versions
    "/opt/slurm/etc/slurm.conf",
    "/usr/local/etc/slurm.conf",
};

// Names the server from which configless machines fetch slurm.conf.
constexpr const char* kServer = "SLURM_CONF_SERVER";

bool is_file(const fs::path& path) {
  std::error_code ignored;  // treats an unreadable path as missing
  return fs::is_regular_file(path, ignored);
}

// Returns an empty path if there is none.
Result<fs::path> find_conf(const Rules& rules, const Variables& variables) {
  const auto named = value_of(variables, "SLURM_CONF");
  const bool is_set = !named.empty();
  if (is_set || !rules.conf.empty()) {
    const fs::path conf = fs::path(is_set ? named : rules.conf).lexically_normal();
    const std::string_view where = is_set ? "SLURM_CONF" : "slurm.conf in muster.yaml";
    if (!conf.is_absolute()) {
      return make_error(
          fmt::format("{}: \"{}\" is not an absolute path", where, printable(conf.string())));
    }
    // Slurm's programs wait a minute for a missing file.
    if (is_file(conf)) return conf;
    return make_missing(
        fmt::format("{} names a missing file: {}", where, printable(conf.string())));
  }
  for (const auto place : kUsualConfs) {
    if (is_file(place)) return fs::path(place);
  }
  return fs::path();
}

std::string memory_field(const Rules& rules) {
  if (rules.memory == "none") return "";
  return rules.memory == "comment" ? "Comment" : "Extra";
}

// The error of Slurm's programs if there is neither a file nor a server.
constexpr std::string_view kNoSource = "Could not establish a configuration source";

Error no_conf(std::string_view server) {
  const auto nor =
      server.empty() ? "" : fmt::format(", nor from SLURM_CONF_SERVER={}", printable(server, 100));
  return {
      .message = fmt::format("no slurm.conf at {}{}; slurm.conf in muster.yaml names another place",
                             fmt::join(kUsualConfs, ", "), nor),
      .missing = true};
}

fs::path find_program(std::string_view folders, std::string_view name) {
  for (const auto folder : split(folders, ':')) {
    fs::path program = fs::path(folder) / name;
    if (program.is_absolute() && is_file(program) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return {};
}

std::string value_in(std::string_view text) { return std::string(text == "(null)" ? "" : text); }

// The first of several values counts.
std::vector<Config> parse_records(std::string_view text) {
  std::vector<Config> records;
  for (const auto line : split_lines(text)) {
    Config record;
    for (const auto word : split_words(line)) {
      const auto equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      record.emplace(word.substr(0, equals), value_in(word.substr(equals + 1)));
    }
    if (!record.empty()) records.push_back(std::move(record));
  }
  return records;
}

// An error unless `id` is a job's number, so that it can be put on a command line.
Result<std::string> call_for_job(const Installation& installation, const std::string& id,
                                 std::vector<std::string> arguments, const CallLimits& limits) {
  if (parse_unsigned(id)) {
    return call(installation, installation.scontrol, std::move(arguments), limits);
  }
  return make_error(fmt::format("invalid job id \"{}\"", printable(id, 40)));
}

// The text of the job's AdminComment before muster's line, and a separator; empty for none.
Result<std::string> ask_comment(const Installation& installation, const std::string& id,
                                const CallLimits& limits) {
  constexpr std::string_view kEnd = "|muster|\n";
  constexpr std::string_view kSeparator = "; ";
  if (installation.squeue.empty()) return make_missing("no squeue to read the AdminComment with");
  TRY_ASSIGN(const auto out, call(installation, installation.squeue,
                                  {"--local", "-h", "-t", "all", "-j", id, "-O",
                                   "jobid:0|,admin_comment:0|muster|"},
                                  limits));
  const auto begin = fmt::format("{}|", id);
  std::string_view rest = out;
  for (auto end = rest.find(kEnd); end != std::string_view::npos; end = rest.find(kEnd)) {
    auto record = rest.substr(0, end);
    rest.remove_prefix(end + kEnd.size());
    if (!record.starts_with(begin)) continue;  // another task of the array
    record.remove_prefix(begin.size());
    record = record.substr(0, record.find(fmt::format("{}{}", kSeparator, kForUser)));
    if (record.empty() || record.starts_with(kForUser)) return std::string();
    return fmt::format("{}{}", record, kSeparator);
  }
  return make_error(fmt::format("squeue does not show job {}", id));
}

}  // namespace

Result<std::string> call(const std::filesystem::path& program, std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& environment,
                         const CallLimits& limits) {
  TRY_ASSIGN(auto ended, run_program({.program = program,
                                      .arguments = std::move(arguments),
                                      .environment = environment,
                                      .limit = TimeLimit(limits.deadline).until(limits.end)}));
  if (ended.status == 0) return std::move(ended.out);
  return make_error(fmt::format("{} ended with status {}: {}", program.filename().string(),
                                ended.status, complaint_of(ended)));
}

Result<std::string> call(const Installation& installation, const fs::path& program,
                         std::vector<std::string> arguments, const CallLimits& limits) {
  auto out = call(program, std::move(arguments), installation.environment, limits);
  if (out || !installation.conf.empty()) return out;
  if (out.error().message.find(kNoSource) == std::string::npos) return out;
  return tl::unexpected(no_conf(value_of(installation.environment, kServer)));
}

Result<void> check_node_name(std::string_view node) {
  constexpr std::size_t kLongest = 255;
  const bool plain = !node.empty() && node.size() <= kLongest &&
                     std::all_of(node.begin(), node.end(), [](unsigned char letter) {
                       return letter < 0x80 && (std::isalnum(letter) != 0 || letter == '.' ||
                                                letter == '_' || letter == '-');
                     });
  if (plain && lower_case(node) != "all") return {};
  return make_error(fmt::format("\"{}\" is not the name of one node", printable(node)));
}

Result<Installation> find_installation(const Rules& rules, const Variables& variables) {
  TRY_ASSIGN(auto conf, find_conf(rules, variables));
  Installation found{.scontrol = find_program(rules.programs, "scontrol"),
                     .sinfo = find_program(rules.programs, "sinfo"),
                     .sbatch = find_program(rules.programs, "sbatch"),
                     .squeue = find_program(rules.programs, "squeue"),
                     .conf = std::move(conf),
                     .environment = {},
                     .memory = memory_field(rules)};
  for (const auto& [name, program] :
       {std::pair{"scontrol", &found.scontrol}, std::pair{"sinfo", &found.sinfo}}) {
    if (!program->empty()) continue;
    return make_missing(
        fmt::format("no {} in {}; slurm.programs in muster.yaml names other folders", name,
                    printable(rules.programs)));
  }
  found.environment = {
      {"SLURM_TIME_FORMAT", "%s"}, {"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}, {"LANG", "C"}};
  const auto server = value_of(variables, kServer);
  if (!found.conf.empty()) {
    found.environment["SLURM_CONF"] = found.conf.string();
  } else if (!server.empty()) {
    found.environment[kServer] = server;
  }
  return found;
}

Config parse_config(std::string_view text) {
  Config config;
  for (const auto line : split_lines(text)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    auto key = trim(line.substr(0, equals));
    const auto value = value_in(trim(line.substr(equals + 1)));
    // Since 24.05: "Prolog[0]", "Prolog[1]".
    const auto number = key.ends_with(']') ? key.find('[') : std::string_view::npos;
    key = key.substr(0, number);
    const auto [place, is_new] = config.emplace(key, value);
    if (!is_new && number != std::string_view::npos) place->second += "," + value;
  }
  return config;
}

Result<Config> ask_config(const Installation& installation, const CallLimits& limits) {
  TRY_ASSIGN(const auto out, call(installation, installation.scontrol, {"show", "config"}, limits));
  auto config = parse_config(out);
  if (config.contains("SLURM_VERSION")) return config;
  return make_error("scontrol show config: SLURM_VERSION is missing");
}

Result<std::vector<Config>> ask_records(const Installation& installation,
                                        const std::vector<std::string>& what,
                                        const CallLimits& limits) {
  std::vector<std::string> arguments{"-a", "-o", "show"};
  arguments.insert(arguments.end(), what.begin(), what.end());
  return call(installation, installation.scontrol, std::move(arguments), limits).map(parse_records);
}

Result<Job> parse_job(std::string_view text, std::string_view id) {
  constexpr std::string_view kBatch = "BatchFlag=";
  constexpr std::string_view kRequeue = "Requeue=";
  // A job's name may be any text. It comes last on its line.
  constexpr std::string_view kName = " JobName=";
  constexpr std::string_view kComment = "AdminComment=";
  const auto header = fmt::format("JobId={} ", id);
  std::string_view batch, requeue;
  Job job;
  bool inside = false;
  for (auto line : split_lines(text)) {
    if (line.starts_with("JobId=")) {
      inside = line.starts_with(header);
      line = line.substr(0, line.find(kName));
    }
    if (!inside) continue;
    // A user can forge this line, so ask_comment() reads the text.
    if (const auto text = trim(line); text.starts_with(kComment)) {
      job.has_comment = job.has_comment || !text.substr(kComment.size()).starts_with(kForUser);
    }
    for (const auto word : split_words(line)) {
      // The first one counts: text from the user comes later.
      if (batch.empty() && word.starts_with(kBatch)) batch = word.substr(kBatch.size());
      if (requeue.empty() && word.starts_with(kRequeue)) requeue = word.substr(kRequeue.size());
    }
  }
  if (batch.empty() || requeue.empty()) {
    return make_error(
        fmt::format("scontrol show job: no BatchFlag and Requeue of job {}", printable(id, 40)));
  }
  job.batch = batch != "0";
  job.requeue = requeue != "0";
  return job;
}

Result<Job> ask_job(const Installation& installation, const std::string& id,
                    const CallLimits& limits) {
  return call_for_job(installation, id, {"show", "job", id}, limits)
      .and_then([&](const std::string& out) { return parse_job(out, id); });
}

Result<void> tell_job(const Installation& installation, const std::string& id, const Job& job,
                      const std::string& line, const CallLimits& limits) {
  const std::vector<std::string> notify{"notify", id, line};
  // Slurm 22.05 takes "admincomment+=" for a new text.
  std::string before;
  if (job.batch && job.has_comment) {
    TRY_ASSIGN(before, ask_comment(installation, id, limits));
  }
  const std::vector<std::string> comment{"update", fmt::format("jobid={}", id),
                                         fmt::format("admincomment={}{}", before, line)};
  TRY(call_for_job(installation, id, job.batch ? comment : notify, limits));
  return {};
}

}  // namespace muster::slurm
