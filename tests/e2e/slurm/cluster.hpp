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

#include "tests/e2e/process.hpp"
#include "tests/e2e/slurm/private_world.hpp"

namespace muster::e2e {

struct ClusterOptions {
  int nodes = 4;  // n1, n2 …: 8 CPUs and 8 GPUs each
  // Executable files below folder()/programs: name, and content.
  std::map<std::string, std::string> programs;
  // Programs, by their names there or by absolute paths. They cannot be below /dev/shm, because
  // each node has its own. Empty for none.
  std::string prolog, epilog, health_check;
  std::string prolog_slurmctld, epilog_slurmctld;
  int health_interval_s = 2;  // with 1, pings starve and a resumed node stays "idle*"
  std::string health_node_state = "ANY";
  // How long slurmd accepts a job's credential. A requeued job waits this long before it starts
  // again. On a busy machine, a step may take longer to start, and then fails.
  int credential_s = 5;
  std::vector<std::string> more;  // lines of slurm.conf
  // c1, c2 …: cloud nodes, which Slurm powers up and down. Their slurmd runs while they are up.
  int cloud_nodes = 0;
  std::string partition;  // more words of the partition's line
};

struct SlurmNode {
  std::string state;   // as sinfo prints it: "idle", "drained*"
  std::string reason;  // empty for none
  std::string user;
  std::string since;  // as sinfo prints it with SLURM_TIME_FORMAT=%s

  [[nodiscard]] bool is(std::string_view word) const { return state == word; }
};

// A script of slurm/hooks, with other paths of muster and logger, so that no test writes to the
// machine's own syslog.
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
  // Starts a cluster and waits until its nodes are idle, or sets trouble(). Only if
  // why_no_cluster() is empty.
  explicit Cluster(ClusterOptions options = {});
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();

  // Why it does not run, with the ends of the logs; empty if it runs.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  // The pid of a node's slurmd, for programs that need the node's host name and /dev/shm.
  [[nodiscard]] pid_t slurmd_of(const std::string& node) const;
  [[nodiscard]] std::string log_of(const std::string& daemon) const;  // "slurmctld", "slurmd-n1"
  // SLURM_CONF and PATH, which all programs need.
  [[nodiscard]] Variables variables() const;

  // Writes an executable file below the cluster's folder, and returns its path.
  [[nodiscard]] std::string write_program(std::string_view name, std::string_view content) const;
  // Writes a file there.
  [[nodiscard]] std::string write(std::string_view name, std::string_view content) const;

  // Runs a program with the cluster's variables and `more`.
  Ran run(const Words& words, const Variables& more = {},
          std::chrono::milliseconds patience = kPatience);
  Ran scontrol(const Words& words);

  // Empty if slurmctld does not answer.
  [[nodiscard]] Nodes nodes();
  [[nodiscard]] Nodes nodes(const Words& selection);  // options of sinfo
  [[nodiscard]] bool wait_until(const std::string& node,
                                const std::function<bool(const SlurmNode&)>& wanted,
                                std::chrono::milliseconds patience = kPatience);
  [[nodiscard]] bool wait_until_all(const std::function<bool(const SlurmNode&)>& wanted,
                                    std::chrono::milliseconds patience = kPatience);

  // Submits a batch job whose output goes to folder()/ID.out, and returns its id; empty if it was
  // refused, for the reason in refusal().
  [[nodiscard]] std::string submit(const std::string& script, const Words& options = {},
                                   const Variables& more = {}, const Words& arguments = {});

  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  [[nodiscard]] std::string output_of(const std::string& job) const;
  [[nodiscard]] std::optional<SlurmJob> job(const std::string& id);
  // Waits for the job to end, and returns its state then or when the time is up.
  [[nodiscard]] std::optional<SlurmJob> wait_for_job(
      const std::string& id, std::chrono::milliseconds patience = kPatience);

  void stop_controller() const;  // makes it hang: it accepts connections and does not answer
  void continue_controller() const;
  // Changes SuspendTime.
  [[nodiscard]] bool suspend_after(std::string_view seconds);
  // Powers a cloud node down or up, like power saving. It must be idle or drained.
  [[nodiscard]] bool power_down(const std::string& node);
  [[nodiscard]] bool power_up(const std::string& node);
  void kill_controller();
  [[nodiscard]] bool start_controller();  // returns whether it answers
  void kill_slurmd(const std::string& node);
  // `rebooted`: it reports that its machine was rebooted.
  void start_slurmd(const std::string& node, bool rebooted = false);

  // Ends everything. Kills and returns the processes that were left behind.
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
