// SPDX-License-Identifier: Apache-2.0
#include "lib/command/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

#include "lib/base/descriptor.hpp"
#include "lib/base/files.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

// EPIPE needs no message.
Result<void> write_to(int descriptor, std::string_view name, std::string_view text) {
  const int code = write_all(descriptor, text);
  if (code == 0) return {};
  if (code == EPIPE) return make_error("");
  return os_error("write", name, code);
}

// Whether the user wants colours on a terminal.
bool allows_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool dumb = kind != nullptr && std::string_view(kind) == "dumb";
  return !dumb && (no_colour == nullptr || *no_colour == '\0');
}

// No colours and no width, unless `descriptor` is a terminal.
void fit_to(Console& console, int descriptor) {
  const bool terminal = ::isatty(descriptor) == 1;
  winsize size{};
  const bool has_width = terminal && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0;
  console.colour = terminal && allows_colour();
  console.width = has_width ? size.ws_col : 0U;
}

std::filesystem::path folder_of(const std::filesystem::path& proc, int process) {
  return proc / fmt::format("{}", process);
}

// 0 if it is unknown.
int parent_of(const std::filesystem::path& proc, int process) {
  std::ifstream status(folder_of(proc, process) / "status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with("PPid:")) continue;
    const auto parent = parse_unsigned(trim(std::string_view(line).substr(5)));
    return parent && *parent <= INT_MAX ? static_cast<int>(*parent) : 0;
  }
  return 0;
}

// Returns the standard output of the first ancestor whose output differs from this process's.
std::filesystem::path launchers_output(const std::filesystem::path& proc, int process) {
  std::error_code failure;
  const auto own = std::filesystem::read_symlink(folder_of(proc, process) / "fd/1", failure);
  for (int each = parent_of(proc, process); each > 1; each = parent_of(proc, each)) {
    auto file = folder_of(proc, each) / "fd/1";
    if (std::filesystem::read_symlink(file, failure) != own) return file;
  }
  return {};
}

}  // namespace

Console make_console() {
  Console console;
  console.out = [](std::string_view text) {
    return write_to(STDOUT_FILENO, "to standard output", text);
  };
  console.note = [](std::string_view line) {
    // If standard error cannot be written, there is nowhere to report it.
    (void)write_all(STDERR_FILENO, fmt::format("{}\n", printable(line, 1000)));
  };
  fit_to(console, STDOUT_FILENO);
  return console;
}

void follow_launcher(Console& console, const std::map<std::string, std::string>& variables,
                     const std::filesystem::path& proc, int process) {
  if (!variables.contains("OMPI_COMM_WORLD_RANK") && !variables.contains("MPI_LOCALRANKID")) return;
  const auto file = launchers_output(proc, process);
  const Descriptor output(::open(file.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  fit_to(console, output.get());
}

std::optional<int> descriptor_named(std::string_view name) {
  constexpr unsigned kLargest = std::numeric_limits<int>::max();
  if (name.empty() || name == "-" || name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    const auto number = parse_unsigned(name.substr(folder.size()));
    if (number && *number <= kLargest) return static_cast<int>(*number);
  }
  return std::nullopt;
}

std::string with_host(std::string_view file) {
  std::string name;
  while (!file.empty()) {
    const bool host = file.starts_with("%h");
    host ? name.append(without_domain(host_name())) : name.append(1, file.front());
    file.remove_prefix(host || file.starts_with("%%") ? 2 : 1);
  }
  return name;
}

Result<Destination> Destination::open(const Console& console, const std::string& named,
                                      unsigned mode) {
  const auto file = with_host(named);
  const auto descriptor = descriptor_named(file);
  if (descriptor == STDOUT_FILENO) return Destination(console.out);
  if (descriptor) {
    return Destination([number = *descriptor, file](std::string_view text) {
      return write_to(number, file, text);
    });
  }
  // Users must not choose where root writes to.
  if (::geteuid() == 0) TRY(check_no_others_link(file));
  // Replace the target of a link, not the link.
  std::error_code failure;
  auto target = std::filesystem::canonical(file, failure);
  if (failure) target = file;
  TRY_ASSIGN(auto replacement, FileReplacement::begin(target, mode));
  return Destination(std::move(replacement));
}

Result<void> Destination::write(std::string_view text) {
  return file_ ? file_->append(text) : out_(text);
}

Result<void> Destination::finish() {
  if (!file_) return {};
  return file_->finish();
}

Result<void> write_answer(const Console& console, const std::string& file, std::string_view text,
                          unsigned mode) {
  TRY_ASSIGN(auto destination, Destination::open(console, file, mode));
  if (auto written = destination.write(text); !written) return written;
  return destination.finish();
}

int fail(const Caller& caller, const Failure& failure) {
  if (!failure.message.empty()) caller.console.note(fmt::format("muster: {}", failure.message));
  return failure.status;
}

int deliver(const Caller& caller, const std::string& file, std::string_view text, int status,
            unsigned mode) {
  const auto written = write_answer(caller.console, file, text, mode);
  if (written) return status;
  const int failed = fail(caller, undecided(written.error()).value());
  // Print the answer instead, unless only its owner may read it.
  constexpr unsigned kOthers = 077;
  const bool may_print = (mode & kOthers) != 0 && descriptor_named(file) != STDOUT_FILENO;
  if (may_print) static_cast<void>(caller.console.out(text));
  return failed;
}

}  // namespace muster
