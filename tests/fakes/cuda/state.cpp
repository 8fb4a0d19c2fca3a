// SPDX-License-Identifier: Apache-2.0
// The state of the fake CUDA driver.
#include "tests/fakes/cuda/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "lib/base/text.hpp"
#include "tests/fakes/cuda/driver.hpp"

namespace muster::fakes::gpu {
namespace {

namespace cuda = bench::cuda;

// Each thread has its own context.
thread_local cuda::Context t_context = nullptr;

Scenario load_scenario() {
  const char* path = std::getenv("MUSTER_FAKE_GPU");
  if (path == nullptr) return {};
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = parse_scenario(text.str());
  if (parsed) return *parsed;
  fmt::print(stderr, "{}\n", parsed.error().message);
  std::abort();
}

}  // namespace

Driver& driver() {
  static Driver one;
  return one;
}

void set_context(cuda::Context context) { t_context = context; }

cuda::Context context_of(int gpu) {
  return reinterpret_cast<cuda::Context>(pointer_to(static_cast<std::uintptr_t>(gpu) + 0x1000));
}

// For a function that needs an initialised driver and a context.
int usable(const char* function) {
  const int wanted = answer(function);
  if (wanted != cuda::kSuccess) return wanted;
  if (!driver().started) return cuda::kNotInitialised;
  return current_gpu() < 0 ? cuda::kInvalidContext : cuda::kSuccess;
}

std::vector<int> visible_gpus() {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(scenario().gpus));
  for (int gpu = 0; gpu < scenario().gpus; ++gpu) all.push_back(gpu);
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return all;
  std::vector<int> named;
  named.reserve(all.size());
  for (const auto word : split(text, ',')) {
    const auto gpu = parse_unsigned(word);
    if (!gpu || *gpu >= all.size()) break;  // as the driver: the list ends there
    named.push_back(static_cast<int>(*gpu));
  }
  return named;
}

bool is_device(int device) {
  const auto& visible = driver().visible;
  return std::ranges::find(visible, device) != visible.end();
}

StreamState* own_stream(cuda::Stream stream) {
  auto* found = driver().streams.find(stream);
  return found != nullptr && found->gpu == current_gpu() ? found : nullptr;
}

std::recursive_mutex& lock() {
  static std::recursive_mutex mutex;
  return mutex;
}

const Scenario& scenario() {
  static const Scenario one = load_scenario();
  return one;
}

int answer(const char* function) {
  const auto found = scenario().answers.find(function);
  return found == scenario().answers.end() ? 0 : found->second;
}

int current_gpu() {
  if (t_context == nullptr) return -1;
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(t_context) - 0x1000);
}

void stop(cuda::Stream stream) {
  if (auto* state = own_stream(stream)) state->stopped = true;
}

int put(cuda::Stream stream, Work work) {
  auto* state = own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (state->captured != nullptr) {
    state->captured->work.push_back(std::move(work));
  } else {
    state->waiting.push_back(std::move(work));
  }
  return cuda::kSuccess;
}

}  // namespace muster::fakes::gpu
