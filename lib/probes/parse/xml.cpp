// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxElements = 65536;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

bool is_name(char c) { return is_name_start(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; }

// The five entities that need no declaration; empty for any other.
std::optional<std::string> decode_entities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string result;
  while (!text.empty()) {
    if (text.front() != '&') {
      result.push_back(text.front());
      text.remove_prefix(1);
      continue;
    }
    const auto* const known =
        std::find_if(kEntities.begin(), kEntities.end(),
                     [&](const auto& entity) { return text.starts_with(entity.first); });
    if (known == kEntities.end()) return std::nullopt;
    result.push_back(known->second);
    text.remove_prefix(known->first.size());
  }
  return result;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<std::vector<XmlElement>> read() {
    while (skip_to_tag()) {
      if (auto done = read_markup(); !done) return tl::unexpected(done.error());
    }
    if (stray_text_) return fail("text outside the root element");
    if (!open_.empty()) return fail(fmt::format("<{}> is never closed", printable(open_.back())));
    if (elements_.empty()) return fail("no element");
    return std::move(elements_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> fail(std::string_view what) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    return make_error(fmt::format("line {}: {}", line, what));
  }

  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

  bool take(std::string_view expected) {
    if (!rest().starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  // To the next '<'; false at the end of the text.
  bool skip_to_tag() {
    while (at_ < text_.size() && text_[at_] != '<') {
      if (open_.empty() && !is_blank(text_[at_])) {
        stray_text_ = true;
        return false;
      }
      ++at_;
    }
    return at_ < text_.size();
  }

  Result<void> skip_beyond(std::string_view end, std::string_view what) {
    const auto found = text_.find(end, at_);
    if (found == std::string_view::npos) return fail(fmt::format("{} never ends", what));
    at_ = found + end.size();
    return {};
  }

  Result<void> read_markup() {
    if (take("<!--")) return skip_beyond("-->", "a comment");
    if (take("<?")) return skip_beyond("?>", "a declaration");
    if (take("<!")) return fail("document types and CDATA sections are not accepted");
    if (take("</")) return read_end_tag();
    take("<");
    return read_start_tag();
  }

  std::string_view read_name() {
    const std::size_t from = at_;
    if (at_ < text_.size() && is_name_start(text_[at_])) {
      while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    }
    return text_.substr(from, at_ - from);
  }

  Result<void> read_end_tag() {
    const auto name = read_name();
    skip_blanks();
    if (!take(">")) return fail("an end tag is not closed");
    if (open_.empty() || open_.back() != name)
      return fail(fmt::format("</{}> closes nothing", printable(name)));
    open_.pop_back();
    return {};
  }

  Result<void> read_start_tag() {
    XmlElement element;
    element.name = std::string(read_name());
    if (element.name.empty()) return fail("a tag has no name");
    if (open_.empty() && !elements_.empty()) return fail("more than one root element");
    if (elements_.size() >= kMaxElements) return fail("too many elements");
    if (open_.size() >= kMaxDepth) return fail("elements are nested too deep");
    element.depth = static_cast<unsigned>(open_.size());
    if (auto done = read_attributes(element); !done) return done;
    elements_.push_back(std::move(element));
    return {};
  }

  // To the end of the start tag; an element that is not closed in it stays open.
  Result<void> read_attributes(XmlElement& into) {
    while (true) {
      const std::size_t before = at_;
      skip_blanks();
      if (take("/>")) return {};
      if (take(">")) {
        open_.push_back(into.name);
        return {};
      }
      if (at_ == before) return fail("a blank is missing before an attribute");
      if (auto done = read_attribute(into); !done) return done;
    }
  }

  Result<void> read_attribute(XmlElement& into) {
    const std::string name(read_name());
    if (name.empty()) return fail("an attribute has no name");
    skip_blanks();
    if (!take("=")) return fail(fmt::format("attribute {} has no value", name));
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '"' && quote != '\'')
      return fail(fmt::format("the value of {} is not quoted", name));
    ++at_;
    const auto end = text_.find(quote, at_);
    if (end == std::string_view::npos) return fail(fmt::format("the value of {} never ends", name));
    const auto raw = text_.substr(at_, end - at_);
    if (raw.find('<') != std::string_view::npos)
      return fail(fmt::format("the value of {} holds a <", name));
    auto value = decode_entities(raw);
    if (!value) return fail(fmt::format("the value of {} holds an unknown entity", name));
    at_ = end + 1;
    if (!into.attributes.emplace(name, *std::move(value)).second)
      return fail(fmt::format("{} is there twice", name));
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  std::vector<XmlElement> elements_;
  bool stray_text_ = false;
};

}  // namespace

Result<std::vector<XmlElement>> parse_xml(std::string_view text) { return Reader(text).read(); }

}  // namespace muster
