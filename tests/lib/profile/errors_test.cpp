// SPDX-License-Identifier: Apache-2.0
// Every way in which a profile can be wrong: the error names the file, the line and the key.
#include <fmt/format.h>

#include <initializer_list>

#include "lib/report/finding.hpp"
#include "tests/lib/profile/profile_files.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

// The body of a profile begins on line 2.
struct Wrong {
  std::string_view body;
  int line;
  std::string_view key;        // quoted in the error
  std::string_view hint = {};  // also in the error
};

class ProfileErrorTest : public ::testing::Test {
 protected:
  void expect_errors(std::initializer_list<Wrong> all) const {
    for (const auto& [body, line, key, hint] : all) {
      EXPECT_THAT(files.error_in(body),
                  AllOf(StartsWith(fmt::format("profiles/x.yaml:{}: ", line)),
                        HasSubstr(fmt::format("'{}'", key)), HasSubstr(std::string(hint))))
          << body;
    }
  }

  void expect_fine(std::initializer_list<std::string_view> bodies) const {
    for (const auto body : bodies) EXPECT_EQ(files.error_in(body), "") << body;
  }

  [[nodiscard]] std::string site_error() const {
    const auto site = read_site(files.sources());
    return site ? std::string() : site.error().message;
  }

  ProfileFiles files;
};

TEST_F(ProfileErrorTest, NamesFileLineKeyAndTheNearestKnownKey) {
  EXPECT_EQ(files.error_in("host:\n  memory:\n    totl: 8 GiB\n"),
            "profiles/x.yaml:4: unknown key 'host.memory.totl'; did you mean 'host.memory.total'?");
}

TEST_F(ProfileErrorTest, UnknownKeys) {
  files.defaults("schema: muster.profile/1\nib: {state: {}}\n");
  expect_errors({
      {"hosts: {}\n", 2, "hosts", "'host'"},
      {"extend: y\n", 2, "extend", "'extends'"},
      {"host: {swap: {sourc: y}}\n", 2, "host.swap.sourc", "'host.swap.source'"},
      {"host: {swap: {colour: red}}\n", 2, "host.swap.colour", "total, enabled, fail_as, warn_as"},
      {"host: {nvme: {source: {cont: a table}}}\n", 2, "host.nvme.source.cont",
       "'host.nvme.source.count'"},
      {"ib:\n  stat: {enabled: false}\n", 3, "ib.stat", "'ib.state'"},
      {"ib: {state: {fail_is: warn}}\n", 2, "ib.state.fail_is", "'ib.state.fail_as'"},
      {"contexts:\n  prolg: {skip: [x]}\n", 3, "contexts.prolg", "'prolog'"},
      {"must_observe: [gpus]\n", 2, "must_observe", "'gpu'"},
  });
}

TEST_F(ProfileErrorTest, AKeyWithADotIsShownNested) {
  expect_errors({
      {"host.swap: {warn_as: fail}\n", 2, "host.swap", "'host: {swap: …}'"},
      {"host: {swap.warn_as: fail}\n", 2, "host.swap.warn_as", "'swap: {warn_as: …}'"},
      {"hst.swap: {warn_as: fail}\n", 2, "hst.swap", "'host'"},
  });
}

TEST_F(ProfileErrorTest, WrongTypes) {
  expect_errors({
      {"host:\n  memory: {total: 1870}\n", 3, "host.memory.total", "B, KiB, MiB, GiB, TiB"},
      {"ib: {rate: {expected: 400 GB/s}}\n", 2, "ib.rate.expected", "Mb/s, Gb/s, Tb/s"},
      {"host: {cpu: {cores: many}}\n", 2, "host.cpu.cores", "\"many\""},
      {"host: {cpu: {cores: 1.5}}\n", 2, "host.cpu.cores", "\"1.5\""},
      {"host: {cpu: {cores: 99999999999}}\n", 2, "host.cpu.cores", "\"99999999999\""},
      {"host: {nvme: {count: -1}}\n", 2, "host.nvme.count", "\"-1\""},
      {"host: {load: {warn_above_per_core: -0.5}}\n", 2, "host.load.warn_above_per_core"},
      {"host: {load: {warn_above_per_core: []}}\n", 2, "host.load.warn_above_per_core", "a list"},
      {"host: {limits: {memlock_unlimited: yes}}\n", 2, "host.limits.memlock_unlimited", "\"yes\""},
      {"host: {memory: {total: {}}}\n", 2, "host.memory.total", "a mapping"},
      {"host: {memory: {tolerance: null}}\n", 2, "host.memory.tolerance", "null"},
      {"host: {modules: {required: nvidia}}\n", 2, "host.modules.required", "\"nvidia\""},
      {"host: {modules: {required: [[a]]}}\n", 2, "host.modules.required", "a list"},
      {"host: {mounts: {required: {point: /}}}\n", 2, "host.mounts.required", "a mapping"},
      {"host: {sysctl: {values: [a]}}\n", 2, "host.sysctl.values", "a list"},
      {"host:\n  nvme:\n", 3, "host.nvme", "null"},
      {"host: {nvme: {count: 8, source: [a]}}\n", 2, "host.nvme.source", "a list"},
      {"summary: [a]\n", 2, "summary", "a list"},
      {"as_of: May 2026\n", 2, "as_of", "\"May 2026\""},
  });
}

TEST_F(ProfileErrorTest, UnknownWordsListTheKnownOnes) {
  expect_errors({
      {"host: {nvme: {fail_as: warning}}\n", 2, "host.nvme.fail_as", "fail, warn or pass"},
      {"host: {nvme: {warn_as: unknown}}\n", 2, "host.nvme.warn_as", "fail, warn or pass"},
      {"host: {kernel_log: {kinds: {oom: bad}}}\n", 2, "host.kernel_log.kinds.oom"},
      {"pci: {link: {unmeasurable: fail}}\n", 2, "pci.link.unmeasurable", "skip or unknown"},
      {"bench: {hca_write: {memory: disk}}\n", 2, "bench.hca_write.memory", "gpu or host"},
      {"bench:\n  transport: {require: [ib, rdma]}\n", 3, "bench.transport.require", "\"rdma\""},
      {"host: {sysctl: {transparent_hugepage: [madvise, sometimes]}}\n", 2,
       "host.sysctl.transparent_hugepage", "\"sometimes\""},
      {"topo: {pairing: {nearest: same_rack}}\n", 2, "topo.pairing.nearest",
       "\"\", same_switch or same_numa"},
      {"ib: {rate: {width: 8X}}\n", 2, "ib.rate.width", "1X, 2X or 4X"},
      {"ib: {rate: {speed: NDR200}}\n", 2, "ib.rate.speed", "NDR or XDR"},
  });
}

TEST_F(ProfileErrorTest, NumbersOutOfRange) {
  expect_errors({
      {"host: {disk: {fail_above: 195%}}\n", 2, "host.disk.fail_above", "100%"},
      {"host: {memory: {tolerance: 100%}}\n", 2, "host.memory.tolerance", "100%"},
      {"contexts: {manual: {deadline: 0 s}}\n", 2, "contexts.manual.deadline", "0 s"},
      {"host: {mounts: {answer_within: 0 s}}\n", 2, "host.mounts.answer_within", "0 s"},
      {"ib: {errors: {window: 0 s}}\n", 2, "ib.errors.window", "0 s"},
  });
  expect_fine({"host: {memory: {tolerance: 99%}}\n", "ib: {flaps: {ignore_after_boot: 0 s}}\n"});
}

TEST_F(ProfileErrorTest, AWarningMustComeBeforeTheFailure) {
  expect_errors({
      {"host: {disk: {warn_above: 90%, fail_above: 80%}}\n", 2, "host.disk.warn_above",
       "above its 'fail_above' of 80%"},
      {"host: {disk: {inodes_warn_above: 90%, inodes_fail_above: 80%}}\n", 2,
       "host.disk.inodes_warn_above", "above its 'inodes_fail_above' of 80%"},
      {"ib: {errors: {counters: {symbol_error: {warn_above_per_hour: 5,\n"
       "  fail_above_per_hour: 4}}}}\n",
       2, "ib.errors.counters.symbol_error.warn_above_per_hour",
       "above its 'fail_above_per_hour' of 4"},
      {"bench:\n  gemm:\n    warn_below: 700 TFLOPS\n    fail_below: 701 TFLOPS\n", 5,
       "bench.gemm.fail_below", "above its 'warn_below' of 700 TFLOPS"},
      {"bench: {stream: {expected: 1 GB/s, fail_below: 2 GB/s}}\n", 2, "bench.stream.fail_below"},
      {"bench: {gemm: {expected: 700 TFLOPS, warn_below: 742 TFLOPS}}\n", 2,
       "bench.gemm.warn_below"},
      {"bench: {gemm: {expected: 700 TFLOPS, promised: 0.8 PFLOPS}}\n", 2, "bench.gemm.promised"},
  });
  expect_fine(
      {"host: {disk: {warn_above: 90%, fail_above: 90%}}\n",
       "host: {disk: {warn_above: null, fail_above: 10%}}\n",
       "bench: {gemm: {expected: 7 TFLOPS, warn_below: 7 TFLOPS, fail_below: 7 TFLOPS}}\n"});
}

TEST_F(ProfileErrorTest, OrderHoldsBetweenFiles) {
  files.shipped("base", "host: {disk: {warn_above: 80%, fail_above: 90%}}\n");
  files.shipped("y", "extends: base\nhost: {disk: {fail_above: 70%}}\n");
  EXPECT_EQ(files.error_of("y"),
            "profiles/y.yaml:3: 'host.disk.fail_above' is 70%, below its 'warn_above' of 80%");
  EXPECT_THAT(files.error_of("base", {"host.disk.warn_above=95%"}),
              StartsWith("--set: 'host.disk.warn_above'"));
  EXPECT_THAT(files.error_of("base", {"host.disk.fail_above=5%"}),
              StartsWith("--set: 'host.disk.fail_above' is 5%"));
}

TEST_F(ProfileErrorTest, ACollectiveNamesItsSizeAlgorithmAndNodes) {
  const std::string_view job = "bench:\n  job_all_reduce:\n    - ";
  const auto wrong = [&](std::string_view limit, std::string_view what) {
    EXPECT_THAT(files.error_in(fmt::format("{}{{expected: 9 GB/s, {}}}\n", job, limit)),
                AllOf(StartsWith("profiles/x.yaml:4: 'bench.job_all_reduce.0'"),
                      HasSubstr(std::string(what))));
  };
  wrong("algorithm: ring, nodes_at_least: 2", "size");
  wrong("size: 1 GiB, nodes_at_least: 2", "algorithm");
  wrong("size: 1 GiB, algorithm: ring", "nodes_at_least");
  wrong("size: 1 GiB, algorithm: ring, nodes_at_least: 4, nodes_at_most: 2", "nodes_at_most");
  expect_errors({
      {"bench: {node_all_reduce: {fail_below: 400 GB/s}}\n", 2, "bench.node_all_reduce", "size"},
      {"bench: {loopback_all_reduce: {expected: 40 GB/s}}\n", 2, "bench.loopback_all_reduce"},
  });
}

TEST_F(ProfileErrorTest, InvalidYaml) {
  expect_errors({{"host:\n  swap: {total: 0 GiB}\n  swap: {total: 1 GiB}\n", 4, "swap", "line 3"}});
  EXPECT_THAT(files.error_in("host: {swap: {total: 0 GiB}\n"),
              StartsWith("profiles/x.yaml:3: invalid YAML"));
  files.dir().write("profiles/x.yaml", "");
  EXPECT_EQ(files.error_of("x"), "profiles/x.yaml: a profile must be a mapping");
}

TEST_F(ProfileErrorTest, ASchemaIsOptionalButMustBeSupported) {
  files.dir().write("profiles/x.yaml", "schema: muster.profile/2\n");
  EXPECT_THAT(files.error_of("x"),
              AllOf(StartsWith("profiles/x.yaml:1: "), HasSubstr("muster.profile/2")));
  files.dir().write("profiles/x.yaml", "summary: x\n");
  EXPECT_EQ(files.error_of("x"), "");
}

TEST_F(ProfileErrorTest, TheNameMustBeTheFiles) {
  EXPECT_THAT(files.error_in("name: y\n"),
              AllOf(StartsWith("profiles/x.yaml:2: "), HasSubstr("y")));
}

TEST_F(ProfileErrorTest, ExtendsInACycle) {
  expect_errors({{"extends: x\n", 2, "extends", "profiles/x.yaml -> profiles/x.yaml"}});
  files.shipped("a", "extends: b\n");
  files.shipped("b", "summary: b\nextends: c\n");
  files.shipped("c", "extends: b\n");
  EXPECT_THAT(files.error_of("a"),
              AllOf(StartsWith("profiles/c.yaml:2: 'extends'"),
                    HasSubstr("profiles/b.yaml -> profiles/c.yaml -> profiles/b.yaml")));
}

TEST_F(ProfileErrorTest, AProfileThatDoesNotExist) {
  files.shipped("nd96isr_h100_v5", "aliases: [nd96isrf_h100_v5]\n");
  expect_errors({{"extends: nd96is_h100_v5\n", 2, "extends", "'nd96isr_h100_v5'"}});
  EXPECT_THAT(files.error_of("nd96isrf_h10_v5"), HasSubstr("'nd96isrf_h100_v5'"));
  EXPECT_THAT(files.error_of("defaults"), HasSubstr("'defaults'"));
  EXPECT_EQ(files.error_of(files.path("y.yaml")),
            fmt::format("read {}: No such file or directory", files.path("y.yaml")));
}

TEST_F(ProfileErrorTest, DefaultsAreRequired) {
  files.shipped("x", "");
  files.defaults("schema: muster.profile/1\nextends: ../below.yaml\n");
  EXPECT_THAT(files.error_of("x"), StartsWith(fmt::format("read {}", files.path("below.yaml"))));
  files.dir().write("below.yaml", "schema: muster.profile/1\nhost: {swap: {colour: red}}\n");
  EXPECT_THAT(files.error_of("x"), StartsWith("below.yaml:2: "));
  files.dir().remove("profiles/defaults.yaml");
  EXPECT_THAT(files.error_of("x"),
              StartsWith(fmt::format("read {}", files.path("profiles/defaults.yaml"))));
}

TEST_F(ProfileErrorTest, KernelLogPatternsAndKindsMustMatch) {
  expect_errors({{R"(host:
  kernel_log:
    kinds: {oom: warn}
    patterns:
      - {pattern: Out of memory, kind: oom}
      - {pattern: soft lockup, kind: lockup}
)",
                  7, "host.kernel_log.patterns.1.kind", "\"lockup\""},
                 {"host: {kernel_log: {patterns: [{kind: oom}]}}\n", 2,
                  "host.kernel_log.patterns.0", "pattern"}});
  files.defaults(R"(schema: muster.profile/1
host:
  kernel_log:
    kinds: {oom: warn}
    patterns: [{pattern: Out of memory, kind: oom}]
)");
  expect_errors(
      {{"host: {kernel_log: {kinds: {oomm: pass}}}\n", 2, "host.kernel_log.kinds.oomm", "'oom'"}});
  // The defaults' kinds may be left over.
  expect_fine(
      {"host: {kernel_log: {kinds: {ours: warn}, patterns: [{pattern: p, kind: ours}]}}\n"});
}

TEST_F(ProfileErrorTest, XidRules) {
  struct Case {
    std::string_view xid, key, hint;
  };

  for (const auto& [xid, key, hint] : std::initializer_list<Case>{
           {"rules: [{class: fatal}]", "rules.0", "xids"},
           {"rules: [{xids: [x79], class: fatal}]", "rules.0.xids", "x79"},
           {"rules: [{xids: [79], class: fatal}, {xids: [48, 79], class: fatal}]", "rules.1.xids",
            "79"},
           {"rules: [{xids: [79], class: lethal}]", "rules.0.class", "lethal"},
           {"classes: {\"94\": lethal}", "classes.94", "lethal"},
           {"classes: {ecc: fatal}", "classes.ecc", ""},
           {"nvlink_units: [{units: [TREX], reset: [0x1, bit1]}]", "nvlink_units.0", "bit1"},
           {"nvlink_reasons: [{reasons: [x]}]", "nvlink_reasons.0", "x"},
           {"nvlink_bits: [{register: 8, bits: [1], class: fatal}]", "nvlink_bits.0", "8"},
           {"nvlink_bits: [{register: 1, bits: [32], class: fatal}]", "nvlink_bits.0", "32"}}) {
    const auto body = fmt::format("gpu: {{xid: {{kinds: {{fatal: fail}}, {}}}}}\n", xid);
    const auto path = fmt::format("gpu.xid.{}", key);
    expect_errors({{body, 2, path, hint}});
  }
  expect_errors(
      {{"gpu: {sxid: {classes: {\"20034\": none}}}\n", 2, "gpu.sxid.classes.20034", "none"}});
}

TEST_F(ProfileErrorTest, EveryRemedyOfAReportIsAWordOfAProfile) {
  for (int i = 0; i <= static_cast<int>(Remedy::report_to_provider); ++i) {
    expect_fine(
        {fmt::format("host: {{kernel_log: {{kinds: {{k: warn}}, patterns: [{{pattern: p, "
                     "kind: k, remedy: {}}}]}}}}\n",
                     to_string(static_cast<Remedy>(i)))});
  }
}

TEST_F(ProfileErrorTest, ControlCharactersAreEscaped) {
  expect_errors({{"\"ho\\e[31mst\": {}\n", 2, "ho\\x1b[31mst"}});
}

TEST_F(ProfileErrorTest, SettingsNameThemselves) {
  files.shipped("x", "");
  for (const auto& [setting, key] : {std::pair{"host.memory.totl=1 GiB", "'host.memory.totl'"},
                                     {"host.memory.total=1", "'host.memory.total'"},
                                     {"host=1", "'host'"},
                                     {"name=y", "'name'"},
                                     {"host.modules.required=[a", "'host.modules.required'"},
                                     {"nonsense", "\"nonsense\""},
                                     {"bench.job_all_reduce.2.size=1 GiB", "'2'"}}) {
    EXPECT_THAT(files.error_of("x", {setting}), AllOf(StartsWith("--set: "), HasSubstr(key)));
  }
}

TEST_F(ProfileErrorTest, TheSitesFile) {
  const auto file = files.path("etc/muster.yaml");
  files.shipped("x", "");
  files.site("overrides:\n  recognise: {gpus: 8}\n");
  EXPECT_THAT(files.error_of("x"), StartsWith(fmt::format("{}:2: unknown key 'recognise'", file)));
  files.site("profle: x\n");
  EXPECT_THAT(site_error(), AllOf(StartsWith(fmt::format("{}:1: ", file)), HasSubstr("'profile'")));
  files.site("schema: muster.site/9\n");
  EXPECT_THAT(site_error(),
              AllOf(StartsWith(fmt::format("{}:1: ", file)), HasSubstr("muster.site/9")));
}

TEST_F(ProfileErrorTest, ASiteThatCannotBeReadIsNotAnEmptyOne) {
  files.shipped("x", "");
  files.dir().write("etc/muster.yaml/in_the_way", "");
  EXPECT_EQ(files.error_of("x"),
            fmt::format("read {}: Is a directory", files.path("etc/muster.yaml")));
  files.dir().link("etc/profiles", "profiles");
  EXPECT_EQ(files.error_of("x"),
            fmt::format("list {}: Too many levels of symbolic links", files.path("etc/profiles")));
  files.dir().remove("etc/profiles");
  files.dir().write("etc/profiles", "");
  const auto error = fmt::format("list {}: Not a directory", files.path("etc/profiles"));
  EXPECT_EQ(files.error_of("x"), error);
  EXPECT_EQ(profile_names(files.sources()).error().message, error);
}

TEST_F(ProfileErrorTest, ReviewNamesBlocksWithoutASource) {
  files.shipped("x", R"(recognise: {gpus: 8}
host:
  memory: {total: 8 GiB, tolerance: 5%}
  swap: {total: 0 GiB, source: s}
  nvme: {enabled: false}
  sysctl: {values: {a: 1, b: 2}}
contexts: {prolog: {skip: [x]}}
)");
  const auto profile = load_profile(files.sources(), "x");
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_THAT(review(*profile),
              ::testing::ElementsAre(StartsWith("profiles/x.yaml:4: 'host.memory'"),
                                     StartsWith("profiles/x.yaml:7: 'host.sysctl'")));
}

}  // namespace
}  // namespace muster
