// SPDX-License-Identifier: Apache-2.0
// No user of a node can make it fail: does everything that an unprivileged user can do to a healthy
// node, and judges it in each context by every check of the catalogue.

#include "checks/run.hpp"
#include "lib/profile/load.hpp"
#include "lib/report/summary.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/saved_node.hpp"

namespace muster::users_test {
namespace {

constexpr std::uint64_t kUser = 1001;
constexpr std::uint64_t kHour = 3600;

const Snapshot& healthy_node() {
  static const Snapshot snapshot = saved_node("simulated/nd96isr_h100_v5");
  return snapshot;
}

Profile profile_of_node() {
  auto profile = load_profile({.shipped = fmt::format("{}/configs/profiles", MUSTER_SOURCE_DIR)},
                              "nd96isr_h100_v5")
                     .value_or(Profile{});
  profile.host->modules.forbidden = {"sctp", "tipc"};
  return profile;
}

double uptime_of(const Snapshot& node) { return node.identity->uptime_s.value_or(0); }

void add_sleeper(Snapshot& node, Task task) {
  task.start_ticks = 1000;
  task.parent = 1;
  task.stuck_since_s = std::max(0.0, uptime_of(node) - 2 * static_cast<double>(kHour));
  if (!node.processes->uninterruptible) node.processes->uninterruptible = std::vector<Task>();
  node.processes->uninterruptible->push_back(std::move(task));
}

void say(Snapshot& node, std::string text) {
  node.kernel_log->records.push_back(
      {.time_us = static_cast<std::uint64_t>((uptime_of(node) - 60) * 1e6),
       .level = 3,
       .text = std::move(text)});
}

// Mounts that hang, of a type and by an option that the kernel shows.
void mount_over(Snapshot& node, std::string point) {
  node.mounts->mounts.push_back({.point = std::move(point),
                                 .type = "fuse.sshfs",
                                 .source = "alice@host:",
                                 .hung = true,
                                 .user = fmt::format("{}", kUser),
                                 .space = make_error("statfs: no answer within 2 s")});
}

struct Act {
  std::string_view name;
  void (*make)(Snapshot& node);
  std::string_view warns{};  // the check that says so; empty: no warning is needed
  std::string_view says{};   // who did it, or with what
};

void fill(Snapshot& node, std::string_view type) {
  const Space full{.total_bytes = 1UL << 40U, .used_bytes = 1UL << 40U};
  node.mounts->mounts.push_back({.point = "/mnt/everybody",
                                 .type = std::string(type),
                                 .source = type == "tmpfs" ? "tmpfs" : "/dev/sdz1",
                                 .users_write = std::string("/mnt/everybody"),
                                 .space = full});
}

const std::vector<Act> kActs{
    {"parents of vfork",
     [](Snapshot& node) {
       for (unsigned pid = 5000; pid < 5100; ++pid) {
         add_sleeper(node, {.pid = pid,
                            .name = "slurmd",
                            .user = kUser,
                            .waits_in = std::string("kernel_clone")});
       }
     },
     "host.stuck_tasks", "of user 1001"},
    {"a task that waits for his file system, which the kernel calls hung",
     [](Snapshot& node) {
       add_sleeper(node, {.pid = 5000,
                          .name = "kworker/0:1",
                          .user = kUser,
                          .waits_in = std::string("request_wait_answer")});
       say(node, "INFO: task kworker/0:1:5000 blocked for more than 120 seconds.");
     },
     "host.stuck_tasks", "of user 1001"},
    {"a task of root that waits for his file system",
     [](Snapshot& node) {
       add_sleeper(
           node,
           {.pid = 5000, .name = "df", .user = 0U, .waits_in = std::string("request_wait_answer")});
     },
     "host.stuck_tasks", "users can make a task wait"},
    {"zombies",
     [](Snapshot& node) {
       node.processes->zombies = std::vector<Task>(10000, {.pid = 7, .name = "x", .parent = 5});
     },
     "host.stuck_tasks", "zombies"},
    {"a file system that hangs", [](Snapshot& node) { mount_over(node, "/tmp/mine"); },
     "host.mounts", "user 1001 mounted it"},
    {"a file system that an earlier run still hangs in",
     [](Snapshot& node) {
       mount_over(node, "/tmp/mine");
       node.mounts->mounts.back().hung_for_s = 1200.0;
     },
     "host.mounts", "for 20 min; not tried again; user 1001 mounted it"},
    {"a file system over every place that the node has mounted",
     [](Snapshot& node) {
       const auto mounts = node.mounts->mounts;
       for (const auto& mount : mounts) mount_over(node, mount.point);
     },
     "host.mounts", "user 1001 mounted it"},
    {"a full folder that is open to all", [](Snapshot& node) { fill(node, "ext4"); }, "host.disk",
     "any user may fill /mnt/everybody"},
    {"a full tmpfs", [](Snapshot& node) { fill(node, "tmpfs"); }, "host.disk", "tmpfs"},
    {"a damaged disk image",
     [](Snapshot& node) {
       node.disks->stacked = std::vector<StackedDevice>{
           {.name = "loop3", .file = "/home/alice/x.img"}, {.name = "dm-7", .on = {"loop3"}}};
       for (const char* text : {"EXT4-fs error (device loop3): ext4_lookup:1855: inode #2: comm "
                                "x: iget: bad extra_isize 1",
                                "Aborting journal on device loop3-8.",
                                "EXT4-fs (loop3): Remounting filesystem read-only",
                                "XFS (loop3): Metadata corruption detected at xfs_agf_verify",
                                "XFS (dm-7): Corruption of in-memory data detected.",
                                "BTRFS critical (device loop3): corrupt leaf",
                                "BTRFS info (device loop3): forced readonly",
                                "BTRFS: error (device dm-7) in btrfs_replay_log:2285: errno=-5",
                                "Buffer I/O error on dev dm-7, logical block 1, async page read",
                                "I/O error, dev loop3, sector 8 op 0x0:(READ) flags 0x0",
                                "EXT4-fs error (device dm-99): ext4_find_entry:1455: inode #2"}) {
         say(node, text);
       }
     },
     "host.kernel_log", "the disk image /home/alice/x.img, which may belong to a user"},
    {"the kernel's messages about the user's programs",
     [](Snapshot& node) {
       for (const char* text :
            {"XFS (sda): Corr[4711]: segfault at 0 ip 00007f sp 00007f error 4 in x[400000]",
             "traps: I/O error, dev [4711] trap invalid opcode ip:1 sp:2 error:0 in x[1]",
             "python invoked oom-killer: gfp_mask=0x cgroup",
             "Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB",
             "Out of memory: Killed process 4711 (python) total-vm:1kB",
             "NVRM: Xid (PCI:0001:00:00): 13, pid=4711, name=python, Graphics Exception",
             "NVRM: Xid (PCI:0001:00:00): 31, pid=4711, name=python, Ch 00000008, MMU Fault",
             "NVRM: Xid (PCI:0001:00:00): 43, pid=4711, name=python, Ch 00000008",
             "NVRM: Xid (PCI:0001:00:00): 45, pid=4711, name=python, Ch 00000008",
             "nfs: server filer not responding, still trying"}) {
         say(node, text);
       }
       node.xids = find_xids(*node.kernel_log);
     }},
    {"load and no memory",
     [](Snapshot& node) {
       node.processes->load1 = node.processes->load5 = node.processes->load15 = 10000.0;
       node.processes->running = 10000U;
       node.memory->available_bytes = 1U;
       if (node.memory->huge_pages) {
         for (auto& pages : *node.memory->huge_pages) pages.free = 0U;
       }
     }},
    {"kernel modules that a socket or a mount loads",
     [](Snapshot& node) {
       if (!node.kernel->modules) return;
       for (const auto* name : {"sctp", "dccp", "tipc", "vfat", "isofs", "overlay", "algif_hash"}) {
         node.kernel->modules->emplace_back(name);
       }
     },
     "host.modules", "any user can cause that"},
    {"cgroups of his own with the names of services",
     [](Snapshot& node) {
       if (!node.services->failed) node.services->failed = std::vector<std::string>();
       node.services->failed->emplace_back("user@1001.service");
     }},
    {"so much load that probes miss their deadlines",
     [](Snapshot& node) {
       node.processes->running = 10000U;
       node.nvml.status = Status::timeout;
       node.nvml.reason = "no answer within 5 s";
       node.mounts->mounts.push_back({.point = "/data",
                                      .type = "nfs4",
                                      .source = "filer:/data",
                                      .hung = true,
                                      .space = make_error("statfs: no answer within 2 s")});
     }},
    {"so much load that hardly a probe answers",
     [](Snapshot& node) {
       for_each_section(node, [](Probe probe, auto& section) {
         if (probe == Probe::identity) return;
         section.status = Status::timeout;
         section.reason = "no answer within 5 s";
       });
     }},
    {"so much load that GPUs answer late",
     [](Snapshot& node) {
       node.processes->running = 10000U;
       node.nvml = observed(Nvml{.gpus = std::vector<Gpu>(8)});
       for (auto& gpu : node.nvml->gpus) gpu.stuck = "nvmlDeviceGetName";
     }},
};

const std::vector<std::string> kAllContexts{"manual", "prolog", "epilog", "periodic", "boot"};

TEST(UsersTest, TheNodeIsHealthyBeforeAnybodyDoesAnything) {
  const auto profile = profile_of_node();
  for (const auto& context : kAllContexts) {
    // The recorded node has no NVML, and no finding but passes.
    const auto report = judge(healthy_node(), profile, {.context = context});
    EXPECT_EQ(leading_finding(report), nullptr) << context;
    EXPECT_EQ(report.verdict, Verdict::unknown) << context;
  }
}

TEST(UsersTest, NothingThatAUserMakesFailsACheck) {
  const auto profile = profile_of_node();
  for (const auto& act : kActs) {
    Snapshot node = healthy_node();
    act.make(node);
    for (const auto& context : kAllContexts) {
      for (const auto& finding :
           judge(node, profile, {.context = context, .only = {"*"}}).findings) {
        EXPECT_NE(finding.outcome, Outcome::fail)
            << act.name << ", " << context << ": " << finding.check << ": " << finding.message;
      }
    }
  }
}

TEST(UsersTest, ThingsThatUsersMakeOnlyWarn) {
  const auto profile = profile_of_node();
  for (const auto& act : kActs) {
    if (act.warns.empty()) continue;
    Snapshot node = healthy_node();
    act.make(node);
    const auto report = judge(node, profile, {.only = {std::string(act.warns)}});
    const auto says_so = [&](const Finding& finding) {
      return finding.outcome == Outcome::warn &&
             finding.message.find(act.says) != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(report.findings, says_so))
        << act.name << ": " << ::testing::PrintToString(report.findings);
  }
}

// The rule must not hide what is the node's own.
TEST(UsersTest, FaultsOfTheNodeFailDespiteThingsThatUsersMake) {
  Snapshot node = healthy_node();
  for (const auto& act : kActs) {
    if (std::string_view(act.name).find("load") == std::string_view::npos &&
        std::string_view(act.name).find("over every place") == std::string_view::npos) {
      act.make(node);
    }
  }
  say(node, "EXT4-fs error (device sda1): ext4_lookup:1855: inode #2: comm x: bad extra_isize");
  node.mounts->mounts.push_back({.point = "/data",
                                 .type = "nfs4",
                                 .source = "filer:/data",
                                 .hung = true,
                                 .space = make_error("statfs: no answer")});
  std::vector<std::string> failed;
  for (const auto& finding : judge(node, profile_of_node(), {}).findings) {
    if (finding.outcome == Outcome::fail) {
      failed.push_back(fmt::format("{} {}", finding.check, finding.device));
    }
  }
  EXPECT_THAT(failed, ::testing::UnorderedElementsAre("host.kernel_log sda1", "host.mounts /data"));
}

}  // namespace
}  // namespace muster::users_test
