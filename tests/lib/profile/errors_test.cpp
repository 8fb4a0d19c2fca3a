// SPDX-License-Identifier: Apache-2.0
// Every way in which a profile can be wrong, and the whole text that says so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/report/finding.hpp"
#include "tests/lib/profile/profile_files.hpp"

namespace muster {
namespace {

class ProfileErrorTest : public ::testing::Test {
 protected:
  ProfileFiles files;
};

TEST_F(ProfileErrorTest, UnknownKeyNamesTheNearest) {
  EXPECT_EQ(files.error_in("host:\n  memory:\n    totl: 8 GiB\n"),
            "profiles/x.yaml:4: unknown key 'host.memory.totl'; did you mean 'total'?");
}

TEST_F(ProfileErrorTest, UnknownKeyWithNothingNearNamesAll) {
  EXPECT_EQ(files.error_in("host: {swap: {colour: red}}\n"),
            "profiles/x.yaml:2: unknown key 'host.swap.colour'; known here: total, enabled, "
            "fail_as, warn_as");
}

TEST_F(ProfileErrorTest, UnknownTopLevelKey) {
  EXPECT_EQ(files.error_in("hosts: {}\n"),
            "profiles/x.yaml:2: unknown key 'hosts'; did you mean 'host'?");
}

TEST_F(ProfileErrorTest, UnknownKeyNearToThoseThatSayWherefrom) {
  EXPECT_EQ(files.error_in("extend: y\n"),
            "profiles/x.yaml:2: unknown key 'extend'; did you mean 'extends'?");
  EXPECT_EQ(files.error_in("host: {swap: {sourc: y}}\n"),
            "profiles/x.yaml:2: unknown key 'host.swap.sourc'; did you mean 'source'?");
}

TEST_F(ProfileErrorTest, AKeyWithADotIsToldHowToNest) {
  EXPECT_EQ(files.error_in("host.swap: {warn_as: fail}\n"),
            "profiles/x.yaml:2: unknown key 'host.swap'; dots are for --set; write "
            "'host: {swap: …}'");
  EXPECT_EQ(files.error_in("host: {swap.warn_as: fail}\n"),
            "profiles/x.yaml:2: unknown key 'host.swap.warn_as'; dots are for --set; write "
            "'swap: {warn_as: …}'");
  EXPECT_EQ(files.error_in("hst.swap: {warn_as: fail}\n"),
            "profiles/x.yaml:2: unknown key 'hst.swap'; did you mean 'host'?");
}

TEST_F(ProfileErrorTest, UnknownCheck) {
  files.defaults("schema: muster.profile/1\nib: {state: {}}\n");
  EXPECT_EQ(files.error_in("ib:\n  stat: {enabled: false}\n"),
            "profiles/x.yaml:3: unknown key 'ib.stat'; did you mean 'state'?");
}

TEST_F(ProfileErrorTest, ACheckWithoutLimitsHasOnlyAPolicy) {
  files.defaults("schema: muster.profile/1\nib: {state: {}}\n");
  EXPECT_EQ(files.error_in("ib: {state: {fail_is: warn}}\n"),
            "profiles/x.yaml:2: unknown key 'ib.state.fail_is'; did you mean 'fail_as'?");
}

TEST_F(ProfileErrorTest, BareNumberNamesTheUnits) {
  EXPECT_EQ(files.error_in("host:\n  memory: {total: 1870}\n"),
            "profiles/x.yaml:3: 'host.memory.total': \"1870\" has no unit; write one of B, KiB, "
            "MiB, GiB, TiB");
}

TEST_F(ProfileErrorTest, UnitOfAnotherKind) {
  EXPECT_EQ(files.error_in("ib: {rate: {expected: 400 GB/s}}\n"),
            "profiles/x.yaml:2: 'ib.rate.expected': \"400 GB/s\" has the unknown unit \"GB/s\"; "
            "write one of Mb/s, Gb/s, Tb/s");
}

TEST_F(ProfileErrorTest, WrongTypes) {
  EXPECT_EQ(files.error_in("host: {cpu: {cores: many}}\n"),
            "profiles/x.yaml:2: 'host.cpu.cores' must be a whole number, not \"many\"");
  EXPECT_EQ(files.error_in("host: {cpu: {cores: 1.5}}\n"),
            "profiles/x.yaml:2: 'host.cpu.cores' must be a whole number, not \"1.5\"");
  EXPECT_EQ(files.error_in("host: {cpu: {cores: 99999999999}}\n"),
            "profiles/x.yaml:2: 'host.cpu.cores' must be a whole number, not \"99999999999\"");
  EXPECT_EQ(
      files.error_in("host: {limits: {memlock_unlimited: yes}}\n"),
      "profiles/x.yaml:2: 'host.limits.memlock_unlimited' must be true or false, not \"yes\"");
  EXPECT_EQ(files.error_in("host: {load: {warn_above_per_core: []}}\n"),
            "profiles/x.yaml:2: 'host.load.warn_above_per_core' must be a number, not a list");
  EXPECT_EQ(files.error_in("host: {memory: {total: {}}}\n"),
            "profiles/x.yaml:2: 'host.memory.total' must be a number with a unit, not a mapping");
  EXPECT_EQ(files.error_in("host: {memory: {tolerance: null}}\n"),
            "profiles/x.yaml:2: 'host.memory.tolerance' must be a number with a unit, not null");
  EXPECT_EQ(files.error_in("host: {modules: {required: nvidia}}\n"),
            "profiles/x.yaml:2: 'host.modules.required' must be a list, not \"nvidia\"");
  EXPECT_EQ(files.error_in("host: {modules: {required: [[a]]}}\n"),
            "profiles/x.yaml:2: 'host.modules.required' must be a list of text, not a list");
  EXPECT_EQ(files.error_in("host: {mounts: {required: {point: /}}}\n"),
            "profiles/x.yaml:2: 'host.mounts.required' must be a list of mappings, not a mapping");
  EXPECT_EQ(files.error_in("host: {sysctl: {values: [a]}}\n"),
            "profiles/x.yaml:2: 'host.sysctl.values' must be a mapping, not a list");
  EXPECT_EQ(files.error_in("host:\n  nvme:\n"),
            "profiles/x.yaml:3: 'host.nvme' must be a mapping, not null");
  EXPECT_EQ(files.error_in("summary: [a]\n"),
            "profiles/x.yaml:2: 'summary' must be text, not a list");
}

TEST_F(ProfileErrorTest, NegativeNumbers) {
  EXPECT_EQ(files.error_in("host: {nvme: {count: -1}}\n"),
            "profiles/x.yaml:2: 'host.nvme.count' is -1; it cannot be negative");
  EXPECT_EQ(files.error_in("host: {load: {warn_above_per_core: -0.5}}\n"),
            "profiles/x.yaml:2: 'host.load.warn_above_per_core' is -0.5; it cannot be negative");
}

TEST_F(ProfileErrorTest, DuplicateKey) {
  EXPECT_EQ(files.error_in("host:\n  swap: {total: 0 GiB}\n  swap: {total: 1 GiB}\n"),
            "profiles/x.yaml:4: the key 'swap' stands here twice; first on line 3");
}

TEST_F(ProfileErrorTest, SyntaxError) {
  EXPECT_EQ(
      files.error_in("host: {swap: {total: 0 GiB}\n"),
      "profiles/x.yaml:3: not YAML: did not find expected ',' or '}' while parsing a flow mapping");
}

TEST_F(ProfileErrorTest, OtherSchema) {
  files.dir().write("profiles/x.yaml", "schema: muster.profile/2\n");
  EXPECT_EQ(files.error_of("x"),
            "profiles/x.yaml:1: the schema is \"muster.profile/2\"; this muster reads "
            "muster.profile/1");
}

TEST_F(ProfileErrorTest, NoSchemaIsNoError) {
  files.dir().write("profiles/x.yaml", "hst: {}\n");
  EXPECT_EQ(files.error_of("x"), "profiles/x.yaml:1: unknown key 'hst'; did you mean 'host'?");
}

TEST_F(ProfileErrorTest, EmptyFile) {
  files.dir().write("profiles/x.yaml", "");
  EXPECT_EQ(files.error_of("x"), "profiles/x.yaml: a profile must be a mapping");
}

TEST_F(ProfileErrorTest, NameOfAnotherFile) {
  EXPECT_EQ(files.error_in("name: y\n"),
            "profiles/x.yaml:2: the name is \"y\"; it must be the file's, \"x\"");
}

TEST_F(ProfileErrorTest, ExtendsItself) {
  EXPECT_EQ(files.error_in("extends: x\n"),
            "profiles/x.yaml:2: 'extends' goes in a circle: profiles/x.yaml -> profiles/x.yaml");
}

TEST_F(ProfileErrorTest, ExtendsInACircle) {
  files.shipped("a", "extends: b\n");
  files.shipped("b", "summary: b\nextends: c\n");
  files.shipped("c", "extends: b\n");
  EXPECT_EQ(files.error_of("a"),
            "profiles/c.yaml:2: 'extends' goes in a circle: profiles/b.yaml -> profiles/c.yaml -> "
            "profiles/b.yaml");
}

TEST_F(ProfileErrorTest, ExtendsNothingThatExists) {
  files.shipped("nd96isr_h100_v5", "");
  EXPECT_EQ(files.error_in("extends: nd96is_h100_v5\n"),
            "profiles/x.yaml:2: 'extends': no profile is called 'nd96is_h100_v5'; did you mean "
            "'nd96isr_h100_v5'?");
}

TEST_F(ProfileErrorTest, NoSuchProfile) {
  files.shipped("nd96isr_h100_v5", "aliases: [nd96isrf_h100_v5]\n");
  EXPECT_EQ(files.error_of("nd96isrf_h10_v5"),
            "no profile is called 'nd96isrf_h10_v5'; did you mean 'nd96isrf_h100_v5'?");
  EXPECT_EQ(files.error_of("defaults"), "no profile is called 'defaults'");
}

TEST_F(ProfileErrorTest, NoSuchFile) {
  EXPECT_EQ(files.error_of(files.path("y.yaml")),
            fmt::format("read {}: No such file or directory", files.path("y.yaml")));
}

TEST_F(ProfileErrorTest, NoDefaults) {
  files.shipped("x", "");
  files.dir().remove("profiles/defaults.yaml");
  EXPECT_EQ(files.error_of("x"), fmt::format("read {}: No such file or directory",
                                             files.path("profiles/defaults.yaml")));
}

TEST_F(ProfileErrorTest, UnknownOutcomes) {
  EXPECT_EQ(files.error_in("host: {nvme: {fail_as: warning}}\n"),
            "profiles/x.yaml:2: 'host.nvme.fail_as' is \"warning\"; it must be fail, warn or pass");
  EXPECT_EQ(files.error_in("host: {nvme: {warn_as: unknown}}\n"),
            "profiles/x.yaml:2: 'host.nvme.warn_as' is \"unknown\"; it must be fail, warn or pass");
  EXPECT_EQ(files.error_in("host: {kernel_log: {kinds: {oom: bad}}}\n"),
            "profiles/x.yaml:2: 'host.kernel_log.kinds.oom' is \"bad\"; it must be fail, warn or "
            "pass");
  EXPECT_EQ(files.error_in("pci: {link: {unmeasurable: fail}}\n"),
            "profiles/x.yaml:2: 'pci.link.unmeasurable' is \"fail\"; it must be skip or unknown");
}

TEST_F(ProfileErrorTest, UnknownWords) {
  EXPECT_EQ(files.error_in("bench: {hca_write: {memory: disk}}\n"),
            "profiles/x.yaml:2: 'bench.hca_write.memory' is \"disk\"; it must be gpu or host");
  EXPECT_EQ(files.error_in("host: {sysctl: {transparent_hugepage: [madvise, sometimes]}}\n"),
            "profiles/x.yaml:2: 'host.sysctl.transparent_hugepage' is \"sometimes\"; it must be "
            "always, madvise or never");
  EXPECT_EQ(files.error_in("topo: {pairing: {nearest: same_rack}}\n"),
            "profiles/x.yaml:2: 'topo.pairing.nearest' is \"same_rack\"; it must be \"\", "
            "same_switch or same_numa");
}

TEST_F(ProfileErrorTest, KernelLogPatternOfNoKind) {
  EXPECT_EQ(
      files.error_in(R"(host:
  kernel_log:
    kinds: {oom: warn}
    patterns:
      - {pattern: Out of memory, kind: oom}
      - {pattern: soft lockup, kind: lockup}
)"),
      "profiles/x.yaml:7: 'host.kernel_log.patterns.1.kind' is \"lockup\", which is not among "
      "'host.kernel_log.kinds'");
}

TEST_F(ProfileErrorTest, XidRulesThatCannotBeMeant) {
  const auto error = [&](std::string_view xid) {
    return files.error_in(fmt::format("gpu: {{xid: {{kinds: {{fatal: fail}}, {}}}}}\n", xid));
  };
  EXPECT_EQ(error("rules: [{class: fatal}]"), "profiles/x.yaml:2: 'gpu.xid.rules.0' has no xids");
  EXPECT_EQ(error("rules: [{xids: [x79], class: fatal}]"),
            "profiles/x.yaml:2: 'gpu.xid.rules.0.xids' \"x79\" is no number of an XID");
  EXPECT_EQ(error("rules: [{xids: [79], class: fatal}, {xids: [48, 79], class: fatal}]"),
            "profiles/x.yaml:2: 'gpu.xid.rules.1.xids' names 79, which an earlier rule has");
  EXPECT_EQ(error("rules: [{xids: [79], class: lethal}]"),
            "profiles/x.yaml:2: 'gpu.xid.rules.0.class' is \"lethal\", which is not among "
            "'gpu.xid.kinds'");
  EXPECT_EQ(error("classes: {\"94\": lethal}"),
            "profiles/x.yaml:2: 'gpu.xid.classes.94' is \"lethal\", which is not among "
            "'gpu.xid.kinds'");
  EXPECT_EQ(error("classes: {ecc: fatal}"),
            "profiles/x.yaml:2: 'gpu.xid.classes.ecc' \"ecc\" is no number of an XID");
  EXPECT_EQ(error("nvlink_units: [{units: [TREX], reset: [0x1, bit1]}]"),
            "profiles/x.yaml:2: 'gpu.xid.nvlink_units.0' \"bit1\" is no word of 32 bits");
  EXPECT_EQ(error("nvlink_bits: [{register: 8, bits: [1], class: fatal}]"),
            "profiles/x.yaml:2: 'gpu.xid.nvlink_bits.0' 8 is none of the seven registers");
  EXPECT_EQ(error("nvlink_bits: [{register: 1, bits: [32], class: fatal}]"),
            "profiles/x.yaml:2: 'gpu.xid.nvlink_bits.0' \"32\" is no bit of 32");
  EXPECT_EQ(files.error_in("gpu: {sxid: {classes: {\"20034\": none}}}\n"),
            "profiles/x.yaml:2: 'gpu.sxid.classes.20034' is \"none\", which is not among "
            "'gpu.sxid.kinds'");
}

TEST_F(ProfileErrorTest, WhatTheDefaultsExtendIsRead) {
  files.defaults("schema: muster.profile/1\nextends: ../below.yaml\n");
  EXPECT_EQ(files.error_in("summary: x\n"),
            fmt::format("read {}: No such file or directory", files.path("below.yaml")));
  files.dir().write("below.yaml", "schema: muster.profile/1\nhost: {swap: {colour: red}}\n");
  EXPECT_EQ(files.error_in("summary: x\n"),
            "below.yaml:2: unknown key 'host.swap.colour'; known here: total, enabled, fail_as, "
            "warn_as");
}

TEST_F(ProfileErrorTest, KernelLogKindOfNoPattern) {
  files.defaults(R"(schema: muster.profile/1
host:
  kernel_log:
    kinds: {oom: warn}
    patterns: [{pattern: Out of memory, kind: oom}]
)");
  EXPECT_EQ(files.error_in("host: {kernel_log: {kinds: {oomm: pass}}}\n"),
            "profiles/x.yaml:2: 'host.kernel_log.kinds.oomm' is a kind of no pattern; did you mean "
            "'oom'?");
}

TEST_F(ProfileErrorTest, AKindOfTheDefaultsMayBeLeftOverFromPatternsThatAreReplaced) {
  files.defaults(R"(schema: muster.profile/1
host:
  kernel_log:
    kinds: {oom: warn}
    patterns: [{pattern: Out of memory, kind: oom}]
)");
  EXPECT_EQ(files.error_in("host: {kernel_log: {kinds: {ours: warn}, patterns: [{pattern: p, kind: "
                           "ours}]}}\n"),
            "");
}

TEST_F(ProfileErrorTest, EveryRemedyOfAReportIsAWordOfAProfile) {
  for (int i = 0; i <= static_cast<int>(Remedy::report_to_provider); ++i) {
    const std::string_view word = to_string(static_cast<Remedy>(i));
    EXPECT_EQ(files.error_in(fmt::format(
                  "host: {{kernel_log: {{kinds: {{k: warn}}, patterns: [{{pattern: p, kind: k, "
                  "remedy: {}}}]}}}}\n",
                  word)),
              "")
        << word;
  }
}

TEST_F(ProfileErrorTest, UnknownContext) {
  EXPECT_EQ(files.error_in("contexts:\n  prolg: {skip: [x]}\n"),
            "profiles/x.yaml:3: 'contexts.prolg' is no context; did you mean 'prolog'?");
}

TEST_F(ProfileErrorTest, SourceOfAnUnknownKey) {
  EXPECT_EQ(files.error_in("host:\n  nvme:\n    count: 8\n    source: {cont: a table}\n"),
            "profiles/x.yaml:5: unknown key 'host.nvme.source.cont'; did you mean 'count'?");
}

TEST_F(ProfileErrorTest, SourceThatIsAList) {
  EXPECT_EQ(
      files.error_in("host: {nvme: {count: 8, source: [a]}}\n"),
      "profiles/x.yaml:2: 'host.nvme.source' must be text, or a mapping from key to text, not "
      "a list");
}

TEST_F(ProfileErrorTest, AsOfThatIsNoDate) {
  EXPECT_EQ(files.error_in("as_of: May 2026\n"),
            "profiles/x.yaml:2: 'as_of' must be a date such as 2026-11-20, not \"May 2026\"");
}

TEST_F(ProfileErrorTest, TextThatUsersControlIsMadePrintable) {
  EXPECT_EQ(files.error_in("\"ho\\e[31mst\": {}\n"),
            "profiles/x.yaml:2: unknown key 'ho\\x1b[31mst'; known here: summary, aliases, "
            "recognise, must_observe, host, pci, gpu, ib, topo, env, muster, bench, contexts, "
            "schema, name, extends");
}

TEST_F(ProfileErrorTest, SettingsNameThemselves) {
  files.shipped("x", "");
  EXPECT_EQ(files.error_of("x", {"host.memory.totl=1 GiB"}),
            "--set: unknown key 'host.memory.totl'; did you mean 'total'?");
  EXPECT_EQ(files.error_of("x", {"host.memory.total=1"}),
            "--set: 'host.memory.total': \"1\" has no unit; write one of B, KiB, MiB, GiB, TiB");
  EXPECT_EQ(files.error_of("x", {"host=1"}), "--set: 'host' must be a mapping, not \"1\"");
  EXPECT_EQ(files.error_of("x", {"name=y"}),
            "--set: unknown key 'name'; known here: host, pci, gpu, ib, topo, env, muster, bench, "
            "contexts");
  EXPECT_EQ(files.error_of("x", {"host.modules.required=[a"}),
            "--set: 'host.modules.required' is not YAML: \"[a\"");
  EXPECT_EQ(files.error_of("x", {"nonsense"}), "--set: \"nonsense\" is not KEY=VALUE");
  EXPECT_EQ(files.error_of("x", {"bench.job_all_reduce.2.size=1 GiB"}),
            "--set: 'bench.job_all_reduce' has 0 items, numbered from 0; there is no '2'");
}

TEST_F(ProfileErrorTest, SiteOverridesHaveNoIdentity) {
  files.shipped("x", "");
  files.site("overrides:\n  recognise: {gpus: 8}\n");
  EXPECT_EQ(files.error_of("x"),
            fmt::format("{}:2: unknown key 'recognise'; known here: host, pci, gpu, ib, topo, env, "
                        "muster, bench, contexts",
                        files.path("etc/muster.yaml")));
}

TEST_F(ProfileErrorTest, UnknownKeyOfTheSite) {
  files.site("profle: x\n");
  EXPECT_EQ(site_profile(files.sources()).error().message,
            fmt::format("{}:1: unknown key 'profle'; did you mean 'profile'?",
                        files.path("etc/muster.yaml")));
}

TEST_F(ProfileErrorTest, OtherSchemaOfTheSite) {
  files.site("schema: muster.site/9\n");
  EXPECT_EQ(site_profile(files.sources()).error().message,
            fmt::format("{}:1: the schema is \"muster.site/9\"; this muster reads muster.site/1",
                        files.path("etc/muster.yaml")));
}

TEST_F(ProfileErrorTest, SiteFileThatCannotBeRead) {
  files.shipped("x", "");
  files.dir().write("etc/muster.yaml/in_the_way", "");
  EXPECT_EQ(files.error_of("x"),
            fmt::format("read {}: not a regular file", files.path("etc/muster.yaml")));
}

TEST_F(ProfileErrorTest, SiteFolderThatCannotBeListed) {
  files.shipped("x", "");
  files.dir().link("etc/profiles", "profiles");
  EXPECT_EQ(files.error_of("x"),
            fmt::format("list {}: Too many levels of symbolic links", files.path("etc/profiles")));
}

TEST_F(ProfileErrorTest, ProfilesThatCannotBeListedAreNotNone) {
  files.dir().write("etc/profiles", "");
  const auto names = profile_names(files.sources());
  ASSERT_FALSE(names.has_value());
  EXPECT_EQ(names.error().message,
            fmt::format("list {}: Not a directory", files.path("etc/profiles")));
}

TEST_F(ProfileErrorTest, SiteFolderThatIsAFile) {
  files.shipped("x", "");
  files.dir().write("etc/profiles", "");
  EXPECT_EQ(files.error_of("x"),
            fmt::format("list {}: Not a directory", files.path("etc/profiles")));
}

}  // namespace
}  // namespace muster
