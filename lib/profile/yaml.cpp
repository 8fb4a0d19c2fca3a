// SPDX-License-Identifier: Apache-2.0
// Builds the tree from libyaml's parse events.
#include "lib/profile/yaml.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxFile = 256UL * 1024;
constexpr std::size_t kMaxDepth = 64;

std::string_view view(const yaml_char_t* text, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): unsigned bytes of UTF-8
  return {reinterpret_cast<const char*>(text), size};
}

std::string_view view(const yaml_char_t* text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): unsigned bytes of UTF-8
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

int line_of(const yaml_mark_t& mark) { return static_cast<int>(mark.line) + 1; }

// libyaml's parser over one text.
class Events {
 public:
  explicit Events(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): unsigned bytes of UTF-8
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    yaml_parser_set_input_string(&parser_, bytes, text.size());
  }

  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  ~Events() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  // None where the text is not YAML; it holds until the next call.
  [[nodiscard]] const yaml_event_t* next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) == 0 ? nullptr : &event_;
  }

  [[nodiscard]] Error trouble(std::string_view file) const {
    const auto line = line_of(parser_.problem_mark);
    const auto* what = parser_.problem == nullptr ? "no memory" : parser_.problem;
    const auto while_doing =
        parser_.context == nullptr ? "" : fmt::format(" {}", printable(parser_.context, 120));
    return Error{
        fmt::format("{}: not YAML: {}{}", at(file, line), printable(what, 200), while_doing)};
  }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

// Keeps the first thing that is wrong, and takes nothing in after it.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::string_view file) : file_(file) {}

  // False once something is wrong.
  bool take(const yaml_event_t& event) {
    const int line = line_of(event.start_mark);
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(begun_, true)) refuse(line, "more than one document");
        break;
      case YAML_ALIAS_EVENT:
        refuse(line, "aliases (*name) are not supported; write the value out, or quote it");
        break;
      case YAML_SCALAR_EVENT:
        scalar(event.data.scalar, line);
        break;
      case YAML_SEQUENCE_START_EVENT:
        open(Yaml::Kind::sequence, line, event.data.sequence_start.tag);
        break;
      case YAML_MAPPING_START_EVENT:
        open(Yaml::Kind::mapping, line, event.data.mapping_start.tag);
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        close();
        break;
      default:
        break;
    }
    return !error_;
  }

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

  [[nodiscard]] static Yaml node(Yaml::Kind kind, int line) {
    Yaml result;
    result.kind = kind;
    result.line = line;
    return result;
  }

  void refuse(int line, std::string_view why) {
    if (!error_) error_ = fmt::format("{}: {}", at(file_, line), why);
  }

  void check_tag(int line, const yaml_char_t* tag) {
    const auto text = view(tag);
    // "!" says no more than that a value is text.
    if (text.empty() || text == "!") return;
    refuse(line, fmt::format("tags ({}) are not supported", printable(text, 40)));
  }

  using Scalar = decltype(yaml_event_t{}.data.scalar);

  void scalar(const Scalar& read, int line) {
    check_tag(line, read.tag);
    const auto text = view(read.value, read.length);
    constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};
    const bool plain = read.style == YAML_PLAIN_SCALAR_STYLE;
    const bool null = plain && std::ranges::count(kNull, text) > 0;
    Yaml scalar = node(null ? Yaml::Kind::null : Yaml::Kind::scalar, line);
    if (!null) scalar.text = text;
    add(std::move(scalar));
  }

  void open(Yaml::Kind kind, int line, const yaml_char_t* tag) {
    check_tag(line, tag);
    if (open_.size() >= kMaxDepth) refuse(line, "nested too deeply");
    open_.push_back(Open{node(kind, line), {}, {}});
  }

  void close() {
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
    if (key.kind != Yaml::Kind::scalar) refuse(key.line, "a key must be a word");
    const auto [first, is_new] = parent.lines.emplace(key.text, key.line);
    if (!is_new) {
      refuse(key.line,
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
  bool begun_ = false;
};

std::string reason() { return std::error_code(errno, std::generic_category()).message(); }

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
  Events events(text);
  TreeBuilder builder(file);
  for (;;) {
    const auto* event = events.next();
    if (event == nullptr) return tl::unexpected(events.trouble(file));
    if (event->type == YAML_STREAM_END_EVENT || !builder.take(*event)) return builder.document();
  }
}

Result<std::string> read_yaml_text(const std::filesystem::path& path) {
  // Not blocking, so that a pipe in the place of a file cannot hold us.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    std::string message = fmt::format("read {}: {}", path.string(), reason());
    return missing ? make_missing(std::move(message)) : make_error(std::move(message));
  }

  struct stat status {};

  if (fstat(file.get(), &status) != 0) {
    return make_error(fmt::format("read {}: {}", path.string(), reason()));
  }
  if (!S_ISREG(status.st_mode)) {
    return make_error(fmt::format("read {}: not a regular file", path.string()));
  }
  return read_all(file.get(), path.string());
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
