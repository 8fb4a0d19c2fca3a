// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/launch/place.hpp"

namespace muster::bench {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  Variables variables;
  std::vector<std::string> wanted;  // parts of the message
  LaunchFlags flags;
};

std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

class ContradictionTest : public ::testing::TestWithParam<Case> {};

TEST_P(ContradictionTest, NamesTheVariablesAndTheRemedy) {
  const auto place = find_place(GetParam().variables, GetParam().flags);
  ASSERT_FALSE(place);
  for (const auto& part : GetParam().wanted) {
    EXPECT_THAT(place.error().message, HasSubstr(part));
  }
}

constexpr auto kRemedy = "correct or unset it, or name the launcher with --launch";

INSTANTIATE_TEST_SUITE_P(
    Numbers, ContradictionTest,
    ::testing::Values(
        Case{"no_number",
             {{"OMPI_COMM_WORLD_RANK", "one"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
             {"OMPI_COMM_WORLD_RANK=one: expected a whole number", kRemedy}},
        Case{"negative",
             {{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}},
             {"PMI_RANK=-1: expected a whole number"}},
        Case{"trailing", {{"PMI_RANK", "1 "}, {"PMI_SIZE", "2"}}, {"PMI_RANK=1 : expected"}},
        Case{"huge",
             {{"PMI_RANK", "1"}, {"PMI_SIZE", "99999999999999999999"}},
             {"PMI_SIZE=99999999999999999999: expected"}},
        Case{"no_ranks",
             {{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}},
             {"PMI_SIZE=0: expected at least one rank"}},
        Case{"rank_beyond_world",
             {{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "m"}},
             {"RANK=2 contradicts WORLD_SIZE=2", "ranks are counted from 0"}},
        Case{"local_rank_beyond_local_world",
             {{"RANK", "1"},
              {"WORLD_SIZE", "2"},
              {"MASTER_ADDR", "m"},
              {"LOCAL_RANK", "2"},
              {"LOCAL_WORLD_SIZE", "2"}},
             {"LOCAL_RANK=2 contradicts LOCAL_WORLD_SIZE=2"}},
        Case{"local_world_beyond_world",
             {{"RANK", "1"},
              {"WORLD_SIZE", "2"},
              {"MASTER_ADDR", "m"},
              {"LOCAL_RANK", "1"},
              {"LOCAL_WORLD_SIZE", "8"}},
             {"LOCAL_WORLD_SIZE=8 is more than WORLD_SIZE=2"}},
        Case{"bad_port",
             {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "m"}, {"MASTER_PORT", "70000"}},
             {"MASTER_PORT=70000: expected a port from 1 to 65535"}},
        Case{"tasks_that_do_not_add_up",
             {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "3"}},
             {"SLURM_STEP_TASKS_PER_NODE=3 has 3 tasks", "SLURM_NTASKS=4"}},
        Case{"tasks_that_cannot_be_read",
             {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "3x"}},
             {"SLURM_STEP_TASKS_PER_NODE: invalid count of tasks \"3x\""}},
        Case{"node_beyond_nodes",
             {{"SLURM_PROCID", "1"},
              {"SLURM_NTASKS", "4"},
              {"SLURM_NODEID", "2"},
              {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}},
             {"SLURM_NODEID=2 contradicts SLURM_STEP_TASKS_PER_NODE=2(x2), which has 2 nodes"}},
        Case{"nodes_that_cannot_be_read",
             {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_NODELIST", "n[1-2"}},
             {"SLURM_STEP_NODELIST=n[1-2: column 2: unmatched opening bracket"}}));

INSTANTIATE_TEST_SUITE_P(
    Launchers, ContradictionTest,
    ::testing::Values(
        Case{"mpirun_inside_a_pod",
             {{"RANK", "1"},
              {"WORLD_SIZE", "2"},
              {"MASTER_ADDR", "m"},
              {"OMPI_COMM_WORLD_RANK", "7"},
              {"OMPI_COMM_WORLD_SIZE", "8"}},
             {"RANK=1 of WORLD_SIZE=2 and OMPI_COMM_WORLD_RANK=7 of OMPI_COMM_WORLD_SIZE=8",
              "unset RANK and WORLD_SIZE", "--launch open_mpi"}},
        Case{"a_leftover_rank_under_srun",
             {{"RANK", "0"},
              {"WORLD_SIZE", "1"},
              {"MASTER_ADDR", "m"},
              {"SLURM_PROCID", "3"},
              {"SLURM_NTASKS", "4"}},
             {"SLURM_PROCID=3 of SLURM_NTASKS=4 contradict each other", "--launch slurm"}},
        Case{"ranks_without_a_master",
             {{"RANK", "3"}, {"WORLD_SIZE", "8"}},
             {"RANK=3 of WORLD_SIZE=8 is set, and MASTER_ADDR is not", "--rendezvous"}},
        Case{"pmix_without_a_size",
             {{"PMIX_RANK", "3"}},
             {"PMIX_RANK=3 is set, but the number of ranks is unknown", "--world"}},
        Case{"pmix_and_slurm_differ",
             {{"PMIX_RANK", "3"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}},
             {"PMIX_RANK=3 contradicts SLURM_PROCID=1"}}));

INSTANTIATE_TEST_SUITE_P(
    TensorFlow, ContradictionTest,
    ::testing::Values(
        Case{"no_json", {{"TF_CONFIG", "{"}}, {"TF_CONFIG is not a JSON object", kRemedy}},
        Case{"no_task",
             {{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}})"}},
             {"TF_CONFIG has no task with a type and an index"}},
        Case{"no_list",
             {{"TF_CONFIG",
               R"({"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}})"}},
             {"TF_CONFIG has a worker that is not a list"}},
        Case{"no_address",
             {{"TF_CONFIG",
               R"({"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}})"}},
             {"TF_CONFIG has an address of worker", "invalid HOST:PORT \"a\""}},
        Case{
            "a_parameter_server",
            {{"TF_CONFIG",
              R"({"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}})"}},
            {"TF_CONFIG has the task ps 0, which is neither chief nor worker"}},
        Case{"a_worker_beyond_the_cluster",
             {{"TF_CONFIG",
               R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})"}},
             {"TF_CONFIG has the task worker 1"}}));

const LaunchFlags kForcedOpenMpi{.launcher = Launcher::open_mpi};

INSTANTIATE_TEST_SUITE_P(
    Flags, ContradictionTest,
    ::testing::Values(
        Case{"forced_and_missing",
             {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}},
             {"--launch open_mpi needs OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE"},
             kForcedOpenMpi},
        Case{"forced_and_half_missing",
             {{"OMPI_COMM_WORLD_RANK", "1"}},
             {"--launch open_mpi needs OMPI_COMM_WORLD_SIZE in the environment"},
             kForcedOpenMpi},
        Case{"forced_torchrun",
             {},
             {"--launch torchrun needs RANK, WORLD_SIZE, MASTER_ADDR"},
             {.launcher = Launcher::torchrun}},
        Case{"forced_pmix", {}, {"--launch pmix needs PMIX_RANK"}, {.launcher = Launcher::pmix}},
        Case{"forced_tf_config",
             {},
             {"--launch tf_config needs TF_CONFIG"},
             {.launcher = Launcher::tf_config}},
        Case{"forced_flags", {}, {"--rank is missing"}, {.launcher = Launcher::flags}},
        Case{"rank_alone", {}, {"--world is missing"}, {.rank = 1}},
        Case{"world_alone", {}, {"--rank is missing"}, {.world = 2}},
        Case{"rank_beyond_world",
             {},
             {"--rank 2 contradicts --world 2"},
             {.rank = 2, .world = 2, .rendezvous = Rendezvous{.host = "n", .port = 7}}},
        Case{
            "no_rendezvous", {}, {"--rank and --world need --rendezvous"}, {.rank = 0, .world = 2}},
        Case{"forced_and_numbered",
             {},
             {"--rank and --world contradict --launch slurm"},
             {.launcher = Launcher::slurm, .rank = 0, .world = 2}}));

}  // namespace
}  // namespace muster::bench
