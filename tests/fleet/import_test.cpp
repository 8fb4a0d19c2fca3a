// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "fleet/add.hpp"
#include "fleet/store.hpp"
#include "tests/fleet/dump.hpp"
#include "tests/fleet/year.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Lines = std::vector<std::string>;

Result<std::string> no_snapshots(const Snapshot& /*snapshot*/) {
  return make_error("cannot be judged");
}

class ImportTest : public ::testing::Test {
 protected:
  // Imports documents as lines of a file.
  ImportCounts add(const std::string& store, const Lines& lines) {
    const auto file = temp_.path() / fmt::format("{}.jsonl", ++files_);
    std::ofstream(file, std::ios::binary) << fmt::format("{}\n", fmt::join(lines, "\n"));
    auto opened = Store::open_to_write(temp_.path() / store);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    Importer importer(opened->database(), "");
    DocumentSource source({file.string()});
    const auto done = import_documents(opened->database(), importer, source, no_snapshots);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return importer.counts();
  }

  std::string dump_of(const std::string& store) {
    auto opened = Store::open_to_read(temp_.path() / store);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    return dump(opened->database());
  }

  // Texts of the rows of a query, with blanks between columns.
  Lines rows(const std::string& store, std::string_view sql) {
    auto opened = Store::open_to_read(temp_.path() / store);
    Lines rows;
    const auto read = opened->database().each(sql, [&](const Row& row) {
      std::string text;
      for (int i = 0; i < row.size(); ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : " ", row.is_null(i) ? "-" : row.text(i));
      }
      rows.push_back(text);
    });
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return rows;
  }

  TempDir temp_;
  int files_ = 0;
};

// The days around a move of a part, replacements and failures.
Lines eventful_days() {
  using P = PlantedFaults;
  const Year year({.failures = 60});
  Lines reports;
  for (const int node : {P::kLemonNode, P::kLemonNodeLater, P::kSlotNode, 5}) {
    for (int day = 100; day < 130; ++day) reports.push_back(year.report(node, day));
    for (int day = 140; day < 185; ++day) reports.push_back(year.report(node, day));
  }
  return reports;
}

TEST_F(ImportTest, GivesTheSameStoreInEveryOrder) {
  auto reports = eventful_days();
  EXPECT_EQ(add("in-order", reports).reports, reports.size());
  const auto expected = dump_of("in-order");
  EXPECT_THAT(expected, HasSubstr("incident|"));

  std::mt19937 random(7);
  std::ranges::shuffle(reports, random);
  add("shuffled", reports);
  EXPECT_EQ(dump_of("shuffled"), expected);

  const auto again = add("shuffled", reports);
  EXPECT_EQ(again.reports, 0);
  EXPECT_EQ(again.known, reports.size());
  EXPECT_EQ(dump_of("shuffled"), expected);

  const auto half = reports.begin() + std::ssize(reports) / 2;
  add("halves", {half, reports.end()});
  add("halves", {reports.begin(), half});
  EXPECT_EQ(dump_of("halves"), expected);
}

// Later reports continue the intervals of those before them.
TEST_F(ImportTest, GivesTheSameStoreDayByDay) {
  using P = PlantedFaults;
  const Year year({.failures = 60});
  Lines all;
  for (int day = 120; day < 180; ++day) {
    Lines reports;
    for (const int node : {P::kLemonNode, P::kLemonNodeLater, P::kSlotNode, 5}) {
      if ((day + node) % 7 != 0) reports.push_back(year.report(node, day));
    }
    add("daily", reports);
    std::ranges::move(reports, std::back_inserter(all));
  }
  add("at-once", all);
  EXPECT_EQ(dump_of("daily"), dump_of("at-once"));
}

// The end of an interval, a new one, and a report that comes late.
TEST_F(ImportTest, ContinuesFindingsThatAreNotIncidents) {
  const auto warned = [](int day, bool warns) {
    return fmt::format(
        R"({{"schema":"muster.report/1","node":"n1","profile":"p","context":"periodic",)"
        R"("started":"2026-01-{:02}T00:00:00Z","verdict":"healthy","boot_id":"b{}",)"
        R"("stack":{{"driver":"{}"}},"checks":[{{"id":"a.b","outcome":"pass"}}],"findings":[{}]}})",
        day, day / 4, day / 3,
        warns ? fmt::format(R"({{"check":"a.b","device":"gpu1","outcome":"warn","message":"{}",)"
                            R"("remedy":"none","observed":{}.5,"limit":7}})",
                            day, day)
              : "");
  };
  Lines all;
  for (const int day : {1, 2, 3, 5, 6, 9, 8, 10, 4, 12}) {
    all.push_back(warned(day, day % 5 > 1));
    add("daily", {all.back()});
    std::filesystem::remove(temp_.path("at-once"));
    add("at-once", all);
    EXPECT_EQ(dump_of("daily"), dump_of("at-once")) << "day " << day;
  }
  EXPECT_THAT(rows("daily", "SELECT count(*), count(ended) FROM finding"), ElementsAre("3 2"));
}

TEST_F(ImportTest, FollowsAPartThatMoved) {
  using P = PlantedFaults;
  const Year year({.failures = 0});
  Lines reports;
  for (const int node : {P::kLemonNode, P::kLemonNodeLater}) {
    for (int day = P::kLemonMoved - 2; day < P::kLemonMoved + 2; ++day) {
      reports.push_back(year.report(node, day));
    }
  }
  add("store", reports);
  const auto moved = Year::time(P::kLemonNode, P::kLemonMoved);
  EXPECT_THAT(rows("store", fmt::format("SELECT node.name, device, ended FROM seat "
                                        "JOIN part ON part.id = part JOIN node ON node.id = node "
                                        "WHERE serial = '{}' ORDER BY started",
                                        P::kLemon)),
              ElementsAre(fmt::format("gpu-00008 gpu2 {}", moved), "gpu-00043 gpu5 -"));
}

std::string report_with(std::string_view finding, std::string_view verdict, int day,
                        std::string_view node = "n1") {
  return fmt::format(
      R"({{"schema":"muster.report/1","node":"{}","profile":"p","context":"periodic",)"
      R"("started":"2026-01-{:02}T00:00:00Z","duration_ms":1,"verdict":"{}","boot_id":"b",)"
      R"("checks":[{{"id":"a.b","outcome":"{}"}}],"findings":[{}],"probes":[]}})",
      node, day, verdict, finding.empty() ? "pass" : "fail", finding);
}

std::string failure(std::string_view device) {
  return fmt::format(R"({{"check":"a.b","device":"{}","outcome":"fail","message":"m",)"
                     R"("remedy":"reboot"}})",
                     device);
}

TEST_F(ImportTest, JoinsReportsToFindingsAndIncidents) {
  add("store", {report_with("", "healthy", 1), report_with(failure("gpu3"), "unhealthy", 2),
                report_with(failure("gpu3"), "unhealthy", 3), report_with("", "healthy", 5)});
  EXPECT_THAT(rows("store",
                   "SELECT device, reports, (last - started) / 86400, (ended - last) / 86400 "
                   "FROM finding"),
              ElementsAre("gpu3 2 1 2"));
  EXPECT_THAT(rows("store", "SELECT cause, device, hours FROM incident"),
              ElementsAre("a.b gpu3 72.0"));
  EXPECT_THAT(rows("store", "SELECT (ended - started) / 86400 FROM uptime"), ElementsAre("4"));
  EXPECT_THAT(rows("store", "SELECT name, verdict, reports FROM node"),
              ElementsAre("n1 healthy 4"));
}

TEST_F(ImportTest, KeepsTheReadingsOfAVerboseReport) {
  auto report = report_with("", "healthy", 1);
  report.pop_back();
  report += R"(,"readings":[{"metric":"headroom_ratio","labels":{"check":"gpu.temperature",)"
            R"("device":"gpu3"},"value":0.5},{"metric":"node_info","labels":{},"value":1}],)"
            R"("values":{"ib.rate":{"unit":"Gb/s","by_device":{"mlx5_0":400}}}})";
  add("store", {report});
  EXPECT_THAT(rows("store", "SELECT quantity, device, unit FROM position ORDER BY place"),
              ElementsAre("ib.rate mlx5_0 Gb/s", "headroom_ratio gpu.temperature gpu3 "));
  EXPECT_THAT(rows("store", "SELECT hex(vals) FROM reading"), ElementsAre("0000C8430000003F"));
}

// A layout is compared with the one before.
TEST_F(ImportTest, KeepsTheValuesOfEachLayout) {
  const auto report = [](int day, std::string_view by_device) {
    auto text = report_with("", "healthy", day);
    text.pop_back();
    return fmt::format(R"({},"values":{{"a.b":{{"unit":"C","by_device":{{{}}}}}}}}})", text,
                       by_device);
  };
  add("store", {report(1, R"("x":1,"y":2)"), report(2, R"("x":2)"), report(3, R"("x":3,"y":1)"),
                report(4, R"("x":1,"y":2,"z":3)"), report(5, R"("y":1,"x":2)"),
                report(6, R"("x\u0001":1)"), report(7, R"("x\\x01":2)")});
  EXPECT_THAT(rows("store",
                   "SELECT group_concat(device || '=' || substr(hex(vals), place * 8 + 1, 8)) "
                   "FROM reading JOIN position USING(layout) GROUP BY at"),
              ElementsAre("x=0000803F,y=00000040", "x=00000040", "x=00004040,y=0000803F",
                          "x=0000803F,y=00000040,z=00004040", "y=0000803F,x=00000040",
                          R"(x\x01=0000803F)", R"(x\x01=00000040)"));
  EXPECT_THAT(rows("store", "SELECT count(*) FROM layout"), ElementsAre("5"));
}

TEST_F(ImportTest, AFaultOfManyDevicesIsOneIncident) {
  add("store",
      {report_with(fmt::format("{},{}", failure("gpu1"), failure("gpu2")), "unhealthy", 1)});
  EXPECT_THAT(rows("store", "SELECT cause, device, ended FROM incident"),
              ElementsAre("a.b 2 devices -"));
}

TEST_F(ImportTest, SetsDamagedForeignAndNewerDocumentsAside) {
  const auto good = report_with("", "healthy", 1);
  auto newer = good;
  newer.replace(newer.find("report/1"), 8, "report/2");
  const auto counts = add("store", {good.substr(0, 100), R"({"schema":"other/1"})", newer, "{}",
                                    report_with("", "healthy", 2, ""), good});
  EXPECT_EQ(counts.reports, 1);
  EXPECT_EQ(counts.refused, 5);
  ASSERT_THAT(counts.complaints, SizeIs(5));
  EXPECT_THAT(counts.complaints[0], HasSubstr("1.jsonl:1: "));
  EXPECT_THAT(counts.complaints[1], HasSubstr("unknown schema \"other/1\""));
  EXPECT_THAT(counts.complaints[2], HasSubstr("muster.report/2: of another muster"));
  EXPECT_THAT(counts.complaints[3], HasSubstr("not a document of muster"));
  EXPECT_THAT(counts.complaints[4], HasSubstr("/node: empty"));
  EXPECT_THAT(rows("store", "SELECT count(*) FROM refused"), ElementsAre("5"));
  EXPECT_THAT(rows("store", "SELECT count(*) FROM report"), ElementsAre("1"));
}

TEST_F(ImportTest, SetsImpossibleTimesAndNumbersAside) {
  const auto started = [](std::string_view year) {
    auto report = report_with("", "healthy", 1);
    return report.replace(report.find("2026"), 4, year);
  };
  const auto value = [](std::string_view number) {
    auto report = report_with("", "healthy", 2);
    report.pop_back();
    return fmt::format(R"({},"values":{{"a.b":{{"unit":"C","by_device":{{"x":{}}}}}}}}})", report,
                       number);
  };
  const auto counts = add(
      "store", {started("1970"), started("2999"), value("1e308"), value("-4e38"), value("3e38")});
  EXPECT_EQ(counts.reports, 1);
  ASSERT_THAT(counts.complaints, SizeIs(4));
  EXPECT_THAT(counts.complaints[0], HasSubstr("/started: 1970-01-01T00:00:00Z: the clock"));
  EXPECT_THAT(counts.complaints[1], HasSubstr("/started: 2999-01-01T00:00:00Z: the clock"));
  EXPECT_THAT(counts.complaints[2], HasSubstr("a.b: a number is out of range"));
  EXPECT_THAT(counts.complaints[3], HasSubstr("a.b: a number is out of range"));
}

TEST_F(ImportTest, KeepsHostileNamesAsText) {
  const std::string most(10'000, 'x');
  const Lines names{R"(<script>alert(1)</script>)",
                    R"('; DROP TABLE node; --)",
                    R"(\u001b[2J\r\n\u0000end)",
                    R"(\"quoted\")",
                    most,
                    most + "y"};
  Lines reports;
  for (const auto& name : names)
    reports.push_back(report_with(failure(name), "unhealthy", 1, name));
  const auto counts = add("store", reports);
  EXPECT_EQ(counts.reports, names.size()) << fmt::format("{}", fmt::join(counts.complaints, "\n"));
  EXPECT_THAT(rows("store", "SELECT name FROM node ORDER BY id"),
              ElementsAre("<script>alert(1)</script>", "'; DROP TABLE node; --",
                          R"(\x1b[2J\x0d\x0a\x00end)", "\"quoted\"", most, most + "y"));
  EXPECT_THAT(rows("store", "SELECT device FROM incident"), SizeIs(names.size()));
}

TEST_F(ImportTest, KeepsEarlierDocumentsWhenTheDiskIsFull) {
  const Lines first{report_with("", "healthy", 1)};
  add("store", first);
  const auto before = dump_of("store");
  auto opened = Store::open_to_write(temp_.path() / "store");
  auto& database = opened->database();
  const auto pages = database.whole("PRAGMA page_count");
  ASSERT_TRUE(database.execute(fmt::format("PRAGMA max_page_count = {}", **pages + 2)));
  const auto reports = eventful_days();
  std::ofstream(temp_.path("many.jsonl")) << fmt::format("{}\n", fmt::join(reports, "\n"));
  {
    Importer importer(database, "");
    DocumentSource source({temp_.path("many.jsonl")});
    const auto done = import_documents(database, importer, source, no_snapshots);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("database or disk is full"));
  }
  EXPECT_EQ(dump(database), before);
  ASSERT_TRUE(database.execute("PRAGMA max_page_count = 1000000"));
  Importer importer(database, "");
  DocumentSource source({temp_.path("many.jsonl")});
  EXPECT_TRUE(import_documents(database, importer, source, no_snapshots));
  EXPECT_EQ(importer.counts().reports, reports.size());
}

TEST_F(ImportTest, ReadsFoldersFilesAndIndentedDocuments) {
  std::filesystem::create_directories(temp_.path() / "spool/deep");
  std::ofstream(temp_.path("spool/one.json")) << report_with("", "healthy", 1) << "\n\n";
  std::ofstream(temp_.path("spool/deep/two.json")) << "{\n"
                                                   << report_with("", "healthy", 2).substr(1);
  std::ofstream(temp_.path("spool/other.txt")) << "not read";
  std::ofstream(temp_.path("spool/empty.json")) << "";
  std::ofstream(temp_.path("lines")) << report_with("", "healthy", 3) << '\n'
                                     << report_with("", "healthy", 4);
  auto opened = Store::open_to_write(temp_.path() / "store");
  Importer importer(opened->database(), "");
  DocumentSource source({temp_.path("spool"), temp_.path("lines")});
  ASSERT_TRUE(import_documents(opened->database(), importer, source, no_snapshots));
  EXPECT_EQ(importer.counts().reports, 4);
  EXPECT_EQ(importer.counts().refused, 0);
  ASSERT_THAT(source.unreadable(), SizeIs(1));
  EXPECT_EQ(source.unreadable()[0].name, temp_.path("spool/empty.json"));
  EXPECT_EQ(source.unreadable()[0].why, "the file is empty");
}

// A folder that cannot be listed does not end the walk.
TEST_F(ImportTest, ReadsTheRestOfAFolderWithASecretOne) {
  std::filesystem::create_directories(temp_.path() / "spool/secret");
  for (int day = 1; day <= 20; ++day) {
    std::ofstream(temp_.path(fmt::format("spool/{}.json", day))) << report_with("", "healthy", day);
  }
  ::chmod(temp_.path().c_str(), 0755);
  ::chmod(temp_.path("spool/secret").c_str(), 0700);
  const auto count = [&] {
    constexpr uid_t kNobody = 65'534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
    if (::geteuid() != kNobody) ::chmod(temp_.path("spool/secret").c_str(), 0);
    DocumentSource source({temp_.path("spool")});
    std::size_t read = 0;
    for (auto some = source.next(); !some.empty(); some = source.next()) read += some.size();
    ::_exit(read == 20 && source.unreadable().size() == 1 &&
                    source.unreadable()[0].why == "Permission denied"
                ? 0
                : 1);
  };
  EXPECT_EXIT(count(), ::testing::ExitedWithCode(0), "");
  ::chmod(temp_.path("spool/secret").c_str(), 0700);
}

}  // namespace
}  // namespace muster::fleet
