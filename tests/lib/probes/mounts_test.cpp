// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "lib/base/clock.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

using std::chrono_literals::operator""s;  // NOLINT(misc-unused-using-decls)

class MountsProbeTest : public ::testing::Test {
 protected:
  [[nodiscard]] Section<Mounts> probe(std::string_view table) const {
    tree_.write("proc/mounts", table);
    return probe_mounts(root_of(tree_), 20s);
  }

  // The mount points, in order.
  [[nodiscard]] std::vector<std::string> points(std::string_view table) const {
    std::vector<std::string> result;
    const auto section = probe(table);
    for (const auto& mount : section->mounts) result.push_back(mount.point);
    return result;
  }

  TempDir tree_;
};

TEST_F(MountsProbeTest, ReadsTypeSourceAndReadOnly) {
  auto section = probe("server:/data /data nfs4 ro,hard,vers=4.1 0 0\n");
  ASSERT_EQ(section->mounts.size(), 1U);
  section->mounts[0].space = {};
  Mount expected{.point = "/data", .type = "nfs4", .source = "server:/data", .read_only = true};
  expected.options = std::vector<std::string>{"ro", "hard", "vers=4.1"};
  EXPECT_EQ(section->mounts[0], expected);
}

TEST_F(MountsProbeTest, ReadsTheSpaceBelowTheRoot) {
  tree_.write("data/file", "");
  const auto section = probe("server:/data /data nfs4 rw 0 0\n");
  ASSERT_TRUE(section->mounts[0].space) << section->mounts[0].space.why();
  EXPECT_GT(section->mounts[0].space->total_bytes, section->mounts[0].space->used_bytes);
  EXPECT_FALSE(section->mounts[0].hung);
}

TEST_F(MountsProbeTest, TheSpaceOfAMissingPointIsAbsentInARecordedNode) {
  const auto section = probe("server:/data /data nfs4 rw 0 0\n");
  EXPECT_EQ(section->mounts[0].space, Fact<Space>::absent("open /data: No such file or directory"));
}

TEST_F(MountsProbeTest, SeparatesFileSystemsWithoutData) {
  const auto section = probe(
      "proc /proc proc rw 0 0\n/dev/sda1 / ext4 rw 0 0\n"
      "cgroup2 /sys/fs/cgroup cgroup2 ro,nosuid 0 0\nauto /home autofs rw 0 0\n"
      "srv:/home /home nfs4 rw 0 0\n");
  using Kernels = std::vector<KernelMount>;
  using Options = std::vector<std::string>;
  EXPECT_EQ(section->kernel,
            Fact<Kernels>(Kernels{
                {.point = "/proc", .type = "proc", .source = "proc", .options = Options{"rw"}},
                {.point = "/sys/fs/cgroup",
                 .type = "cgroup2",
                 .source = "cgroup2",
                 .read_only = true,
                 .options = Options{"ro", "nosuid"}}}));
  EXPECT_THAT(points("proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
                     "tmpfs /dev/shm tmpfs rw 0 0\ntmpfs /sys/fs/cgroup tmpfs ro 0 0\n"),
              ElementsAre("/dev/shm"));
}

TEST_F(MountsProbeTest, ListsMountsOnAnAutomountPoint) {
  const auto section = probe("auto.home /home autofs rw 0 0\nserver:/h /home nfs rw 0 0\n");
  ASSERT_EQ(section->mounts.size(), 1U);
  EXPECT_EQ(section->mounts[0].type, "nfs");
  EXPECT_THAT(section->automounts, IsEmpty());
}

TEST_F(MountsProbeTest, SkipsKernelAndHiddenAutomounts) {
  const auto section = probe(
      "systemd-1 /proc/sys/fs/binfmt_misc autofs rw 0 0\nauto.net /net autofs rw 0 0\n"
      "auto.data /data/a autofs rw 0 0\n/dev/sdb1 /data xfs rw 0 0\nauto.home /home autofs rw 0 0\n"
      "server:/h/alice /home/alice nfs rw 0 0\n");
  EXPECT_THAT(section->automounts, ElementsAre("/net", "/home"));
  EXPECT_EQ(section->mounts.size(), 2U);
}

TEST(MountsTest, AnAutomountCoversItsPointAndAllBelow) {
  const Mounts mounts{.automounts = {"/net", "/home"}};
  for (const auto* point : {"/home", "/home/alice", "/home/alice/data"}) {
    ASSERT_NE(mounts.automount_of(point), nullptr) << point;
    EXPECT_EQ(*mounts.automount_of(point), "/home");
  }
  for (const auto* point : {"/", "/homes", "/ho", ""}) {
    EXPECT_EQ(mounts.automount_of(point), nullptr) << point;
  }
}

TEST_F(MountsProbeTest, DropsMountsThatALaterOneCovers) {
  const auto section = probe(
      "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /mnt ext4 rw 0 0\n"
      "/dev/sdc1 /mnt xfs rw 0 0\n");
  ASSERT_EQ(section->mounts.size(), 2U);
  EXPECT_EQ(section->mounts[0].point, "/");
  EXPECT_EQ(section->mounts[1].source, "/dev/sdc1");
  EXPECT_THAT(points("/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /mnt/scratch/a xfs rw 0 0\n"
                     "/dev/sdc1 /mnt/scratches ext4 rw 0 0\n/dev/sdd1 /mnt/scratch ext4 rw 0 0\n"
                     "/dev/sde1 /mnt/scratch/b ext4 rw 0 0\n"),
              ElementsAre("/", "/mnt/scratches", "/mnt/scratch", "/mnt/scratch/b"));
  // These were moved into the root.
  EXPECT_THAT(points("tmpfs /run tmpfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\n"),
              ElementsAre("/run", "/"));
}

TEST_F(MountsProbeTest, FindsAPointWithABlankInItsName) {
  tree_.write("data set/file", "");
  const auto section = probe("server:/d /data\\040set nfs rw 0 0\n");
  EXPECT_EQ(section->mounts[0].point, "/data set");
  EXPECT_TRUE(section->mounts[0].space.known());
}

TEST_F(MountsProbeTest, AGarbledLineIsAnError) {
  EXPECT_EQ(probe("/dev/sda1 / ext4 rw 0 0\nnonsense\n"),
            (Section<Mounts>{.status = Status::error,
                             .reason = "read /proc/mounts: not a mount: \"nonsense\""}));
}

TEST_F(MountsProbeTest, ReadsATableThatIsLargerThanOtherFiles) {
  std::string table;
  for (int i = 0; i < 2500; ++i) table.append(fmt::format("overlay /run/c{} overlay rw 0 0\n", i));
  ASSERT_GT(table.size(), Root::kSmallFile);
  EXPECT_EQ(probe(table)->mounts.size(), 2500U);
}

// FUSE names the user who mounted it, and mount(8) does if /etc/fstab allows users to mount.
TEST(MountParseTest, ReadsTheUserOfAMount) {
  EXPECT_EQ(*parse_mount("x /m fuse.sshfs rw,user_id=1001,group_id=5 0 0")->user, "1001");
  EXPECT_EQ(*parse_mount("/dev/sdb1 /m vfat rw,user=alice 0 0")->user, "alice");
  for (const auto* line :
       {"x /m fuse.x rw,user_id=0,group_id=0 0 0", "//srv/x /m cifs rw,user=svc 0 0",
        "x /m ext4 rw,user_id=7 0 0", "x /m ext4 rw,user_xattr 0 0"}) {
    EXPECT_FALSE(parse_mount(line)->user) << line;
  }
}

TEST_F(MountsProbeTest, FindsFoldersThatEveryUserMayFill) {
  tree_.write("tmp/x", "");
  tree_.write("data/x", "");
  const auto folder = [&](std::string_view name) { return tree_.path() / name; };
  const std::string table = "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /data xfs rw 0 0\n";
  EXPECT_FALSE(probe(table)->mounts[0].users_write);
  std::filesystem::permissions(folder("tmp"), std::filesystem::perms::all);
  EXPECT_EQ(*probe(table)->mounts[0].users_write, "/tmp");
  EXPECT_FALSE(probe(table)->mounts[1].users_write);
  std::filesystem::permissions(folder("data"), std::filesystem::perms::all);
  EXPECT_EQ(*probe(table)->mounts[1].users_write, "/data");
}

TEST(MountParseTest, DecodesOctalEscapes) {
  const auto mount = parse_mount(R"(a\011b /x\134040\012y\043 ext4 rw 0 0)");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->source, "a\tb");
  EXPECT_EQ(mount->point, "/x\\040\ny#");
  EXPECT_EQ(parse_mount("s /a\\04 ext4 rw 0 0")->point, "/a\\04");
  EXPECT_EQ(parse_mount("s /a\\777 ext4 rw 0 0")->point, "/a\\777");
}

TEST(MountParseTest, ComparesWholeOptions) {
  EXPECT_FALSE(parse_mount("s /a ext4 rw,rootcontext=x,errors=remount-ro 0 0")->read_only);
}

TEST(MountParseTest, RefusesLinesWithoutAPoint) {
  for (const auto* line : {"", "a b c", "a relative ext4 rw 0 0", "a /p  rw 0 0"}) {
    EXPECT_FALSE(parse_mount(line)) << line;
  }
}

using std::chrono_literals::operator""ms;  // NOLINT(misc-unused-using-decls)

const Space kSpace{
    .total_bytes = 5, .available_bytes = 4, .used_bytes = 3, .inodes_total = 2, .inodes_free = 1};

// Keeps all other children of this process's parent stopped, as if none of them got a CPU.
[[noreturn]] void starve() {
  for (;;) {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", ::getppid()));
    for (pid_t pid = 0; children >> pid;) {
      if (pid != ::getpid()) ::kill(pid, SIGSTOP);
    }
    ::usleep(1000);
  }
}

// Answers by the first letter of the point: h hangs, c crashes, m is missing, f fails, s is slow,
// o lacks memory, z leaves no CPU to the others.
Result<Space> ask(const std::string& point) {
  switch (point.front()) {
    case 'h':
      for (;;) ::pause();
    case 'c':
      ::_exit(3);
    case 'm':
      return make_missing("no such place");
    case 'f':
      return make_error("statfs: two\nlines");
    case 's':
      ::usleep(300'000);
      return kSpace;
    case 'o':
      return os_error("statfs", point, ENOMEM);
    case 'z':
      starve();
    default:
      return kSpace;
  }
}

Mount hung(std::string why) { return {.hung = true, .space = make_error(std::move(why))}; }

Mount unasked(std::string why) { return {.unasked = true, .space = make_error(std::move(why))}; }

TEST(MountSpaceTest, AnswersForEveryPointInOrder) {
  EXPECT_TRUE(ask_spaces({}, 20s, ask, ask).empty());
  EXPECT_THAT(
      ask_spaces({"a", "m", "f"}, 20s, ask, ask),
      ElementsAre(Mount{.space = kSpace}, Mount{.space = Fact<Space>::absent("no such place")},
                  Mount{.space = Fact<Space>::unreadable("statfs: two\\x0alines")}));
}

TEST(MountSpaceTest, OnlyThePointThatDoesNotAnswerHangs) {
  EXPECT_THAT(ask_spaces({"a", "h", "b"}, 2s, ask, ask),
              ElementsAre(Mount{.space = kSpace}, hung("statfs: no answer within 2 s"),
                          Mount{.space = kSpace}));
}

TEST(MountSpaceTest, PointsThatAreSlowTogetherDoNotHang) {
  EXPECT_THAT(ask_spaces({"s", "s", "s", "s", "s", "s"}, 1500ms, ask, ask),
              ::testing::Each(Mount{.space = kSpace}));
}

TEST(MountSpaceTest, TakesTwoDeadlinesIfManyPointsHang) {
  const std::vector<std::string> points(40, "h");
  const auto start = Clock::now();
  const auto answers = ask_spaces(points, 300ms, ask, ask);
  EXPECT_LT(Clock::now() - start, 40 * 300ms);
  // On a busy machine a hang is uncertain.
  for (const auto& each : answers) EXPECT_TRUE(each.hung || each.unasked) << each.space.why();
}

TEST(MountSpaceTest, LosesOnlyThePointWhoseChildDies) {
  EXPECT_THAT(
      ask_spaces({"a", "c"}, 2s, ask, ask),
      ElementsAre(Mount{.space = kSpace}, unasked("statfs: ended with status 3 and no answer")));
}

TEST(MountSpaceTest, AHangIsUncertainIfNoChildGotACpu) {
  EXPECT_THAT(ask_spaces({"h", "z"}, 500ms, ask, ask),
              ::testing::Each(unasked("statfs: a child without work was late as well")));
}

TEST(MountSpaceTest, LackOfMemoryIsNotTheFaultOfTheMount) {
  EXPECT_THAT(ask_spaces({"o"}, 20s, ask, ask),
              ElementsAre(unasked("statfs o: Cannot allocate memory")));
}

TEST(MountSpaceTest, PointsThatWereNotReachedInTimeAreUnreadable) {
  const std::vector<std::string> points(300, "h");
  const auto answers = ask_spaces(points, 60ms, ask, ask);
  ASSERT_EQ(answers.size(), 300U);
  const auto not_reached = unasked("not asked: too many other mounts did not answer");
  EXPECT_NE(answers[255], not_reached);
  EXPECT_EQ(answers[256], not_reached);
}

}  // namespace
}  // namespace muster
