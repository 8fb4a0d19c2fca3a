// SPDX-License-Identifier: Apache-2.0
// How profiles are merged: defaults, inheritance, the site's overrides and the command line.
// Which YAML is accepted, and the line of each error.
#include "lib/profile/load.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string>
#include <tuple>

#include "lib/profile/yaml.hpp"
#include "tests/lib/profile/profile_files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class LoadProfileTest : public ::testing::Test {
 protected:
  [[nodiscard]] Profile load(std::string_view name, std::vector<std::string> settings = {}) const {
    auto profile = load_profile(files.sources(std::move(settings)), name);
    EXPECT_TRUE(profile.has_value()) << (profile ? "" : profile.error().message);
    return profile ? std::move(*profile) : Profile{};
  }

  ProfileFiles files;
};

using SettingTest = LoadProfileTest;

TEST_F(LoadProfileTest, ReadsEveryKindOfValue) {
  files.shipped("x", R"(name: x
summary: a node
aliases: [y]
recognise: {infiniband: true, gpu_pci_ids: ["10de:2330"], memory: 1870 GiB}
host:
  memory: {total: 1870 GiB, tolerance: 5%}
  limits: {memlock_unlimited: true, open_files_min: 65536}
  load: {warn_above_per_core: 1.5}
  modules: {required: [nvidia_uvm, a|b]}
  mounts:
    required: [{point: /, writable: true}, {point: /mnt}]
    answer_within: 500 ms
  sysctl: {values: {vm.zone_reclaim_mode: 0}}
ib:
  errors: {counters: {symbol_error: {warn_above_per_hour: 10}}}
contexts:
  prolog: {skip: [env.*], deadline: 10 s}
)");
  const Profile p = load("x");
  EXPECT_EQ(p.name, "x");
  EXPECT_EQ(p.summary, "a node");
  EXPECT_EQ(p.aliases, Words{"y"});
  EXPECT_EQ(p.recognise.infiniband, true);
  EXPECT_EQ(p.recognise.gpu_pci_ids, Words{"10de:2330"});
  EXPECT_EQ(p.host->memory.total, Bytes{1870 * 1024.0 * 1024 * 1024});
  EXPECT_EQ(p.host->memory.tolerance, Percent{5});
  EXPECT_EQ(p.host->limits.memlock_unlimited, true);
  EXPECT_EQ(p.host->limits.open_files_min, 65536);
  EXPECT_EQ(p.host->load.warn_above_per_core, 1.5);
  EXPECT_EQ(p.host->modules.required, (Words{"nvidia_uvm", "a|b"}));
  ASSERT_EQ(p.host->mounts.required.size(), 2U);
  EXPECT_EQ(p.host->mounts.required[0].point, "/");
  EXPECT_TRUE(p.host->mounts.required[0].writable);
  EXPECT_FALSE(p.host->mounts.required[1].writable);
  EXPECT_EQ(p.host->mounts.answer_within, Seconds{0.5});
  EXPECT_THAT(p.host->sysctl.values, ElementsAre(Pair("vm.zone_reclaim_mode", "0")));
  EXPECT_EQ(p.ib->errors.counters.at("symbol_error").warn_above_per_hour, 10.0);
  EXPECT_EQ(p.contexts.at("prolog").skip, Words{"env.*"});
  EXPECT_EQ(p.contexts.at("prolog").run, Words{"*"});
  EXPECT_EQ(p.contexts.at("prolog").deadline, Seconds{10});
}

TEST_F(LoadProfileTest, LaterLayersWinValueByValue) {
  files.defaults(
      "schema: muster.profile/1\nhost: {cpu: {sockets: 1, cores: 1, threads: 1, numa_nodes: 1}}\n");
  files.shipped("base", "host: {cpu: {cores: 2, threads: 2, numa_nodes: 2}}\n");
  files.shipped("x", "extends: base\nhost: {cpu: {threads: 3, numa_nodes: 3}}\n");
  files.site("overrides: {host: {cpu: {numa_nodes: 4}}}\n");
  const Profile p = load("x", {"host.cpu.numa_nodes=5"});
  EXPECT_EQ(p.host->cpu.sockets, 1);
  EXPECT_EQ(p.host->cpu.cores, 2);
  EXPECT_EQ(p.host->cpu.threads, 3);
  EXPECT_EQ(p.host->cpu.numa_nodes, 5);
}

TEST_F(LoadProfileTest, ListsReplaceAndMapsMerge) {
  files.defaults(R"(schema: muster.profile/1
host:
  modules: {required: [a, b]}
  sysctl: {values: {k1: one, k2: two, k3: three}}
)");
  files.shipped("x", "host: {modules: {required: [c]}, sysctl: {values: {k2: other, k3: null}}}\n");
  const Profile p = load("x");
  EXPECT_EQ(p.host->modules.required, Words{"c"});
  EXPECT_THAT(p.host->sysctl.values, ElementsAre(Pair("k1", "one"), Pair("k2", "other")));
  EXPECT_FALSE(p.values.contains("host.sysctl.values.k3"));
}

TEST_F(LoadProfileTest, TheEnvironmentMergesVariableByVariable) {
  files.shipped("base", "bench: {environment: {A: \"1\", B: \"2\", C: \"3\"}}\n");
  files.shipped("x", "extends: base\nbench: {environment: {B: \"7\", C: null}}\n");
  const Profile p = load("x", {"bench.environment.NCCL_ALGO=Ring"});
  EXPECT_THAT(p.bench->environment,
              ElementsAre(Pair("A", "1"), Pair("B", "7"), Pair("NCCL_ALGO", "Ring")));
}

TEST_F(LoadProfileTest, NullUnsetsALimit) {
  files.defaults("schema: muster.profile/1\nhost: {nvme: {count: 8}, cpu: {cores: 4}}\n");
  files.shipped("x", "host: {nvme: {count: null}, cpu: {cores: ~}}\n");
  const Profile p = load("x");
  EXPECT_EQ(p.host->nvme.count, std::nullopt);
  EXPECT_EQ(p.host->cpu.cores, std::nullopt);
  EXPECT_EQ(p.values.at("host.nvme.count").text, "null");
}

TEST_F(LoadProfileTest, RecordsTheOriginOfEachValue) {
  files.defaults(
      "schema: muster.profile/1\nas_of: 2026-01-01\nhost: {source: here, cpu: {cores: 1}}\n");
  files.shipped("x", R"(as_of: 2026-05-01
host:
  source: the whole group
  memory:
    total: 8 GiB
    tolerance: 5%
    source: {total: a table}
    as_of: 2026-06-01
  swap: {total: 0 GiB}
)");
  files.site("overrides:\n  host: {load: {warn_above_per_core: 2}}\n");
  const Profile p = load("x", {"host.clock.error_warn_above=5 ms"});
  const std::string file = "profiles/x.yaml";
  const std::string group = "the whole group";
  EXPECT_THAT(
      p.values,
      UnorderedElementsAre(
          Pair("host.cpu.cores",
               SetValue{"1", {"profiles/defaults.yaml", 3, "here", "2026-01-01"}, 1, 1}),
          Pair("host.memory.total",
               SetValue{"8 GiB", {file, 6, "a table", "2026-06-01"}, 8.0 * (1 << 30), 2}),
          Pair("host.memory.tolerance", SetValue{"5%", {file, 7, group, "2026-06-01"}, 5, 2}),
          Pair("host.swap.total", SetValue{"0 GiB", {file, 10, group, "2026-05-01"}, 0, 2}),
          Pair("host.load.warn_above_per_core",
               SetValue{"2", {files.path("etc/muster.yaml"), 2, "this site", ""}, 2, 3}),
          Pair("host.clock.error_warn_above",
               SetValue{"5 ms", {"--set", 0, "command line", ""}, 0.005, 4})));
}

TEST_F(LoadProfileTest, ItemsOfAListOfBlocksHaveTheirNumberInThePath) {
  files.defaults(
      "schema: muster.profile/1\nhost: {mounts: {required: [{point: /a}, {point: /b}]}}\n");
  files.shipped("x", "host: {mounts: {required: [{point: /c}]}}\n");
  const Profile p = load("x");
  EXPECT_THAT(p.values, ElementsAre(Key("host.mounts.required.0.point")));
}

TEST_F(LoadProfileTest, PoliciesAreReadFromTheBlocksOfChecks) {
  files.defaults(
      "schema: muster.profile/1\nib: {state: {fail_as: warn}}\nhost: {nvme: {count: 8}}\n");
  files.shipped("x",
                "ib: {state: {enabled: false}}\nhost: {nvme: {fail_as: warn, warn_as: pass}}\n");
  const Profile p = load("x");
  ASSERT_THAT(p.policies, UnorderedElementsAre(Key("ib.state"), Key("host.nvme")));
  EXPECT_EQ(p.policies.at("ib.state").enabled, false);
  EXPECT_EQ(p.policies.at("ib.state").fail_as, Outcome::warn);
  EXPECT_EQ(p.policies.at("ib.state").warn_as, Outcome::warn);
  EXPECT_EQ(p.policies.at("host.nvme").enabled, true);
  EXPECT_EQ(p.policies.at("host.nvme").fail_as, Outcome::warn);
  EXPECT_EQ(p.policies.at("host.nvme").warn_as, Outcome::pass);
  EXPECT_EQ(p.values.at("host.nvme.fail_as").origin.line, 3);
}

TEST_F(LoadProfileTest, ASiteProfileBeatsTheShippedOneAndMayExtendIt) {
  files.shipped("x", "summary: shipped\nhost: {cpu: {cores: 8, sockets: 2}}\n");
  files.site_profile("x", "extends: x\nsummary: ours\nhost: {cpu: {cores: 6}}\n");
  const Profile p = load("x");
  EXPECT_EQ(p.summary, "ours");
  EXPECT_EQ(p.host->cpu.cores, 6);
  EXPECT_EQ(p.host->cpu.sockets, 2);
}

TEST_F(LoadProfileTest, AcceptsAPathAndARelativeParent) {
  files.dir().write("mine/base.yaml", "schema: muster.profile/1\nhost: {cpu: {cores: 8}}\n");
  files.dir().write("mine/sub/x.yaml", "schema: muster.profile/1\nextends: ../base.yaml\n");
  const Profile p = load(files.path("mine/sub/x.yaml"));
  EXPECT_EQ(p.name, "x");
  EXPECT_EQ(p.host->cpu.cores, 8);
  EXPECT_EQ(p.values.at("host.cpu.cores").origin.file, files.path("mine/base.yaml"));
}

TEST_F(LoadProfileTest, FindsAProfileByItsAliases) {
  files.shipped("base", "aliases: [b2]\n");
  files.shipped("x", "extends: base\naliases: [x2, x3]\nsummary: it\n");
  EXPECT_EQ(load("x3").name, "x");
  EXPECT_EQ(load("b2").name, "base");
  EXPECT_EQ(profile_names(files.sources()),
            (std::vector<std::string>{"b2", "base", "x", "x2", "x3"}));
}

TEST_F(LoadProfileTest, FindsAProfileByItsCloudsSpelling) {
  files.shipped("nd96isr_h100_v5", "aliases: [nd96isrf_h100_v5]\n");
  for (const auto* name : {"Standard_ND96isr_H100_v5", "ND96isr_H100_v5",
                           "standard_nd96isr_h100_v5", "Standard_ND96isrf_H100_v5"}) {
    EXPECT_EQ(load(name).name, "nd96isr_h100_v5") << name;
  }
}

TEST_F(LoadProfileTest, AliasesAreNotInherited) {
  files.shipped("base", "aliases: [b2]\n");
  files.shipped("x", "extends: base\n");
  EXPECT_EQ(load("x").aliases, Words{});
}

TEST_F(LoadProfileTest, ASiteFolderIsOptional) {
  files.shipped("x", "summary: it\n");
  auto sources = files.sources();
  sources.site = files.path("no/such/folder");
  EXPECT_TRUE(load_profile(sources, "x").has_value());
  EXPECT_EQ(read_site(sources).value().profile, "");
  sources.site.clear();
  EXPECT_TRUE(load_profile(sources, "x").has_value());
}

TEST_F(LoadProfileTest, TheSiteNamesItsProfile) {
  files.site("schema: muster.site/1\nprofile: nd96isr_h100_v5\n");
  EXPECT_EQ(read_site(files.sources()).value().profile, "nd96isr_h100_v5");
}

TEST_F(SettingTest, ReachesEveryDepth) {
  files.defaults(R"(schema: muster.profile/1
ib: {state: {fail_as: fail}}
bench:
  job_all_reduce:
    - {algorithm: ring, nodes_at_least: 2, size: 16 GiB, fail_below: 330 GB/s}
)");
  files.shipped("x", "");
  const Profile p =
      load("x", {"host.sysctl.values.vm.zone_reclaim_mode=0", "topo.numa.gpu.0001:00:00.0=1",
                 "ib.errors.counters.symbol_error.fail_above_per_hour=3",
                 "contexts.prolog.skip=[env.*, host.load]", "ib.state.enabled=false",
                 "ib.present.name=*",
                 "topo.pairing.nearest=", "bench.job_all_reduce.0.fail_below=100 GB/s"});
  EXPECT_THAT(p.host->sysctl.values, ElementsAre(Pair("vm.zone_reclaim_mode", "0")));
  EXPECT_THAT(p.topo->numa.gpu, ElementsAre(Pair("0001:00:00.0", 1)));
  EXPECT_EQ(p.ib->errors.counters.at("symbol_error").fail_above_per_hour, 3.0);
  EXPECT_EQ(p.contexts.at("prolog").skip, (Words{"env.*", "host.load"}));
  EXPECT_FALSE(p.policies.at("ib.state").enabled);
  EXPECT_EQ(p.ib->present.name, "*");
  EXPECT_EQ(p.topo->pairing.nearest, Nearest::not_told);
  EXPECT_EQ(p.bench->job_all_reduce.at(0).fail_below, BytesPerSecond{100e9});
  EXPECT_EQ(p.bench->job_all_reduce.at(0).algorithm, BenchAlgorithm::ring);
  EXPECT_EQ(p.values.at("topo.numa.gpu.0001:00:00.0").origin,
            (Origin{"--set", 0, "command line", ""}));
}

TEST_F(SettingTest, IsKeyEqualsValue) {
  for (const auto* good : {"host.nvme.count=8", "topo.nccl_file.path=", "host.sysctl.k=a=b"}) {
    EXPECT_TRUE(well_formed_setting(good)) << good;
  }
  for (const auto* bad : {"", "host.nvme.count", "=8", ".a=8", "a.=8", "a b=8"}) {
    EXPECT_FALSE(well_formed_setting(bad)) << bad;
  }
}

std::string error_of(std::string_view text) {
  const auto parsed = parse_yaml(text, "x.yaml");
  return parsed ? std::string() : parsed.error().message;
}

TEST(YamlTest, KeepsTheLineOfEveryKey) {
  const auto parsed = parse_yaml("a: 1\n\nb:\n  c: {d: x,\n      e: y}\n", "x.yaml");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->entries.at(0).line, 1);
  EXPECT_EQ(parsed->entries.at(1).line, 3);
  const Yaml& c = parsed->entries.at(1).value.entries.at(0).value;
  EXPECT_EQ(c.entries.at(0).line, 4);
  EXPECT_EQ(c.entries.at(1).line, 5);
}

TEST(YamlTest, DistinguishesNullFromTheQuotedWord) {
  const auto parsed = parse_yaml("[null, ~, 'null']", "x.yaml");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->items.at(0).kind, Yaml::Kind::null);
  EXPECT_EQ(parsed->items.at(1).kind, Yaml::Kind::null);
  EXPECT_EQ(parsed->items.at(2).kind, Yaml::Kind::scalar);
  EXPECT_EQ(parsed->items.at(2).text, "null");
}

TEST(YamlTest, AnEmptyTextIsNull) {
  EXPECT_EQ(parse_yaml("# nothing\n", "x.yaml").value().kind, Yaml::Kind::null);
}

TEST(YamlTest, ErrorsNameTheLine) {
  for (const auto& [text, line, what] : {std::tuple{"a: 1\nb: [1, 2\n", 3, "invalid YAML"},
                                         {"a: 1\nb: \x01\n", 2, "control character"},
                                         {"a: \xff\n", 1, "UTF-8"},
                                         {"a: 1\nb: *.service\n", 2, "quote"},
                                         {"a: 1\nb: 2\na: 3\n", 3, "first on line 1"},
                                         {"a: !!str 1\n", 1, "tags"},
                                         {"a: !x [1]\n", 1, "tags"},
                                         {"[a]: 1\n", 1, "key"},
                                         {"~: 1\n", 1, "key"},
                                         {"a: 1\n---\nb: 1\n", 3, "more than one document"}}) {
    EXPECT_THAT(error_of(text),
                AllOf(StartsWith(fmt::format("x.yaml:{}: ", line)), HasSubstr(what)))
        << text;
  }
}

TEST(YamlTest, AnAliasRepeatsAValue) {
  const auto parsed = parse_yaml("a: &x [1]\nb: *x\n", "x.yaml");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->find("b")->items.at(0).text, "1");
}

TEST(YamlTest, AliasesCannotMakeADocumentLargerThanItsText) {
  std::string text = "a0: &a0 [x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_THAT(error_of(text), HasSubstr("aliases"));
  EXPECT_NE(error_of("a: &x [*x]\n"), "");
}

TEST(YamlTest, RefusesDeepNestingInsteadOfCrashing) {
  EXPECT_NE(error_of(std::string(100000, '[')), "");
  EXPECT_NE(error_of(std::string(100, '[') + std::string(100, ']')), "");
}

TEST(YamlTextTest, IsThatOfASmallRegularFile) {
  const TempDir dir;
  dir.write("big.yaml", std::string(300UL * 1024, '#'));
  ASSERT_EQ(mkfifo((dir.path() / "pipe.yaml").c_str(), 0600), 0);
  for (const auto& [name, cause, missing] :
       {std::tuple{"no.yaml", "No such file or directory", true},
        {"pipe.yaml", "not a regular file", false},
        {"big.yaml", "larger than 256 KiB", false}}) {
    const auto path = (dir.path() / name).string();
    EXPECT_EQ(read_yaml_text(path).error(),
              (Error{.message = fmt::format("read {}: {}", path, cause), .missing = missing}));
  }
}

}  // namespace
}  // namespace muster
