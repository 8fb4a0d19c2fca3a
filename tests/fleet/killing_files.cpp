// SPDX-License-Identifier: Apache-2.0
#include "tests/fleet/killing_files.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <map>

namespace muster::fleet {
namespace {

int left = 0;
sqlite3_vfs* real_files = nullptr;
sqlite3_vfs files;
// The methods of the store and its log differ in their locks but write with the same functions.
const sqlite3_io_methods* real_methods = nullptr;
std::map<const sqlite3_io_methods*, sqlite3_io_methods> counting;

void count() {
  if (--left == 0) ::_exit(kKilled);
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  count();
  return real_methods->xWrite(file, bytes, size, offset);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  count();
  return real_methods->xTruncate(file, size);
}

int sync(sqlite3_file* file, int flags) {
  count();
  return real_methods->xSync(file, flags);
}

int open(sqlite3_vfs* /*files*/, const char* name, sqlite3_file* file, int flags, int* opened) {
  const int code = real_files->xOpen(real_files, name, file, flags, opened);
  if (code != SQLITE_OK || file->pMethods == nullptr) return code;
  real_methods = file->pMethods;
  auto& methods = counting[real_methods];
  methods = *real_methods;
  methods.xWrite = write;
  methods.xTruncate = truncate;
  methods.xSync = sync;
  file->pMethods = &methods;
  return code;
}

}  // namespace

void kill_at_write(int number) {
  left = number;
  real_files = sqlite3_vfs_find(nullptr);
  files = *real_files;
  files.zName = "killing";
  files.xOpen = open;
  sqlite3_vfs_register(&files, 1);
}

}  // namespace muster::fleet
