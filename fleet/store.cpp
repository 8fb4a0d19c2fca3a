// SPDX-License-Identifier: Apache-2.0
#include "fleet/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"

namespace muster::fleet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kApplication = 0x6d757374;  // "must"
constexpr unsigned kFileMode = 0644;

// The same locks as those of an acceptance: released by the kernel if the process dies.
OrFailure<Descriptor> lock(const fs::path& store) {
  const auto file = fmt::format("{}.lock", store.string());
  Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!lock.is_open()) return undecided(os_error("write", printable(file), errno).value());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return undecided(os_error("lock", printable(file), errno).value());
    constexpr std::size_t kLongest = 400;
    std::string holder;
    static_cast<void>(read_all(lock.get(), holder, kLongest));
    return undecided({.message = fmt::format("{} is being written by {}", printable(store.string()),
                                             printable(trim(holder)))});
  }
  const auto text = fmt::format("process {} of user {} on {}, since {}\n", ::getpid(), ::geteuid(),
                                host_name(), utc_now());
  if (::ftruncate(lock.get(), 0) != 0 || write_all(lock.get(), text) != 0) {
    return undecided(os_error("write", printable(file), errno).value());
  }
  return lock;
}

// Refuses a file or folder that SQLite does not recognise, before creating files next to it.
OrFailure<void> check_kind(const fs::path& file) {
  constexpr std::string_view kBegin = "SQLite format 3";
  std::error_code failure;
  const bool is_file = fs::is_regular_file(file, failure);
  std::string head(kBegin.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  const bool is_read = is_file && in.read(head.data(), std::ssize(head)).gcount() > 0;
  const bool is_foreign = is_file ? is_read && head != kBegin : fs::exists(file, failure);
  if (!is_foreign) return {};
  return bad_configuration(
      {.message = fmt::format("{} is not a fleet store", printable(file.string()))});
}

// Whether the file is a store; false if it is empty.
OrFailure<bool> check_version(Database& database, const fs::path& file) {
  const auto read = [&](const char* pragma) { return database.whole(pragma); };
  const auto application = read("PRAGMA application_id");
  if (!application) return undecided(application.error());
  const auto version = read("PRAGMA user_version");
  if (!version) return undecided(version.error());
  const auto tables = read("SELECT count(*) FROM sqlite_schema");
  if (!tables) return undecided(tables.error());
  if (**tables == 0) return false;
  const auto name = printable(file.string());
  if (**application != kApplication) {
    return bad_configuration({.message = fmt::format("{} is not a fleet store", name)});
  }
  if (**version > kStoreVersion) {
    return bad_configuration(
        {.message = fmt::format("{}: version {} of the fleet store, expected at most {}; use the "
                                "muster that wrote it, or import the files into another store",
                                name, **version, kStoreVersion)});
  }
  return true;
}

Result<void> create_tables(Database& database) {
  return in_transaction(database, [&] {
    return database.execute(fmt::format("{}PRAGMA application_id = {};PRAGMA user_version = {};",
                                        schema_sql(), kApplication, kStoreVersion));
  });
}

}  // namespace

OrFailure<Store> Store::open_to_write(const fs::path& file) {
  TRY(check_kind(file));
  TRY_ASSIGN(auto locked, lock(file));
  auto database = Database::open(file.string(), Database::Mode::create);
  if (!database) return undecided(database.error());
  TRY_ASSIGN(const bool is_store, check_version(*database, file));
  const auto settings = database->execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -262144;"
      "PRAGMA wal_autocheckpoint = 25000; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF;");
  if (!settings) return undecided(settings.error());
  if (!is_store) {
    const auto created = create_tables(*database);
    if (!created) return undecided(created.error());
  }
  return Store(*std::move(database), std::move(locked));
}

OrFailure<Store> Store::open_to_read(const fs::path& file) {
  std::error_code failure;
  if (!fs::exists(file, failure)) {
    return bad_configuration(
        {.message = fmt::format("{}: no fleet store; make one with muster fleet add",
                                printable(file.string()))});
  }
  TRY(check_kind(file));
  auto database = Database::open(file.string(), Database::Mode::read);
  if (!database) return undecided(database.error());
  TRY_ASSIGN(const bool is_store, check_version(*database, file));
  if (!is_store) {
    return bad_configuration(
        {.message = fmt::format("{} is not a fleet store", printable(file.string()))});
  }
  const auto mapped = database->map();
  if (!mapped) return undecided(mapped.error());
  return Store(*std::move(database), Descriptor());
}

std::string compressed(std::string_view text) {
  auto size = ::compressBound(text.size());
  std::string bytes(sizeof(std::uint64_t) + size, '\0');
  const std::uint64_t before = text.size();
  std::memcpy(bytes.data(), &before, sizeof before);
  ::compress(reinterpret_cast<Bytef*>(bytes.data()) + sizeof before, &size,
             reinterpret_cast<const Bytef*>(text.data()), text.size());
  bytes.resize(sizeof before + size);
  return bytes;
}

Result<std::string> decompressed(std::string_view bytes) {
  std::uint64_t before = 0;
  constexpr std::uint64_t kLargest = 1UL << 30U;
  if (bytes.size() >= sizeof before) std::memcpy(&before, bytes.data(), sizeof before);
  std::string text(std::min(before, kLargest), '\0');
  ::uLongf size = text.size();
  const auto packed = bytes.substr(std::min(bytes.size(), sizeof before));
  const int code = ::uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (code == Z_OK && size == before) return text;
  return make_error("a compressed document is damaged");
}

}  // namespace muster::fleet
