// SPDX-License-Identifier: Apache-2.0
// Builds the tree from yaml-cpp's parse events; its exceptions end here.
#include "lib/profile/yaml.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxFile = 256UL * 1024;

// Keeps the first thing that is wrong, and takes nothing in after it.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    add(node(Yaml::Kind::null, mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, "aliases (*name) are not supported; write the value out, or quote it");
    add(node(Yaml::Kind::null, mark));
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    check_tag(mark, tag);
    Yaml scalar = node(Yaml::Kind::scalar, mark);
    scalar.text = value;
    add(std::move(scalar));
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Yaml::Kind::sequence, mark, tag);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Yaml::Kind::mapping, mark, tag);
  }

  void OnMapEnd() override { close(); }

  [[nodiscard]] Result<Yaml> take() {
    if (error_) return make_error(*error_);
    return std::move(document_);
  }

  void refuse(const YAML::Mark& mark, std::string_view why) { refuse_line(mark.line + 1, why); }

 private:
  // A sequence or mapping that is not closed yet.
  struct Open {
    Yaml node;
    std::optional<std::pair<std::string, int>> key;  // read, its value is still to come
    std::map<std::string, int> lines;                // of the keys so far
  };

  [[nodiscard]] static Yaml node(Yaml::Kind kind, const YAML::Mark& mark) {
    Yaml result;
    result.kind = kind;
    result.line = mark.line + 1;
    return result;
  }

  void refuse_line(int line, std::string_view why) {
    if (!error_) error_ = fmt::format("{}: {}", at(file_, line), why);
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    // yaml-cpp says "?" for a plain value and "!" for a quoted one.
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, fmt::format("tags ({}) are not supported", printable(tag, 40)));
    }
  }

  void open(Yaml::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    check_tag(mark, tag);
    open_.push_back(Open{node(kind, mark), {}, {}});
  }

  void close() {
    if (open_.empty()) return;
    Yaml done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(Yaml value) {
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
    if (key.kind != Yaml::Kind::scalar) refuse_line(key.line, "a key must be a word");
    const auto [first, is_new] = parent.lines.emplace(key.text, key.line);
    if (!is_new) {
      refuse_line(key.line,
                  fmt::format("the key '{}' stands here twice; first on line {}",
                              printable(key.text, 80),
                              first->second));
    }
    parent.key.emplace(std::move(key.text), key.line);
  }

  std::string file_;
  std::vector<Open> open_;
  Yaml document_;
  std::optional<std::string> error_;
};

std::string reason() { return std::error_code(errno, std::generic_category()).message(); }

struct Descriptor {
  int number = -1;

  explicit Descriptor(int opened) : number(opened) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

Result<std::string> read_all(int descriptor, std::string_view path) {
  std::string text;
  std::array<char, 16384> block{};
  while (true) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(fmt::format("read {}: {}", path, reason()));
    if (count == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxFile) {
      return make_error(fmt::format("read {}: larger than 256 KiB", path));
    }
  }
}

// The top-level key that a line begins, empty when it begins none.
std::string_view key_of(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  return trim(line.substr(0, colon));
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
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(file);
    if (!parser.HandleNextDocument(builder)) return Yaml{};
    TreeBuilder rest(file);
    if (parser.HandleNextDocument(rest)) {
      return make_error(fmt::format("{}: more than one document", file));
    }
    return builder.take();
  } catch (const YAML::Exception& e) {
    return make_error(
        fmt::format("{}: not YAML: {}", at(file, e.mark.line + 1), printable(e.msg, 200)));
  } catch (const std::exception& e) {
    return make_error(fmt::format("{}: not YAML: {}", file, printable(e.what(), 200)));
  }
}

Result<std::string> read_yaml_text(const std::filesystem::path& path) {
  // Not blocking, so that a pipe in the place of a file cannot hold us.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number < 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    std::string message = fmt::format("read {}: {}", path.string(), reason());
    return missing ? make_missing(std::move(message)) : make_error(std::move(message));
  }

  struct stat status {};

  if (fstat(file.number, &status) != 0) {
    return make_error(fmt::format("read {}: {}", path.string(), reason()));
  }
  if (!S_ISREG(status.st_mode)) {
    return make_error(fmt::format("read {}: not a regular file", path.string()));
  }
  return read_all(file.number, path.string());
}

std::string only_sections(std::string_view text, const std::vector<std::string_view>& keys) {
  std::string kept;
  std::size_t end = 0;  // of what is kept, without the blanked lines behind it
  bool inside = false;
  for (const std::string_view line : split_lines(text)) {
    const char first = line.empty() ? ' ' : line.front();
    // Not the plain form of a profile: leave it to the parser as it is.
    if (std::string_view("{\"'?!&[").find(first) != std::string_view::npos)
      return std::string(text);
    const bool continues = std::string_view(" \t\r-}]").find(first) != std::string_view::npos;
    if (!continues && first != '#') inside = std::ranges::count(keys, key_of(line)) > 0;
    if (inside && first != '#') {
      kept.append(line);
      end = kept.size() + 1;
    }
    kept.push_back('\n');
  }
  kept.resize(std::min(end, kept.size()));
  return kept;
}

}  // namespace muster
