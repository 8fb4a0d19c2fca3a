// SPDX-License-Identifier: Apache-2.0
// A probe that never answers costs its section and not the run: the run ends in time, and the
// report names the stuck probe.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdarg>

#include "tests/e2e/harness.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"

namespace muster::e2e {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

// The child with this name stops as soon as it has its name.
std::string& hanging_child() {
  static std::string name;
  return name;
}

// Waiting for the probe would take forever, so any earlier end is due to the deadline.
Examination examine_in_time(const Stage& stage, const Request& request) {
  constexpr auto kFarBeyondTheDeadline = 30s;
  const auto begin = std::chrono::steady_clock::now();
  auto seen = examine(stage.root(), request);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kFarBeyondTheDeadline);
  return seen;
}

class StuckProbeTest : public ::testing::Test {
 protected:
  static void hang(std::string_view probe) { hanging_child() = fmt::format("muster:{}", probe); }

  void TearDown() override { hanging_child().clear(); }
};

class StuckProbe : public StuckProbeTest, public ::testing::WithParamInterface<std::string_view> {};

TEST_P(StuckProbe, IsNamedAndEndsWithTheDeadline) {
  static Stage stage;
  const auto probe = GetParam();
  const auto node = nodes::hb176rs_v4();
  stage.show(render(node));
  hang(probe);

  const auto seen = examine_in_time(stage, {.profile = node.profile, .deadline = 2s});
  const auto found = std::ranges::find(seen.report.probes, probe, &ProbeResult::name);
  ASSERT_NE(found, seen.report.probes.end());
  EXPECT_EQ(found->status, "timeout");
  EXPECT_NE(seen.report.verdict, Verdict::healthy);
  EXPECT_THAT(seen.report.findings,
              Contains(::testing::AllOf(::testing::Field(&Finding::check, "muster.probes"),
                                        ::testing::Field(&Finding::device, std::string(probe)))))
      << explain(seen.report);
}

// The profile is known only after recognition; its deadline also applies to probes already running.
TEST_F(StuckProbeTest, EndsWithTheDeadlineThatTheSiteSets) {
  Stage stage;
  auto tree = render(nodes::hb176rs_v4());
  tree.file("etc/muster/muster.yaml",
            "schema: muster.site/1\n"
            "overrides:\n"
            "  source: test\n"
            "  as_of: 2026-01-01\n"
            "  contexts: {manual: {deadline: 2 s}}\n");
  stage.show(std::move(tree));
  hang("topology");
  const auto seen = examine_in_time(stage, {});
  EXPECT_EQ(seen.snapshot.topology.status, Status::timeout) << explain(seen.report);
  EXPECT_EQ(seen.snapshot.kernel_log.status, Status::ok);
}

INSTANTIATE_TEST_SUITE_P(Each, StuckProbe, ::testing::ValuesIn(kProbeNames),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace muster::e2e

// Replaces the C library's function. A probe's child first gives itself its name, and the one that
// is meant to hang stops there.
// NOLINTNEXTLINE(cert-dcl50-cpp,readability-inconsistent-declaration-parameter-name): libc's form.
extern "C" int prctl(int option, ...) noexcept {
  std::va_list arguments;  // NOLINT(cppcoreguidelines-init-variables): va_start does
  va_start(arguments, option);
  const auto first = va_arg(arguments, unsigned long);
  va_end(arguments);
  const auto result = static_cast<int>(::syscall(SYS_prctl, option, first, 0, 0, 0));
  std::array<char, 16> name{};  // the kernel's limit
  if (option == PR_SET_NAME && ::syscall(SYS_prctl, PR_GET_NAME, name.data(), 0, 0, 0) == 0) {
    const std::string& wanted = muster::e2e::hanging_child();
    if (!wanted.empty() && wanted.substr(0, name.size() - 1) == name.data()) {
      static_cast<void>(::raise(SIGSTOP));
    }
  }
  return result;
}
