// SPDX-License-Identifier: Apache-2.0
// XID 74 read by its registers, with the shipped table.
#include <gtest/gtest.h>

#include "checks/xid/nvlink.hpp"
#include "tests/checks/gpu/xid_node.hpp"

namespace muster::xid_nvlink_registers_test {
namespace {

using checks::xid::decode_registers;

struct Case {
  std::string text;
  std::string kind;
  std::string context;
  bool hardware = false;
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.text; }

class XidNvlinkRegistersTest : public ::testing::TestWithParam<Case> {};

TEST_P(XidNvlinkRegistersTest, AreRead) {
  const auto fault = decode_registers(xid_node::profile().gpu->xid, GetParam().text);
  EXPECT_EQ(fault.kind, GetParam().kind);
  EXPECT_EQ(fault.context, GetParam().context);
  EXPECT_EQ(fault.hardware, GetParam().hardware);
}

constexpr auto kFatalOn = "NVLink: fatal error detected on link ";

INSTANTIATE_TEST_SUITE_P(
    ByBits, XidNvlinkRegistersTest,
    ::testing::Values(
        Case{fmt::format("{}14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 14, register 3 0x10000: field diagnostics when it comes again", true},
        Case{fmt::format("{}3(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x10: parity or memory of the link", true},
        Case{fmt::format("{}3(0x600000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x600000: the link's signal is marginal", true},
        Case{fmt::format("{}3(0x100002, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x100002: it follows another error: look at the peer"},
        // Bits that are ignored, alone and together with one that counts.
        Case{fmt::format("{}3(0x40800001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "degraded",
             "link 3, register 1 0x40800001: nothing to act on by NVIDIA's word"},
        Case{fmt::format("{}3(0x40000020, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x40000020: parity or memory of the link", true},
        Case{fmt::format("{}3(0x0, 0x0, 0x0, 0x0, 0x100000, 0x0, 0x0)", kFatalOn), "degraded",
             "link 3, register 5 0x100000: many corrected errors on the link"},
        Case{fmt::format("{}3(0x1, 0x0, 0x0, 0x40000, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x1, register 4 0x40000: it follows another error, and the whole "
             "fabric needs a reset"},
        // A bit that no table knows.
        Case{fmt::format("{}3(0x0, 0x4, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 2 0x4"}));

INSTANTIATE_TEST_SUITE_P(
    ByTheLinesOwnWord, XidNvlinkRegistersTest,
    ::testing::Values(
        Case{fmt::format("{}6(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal", "link 6"},
        Case{fmt::format("{}6", kFatalOn), "fatal", "link 6"},
        // Not the seven registers that are known.
        Case{fmt::format("{}6(0x1)", kFatalOn), "fatal", "link 6"},
        Case{fmt::format("{}6(0x1, 0x0, 0x0, 0x0, 0x0, x, 0x0)", kFatalOn), "fatal", "link 6"},
        Case{"NVLink: non-fatal error detected on link 6(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
             "degraded", "link 6, register 1 0x10: parity or memory of the link", true},
        Case{"pid=7, name=NVLink: non-fatal link 2, NVLink: fatal error detected on link 6",
             "fatal", "link 6"},
        Case{"", "fatal", ""}));

}  // namespace
}  // namespace muster::xid_nvlink_registers_test
