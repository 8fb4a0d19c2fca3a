// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/xml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

using ::testing::ElementsAre;

TEST(XmlTest, ReadsElementsAttributesAndDepth) {
  const auto elements = parse_xml(
      "<?xml version=\"1.0\"?>\n<!-- <x> -->\n<a one='1' two = \"&lt;2&amp;\">\n <b/>text\n</a "
      ">\n");
  ASSERT_TRUE(elements) << elements.error().message;
  EXPECT_THAT(
      *elements,
      ElementsAre(XmlElement{.name = "a", .attributes = {{"one", "1"}, {"two", "<2&"}}, .depth = 0},
                  XmlElement{.name = "b", .attributes = {}, .depth = 1}));
}

TEST(XmlTest, NamesTheLineOfWhatIsWrong) {
  const auto elements = parse_xml("<a>\n<b>\n</a>");
  ASSERT_FALSE(elements);
  EXPECT_EQ(elements.error().message, "line 3: </a> closes nothing");
}

TEST(XmlTest, RefusesWhatIsNotWellFormed) {
  for (const auto* const text :
       {"", "text", "<", "<a", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>tail", "<a b>",
        "<a b=c/>", "<a b=\"c/>", R"(<a b="1"b="2"/>)", R"(<a b="1" b="2"/>)", "<a b=\"&nbsp;\"/>",
        "<a b=\"<\"/>", "<!-- never ends",
        "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/shadow\">]><a/>", "<a><![CDATA[x]]></a>"}) {
    EXPECT_FALSE(parse_xml(text)) << text;
  }
}

TEST(XmlTest, RefusesElementsNestedTooDeep) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text.append("<a>");
  const auto elements = parse_xml(text);
  ASSERT_FALSE(elements);
  EXPECT_EQ(elements.error().message, "line 1: elements are nested too deep");
}

}  // namespace
}  // namespace muster
