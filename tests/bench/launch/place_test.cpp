// SPDX-License-Identifier: Apache-2.0
// The environments of launchers.
#include "bench/launch/place.hpp"

#include <fmt/format.h>

#include "bench/launch/environment.hpp"
#include "lib/base/text.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

// "RANK=1 WORLD_SIZE=2": values have no spaces.
Variables vars(std::string_view text) {
  Variables variables;
  for (const auto word : split_words(text)) {
    const auto end = word.find('=');
    variables.emplace(word.substr(0, end), word.substr(end + 1));
  }
  return variables;
}

Variables operator+(Variables left, const Variables& right) {
  for (const auto& [name, value] : right) left[name] = value;
  return left;
}

Variables operator+(Variables left, std::string_view right) {
  return std::move(left) + vars(right);
}

const auto kTorchrun = vars(
    "RANK=5 WORLD_SIZE=16 LOCAL_RANK=5 LOCAL_WORLD_SIZE=8 GROUP_RANK=0 MASTER_ADDR=node1 "
    "MASTER_PORT=29400 TORCHELASTIC_USE_AGENT_STORE=True");
const auto kOpenMpi = vars(
    "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 "
    "OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_NODE_RANK=1 PMIX_RANK=1 "
    "PMIX_NAMESPACE=3472752641");
const auto kAzureMpi = vars(
    "OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_SIZE=16 OMPI_COMM_WORLD_LOCAL_RANK=1 "
    "OMPI_COMM_WORLD_LOCAL_SIZE=8");
const auto kHydra = vars("PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2");
const auto kSlurm = vars(
    "SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_NNODES=2 SLURM_JOB_ID=77 "
    "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_TASKS_PER_NODE=3,1 "
    "SLURM_STEP_NODELIST=gpu-[0007-0008] SLURM_LAUNCH_NODE_IPADDR=10.9.9.9");
const auto kAllocation =
    vars("SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_JOB_ID=77 SLURM_NODELIST=gpu-[0007-0008]");
const auto kTensorFlow = vars(
    R"(TF_CONFIG={"cluster":{"chief":["10.0.0.4:2222"],"worker":["10.0.0.5:2222","10.0.0.6:2222"]},)"
    R"("task":{"type":"worker","index":1}})");

// "torchrun: 5 of 16, local 5 of 8, at node1:29497, MPI", or an error.
std::string placed(const Variables& variables, const LaunchFlags& flags = {}) {
  const auto place = find_place(variables, flags);
  if (!place) return place.error().message;
  EXPECT_FALSE(place->evidence.empty());
  auto text = fmt::format("{}: {} of {}", to_string(place->launcher), place->rank, place->world);
  if (place->local_rank) text += fmt::format(", local {}", *place->local_rank);
  if (place->local_world) text += fmt::format(" of {}", *place->local_world);
  if (place->rendezvous) text += fmt::format(", at {}", to_text(*place->rendezvous));
  return place->mpi ? text + ", MPI" : text;
}

TEST(PlaceTest, FollowsTorchrun) {
  EXPECT_EQ(placed(kTorchrun), "torchrun: 5 of 16, local 5 of 8, at node1:29497");
  EXPECT_EQ(placed(kTorchrun + "TORCHELASTIC_USE_AGENT_STORE=False"),
            "torchrun: 5 of 16, local 5 of 8, at node1:29400");
  // Azure ML's PyTorch job, with a process per GPU.
  EXPECT_EQ(placed(vars("RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 NODE_RANK=1 MASTER_ADDR=10.0.0.4 "
                        "MASTER_PORT=6105")),
            "torchrun: 9 of 16, local 1, at 10.0.0.4:6105");
  EXPECT_EQ(placed(vars("RANK=1 WORLD_SIZE=2 MASTER_ADDR=job-master-0 MASTER_PORT=23456")),
            "torchrun: 1 of 2, at job-master-0:23456");
  EXPECT_EQ(placed(vars("RANK=1 WORLD_SIZE=2 MASTER_ADDR=node1")),
            "torchrun: 1 of 2, at node1:29500");
  // srun starts it once for each node.
  EXPECT_EQ(placed(kTorchrun + kSlurm), "torchrun: 5 of 16, local 5 of 8, at node1:29497");
  EXPECT_EQ(placed(kOpenMpi + "RANK=1 WORLD_SIZE=2 MASTER_ADDR=node1"),
            "torchrun: 1 of 2, local 1 of 2, at node1:29500, MPI");
}

TEST(PlaceTest, FollowsMpi) {
  const auto on_this_node = fmt::format("open_mpi: 1 of 2, local 1 of 2, at 127.0.0.1:{}, MPI",
                                        port_of_job("3472752641"));
  EXPECT_EQ(placed(kOpenMpi), on_this_node);
  EXPECT_EQ(placed(kOpenMpi + kAllocation), on_this_node);
  EXPECT_EQ(placed(kAzureMpi), "open_mpi: 9 of 16, local 1 of 8, MPI");
  EXPECT_EQ(placed(kAzureMpi + "AZ_BATCH_MASTER_NODE=10.0.0.4:6000"),
            "open_mpi: 9 of 16, local 1 of 8, at 10.0.0.4:6105, MPI");
  EXPECT_EQ(placed(kOpenMpi + "AZ_BATCHAI_MPI_MASTER_NODE=10.0.0.5 MASTER_PORT=6200"),
            "open_mpi: 1 of 2, local 1 of 2, at 10.0.0.5:6200, MPI");
  EXPECT_EQ(placed(kHydra), "hydra: 3 of 4, local 1 of 2, MPI");
  EXPECT_EQ(placed(kHydra + kAllocation), "hydra: 3 of 4, local 1 of 2, MPI");
  EXPECT_EQ(placed(kSlurm + "PMIX_RANK=3"),
            fmt::format("pmix: 3 of 4, local 0 of 1, at gpu-0007:{}, MPI", port_of_job("77.0")));
}

TEST(PlaceTest, FollowsSrun) {
  const auto by_srun =
      fmt::format("slurm: 3 of 4, local 0 of 1, at gpu-0007:{}", port_of_job("77.0"));
  EXPECT_EQ(placed(kSlurm), by_srun);
  EXPECT_EQ(placed(kSlurm + "PMI_RANK=3 PMI_SIZE=4"), by_srun);
  EXPECT_EQ(placed(kSlurm + "MASTER_ADDR=gpu-0009 MASTER_PORT=7000"),
            "slurm: 3 of 4, local 0 of 1, at gpu-0009:7000");
  EXPECT_EQ(placed(vars("SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_STEP_NUM_TASKS=1")), "slurm: 0 of 1");
}

TEST(PlaceTest, FollowsTensorFlow) {
  EXPECT_EQ(placed(kTensorFlow), "tf_config: 2 of 3, at 10.0.0.4:2319");
}

TEST(PlaceTest, IsASingleProcessWithoutALauncher) {
  for (const auto& variables :
       {Variables{}, kAllocation + "SLURM_NTASKS=16", vars("RANK=0 WORLD_SIZE=1"),
        vars("RANK= WORLD_SIZE= OMPI_COMM_WORLD_RANK= TF_CONFIG="),
        vars(R"(TF_CONFIG={"task":{"type":"worker","index":0}})")}) {
    EXPECT_EQ(placed(variables), "alone: 0 of 1, local 0 of 1");
  }
}

TEST(PlaceTest, IgnoresAMalformedLauncherOfLowerPriority) {
  EXPECT_EQ(placed(kHydra + "SLURM_PROCID=x SLURM_NTASKS=4"), "hydra: 3 of 4, local 1 of 2, MPI");
}

TEST(PlaceTest, GivesFlagsPriority) {
  const Rendezvous where{.host = "n", .port = 7};
  EXPECT_EQ(placed(kTorchrun + kOpenMpi, {.rank = 1, .world = 3, .rendezvous = where}),
            "flags: 1 of 3, at n:7");
  EXPECT_EQ(placed(kSlurm, {.rendezvous = where}), "slurm: 3 of 4, local 0 of 1, at n:7");
  EXPECT_EQ(placed(vars("RANK=1 WORLD_SIZE=2"), {.rendezvous = where}), "torchrun: 1 of 2, at n:7");
  const auto everything = kTorchrun + kOpenMpi + kHydra + kSlurm + kTensorFlow;
  for (const auto launcher : {Launcher::torchrun, Launcher::open_mpi, Launcher::hydra,
                              Launcher::slurm, Launcher::tf_config, Launcher::alone}) {
    EXPECT_THAT(placed(everything, {.launcher = launcher}),
                ::testing::StartsWith(fmt::format("{}: ", to_string(launcher))));
  }
}

std::vector<std::string> evidence(const Variables& variables, const LaunchFlags& flags = {}) {
  const auto place = find_place(variables, flags);
  return place ? place->evidence : std::vector{place.error().message};
}

TEST(EvidenceTest, ExplainsMpirunInsideAnAllocation) {
  EXPECT_THAT(evidence(kAzureMpi + kAllocation),
              ElementsAre("started by Open MPI's mpirun: OMPI_COMM_WORLD_RANK=9 of "
                          "OMPI_COMM_WORLD_SIZE=16",
                          "SLURM_PROCID=0 of SLURM_NTASKS=1 is ignored: mpirun inside an "
                          "allocation"));
}

TEST(EvidenceTest, ExplainsAShiftedPort) {
  EXPECT_THAT(evidence(kTorchrun),
              ElementsAre("started as by torchrun: RANK=5 of WORLD_SIZE=16",
                          "rank 0 listens on node1 port 29497: MASTER_ADDR and MASTER_PORT 29400 "
                          "moved by 97, as torchrun's own store has that port"));
}

TEST(EvidenceTest, ExplainsABatchScript) {
  EXPECT_THAT(evidence(kAllocation + "SLURM_NTASKS=16"),
              ElementsAre("a single process: no launcher was detected",
                          "SLURM_PROCID=0 of SLURM_NTASKS=16 is ignored: this is the batch script, "
                          "not a step; start with srun"));
}

TEST(EvidenceTest, ExplainsWhatIsIgnoredOrMissing) {
  EXPECT_THAT(evidence(kSlurm), Contains(HasSubstr("MPI_Init is not called")));
  EXPECT_THAT(evidence(vars("WORLD_SIZE=8")),
              Contains("WORLD_SIZE=8 is ignored: RANK and MASTER_ADDR are not set"));
  EXPECT_THAT(evidence(vars("RANK=1 WORLD_SIZE=2 MASTER_ADDR=m")),
              Contains("LOCAL_RANK is not set: this may be the only process of a pod or node"));
  EXPECT_THAT(evidence(kTorchrun + "NODE_RANK=3"),
              Contains("the job's own number of this node: NODE_RANK=3"));
  EXPECT_THAT(evidence(kTorchrun, {.rank = 0, .world = 1}),
              Contains("RANK=5 of WORLD_SIZE=16 is ignored: --rank and --world come first"));
  EXPECT_THAT(evidence(kTorchrun + kSlurm, {.launcher = Launcher::slurm}),
              Contains("RANK=5 of WORLD_SIZE=16 is ignored: --launch names slurm"));
  EXPECT_THAT(evidence(kSlurm, {.rendezvous = Rendezvous{.host = "n", .port = 7}}),
              Contains("rank 0 listens on n port 7: --rendezvous"));
}

TEST(EvidenceTest, OmitsALauncherThatAgrees) {
  EXPECT_THAT(evidence(kOpenMpi), Not(Contains(HasSubstr("is ignored"))));
  EXPECT_THAT(evidence(kSlurm + "PMIX_RANK=3"), Not(Contains(HasSubstr("is ignored"))));
}

TEST(LauncherTest, RoundTripsItsName) {
  for (const auto launcher :
       {Launcher::torchrun, Launcher::open_mpi, Launcher::hydra, Launcher::pmix, Launcher::slurm,
        Launcher::tf_config, Launcher::alone}) {
    EXPECT_EQ(parse_launcher(to_string(launcher)).value(), launcher);
  }
  EXPECT_EQ(parse_launcher("mpirun").error().message,
            "unknown launcher \"mpirun\": expected torchrun, open_mpi, hydra, pmix, slurm, "
            "tf_config, alone");
}

struct Contradiction {
  std::string variables;
  std::vector<std::string> wanted;  // parts of the message
  LaunchFlags flags = {};
};

void expect_refused(const std::vector<Contradiction>& contradictions) {
  for (const auto& [variables, wanted, flags] : contradictions) {
    const auto place = find_place(vars(variables), flags);
    ASSERT_FALSE(place) << variables;
    for (const auto& part : wanted) EXPECT_THAT(place.error().message, HasSubstr(part));
  }
}

TEST(ContradictionTest, NamesTheVariablesOfContradictingNumbers) {
  expect_refused({
      {"OMPI_COMM_WORLD_RANK=one OMPI_COMM_WORLD_SIZE=2",
       {"OMPI_COMM_WORLD_RANK=one: expected a whole number", std::string(kLaunchRemedy)}},
      {"PMI_RANK=-1 PMI_SIZE=2", {"PMI_RANK=-1: expected a whole number"}},
      {"PMI_RANK=1x PMI_SIZE=2", {"PMI_RANK=1x: expected"}},
      {"PMI_RANK=1 PMI_SIZE=99999999999999999999", {"PMI_SIZE=99999999999999999999: expected"}},
      {"PMI_RANK=0 PMI_SIZE=0", {"PMI_SIZE=0: expected at least one rank"}},
      {"RANK=2 WORLD_SIZE=2 MASTER_ADDR=m",
       {"RANK=2 contradicts WORLD_SIZE=2", "ranks are counted from 0"}},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=m LOCAL_RANK=2 LOCAL_WORLD_SIZE=2",
       {"LOCAL_RANK=2 contradicts LOCAL_WORLD_SIZE=2"}},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=m LOCAL_RANK=1 LOCAL_WORLD_SIZE=8",
       {"LOCAL_WORLD_SIZE=8 is more than WORLD_SIZE=2"}},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=m MASTER_PORT=70000",
       {"MASTER_PORT=70000: expected a port from 1 to 65535"}},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_TASKS_PER_NODE=3",
       {"SLURM_STEP_TASKS_PER_NODE=3 has 3 tasks", "SLURM_NTASKS=4"}},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_TASKS_PER_NODE=3x",
       {"SLURM_STEP_TASKS_PER_NODE: invalid count of tasks \"3x\""}},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=2(x2)",
       {"SLURM_NODEID=2 contradicts SLURM_STEP_TASKS_PER_NODE=2(x2), which has 2 nodes"}},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_NODELIST=n[1-2",
       {"SLURM_STEP_NODELIST=n[1-2: column 2: unmatched opening bracket"}},
  });
}

TEST(ContradictionTest, NamesTheRemedyForContradictingLaunchers) {
  expect_refused({
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=m OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8",
       {"RANK=1 of WORLD_SIZE=2 and OMPI_COMM_WORLD_RANK=7 of OMPI_COMM_WORLD_SIZE=8",
        "unset RANK and WORLD_SIZE", "--launch open_mpi"}},
      {"RANK=0 WORLD_SIZE=1 MASTER_ADDR=m SLURM_PROCID=3 SLURM_NTASKS=4",
       {"SLURM_PROCID=3 of SLURM_NTASKS=4 contradict each other", "--launch slurm"}},
      {"RANK=3 WORLD_SIZE=8",
       {"RANK=3 of WORLD_SIZE=8 is set, and MASTER_ADDR is not", "--rendezvous"}},
      {"PMIX_RANK=3", {"PMIX_RANK=3 is set, but the number of ranks is unknown", "--world"}},
      {"PMIX_RANK=3 SLURM_PROCID=1 SLURM_NTASKS=4", {"PMIX_RANK=3 contradicts SLURM_PROCID=1"}},
  });
}

TEST(ContradictionTest, NamesTheFaultOfTfConfig) {
  expect_refused({
      {"TF_CONFIG={", {"TF_CONFIG: ", std::string(kLaunchRemedy)}},
      {R"(TF_CONFIG={"cluster":{"worker":["a:1"]}})", {"TF_CONFIG: the task is of no type"}},
      {R"(TF_CONFIG={"cluster":{"worker":"a:1"},"task":{"type":"worker","index":0}})",
       {"TF_CONFIG: /cluster/worker: expected"}},
      {R"(TF_CONFIG={"cluster":{"worker":["a"]},"task":{"type":"worker","index":0}})",
       {"TF_CONFIG: invalid HOST:PORT \"a\""}},
      {R"(TF_CONFIG={"cluster":{"worker":["a:1"],"ps":["b:1"]},"task":{"type":"ps","index":0}})",
       {"TF_CONFIG: the task is ps 0, expected a chief or worker"}},
      {R"(TF_CONFIG={"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":1}})",
       {"TF_CONFIG: the task is worker 1"}},
  });
}

TEST(ContradictionTest, NamesContradictingFlags) {
  expect_refused({
      {"SLURM_PROCID=1 SLURM_NTASKS=4",
       {"--launch open_mpi needs OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE"},
       {.launcher = Launcher::open_mpi}},
      {"OMPI_COMM_WORLD_RANK=1",
       {"--launch open_mpi needs OMPI_COMM_WORLD_SIZE in the environment"},
       {.launcher = Launcher::open_mpi}},
      {"",
       {"--launch torchrun needs RANK, WORLD_SIZE, MASTER_ADDR"},
       {.launcher = Launcher::torchrun}},
      {"", {"--launch pmix needs PMIX_RANK"}, {.launcher = Launcher::pmix}},
      {"", {"--launch tf_config needs TF_CONFIG"}, {.launcher = Launcher::tf_config}},
  });
}

TEST(JobPortTest, IsBelowTheEphemeralPorts) {
  for (const std::string_view job : {"", "1.0", "1.1", "4294967295.65535"}) {
    EXPECT_GE(port_of_job(job), 10000);
    EXPECT_LT(port_of_job(job), 30000);
  }
  EXPECT_NE(port_of_job("1.0"), port_of_job("1.1"));
  EXPECT_EQ(shifted_port(29500), 29597);
  EXPECT_EQ(shifted_port(65500), 65403);
}

TEST(TasksPerNodeTest, AreExpandedUnlessMalformed) {
  EXPECT_THAT(parse_tasks_per_node("4").value(), ElementsAre(4));
  EXPECT_THAT(parse_tasks_per_node("2(x2),3,1").value(), ElementsAre(2, 2, 3, 1));
  for (const auto* text : {"", "x", "2(x)", "2(4)", "2(x4", "2(x4)3", "2,,3", "-1",
                           "2(x99999999999)", "1(x65536),1"}) {
    EXPECT_FALSE(parse_tasks_per_node(text)) << text;
  }
}

}  // namespace
}  // namespace muster::bench
