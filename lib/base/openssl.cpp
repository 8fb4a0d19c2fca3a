// SPDX-License-Identifier: Apache-2.0
#include "lib/base/openssl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace muster {
namespace {

void* find(const char* library, const char* name) {
  void* const handle =
      ::dlopen(library, RTLD_NOW | RTLD_LOCAL);  // the same each time, never closed
  void* const found = handle == nullptr ? nullptr : ::dlsym(handle, name);
  if (found == nullptr) throw std::runtime_error(fmt::format("load OpenSSL: {}", ::dlerror()));
  return found;
}

}  // namespace

void* find_in_libcrypto(const char* name) { return find(MUSTER_LIBCRYPTO, name); }
void* find_in_libssl(const char* name) { return find(MUSTER_LIBSSL, name); }

}  // namespace muster
