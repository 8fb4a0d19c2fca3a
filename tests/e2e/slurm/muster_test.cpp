// SPDX-License-Identifier: Apache-2.0
// muster's own hooks in a real Slurm, on simulated nodes whose trees change while the cluster runs.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/e2e/slurm/muster_in_slurm.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

TEST_F(MusterInSlurm, DrainsASickNodeAndResumesItAfterCleanRuns) {
  ASSERT_TRUE(render("sick", kPassing));
  begin(4, ", clean_runs: 3");
  become("n2", "sick");
  ASSERT_TRUE(cluster().wait_until("n2", is_drained)) << events_of("n2");
  EXPECT_THAT(cluster().nodes().at("n2").reason, StartsWith("muster: host.limits "));

  // The job asks for this node, and starts elsewhere or not at all.
  const auto id = cluster().submit(cluster().write("job", "#!/bin/sh\necho $SLURMD_NODENAME\n"),
                                   {"--nodelist=n2"});
  ASSERT_NE(id, "") << cluster().refusal();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(cluster().job(id)->state, "PENDING");
  EXPECT_EQ(cluster().scontrol({"update", fmt::format("jobid={}", id), "state=hold"}).status, 1);

  become("n2", "healthy");
  const auto job = cluster().wait_for_job(id);
  ASSERT_TRUE(job) << events_of("n2");
  EXPECT_EQ(job->state, "COMPLETED") << events_of("n2");
  EXPECT_TRUE(cluster().wait_until_all(is_idle)) << events_of("n2");
  const auto events = events_of("n2");
  EXPECT_THAT(events, AllOf(HasSubstr(" drained n2 "), HasSubstr("clean run 2 of 3"),
                            HasSubstr(" resumed n2 ")));
  for (const auto* other : {"n1", "n3", "n4"}) EXPECT_EQ(events_of(other), "") << other;
}

// `muster-bench locate --format json | muster drain --report -`. Hooks that find nothing do not
// take it back.
TEST_F(MusterInSlurm, DrainsNodesThatASearchAccuses) {
  begin(1, ", most_drained: 100%, clean_runs: 1");
  ASSERT_TRUE(cluster().wait_until("n1", is_idle));
  const auto report = trees_.path() / "locate.json";
  const auto drain = [&](std::string_view host) {
    cluster().run({MUSTER_BENCH_PROGRAM, "locate", "--backend=sim", "--profile=generic",
                   "--sim=nodes=8,fault=slow_hca:3:3:0.5", "--format=json",
                   "--output=" + report.string()});
    auto text = content_of(report);
    for (auto at = text.find("sim3"); at != std::string::npos; at = text.find("sim3")) {
      text.replace(at, 4, host);
    }
    std::ofstream(report) << text;
    return cluster().run({MUSTER_PROGRAM, "drain", "--report", report.string(), "--root",
                          trees_.path("healthy"), "--state", trees_.path("admin")});
  };
  ASSERT_EQ(drain("nobody").status, 1);
  EXPECT_TRUE(is_idle(cluster().nodes().at("n1")));
  const auto ended = drain("localhost");
  ASSERT_EQ(ended.status, 0) << ended.out;
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << ended.out;
  EXPECT_THAT(cluster().nodes().at("n1").reason, StartsWith("muster: bench.locate: HCA 3: 93."));
  // Some hooks later.
  std::this_thread::sleep_for(std::chrono::seconds(6));
  EXPECT_TRUE(is_drained(cluster().nodes().at("n1"))) << events_of("n1");
}

TEST_F(MusterInSlurm, DoesNotChangeAnAdminsDrain) {
  ASSERT_TRUE(render("sick", kPassing));
  begin(2, ", clean_runs: 1");
  const auto drain = [&](const char* reason) {
    return cluster()
        .scontrol({"update", "nodename=n1", "state=drain", fmt::format("reason={}", reason)})
        .status;
  };
  ASSERT_EQ(drain("cable, ask alice"), 0);  // before
  become("n1", "sick");
  EXPECT_TRUE(says("n1", "refused n1 "));
  EXPECT_EQ(cluster().nodes().at("n1").reason, "cable, ask alice");
  become("n1", "healthy");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_TRUE(is_drained(cluster().nodes().at("n1")));
  EXPECT_THAT(events_of("n1"), HasSubstr("refused n1 "));

  ASSERT_EQ(cluster().scontrol({"update", "nodename=n1", "state=resume"}).status, 0);
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained));
  ASSERT_EQ(drain("mine now"), 0);  // during
  become("n1", "healthy");
  std::this_thread::sleep_for(std::chrono::seconds(4));
  EXPECT_TRUE(is_drained(cluster().nodes().at("n1")));
  EXPECT_EQ(cluster().nodes().at("n1").reason, "mine now");
}

// The process there may be a job of the admin.
TEST_F(MusterInSlurm, ANodeThatAnAdminResumedIsNotDrainedForARunningProcess) {
  ASSERT_TRUE(render("sick", kPassing));
  ASSERT_TRUE(render("computing", "process_of_no_job"));
  begin(2, ", clean_runs: 1");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  become("n1", "computing");
  std::this_thread::sleep_for(std::chrono::seconds(5));
  EXPECT_TRUE(is_drained(cluster().nodes().at("n1"))) << events_of("n1");
  ASSERT_EQ(cluster().scontrol({"update", "nodename=n1", "state=resume"}).status, 0);
  EXPECT_TRUE(says("n1", " released n1 "));
  std::this_thread::sleep_for(std::chrono::seconds(3));  // for one more health check
  EXPECT_TRUE(cluster().wait_until("n1", is_idle)) << events_of("n1");
  const auto events = events_of("n1");
  EXPECT_THAT(events, AllOf(HasSubstr(" drained n1 "), HasSubstr(" released n1 ")));
  EXPECT_EQ(events.find(" drained n1 "), events.rfind(" drained n1 ")) << events;
}

TEST_F(MusterInSlurm, NothingIsAppliedLateWhenTheControllerHung) {
  ASSERT_TRUE(render("sick", kFault));
  controller_deadline_ = "4 s";  // less than sinfo would wait
  begin(2, ", clean_runs: 1", true);
  const auto run = [&] {
    return cluster().run({(cluster().folder() / "programs/health_check").string()},
                         {{"SLURMD_NODENAME", "n1"}});
  };
  cluster().stop_controller();
  become("n1", "sick");
  const auto begin_of_run = std::chrono::steady_clock::now();
  EXPECT_EQ(run().status, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin_of_run, std::chrono::seconds(45));
  EXPECT_THAT(events_of("n1"), HasSubstr("did not answer within"));
  become("n1", "healthy");
  cluster().continue_controller();
  EXPECT_EQ(run().status, 0);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_TRUE(cluster().wait_until("n1", is_idle));

  cluster().kill_controller();
  become("n1", "sick");
  EXPECT_EQ(run().status, 0);
  ASSERT_TRUE(cluster().start_controller());
  ASSERT_TRUE(cluster().wait_until("n1", is_idle));
  EXPECT_EQ(run().status, 0);
  EXPECT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  EXPECT_THAT(cluster().nodes().at("n1").reason, StartsWith(std::string(kReason)));
}

TEST_F(MusterInSlurm, KeepsAJobFromASickNodeAndInformsItsUser) {
  ASSERT_TRUE(render("sick", kFault));
  begin(2, "", true);
  become("n1", "sick");
  const auto id = cluster().submit(
      cluster().write("job", "#!/bin/sh\necho ran on $SLURMD_NODENAME\n"), {"--hold"});
  ASSERT_NE(id, "") << cluster().refusal();
  const auto jobid = fmt::format("jobid={}", id);
  ASSERT_EQ(cluster().scontrol({"update", jobid, "admincomment=site: X"}).status, 0);
  ASSERT_EQ(cluster().scontrol({"release", id}).status, 0);
  const auto job = cluster().wait_for_job(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "COMPLETED");
  EXPECT_EQ(job->nodes, "n2");
  EXPECT_EQ(job->restarts, 1);
  EXPECT_TRUE(is_drained(cluster().nodes().at("n1")));
  EXPECT_THAT(cluster().nodes().at("n1").reason, StartsWith(std::string(kReason)));
  EXPECT_EQ(cluster().output_of(id), "ran on n2\n");
  EXPECT_THAT(cluster().scontrol({"show", "job", id}).out,
              HasSubstr("AdminComment=site: X; muster: node n1 is not fit for this job: "));
  EXPECT_THAT(events_of("n1"), HasSubstr(fmt::format("job {}", id)));
}

TEST_F(MusterInSlurm, InformsTheUserOfAJobThatEnds) {
  ASSERT_TRUE(render("sick", kFault));
  begin(1, "", true);
  become("n1", "sick");
  const auto id = cluster().submit(cluster().write("job", "#!/bin/sh\nexit 0\n"), {"--no-requeue"});
  ASSERT_NE(id, "") << cluster().refusal();
  const auto job = cluster().wait_for_job(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "CANCELLED");
  EXPECT_THAT(cluster().scontrol({"show", "job", id}).out,
              AllOf(HasSubstr("AdminComment=muster: node n1 is not fit for this job: "),
                    HasSubstr("; the job ends here, because it may not be requeued")));

  ASSERT_EQ(cluster().scontrol({"update", "nodename=n1", "state=resume"}).status, 0);
  ASSERT_TRUE(cluster().wait_until("n1", is_idle));
  const auto waited = cluster().run({"srun", "true"});
  EXPECT_NE(waited.status, 0) << events_of("n1");
  EXPECT_THAT(waited.err, AllOf(HasSubstr("muster: node n1 is not fit for this job: "),
                                HasSubstr("; the job ends here: start it again")));
}

TEST_F(MusterInSlurm, AWholeSetupHasNoFailure) {
  more_ = {"PrologEpilogTimeout=60"};
  begin(1, "", true);
  const auto tree = trees_.path() / "on-n1";
  std::ofstream(tree / "etc/muster/muster.yaml")
      << "schema: muster.site/1\nslurm: {controller_deadline: 15 s, conf: "
      << (cluster().folder() / "etc/slurm.conf").string() << "}\n";
  const auto check = [&](const std::string& node) {
    return cluster().run({MUSTER_PROGRAM, "hook", "--check-setup", "--profile=nd96isr_h100_v5",
                          fmt::format("--root={}", tree.string()),
                          fmt::format("--nvml={}/nvml/libnvidia-ml.so.1", tree.string()),
                          fmt::format("--state={}/state-n1", trees_.path().string())},
                         {{"SLURMD_NODENAME", node}});
  };
  const auto whole = check("n1");
  EXPECT_EQ(whole.status, 0) << whole.out << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("ok        node: n1 is \"idle\" in Slurm\n"));
  for (const auto* word : {"failure", "warning", "no answer"}) {
    EXPECT_THAT(whole.out, ::testing::Not(HasSubstr(word)));
  }
  const auto broken = check("n9");
  EXPECT_EQ(broken.status, 78) << broken.out;
  EXPECT_THAT(broken.out, HasSubstr("failure   node: "));
}

TEST_F(MusterInSlurm, DrainsAfterAJobThatLeftAProcessBehind) {
  ASSERT_TRUE(render("left", "process_of_no_job"));
  begin(2, "", true);
  const auto begun = cluster().folder() / "begun";
  const auto may_end = cluster().folder() / "may_end";
  const auto script = fmt::format("#!/bin/sh\ntouch {}\nuntil [ -e {} ]; do sleep 0.1; done\n",
                                  begun.string(), may_end.string());
  const auto id =
      cluster().submit(cluster().write("job", script), {"--nodelist=n1", "--exclusive"});
  ASSERT_NE(id, "") << cluster().refusal();
  ASSERT_TRUE(wait_for([&] { return fs::exists(begun); }));
  become("n1", "left");
  (void)cluster().write("may_end", "");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  EXPECT_THAT(cluster().nodes().at("n1").reason, StartsWith("muster: gpu.processes "));
  EXPECT_THAT(events_of("n1"), AllOf(HasSubstr(" epilog "), HasSubstr(fmt::format("job {}", id))));
  EXPECT_EQ(cluster().wait_for_job(id)->state, "COMPLETED");
}

// All of them get the same wrong limit in the same second.
TEST_F(MusterInSlurm, AWrongLimitDrainsOnlyTheSitesShare) {
  settings_ = "--set host.cpu.sockets=9";
  begin(8, ", most_drained: 25%");
  const auto count = [&] {
    const auto nodes = cluster().nodes();
    return std::ranges::count_if(nodes, [](const auto& each) { return is_drained(each.second); });
  };
  const auto all_have_spoken = [&] {
    for (int node = 1; node <= 8; ++node) {
      const auto events = events_of(fmt::format("n{}", node));
      if (events.find(" drained ") == std::string::npos &&
          events.find(" refused ") == std::string::npos) {
        return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(wait_for(all_have_spoken));
  // If two drain at once, that may be one too many, and one of them is undone a moment later.
  auto since = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_for([&] {
    if (count() != 2) since = std::chrono::steady_clock::now();
    return std::chrono::steady_clock::now() - since > std::chrono::seconds(3);
  }));
  EXPECT_EQ(count(), 2);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  EXPECT_EQ(count(), 2);
  std::string all;
  for (int node = 1; node <= 8; ++node) all.append(events_of(fmt::format("n{}", node)));
  EXPECT_THAT(all, HasSubstr("2 of 2 nodes that muster may drain"));
  // Each of the others has recorded its refusal with its node in Slurm.
  EXPECT_TRUE(wait_for([&] {
    return status_of_cluster().find("Sick and not drained: 6\n") != std::string::npos;
  })) << status_of_cluster();
  EXPECT_THAT(status_of_cluster(),
              HasSubstr("most_drained in partition main: 2 drained, 2 allowed"));
}

// Their prologs start at the same moment, on a node that an admin resumed while it is sick.
TEST_F(MusterInSlurm, SixPrologsAtOnceLoseNoDrain) {
  ASSERT_TRUE(render("sick", kPassing));
  begin(1, ", clean_runs: 1, flaps: 100", true);
  const auto health_check = [&] {
    return cluster().run({(cluster().folder() / "programs/health_check").string()},
                         {{"SLURMD_NODENAME", "n1"}});
  };
  const auto job = cluster().write("job", "#!/bin/sh\ntrue\n");
  for (int round = 0; round < 2; ++round) {
    become("n1", "sick");
    ASSERT_EQ(health_check().status, 0);
    ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
    std::vector<std::string> jobs;
    for (int i = 0; i < 6; ++i) {
      jobs.push_back(cluster().submit(job, {"--ntasks=1", "--nodelist=n1"}));
      ASSERT_NE(jobs.back(), "") << cluster().refusal();
    }
    ASSERT_EQ(cluster().scontrol({"update", "nodename=n1", "state=resume"}).status, 0);
    ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
    become("n1", "healthy");
    ASSERT_TRUE(wait_for([&] {
      return health_check().status == 0 && !is_drained(cluster().nodes().at("n1"));
    })) << events_of("n1");
    for (const auto& id : jobs) {
      const auto ended = cluster().wait_for_job(id);
      ASSERT_TRUE(ended) << id;
      EXPECT_EQ(ended->state, "COMPLETED") << id;
    }
    EXPECT_TRUE(cluster().wait_until("n1", is_idle)) << events_of("n1");
  }
}

// The node has a new disk, and Slurm knows why it is drained.
TEST_F(MusterInSlurm, ANodeThatLostItsHistoryIsResumedAfterCleanRuns) {
  ASSERT_TRUE(render("sick", kPassing));
  begin(1, ", clean_runs: 2");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  ASSERT_TRUE(says("n1", " drained n1 "));
  EXPECT_THAT(cluster().scontrol({"show", "node", "n1"}).out,
              HasSubstr(R"(Extra={"muster":1,"check":"host.limits")"));
  fs::rename(trees_.path() / "state-n1", trees_.path() / "lost");
  EXPECT_TRUE(says("n1", " kept n1 ")) << events_of("n1");
  become("n1", "healthy");
  EXPECT_TRUE(cluster().wait_until("n1", is_idle)) << events_of("n1");
  EXPECT_TRUE(says("n1", " resumed n1 "));
  EXPECT_THAT(cluster().scontrol({"show", "node", "n1"}).out,
              HasSubstr(R"(Extra={"muster":1,"drains":[)"));
}

// Slurm puts the node back when it has booted, and no admin looked at it.
TEST_F(MusterInSlurm, ARebootBySlurmIsNoResumeByAnAdmin) {
  ASSERT_TRUE(render("sick", kPassing));
  ASSERT_TRUE(render("again", kPassing));
  ASSERT_TRUE(render("booted", {}));
  for (const auto* const tree : {"again", "booted"}) {
    std::ofstream(trees_.path() / tree / "proc/sys/kernel/random/boot_id")
        << "00000000-6a8e-4c1d-9d2b-0c54a1e7f002\n";
  }
  begin(1, "");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  ASSERT_TRUE(says("n1", " drained n1 "));
  const auto told = cluster().scontrol({"reboot", "ASAP", "nextstate=RESUME", "n1"});
  ASSERT_EQ(told.status, 0) << told.err;
  ASSERT_TRUE(cluster().wait_until("n1", [](const SlurmNode& node) {
    return node.reason.find("reboot issued") != std::string::npos;
  })) << cluster().nodes().at("n1").reason;
  cluster().kill_slurmd("n1");
  become("n1", "booted");
  std::this_thread::sleep_for(std::chrono::seconds(2));  // Slurm compares whole seconds
  cluster().start_slurmd("n1", true);
  ASSERT_TRUE(cluster().wait_until("n1", is_idle))
      << cluster().nodes().at("n1").state << cluster().nodes().at("n1").reason;
  EXPECT_TRUE(says("n1", " released n1 periodic: the node was rebooted and is in service again; "));
  become("n1", "again");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  EXPECT_THAT(cluster().scontrol({"show", "node", "n1"}).out,
              ::testing::ContainsRegex(R"("drains":\[[0-9]+,[0-9]+\])"));
}

TEST_F(MusterInSlurm, ANodeReservedForMaintenanceIsNotResumed) {
  ASSERT_TRUE(render("sick", kPassing));
  begin(1, ", clean_runs: 1");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  const auto made = cluster().scontrol({"create", "reservation=repair", "flags=maint,ignore_jobs",
                                        "nodes=n1", "starttime=now", "duration=60", "users=root"});
  ASSERT_EQ(made.status, 0) << made.err;
  ASSERT_TRUE(cluster().wait_until("n1", [](const auto& node) { return node.is("drained$"); }));
  become("n1", "healthy");
  EXPECT_TRUE(says("n1", ": the node is reserved for maintenance")) << events_of("n1");
  EXPECT_TRUE(cluster().nodes().at("n1").is("drained$"));
  ASSERT_EQ(cluster().scontrol({"delete", "reservation=repair"}).status, 0);
  EXPECT_TRUE(cluster().wait_until("n1", is_idle)) << events_of("n1");
}

TEST_F(MusterInSlurm, AWorseFaultFoundWhileDrainedIsInTheReason) {
  ASSERT_TRUE(render("sick", kPassing));
  ASSERT_TRUE(render("worse", kFault));
  begin(1, ", clean_runs: 1");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  EXPECT_THAT(cluster().nodes().at("n1").reason, StartsWith("muster: host.limits"));
  become("n1", "worse");
  EXPECT_TRUE(cluster().wait_until("n1", [](const SlurmNode& node) {
    return is_drained(node) && node.reason.starts_with(kReason);
  })) << events_of("n1");
  become("n1", "healthy");
  EXPECT_TRUE(says("n1", " kept n1 periodic: gpu.ecc_remapped_rows gpu5: the remedy is to "));
  EXPECT_THAT(events_of("n1"), HasSubstr(" worsened n1 periodic: gpu.ecc_remapped_rows gpu5: "));
  EXPECT_TRUE(is_drained(cluster().nodes().at("n1")));
}

}  // namespace
}  // namespace muster::e2e
