// SPDX-License-Identifier: Apache-2.0
// Damages every file that a run opens on a healthy node, one at a time. The verdict must not be
// healthy because of it, no probe may crash, and none may outlive its deadline. A file whose damage
// may leave the node healthy is in the list of exceptions, with the reason.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "checks/app/observe_node.hpp"
#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "tests/e2e/exceptions.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/e2e/probing.hpp"
#include "tests/e2e/reads.hpp"
#include "tests/nodes/render.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

void put(const fs::path& file, std::string_view content) {
  std::ofstream(file, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

struct Damage {
  std::string_view name;
  void (*inflict)(const fs::path& path);  // nothing is there
};

constexpr std::string_view kGarbage = "\x01\xff\xfe 9z-garbage{]\x7f\n\n\t=:;,(4X\n";

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"missing", [](const fs::path&) {}},
      {"empty", [](const fs::path& path) { put(path, ""); }},
      {"garbled", [](const fs::path& path) { put(path, kGarbage); }},
      {"a_directory", [](const fs::path& path) { fs::create_directory(path); }},
      {"a_dangling_link", [](const fs::path& path) { fs::create_symlink("nowhere", path); }},
      {"a_link_to_itself", [](const fs::path& path) { fs::create_symlink(path.filename(), path); }},
      {"huge",
       [](const fs::path& path) {
         put(path, "x");
         fs::resize_file(path, 80ULL * 1024 * 1024);
       }},
      {"a_fifo",
       [](const fs::path& path) {
         nodes::Tree pipe;
         pipe.fifo(path.filename().string());
         static_cast<void>(write_tree(pipe, path.parent_path()));
       }},
  };
  return all;
}

// The healthy node, examined twice so that rates are judged too, and what each probe opens.
class Subject {
 public:
  Subject() {
    auto node = nodes::nd96isr_h100_v5();
    const TempDir state;
    stage_.show(render(node));
    remember(state.path(),
             examine(stage_.root(), {.profile = node.profile, .nvml = stage_.nvml()}).snapshot);
    node.system.uptime_s += 3600;
    stage_.show(render(node));
    healthy_ = examine(stage_.root(),
                       {.profile = node.profile, .state = state.path(), .nvml = stage_.nvml()});
    wanted_ = app::wanted_of(healthy_.profile);
    for_each_section(healthy_.snapshot, [&](Probe probe, const auto& /*section*/) {
      const auto opened = opened_below(stage_.root(), [&] {
        auto scratch = healthy_.snapshot;
        EXPECT_EQ(reprobe(root_below(), probe, wanted_, 10s, scratch), "");
      });
      for (const auto& path : opened) readers_[path].insert(probe);
    });
    // Opening a file also opens its folders.
    for (auto& [folder, probes] : readers_) {
      if (!folder.ends_with('/')) continue;
      for (const auto& [path, readers] : readers_) {
        if (path.starts_with(folder)) probes.insert(readers.begin(), readers.end());
      }
    }
  }

  [[nodiscard]] const Examination& healthy() const { return healthy_; }

  // One path per pattern: the first of the 96 CPUs stands for all, and so do the first GPU and the
  // first HCA.
  [[nodiscard]] std::vector<std::string> paths() const {
    std::map<std::string, std::string> by_shape;
    for (const auto& [path, probes] : readers_) {
      const auto bus = path.find("/pci");
      const auto kind = bus == std::string::npos ? "" : path.substr(bus, 6);
      by_shape.try_emplace(fmt::format("{} {}", kind, shape_of(path)), path);
    }
    std::vector<std::string> result;
    for (const auto& [shape, path] : by_shape) {
      if (!path.empty()) result.push_back(path);
    }
    return result;
  }

  [[nodiscard]] const std::set<Probe>& readers(const std::string& path) const {
    return readers_.at(path);
  }

  // Returns whether muster calls the node healthy without a remark while `path` is damaged, and
  // restores the path. A probe or a check that crashes is added to `crashed`.
  bool unnoticed(const std::string& path, const Damage& damage, std::string& crashed) {
    const fs::path here =
        stage_.root() / (path.ends_with('/') ? path.substr(0, path.size() - 1) : path);
    const fs::path aside = stage_.root().parent_path() / "aside";
    fs::rename(here, aside);
    damage.inflict(here);
    auto snapshot = healthy_.snapshot;
    // hwloc opens files itself, and waits for a FIFO's other end.
    const auto deadline = damage.name == "a_fifo" ? 200ms : 10'000ms;
    for (const Probe probe : readers_.at(path)) {
      const auto trouble = reprobe(root_below(), probe, wanted_, deadline, snapshot);
      if (!trouble.empty()) {
        crashed.append(fmt::format("{} {}: {} {}\n", path, damage.name, to_string(probe), trouble));
      }
    }
    fs::remove_all(here);
    fs::rename(aside, here);
    Children children;
    children.start("judge", 10s, [&] {
      const auto report = judge(snapshot, healthy_.profile, {.only = {"*"}});
      const bool silent = report.verdict == Verdict::healthy && concerns(report).empty();
      return std::string(silent ? "unnoticed" : "noticed");
    });
    const auto answer = children.next().second;
    if (answer.end == ChildAnswer::End::answered) return answer.bytes == "unnoticed";
    crashed.append(fmt::format("{} {}: judging {}\n", path, damage.name, answer.reason));
    return false;
  }

 private:
  [[nodiscard]] Root root_below() const { return std::move(*Root::below(stage_.root())); }

  Stage stage_;
  Examination healthy_;
  Wanted wanted_;
  std::map<std::string, std::set<Probe>> readers_;
};

Subject& subject() {
  static Subject the_subject;
  return the_subject;
}

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name.
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class Anomaly : public ::testing::TestWithParam<Damage> {};

TEST_P(Anomaly, NeverLeavesTheNodeHealthy) {
  if (!disk_has_room()) GTEST_SKIP() << "the disk with the simulated node is nearly full";
  const auto& damage = GetParam();
  ASSERT_EQ(subject().healthy().report.verdict, Verdict::healthy)
      << explain(subject().healthy().report);
  std::string crashed;
  std::vector<std::string> healthy;
  for (const auto& path : subject().paths()) {
    if (subject().unnoticed(path, damage, crashed) && !may_stay_healthy(path, damage.name)) {
      healthy.push_back(path);
    }
  }
  EXPECT_EQ(crashed, "");
  EXPECT_EQ(fmt::format("{}", fmt::join(healthy, "\n")), "");
}

INSTANTIATE_TEST_SUITE_P(Spoilt, Anomaly, ::testing::ValuesIn(damages()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(AnomalyTest, EveryProbeThatAForeignRootFeedsOpensSomething) {
  std::set<Probe> reading;
  for (const auto& path : subject().paths()) {
    const auto& readers = subject().readers(path);
    reading.insert(readers.begin(), readers.end());
  }
  for_each_section(subject().healthy().snapshot, [&](Probe probe, const auto& section) {
    // NVML is a library and is not loaded again.
    if (section.status != Status::absent && probe != Probe::nvml) {
      EXPECT_TRUE(reading.contains(probe)) << to_string(probe);
    }
  });
}

TEST(AnomalyTest, EveryExceptionIsStillNeeded) {
  const auto paths = subject().paths();
  for (const auto& pattern : exception_patterns()) {
    EXPECT_TRUE(std::ranges::any_of(
        paths, [&](const std::string& path) { return matches_glob(pattern, path); }))
        << pattern << " matches no file that a run opens";
  }
}

}  // namespace
}  // namespace muster::e2e
