// SPDX-License-Identifier: Apache-2.0
// Runs when muster is built: `embed_yaml SOURCE FOLDER NAME...` reads the named files below the
// folder and writes the source file that carries them. A file that is not YAML ends the build.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/atomic_file.hpp"
#include "lib/profile/yaml.hpp"
#include "lib/profile/yaml_pack.hpp"

namespace {

// A string literal of any bytes, a line of the source for each of the text's.
std::string literal_of(std::string_view bytes) {
  std::string literal = "\"";
  for (const char c : bytes) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    // Three octal digits, so that no digit behind them is taken for another.
    literal += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    if (c == '\n') literal += "\"\n    \"";
  }
  return literal + '"';
}

int fail(const muster::Error& error) {
  fmt::print(stderr, "embed_yaml: {}\n", error.message);
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> names(arguments + std::min(count, 3), arguments + count);
  std::ranges::sort(names);
  std::string rows;
  for (const auto& name : names) {
    const auto text = muster::read_yaml_text(std::filesystem::path(arguments[2]) / name);
    const auto tree = text ? muster::parse_yaml(*text, name) : tl::unexpected(text.error());
    if (!tree) return fail(tree.error());
    rows += fmt::format("    {{{}sv,\n    {}sv,\n    {}sv}},\n", literal_of(name),
                        literal_of(*text), literal_of(muster::pack_yaml(*tree)));
  }
  const auto source = fmt::format(
      "// Made by embed_yaml.\n#include <array>\n\n#include \"lib/profile/shipped.hpp\"\n\n"
      "namespace muster {{\n\nusing namespace std::string_view_literals;\n\n"
      "std::span<const ShippedFile> shipped_files() {{\n"
      "  static constexpr std::array<ShippedFile, {}> kFiles{{{{\n{}  }}}};\n"
      "  return kFiles;\n}}\n\n}}  // namespace muster\n",
      names.size(), rows);
  const auto written = muster::replace_file(arguments[1], source, 0644);
  return written ? 0 : fail(written.error());
}
