// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/errors.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cctype>

namespace muster::bench::mpi {

Result<void> check(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    return make_error(fmt::format("{}: error {}", call, code));
  }
  return make_error(
      fmt::format("{}: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

// Open MPI says "Open MPI v4.1.4, package: …", MPICH "MPICH Version:\t4.0.2\nMPICH Release date…",
// Intel MPI "Intel(R) MPI Library 2021.5 for Linux* OS".
std::string library_name(std::string_view text) {
  text = text.substr(0, text.find_first_of(",\n"));
  std::string name;
  while (!text.empty()) {
    const auto end = text.find_first_of(" \t");
    auto word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (word.empty() || word == "Version:") continue;
    const bool is_version =
        word.size() > 1 && word[0] == 'v' && std::isdigit(static_cast<unsigned char>(word[1])) != 0;
    if (is_version) word.remove_prefix(1);
    if (!name.empty()) name += ' ';
    name += word;
  }
  return name;
}

}  // namespace muster::bench::mpi
