// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/page.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/base/json_write.hpp"
#include "tests/lib/accept/sample_delivery.hpp"
#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/well_formed.hpp"

namespace muster::accept {
namespace {

// Text that would leave its place in a page or a table.
constexpr std::string_view kEvil = "=x<script>alert(1)</script>\"'&]]>{{{who}}}\n\x01\xff,";

// Compares with a file, which is reviewed as a diff. MUSTER_REWRITE_GOLDEN=1 writes it.
TEST(AcceptPageTest, IsThatOfTheGoldenFile) {
  const auto file = std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/lib/accept/golden/page.html";
  const auto page = accept_page(delivery_of_64());
  if (std::getenv("MUSTER_REWRITE_GOLDEN") != nullptr) std::ofstream(file) << page;
  EXPECT_TRUE(page == content_of(file)) << "the page has changed; see CONTRIBUTING.md";
}

TEST(AcceptPageTest, HasTheEvidenceOfARejectedNode) {
  EXPECT_THAT(accept_page(delivery_of_64()),
              AllOf(HasSubstr("60 of 64 nodes accepted"), HasSubstr("terms not met"),
                    HasSubstr("GGBB90755838"), HasSubstr("profile nd96isr_h100_v5"),
                    HasSubstr("Resource.Hpc.Unhealthy.XID48DoubleBitECC"),
                    HasSubstr("report to the provider"), HasSubstr("DBE at partition 3"),
                    HasSubstr("2026-11-19T08:06:00Z")));
}

TEST(AcceptPageTest, IsWellFormedAndSelfContained) {
  SampleDelivery draft(64);
  const auto unfinished = draft.make(1'795'095'200);
  for (const auto& page :
       {accept_page(delivery_of_64()), accept_page(delivery_of_64(), For::provider),
        accept_page(unfinished), accept_page(Delivery{})}) {
    EXPECT_EQ(unbalanced(page), "");
    EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("http")),
                            Not(HasSubstr("url(")), Not(HasSubstr("@import")),
                            Not(HasSubstr(" src=")), HasSubstr("width=device-width")));
  }
  EXPECT_THAT(accept_page(unfinished), AllOf(HasSubstr(">DRAFT<"), Not(HasSubstr("terms met"))));
}

TEST(AcceptPageTest, EscapesHostileNamesAndMessages) {
  SampleDelivery sample(64);
  for (auto& node : sample.order.nodes) node.name += kEvil;
  for (auto& node : sample.order.nodes) node.group += kEvil;
  sample.order.plan.settings = {std::string(kEvil)};
  sample.edit = [](StepAnswer& answer) {
    answer.host = answer.physical_host = answer.boot_id = kEvil;
    for (auto& line : answer.kernel_lines) line += kEvil;
    for (auto& [what, version] : answer.stack) version += kEvil;
    for (auto& part : answer.parts) part.serial += part.model += kEvil;
    for (auto& report : answer.reports) {
      for (auto& finding : report.findings) finding.message += kEvil;
      for (auto& each : report.measurements) each.quantity += each.unit += kEvil;
      for (auto& matrix : report.matrices) matrix.title = matrix.unit = kEvil;
    }
  };
  sample.results.decisions = {{.kind = DecisionKind::withdraw,
                               .nodes = {sample.order.nodes[1].name},
                               .why = std::string(kEvil),
                               .who = std::string(kEvil),
                               .at = 1}};
  const auto delivery = sample.make();
  for (const auto whom : {For::site, For::provider}) {
    const auto page = accept_page(delivery, whom);
    EXPECT_EQ(unbalanced(page), "");
    EXPECT_THAT(page, AllOf(HasSubstr("alert(1)"), Not(HasSubstr("<script")),
                            Not(HasSubstr("\x01")), Not(HasSubstr("\xff"))));
  }
}

TEST(AcceptPageTest, TheProvidersCopyHasNoUsersJobsAndAddresses) {
  const auto page = accept_page(delivery_of_64(), For::provider);
  EXPECT_THAT(page,
              AllOf(Not(HasSubstr("kim")), Not(HasSubstr("python")), Not(HasSubstr("4242")),
                    Not(HasSubstr("10.4.0.57")), HasSubstr("[address]"), HasSubstr("PCI:0007:00"),
                    HasSubstr("This copy leaves out: names of the people who ran it; "),
                    HasSubstr("96.00.BC.00.01"), HasSubstr("DBE at partition 3")));
}

TEST(AcceptPageTest, OfAThousandNodesIsBelow3MB) {
  SampleDelivery sample(1000);
  sample.hours = 1;
  auto delivery = sample.make();
  const auto page = accept_page(delivery);
  EXPECT_LT(page.size(), 3'000'000);
  EXPECT_THAT(page, HasSubstr("gpu-1000</th>"));
  delivery.nodes.push_back(delivery.nodes.front());
  EXPECT_THAT(accept_page(delivery),
              AllOf(Not(HasSubstr("gpu-1000</th>")), HasSubstr("accept.csv.</p>")));
}

TEST(AcceptCsvTest, HasARowForEachNode) {
  const auto csv = accept_csv(delivery_of_64());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 65);
  EXPECT_THAT(csv, AllOf(StartsWith("node,verdict,stage,why,"), EndsWith("\r\n"),
                         HasSubstr("\r\ngpu-057,not_tested,inventory,\"it never answered: ")));
}

TEST(AcceptCsvTest, QuotesTextAndDefusesFormulas) {
  Delivery delivery;
  delivery.nodes.push_back({.node = "=1+1", .why = "a \"b\", c\r\nd", .physical_host = "-x"});
  EXPECT_THAT(
      accept_csv(delivery),
      HasSubstr(
          "\r\n\"'=1+1\",pending,inventory,\"a \"\"b\"\", c\\x0d\\x0ad\",,\"'-x\",,0.00,0\r\n"));
}

}  // namespace
}  // namespace muster::accept
