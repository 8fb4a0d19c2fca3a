// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/slurm/cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "lib/base/text.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kPort = 7100;  // the network is this process's own, so every port is free
constexpr int kGpus = 8;

// %E comes last: a reason may hold anything.
constexpr const char* kSinfoFormat = "%N|%T|%u|%H|%E";

// {0} is the folder, {1} the port of slurmctld, {2} the seconds that a credential is valid.
constexpr std::string_view kConfiguration = R"(ClusterName=fake
SlurmctldHost=head(127.0.0.1)
SlurmctldPort={1}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={0}/run/munge/munge.sock,cred_expire={2}
StateSaveLocation={0}/state
SlurmctldPidFile={0}/run/slurmctld.pid
SlurmdPidFile={0}/run/slurmd-%n.pid
SlurmdSpoolDir={0}/spool/%n
TmpFS={0}/tmp/%n
SlurmctldLogFile={0}/log/slurmctld.log
SlurmdLogFile={0}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,nohold_on_prolog_fail
PrologFlags=Alloc
ReturnToService=0
SlurmdTimeout=300
MessageTimeout=5
InactiveLimit=0
KillWait=2
SlurmdParameters=config_overrides
GresTypes=gpu
)";

// The environment of a slurmd: like on a separate machine, it has its own host name and shared
// memory, and knows the names of the others.
constexpr const char* kNode =
    R"(hostname "$1" && mount -t tmpfs -o mode=1777 none /dev/shm &&
mount --bind "$2" /etc/hosts && exec slurmd -D $3 -N "$1")";

// Suspend and resume programs of a cloud: {0} is the folder. A node's slurmd leads a process group.
constexpr std::string_view kSuspend = R"sh(#!/bin/bash
export SLURM_CONF={0}/etc/slurm.conf
for node in $(scontrol show hostnames "$1"); do
  kill -KILL -- -"$(cat {0}/run/cloud-$node)"
done
)sh";
constexpr std::string_view kResume = R"sh(#!/bin/bash
export SLURM_CONF={0}/etc/slurm.conf
for node in $(scontrol show hostnames "$1"); do
  log={0}/log/slurmd-$node-output.log
  sleep 2.5 # Slurm compares whole seconds: a node that booted before it was asked to is not up
  setsid unshare --uts --ipc --mount sh -c '{1}' sh "$node" {0}/etc/hosts -b >$log 2>&1 &
  echo $! >{0}/run/cloud-$node
  # Slurm kills what is left in the script's own session.
  while kill -0 $! && [[ $(ps -o sid= $!) -ne $! ]]; do sleep 0.1; done
done
)sh";

std::string name_of(int index) { return fmt::format("n{}", index + 1); }

void write_file(const fs::path& file, std::string_view content) {
  std::ofstream out(file, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

std::string random_key() {
  std::random_device source;
  std::string key(1024, '\0');
  for (auto& byte : key) byte = static_cast<char>(source());
  return key;
}

std::string last_part(const std::string& text) {
  constexpr std::size_t kMaxBytes = 1500;
  return text.size() <= kMaxBytes ? text : text.substr(text.size() - kMaxBytes);
}

std::string value_of(const std::string& text, std::string_view name) {
  const auto wanted = fmt::format(" {}=", name);
  const auto at = fmt::format(" {}", text).find(wanted);
  if (at == std::string::npos) return "";
  const auto from = at + wanted.size() - 1;
  const auto value = text.substr(from, text.find_first_of(" \n", from) - from);
  return value == "(null)" || value == "None" ? "" : value;
}

bool has_ended(std::string_view state) {
  constexpr std::array kRunning{"PENDING",    "CONFIGURING", "RUNNING",
                                "COMPLETING", "SUSPENDED",   "REQUEUED"};
  return std::ranges::find(kRunning, state) == kRunning.end();
}

}  // namespace

std::string shipped_hook(std::string_view name, const fs::path& muster, const fs::path& logger) {
  auto text = content_of(fmt::format("{}/slurm/hooks/{}", MUSTER_SOURCE_DIR, name));
  for (const auto& [program, place] :
       {std::pair{"muster", &muster}, std::pair{"logger", &logger}}) {
    const auto line = fmt::format("{0}=/usr/bin/{0}\n", program);
    const auto at = text.find(line);
    if (at == std::string::npos) return "";
    text.replace(at, line.size(), fmt::format("{}={}\n", program, place->string()));
  }
  return text;
}

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
  // Munge and PMIx make sockets below it, whose paths may have 108 bytes.
  auto pattern = fmt::format("{}/ms-XXXXXX", kScratch);
  if (::mkdtemp(pattern.data()) == nullptr) {
    trouble_ = fmt::format("a directory below {} cannot be made", kScratch);
    return;
  }
  folder_ = pattern;
  fs::permissions(folder_, fs::perms(0755));
  lay_out();
  if (!start_munged()) {
    trouble_ = fmt::format("munged does not answer{}", ends_of_logs());
  } else if (!start_controller()) {
    trouble_ = fmt::format("slurmctld does not answer{}", ends_of_logs());
  } else {
    for (int i = 0; i < options_.nodes; ++i) start_slurmd(name_of(i));
    // A health check may come earlier.
    const auto is_ready = [](const auto& node) { return node.is("idle") || node.is("drained"); };
    if (!wait_until_all(is_ready)) {
      trouble_ = fmt::format("not all nodes became idle{}", ends_of_logs());
    }
  }
}

Cluster::~Cluster() {
  stop();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

void Cluster::lay_out() const {
  for (const auto* name : {"etc", "state", "log", "dev", "run/munge", "munge", "out"}) {
    fs::create_directories(folder_ / name);
  }
  for (int i = 0; i < options_.nodes; ++i) {
    fs::create_directories(folder_ / "spool" / name_of(i));
    fs::create_directories(folder_ / "tmp" / name_of(i));
  }
  // slurmd counts a GPU for each device file.
  for (int i = 0; i < kGpus; ++i) {
    fs::create_symlink("/dev/null", folder_ / "dev" / fmt::format("nvidia{}", i));
  }
  fs::permissions(folder_ / "munge", fs::perms(0700));
  write_file(folder_ / "munge/key", random_key());
  fs::permissions(folder_ / "munge/key", fs::perms(0400));
  write_file(folder_ / "etc/gres.conf",
             fmt::format("Name=gpu File={}/dev/nvidia[0-{}]\n", folder_.string(), kGpus - 1));
  write_file(folder_ / "etc/slurm.conf", configuration());
  for (const auto& [name, content] : options_.programs) {
    (void)write_program(fmt::format("programs/{}", name), content);
  }
  std::string hosts = "127.0.0.1 localhost head";
  for (int i = 0; i < options_.nodes; ++i) hosts += fmt::format(" {}", name_of(i));
  for (int i = 1; i <= options_.cloud_nodes; ++i) {
    hosts += fmt::format(" c{}", i);
    fs::create_directories(folder_ / "spool" / fmt::format("c{}", i));
    fs::create_directories(folder_ / "tmp" / fmt::format("c{}", i));
  }
  (void)write_program("programs/suspend", fmt::format(kSuspend, folder_.string()));
  (void)write_program("programs/resume", fmt::format(kResume, folder_.string(), kNode));
  write_file(folder_ / "etc/hosts", fmt::format("{}\n", hosts));
}

std::string Cluster::configuration() const {
  auto text = fmt::format(kConfiguration, folder_.string(), kPort, options_.credential_s);
  const auto add = [&](const char* name, const fs::path& program) {
    // An absolute path stays as it is.
    if (!program.empty())
      text += fmt::format("{}={}\n", name, (folder_ / "programs" / program).string());
  };
  add("Prolog", options_.prolog);
  add("Epilog", options_.epilog);
  add("PrologSlurmctld", options_.prolog_slurmctld);
  add("EpilogSlurmctld", options_.epilog_slurmctld);
  if (!options_.health_check.empty()) {
    add("HealthCheckProgram", options_.health_check);
    text += fmt::format("HealthCheckInterval={}\nHealthCheckNodeState={}\n",
                        options_.health_interval_s, options_.health_node_state);
  }
  if (options_.cloud_nodes > 0) {
    add("SuspendProgram", "suspend");
    add("ResumeProgram", "resume");
    text += fmt::format(
        "SuspendTimeout=2\nResumeTimeout=240\nSuspendTime=86400\nSuspendExcNodes=n[1-{}]\n",
        options_.nodes);
  }
  // Slurm takes the last of two equal keys.
  for (const auto& line : options_.more) text += fmt::format("{}\n", line);
  const auto add_node = [&](const std::string& name, int port, std::string_view state) {
    text += fmt::format(
        "NodeName={} NodeHostname=localhost NodeAddr=127.0.0.1 Port={} CPUs=8 Boards=1 "
        "SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=2000 Gres=gpu:{} "
        "State={}\n",
        name, port, kGpus, state);
  };
  for (int i = 0; i < options_.nodes; ++i) add_node(name_of(i), kPort + 1 + i, "UNKNOWN");
  std::string cloud;
  for (int i = 1; i <= options_.cloud_nodes; ++i) {
    add_node(fmt::format("c{}", i), kPort + 100 + i, "CLOUD");
    cloud = fmt::format(",c[1-{}]", i);
  }
  text +=
      fmt::format("PartitionName=main Nodes=n[1-{}]{} Default=YES MaxTime=INFINITE State=UP {}\n",
                  options_.nodes, cloud, options_.partition);
  return text;
}

Variables Cluster::variables() const {
  Variables variables{{"SLURM_CONF", (folder_ / "etc/slurm.conf").string()}, {"HOME", "/root"}};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it from now on
  if (const char* path = std::getenv("PATH")) variables["PATH"] = path;
  return variables;
}

std::string Cluster::log_of(const std::string& daemon) const {
  return content_of(folder_ / "log" / fmt::format("{}.log", daemon));
}

std::string Cluster::ends_of_logs() const {
  std::string text;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder_ / "log", gone)) {
    text += fmt::format("\n--- {}\n{}", entry.path().filename().string(),
                        last_part(content_of(entry.path())));
  }
  return text;
}

std::string Cluster::write(std::string_view name, std::string_view content) const {
  const auto file = folder_ / name;
  fs::create_directories(file.parent_path());
  write_file(file, content);
  return file.string();
}

std::string Cluster::write_program(std::string_view name, std::string_view content) const {
  auto file = write(name, content);
  fs::permissions(file, fs::perms(0755));
  return file;
}

bool Cluster::start_munged() {
  const auto below = [&](std::string_view name) { return (folder_ / name).string(); };
  const auto socket = below("run/munge/munge.sock");
  munged_ = std::make_unique<Process>(
      Words{"munged", "--foreground", "--force", "--num-threads=2",
            fmt::format("--key-file={}", below("munge/key")), fmt::format("--socket={}", socket),
            fmt::format("--pid-file={}", below("run/munge/munged.pid")),
            fmt::format("--seed-file={}", below("munge/seed")),
            fmt::format("--log-file={}", below("log/munged.log"))},
      variables(), folder_ / "log/munged-output.log");
  return wait_for([&] { return run({"munge", "-n", "-S", socket}).status == 0; }, kPatience);
}

bool Cluster::start_controller() {
  controller_ = std::make_unique<Process>(Words{"slurmctld", "-D"}, variables(),
                                          folder_ / "log/slurmctld-output.log");
  // A client that connects too early sleeps between its attempts.
  return wait_for(
      [&] {
        return run({"scontrol", "ping"}).out.find("UP") != std::string::npos;
      },
      kPatience);
}

void Cluster::start_slurmd(const std::string& node, bool rebooted) {
  slurmds_[node] = std::make_unique<Process>(
      Words{"unshare", "--uts", "--ipc", "--mount", "sh", "-c", kNode, "sh", node,
            (folder_ / "etc/hosts").string(), rebooted ? "-b" : ""},
      variables(), folder_ / "log" / fmt::format("slurmd-{}-output.log", node));
}

void Cluster::kill_slurmd(const std::string& node) {
  slurmds_.at(node)->signal(SIGKILL);
  slurmds_.at(node)->wait(kPatience);
}

pid_t Cluster::slurmd_of(const std::string& node) const { return slurmds_.at(node)->pid(); }

void Cluster::stop_controller() const { controller_->signal(SIGSTOP); }

void Cluster::continue_controller() const { controller_->signal(SIGCONT); }

bool Cluster::suspend_after(std::string_view seconds) {
  auto text = configuration();
  const std::string_view kKey = "\nSuspendTime=";
  const auto at = text.find(kKey) + kKey.size();
  text.replace(at, text.find('\n', at) - at, seconds);
  write_file(folder_ / "etc/slurm.conf", text);
  return scontrol({"reconfigure"}).status == 0;
}

bool Cluster::power_down(const std::string& node) {
  const auto is_off = [](const SlurmNode& each) { return each.state.ends_with('~'); };
  // A reconfiguration would end the suspend program, which may not have come to that yet.
  const auto pid = content_of(folder_ / fmt::format("run/cloud-{}", node));
  const auto is_gone = [&] {
    return content_of(fmt::format("/proc/{}/cmdline", trim(pid))).empty();
  };
  return suspend_after("1") && wait_until(node, is_off) && wait_for(is_gone, kPatience) &&
         suspend_after("86400");
}

bool Cluster::power_up(const std::string& node) {
  return scontrol({"update", fmt::format("nodename={}", node), "state=power_up"}).status == 0 &&
         wait_until(node, [](const SlurmNode& each) {
           return each.state.find_first_of("~#%!*") == std::string::npos;
         });
}

void Cluster::kill_controller() {
  controller_->signal(SIGKILL);
  controller_->wait(kPatience);
}

Ran Cluster::run(const Words& words, const Variables& more, milliseconds patience) {
  auto all = more;
  all.merge(variables());
  const auto out = folder_ / "out" / fmt::format("{}.out", ++runs_);
  const auto err = folder_ / "out" / fmt::format("{}.err", runs_);
  Process process(words, all, out, err);
  Ran ran{.status = process.wait(patience), .out = content_of(out), .err = content_of(err)};
  std::error_code ignored;
  fs::remove(out, ignored);
  fs::remove(err, ignored);
  return ran;
}

Ran Cluster::scontrol(const Words& words) {
  Words all{"scontrol"};
  all.insert(all.end(), words.begin(), words.end());
  return run(all);
}

Nodes Cluster::nodes() { return nodes({}); }

Nodes Cluster::nodes(const Words& selection) {
  Nodes found;
  Words words{"sinfo", "-h", "-N", "-o", kSinfoFormat};
  words.insert(words.end(), selection.begin(), selection.end());
  std::istringstream lines(run(words, {{"SLURM_TIME_FORMAT", "%s"}}).out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    SlurmNode node;
    std::getline(words, name, '|');
    std::getline(words, node.state, '|');
    std::getline(words, node.user, '|');
    std::getline(words, node.since, '|');
    std::getline(words, node.reason);
    if (node.reason == "none") node.reason.clear();
    found[name] = std::move(node);
  }
  return found;
}

bool Cluster::wait_until(const std::string& node,
                         const std::function<bool(const SlurmNode&)>& wanted,
                         milliseconds patience) {
  return wait_for(
      [&] {
        // Asked for by name, even a powered-down cloud node is listed; "mixed" then reads "idle".
        auto all = nodes();
        if (!all.contains(node)) all = nodes({"-a", "-n", node});
        const auto found = all.find(node);
        return found != all.end() && wanted(found->second);
      },
      patience);
}

bool Cluster::wait_until_all(const std::function<bool(const SlurmNode&)>& wanted,
                             milliseconds patience) {
  return wait_for(
      [&] {
        auto all = nodes();
        std::erase_if(all, [](const auto& each) { return each.first.starts_with('c'); });
        return std::ssize(all) == options_.nodes &&
               std::ranges::all_of(all, [&](const auto& each) { return wanted(each.second); });
      },
      patience);
}

std::string Cluster::submit(const std::string& script, const Words& options, const Variables& more,
                            const Words& arguments) {
  Words words{"sbatch", "--parsable", fmt::format("--output={}/%j.out", folder_.string())};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(script);
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto ran = run(words, more);
  refusal_ = ran.err;
  return ran.status == 0 ? ran.out.substr(0, ran.out.find_first_of(";\n")) : "";
}

std::string Cluster::output_of(const std::string& job) const {
  return content_of(folder_ / fmt::format("{}.out", job));
}

std::optional<SlurmJob> Cluster::job(const std::string& id) {
  const auto ran = scontrol({"-o", "show", "job", id});
  if (ran.status != 0) return std::nullopt;
  const auto restarts = value_of(ran.out, "Restarts");
  return SlurmJob{.state = value_of(ran.out, "JobState"),
                  .exit_code = value_of(ran.out, "ExitCode"),
                  .nodes = value_of(ran.out, "NodeList"),
                  .reason = value_of(ran.out, "Reason"),
                  .restarts = static_cast<int>(std::strtol(restarts.c_str(), nullptr, 10))};
}

std::optional<SlurmJob> Cluster::wait_for_job(const std::string& id, milliseconds patience) {
  std::optional<SlurmJob> last;
  (void)wait_for(
      [&] {
        last = job(id);
        return last && has_ended(last->state);
      },
      patience);
  return last;
}

std::vector<std::string> Cluster::stop() {
  constexpr auto kEnd = std::chrono::seconds(5);
  std::vector<Process*> daemons;
  for (auto& [name, slurmd] : slurmds_) daemons.push_back(slurmd.get());
  for (auto* each : {controller_.get(), munged_.get()}) {
    if (each != nullptr) daemons.push_back(each);
  }
  for (auto* each : daemons) each->signal(SIGTERM);
  for (auto* each : daemons) each->stop(kEnd);
  // A slurmstepd outlives its slurmd by design, and so may what a hook began. Only as the first
  // process of the namespace are all of them ours.
  std::vector<std::string> left;
  // Repeats until none is left, since one of them may be starting another.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (::getpid() == 1 && std::chrono::steady_clock::now() < deadline) {
    const auto others = other_processes();
    if (others.empty()) break;
    for (const auto& each : others) {
      const auto words = fmt::format("{} {}", each.pid, each.words);
      if (std::ranges::find(left, words) == left.end()) left.push_back(words);
      ::kill(each.pid, SIGKILL);
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  slurmds_.clear();
  controller_.reset();
  munged_.reset();
  return left;
}

}  // namespace muster::e2e
