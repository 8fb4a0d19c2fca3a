// SPDX-License-Identifier: Apache-2.0
#include "repair/evidence.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "lib/base/digest.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"
#include "lib/process/process.hpp"
#include "lib/process/program.hpp"
#include "repair/collectors.hpp"
#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/test_caller.hpp"

namespace muster::repair {
namespace {

namespace fs = std::filesystem;
using app::EvidenceCommand;
using ::testing::Field;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

constexpr std::string_view kReport =
    R"({"schema":"muster.report/1","node":"n7","profile":"generic","context":"manual",)"
    R"("started":"2026-11-01T10:00:00Z","duration_ms":1,"verdict":"unhealthy","checks":[],)"
    R"("findings":[],"probes":[],"physical_host":"host-5","boot_id":"boot-1",)"
    R"("parts":[{"kind":"gpu","device":"gpu3","serial":"165"}]})";

unsigned mode_of(const fs::path& file) {
  struct stat status = {};
  return ::stat(file.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

// The collectors find their programs in `bin`, and no real one.
class EvidenceTest : public ::testing::Test {
 protected:
  EvidenceTest() {
    for (const auto* name : {"journalctl", "dmesg", "nvidia-smi", "ibstat", "lspci", "tail"}) {
      program(name, fmt::format("echo {} \"$@\"", name));
    }
    program("sh", "echo counters");
    program("sacct", "printf '7\\nname\\n8\\n9.batch\\n9\\n10\\n'");
    program("nvidia-bug-report.sh", "echo \"$2\" >\"$D/where\"; echo report >\"$2.gz\"");
    program("muster", fmt::format("for last; do :; done; echo '{{}}' >\"$last\"; echo '{}'; exit 1",
                                  kReport));
    dir_.write("root/etc/muster/muster.yaml", "schema: muster.site/1\n");
  }

  void program(std::string_view name, std::string_view body) const {
    dir_.write_program(fmt::format("bin/{}", name),
                       fmt::format("#!/bin/sh\nD={}\n{}\n", dir_.path().string(), body));
  }

  [[nodiscard]] fs::path path(std::string_view name) const { return dir_.path() / name; }

  [[nodiscard]] fs::path folder() const { return path("root/var/lib/muster/repair/n7"); }

  [[nodiscard]] EvidenceCommand command() const {
    return {.output = path("bundle.tar.gz"),
            .node = "n7",
            .root = path("root"),
            .muster = path("bin/muster")};
  }

  int evidence(const EvidenceCommand& command) {
    auto caller = caller_.caller();
    caller.variables = variables_;
    return run_evidence(command, caller);
  }

  // Unpacks the bundle with the tar of the system. Returns its manifest.
  [[nodiscard]] Manifest unpack(const fs::path& bundle) const {
    fs::create_directories(path("unpacked"));
    const auto ended =
        run_program({.program = "/bin/tar",
                     .arguments = {"-xzf", bundle, "--strip-components=1", "-C", path("unpacked")},
                     .environment = {{"PATH", "/usr/bin:/bin"}},
                     .limit = 20s});
    EXPECT_TRUE(ended && ended->status == 0) << (ended ? ended->err : ended.error().message);
    const auto manifest = from_json<Manifest>(content_of(path("unpacked/manifest.json")));
    EXPECT_TRUE(manifest) << manifest.error().message;
    return manifest.value_or(Manifest{});
  }

  [[nodiscard]] std::string unpacked(std::string_view name) const {
    return content_of(path("unpacked") / name);
  }

  static CollectorResult result_of(const Manifest& manifest, std::string_view name) {
    const auto& all = manifest.collectors;
    const auto found = std::ranges::find(all, name, &CollectorResult::name);
    return found == all.end() ? CollectorResult{} : *found;
  }

  [[nodiscard]] std::vector<std::string> left_behind() const {
    std::vector<std::string> names;
    for (const auto& each : fs::directory_iterator(dir_.path())) {
      const auto name = each.path().filename().string();
      if (name.starts_with("bundle")) names.push_back(name);
    }
    return names;
  }

  TempDir dir_;
  Variables variables_{{"PATH", path("bin").string()}};
  app::TestCaller caller_;
};

TEST_F(EvidenceTest, CollectsEverythingInOneFileOfItsOwner) {
  auto in_folder = command();
  in_folder.output.clear();
  ASSERT_EQ(evidence(in_folder), 0) << caller_.notes();
  const fs::path bundle(trim(caller_.out()));
  EXPECT_EQ(bundle.parent_path(), folder());
  EXPECT_THAT(bundle.string(), EndsWith("Z.evidence.tar.gz"));
  EXPECT_EQ(mode_of(bundle), 0600U);
  EXPECT_EQ(mode_of(folder()), 0700U);

  const auto manifest = unpack(bundle);
  EXPECT_EQ(manifest.node, "n7");
  EXPECT_EQ(manifest.physical_host, "host-5");
  EXPECT_EQ(manifest.boot_id, "boot-1");
  EXPECT_THAT(manifest.parts, ElementsAre(Field(&Part::serial, "165")));
  EXPECT_THAT(manifest.files, SizeIs(15));
  for (const auto& file : manifest.files) {
    const auto content = unpacked(file.name);
    EXPECT_EQ(content.size(), file.size) << file.name;
    EXPECT_EQ(sha256_of(content), file.sha256) << file.name;
    EXPECT_EQ(mode_of(path("unpacked") / file.name), 0600U);
  }
  EXPECT_THAT(unpacked("kernel_log_last_boot.txt"), HasSubstr("--boot=-1"));
  EXPECT_EQ(unpacked("nvidia-bug-report.log.gz"), "report\n");
  EXPECT_EQ(unpacked("slurm-jobs.txt"), "8\n9\n10\n");
  EXPECT_EQ(unpacked("snapshot.json"), "{}\n");
  EXPECT_EQ(manifest.collectors.front().name, "muster");

  auto stem = bundle.string();
  stem.resize(stem.size() - std::string_view("evidence.tar.gz").size());
  EXPECT_EQ(content_of(stem + "report.json"), fmt::format("{}\n", kReport));
  EXPECT_EQ(mode_of(stem + "report.json"), 0600U);
  EXPECT_FALSE(fs::exists(fs::path(trim(content_of(path("where")))).parent_path()));
}

TEST_F(EvidenceTest, AProgramThatFailsHangsOrIsMissingIsRecordedAndBlocksNothing) {
  program("nvidia-smi", "echo 'GPU 0'; printf 'lost \\033[31mGPU \"3\\377\\n' >&2; exit 15");
  program("ibstat", "echo first; exec /bin/sleep 100");
  program("lspci", "while :; do echo 0123456789012345678901234567890123456789; done");
  program("nvidia-bug-report.sh", "echo part >\"$2\"; exec /bin/sleep 100");
  dir_.remove("bin/dmesg");
  auto brief = command();
  brief.deadline = Seconds{3};
  ASSERT_EQ(evidence(brief), 0) << caller_.notes();
  const auto manifest = unpack(brief.output);

  const auto failed = result_of(manifest, "nvidia_smi");
  EXPECT_EQ(failed.status, Collected::failed);
  EXPECT_EQ(failed.exit_status, 15);
  EXPECT_THAT(failed.reason, HasSubstr("GPU \"3\\xff"));
  EXPECT_EQ(unpacked("nvidia-smi-q.txt"), "GPU 0\n");

  const auto hung = result_of(manifest, "ibstat");
  EXPECT_EQ(hung.status, Collected::timed_out);
  EXPECT_THAT(hung.reason, HasSubstr("did not answer within"));
  EXPECT_EQ(unpacked("ibstat.txt"), "first\n");
  EXPECT_EQ(result_of(manifest, "nvidia_bug_report").status, Collected::timed_out);
  // An uncompressed one is compressed.
  EXPECT_EQ(unpacked("nvidia-bug-report.log.gz").substr(0, 2), "\x1f\x8b");

  EXPECT_EQ(result_of(manifest, "lspci").status, Collected::truncated);
  EXPECT_EQ(unpacked("lspci.txt").size(), 5 * kMega);
  EXPECT_EQ(result_of(manifest, "dmesg").status, Collected::absent);
  EXPECT_EQ(result_of(manifest, "bench_reports").status, Collected::absent);
  EXPECT_EQ(result_of(manifest, "muster").status, Collected::complete);
  EXPECT_THAT(caller_.notes(), AllOf(HasSubstr("dmesg (absent)"), HasSubstr("lspci (truncated)")));
}

TEST_F(EvidenceTest, AnEndlessFileIsCut) {
  program("nvidia-bug-report.sh", "exec /bin/dd if=/dev/zero of=\"$2.gz\" bs=1M count=400");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit quick{40 * kMega, before.rlim_max};  // less than the command's own limit
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &quick), 0);
  EXPECT_EQ(evidence(command()), 0) << caller_.notes();
  ::setrlimit(RLIMIT_FSIZE, &before);
  const auto manifest = unpack(path("bundle.tar.gz"));
  const auto cut = result_of(manifest, "nvidia_bug_report");
  EXPECT_EQ(cut.status, Collected::truncated);
  EXPECT_EQ(cut.exit_status, 128 + SIGXFSZ);
  EXPECT_EQ(fs::file_size(path("unpacked/nvidia-bug-report.log.gz")), 30 * kMega);
}

TEST_F(EvidenceTest, IsWrittenWithoutAReport) {
  dir_.remove("bin/muster");
  ASSERT_EQ(evidence(command()), 0);
  const auto manifest = unpack(path("bundle.tar.gz"));
  EXPECT_EQ(result_of(manifest, "muster").status, Collected::absent);
  EXPECT_EQ(manifest.boot_id, "");
}

TEST_F(EvidenceTest, TheSharesOfAllFilesFitIntoTheBundle) {
  auto all = collectors("n7", "/tmp");
  all.push_back(own_report("/usr/bin/muster", "/", "/tmp"));
  std::size_t sum = kBenchShare;
  for (const auto& each : all) sum += each.share * (each.written.size() + !each.file.empty());
  EXPECT_LE(sum, kLargestBundle);
}

TEST_F(EvidenceTest, HasNothingOfTheEnvironment) {
  variables_["API_TOKEN"] = "planted-token";
  ::setenv("API_TOKEN", "planted-token", 1);
  for (const auto* name : {"journalctl", "nvidia-smi", "ibstat", "sh"}) {
    program(name, "/usr/bin/env; /bin/cat /proc/$$/environ; set");
  }
  program("nvidia-bug-report.sh", "/usr/bin/env >\"$2.gz\"");
  program("muster", "/usr/bin/env; for last; do :; done; /usr/bin/env >\"$last\"");
  ASSERT_EQ(evidence(command()), 0);
  ::unsetenv("API_TOKEN");
  static_cast<void>(unpack(path("bundle.tar.gz")));
  EXPECT_THAT(unpacked("nvidia-bug-report.log.gz"), HasSubstr("LANG=C"));
  for (const auto& file : fs::directory_iterator(path("unpacked"))) {
    EXPECT_THAT(content_of(file), Not(HasSubstr("planted-token"))) << file.path();
  }
}

TEST_F(EvidenceTest, HasTheNewestBenchReportsOfTheNodeAndItsPartners) {
  dir_.write("root/etc/muster/muster.yaml",
             fmt::format("schema: muster.site/1\nslurm: {{sweep: {{results: {}}}}}\n",
                         path("results").string()));
  dir_.write("results/a.json", R"({"nodes": ["n6", "n7"]})");
  dir_.write("results/b.json", R"({"nodes": ["n71"]})");
  dir_.write("results/c.out", "\"n7\"");
  dir_.write("results/-rf\n\x1b.json", "{\"node\": \"n7\"}");
  dir_.write("secret", "\"n7\" secret");
  dir_.link("results/d.json", path("secret").string());
  ASSERT_EQ(evidence(command()), 0);
  static_cast<void>(unpack(path("bundle.tar.gz")));
  EXPECT_THAT(unpacked("bench-reports.json"),
              AllOf(HasSubstr(R"({"nodes": ["n6", "n7"]})"), HasSubstr(R"({"node": "n7"})"),
                    Not(HasSubstr("n71")), Not(HasSubstr("secret"))));
}

TEST_F(EvidenceTest, RefusesAnInvalidNodeName) {
  for (const auto* name : {"../n7", ".n7", "-n7", "n7/..", "n 7", "n7\n"}) {
    auto hostile = command();
    hostile.output.clear();
    hostile.node = name;
    EXPECT_EQ(evidence(hostile), kExitUndecided) << name;
  }
  EXPECT_FALSE(fs::exists(path("root/var")));
}

TEST_F(EvidenceTest, AFileThatOthersMayReadIsClosedToThem) {
  dir_.write("bundle.tar.gz", "old");
  ::chmod(path("bundle.tar.gz").c_str(), 0644);
  ASSERT_EQ(evidence(command()), 0);
  EXPECT_EQ(mode_of(path("bundle.tar.gz")), 0600U);
  dir_.remove("bundle.tar.gz");
  dir_.link("bundle.tar.gz", path("elsewhere").string());
  EXPECT_EQ(evidence(command()), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("bundle.tar.gz is a link"));
}

TEST_F(EvidenceTest, AFullDiskLeavesNoFile) {
  program("dmesg", "/usr/bin/head -c 500000 /dev/urandom");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(evidence(command()), kExitUndecided);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(caller_.notes(),
              HasSubstr(fmt::format("write {}: File too large", path("bundle.tar.gz").string())));
  EXPECT_THAT(left_behind(), IsEmpty());
}

TEST_F(EvidenceTest, ASignalEndsTheCollectorsAndLeavesNothing) {
  program("ibstat", "echo $$ >\"$D/pid\"; exec /bin/sleep 100");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(evidence(command()));
  pid_t hung = 0;
  for (int i = 0; i < 2000 && hung == 0; ++i) {
    ::usleep(10'000);
    std::ifstream(path("pid")) >> hung;
  }
  ASSERT_GT(hung, 0);
  ::kill(child, SIGTERM);
  EXPECT_EQ(reap(child, 20s), kExitUndecided << 8);
  EXPECT_THAT(content_of(fmt::format("/proc/{}/cmdline", hung)), Not(HasSubstr("sleep")));
  EXPECT_THAT(left_behind(), IsEmpty());
}

TEST_F(EvidenceTest, IsStartedInTheBackgroundIfTheSiteWantsIt) {
  program("muster", "echo \"$*\" >\"$D/started.new\"; /bin/mv \"$D/started.new\" \"$D/started\"");
  const auto start = [&] {
    return app::start_evidence(path("root"), "n7", variables_, path("bin/muster"));
  };
  ASSERT_TRUE(start());
  dir_.write("root/etc/muster/muster.yaml", "schema: muster.site/1\nrepair: {evidence: true}\n");
  ASSERT_TRUE(start());
  for (int i = 0; i < 2000 && !fs::exists(path("started")); ++i) ::usleep(10'000);
  EXPECT_EQ(content_of(path("started")),
            fmt::format("evidence --node n7 --root {}\n", path("root").string()));
  dir_.write("root/etc/muster/muster.yaml", "schema: muster.site/1\nrepair: {evidence: 3}\n");
  EXPECT_THAT(start().error().message, HasSubstr("'repair.evidence'"));
}

}  // namespace
}  // namespace muster::repair
