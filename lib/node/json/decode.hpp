// SPDX-License-Identifier: Apache-2.0
// JSON to described structs, the reverse of encode.hpp. What is missing keeps its default ("not
// observed"), unknown keys are ignored, and the first wrong type is named by its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/pci.hpp"
#include "lib/node/section.hpp"

// The parser itself stays in decode.cpp: its header alone takes seconds to compile.
namespace simdjson::dom {
class element;
}

namespace muster::json {

using Element = simdjson::dom::element;
class Members;  // of an object

class Decoder {
 public:
  // Empty when everything fitted.
  [[nodiscard]] const std::string& error() const { return error_; }

  void refuse(std::string why);

  // Parses a whole text and hands its root element to `take`; refuses what is not JSON.
  template <class Take>
  void document(std::string_view text, const Take& take) {
    read_document(text, &take, [](const Element& json, const void* context) {
      (*static_cast<const Take*>(context))(json);
    });
  }

  // Reads the value at `key`, if there is one.
  template <class T>
  void member(Members& members, std::string_view key, T& value) {
    read_member(members, key, &value, &read_as<T>);
  }

  // Hands the members of an object to `take`. False once anything was wrong.
  template <class Take>
  bool object(const Element& json, const Take& take) {
    return read_object(json, &take, [](Members& members, const void* context) {
      (*static_cast<const Take*>(context))(members);
    });
  }

  template <Described T>
  bool read(const Element& json, T& value) {
    return object(json, [&](Members& members) {
      for_each_field<T>(
          [&](const auto& field) { member(members, field.name, value.*field.member); });
    });
  }

  bool read(const Element& json, bool& value);
  bool read(const Element& json, double& value);
  bool read(const Element& json, std::uint64_t& value);
  bool read(const Element& json, unsigned& value);
  bool read(const Element& json, int& value);
  bool read(const Element& json, std::string& value);
  bool read(const Element& json, PciKind& kind);

  template <class T>
  bool read(const Element& json, Fact<T>& fact) {
    std::string why;
    switch (read_reason(json, why)) {
      case Known::refused:
        return false;
      case Known::absent:
        fact = Fact<T>::absent(std::move(why));
        return true;
      case Known::unreadable:
        fact = Fact<T>::unreadable(std::move(why));
        return true;
      case Known::yes:
        break;
    }
    fact = T{};
    return read(json, *fact);
  }

  template <class T>
  bool read(const Element& json, std::vector<T>& values) {
    return read_array(
        json, &values,
        [](void* all, std::size_t count) {
          *static_cast<std::vector<T>*>(all) = std::vector<T>(count);
        },
        [](Decoder& decoder, const Element& element, void* all, std::size_t index) {
          return decoder.read(element, (*static_cast<std::vector<T>*>(all))[index]);
        });
  }

  template <class T>
  bool read(const Element& json, std::map<std::string, T>& values) {
    return read_map(
        json, &values,
        [](void* all, std::string_view key) -> void* {
          return &(*static_cast<std::map<std::string, T>*>(all))[std::string(key)];
        },
        &read_as<T>);
  }

  // Functions for all sections are made of it by the sources that include decode_section.hpp.
  template <class T>
  bool read(const Element& json, Section<T>& section);

 private:
  // One step from the document to a value: a key, or an index where there is none.
  struct Step {
    std::string_view key;
    std::size_t index = 0;
  };

  // Whether a fact is there, or why it is not.
  enum class Known { yes, absent, unreadable, refused };

  // What is the same for every type is compiled once and knows a value by its address alone.
  using Read = bool (*)(Decoder&, const Element&, void* value);
  using ReadDocument = void (*)(const Element&, const void* context);
  using ReadMembers = void (*)(Members&, const void* context);
  using Resize = void (*)(void* values, std::size_t count);
  using ReadItem = bool (*)(Decoder&, const Element&, void* values, std::size_t index);
  using Place = void* (*)(void* values, std::string_view key);

  template <class T>
  static bool read_as(Decoder& decoder, const Element& json, void* value) {
    return decoder.read(json, *static_cast<T*>(value));
  }

  void read_document(std::string_view text, const void* context, ReadDocument take);
  bool read_object(const Element& json, const void* context, ReadMembers take);
  void read_member(Members& members, std::string_view key, void* value, Read read);
  bool read_array(const Element& json, void* values, Resize resize, ReadItem read);
  bool read_map(const Element& json, void* values, Place place, Read read);
  Known read_reason(const Element& json, std::string& why);
  bool read_status(Members& members, Status& status, std::string& reason, double& duration_ms);
  template <class T>
  bool read_whole(const Element& json, T& value);
  // Always false.
  bool expected(std::string_view what);

  std::vector<Step> path_;
  std::string error_;
};

}  // namespace muster::json
