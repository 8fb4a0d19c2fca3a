// SPDX-License-Identifier: Apache-2.0
// OpenSSL, loaded when one of its functions is first needed: linking it would slow down the start
// of every command, and few need it.
#pragma once

namespace muster {

// The address of a function in libcrypto.so.3, or in libssl.so.3 and what it needs. Throws
// std::runtime_error if it cannot be loaded.
[[nodiscard]] void* find_in_libcrypto(const char* name);
[[nodiscard]] void* find_in_libssl(const char* name);

}  // namespace muster

// Defines a pointer to a function of OpenSSL under the function's name, so that OpenSSL's macros
// find it. LIBRARY is libcrypto or libssl.
#ifdef MUSTER_LINKS_OPENSSL
#define MUSTER_OPENSSL(library, name) decltype(&::name) name = &::name
#else
#define MUSTER_OPENSSL(library, name) \
  decltype(&::name) name = reinterpret_cast<decltype(&::name)>(::muster::find_in_##library(#name))
#endif
