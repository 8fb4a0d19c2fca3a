// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/gpu/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "lib/base/files.hpp"

namespace muster::nvml {
namespace {

std::string trouble() {
  const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread opens
  return printable(text == nullptr ? "no reason given" : text, 300);
}

// Looks up a function, and adds a required one that the library lacks to `missing`.
template <class Signature>
void find(void* library, Function<Signature>& function, std::vector<std::string>& missing) {
  for (const auto word : split_words(function.names)) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is for
    function.call = reinterpret_cast<Signature*>(::dlsym(library, std::string(word).c_str()));
    if (function.call == nullptr) continue;
    function.name = word;
    return;
  }
  if (function.required) missing.emplace_back(function.names);
}

// Drivers that Kubernetes installs are not in the folders of the linker.
constexpr std::array<std::string_view, 5> kDriverFolders{
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",   // GPU operator
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",  //
    "/run/nvidia/driver/usr/lib64",                  //
    "/home/kubernetes/bin/nvidia/lib64",             // GKE
    "/usr/lib/nvidia/tesla",                         // Bottlerocket
};

// Whether only root can have made the files in a folder: elsewhere /home/kubernetes may be a user.
bool is_trusted(const std::filesystem::path& folder) {
  for (auto each = folder; each != each.root_path(); each = each.parent_path()) {
    if (!check_own_folder(each)) return false;
  }
  return true;
}

std::vector<std::string> usual_libraries() {
  std::vector<std::string> names{"libnvidia-ml.so.1", "libnvidia-ml.so"};
  for (const auto folder : kDriverFolders) {
    if (is_trusted(folder)) names.push_back(fmt::format("{}/{}", folder, names.front()));
  }
  return names;
}

}  // namespace

Result<Library> open_library(const std::string& named) {
  const auto candidates = named.empty() ? usual_libraries() : std::vector{named};
  std::string why;
  for (const auto& candidate : candidates) {
    void* opened = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      if (why.empty()) why = trouble();
      continue;
    }
    Library library{.path = candidate, .functions = {}};
    std::vector<std::string> missing;
#define MUSTER_NVML_FIND(member, ...) find(opened, library.functions.member, missing);
    MUSTER_NVML_FUNCTIONS(MUSTER_NVML_FIND)
#undef MUSTER_NVML_FIND
    if (missing.empty()) return library;
    return make_error("{} is not a usable NVML library: {} is missing", candidate,
                      fmt::join(missing, ", "));
  }
  return make_missing(std::move(why));
}

Fact<std::uint64_t> number_of(const FieldValue& field) {
  switch (field.type) {
    case kNatural:
      return std::uint64_t{field.value.natural};
    case kLong:
    case kCounter:
      return std::uint64_t{field.value.counter};
    case kSignedCounter:
      if (field.value.signed_counter < 0) break;
      return static_cast<std::uint64_t>(field.value.signed_counter);
    case kInteger:
      if (field.value.integer < 0) break;
      return static_cast<std::uint64_t>(field.value.integer);
    case kSmall:
      return std::uint64_t{field.value.small};
    case kDouble:
      if (!(field.value.number >= 0 && field.value.number < 1e18)) break;
      return static_cast<std::uint64_t>(field.value.number);
    default:
      break;
  }
  return make_error("NVML's field {} is not a natural number", field.field);
}

}  // namespace muster::nvml
