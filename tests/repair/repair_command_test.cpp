// SPDX-License-Identifier: Apache-2.0
// `muster repair` with fakes of Slurm's and the node's programs, which obey, refuse, hang, lie or
// lose the connection.
#include "repair/repair_command.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "lib/report/format.hpp"
#include "repair/journal.hpp"
#include "slurm/policy/reason.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"
#include "tests/support/matchers.hpp"

namespace muster::app {
namespace {

using repair::RepairJournal;
using repair::RepairRecord;
using repair::Rung;
using repair::State;

// The node. $D/fault is its fault, and $D/NAME decides what a command does.
constexpr std::string_view kNode = R"sh(echo "$*" >>"$D/calls"
act() {
  case $(cat "$D/$1") in
    heal) rm -f "$D/fault" ;;
    refuse) echo "$1: refused" >&2; exit 1 ;;
    hang) exit 124 ;;
    lost) exit 255 ;;
    die_before) kill -9 $PPID; sleep 9 ;;
    die_after) rm -f "$D/fault"; kill -9 $PPID; sleep 9 ;;
    taken) rm -f "$D/fault"; echo "n7|main|drained|alice|1800000000|cable" >"$D/node" ;;
  esac
}
case $* in
  *" check --only "*)
    state=passes
    [ ! -e "$D/fault" ] || state=fails
    sed "s/BOOT/$(cat "$D/boot")/" "$D/$state"
    ;;
  *" evidence --node "*) act evidence; echo /x/20270115T080001Z.evidence.tar.gz ;;
  *--query-compute-apps*) cat "$D/processes" ;;
  *--gpu-reset*) act reset ;;
  *"systemctl restart"*) act restart ;;
esac)sh";

class RepairCommandTest : public SlurmTest {
 protected:
  RepairCommandTest() {
    slurm_.program("node", kNode);
    slurm_.program("squeue", "cat \"$D/jobs\"");
    slurm_.site(fmt::format("repair:\n  folder: /repair\n  by: {}\n", path("bin/node")));
    for (const auto* empty : {"fault", "processes", "jobs"}) dir_.write(empty, "");
    for (const auto* obeys : {"evidence", "reset", "restart"}) dir_.write(obeys, "");
    dir_.write("boot", "boot-1");
    drain("gpu.xid", "gpu5", Remedy::reset_gpu);
  }

  void drain(const std::string& check, const std::string& device, Remedy remedy) {
    const Finding finding{.check = check,
                          .device = device,
                          .outcome = Outcome::fail,
                          .message = "broken",
                          .remedy = remedy};
    slurm_.nodes(fmt::format("n7|main|drained|root|1800000000|{}\n", slurm::make_reason(finding)));
    Report report{.node = "n7", .verdict = Verdict::healthy, .boot_id = "BOOT"};
    report.parts = {{.kind = "gpu", .device = "gpu5", .serial = "165", .address = "0001:00:00.0"}};
    report.checks = {{.id = check, .outcome = Outcome::pass}};
    dir_.write("passes", to_json(report));
    report.checks.front().outcome = Outcome::fail;
    report.findings = {finding};
    dir_.write("fails", to_json(report));
  }

  std::string run(RepairCommand command) {
    command.root = path("root");
    command.state = path("state");
    if (command.resolve.empty()) command.nodes = {"n7"};
    caller_ = {};
    status_ = run_repair(command, caller());
    return caller_.out() + caller_.notes();
  }

  std::string go() { return run({.go = true}); }

  // In a process that its node kills.
  void go_and_die() {
    const auto child = ::fork();
    if (child == 0) {
      static_cast<void>(go());
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  [[nodiscard]] std::vector<RepairRecord> records() const {
    const auto read = RepairJournal::read(path("root/repair"));
    EXPECT_TRUE(read) << read.error().message;
    return read.value_or(std::vector<RepairRecord>());
  }

  [[nodiscard]] std::vector<State> states() const {
    std::vector<State> states;
    for (const auto& each : records()) states.push_back(each.state);
    return states;
  }

  int status_ = 0;
};

TEST_F(RepairCommandTest, WithoutGoItOnlyPrints) {
  EXPECT_THAT(run({}), HasSubstr("n7: would reset gpu5: the remedy is to reset the GPU"));
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(content("calls"), Not(HasSubstr(" evidence ")));
  EXPECT_THAT(content("calls"), Not(HasSubstr("reset")));
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(RepairCommandTest, ResetsAGpuAndVerifiesIt) {
  dir_.write("reset", "heal");
  EXPECT_THAT(go(), HasSubstr("reset_gpu succeeded: gpu.xid passes afterwards"));
  EXPECT_EQ(status_, 0);
  const auto calls = content("calls");
  const auto place = [&](std::string_view words) { return calls.find(words); };
  EXPECT_LT(place(" evidence "), place("-i 0001:00:00.0 -pm 0"));
  EXPECT_LT(place("-pm 0"), place("--gpu-reset -i 0001:00:00.0"));
  EXPECT_LT(place("--gpu-reset"), place("-pm 1"));
  EXPECT_TRUE(is_drained()) << "only clean runs of the hook resume it";
  ASSERT_THAT(states(), ElementsAre(State::reserved, State::succeeded));
  const auto record = records().back();
  EXPECT_EQ(record.evidence, "20270115T080001Z.evidence.tar.gz");
  EXPECT_THAT(record.serials, ElementsAre("165"));
  EXPECT_THAT(events(), ElementsAre(AllOf(HasSubstr("repair admin: reset_gpu reserved"),
                                          HasSubstr("evidence: 2027")),
                                    HasSubstr("reset_gpu succeeded")));
  EXPECT_THAT(run({}), HasSubstr("passes now"));
  std::vector<std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(path("root/repair/n7"))) {
    kept.push_back(entry.path().extension());
  }
  EXPECT_THAT(kept, ElementsAre(".json"));
}

TEST_F(RepairCommandTest, ARefusedHungOrIneffectiveResetLeadsToTheNextRung) {
  for (const auto* reset : {"refuse", "hang", "lie"}) {
    std::filesystem::remove_all(path("root/repair"));
    dir_.write("reset", reset);
    EXPECT_THAT(go(), HasSubstr("reset_gpu failed: ")) << reset;
    EXPECT_EQ(status_, 1);
    EXPECT_THAT(states(), ElementsAre(State::reserved, State::failed));
    EXPECT_THAT(run({}), HasSubstr("would reboot: reset_gpu was tried and did not help"));
  }
}

TEST_F(RepairCommandTest, ALostConnectionNeedsAPerson) {
  dir_.write("reset", "lost");
  EXPECT_THAT(go(), HasSubstr("reset_gpu ambiguous: "));
  EXPECT_EQ(status_, 1);
  const auto id = records().back().id;
  EXPECT_THAT(go(), HasSubstr("--resolve " + id));
  EXPECT_THAT(states(), SizeIs(2));
  EXPECT_THAT(run({.resolve = "other=failed"}), HasSubstr("not an operation"));
  EXPECT_THAT(run({.resolve = id + "=failed"}), HasSubstr("reset_gpu failed"));
  EXPECT_THAT(run({}), HasSubstr("would reboot"));
}

TEST_F(RepairCommandTest, ARunThatWasKilledIsNotRepeated) {
  for (const auto* reset : {"die_before", "die_after"}) {
    std::filesystem::remove_all(path("root/repair"));
    dir_.write("fault", "");
    dir_.write("reset", reset);
    go_and_die();
    EXPECT_THAT(states(), ElementsAre(State::reserved));
    EXPECT_THAT(go(), AllOf(HasSubstr("is under way or was interrupted"), HasSubstr("--resolve")));
    EXPECT_THAT(states(), ElementsAre(State::reserved));
  }
}

TEST_F(RepairCommandTest, ADamagedJournalStopsEverything) {
  dir_.write("root/repair/journal.jsonl", "{\"id\": ");
  ::chmod(path("root/repair").c_str(), 0700);
  EXPECT_THAT(go(), HasSubstr("a damaged record"));
  EXPECT_EQ(status_, 2);
  EXPECT_THAT(content("calls"), Not(HasSubstr("reset")));
}

TEST_F(RepairCommandTest, AJobOrAProcessStopsIt) {
  dir_.write("jobs", "COMPLETED\nPENDING\nRUNNING\n");
  EXPECT_THAT(go(), HasSubstr("jobs on the node: 1"));
  dir_.write("jobs", "COMPLETED\n");
  dir_.write("processes", "4711\n4712\n");
  EXPECT_THAT(go(), HasSubstr("processes on its GPUs: 2"));
  EXPECT_THAT(states(), IsEmpty());
}

TEST_F(RepairCommandTest, WithoutEvidenceItContinuesAndReportsIt) {
  dir_.write("evidence", "refuse");
  dir_.write("reset", "heal");
  EXPECT_THAT(go(), AllOf(HasSubstr("no evidence: evidence: refused"), HasSubstr("succeeded")));
  EXPECT_THAT(records().front().why, HasSubstr("no evidence"));
  drain("gpu.ecc_remapped_rows", "gpu5", Remedy::report_to_provider);
  dir_.write("fault", "");
  EXPECT_THAT(go(), HasSubstr("a claim needs evidence"));
}

TEST_F(RepairCommandTest, UsesTheEvidenceThatTheHookCollected) {
  dir_.write("root/repair/n7/20270115T070000Z.evidence.tar.gz", "before the drain");
  dir_.write("root/repair/n7/20270115T080500Z.evidence.tar.gz", "");
  ::chmod(path("root/repair").c_str(), 0700);
  dir_.write("reset", "heal");
  static_cast<void>(go());
  EXPECT_THAT(content("calls"), Not(HasSubstr(" evidence ")));
  EXPECT_EQ(records().back().evidence, "20270115T080500Z.evidence.tar.gz");
}

TEST_F(RepairCommandTest, AnAdminsDrainInBetweenSupersedes) {
  dir_.write("reset", "taken");
  EXPECT_THAT(go(), HasSubstr("reset_gpu superseded: alice has it as \"cable\""));
  EXPECT_THAT(go(), HasSubstr("left alone: alice"));
  EXPECT_THAT(states(), SizeIs(2));
}

TEST_F(RepairCommandTest, LeavesOthersNodesAlone) {
  slurm_.nodes("n7|main|drained|alice|1800000000|swapping a cable\n");
  EXPECT_THAT(go(), HasSubstr("left alone: alice"));
  slurm_.nodes("n7|main|idle|Unknown|Unknown|none\n");
  EXPECT_THAT(go(), HasSubstr("muster has not drained it"));
  EXPECT_THAT(states(), IsEmpty());
}

TEST_F(RepairCommandTest, AShadowIsRecordedOnceAndDoesNothing) {
  EXPECT_THAT(run({.shadow = true}), HasSubstr("would reset gpu5"));
  static_cast<void>(run({.shadow = true}));
  EXPECT_THAT(states(), ElementsAre(State::shadow));
  EXPECT_THAT(content("calls"), Not(HasSubstr("reset")));
}

TEST_F(RepairCommandTest, AHookDoesNothingAsShipped) {
  EXPECT_THAT(run({.go = true, .automatic = true}),
              HasSubstr("repair.automatic in muster.yaml does not list reset_gpu"));
  EXPECT_THAT(states(), IsEmpty());
}

TEST_F(RepairCommandTest, RestartsAService) {
  drain("host.services", "nvidia-imex.service", Remedy::restart_service);
  dir_.write("restart", "heal");
  EXPECT_THAT(go(), HasSubstr("restart_service succeeded"));
  EXPECT_THAT(content("calls"), HasSubstr("systemctl restart nvidia-imex.service\n"));
  EXPECT_EQ(records().back().unit, "nvidia-imex.service");
}

TEST_F(RepairCommandTest, ARestartThatHangsNeedsAPerson) {
  drain("host.services", "nvidia-imex.service", Remedy::restart_service);
  dir_.write("restart", "hang");
  EXPECT_THAT(go(), HasSubstr("restart_service ambiguous"));
}

TEST_F(RepairCommandTest, ARebootEndsWithANewBoot) {
  drain("gpu.driver", "", Remedy::reboot);
  slurm_.program("scontrol", "echo \"$*\" >>\"$D/calls\"");
  EXPECT_THAT(go(), HasSubstr("Slurm reboots it"));
  EXPECT_THAT(content("calls"), HasSubstr("reboot n7\n"));
  EXPECT_THAT(go(), HasSubstr("is under way"));
  dir_.write("boot", "boot-2");
  EXPECT_THAT(go(), AllOf(HasSubstr("reboot failed: rebooted, and gpu.driver still fails"),
                          HasSubstr("claim: reboot was tried and did not help")));
  EXPECT_THAT(states(), ElementsAre(State::reserved, State::failed));
}

TEST_F(RepairCommandTest, APreparedClaimMayBeWithdrawn) {
  {
    auto journal = RepairJournal::open(path("root/repair"));
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->add({.id = "c1",
                              .at = "2027-01-15T08:00:00Z",
                              .node = "n7",
                              .rung = Rung::claim,
                              .state = State::prepared}));
  }
  EXPECT_THAT(go(), HasSubstr("--resolve c1=cancelled"));
  static_cast<void>(run({.resolve = "c1=cancelled"}));
  EXPECT_THAT(run({}), HasSubstr("would reset gpu5"));
}

TEST_F(RepairCommandTest, ARefusedRebootFails) {
  drain("gpu.driver", "", Remedy::reboot);
  slurm_.program("scontrol", "echo 'Invalid RebootProgram' >&2; exit 1");
  EXPECT_THAT(go(), HasSubstr("reboot failed: scontrol ended with status 1"));
}

TEST_F(RepairCommandTest, HardEvidenceEndsInAPrintedClaim) {
  drain("gpu.ecc_remapped_rows", "gpu5", Remedy::report_to_provider);
  EXPECT_THAT(go(), HasSubstr("claim: a part must be replaced; muster claim n7 prints:"));
  EXPECT_THAT(states(), IsEmpty());
}

}  // namespace
}  // namespace muster::app
