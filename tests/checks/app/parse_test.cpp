// SPDX-License-Identifier: Apache-2.0
// Command lines: what they ask for, and mistakes, each with the words that help. Those of
// muster-bench's options are in tests/bench/command.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <variant>

#include "checks/app/commands.hpp"
#include "lib/base/units.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/matchers.hpp"

namespace muster::app {
namespace {

TEST(ParseTest, CheckObservesThisNodeAndPrintsTextByDefault) {
  const auto check = parsed<CheckCommand>("check");
  EXPECT_EQ(check.profile, "");
  EXPECT_EQ(check.context, "manual");
  EXPECT_EQ(check.format, Format::text);
  EXPECT_EQ(check.root, "/");
  EXPECT_EQ(check.deadline, std::nullopt);
  EXPECT_THAT(check.snapshots, IsEmpty());
}

TEST(ParseTest, CheckTakesEveryOption) {
  const auto check = parsed<CheckCommand>(
      "check --profile nd96isr_h100_v5 --context=prolog --only host.*,ib.rate --skip host.swap "
      "--set host.memory.tolerance=3% --set=ib.rate.expected=400Gb/s --format json "
      "--output report.json --save-snapshot node.json --root /tmp/n --state /run/m "
      "--deadline 2500ms -v");
  EXPECT_EQ(check.profile, "nd96isr_h100_v5");
  EXPECT_EQ(check.context, "prolog");
  EXPECT_THAT(check.only, ElementsAre("host.*", "ib.rate"));
  EXPECT_THAT(check.skip, ElementsAre("host.swap"));
  EXPECT_THAT(check.settings, ElementsAre("host.memory.tolerance=3%", "ib.rate.expected=400Gb/s"));
  EXPECT_EQ(check.format, Format::json);
  EXPECT_EQ(check.output, "report.json");
  EXPECT_EQ(check.save_snapshot, "node.json");
  EXPECT_EQ(check.root, "/tmp/n");
  EXPECT_EQ(check.state, "/run/m");
  EXPECT_EQ(check.deadline, Seconds{2.5});
  EXPECT_TRUE(check.verbose);
  EXPECT_TRUE(parsed<CheckCommand>("check -v --verbose").verbose);
  EXPECT_FALSE(parsed<CheckCommand>("check --nhc-conf a").active);
  EXPECT_TRUE(parsed<CheckCommand>("check --nhc-conf a --active").active);
}

TEST(ParseTest, OptionsOfCheckTakeAllValuesOrTheLast) {
  EXPECT_THAT(
      parsed<CheckCommand>("check --snapshot a.json dir - --format json --snapshot b").snapshots,
      ElementsAre("a.json", "dir", "-", "b"));
  EXPECT_EQ(parsed<CheckCommand>("check --format npd --format nhc").format, Format::nhc);
}

TEST(ParseTest, HostIsTheHostOfThisContainer) {
  EXPECT_FALSE(wants_host(parse_line("check").value()));
  EXPECT_TRUE(wants_host(parse_line("check --host").value()));
  EXPECT_TRUE(wants_host(parse_line("snapshot --host").value()));
  EXPECT_FALSE(wants_host(parse_line("list").value()));
}

TEST(ParseTest, OtherCommandsTakeTheirOwnOptions) {
  EXPECT_TRUE(parsed<SnapshotCommand>("snapshot --describe").describe);
  EXPECT_EQ(parsed<SnapshotCommand>("snapshot --context boot").context, "boot");
  EXPECT_EQ(parsed<ListCommand>("list --format markdown").form, ListCommand::Form::markdown);
  EXPECT_EQ(parsed<ExplainCommand>("explain host.memory --profile generic").check, "host.memory");
  EXPECT_EQ(parsed<ProfilesCommand>("profiles").show, "");
  EXPECT_EQ(parsed<ProfilesCommand>("profiles show generic").show, "generic");
  EXPECT_EQ(parsed<ProfilesCommand>("profiles export x").export_to, "x");
}

TEST(ParseTest, HelpAndVersionPrintText) {
  EXPECT_THAT(parsed<PrintCommand>("--version").text, StartsWith("muster 0."));
  EXPECT_THAT(parsed<PrintCommand>("--help").text, StartsWith("Usage: muster COMMAND"));
  EXPECT_EQ(parsed<PrintCommand>("help").text, parsed<PrintCommand>("--help").text);
  const auto of_check = parsed<PrintCommand>("check -h").text;
  EXPECT_THAT(of_check, StartsWith("Usage: muster check [OPTION]...\n"));
  for (const auto* line : {"help check", "--help check", "check --format nonsense --help"}) {
    EXPECT_EQ(parsed<PrintCommand>(line).text, of_check) << line;
  }
}

TEST(HelpTest, NamesEveryOptionOfEveryCommandWithinAHundredColumns) {
  for (const auto& command : command_texts()) {
    const auto help = parsed<PrintCommand>(fmt::format("help {}", command.name)).text;
    EXPECT_THAT(help, StartsWith(fmt::format("Usage: muster {}", command.name)));
    for (const auto& option : command.options) {
      EXPECT_THAT(help, HasSubstr(std::string(option.help.substr(0, 12)))) << option.name;
    }
    EXPECT_THAT(overview_help(), HasSubstr(std::string(command.name)));
    for (const auto line : split_lines(help)) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(HookParseTest, TakesEveryContextAndOption) {
  for (const auto* context : {"prolog", "epilog", "periodic", "boot"}) {
    const auto hook = parsed<HookCommand>(fmt::format("hook {}", context));
    EXPECT_EQ(hook.context, context);
    EXPECT_EQ(hook.root, "/");
    EXPECT_EQ(hook.profile, "");
    EXPECT_FALSE(hook.dry_run);
  }
  const auto hook = parsed<HookCommand>(
      "hook --dry-run periodic --profile=generic --set host.memory.tolerance=3% "
      "--set=host.disk.fail_as=warn --root /tmp/n --nhc-conf nhc.conf --nvml /tmp/nvml.so "
      "--state /run/m");
  EXPECT_TRUE(hook.dry_run);
  EXPECT_EQ(hook.context, "periodic");
  EXPECT_EQ(hook.profile, "generic");
  EXPECT_THAT(hook.settings, ElementsAre("host.memory.tolerance=3%", "host.disk.fail_as=warn"));
  EXPECT_EQ(hook.nhc_conf, "nhc.conf");
  EXPECT_EQ(hook.root, "/tmp/n");
  EXPECT_EQ(hook.nvml, "/tmp/nvml.so");
  EXPECT_EQ(hook.state, "/run/m");
  EXPECT_TRUE(parsed<HookCommand>("hook --check-setup").check_setup);
}

TEST(DrainParseTest, ExpandsListsAsSlurmWritesThem) {
  const auto drain =
      parsed<DrainCommand>("drain gpu-[007-009],login1 hb[1,3] --reason swapping --dry-run");
  EXPECT_THAT(drain.nodes, ElementsAre("gpu-007", "gpu-008", "gpu-009", "login1", "hb1", "hb3"));
  EXPECT_EQ(drain.reason, "swapping");
  EXPECT_TRUE(drain.dry_run);
  EXPECT_EQ(parsed<DrainCommand>("drain --report locate.json").report, "locate.json");
}

TEST(DrainParseTest, RefusesInvalidLists) {
  for (const auto* list : {"gpu-[001-", "gpu-]1", "gpu-[3-1]", "gpu-[a-b]", "''", "gpu-[]"}) {
    EXPECT_FALSE(parse_line(fmt::format("drain {} --reason why", list))) << list;
  }
}

TEST(ResumeParseTest, TakesNodesOrACheck) {
  EXPECT_THAT(parsed<ResumeCommand>("resume n[1-2]").nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(parsed<ResumeCommand>("resume --check ib.rate").check, "ib.rate");
  EXPECT_THAT(parsed<ResumeCommand>("resume --check=ib.rate n1").nodes, ElementsAre("n1"));
}

TEST(HistoryParseTest, TakesNodesATimeAndAFormat) {
  const auto all = parsed<HistoryCommand>("history");
  EXPECT_THAT(all.nodes, IsEmpty());
  EXPECT_EQ(all.since, std::nullopt);
  EXPECT_EQ(all.form, EventForm::text);
  const auto history = parsed<HistoryCommand>("history n[1-2] --since 24h --format=json");
  EXPECT_THAT(history.nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(history.since, Seconds{24.0 * 3600});
  EXPECT_EQ(history.form, EventForm::json);
  EXPECT_FALSE(parsed<EventsCommand>("events").follow);
  EXPECT_TRUE(parsed<EventsCommand>("events --follow n1").follow);
}

TEST(HistoryParseTest, GoesBackFourHundredDays) {
  for (const auto& [word, expected] :
       {std::pair{"90s", 90.0}, std::pair{"30min", 1800.0}, std::pair{"36h", 1.5 * kDay},
        std::pair{"7d", 7 * kDay}, std::pair{"400d", 400 * kDay}}) {
    EXPECT_EQ(parsed<HistoryCommand>(fmt::format("history --since {}", word)).since,
              Seconds{expected});
    EXPECT_EQ(parsed<EventsCommand>(fmt::format("events --since {}", word)).since,
              Seconds{expected});
  }
  for (const auto* word : {"401d", "9601h", "0s", "-1d", "7", "d"}) {
    EXPECT_FALSE(parse_line(fmt::format("events --since {}", word))) << word;
  }
}

TEST(FleetParseTest, EachQuestionHasItsOptions) {
  EXPECT_EQ(parsed<FleetCommand>("fleet causes --since 500d").since, Seconds{500 * kDay});
  EXPECT_EQ(parsed<FleetCommand>("fleet prune --keep 500d --go").keep, Seconds{500 * kDay});
  for (const auto* line :
       {"show --since 7d", "odd --since 7d", "part gpu-1 --since 7d", "drift --go",
        "show --keep 3d", "add spool --by check", "show --set a.b=1", "show --slurm",
        "prune --format json", "export jsonl --format json", "add spool --output f", "odd --all",
        "causes --since 36501d"}) {
    EXPECT_FALSE(parse_line(fmt::format("fleet {}", line))) << line;
  }
}

TEST(HostfileParseTest, TakesAListOrAPartitionAndSlots) {
  EXPECT_THAT(parsed<HostfileCommand>("hostfile n[1-2] --slots 8").nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(parsed<HostfileCommand>("hostfile --partition gpu").partition, "gpu");
  EXPECT_EQ(parsed<HostfileCommand>("hostfile").slots, std::nullopt);
  EXPECT_EQ(parsed<HostfileCommand>("hostfile --slots=65536").slots, 65536);
  for (const auto* slots : {"0", "-1", "65537", "eight", "8x", "99999999999999999999"}) {
    EXPECT_FALSE(parse_line(fmt::format("hostfile --slots {}", slots))) << slots;
  }
}

TEST(SweepParseTest, RunsOnePassByDefaultAndTakesEveryOption) {
  const auto once = parsed<SweepCommand>("sweep");
  EXPECT_FALSE(once.status);
  EXPECT_FALSE(once.dry_run);
  EXPECT_EQ(once.form, EventForm::text);
  const auto sweep =
      parsed<SweepCommand>("sweep --status --format=json --root /tmp/site --state /run/m");
  EXPECT_TRUE(sweep.status);
  EXPECT_EQ(sweep.form, EventForm::json);
  EXPECT_EQ(sweep.root, "/tmp/site");
  EXPECT_EQ(sweep.state, "/run/m");
  EXPECT_TRUE(parsed<SweepCommand>("sweep --dry-run").dry_run);
}

// The error of this command line, or of the profile that it names.
std::string answer(std::string_view typed) {
  const auto parsed = parse_line(typed);
  if (!parsed) return parsed.error().message;
  TestCaller caller;
  Deadline deadline(Clock::now() + std::chrono::seconds(30));
  if (const auto* explain = std::get_if<ExplainCommand>(&*parsed)) {
    static_cast<void>(run_explain(*explain, caller.caller(), deadline));
  } else if (const auto* profiles = std::get_if<ProfilesCommand>(&*parsed)) {
    static_cast<void>(run_profiles(*profiles, caller.caller()));
  }
  return caller.notes();
}

// A command line, and a part of the answer.
struct Slip {
  std::string_view typed, said;
};

constexpr auto kSlips = std::to_array<Slip>({
    {"check --snapshot", "--snapshot: expects a value"},
    {"accept gpu-1", "--run is missing"},
    {"accept --dry-run", "expected nodes"},
    {"accept --run r --status --page", "exclude each other"},
    {"accept --run r --withdraw gpu-1", "need each other"},
    {"accept --run r --sim nodes=4", "--sim needs --by sim"},
    {"accept --run r --for provider", "--for needs --page"},
    {"accept --run r --status gpu-1", "take neither nodes nor"},
    {"accept --run r --page --by ssh", "take neither nodes nor"},
    {"accept --run r --retest gpu-1 --soak 1h", "take neither nodes nor"},
    // Commands
    {"", "expected a command (see muster --help)"},
    {"chekc", "unknown command chekc; did you mean check? (see muster --help)"},
    {"chek", "did you mean check?"},
    {"Check", "did you mean check?"},
    {"snapshots", "did you mean snapshot?"},
    {"lst", "did you mean list?"},
    {"explian gpu.xid", "did you mean explain?"},
    {"profile", "did you mean profiles?"},
    {"validte", "did you mean validate?"},
    {"hok prolog", "did you mean hook?"},
    {"drian n1", "did you mean drain?"},
    {"stats", "did you mean status?"},
    {"zzzzzz", "unknown command zzzzzz (see muster --help)"},
    {"--hepl", "did you mean --help?"},
    {"--verison", "unknown option --verison; did you mean --version? (see muster --help)"},
    {"--root / check", "unknown option --root"},
    // Options and their values
    {"check --profil generic",
     "check: unknown option --profil; did you mean --profile? (see muster check --help)"},
    {"check --contxt=prolog", "unknown option --contxt; did you mean --context?"},
    {"check --verbos", "did you mean --verbose?"},
    {"check -J", "check: unknown option -J (see muster check --help)"},
    {"check -V", "check: unknown option -V; did you mean -v? (see muster check --help)"},
    {"check --\x1b[2J", "--\\x1b[2J"},
    {"check now", "check: unexpected argument \"now\""},
    {"check --profile", "check: "},
    {"check --profile ''", "check: "},
    {"check --format --context prolog", "check: "},
    {"check -v --verbose=false",
     "check: --verbose: takes no value, got \"false\" (see muster check --help)"},
    {"check --context prologue", "did you mean prolog?"},
    {"check --context Prolog", "did you mean prolog?"},
    {"check --context health", "expects manual|prolog|epilog|periodic|boot"},
    {"check --format jsn",
     "check: --format: expects text|json|prometheus|junit|npd|nhc|html|npd_undecided, got "
     "\"jsn\"; did you mean json?"},
    {"check --format prom", "did you mean prometheus?"},
    {"check --only gpu.temprature", "did you mean gpu.temperature?"},
    {"check --only temperature", "did you mean host.temperature or gpu.temperature?"},
    {"check --only host.*,ib.rates",
     "check: --only: no check matches \"ib.rates\"; did you mean ib.rate?"},
    {"check --only ''", "check: --only: no check matches \"\""},
    {"check --skip host.dsik", "did you mean host.disk?"},
    {"check --set host.disk.fail_above", "check: --set: invalid setting"},
    {"check --deadline 0", "has no unit; write one of us, ms, s, min, h, d"},
    {"check --deadline 0s", "above zero"},
    {"check --deadline 2d", "up to 24 h"},
    // Options that exclude each other
    {"check -v -q", "check: -v and -q exclude each other"},
    {"check --nhc-conf ''", "expected a file"},
    {"check --nhc-conf a --only gpu.*", "excludes --only and --skip"},
    {"check --nhc-conf a --skip gpu.*", "excludes --only and --skip"},
    {"check --active", "check: --active needs --nhc-conf"},
    {"check --nhc-conf a --active --snapshot b", "excludes --snapshot"},
    {"check --nhc-conf a --active --root /elsewhere", "excludes --root"},
    {"check --snapshot a --save-snapshot b", "excludes --save-snapshot"},
    {"check --snapshot a --state b", "excludes --state"},
    {"check --snapshot a --nvml b", "excludes --nvml"},
    {"check --snapshot - -", "read only once"},
    {"check --snapshot a --host", "excludes --host"},
    {"check --nhc-conf a --active --host", "excludes --host"},
    {"check --root /elsewhere --host", "--host and --root exclude each other"},
    {"snapshot --root /elsewhere --host", "--host and --root exclude each other"},
    {"evidence --node a;b", "evidence: --node: invalid node name \"a;b\""},
    // Checks and profiles
    {"explain", "explain: expected one check"},
    {"explain a b", "explain: expected one check"},
    {"explain gpu.xids", "did you mean gpu.xid?"},
    {"explain gpu.temp", "did you mean gpu.temperature?"},
    {"explain bench.job_allreduce", "did you mean bench.job_all_reduce?"},
    {"explain host.disk --profile generic --set host.dsik.fail_above=9%",
     "unknown key 'host.dsik'; did you mean 'host.disk'?"},
    {"explain host.disk --profile generic --set hots.disk.fail_above=9%",
     "unknown key 'hots'; did you mean 'host'?"},
    {"explain host.disk --profile generic --set host.disk.fail_abov=9%",
     "did you mean 'host.disk.fail_above'?"},
    {"explain host.disk --profile generic --set host.disk.fail_above=lots", "fail_above"},
    {"explain ib.rate --profile nd96isr_h100_v6", "did you mean 'nd96isr_h100_v5'?"},
    {"explain ib.rate --profile nd96isr_h100", "did you mean 'nd96isr_h100_v5'?"},
    {"profiles make a --output b.yaml", "--output: name the file a.yaml, as the profile"},
    {"profiles shw generic", "did you mean show?"},
    {"profiles hide x", "profiles: unexpected word \"hide\", expected show NAME"},
    {"profiles show", "profiles: show: expected one profile"},
    {"profiles show generc", "did you mean 'generic'?"},
    {"profiles export", "profiles: export: expected one folder"},
    {"profiles --changed", "profiles: --set and --changed need show NAME"},
    {"profiles --set a.b=1", "profiles: --set and --changed need show NAME"},
    // Commands that talk to Slurm
    {"hook", "hook: expected one of prolog|epilog|periodic|boot"},
    {"hook prolog epilog", "hook: expected one of prolog|epilog|periodic|boot"},
    {"hook manual", "got \"manual\""},
    {"hook prologue", "did you mean prolog?"},
    {"hook prolog --dry-run=maybe", "hook: --dry-run: takes no value, got \"maybe\""},
    {"hook prolog --set memory", "hook: --set: invalid setting \"memory\", expected KEY=VALUE"},
    {"hook prolog --check-setup",
     "hook: --check-setup changes nothing, and excludes a context and --dry-run"},
    {"drain n1", "drain: --reason is missing"},
    {"drain n1 --reason ''", "drain: --reason"},
    {"drain n1 --reason", "drain: "},
    {"drain --reason x", "drain: expected nodes, such as gpu-["},
    {"drain --report - gpu-007", "drain: --report names nodes and reasons"},
    {"drain --report - --reason why", "drain: --report names nodes and reasons"},
    {"resume", "resume: expected nodes, such as gpu-["},
    {"resume n1 --reason well", "resume: unknown option --reason"},
    {"resume --check ib.rates", "resume: --check: no check ib.rates; did you mean ib.rate?"},
    {"history --since yesterday",
     "history: --since: invalid time \"yesterday\", expected 90s, 30min, 24h or 7d"},
    {"history --since 24", "history: --since: "},
    {"history --follow", "history: unknown option --follow"},
    {"history --format jsn",
     "history: --format: expects text|json, got \"jsn\"; did you mean json?"},
    {"status --format jsno", "did you mean json?"},
    {"hostfile n1 --partition gpu", "hostfile: a list and --partition exclude each other"},
    {"hostfile --slots 0", "hostfile: --slots: invalid number of processes"},
    {"sweep --status --dry-run", "sweep: --status changes nothing, and excludes --dry-run"},
    {"sweep n1", "sweep: "},
});

TEST(ParseTest, AcceptTakesNodesAndOneTask) {
  const auto accept = parsed<AcceptCommand>(
      "accept gpu-[1-4] @order --run r --plan quick --by ssh --soak 36h --muster /opt/muster");
  EXPECT_THAT(accept.words, ElementsAre("gpu-[1-4]", "@order"));
  EXPECT_EQ(accept.run, "r");
  EXPECT_EQ(accept.by, "ssh");
  EXPECT_EQ(accept.soak, "36h");
}

TEST(TypingTest, EveryMistakeGetsAHint) {
  for (const auto& [typed, said] : kSlips) {
    EXPECT_THAT(answer(typed), HasSubstr(std::string(said))) << "muster " << typed;
  }
}

}  // namespace
}  // namespace muster::app
