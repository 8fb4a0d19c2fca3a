// SPDX-License-Identifier: Apache-2.0
// Builds the tree from yaml-cpp's events.
#include "lib/profile/yaml.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxFile = 256UL * 1024;
constexpr std::size_t kMaxDepth = 64;

// Keeps the first thing that is wrong, and takes nothing in after it.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(begun_, true)) refuse(line_of(mark), "more than one document");
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    add({.kind = Yaml::Kind::null, .line = line_of(mark)});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(line_of(mark), "aliases (*name) are not supported; write the value out, or quote it");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    check_tag(line_of(mark), tag);
    add({.kind = Yaml::Kind::scalar, .line = line_of(mark), .text = value});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Yaml::Kind::sequence, line_of(mark), tag);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Yaml::Kind::mapping, line_of(mark), tag);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapEnd() override { close(); }

  [[nodiscard]] static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  [[nodiscard]] bool failed() const { return error_.has_value(); }

  [[nodiscard]] Result<Yaml> document() {
    if (error_) return make_error(*error_);
    return std::move(document_);
  }

 private:
  // A sequence or mapping that is not closed yet.
  struct Open {
    Yaml node;
    std::optional<std::pair<std::string, int>> key;  // read, its value is still to come
    std::map<std::string, int> lines;                // of the keys so far
  };

  void refuse(int line, std::string_view why) {
    if (!error_) error_ = fmt::format("{}: {}", at(file_, line), why);
  }

  void check_tag(int line, const std::string& tag) {
    // "?" stands for no tag; "!" says no more than that a value is text.
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(line, fmt::format("tags ({}) are not supported", printable(tag, 40)));
  }

  void open(Yaml::Kind kind, int line, const std::string& tag) {
    check_tag(line, tag);
    if (open_.size() >= kMaxDepth) refuse(line, "nested too deeply");
    open_.push_back({.node = {.kind = kind, .line = line}});
  }

  void close() {
    Yaml done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(Yaml value) {
    if (error_) return;
    if (open_.empty()) {
      document_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Yaml::Kind::sequence) {
      parent.node.items.push_back(std::move(value));
    } else if (!parent.key) {
      take_key(parent, std::move(value));
    } else {
      auto [key, line] = *std::exchange(parent.key, std::nullopt);
      parent.node.entries.push_back({std::move(key), line, std::move(value)});
    }
  }

  void take_key(Open& parent, Yaml key) {
    if (key.kind != Yaml::Kind::scalar) refuse(key.line, "a key must be a word");
    const auto [first, is_new] = parent.lines.emplace(key.text, key.line);
    if (!is_new) {
      refuse(key.line, fmt::format("the key '{}' stands here twice; first on line {}",
                                   printable(key.text, 80), first->second));
    }
    parent.key.emplace(std::move(key.text), key.line);
  }

  std::string file_;
  std::vector<Open> open_;
  Yaml document_;
  std::optional<std::string> error_;
  bool begun_ = false;
};

// yaml-cpp says what was not found; which character would have been right helps more.
std::string problem_of(const YAML::Exception& exception) {
  const std::string_view problem = exception.msg;
  if (problem == YAML::ErrorMsg::END_OF_SEQ_FLOW) {
    return "did not find expected ',' or ']' while parsing a flow sequence";
  }
  if (problem == YAML::ErrorMsg::END_OF_MAP_FLOW) {
    return "did not find expected ',' or '}' while parsing a flow mapping";
  }
  return printable(problem, 200);
}

// The line of the first byte that is no text, 0 where there is none: yaml-cpp takes control
// characters in, and puts another character in place of what is not UTF-8.
int line_of_no_text(std::string_view text) {
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

Result<std::string> read_text(int descriptor, std::string_view path) {
  std::string text;
  if (const int code = read_all(descriptor, text, kMaxFile); code != 0) {
    return os_error("read", path, code);
  }
  if (text.size() > kMaxFile) return make_error(fmt::format("read {}: larger than 256 KiB", path));
  return text;
}

}  // namespace

const Yaml* Yaml::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &YamlEntry::key);
  return found == entries.end() ? nullptr : &found->value;
}

std::string at(std::string_view file, int line) {
  return line > 0 ? fmt::format("{}:{}", file, line) : std::string(file);
}

Result<Yaml> parse_yaml(std::string_view text, std::string_view file) {
  if (const int line = line_of_no_text(text); line > 0) {
    return make_error(fmt::format("{}: not YAML: a control character, or a byte that is not UTF-8",
                                  at(file, line)));
  }
  TreeBuilder builder(file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (!builder.failed() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    if (!builder.failed()) {
      const int line = TreeBuilder::line_of(exception.mark);
      return make_error(fmt::format("{}: not YAML: {}", at(file, line), problem_of(exception)));
    }
  }
  return builder.document();
}

Result<std::string> read_yaml_text(const std::filesystem::path& path) {
  // Not blocking, so that a pipe in the place of a file cannot hold us.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) {
    const int code = errno;
    auto error = os_error("read", path.native(), code);
    error.value().missing = code == ENOENT || code == ENOTDIR;
    return error;
  }

  struct stat status {};

  if (fstat(file.get(), &status) != 0) return os_error("read", path.native(), errno);
  if (!S_ISREG(status.st_mode)) {
    return make_error(fmt::format("read {}: not a regular file", path.string()));
  }
  return read_text(file.get(), path.string());
}

}  // namespace muster
