// SPDX-License-Identifier: Apache-2.0
// Recognising a container, and which of its namespaces are the node's.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

using ::testing::IsSupersetOf;
using std::string_literals::operator""s;  // NOLINT(misc-unused-using-decls)

constexpr std::string_view kIdentifier =
    "4f5c1a9e0b7d4f5c1a9e0b7d4f5c1a9e0b7d4f5c1a9e0b7d4f5c1a9e0b7d4f5c";

// A process on the node itself, with the inode numbers of a kernel before 6.18.
class ContainerTest : public ::testing::Test {
 protected:
  ContainerTest() {
    for (const auto* process : {"self", "1"}) {
      show_namespaces(process, 4026531840, 4026531836, 4026531992);
      tree_.write(fmt::format("proc/{}/cgroup", process), "0::/system.slice/docker.service\n");
      tree_.write(fmt::format("proc/{}/environ", process), std::string("PATH=/bin\0HOME=/\0", 17));
      tree_.write(fmt::format("proc/{}/mountinfo", process),
                  "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n");
    }
    tree_.link("proc/1/root", "/");
  }

  void show_namespaces(std::string_view process, unsigned mnt, unsigned pid, unsigned net) {
    const auto show = [&](std::string_view name, unsigned inode) {
      tree_.remove(fmt::format("proc/{}/ns/{}", process, name));
      tree_.link(fmt::format("proc/{}/ns/{}", process, name), fmt::format("{}:[{}]", name, inode));
    };
    show("mnt", mnt);
    show("pid", pid);
    show("net", net);
    show("ipc", 4026531839);
    show("uts", 4026531838);
    show("user", 4026531837);
  }

  // As Docker does without options: PID 1 is the container's.
  void be_in_docker() {
    for (const auto* process : {"self", "1"}) {
      show_namespaces(process, 4026532300, 4026532303, 4026532305);
      tree_.write(fmt::format("proc/{}/mountinfo", process),
                  "710 600 0:49 / / rw - overlay overlay rw\n"
                  "720 710 8:1 /hosts /etc/hosts rw - ext4 /dev/sda1 rw\n");
    }
    tree_.write(".dockerenv", "");
  }

  // With the host's PID and network namespaces, as a pod with hostPID and hostNetwork.
  void be_in_pod() {
    show_namespaces("self", 4026532300, 4026531836, 4026531992);
    tree_.write("proc/self/environ", "KUBERNETES_SERVICE_HOST=10.0.0.1");
    tree_.remove("proc/1/root");
    tree_.write("proc/1/root/etc/hostname", "gpu-0007\n");
  }

  [[nodiscard]] Fact<Container> container() const { return read_container(root_of(tree_)); }

  [[nodiscard]] std::vector<std::string> signs() const {
    return container().value_or({}).recognised_by;
  }

  TempDir tree_;
};

TEST_F(ContainerTest, TheNodeItselfIsNone) {
  EXPECT_TRUE(container().is_absent());
  EXPECT_THAT(foreign_namespaces(root_of(tree_)), IsEmpty());
}

TEST_F(ContainerTest, AServiceWithPrivateTmpIsNone) {
  show_namespaces("self", 4026532300, 4026531836, 4026531992);
  EXPECT_TRUE(container().is_absent());
}

TEST_F(ContainerTest, AnOrdinaryUserOfTheNodeIsInNone) {
  tree_.remove("proc/1/ns");
  tree_.remove("proc/1/root");
  tree_.remove("proc/1/environ");
  EXPECT_TRUE(container().is_absent());
}

TEST_F(ContainerTest, AnImageForDisklessNodesThatWasOnceAContainerIsNone) {
  tree_.write(".dockerenv", "");
  tree_.remove("proc/1/ns");
  EXPECT_TRUE(container().is_absent());
}

TEST_F(ContainerTest, RecognisesDocker) {
  be_in_docker();
  EXPECT_EQ(container(), Fact<Container>(Container{
                             .recognised_by = {"/.dockerenv", "an overlay as root directory"},
                             .namespaces = {"mnt", "pid", "net"}}));
  tree_.remove("proc/1/ns");  // PID 1 is unreadable
  EXPECT_EQ(container().value_or({}).namespaces, (std::vector<std::string>{"mnt", "pid", "net"}));
}

TEST_F(ContainerTest, RecognisesPodmanByItsFileAndTheVariableOfPidOne) {
  be_in_docker();
  tree_.write("run/.containerenv", "");
  tree_.write("proc/1/environ", std::string("PATH=/bin\0container=podman\0", 27));
  EXPECT_THAT(signs(), IsSupersetOf({"/run/.containerenv", "container=podman"}));
}

TEST_F(ContainerTest, APodWithHostPidHasItsOwnMountsOnly) {
  be_in_pod();
  EXPECT_EQ(container(),
            Fact<Container>(Container{
                .recognised_by = {"a Kubernetes pod", "a root directory other than PID 1's"},
                .namespaces = {"mnt"}}));
  tree_.write("proc/self/environ", "PATH=/bin");
  EXPECT_THAT(signs(), ElementsAre("a root directory other than PID 1's"));
}

// pause is PID 1 of a pod with shareProcessNamespace.
TEST_F(ContainerTest, AnotherContainersPidOneIsNotTheNodes) {
  show_namespaces("self", 4026532300, 4026532303, 4026532305);
  show_namespaces("1", 4026532290, 4026532303, 4026532305);
  tree_.write("proc/1/cgroup", fmt::format("0::/../cri-containerd-{}.scope\n", kIdentifier));
  EXPECT_EQ(container().value_or({}).namespaces, (std::vector<std::string>{"mnt", "pid", "net"}));
}

TEST_F(ContainerTest, AProcessInAllNamespacesOfTheNodeIsInNone) {
  tree_.write("proc/self/environ", "KUBERNETES_SERVICE_HOST=10.0.0.1");
  tree_.write("proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice\n");
  EXPECT_TRUE(container().is_absent());
}

TEST_F(ContainerTest, TheFirstNamespacesOfTheKernelAreTheNodes) {
  show_namespaces("self", 0xEFFFFFF8, 4026531836, 0xEFFFFFF9);
  tree_.remove("proc/1/ns");
  EXPECT_THAT(foreign_namespaces(root_of(tree_)), IsEmpty());
}

TEST_F(ContainerTest, RecognisesAUserNamespace) {
  show_namespaces("self", 4026532300, 4026531836, 4026531992);
  tree_.remove("proc/self/ns/user");
  tree_.link("proc/self/ns/user", "user:[4026532299]");
  EXPECT_THAT(signs(), ElementsAre("a user namespace"));
}

TEST_F(ContainerTest, RecognisesTheControlGroupsOfRuntimes) {
  be_in_pod();
  for (const auto& group :
       {fmt::format("docker/{}", kIdentifier), "system.slice/docker-4f5c1a.scope"s,
        "kubepods/besteffort/pod1/ab"s, "kubepods.slice/kubepods-besteffort.slice"s,
        "system.slice/cri-containerd-4f5c1a.scope"s, "crio-4f5c1a.scope"s,
        "machine.slice/libpod-4f5c1a.scope/container"s, "lxc/node-1"s,
        "lxc.payload.node-1/system.slice"s}) {
    tree_.write("proc/self/cgroup", fmt::format("12:cpu:/{}\n0::/\n", group));
    EXPECT_THAT(signs(), Contains(::testing::StartsWith("cgroup "))) << group;
  }
}

}  // namespace
}  // namespace muster
