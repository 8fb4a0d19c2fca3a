// SPDX-License-Identifier: Apache-2.0
#include "lib/command/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "lib/base/descriptor.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

Result<void> write_file(const fs::path& file, std::string_view text) {
  const Console console;
  TRY_ASSIGN(auto destination, Destination::open(console, file.string()));
  if (auto written = destination.write(text); !written) return written;
  return destination.finish();
}

// A rank in a shell that mpirun started.
class LauncherTest : public ::testing::Test {
 protected:
  LauncherTest() {
    for (const auto& [process, parent] : {std::pair{30, 20}, {20, 10}, {10, 1}}) {
      dir_.write(fmt::format("{}/status", process), fmt::format("Name:\tx\nPPid:\t{}\n", parent));
      dir_.link(fmt::format("{}/fd/1", process), "/dev/pts/999");
    }
  }

  // The console once mpirun's output is this file.
  [[nodiscard]] Console console_if(const std::string& output, std::string_view variable) {
    fs::remove(dir_.path() / "10/fd/1");
    dir_.link("10/fd/1", output);
    Console console;
    console.colour = true;
    console.width = 80;
    follow_launcher(console, {{std::string(variable), "0"}}, dir_.path(), 30);
    return console;
  }

  TempDir dir_;
};

TEST_F(LauncherTest, WritesNoColoursIntoAFileOrAPipe) {
  for (const auto* output : {"/dev/null", "/nowhere"}) {
    for (const auto* variable : {"OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID"}) {
      const auto console = console_if(output, variable);
      EXPECT_FALSE(console.colour) << output;
      EXPECT_EQ(console.width, 0U) << output;
    }
  }
}

TEST_F(LauncherTest, FollowsTheTerminalOfMpirun) {
  const Descriptor terminal(::posix_openpt(O_RDWR | O_NOCTTY));
  ASSERT_TRUE(terminal.is_open());
  ASSERT_EQ(::grantpt(terminal.get()) + ::unlockpt(terminal.get()), 0);
  const winsize size{.ws_row = 24, .ws_col = 132};
  ASSERT_EQ(::ioctl(terminal.get(), TIOCSWINSZ, &size), 0);
  EXPECT_EQ(console_if(::ptsname(terminal.get()), "OMPI_COMM_WORLD_RANK").width, 132U);
}

TEST_F(LauncherTest, ChangesNothingWithoutALauncher) {
  EXPECT_EQ(console_if("/dev/null", "SLURM_PROCID").width, 80U);
}

TEST(DescriptorNamedTest, KnowsTheNamesOfOpenDescriptors) {
  for (const auto* name : {"", "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    EXPECT_EQ(descriptor_named(name), 1) << name;
  }
  EXPECT_EQ(descriptor_named("/dev/stderr"), 2);
  EXPECT_EQ(descriptor_named("/dev/fd/37"), 37);
  for (const auto* name : {"report", "./-", "/dev/null", "/dev/fd/", "/dev/fd/-1", "/dev/fd/1/x"}) {
    EXPECT_EQ(descriptor_named(name), std::nullopt) << name;
  }
}

TEST(DestinationTest, NamesTheHost) {
  ::setenv("MUSTER_HOSTNAME", "gpu-0007.cluster.example", 1);
  EXPECT_EQ(with_host("/shared/%h.json"), "/shared/gpu-0007.json");
  EXPECT_EQ(with_host("100%%h-%h-%h"), "100%h-gpu-0007-gpu-0007");
  for (const auto* name : {"", "report", "50%", "%d%"}) EXPECT_EQ(with_host(name), name);
  const TempDir dir;
  EXPECT_TRUE(write_file(dir.path() / "%h.json", "{}"));
  EXPECT_EQ(dir.read("gpu-0007.json"), "{}");
  ::unsetenv("MUSTER_HOSTNAME");
}

TEST(DestinationTest, AppendsToAnOpenDescriptor) {
  const TempDir dir;
  dir.write("log", "begun\n");
  const int descriptor = ::open((dir.path() / "log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_TRUE(write_file(fmt::format("/dev/fd/{}", descriptor), "new\n"));
  ::close(descriptor);
  EXPECT_EQ(dir.read("log"), "begun\nnew\n");
}

TEST(DestinationTest, RefusesAClosedDescriptor) {
  const auto written = write_file("/dev/fd/987", "new");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "write /dev/fd/987: Bad file descriptor");
}

TEST(DestinationTest, DoesNotFollowLinksOfUsersAsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const TempDir dir;
  dir.write("precious", "root's\n");
  for (const auto& target : {dir.path() / "precious", fs::path("/dev/null")}) {
    dir.link("report", target.string());
    ASSERT_TRUE(write_file(dir.path() / "report", "a report\n"));
    dir.write("precious", "root's\n");
    ASSERT_EQ(::lchown((dir.path() / "report").c_str(), 4'000'000, 4'000'000), 0);
    const auto written = write_file(dir.path() / "report", "a report\n");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, ::testing::EndsWith("/report is a link of another user"));
    EXPECT_EQ(dir.read("precious"), "root's\n");
  }
}

TEST(DestinationTest, ReplacesTheTargetOfALink) {
  const TempDir dir;
  dir.write("real", "old");
  dir.link("link", "real");
  ASSERT_TRUE(write_file(dir.path() / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(dir.path() / "link"));
  EXPECT_EQ(dir.read("real"), "new");
}

TEST(DestinationTest, WritesToADevice) {
  ASSERT_TRUE(write_file("/dev/null", "new"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_FALSE(write_file("/dev/full", "new"));
}

}  // namespace
}  // namespace muster
