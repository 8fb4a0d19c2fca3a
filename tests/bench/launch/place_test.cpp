// SPDX-License-Identifier: Apache-2.0
// The environments of launchers.
#include "bench/launch/place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/launch/environment.hpp"

namespace muster::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Variables kTorchrun{{"RANK", "5"},
                          {"WORLD_SIZE", "16"},
                          {"LOCAL_RANK", "5"},
                          {"LOCAL_WORLD_SIZE", "8"},
                          {"GROUP_RANK", "0"},
                          {"MASTER_ADDR", "node1"},
                          {"MASTER_PORT", "29400"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"PMIX_RANK", "1"},
                         {"PMIX_NAMESPACE", "3472752641"}};
const Variables kAzureMpi{{"OMPI_COMM_WORLD_RANK", "9"},
                          {"OMPI_COMM_WORLD_SIZE", "16"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}};
const Variables kHydra{
    {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const Variables kSlurm{{"SLURM_PROCID", "3"},
                       {"SLURM_NTASKS", "4"},
                       {"SLURM_LOCALID", "0"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_NNODES", "2"},
                       {"SLURM_JOB_ID", "77"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_STEP_NUM_TASKS", "4"},
                       {"SLURM_STEP_TASKS_PER_NODE", "3,1"},
                       {"SLURM_STEP_NODELIST", "gpu-[0007-0008]"},
                       {"SLURM_LAUNCH_NODE_IPADDR", "10.9.9.9"}};
const Variables kAllocation{{"SLURM_PROCID", "0"},
                            {"SLURM_NTASKS", "1"},
                            {"SLURM_JOB_ID", "77"},
                            {"SLURM_NODELIST", "gpu-[0007-0008]"}};
const Variables kTensorFlow{
    {"TF_CONFIG",
     R"({"cluster": {"chief": ["10.0.0.4:2222"], "worker": ["10.0.0.5:2222", "10.0.0.6:2222"]},
         "task": {"type": "worker", "index": 1}})"}};

Variables operator+(Variables left, const Variables& right) {
  for (const auto& [name, value] : right) left[name] = value;
  return left;
}

struct Placed {
  std::string name;
  Variables variables;
  Launcher launcher = Launcher::alone;
  int rank = 0;
  int world = 1;
  std::optional<int> local_rank;
  std::optional<int> local_world;
  std::optional<Rendezvous> rendezvous;
  bool mpi = false;
};

std::ostream& operator<<(std::ostream& out, const Placed& each) { return out << each.name; }

class PlaceTest : public ::testing::TestWithParam<Placed> {};

TEST_P(PlaceTest, FollowsFromTheVariables) {
  const auto& wanted = GetParam();
  const auto place = find_place(wanted.variables, {});
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(to_string(place->launcher), to_string(wanted.launcher));
  EXPECT_EQ(place->rank, wanted.rank);
  EXPECT_EQ(place->world, wanted.world);
  EXPECT_EQ(place->local_rank, wanted.local_rank);
  EXPECT_EQ(place->local_world, wanted.local_world);
  EXPECT_EQ(place->rendezvous, wanted.rendezvous);
  EXPECT_EQ(place->mpi, wanted.mpi);
  EXPECT_FALSE(place->evidence.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Torchrun, PlaceTest,
    ::testing::Values(
        Placed{"agent_store", kTorchrun, Launcher::torchrun, 5, 16, 5, 8,
               Rendezvous{"node1", 29497}},
        Placed{"own_store", kTorchrun + Variables{{"TORCHELASTIC_USE_AGENT_STORE", "False"}},
               Launcher::torchrun, 5, 16, 5, 8, Rendezvous{"node1", 29400}},
        Placed{"azure_pytorch_job_per_gpu",
               {{"RANK", "9"},
                {"WORLD_SIZE", "16"},
                {"LOCAL_RANK", "1"},
                {"NODE_RANK", "1"},
                {"MASTER_ADDR", "10.0.0.4"},
                {"MASTER_PORT", "6105"}},
               Launcher::torchrun,
               9,
               16,
               1,
               std::nullopt,
               Rendezvous{"10.0.0.4", 6105}},
        Placed{"kubernetes_pod",
               {{"RANK", "1"},
                {"WORLD_SIZE", "2"},
                {"MASTER_ADDR", "job-master-0"},
                {"MASTER_PORT", "23456"}},
               Launcher::torchrun,
               1,
               2,
               std::nullopt,
               std::nullopt,
               Rendezvous{"job-master-0", 23456}},
        Placed{"without_a_port",
               {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node1"}},
               Launcher::torchrun,
               1,
               2,
               std::nullopt,
               std::nullopt,
               Rendezvous{"node1", 29500}},
        Placed{"started_by_srun_once_for_each_node", kTorchrun + kSlurm, Launcher::torchrun, 5, 16,
               5, 8, Rendezvous{"node1", 29497}},
        Placed{"set_from_mpirun",
               kOpenMpi + Variables{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node1"}},
               Launcher::torchrun, 1, 2, 1, 2, Rendezvous{"node1", 29500}, true}));

INSTANTIATE_TEST_SUITE_P(
    Mpi, PlaceTest,
    ::testing::Values(Placed{"open_mpi_on_one_node", kOpenMpi, Launcher::open_mpi, 1, 2, 1, 2,
                             Rendezvous{"127.0.0.1", port_of_job("3472752641")}, true},
                      Placed{"open_mpi_inside_an_allocation", kOpenMpi + kAllocation,
                             Launcher::open_mpi, 1, 2, 1, 2,
                             Rendezvous{"127.0.0.1", port_of_job("3472752641")}, true},
                      Placed{"open_mpi_on_two_nodes", kAzureMpi, Launcher::open_mpi, 9, 16, 1, 8,
                             std::nullopt, true},
                      Placed{"azure_on_two_nodes",
                             kAzureMpi + Variables{{"AZ_BATCH_MASTER_NODE", "10.0.0.4:6000"}},
                             Launcher::open_mpi, 9, 16, 1, 8, Rendezvous{"10.0.0.4", 6105}, true},
                      Placed{"azure_on_one_node",
                             kOpenMpi + Variables{{"AZ_BATCHAI_MPI_MASTER_NODE", "10.0.0.5"},
                                                  {"MASTER_PORT", "6200"}},
                             Launcher::open_mpi, 1, 2, 1, 2, Rendezvous{"10.0.0.5", 6200}, true},
                      Placed{"hydra", kHydra, Launcher::hydra, 3, 4, 1, 2, std::nullopt, true},
                      Placed{"hydra_inside_an_allocation", kHydra + kAllocation, Launcher::hydra, 3,
                             4, 1, 2, std::nullopt, true},
                      Placed{"srun_with_pmix", kSlurm + Variables{{"PMIX_RANK", "3"}},
                             Launcher::pmix, 3, 4, 0, 1,
                             Rendezvous{"gpu-0007", port_of_job("77.0")}, true}));

INSTANTIATE_TEST_SUITE_P(
    Slurm, PlaceTest,
    ::testing::Values(
        Placed{"srun", kSlurm, Launcher::slurm, 3, 4, 0, 1,
               Rendezvous{"gpu-0007", port_of_job("77.0")}},
        Placed{"srun_with_pmi2", kSlurm + Variables{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}},
               Launcher::slurm, 3, 4, 0, 1, Rendezvous{"gpu-0007", port_of_job("77.0")}},
        Placed{"srun_and_a_master",
               kSlurm + Variables{{"MASTER_ADDR", "gpu-0009"}, {"MASTER_PORT", "7000"}},
               Launcher::slurm, 3, 4, 0, 1, Rendezvous{"gpu-0009", 7000}},
        Placed{"a_step_smaller_than_its_allocation",
               {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {"SLURM_STEP_NUM_TASKS", "1"}},
               Launcher::slurm,
               0,
               1},
        Placed{"a_batch_script", kAllocation + Variables{{"SLURM_NTASKS", "16"}}, Launcher::alone,
               0, 1, 0, 1}));

INSTANTIATE_TEST_SUITE_P(
    Others, PlaceTest,
    ::testing::Values(
        Placed{"tensorflow", kTensorFlow, Launcher::tf_config, 2, 3, std::nullopt, std::nullopt,
               Rendezvous{"10.0.0.4", 2319}},
        Placed{"tensorflow_without_a_cluster",
               {{"TF_CONFIG", R"({"task": {"type": "worker", "index": 0}})"}},
               Launcher::alone,
               0,
               1,
               0,
               1},
        Placed{"nothing", {}, Launcher::alone, 0, 1, 0, 1},
        Placed{"empty_variables",
               {{"RANK", ""}, {"WORLD_SIZE", ""}, {"OMPI_COMM_WORLD_RANK", ""}, {"TF_CONFIG", ""}},
               Launcher::alone,
               0,
               1,
               0,
               1},
        Placed{"a_leftover_size_of_one",
               {{"RANK", "0"}, {"WORLD_SIZE", "1"}},
               Launcher::alone,
               0,
               1,
               0,
               1},
        Placed{"a_lower_one_that_is_malformed",
               kHydra + Variables{{"SLURM_PROCID", "x"}, {"SLURM_NTASKS", "4"}}, Launcher::hydra, 3,
               4, 1, 2, std::nullopt, true}));

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
  EXPECT_THAT(evidence(kAllocation + Variables{{"SLURM_NTASKS", "16"}}),
              ElementsAre("a single process: no launcher was detected",
                          "SLURM_PROCID=0 of SLURM_NTASKS=16 is ignored: this is the batch script, "
                          "not a step; start with srun"));
}

TEST(EvidenceTest, ExplainsWhySrunHasNoMpi) {
  EXPECT_THAT(evidence(kSlurm), Contains(HasSubstr("MPI_Init is not called")));
}

TEST(EvidenceTest, NamesMissingVariables) {
  EXPECT_THAT(evidence({{"WORLD_SIZE", "8"}}),
              Contains("WORLD_SIZE=8 is ignored: RANK and MASTER_ADDR are not set"));
}

TEST(EvidenceTest, OmitsALauncherThatAgrees) {
  EXPECT_THAT(evidence(kOpenMpi), ::testing::Not(Contains(HasSubstr("is ignored"))));
  EXPECT_THAT(evidence(kSlurm + Variables{{"PMIX_RANK", "3"}}),
              ::testing::Not(Contains(HasSubstr("is ignored"))));
}

TEST(EvidenceTest, WarnsOfAPodWithOneProcess) {
  EXPECT_THAT(evidence({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "m"}}),
              Contains("LOCAL_RANK is not set: this may be the only process of a pod or node"));
}

TEST(FlagsTest, HavePriority) {
  const auto place =
      find_place(kTorchrun + kOpenMpi,
                 {.rank = 1, .world = 3, .rendezvous = Rendezvous{.host = "n", .port = 7}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->launcher, Launcher::flags);
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->world, 3);
  EXPECT_EQ(place->rendezvous, (Rendezvous{"n", 7}));
  EXPECT_FALSE(place->mpi);
  EXPECT_THAT(place->evidence,
              Contains("RANK=5 of WORLD_SIZE=16 is ignored: --rank and --world come first"));
}

TEST(FlagsTest, RendezvousReplacesTheEnvironments) {
  const auto place = find_place(kSlurm, {.rendezvous = Rendezvous{.host = "n", .port = 7}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->rendezvous, (Rendezvous{"n", 7}));
  EXPECT_THAT(place->evidence, Contains("rank 0 listens on n port 7: --rendezvous"));
}

TEST(FlagsTest, RendezvousReplacesAMasterAddress) {
  const auto place = find_place({{"RANK", "1"}, {"WORLD_SIZE", "2"}},
                                {.rendezvous = Rendezvous{.host = "n", .port = 7}});
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->launcher, Launcher::torchrun);
  EXPECT_EQ(place->rendezvous, (Rendezvous{"n", 7}));
}

TEST(FlagsTest, PortOffsetCanBeSet) {
  const auto place = find_place(kTorchrun, {.port_offset = 3});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rendezvous, (Rendezvous{"node1", 29403}));
}

TEST(FlagsTest, LauncherHasPriority) {
  const auto everything = kTorchrun + kOpenMpi + kHydra + kSlurm + kTensorFlow;
  for (const auto launcher : {Launcher::torchrun, Launcher::open_mpi, Launcher::hydra,
                              Launcher::slurm, Launcher::tf_config, Launcher::alone}) {
    const auto place = find_place(everything, {.launcher = launcher});
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(to_string(place->launcher), to_string(launcher));
  }
  EXPECT_THAT(evidence(everything, {.launcher = Launcher::slurm}),
              Contains("RANK=5 of WORLD_SIZE=16 is ignored: --launch names slurm"));
}

TEST(LauncherTest, RoundTripsItsName) {
  for (const auto launcher :
       {Launcher::flags, Launcher::torchrun, Launcher::open_mpi, Launcher::hydra, Launcher::pmix,
        Launcher::slurm, Launcher::tf_config, Launcher::alone}) {
    EXPECT_EQ(parse_launcher(to_string(launcher)).value(), launcher);
  }
  EXPECT_EQ(parse_launcher("mpirun").error().message,
            "unknown launcher \"mpirun\": expected flags, torchrun, open_mpi, hydra, pmix, slurm, "
            "tf_config, alone");
}

TEST(EvidenceTest, HasTheJobsNumberOfTheNode) {
  const auto place = find_place(kTorchrun + Variables{{"NODE_RANK", "3"}}, {});
  ASSERT_TRUE(place.has_value());
  EXPECT_THAT(place->evidence, Contains("the job's own number of this node: NODE_RANK=3"));
}

}  // namespace
}  // namespace muster::bench
