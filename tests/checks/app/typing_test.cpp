// SPDX-License-Identifier: Apache-2.0
// Mistakes that people make at the command line, each with the words that help them on. Those of
// muster-bench's options are in tests/bench/command.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "checks/app/commands.hpp"
#include "tests/checks/app/test_caller.hpp"

namespace muster::app {
namespace {

using ::testing::HasSubstr;

struct Slip {
  std::vector<const char*> typed;
  std::string said;
};

// The error of this command line, or of the profile that it names.
std::string answer(const std::vector<const char*>& typed) {
  const auto parsed = parse(typed);
  if (!parsed) return parsed.error().message;
  TestCaller caller;
  Deadline deadline(Clock::now() + std::chrono::seconds(30));
  if (const auto* explain = std::get_if<ExplainCommand>(&*parsed)) {
    static_cast<void>(run_explain(*explain, caller.caller(), deadline));
  } else if (const auto* profiles = std::get_if<ProfilesCommand>(&*parsed)) {
    static_cast<void>(run_profiles(*profiles, caller.caller()));
  } else if (const auto* check = std::get_if<CheckCommand>(&*parsed)) {
    static_cast<void>(run_check(*check, caller.caller(), deadline));
  }
  return caller.notes();
}

const std::vector<Slip>& slips() {
  static const std::vector<Slip> all{
      {{}, "expected a command"},
      {{"chekc"}, "unknown command chekc; did you mean check?"},
      {{"chek"}, "did you mean check?"},
      {{"Check"}, "did you mean check?"},
      {{"snapshots"}, "did you mean snapshot?"},
      {{"lst"}, "did you mean list?"},
      {{"explian", "gpu.xid"}, "did you mean explain?"},
      {{"profile"}, "did you mean profiles?"},
      {{"validte"}, "did you mean validate?"},
      {{"hok", "prolog"}, "did you mean hook?"},
      {{"drian", "n1"}, "did you mean drain?"},
      {{"stats"}, "did you mean status?"},
      {{"--hepl"}, "did you mean --help?"},
      {{"check", "--profil", "generic"}, "unknown option --profil; did you mean --profile?"},
      {{"check", "--contxt=prolog"}, "unknown option --contxt; did you mean --context?"},
      {{"check", "--verbos"}, "did you mean --verbose?"},
      {{"check", "--context", "prologue"}, "did you mean prolog?"},
      {{"check", "--context", "Prolog"}, "did you mean prolog?"},
      {{"check", "--context", "health"}, "expects manual|prolog|epilog|periodic|boot"},
      {{"check", "--format", "jsn"}, "did you mean json?"},
      {{"check", "--format", "prom"}, "did you mean prometheus?"},
      {{"check", "--format", "yaml"}, "expects text|json|prometheus|junit|npd|nhc|html"},
      {{"check", "--only", "gpu.temprature"}, "did you mean gpu.temperature?"},
      {{"check", "--only", "temperature"}, "did you mean host.temperature or gpu.temperature?"},
      {{"check", "--skip", "host.dsik"}, "did you mean host.disk?"},
      {{"check", "--set", "host.disk.fail_above"}, "expected KEY=VALUE"},
      {{"check", "--deadline", "0"}, "has no unit; write one of us, ms, s, min, h, d"},
      {{"check", "-v", "-q"}, "-v and -q exclude each other"},
      {{"explain"}, "expected one check"},
      {{"explain", "gpu.xids"}, "did you mean gpu.xid?"},
      {{"explain", "gpu.temp"}, "did you mean gpu.temperature?"},
      {{"explain", "bench.job_allreduce"}, "did you mean bench.job_all_reduce?"},
      {{"explain", "host.disk", "--profile", "generic", "--set", "host.dsik.fail_above=9%"},
       "unknown key 'host.dsik'; did you mean 'disk'?"},
      {{"explain", "host.disk", "--profile", "generic", "--set", "hots.disk.fail_above=9%"},
       "unknown key 'hots'; did you mean 'host'?"},
      {{"explain", "host.disk", "--profile", "generic", "--set", "host.disk.fail_abov=9%"},
       "did you mean 'fail_above'?"},
      {{"explain", "host.disk", "--profile", "generic", "--set", "host.disk.fail_above=lots"},
       "fail_above"},
      {{"explain", "ib.rate", "--profile", "nd96isr_h100_v6"}, "did you mean 'nd96isr_h100_v5'?"},
      {{"explain", "ib.rate", "--profile", "nd96isr_h100"}, "did you mean 'nd96isr_h100_v5'?"},
      {{"profiles", "shw", "generic"}, "did you mean show?"},
      {{"profiles", "show", "generc"}, "did you mean 'generic'?"},
      {{"profiles", "--changed"}, "--set and --changed need show NAME"},
      {{"hook", "prologue"}, "did you mean prolog?"},
      {{"drain", "n1"}, "--reason is missing"},
      {{"drain", "--reason", "x"}, "expected nodes"},
      {{"resume", "--check", "ib.rates"}, "did you mean ib.rate?"},
      {{"history", "--since", "yesterday"}, "expected 90s, 30min, 24h or 7d"},
      {{"status", "--format", "jsno"}, "did you mean json?"},
      {{"hostfile", "--slots", "0"}, "invalid number of processes"},
  };
  return all;
}

TEST(TypingTest, EveryMistakeGetsAHint) {
  EXPECT_GE(slips().size(), 40U);
  for (const auto& slip : slips()) {
    std::string typed = "muster";
    for (const auto* word : slip.typed) typed += fmt::format(" {}", word);
    EXPECT_THAT(answer(slip.typed), HasSubstr(slip.said)) << typed;
  }
}

}  // namespace
}  // namespace muster::app
