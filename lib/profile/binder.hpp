// SPDX-License-Identifier: Apache-2.0
// Writes YAML into described structs: every key is a member, every value is of
// the member's type, and where each value came from is noted. Lists replace,
// mappings merge key by key.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/types.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {

// Where in a document, and whose word holds there.
struct Place {
  std::string path;  // "host.memory.total"; empty for the whole document
  int line = 0;
  std::string source, as_of;
  std::map<std::string, std::string> sources;  // of a block whose `source` is a mapping by key
};

[[nodiscard]] Place below(const Place& block, std::string_view key, int line);

class Binder {
 public:
  // The keys that a block may have; asked for errors and for a `source` by key.
  using Keys = std::function<std::vector<std::string>()>;
  using Visit = std::function<Result<void>(std::string_view key, int line, const Yaml& value)>;

  explicit Binder(Profile& profile) : profile_(profile) {}

  // What errors and origins call the document from here on. In a `setting` a
  // key is the path's rest: "host.memory.total".
  void begin(std::string file, bool setting = false) {
    file_ = std::move(file);
    setting_ = setting;
  }

  [[nodiscard]] tl::unexpected<Error> wrong(int line, std::string_view message) const;
  [[nodiscard]] tl::unexpected<Error> unknown_key(const Place& block, std::string_view key,
                                                  int line,
                                                  const std::vector<std::string>& known) const;

  // Takes a block's `source` and `as_of` into `place`, and visits its other
  // keys in order until one fails. An error where `node` is no mapping.
  [[nodiscard]] Result<void> block(const Yaml& node, Place& place, const Keys& keys,
                                   const Visit& visit) const;

  // Reads a value of any type over what `out` holds.
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, Slot out);

  // A check's block: it takes the keys of its policy too.
  [[nodiscard]] Result<void> check(const Yaml& node, Place place, Slot out);

 private:
  [[nodiscard]] Result<void> enter(const Yaml& node, Place& place, const Keys& keys) const;
  [[nodiscard]] Result<void> take_date(const YamlEntry& entry, Place& place) const;
  [[nodiscard]] Result<void> take_source(const YamlEntry& entry, Place& place,
                                         const Keys& keys) const;
  [[nodiscard]] tl::unexpected<Error> wrong_type(const Yaml& node, const Place& place,
                                                 std::string_view wanted) const;
  [[nodiscard]] Result<std::size_t> index_among(const Place& place, std::string_view word,
                                                std::span<const std::string_view> choice) const;
  [[nodiscard]] Result<void> truth(const Yaml& node, const Place& place, bool& out);
  [[nodiscard]] Result<void> whole(const Yaml& node, const Place& place, int& out);
  [[nodiscard]] Result<void> number(const Yaml& node, const Place& place, double& out);
  [[nodiscard]] Result<void> text(const Yaml& node, const Place& place, Slot out);
  [[nodiscard]] Result<void> word(const Yaml& node, const Place& place, Slot out);
  [[nodiscard]] Result<void> words(const Yaml& node, const Place& place, Slot out);
  [[nodiscard]] Result<void> quantity(const Yaml& node, const Place& place, Slot out);
  [[nodiscard]] Result<void> limit(const Yaml& node, const Place& place, Slot out);
  [[nodiscard]] Result<void> list(const Yaml& node, const Place& place, Slot out);
  [[nodiscard]] Result<void> item(const Yaml& node, const Place& place, Slot list);
  [[nodiscard]] Result<void> map(const Yaml& node, const Place& place, Slot out);
  [[nodiscard]] Result<std::size_t> index_of(const Place& place, std::string_view key,
                                             std::size_t size) const;
  void record(const Place& place, std::string as_written);
  void forget(const std::string& path);

  Profile& profile_;
  std::string file_;
  bool setting_ = false;
};

// A mapping with one key, for the rest of a setting's path.
[[nodiscard]] Yaml mapping_of(std::string_view key, const Yaml& value);

}  // namespace muster
