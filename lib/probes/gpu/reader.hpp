// SPDX-License-Identifier: Apache-2.0
// Reads the facts of one GPU from NVML, on a thread that may hang.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/node/gpu.hpp"
#include "lib/probes/gpu/library.hpp"

namespace muster::nvml {

// The facts of a worker so far. They are copied in and out, so that a hung worker holds no lock.
template <class Facts>
class Watched {
 public:
  explicit Watched(Facts facts) : facts_(std::move(facts)) {}

  // Records that a call begins, or has ended if `name` is empty.
  void calling(std::string_view name) {
    const std::lock_guard lock(guard_);
    calling_ = name;
  }

  void publish(const Facts& facts) {
    const std::lock_guard lock(guard_);
    facts_ = facts;
  }

  void finish() {
    const std::lock_guard lock(guard_);
    done_ = true;
    changed_.notify_all();
  }

  // Returns the facts at the deadline and the call that did not return, or no call if the worker
  // has finished.
  [[nodiscard]] std::pair<Facts, std::string_view> wait(Clock::time_point deadline) {
    std::unique_lock lock(guard_);
    const bool done = changed_.wait_until(lock, deadline, [&] { return done_; });
    constexpr std::string_view kBetween = "muster's own work";
    if (done) return {facts_, {}};
    return {facts_, calling_.empty() ? kBetween : calling_};
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  Facts facts_;
  std::string_view calling_;
  bool done_ = false;
};

// `work` may outlive its caller, so it must own everything it uses.
template <class Facts>
std::shared_ptr<Watched<Facts>> start_watched(Facts facts,
                                              std::function<void(Watched<Facts>&)> work) {
  auto watched = std::make_shared<Watched<Facts>>(std::move(facts));
  std::thread([watched, work = std::move(work)] {
    work(*watched);
    watched->finish();
  }).detach();
  return watched;
}

inline constexpr const char* kNotRequested = "no check of this run asks for it";

struct GpuFacts {
  Gpu gpu;
  Device handle = nullptr;  // null if NVML refused it
};

// Reads a GPU on the current thread, and publishes after each step. Facts that `parts` excludes are
// absent.
void read_gpu(const Functions& functions, unsigned index, NvmlParts parts,
              Watched<GpuFacts>& watched);

}  // namespace muster::nvml
