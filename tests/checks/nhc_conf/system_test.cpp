// SPDX-License-Identifier: Apache-2.0
// Options of mounts, state of files, processes by what they use, and sockets.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "checks/nhc_conf/judge.hpp"
#include "checks/nhc_conf/judging.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::system_test {
namespace {

using Options = std::vector<std::string>;

RunningProcess process(std::uint64_t pid, std::uint64_t user, std::string command) {
  return {.pid = pid,
          .parent = 1,
          .user = user,
          .command = std::move(command),
          .cpu_s = 10,
          .age_s = 1000.0,
          .resident_bytes = 1 << 20U,
          .virtual_bytes = 4 << 20U};
}

std::vector<Socket> sockets() {
  return {{.protocol = "tcp",
           .state = "LISTEN",
           .local = "0.0.0.0:22",
           .remote = "0.0.0.0:0",
           .user = std::uint64_t{0},
           .programs = Options{"sshd", "systemd"}},
          {.protocol = "tcp6",
           .state = "ESTABLISHED",
           .local = "fe80::1:22",
           .remote = "fe80::2:41000",
           .user = std::uint64_t{1001},
           .programs = Options{}},
          {.protocol = "unix",
           .type = "STREAM",
           .state = "LISTENING",
           .local = "/run/munge/munge.socket.2",
           .programs = Options{"munged"}}};
}

Snapshot node() {
  auto busy = process(300, 1001, "/usr/bin/train --epochs 9");
  busy.cpu_s = 900;
  busy.resident_bytes = std::uint64_t{8} << 30U;
  busy.virtual_bytes = std::uint64_t{16} << 30U;
  auto systems = process(200, 0, "/usr/sbin/slurmd -D");
  systems.cpu_s = 990;
  FileFact conf{.path = "/etc/slurm/slurm.conf", .exists = true};
  conf.mode = 0644U;
  conf.owner = std::uint64_t{64030};
  conf.group = std::uint64_t{0};
  conf.modified_s = std::uint64_t{1'700'000'000};
  conf.changed_s = std::uint64_t{1'700'003'600};
  conf.contents = std::string(
      "# the cluster\n  SlurmctldHost=head\nProctrackType=proctrack/cgroup\n"
      "Name=a\\\nb\nlast line");
  FileFact gone{.path = "/gone"};
  gone.space = Fact<Space>::absent("No such file or directory");
  Environment environment;
  environment.files = {conf, gone};
  const Mount home{.point = "/home",
                   .type = "nfs4",
                   .source = "srv:/home",
                   .options = Options{"rw", "nodev", "hard", "noatime", "vers=4.1"}};
  return {.taken = "2023-11-14T23:13:20Z",  // 1700003600
          .identity = observed(Identity{.hostname = "n3"}),
          .memory = observed(Memory{.total_bytes = std::uint64_t{16} << 30U}),
          .mounts = observed(Mounts{.mounts = {home}}),
          .processes = observed(Processes{
              .all = std::vector<RunningProcess>{systems, busy},
              .users = std::map<std::string, std::uint64_t>{{"root", 0U}, {"ann", 1001U}}}),
          .services = observed(Services{.active = std::vector<std::string>{}}),
          .network = observed(Network{.sockets = sockets()}),
          .environment = observed(std::move(environment))};
}

std::string outcome(const Snapshot& snapshot, std::string_view line) {
  const auto config = parse_config("nhc.conf", fmt::format("* || {}\n", line));
  const auto report = judge(snapshot, {}, config, "manual");
  return std::string(to_string(report.findings.front().outcome));
}

struct Case {
  std::string_view line, outcome;
};

class NhcSystemTest : public ::testing::TestWithParam<Case> {};

// A job's processes hang below its step's, which is root's: anybody can call a program so.
TEST(NhcLineageTest, GoesByTheStepsOfSlurm) {
  auto snapshot = node();
  auto& all = *snapshot.processes->all;
  auto step = process(250, 0, "slurmstepd: [4711.0]");
  step.parent = 200;
  auto shell = process(260, 1001, "/bin/bash job.sh");
  shell.parent = 250;
  all.push_back(step);
  all.push_back(shell);
  EXPECT_EQ(outcome(snapshot, "check_ps_unauth_users"), "pass");
  EXPECT_EQ(outcome(snapshot, "check_ps_userproc_lineage"), "unknown");  // the other one
  for (auto& each : all) {
    if (each.user == std::uint64_t{1001}) each.parent = each.pid == 260 ? 250 : 260;
  }
  EXPECT_EQ(outcome(snapshot, "check_ps_userproc_lineage"), "pass");
  for (auto& each : all) {
    if (each.pid == 250) each.user = std::uint64_t{1001};
  }
  EXPECT_EQ(outcome(snapshot, "check_ps_userproc_lineage"), "unknown");
}

TEST(NhcKswapdTest, ComparesTheThreadsOfTheNumaNodes) {
  auto snapshot = node();
  for (unsigned i = 0; i < 2; ++i) {
    snapshot.processes->all->push_back(process(90 + i, 0, fmt::format("[kswapd{}]", i)));
    snapshot.processes->all->back().cpu_s = i == 0 ? 10 : 50;
  }
  EXPECT_EQ(outcome(snapshot, "check_ps_kswapd 100 10"), "pass");
  EXPECT_EQ(outcome(snapshot, "check_ps_kswapd 100 4"), "fail");
  EXPECT_EQ(outcome(snapshot, "check_ps_kswapd 40 10"), "fail");
  EXPECT_EQ(outcome(snapshot, "check_ps_kswapd 40 10 log"), "warn");
}

TEST_P(NhcSystemTest, IsJudgedAsNhcDoes) {
  EXPECT_EQ(outcome(node(), GetParam().line), GetParam().outcome) << GetParam().line;
}

INSTANTIATE_TEST_SUITE_P(
    Contents, NhcSystemTest,
    ::testing::Values(
        Case{"check_file_contents /etc/slurm/slurm.conf SlurmctldHost=head", "pass"},
        Case{"check_file_contents /etc/slurm/slurm.conf '/^ProctrackType=.*cgroup$/' '*Host*'",
             "pass"},
        Case{"check_file_contents /etc/slurm/slurm.conf SlurmctldHost=other", "fail"},
        Case{"check_file_contents /etc/slurm/slurm.conf '*Host*' TaskPlugin=*", "fail"},
        Case{"check_file_contents /etc/slurm/slurm.conf '!*linuxproc*'", "pass"},
        Case{"check_file_contents /etc/slurm/slurm.conf '*Host*' '!Proctrack*'", "fail"},
        Case{"check_file_contents /etc/slurm/slurm.conf Name=ab", "pass"},
        Case{"check_file_contents /etc/slurm/slurm.conf 'last line'", "pass"},
        Case{"check_file_contents /etc/slurm/slurm.conf '/[/'", "unknown"},
        Case{"check_file_contents /gone x", "fail"},
        Case{"check_file_contents /unseen x", "unknown"}));

INSTANTIATE_TEST_SUITE_P(
    Services, NhcSystemTest,
    ::testing::Values(
        Case{"check_ps_service -u root slurmd", "pass"},
        Case{"check_ps_service slurmd.service", "pass"},
        Case{"check_ps_service -u ann slurmd", "fail"}, Case{"check_ps_service munged", "fail"},
        Case{"check_ps_service -0 munged", "warn"},
        Case{"check_ps_service -d slurmd slurm", "pass"},
        Case{"check_ps_service -m '/slurm[d]$/' slurm", "pass"},
        Case{"check_ps_service -f -m '*slurmd -D' slurm", "pass"},
        Case{"check_ps_service -m '*slurmd -D' slurm", "fail"},
        Case{"check_ps_service -s slurmd", "fail"}, Case{"check_ps_service -s munged", "pass"},
        Case{"check_ps_service -k -v slurmd", "unknown"},
        Case{"check_ps_service -k -v munged", "pass"}, Case{"check_ps_daemon slurmd root", "pass"},
        Case{"check_ps_daemon slurmd root -D", "pass"},
        Case{"check_ps_daemon slurmd root -X", "fail"}, Case{"check_ps_daemon nscd", "fail"}));

// The user's program is of no step.
INSTANTIATE_TEST_SUITE_P(Strangers, NhcSystemTest,
                         ::testing::Values(Case{"check_ps_userproc_lineage", "unknown"},
                                           Case{"check_ps_userproc_lineage log syslog", "warn"},
                                           Case{"check_ps_unauth_users log", "warn"},
                                           Case{"check_ps_unauth_users -n ann die", "pass"},
                                           Case{"check_ps_unauth_users -c /usr/bin/train", "pass"},
                                           Case{"check_ps_kswapd 1800 100 log", "pass"},
                                           Case{"check_ps_kswapd much", "unknown"}));

INSTANTIATE_TEST_SUITE_P(
    Mounts, NhcSystemTest,
    ::testing::Values(Case{"check_fs_mount -o '*nodev*' -f /home", "pass"},
                      Case{"check_fs_mount -o '/(^|,)hard(,|$)/' -o '*noatime*' /home", "pass"},
                      Case{"check_fs_mount -o '/(^|,)nosuid(,|$)/' /home", "fail"},
                      Case{"check_fs_mount -o '!*soft*' /home", "pass"},
                      Case{"check_fs_mount -o '!*hard*' /home", "fail"},
                      Case{"check_fs_mount /home srv:/home nfs4 *vers=4.1*", "pass"},
                      Case{"check_fs_mount /home srv:/home nfs4 *vers=3*", "fail"},
                      Case{"check_fs_mount_rw /home", "pass"},
                      Case{"check_fs_mount_ro /home", "fail"}));

INSTANTIATE_TEST_SUITE_P(
    Files, NhcSystemTest,
    ::testing::Values(Case{"check_file_stat -m 0644 /etc/slurm/slurm.conf", "pass"},
                      Case{"check_file_stat -m 644 -u 64030 -g 0 /etc/slurm/slurm.conf", "pass"},
                      Case{"check_file_stat -m 0600 /etc/slurm/slurm.conf", "fail"},
                      Case{"check_file_stat -M 0600 /etc/slurm/slurm.conf", "pass"},
                      Case{"check_file_stat -M 0111 /etc/slurm/slurm.conf", "fail"},
                      Case{"check_file_stat -U root /etc/slurm/slurm.conf", "fail"},
                      Case{"check_file_stat -G root /etc/slurm/slurm.conf", "pass"},
                      Case{"check_file_stat -U slurm /etc/slurm/slurm.conf", "unknown"},
                      Case{"check_file_stat -n 3600 /etc/slurm/slurm.conf", "pass"},
                      Case{"check_file_stat -n 3599 /etc/slurm/slurm.conf", "fail"},
                      Case{"check_file_stat -o 3599 /etc/slurm/slurm.conf", "pass"},
                      Case{"check_file_stat -N 60 /etc/slurm/slurm.conf", "pass"},
                      Case{"check_file_stat -O 60 /etc/slurm/slurm.conf", "fail"},
                      Case{"check_file_stat -u 0 /gone", "fail"},
                      Case{"check_file_stat -m lots /etc/slurm/slurm.conf", "unknown"},
                      Case{"check_file_stat -t 8 /etc/slurm/slurm.conf", "unknown"},
                      Case{"check_file_stat -u 0 /not/asked", "unknown"}));

INSTANTIATE_TEST_SUITE_P(
    Processes, NhcSystemTest,
    ::testing::Values(
        Case{"check_ps_cpu 91%", "pass"}, Case{"check_ps_cpu 90%", "fail"},
        Case{"check_ps_cpu 90", "fail"}, Case{"check_ps_cpu -0 90%", "warn"},
        Case{"check_ps_cpu -A 95%", "fail"}, Case{"check_ps_cpu -A -m '*sshd*' 95%", "pass"},
        Case{"check_ps_cpu -u bob 90%", "pass"}, Case{"check_ps_cpu -u ann 90%", "fail"},
        Case{"check_ps_cpu -u 1001 90%", "fail"}, Case{"check_ps_cpu -m '*--epochs*' 90%", "pass"},
        Case{"check_ps_cpu -f -m '*--epochs*' 90%", "fail"}, Case{"check_ps_physmem 50%", "fail"},
        Case{"check_ps_physmem 51%", "pass"}, Case{"check_ps_physmem 8GB", "fail"},
        Case{"check_ps_physmem 9GB", "pass"}, Case{"check_ps_mem 16GB", "fail"},
        Case{"check_ps_mem 17GB", "pass"}, Case{"check_ps_time 15m", "fail"},
        Case{"check_ps_time 15m1s", "pass"}, Case{"check_ps_time 900s", "fail"},
        Case{"check_ps_time soon", "unknown"}, Case{"check_ps_blacklist slurmd", "fail"},
        Case{"check_ps_blacklist slurmd ann", "pass"}, Case{"check_ps_blacklist rogue", "pass"}));

INSTANTIATE_TEST_SUITE_P(
    Sockets, NhcSystemTest,
    ::testing::Values(Case{"check_net_socket -n SSH -p tcp -s LISTEN -l '*:22'", "pass"},
                      Case{"check_net_socket -s LISTEN -l 0.0.0.0:22", "pass"},
                      Case{"check_net_socket -s LISTEN -l '*:443'", "fail"},
                      Case{"check_net_socket -! -s LISTEN -l '*:443'", "pass"},
                      Case{"check_net_socket -! -p 'tcp*' -l '*:22'", "fail"},
                      Case{"check_net_socket -0 -s LISTEN -l '*:443'", "warn"},
                      Case{"check_net_socket -p tcp6 -s ESTAB -r '*:41000'", "pass"},
                      Case{"check_net_socket -s LISTEN -l '*:22' -d sshd", "pass"},
                      Case{"check_net_socket -s LISTEN -l '*:22' -d '/^systemd$/'", "pass"},
                      Case{"check_net_socket -s LISTEN -l '*:22' -d dropbear", "fail"},
                      Case{"check_net_socket -p tcp6 -d unknown", "pass"},
                      Case{"check_net_socket -p tcp6 -u ann", "pass"},
                      Case{"check_net_socket -p tcp6 -u root", "fail"},
                      Case{"check_net_socket -l '*:22' -u root -d sshd", "pass"},
                      Case{"check_net_socket -p unix -t STREAM -s LISTEN -d munged", "pass"},
                      Case{"check_net_socket -p unix -t DGRAM -d munged", "fail"},
                      Case{"check_net_socket -p unix -u root", "fail"},
                      Case{"check_net_socket -n nothing", "unknown"},
                      Case{"check_net_socket -s LISTEN -l '*:443' -d httpd", "fail"}));

TEST(NhcSystemNeedsTest, ProcessesAndSocketsAreReadForTheirLinesOnly) {
  const auto of = [](std::string_view line) {
    return needs_of(parse_config("nhc.conf", fmt::format("* || {}\n", line)));
  };
  EXPECT_TRUE(of("check_ps_cpu 90%").processes);
  EXPECT_FALSE(of("check_ps_loadavg 90").processes);
  EXPECT_TRUE(of("check_net_socket -l '*:22'").sockets);
  EXPECT_FALSE(of("check_net_socket -l '*:22'").processes);
  EXPECT_TRUE(of("check_net_socket -l '*:22' -u ann").processes);
  EXPECT_FALSE(of("check_hw_eth eth0").sockets);
  EXPECT_EQ(of("check_file_stat -u 0 /etc/passwd").files, Options{"/etc/passwd"});
}

TEST(NhcSystemNeedsTest, WhatWasNotReadIsUnknown) {
  auto snapshot = node();
  snapshot.processes.facts.all = {};
  snapshot.network.facts.sockets = {};
  for (const auto* line : {"check_ps_cpu 90%", "check_ps_blacklist x", "check_net_socket -p tcp"}) {
    EXPECT_EQ(outcome(snapshot, line), "unknown") << line;
  }
  snapshot = node();
  snapshot.processes.facts.users = {};
  snapshot.network.facts.sockets->back().programs = Fact<Options>::unreadable("Permission denied");
  EXPECT_EQ(outcome(snapshot, "check_net_socket -u ann"), "unknown");
  EXPECT_EQ(outcome(snapshot, "check_net_socket -d sshd"), "unknown");
  EXPECT_EQ(outcome(snapshot, "check_net_socket -p tcp"), "pass");
}

}  // namespace
}  // namespace muster::nhc::system_test
