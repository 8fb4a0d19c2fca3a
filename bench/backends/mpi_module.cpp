// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "bench/backends/mpi/module.hpp"

namespace muster::bench {

std::filesystem::path mpi_module_path() {
  const char* const chosen = std::getenv("MUSTER_MPI_MODULE");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code ignored;  // without /proc the module is not found
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "muster" / "muster_mpi.so";
}

Result<StartMpi> open_mpi_module(const std::filesystem::path& module) {
  // Open MPI loads modules that need its symbols to be global. Never closed, since MPI leaves
  // threads and handlers behind.
  void* const library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return make_missing("open the MPI module: {}", ::dlerror());
  void* const entry = ::dlsym(library, kMpiEntry);
  if (entry == nullptr) {
    return make_error("{} belongs to another version of this program", module.string());
  }
  return reinterpret_cast<StartMpi>(entry);
}

Result<std::unique_ptr<MpiJob>> start_mpi(const std::filesystem::path& module) {
  TRY_ASSIGN(const auto start, open_mpi_module(module));
  std::string why;
  std::unique_ptr<MpiJob> job(start(&why));
  if (!job) return make_error("start MPI: {}", why);
  return job;
}

}  // namespace muster::bench
