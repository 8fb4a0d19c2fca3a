// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/yaml.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "lib/base/files.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxFile = 256UL * 1024;
constexpr int kMaxDepth = 64;

int line_of(const YAML::Mark& mark) { return mark.line + 1; }

class TreeBuilder {
 public:
  // Aliases may repeat parts of a document, but not make it larger than its text.
  TreeBuilder(std::string_view file, std::size_t text_size) : file_(file), left_(text_size + 1) {}

  // NOLINTNEXTLINE(misc-no-recursion): at most kMaxDepth levels
  [[nodiscard]] Result<Yaml> build(const YAML::Node& node, int depth = 0) {
    Yaml tree{.line = line_of(node.Mark())};
    if (depth > kMaxDepth) return refuse(tree.line, "nested too deeply");
    if (left_ == 0) return refuse(tree.line, "aliases repeat too much of the document");
    --left_;
    // "?" means no tag, and "!" is a quoted scalar.
    if (const auto& tag = node.Tag(); !tag.empty() && tag != "?" && tag != "!") {
      return refuse(tree.line, fmt::format("tags ({}) are not supported", printable(tag, 40)));
    }
    if (node.IsScalar()) {
      tree.kind = Yaml::Kind::scalar;
      tree.text = node.Scalar();
    } else if (node.IsSequence()) {
      tree.kind = Yaml::Kind::sequence;
      for (const auto& item : node) {
        TRY_ASSIGN(auto value, build(item, depth + 1));
        tree.items.push_back(std::move(value));
      }
    } else if (node.IsMap()) {
      tree.kind = Yaml::Kind::mapping;
      TRY(add_entries(node, depth, tree));
    }
    return tree;
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  [[nodiscard]] Result<void> add_entries(const YAML::Node& node, int depth, Yaml& mapping) {
    std::map<std::string, int> lines;
    for (const auto& entry : node) {
      const int line = line_of(entry.first.Mark());
      if (!entry.first.IsScalar()) return refuse(line, "a key must be text");
      const auto& key = entry.first.Scalar();
      const auto [first, is_new] = lines.emplace(key, line);
      if (!is_new) {
        return refuse(line, fmt::format("duplicate key '{}', first on line {}", printable(key, 80),
                                        first->second));
      }
      TRY_ASSIGN(auto value, build(entry.second, depth + 1));
      mapping.entries.push_back({key, line, std::move(value)});
    }
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> refuse(int line, std::string_view why) const {
    return make_error("{}: {}", at(file_, line), why);
  }

  std::string_view file_;
  std::size_t left_;  // nodes that may still be built
};

std::string problem_of(const YAML::Exception& exception) {
  const std::string_view problem = exception.msg;
  if (problem == YAML::ErrorMsg::UNKNOWN_ANCHOR)
    return "unknown alias; quote text that begins with *";
  return printable(problem, 200);
}

// Returns the line of the first control character or byte that is not UTF-8, or 0: yaml-cpp accepts
// control characters and replaces invalid bytes.
int line_of_invalid_text(std::string_view text) {
  int line = 1;
  while (!text.empty()) {
    const auto length = utf8_length(text);
    const char c = text.front();
    const bool space = c == '\n' || c == '\r' || c == '\t';
    if (length == 0 || (length == 1 && (c < ' ' || c == '\x7f') && !space)) return line;
    if (c == '\n') ++line;
    text.remove_prefix(length);
  }
  return 0;
}

}  // namespace

const Yaml* Yaml::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &YamlEntry::key);
  return found == entries.end() ? nullptr : &found->value;
}

std::string at(std::string_view file, int line) {
  return line > 0 ? fmt::format("{}:{}", file, line) : std::string(file);
}

std::string hint(std::string_view word, const std::vector<std::string>& known) {
  const auto near = nearest(word, known);
  return near.empty() ? fmt::format("known here: {}", fmt::join(known, ", "))
                      : fmt::format("did you mean '{}'?", near);
}

Result<Yaml> parse_yaml(std::string_view text, std::string_view file) {
  const auto invalid = [&](int line, std::string_view why) {
    return make_error("{}: invalid YAML: {}", at(file, line), why);
  };
  if (const int line = line_of_invalid_text(text); line > 0) {
    return invalid(line, "a control character, or a byte that is not UTF-8");
  }
  try {
    const auto documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return Yaml{};
    if (documents.size() > 1)
      return invalid(line_of(documents[1].Mark()), "more than one document");
    return TreeBuilder(file, text.size()).build(documents.front());
  } catch (const YAML::Exception& exception) {
    return invalid(line_of(exception.mark), problem_of(exception));
  }
}

Result<std::string> read_yaml_text(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not block.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return file_error("read", path.native(), errno);
  return read_file(file, path.native(), kMaxFile);
}

}  // namespace muster
