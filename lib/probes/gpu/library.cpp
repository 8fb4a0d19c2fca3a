// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/gpu/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster::nvml {
namespace {

std::string trouble() {
  const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread opens
  return printable(text == nullptr ? "no reason given" : text, 300);
}

class FunctionFinder {
 public:
  explicit FunctionFinder(void* library) : library_(library) {}

  template <class Signature>
  void find(Function<Signature>& function) {
    for (const auto word : split_words(function.names)) {
      const std::string name(word);
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is for
      function.call = reinterpret_cast<Signature*>(::dlsym(library_, name.c_str()));
      if (function.call == nullptr) continue;
      function.name = word;
      return;
    }
    if (function.required) missing_.emplace_back(function.names);
  }

  // The required functions that the library does not have.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  void* library_;
  std::vector<std::string> missing_;
};

}  // namespace

Result<Library> open_library(const std::string& named) {
  std::vector<std::string> candidates{"libnvidia-ml.so.1", "libnvidia-ml.so"};
  if (!named.empty()) candidates = {named};
  std::string why;
  for (const auto& candidate : candidates) {
    void* opened = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      if (why.empty()) why = trouble();
      continue;
    }
    Library library{.path = candidate, .functions = {}};
    FunctionFinder finder(opened);
#define MUSTER_NVML_FIND(member, ...) finder.find(library.functions.member);
    MUSTER_NVML_FUNCTIONS(MUSTER_NVML_FIND)
#undef MUSTER_NVML_FIND
    if (finder.missing().empty()) return library;
    return make_error(fmt::format("{} is not a usable NVML library: {} is missing", candidate,
                                  fmt::join(finder.missing(), ", ")));
  }
  return make_missing(std::move(why));
}

}  // namespace muster::nvml
