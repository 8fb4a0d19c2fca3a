// SPDX-License-Identifier: Apache-2.0
// A real Slurm for one test: munged, slurmctld and several slurmds on this machine, in a directory
// and in namespaces of their own. Nothing of it is left when it goes.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/slurm/private_world.hpp"
#include "tests/e2e/slurm/process.hpp"

namespace muster::e2e {

struct ClusterOptions {
  int nodes = 4;  // n1, n2 …: 8 CPUs and 8 GPUs each
  // Executable files below folder()/programs: name, and content.
  std::map<std::string, std::string> programs;
  // Programs by their names there, or by absolute paths, not below /dev/shm: a node has its own.
  // Empty for none.
  std::string prolog, epilog, health_check;
  std::string prolog_slurmctld, epilog_slurmctld;
  int health_interval_s = 2;  // with 1, pings starve and a resumed node stays "idle*"
  std::string health_node_state = "ANY";
  // How long slurmd takes a job's credential. A requeued job waits as long before it starts again;
  // on a busy machine the start of a step may take longer, and fails then.
  int credential_s = 5;
  std::vector<std::string> more;  // lines of slurm.conf
  // c1, c2 …: nodes of a cloud, which Slurm powers up and down. A slurmd of theirs runs meanwhile.
  int cloud_nodes = 0;
  std::string partition;  // more words of the partition's line
};

struct SlurmNode {
  std::string state;   // as sinfo has it: "idle", "drained*"
  std::string reason;  // empty for none
  std::string user;
  std::string since;  // as sinfo writes it, with SLURM_TIME_FORMAT=%s

  [[nodiscard]] bool is(std::string_view word) const { return state == word; }
};

// A script of slurm/hooks, but for the lines that say where muster and logger are: none of the
// tests writes to the machine's own syslog.
[[nodiscard]] std::string shipped_hook(std::string_view name, const std::filesystem::path& muster,
                                       const std::filesystem::path& logger = "/nonexistent/logger");

using Nodes = std::map<std::string, SlurmNode>;

struct SlurmJob {
  std::string state;      // "PENDING", "COMPLETED" …
  std::string exit_code;  // "0:0": status and signal
  std::string nodes;      // "n[1-2]"; empty before it ran
  std::string reason;
  int restarts = 0;
};

struct Ran {
  int status = -1;
  std::string out, err;
};

class Cluster {
 public:
  // A cluster whose nodes are idle, or `trouble()`. Only where why_no_cluster() is empty.
  explicit Cluster(ClusterOptions options = {});
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();

  // Why it does not run, with the ends of the logs; empty where it does.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  // For programs of one node, with its own host name and /dev/shm: the pid of its slurmd.
  [[nodiscard]] pid_t slurmd_of(const std::string& node) const;
  [[nodiscard]] std::string log_of(const std::string& daemon) const;  // "slurmctld", "slurmd-n1"
  // The required SLURM_CONF and PATH.
  [[nodiscard]] Variables variables() const;

  // An executable file below the cluster's folder; its path.
  [[nodiscard]] std::string write_program(std::string_view name, std::string_view content) const;
  // A file there.
  [[nodiscard]] std::string write(std::string_view name, std::string_view content) const;

  // Any program, with the cluster's variables and these.
  Ran run(const Words& words, const Variables& more = {},
          std::chrono::milliseconds patience = kPatience);
  Ran scontrol(const Words& words);

  // Empty where slurmctld does not answer.
  [[nodiscard]] Nodes nodes();
  [[nodiscard]] Nodes nodes(const Words& selection);  // options of sinfo
  [[nodiscard]] bool wait_until(const std::string& node,
                                const std::function<bool(const SlurmNode&)>& wanted,
                                std::chrono::milliseconds patience = kPatience);
  [[nodiscard]] bool wait_until_all(const std::function<bool(const SlurmNode&)>& wanted,
                                    std::chrono::milliseconds patience = kPatience);

  // The id of a batch job, its output in folder()/ID.out; empty where it was refused: the reason is
  // in `refusal()`.
  [[nodiscard]] std::string submit(const std::string& script, const Words& options = {},
                                   const Variables& more = {}, const Words& arguments = {});

  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  [[nodiscard]] std::string output_of(const std::string& job) const;
  [[nodiscard]] std::optional<SlurmJob> job(const std::string& id);
  // The job as it is when it has ended, or when the time is over.
  [[nodiscard]] std::optional<SlurmJob> wait_for_job(
      const std::string& id, std::chrono::milliseconds patience = kPatience);

  void stop_controller() const;  // hung: it takes connections and says nothing
  void continue_controller() const;
  // Changes SuspendTime.
  [[nodiscard]] bool suspend_after(std::string_view seconds);
  // Powers a cloud node down or up as power saving does. It must be idle or drained.
  [[nodiscard]] bool power_down(const std::string& node);
  [[nodiscard]] bool power_up(const std::string& node);
  void kill_controller();
  [[nodiscard]] bool start_controller();  // again; whether it answers
  void kill_slurmd(const std::string& node);
  // `rebooted`: it says that its machine was.
  void start_slurmd(const std::string& node, bool rebooted = false);

  // Ends everything; what is still alive then was left behind, killed, and is named here.
  std::vector<std::string> stop();

 private:
  [[nodiscard]] std::string configuration() const;
  void lay_out() const;
  [[nodiscard]] bool start_munged();
  [[nodiscard]] std::string ends_of_logs() const;

  ClusterOptions options_;
  std::filesystem::path folder_;
  std::string trouble_, refusal_;
  std::unique_ptr<Process> munged_, controller_;
  std::map<std::string, std::unique_ptr<Process>> slurmds_;
  int runs_ = 0;
};

}  // namespace muster::e2e
