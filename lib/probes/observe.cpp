// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/observe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/probes/probes.hpp"
#include "lib/process/child.hpp"
#include "lib/state/state.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

constexpr std::string_view kState = "state";  // the child that reads the state file

// No probe needs longer on a node that responds.
constexpr auto kLongestProbe = 5s;

// The probes that the profile depends on, and those that depend on the profile.
constexpr ProbeSet kRecognition =
    Probe::identity | Probe::cpu | Probe::memory | Probe::pci | Probe::infiniband;
constexpr ProbeSet kProfiled = Probe::mounts | Probe::kernel | Probe::environment;

class Observation {
 public:
  Observation(const Root& root, const ObserveOptions& options, const Planner& planner)
      : root_(root), options_(options), planner_(planner) {}

  Snapshot run() {
    snapshot_.taken = utc_now();
    left_behind_ = find_left_behind(options_.state_file);
    start_early();
    if (options_.state_file) start_state();
    if (options_.meanwhile) options_.meanwhile();
    bool going_on = follow_plan_when_ready();
    while (going_on) {
      const auto [name, answer] = children_.next();
      if (name.empty()) break;
      add_answer(name, answer);
      going_on = follow_plan_when_ready();
    }
    recall_stuck_tasks(snapshot_);
    return std::move(snapshot_);
  }

 private:
  [[nodiscard]] Clock::time_point late() const {
    return std::min(begin_ + 2 * kLongestProbe, deadline_);
  }

  void start_early() {
    // Recognition may take half of the time, so that the probes after it have the other half.
    const auto half = begin_ + (deadline_ - begin_) / 2;
    const auto first = std::min(begin_ + kLongestProbe, options_.recognise ? half : deadline_);
    // The slowest first: hwloc, then the probes for recognition.
    if (options_.recognise && options_.probes.contains(Probe::topology)) {
      start(Probe::topology, late());
    }
    for_each_section(snapshot_, [&](Probe probe, const auto& /*section*/) {
      if (!kRecognition.contains(probe)) return;
      if (!options_.recognise && !options_.probes.contains(probe)) return;
      start(probe, first);
      if (options_.recognise) ++recognition_left_;
    });
    if (!options_.recognise) return;
    for_each_section(snapshot_, [&](Probe probe, const auto& /*section*/) {
      if (options_.probes.contains(probe) && !kProfiled.contains(probe)) start(probe, late());
    });
  }

  void start(Probe probe, Clock::time_point deadline) {
    if (started_.contains(probe)) return;
    started_ = started_ | probe;
    children_.start(std::string(to_string(probe)), deadline,
                    [=, this] { return answer_of(probe, deadline); });
  }

  void start_state() {
    children_.start(std::string(kState), late(), [this] {
      const auto boot = root_.read_line("/proc/sys/kernel/random/boot_id");
      Earlier earlier = read_state(*options_.state_file, boot.value_or(""));
      earlier.wall_s = static_cast<double>(std::time(nullptr));
      return section_to_json(observed(std::move(earlier)));
    });
  }

  // Returns false if there is no plan.
  bool follow_plan_when_ready() {
    if (recognition_left_ > 0 || std::exchange(planned_, true)) return true;
    auto plan = planner_(snapshot_);
    if (!plan) return false;
    wanted_ = std::move(plan->wanted);
    deadline_ = plan->deadline;
    children_.hurry(deadline_);
    if (plan->probes.contains(Probe::topology)) start(Probe::topology, late());
    for_each_section(snapshot_, [&](Probe probe, const auto& /*section*/) {
      if (plan->probes.contains(probe)) start(probe, late());
    });
    return true;
  }

  // In the child: returns the section as JSON. Does not run a probe in which a child of an earlier
  // run still hangs.
  [[nodiscard]] std::string answer_of(Probe probe, Clock::time_point deadline) const {
    const auto mine = fmt::format("probe {}{}", to_string(probe),
                                  root_.foreign() ? root_.path().native() : std::string());
    const auto found = std::ranges::find(left_behind_, mine, &LeftBehind::work);
    if (found == left_behind_.end()) {
      // The children of the probe for mounts announce their own mount.
      if (probe != Probe::mounts) announce_work(mine);
      return options_.enter ? enter_and_work(probe, deadline) : work(root_, probe, deadline);
    }
    // Without facts the sections of all probes look the same.
    return section_to_json(Section<Identity>{
        .status = Status::timeout,
        .reason = fmt::format(
            "not asked: a child of an earlier muster (pid {}) has been hanging{}", found->pid,
            found->for_s ? fmt::format(" for {:.0f} s", *found->for_s) : std::string())});
  }

  [[nodiscard]] std::string enter_and_work(Probe probe, Clock::time_point deadline) const {
    const auto entered = options_.enter();
    if (entered) return work(Root(), probe, deadline);
    return section_to_json(
        Section<Identity>{.status = Status::error, .reason = entered.error().message});
  }

  [[nodiscard]] std::string work(const Root& root, Probe probe, Clock::time_point deadline) const {
    switch (probe) {
      case Probe::identity:
        return section_to_json(probe_identity(root));
      case Probe::cpu:
        return section_to_json(probe_cpu(root));
      case Probe::memory:
        return section_to_json(probe_memory(root));
      case Probe::mounts:
        return section_to_json(probe_mounts(root, wanted_.statfs_deadline, left_behind_));
      case Probe::disks:
        return section_to_json(probe_disks(root));
      case Probe::processes:
        return section_to_json(probe_processes(root));
      case Probe::kernel:
        return section_to_json(probe_kernel(root, wanted_.sysctls));
      case Probe::kernel_log:
        return section_to_json(probe_kernel_log(root));
      case Probe::services:
        return section_to_json(probe_services(root));
      case Probe::network:
        return section_to_json(probe_network(root));
      case Probe::pci:
        return section_to_json(probe_pci(root));
      case Probe::infiniband:
        return section_to_json(probe_infiniband(root, options_.link_errors));
      case Probe::verbs:
        return section_to_json(probe_verbs(root));
      case Probe::topology:
        return section_to_json(probe_topology(root));
      case Probe::environment:
        return section_to_json(probe_environment(root, wanted_, options_.variables));
      case Probe::nvml:
        return section_to_json(probe_nvml(root, options_.nvml, deadline));
    }
    return {};
  }

  template <class Facts>
  static void read_answer(const ChildAnswer& answer, Section<Facts>& section) {
    if (answer.end != ChildAnswer::End::answered) {
      const bool timeout = answer.end == ChildAnswer::End::timeout;
      section.status = timeout ? Status::timeout : Status::error;
      section.reason = answer.reason;
      return;
    }
    auto read = parse_section<Facts>(answer.bytes);
    if (read) {
      section = std::move(*read);
    } else {
      section.status = Status::error;
      section.reason = fmt::format("cannot parse the probe's output: {}", read.error().message);
    }
  }

  void add_answer(std::string_view name, const ChildAnswer& answer) {
    if (name == kState) return add_state(answer);
    for_each_section(snapshot_, [&](Probe probe, auto& section) {
      if (to_string(probe) != name) return;
      if (options_.recognise && kRecognition.contains(probe)) --recognition_left_;
      read_answer(answer, section);
      section.duration_ms = answer.duration_ms;
    });
    if (name == to_string(Probe::kernel_log)) snapshot_.xids = find_xids(*snapshot_.kernel_log);
  }

  void add_state(const ChildAnswer& answer) {
    auto earlier = parse_section<Earlier>(answer.bytes);
    if (answer.end == ChildAnswer::End::answered && earlier) {
      snapshot_.earlier = std::move(earlier->facts);
    } else {
      snapshot_.earlier.note =
          fmt::format("{} could not be read: {}", options_.state_file->string(),
                      answer.reason.empty() ? "garbled" : answer.reason);
    }
  }

  const Root& root_;
  const ObserveOptions& options_;
  const Planner& planner_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point deadline_ = options_.deadline;
  Snapshot snapshot_;
  std::vector<LeftBehind> left_behind_;
  Wanted wanted_;
  Children children_;
  ProbeSet started_;
  int recognition_left_ = 0;
  bool planned_ = false;
};

}  // namespace

Snapshot observe(const Root& root, const ObserveOptions& options, const Planner& planner) {
  return Observation(root, options, planner).run();
}

}  // namespace muster
