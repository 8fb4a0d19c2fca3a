// SPDX-License-Identifier: Apache-2.0
#include "bench/command/bench_command.hpp"

#include <fmt/format.h>

#include <array>
#include <tuple>

#include "lib/base/text.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

Parsed<BenchCommand> parsed(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const auto& word : words) pointers.push_back(word.c_str());
  return parse(pointers);
}

std::vector<std::string> words_of(std::string_view line) {
  const auto words = split_words(line);
  return {words.begin(), words.end()};
}

BenchCommand command_from(const std::vector<std::string>& words) {
  const auto invocation = parsed(words);
  EXPECT_TRUE(invocation.has_value()) << invocation.error().message;
  return invocation ? std::get<BenchCommand>(*invocation) : BenchCommand();
}

BenchCommand command_of(std::vector<std::string> words) {
  words.insert(words.begin(), "all_reduce");
  return command_from(words);
}

TEST(BenchCommandErrorTest, NamesTheValueAndItsRange) {
  const auto error = [](std::vector<const char*> words) {
    words.insert(words.begin(), "all_reduce");
    const auto parsed = parse(words);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_THAT(error({"--rank", "0", "--world", "0", "--rendezvous", "x:1"}),
              HasSubstr("--world: expects a whole number"));
}

TEST(BenchParseTest, DefaultsMatchTheHelp) {
  const auto command = command_of({});
  EXPECT_EQ(command.collective, Collective::all_reduce);
  EXPECT_TRUE(command.sizes.empty());
  EXPECT_EQ(factor_of(command), 2U);
  EXPECT_EQ(command.type, Type::f32);
  EXPECT_EQ(command.reduction, Reduction::sum);
  EXPECT_EQ(command.placement, Placement::both);
  EXPECT_EQ(command.warm_up, 5);
  EXPECT_EQ(command.iterations, 20);
  EXPECT_EQ(command.backend, BackendKind::automatic);
  EXPECT_EQ(command.bind, Bind::gpu);
  EXPECT_EQ(command.format, Format::text);
  EXPECT_EQ(command.join_deadline.value, 60);
  EXPECT_EQ(command.operation_deadline.value, 60);
}

TEST(BenchParseTest, EveryCollectiveHasItsName) {
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(command_from({std::string(to_string(collective))}).collective, collective);
  }
}

TEST(BenchParseTest, SeveralCollectivesRunOneAfterTheOther) {
  const auto of = [](const std::string& names) {
    return of_each_collective(command_from({names, "--type", "all"}));
  };
  ASSERT_EQ(of("all").size(), kCollectives);
  const auto two = of("all_gather, alltoall");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].collective, Collective::all_gather);
  EXPECT_EQ(two[1].collective, Collective::alltoall);
  EXPECT_EQ(two[1].types.size(), kTypes);
  ASSERT_EQ(of("broadcast").size(), 1U);
  EXPECT_EQ(of("broadcast")[0].collective, Collective::broadcast);
}

TEST(BenchParseTest, SizesAndTypes) {
  const auto range = command_of({"--min=8", "--max", "8GiB", "--factor=4"});
  EXPECT_EQ(range.min, 8U);
  EXPECT_EQ(range.max, 8ULL << 30U);
  EXPECT_EQ(range.factor, 4U);
  EXPECT_THAT(command_of({"--sizes=8, 64KiB ,1GiB"}).sizes, ElementsAre(8U, 64U << 10U, 1U << 30U));
  EXPECT_EQ(command_of({"--type=bf16"}).type, Type::bf16);
  EXPECT_EQ(command_of({"--type=u8"}).type, Type::u8);
  EXPECT_EQ(command_of({"--op=avg"}).reduction, Reduction::avg);
  EXPECT_EQ(command_of({"--root=3"}).root, 3);
  EXPECT_EQ(command_of({"--placement=in"}).placement, Placement::in);
}

struct ForeignLine {
  const char* theirs;
  const char* ours;
};

// Command lines of nccl-tests from documents, and their equivalents.
TEST(BenchParseTest, AcceptsTheCommandLinesOfNcclTests) {
  for (const auto& [theirs, ours] :
       {ForeignLine{"all_reduce_perf -b 8 -e 8G -f 2 -g 1", "all_reduce --min 8 --max 8GiB"},
        ForeignLine{"all_reduce_perf -b 8 -e 128M -f 2 -g 1 -c 1 -n 20 -w 5",
                    "all_reduce --min 8 --max 128MiB"},
        ForeignLine{"all_gather_perf -b1K -e1g -f4 -n100",
                    "all_gather --min 1KiB --max 1GiB "
                    "--factor 4 --iterations 100"},
        ForeignLine{"alltoall_perf --minbytes 16 --maxbytes=4096M --stepfactor=2 --iters=10",
                    "alltoall --min 16 --max 4GiB --iterations 10"},
        ForeignLine{"reduce_scatter_perf -e 1G -d half -o max -t 1",
                    "reduce_scatter --max 1GiB --type f16 --op max"},
        ForeignLine{"sendrecv_perf -d bfloat16 -w 20 -G 1 -z 1 -a 1",
                    "sendrecv --type bf16 --warm-up 20 --graph"},
        ForeignLine{"broadcast_perf -r 3 -d float -G 0", "broadcast --root 3"},
        // From its documentation, cluster recipes, and acceptance tests of providers.
        ForeignLine{"all_reduce_perf -b 8 -e 128M -f 2 -g 8",
                    "all_reduce --min 8 --max 128MiB --local 8"},
        ForeignLine{"all_reduce_perf -b 8 -e 8G -f 2 -t 2 -g 4 -c 1 -n 100",
                    "all_reduce --min 8 --max 8GiB --local 8 --iterations 100"},
        ForeignLine{"all_reduce_perf -b 1G -e 10G -i 1073741824 -g 8 -c 0 -z 0",
                    "all_reduce --min 1GiB --max 10GiB --step 1GiB --local 8"},
        ForeignLine{"alltoall_perf -b 512M -e 8G -f 2 -c 1 -a 3 -p 1 -T 600",
                    "alltoall --min 512MiB --max 8GiB"},
        ForeignLine{"all_gather_perf -b 16G -e 16G -f 2 -g 1 -c 1 -n 100 -w 20 -d uint8",
                    "all_gather --min 16GiB --max 16GiB --iterations 100 --warm-up 20 --type u8"},
        ForeignLine{"reduce_scatter_perf -b 8 -e 16G -f 2 -g 1 -R 0 -C 0 -m 1 -N 1",
                    "reduce_scatter --min 8 --max 16GiB"},
        ForeignLine{"all_reduce_perf -C 1 -z 1", "all_reduce --cpu-time"},
        ForeignLine{"all_reduce_perf -d fp8_e4m3 -o prod", "all_reduce --type f8e4m3 --op prod"},
        ForeignLine{"allreduce --type double", "all_reduce --type f64"},
        ForeignLine{"MPI_Alltoall --sizes 1m,2M", "alltoall --sizes 1MiB,2MiB"},
        ForeignLine{"bcast --require-transport InfiniBand,IB,GPUDirect",
                    "broadcast --require-transport ib,gdr"}}) {
    const auto options = [](const BenchCommand& of) {
      return std::tuple(of.collective, of.min, of.max, of.sizes, factor_of(of), of.step, of.local,
                        of.iterations, of.warm_up, of.type, of.reduction, of.root, of.graph,
                        of.cpu_time, of.require_transport);
    };
    EXPECT_EQ(options(command_from(words_of(theirs))), options(command_from(words_of(ours))))
        << theirs;
  }
}

TEST(BenchParseTest, LinesOfNcclTestsHaveItsPace) {
  EXPECT_TRUE(command_of({"-b", "8"}).pipelined);
  EXPECT_TRUE(command_of({"-b", "8", "-z", "0"}).pipelined);
  EXPECT_FALSE(command_of({"-b", "8", "-z", "1"}).pipelined);
  EXPECT_FALSE(command_of({"--max=8"}).pipelined);
}

TEST(BenchParseTest, TheNameOfAProgramOfNcclTestsIsTheCollective) {
  const auto words = [](const std::vector<const char*>& all) {
    std::vector<std::string> rest;
    for (const auto* word : with_collective_of_name(all)) rest.emplace_back(word);
    return rest;
  };
  EXPECT_THAT(words({"/usr/bin/all_reduce_perf", "-b", "8"}),
              ElementsAre("all_reduce_perf", "-b", "8"));
  EXPECT_THAT(words({"alltoall_perf"}), ElementsAre("alltoall_perf"));
  EXPECT_THAT(words({"build/muster-bench", "node"}), ElementsAre("node"));
}

TEST(BenchParseTest, SeveralTypesAndReductionsWithTheJudgedOneFirst) {
  const auto command = command_of({"--type=f64,f32,bf16", "--op=all"});
  EXPECT_EQ(command.type, Type::f32);
  EXPECT_THAT(command.types, ElementsAre(Type::f32, Type::f64, Type::bf16));
  EXPECT_EQ(command.reduction, Reduction::sum);
  EXPECT_EQ(command.reductions.size(), kReductions);
  EXPECT_EQ(command_of({"--type=f64,i8"}).type, Type::f64);
  EXPECT_TRUE(command_of({"--type=f64"}).types.empty());
}

TEST(BenchParseTest, Repetitions) {
  const auto command =
      command_of({"--warm-up=0", "--iterations=7", "--precision=1%", "--pipelined", "--graph"});
  EXPECT_EQ(command.warm_up, 0);
  EXPECT_EQ(command.iterations, 7);
  EXPECT_EQ(command.precision->value, 1);
  EXPECT_TRUE(command.pipelined);
  EXPECT_TRUE(command.graph);
}

TEST(BenchParseTest, BackEndsAndRanks) {
  EXPECT_EQ(command_of({"--backend=tcp"}).backend, BackendKind::tcp);
  EXPECT_EQ(command_of({"--bind=none"}).bind, Bind::none);
  EXPECT_EQ(command_of({"-m", "4"}).together, 4);
  EXPECT_EQ(command_of({"-N", "4"}).cycles, 4);
  EXPECT_TRUE(command_of({"-R", "1"}).registered);
  EXPECT_FALSE(command_of({"-R", "0"}).registered);
  EXPECT_EQ(command_of({"--soak=2h"}).soak->value, 7200);
  const auto model = command_of({"--backend=sim", "--sim=nodes=2,gpus=8"});
  EXPECT_EQ(model.backend, BackendKind::sim);
  EXPECT_EQ(model.sim, "nodes=2,gpus=8");
  EXPECT_EQ(command_of({"--local=8"}).local, 8);
  EXPECT_EQ(command_of({"--launch=slurm"}).launch.launcher, Launcher::slurm);
  const auto flags =
      command_of({"--rank=1", "--world=2", "--rendezvous=[fd00::1]:6105", "--secret-file=/s"});
  EXPECT_EQ(flags.launch.rank, 1);
  EXPECT_EQ(flags.launch.world, 2);
  EXPECT_EQ(flags.launch.rendezvous, (Rendezvous{"fd00::1", 6105}));
  EXPECT_EQ(flags.secret_file, "/s");
  const auto libraries = command_of({"--cuda=/c", "--nccl=/n"});
  EXPECT_EQ(libraries.cuda, "/c");
  EXPECT_EQ(libraries.nccl, "/n");
}

TEST(BenchParseTest, LimitsAndReports) {
  const auto command =
      command_of({"--profile=nd96asr_v4", "--set=a=b", "--set=c=d", "--min-busbw=185 GB/s",
                  "--at=8GiB", "--require-transport=ib,gdr", "--format=json", "--output=/o",
                  "--each-iteration", "--join-deadline=5s", "--operation-deadline=1min", "-v"});
  EXPECT_EQ(command.profile, "nd96asr_v4");
  EXPECT_THAT(command.settings, ElementsAre("a=b", "c=d"));
  EXPECT_EQ(command.min_busbw->value, 185e9);
  EXPECT_EQ(command.at, 8ULL << 30U);
  EXPECT_THAT(command.require_transport, ElementsAre("ib", "gdr"));
  EXPECT_EQ(command.format, Format::json);
  EXPECT_EQ(command.output, "/o");
  EXPECT_TRUE(command.each_iteration);
  EXPECT_EQ(command.join_deadline.value, 5);
  EXPECT_EQ(command.operation_deadline.value, 60);
  EXPECT_TRUE(command.verbose);
  EXPECT_TRUE(command_of({"-q"}).quiet);
}

TEST(BenchParseTest, HelpAndVersionAreText) {
  EXPECT_THAT(std::get<std::string>(*parsed({"--help"})), HasSubstr("Exit status: 0 healthy"));
  EXPECT_THAT(std::get<std::string>(*parsed({"--version"})), StartsWith("muster-bench "));
}

struct Bad {
  const char* words;
  const char* message;
};

class BadUsage : public ::testing::TestWithParam<Bad> {};

TEST_P(BadUsage, IsNamed) {
  const auto invocation = parsed(words_of(GetParam().words));
  ASSERT_FALSE(invocation.has_value());
  EXPECT_EQ(invocation.error().message,
            fmt::format("{} (see muster-bench --help)", GetParam().message));
}

constexpr const char* kOneCollective =
    "expects one collective of all_reduce, all_gather, reduce_scatter, broadcast, reduce, "
    "alltoall, alltoallv, hypercube, sendrecv, gather, scatter, pingpong, uniband, biband, "
    "barrier, "
    "as muster-bench all_reduce";
constexpr const char* kOneProcess =
    "--backend sim runs as one process: it excludes --local, --launch, --rank, --world, "
    "--rendezvous and --secret-file; --sim nodes=N,gpus=N sets its ranks";

INSTANTIATE_TEST_SUITE_P(
    Each, BadUsage,
    ::testing::Values(
        Bad{"", kOneCollective}, Bad{"all_reduce broadcast", kOneCollective},
        Bad{"all_reducee", "unknown collective \"all_reducee\"; did you mean all_reduce?"},
        Bad{"xyzzy",
            "unknown collective \"xyzzy\"; there are all_reduce, all_gather, "
            "reduce_scatter, broadcast, reduce, alltoall, alltoallv, hypercube, sendrecv, gather, "
            "scatter, pingpong, "
            "uniband, biband, barrier, and the commands node, locate, train_step"},
        Bad{"locat", "unknown collective \"locat\"; did you mean locate?"},
        Bad{"locat --topology x", "unknown collective \"locat\"; did you mean locate?"},
        Bad{"train-step --model 7b", "unknown collective \"train-step\"; did you mean train_step?"},
        Bad{"all_reduce -Z", "unknown option -Z"},
        Bad{"all_reduce -V", "unknown option -V; did you mean -v?"},
        Bad{"all_reduce_perf -J out.json",
            "-J out.json (of nccl-tests): unsupported; use --format json --output FILE"},
        Bad{"all_reduce --min 0", "--min: expects a size from 1 B to 1024 TiB, got \"0\""},
        Bad{"all_reduce --max 2000TiB",
            "--max: expects a size from 1 B to 1024 TiB, got \"2000TiB\""},
        Bad{"all_reduce --sizes 8,x",
            "--sizes: expected a number with a unit (B, KiB, MiB, GiB, TiB), got \"x\""},
        Bad{"all_reduce --factor 1",
            "--factor: expects a whole number from 2 to 2147483647, got \"1\""},
        Bad{"all_reduce --type flaot",
            "--type: expects f32|f64|f16|bf16|f8e4m3|f8e5m2|i8|i32|i64|u8|u32|u64, or nccl-tests' "
            "float, double, half, bfloat16, int8, int32, int64, uint8, uint32 or uint64, got "
            "\"flaot\"; did you mean float?"},
        Bad{"all_reduce --op mul", "--op: expects sum|prod|min|max|avg, got \"mul\""},
        Bad{"all_reduce --root -1",
            "--root: expects a whole number from 0 to 2147483647, got \"-1\""},
        Bad{"all_reduce --placement x", "--placement: expects both|out|in, got \"x\""},
        Bad{"all_reduce --warm-up -1",
            "--warm-up: expects a whole number from 0 to 2147483647, got \"-1\""},
        Bad{"all_reduce --iterations 0",
            "--iterations: expects a whole number from 1 to 2147483647, got \"0\""},
        Bad{"all_reduce --precision 0%",
            "--precision: expects a share above 0% and up to 50%, got \"0%\""},
        Bad{"all_reduce --precision 51%",
            "--precision: expects a share above 0% and up to 50%, got \"51%\""},
        Bad{"all_reduce --backend cuda", "--backend: expects auto|nccl|mpi|tcp|sim, got \"cuda\""},
        Bad{"all_reduce --local 0", "--local: expects a whole number from 1 to 1024, got \"0\""},
        Bad{"all_reduce --rank 0", "--rank and --world go together"},
        Bad{"all_reduce --world 2", "--rank and --world go together"},
        Bad{"all_reduce --rank 0 --world 2 --local 2", "--local and --rank exclude each other"},
        Bad{"all_reduce --rank 0 --world 2 --launch alone",
            "--rank and --launch exclude each other"},
        Bad{"all_reduce --rank 2 --world 2 --rendezvous a:1",
            "--rank 2: expected 0 to 1, because --world is 2"},
        Bad{"all_reduce --rank 0 --world 2",
            "--rank and --world require --rendezvous, the address of rank 0"},
        Bad{"all_reduce --each-iteration", "--each-iteration requires --format json"},
        Bad{"all_reduce --rendezvous here",
            "--rendezvous: invalid HOST:PORT \"here\": expected one such as node1:6105 or "
            "[fd00::1]:6105"},
        Bad{"all_reduce --set x",
            "--set: expects KEY=VALUE as bench.node_all_reduce.fail_below='220 GB/s', got \"x\""},
        Bad{"all_reduce --min-busbw 0GB/s",
            "--min-busbw: expects a rate above zero, got \"0GB/s\""},
        Bad{"all_reduce --at 8GiB", "--at requires --min-busbw"},
        Bad{"all_reduce --min-busbw 1GB/s --at 8GiB --max 4GiB",
            "--at: 8 GiB is not among the sizes that are run"},
        Bad{"all_reduce --min-busbw 1GB/s --at 8KiB --min 4MiB",
            "--at: 8 KiB is not among the sizes that are run"},
        Bad{"all_reduce --min-busbw 1GB/s --at 8GiB --sizes 4GiB",
            "--at: 8 GiB is not among the sizes that are run"},
        Bad{"all_reduce --require-transport tcp",
            "--require-transport: unknown transport \"tcp\": expected ib, gdr, p2p, nvlink, mnnvl, "
            "nvls or sharp"},
        Bad{"all_reduce --format xml",
            "--format: expects text|json|prometheus|junit|npd|nhc|html, got \"xml\""},
        Bad{"all_reduce --join-deadline 0",
            "--join-deadline: \"0\" has no unit; write one of us, ms, s, min, h, d"},
        Bad{"all_reduce -v -q", "-v and -q exclude each other"},
        Bad{"all_reduce --sizes 8GiB,8,8192MiB", "--sizes: 8 GiB is listed twice"},
        Bad{"all_reduce --sizes 8 --max 16", "--sizes and --min or --max exclude each other"},
        Bad{"all_reduce --min 16 --max 8", "--min of 16 B is larger than --max of 8 B"},
        Bad{"barrier --max 8MiB", "barrier moves no data: it has no sizes and no bandwidth"},
        Bad{"barrier --min-busbw 1GB/s", "barrier moves no data: it has no sizes and no bandwidth"},
        Bad{"all_reduce --sim nodes=2", "--sim requires --backend sim"},
        Bad{"all_reduce --graph --backend tcp", "--graph requires --backend nccl"},
        Bad{"all_reduce_perf -b 8 -g x",
            "-g x (of nccl-tests): expects a whole number from 1 to 1024"},
        Bad{"all_reduce_perf -R 2", "-R 2 (of nccl-tests): unsupported"},
        Bad{"all_reduce --registered --backend mpi", "--registered requires --backend nccl"},
        Bad{"all_reduce --diagnose --backend tcp", "--diagnose requires --backend nccl"},
        Bad{"all_reduce --diagnose --split 2", "--split and --diagnose exclude each other"},
        Bad{"all_reduce --cycles 2 --split 2",
            "--split runs all sizes once: it excludes --cycles and --soak"},
        Bad{"all_reduce --together 4 --backend tcp", "--together requires --backend nccl"},
        Bad{"all_reduce --sizes 8 --step 8", "--sizes and --step exclude each other"},
        Bad{"all_reduce --max 1GiB --step 8",
            "--step 8 B: more than 10000 sizes; give a smaller --max or a larger --step"},
        Bad{"all_reduce --sizes 8 --factor 2", "--sizes and --factor exclude each other"},
        Bad{"all_reduce --step 8 --factor 2", "--step and --factor exclude each other"},
        Bad{"all_reduce --iterations 99999999999",
            "--iterations: expects a whole number from 1 to 2147483647, got \"99999999999\""},
        Bad{"all_reduce --local 1025",
            "--local: expects a whole number from 1 to 1024, got \"1025\""},
        Bad{"all_reduce --backend sim --local 2", kOneProcess},
        Bad{"all_reduce --backend sim --launch slurm", kOneProcess},
        Bad{"all_reduce --backend sim --secret-file x", kOneProcess},
        Bad{"all_reduce --backend sim --cpu-time",
            "--cpu-time: --backend sim uses no CPU time of ranks"},
        Bad{"all_reduce_perf -e 8X",
            "--max: unknown unit \"X\" in \"8X\"; write one of B, KiB, MiB, GiB, TiB"},
        Bad{"all_reduce_perf -b", "-b needs a value"},
        Bad{"all_reduce --type f32,f23",
            "--type: expects f32|f64|f16|bf16|f8e4m3|f8e5m2|i8|i32|i64|u8|u32|u64, or nccl-tests' "
            "float, double, half, bfloat16, int8, int32, int64, uint8, uint32 or uint64, got "
            "\"f23\"; did you mean f32?"},
        Bad{"all_reduce --type f32,float", "--type: float is listed twice"},
        Bad{"all_reduce --op sum,all", "--op: \"all\" excludes other words, got \"sum,all\""},
        Bad{"all_reduce --type all --split 2",
            "--split and several types or operations exclude each other"},
        Bad{"all_reduce --mim 8", "unknown option --mim; did you mean --min?"}));

std::vector<std::uint64_t> sizes(std::vector<std::string> words) {
  return sizes_of(command_of(std::move(words)), 8, 64);
}

TEST(BenchCommandTest, SimMayBeRepeated) {
  EXPECT_EQ(command_of({"--backend=sim", "--sim=nodes=8", "--sim=fault=slow_node:1:0.5"}).sim,
            "nodes=8,fault=slow_node:1:0.5");
}

// Without --max, the default maximum is not known when the command line is parsed.
TEST(BenchSizesTest, AreLimitedWithStep) {
  const auto command = command_of({"--step=8"});
  const auto all = sizes_of(command, 8, 8ULL << 30U);
  EXPECT_THAT(all, SizeIs(10'001));
  EXPECT_FALSE(check_steps(command, all));
  EXPECT_TRUE(check_steps(command, sizes_of(command, 8, 80'000)));
  const auto narrow = command_of({"--step=8", "--min=1GiB", "--max=1073821816"});
  EXPECT_THAT(sizes_of(narrow, 8, 8), SizeIs(10'000));
}

TEST(BenchSizesTest, GoFromMinToMaxByTheFactor) {
  EXPECT_THAT(sizes({}), ElementsAre(8U, 16U, 32U, 64U));
  EXPECT_THAT(sizes({"--min=16"}), ElementsAre(16U, 32U, 64U));
  EXPECT_THAT(sizes({"--max=20"}), ElementsAre(8U, 16U));
  EXPECT_THAT(sizes({"--factor=8"}), ElementsAre(8U, 64U));
  // A minimum above the default maximum, or a maximum below the default minimum, is the only size.
  EXPECT_THAT(sizes({"--min=100"}), ElementsAre(100U));
  EXPECT_THAT(sizes({"--max=4"}), ElementsAre(4U));
  EXPECT_THAT(sizes({"--sizes=64,8"}), ElementsAre(64U, 8U));
}

TEST(BenchSizesTest, DoNotOverflow) {
  EXPECT_THAT(sizes({"--min=512TiB", "--max=1024TiB", "--factor=1000000000"}),
              ElementsAre(512ULL << 40U));
}

TEST(BenchSizesTest, IncludeTheJudgedSize) {
  EXPECT_THAT(sizes({"--min-busbw=1GB/s", "--at=24"}), ElementsAre(8U, 16U, 24U, 32U, 64U));
  EXPECT_THAT(sizes({"--min-busbw=1GB/s", "--at=32"}), ElementsAre(8U, 16U, 32U, 64U));
  EXPECT_THAT(sizes({"--min-busbw=1GB/s", "--at=4KiB"}), ElementsAre(8U, 16U, 32U, 64U, 4096U));
}

TEST(BenchCommonWordsTest, OmitOptionsThatDifferBetweenProcesses) {
  const std::array words{"all_reduce",
                         "--rank",
                         "1",
                         "--world=2",
                         "--rendezvous=a:1",
                         "--secret-file",
                         "/tmp/secret",
                         "--type",
                         "f64",
                         "--output=/o",
                         "-v",
                         "--quiet",
                         "--cuda",
                         "/c",
                         "--nccl=/n"};
  EXPECT_EQ(common_words(words), "all_reduce --world=2 --type f64");
  const std::array cut{"all_reduce", "--rank"};
  EXPECT_EQ(common_words(cut), "all_reduce");
}

}  // namespace
}  // namespace muster::bench
