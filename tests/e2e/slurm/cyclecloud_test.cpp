// SPDX-License-Identifier: Apache-2.0
// The CycleCloud project in a real Slurm that has the settings of CycleCloud-Slurm 4: muster's
// hooks come from the files that 50-slurm.sh writes into the cluster's shared folder.

#include <chrono>
#include <thread>

#include "tests/e2e/slurm/cloud_in_slurm.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

class CycleCloudInSlurm : public CloudInSlurm {
 protected:
  void SetUp() override {
    CloudInSlurm::SetUp();
    if (IsSkipped()) return;
    root_ = home_.path();
    if (shell("command -v jq").status != 0) GTEST_SKIP() << "jq is not installed";
    shared_ = root_ / "sched/my-cluster";
    ASSERT_EQ(shell("make_node $root $sources/deploy/cyclecloud").status, 0);
    fs::create_directories(root_ / "etc/slurm");
    for (const auto* folder : {"prolog.d", "epilog.d"}) {
      fs::create_directory_symlink(shared_ / folder, root_ / "etc/slurm" / folder);
    }
    // It ends without a line break.
    std::ofstream(shared_ / "site_specific.conf") << "# site specific slurm configuration";
    std::ofstream(shared_ / "keep_alive.conf") << "SuspendExcNodes=n1\n";
    more_ = {"PrivateData=cloud",
             "SlurmctldParameters=idle_on_node_suspend",
             "ReturnToService=2",
             "TreeWidth=16",
             "SchedulerParameters=max_switch_wait=24:00:00",
             fmt::format("Prolog={}/etc/slurm/prolog.d/*", root_.string()),
             fmt::format("Epilog={}/etc/slurm/epilog.d/*", root_.string()),
             fmt::format("Include {}/keep_alive.conf", shared_.string()),
             fmt::format("Include {}/site_specific.conf", shared_.string())};
    // Replaces healthagent's.
    health_check_ = fmt::format("#!/bin/sh\necho health.sh >>{}/order\n", root_.string());
    program(shared_ / "prolog.d/90-imex_prolog.sh", "echo 90 >>$root/order");
    program(shared_ / "prolog.d/10-health_prolog.sh", "echo 10 >>$root/order");
    program(shared_ / "epilog.d/90-imex_epilog.sh", "true");
  }

  // A Slurm as CycleCloud left it, muster's files on each node, and then 50-slurm.sh.
  void begin_with_project(std::string_view rules) {
    begin(1, fmt::format("{}, tell: {{program: {}/usr/local/libexec/muster/muster-condition.sh, "
                         "user: root, deadline: 20 s, events: [drained, resumed, released]}}",
                         rules, root_.string()));
    fs::create_symlink(cluster().folder() / "etc/slurm.conf", shared_ / "slurm.conf");
    install_muster();
    EXPECT_THAT(setup().out, HasSubstr("Slurm has read site_specific.conf"));
  }

  void install_muster() {
    const auto libexec = root_ / "usr/libexec/muster";
    fs::create_directories(libexec);
    fs::create_directory_symlink(cluster().folder() / "etc", libexec / "etc");
    for (const auto& [name, context] :
         {std::pair{"prolog", "prolog"}, {"epilog", "epilog"}, {"health_check", "periodic"}}) {
      program(libexec / "slurm" / name,
              fmt::format("echo {} >>$root/order\n{}", name, hook(context)));
    }
    program(root_ / "usr/bin/muster",
            fmt::format("MUSTER_DATA_DIR={}/configs exec {} \"$@\" --root {}/on-c1",
                        MUSTER_SOURCE_DIR, MUSTER_PROGRAM, trees_.path().string()));
    fs::create_directories(root_ / "usr/local/libexec/muster");
    fs::copy(fmt::format("{}/deploy/cyclecloud/specs/default/cluster-init/files/"
                         "muster-condition.sh",
                         MUSTER_SOURCE_DIR),
             root_ / "usr/local/libexec/muster");
  }

  void program(const fs::path& file, std::string_view script) const {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "#!/bin/bash\nroot=" << root_.string() << "\n" << script << "\n";
    fs::permissions(file, fs::perms(0755));
  }

  // Shell with the functions of a simulated node.
  Ran shell(const std::string& script) {
    const auto text =
        fmt::format("sources={0} root={1}\n. $sources/tests/deploy/cyclecloud/node.sh\n{2}",
                    MUSTER_SOURCE_DIR, root_.string(), script);
    const Words words{"bash", "-c", text};
    if (cluster_) return cluster().run(words);
    const auto out = root_ / "shell.out";
    Process process(words, {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}}, out);
    const auto status = process.wait(kPatience);
    return {.status = status, .out = content_of(out), .err = ""};
  }

  Ran setup(const std::string& argument = "") {
    auto ran = shell(fmt::format("run_script $root scheduler 50-slurm.sh {}", argument));
    EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
    return ran;
  }

  // The lines that hooks have written. A health check may write between them.
  [[nodiscard]] std::string order() const { return content_of(root_ / "order"); }

  [[nodiscard]] std::string conditions() const { return content_of(root_ / "conditions"); }

  [[nodiscard]] std::string setting(const std::string& key) {
    return cluster()
        .run({"sh", "-c", fmt::format("scontrol show config | sed -n 's/^{} *= *//p'", key)})
        .out;
  }

  std::optional<SlurmJob> run_job(std::string_view node) {
    const auto id = cluster().submit(cluster().write("job", "#!/bin/sh\ntrue\n"),
                                     {fmt::format("--nodelist={}", node)});
    return cluster().wait_for_job(id);
  }

  TempDir home_{why_no_cluster().empty() ? kScratch : "/tmp"};
  fs::path root_, shared_;
};

TEST_F(CycleCloudInSlurm, ItsLinesCountAndTheOtherProgramsStillRun) {
  begin_with_project("");
  EXPECT_THAT(setting("HealthCheckProgram"), HasSubstr("my-cluster/muster/health_check"));
  EXPECT_THAT(setting("SchedulerParameters"),
              HasSubstr("max_switch_wait=24:00:00,nohold_on_prolog_fail"));
  EXPECT_THAT(setting("PrologEpilogTimeout"), HasSubstr("300"));
  EXPECT_THAT(setting("HealthCheckInterval"), HasSubstr("2 sec"));
  EXPECT_TRUE(wait_for([&] {
    return order().find("health.sh\nhealth_check\n") != std::string::npos;
  })) << order();
  const auto job = run_job("n1");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "COMPLETED");
  // Slurm runs the files of prolog.d in the reverse order of their names.
  auto hooks = order();
  for (const auto* word : {"health.sh\n", "health_check\n", "epilog\n"}) {
    for (auto at = hooks.find(word); at != std::string::npos; at = hooks.find(word)) {
      hooks.erase(at, std::string_view(word).size());
    }
  }
  EXPECT_EQ(hooks, "90\nprolog\n10\n");
  // A second run changes nothing.
  const auto site = content_of(shared_ / "site_specific.conf");
  EXPECT_THAT(setup().out, Not(HasSubstr("Slurm has read")));
  EXPECT_EQ(content_of(shared_ / "site_specific.conf"), site);
}

// With CycleCloud's idle_on_node_suspend, which takes the drain away.
TEST_F(CycleCloudInSlurm, ANodeThatWasPoweredDownIsJudgedAnew) {
  render_booted("booted");
  render_booted("other");
  begin_with_project("");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  become("c1", "sick");
  ASSERT_TRUE(cluster().wait_until("c1", is_drained)) << events_of("c1");
  EXPECT_TRUE(wait_for([&] {
    return conditions().find("[-n][muster][-s][Error][-m][drained: ") != std::string::npos;
  })) << conditions();

  // The same host, still sick.
  ASSERT_TRUE(cluster().power_down("c1")) << logs();
  EXPECT_EQ(state(), "idle~");
  EXPECT_THAT(muster("status").out, HasSubstr("(1 of them powered down), 0 drained by muster"));
  lose_disk();
  ASSERT_EQ(cluster().scontrol({"update", "nodename=c1", "state=power_up"}).status, 0);
  EXPECT_TRUE(says("c1", " drained c1 periodic: host.limits")) << events_of("c1");
  EXPECT_THAT(events_of("c1"), HasSubstr(" released c1 "));

  // Another host, and then the first one after its repair.
  for (const auto* host : {"other", "booted"}) {
    ASSERT_TRUE(cluster().power_down("c1")) << logs();
    lose_disk();
    become("c1", host);
    ASSERT_TRUE(cluster().power_up("c1")) << logs();
    EXPECT_TRUE(cluster().wait_until("c1", is_idle)) << state() << events_of("c1");
    EXPECT_THAT(events_of("c1"), Not(HasSubstr(" drained c1 ")));
  }
}

TEST_F(CycleCloudInSlurm, ADrainedNodeStaysUpIfTheSiteWantsIt) {
  begin_with_project(", clean_runs: 1");
  // Does what azslurm does. Newer versions of Slurm let it change the list without the file.
  shell(
      "set_config $root muster.drained keep\n"
      "fake $root azslurm '[ $2 = --remove ] && nodes=n1 || nodes=n1,$3\n"
      "echo SuspendExcNodes=$nodes >" +
      shared_.string() + "/keep_alive.conf; scontrol reconfigure'");
  setup();
  const auto keep = [&] {
    return shell("PATH=$root/fake:$PATH $root/usr/local/sbin/muster-keep-drained");
  };
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  become("c1", "sick");
  ASSERT_TRUE(cluster().wait_until("c1", is_drained)) << events_of("c1");
  EXPECT_EQ(keep().status, 0);
  EXPECT_EQ(setting("SuspendExcNodes"), "n1,c1\n");
  ASSERT_TRUE(cluster().suspend_after("1"));
  std::this_thread::sleep_for(std::chrono::seconds(10));
  EXPECT_EQ(state(), "drained");
  become("c1", "healthy");
  EXPECT_TRUE(says("c1", " resumed c1 ")) << events_of("c1");
  EXPECT_EQ(keep().status, 0);
  EXPECT_EQ(setting("SuspendExcNodes"), "n1\n");
  EXPECT_TRUE(cluster().wait_until("c1", [](const auto& each) { return each.is("idle~"); }))
      << state();
}

TEST_F(CycleCloudInSlurm, WithoutMusterOnTheNodeJobsStart) {
  begin_with_project("");
  fs::remove_all(root_ / "usr");
  ASSERT_TRUE(run_job("n1"));
  EXPECT_EQ(run_job("n1")->state, "COMPLETED");
  EXPECT_TRUE(is_idle(cluster().nodes().at("n1"))) << cluster().nodes().at("n1").reason;
  EXPECT_THAT(setup("--remove").out, HasSubstr("removed from /sched/my-cluster"));
  EXPECT_EQ(content_of(shared_ / "site_specific.conf"), "# site specific slurm configuration");
  EXPECT_THAT(setting("HealthCheckProgram"), HasSubstr("programs/health_check"));
  EXPECT_EQ(run_job("n1")->state, "COMPLETED");
  // A link instead of the script that 50-slurm.sh writes would drain the node.
  fs::create_symlink(root_ / "usr/libexec/muster/slurm/prolog", shared_ / "prolog.d/50-link");
  static_cast<void>(cluster().submit(cluster().write("job", "#!/bin/sh\ntrue\n"), {}));
  EXPECT_TRUE(cluster().wait_until("n1", is_drained)) << cluster().log_of("slurmd-n1");
  EXPECT_EQ(cluster().nodes().at("n1").reason, "Prolog error");
}

}  // namespace
}  // namespace muster::e2e
