// SPDX-License-Identifier: Apache-2.0
// XIDs of NVLinks decoded by the shipped tables.
#include <gtest/gtest.h>

#include "checks/xid/xids.hpp"
#include "tests/checks/gpu/xid_node.hpp"

// XID 74 read by its registers, with the shipped table.
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
             "link 14, register 3 0x10000: run the field diagnostic if it happens again", true},
        Case{fmt::format("{}3(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x10: parity or memory error of the link", true},
        Case{fmt::format("{}3(0x600000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x600000: the link's signal is marginal", true},
        Case{fmt::format("{}3(0x100002, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x100002: it follows another error: look at the peer"},
        // Bits that are ignored, alone and together with one that counts.
        Case{fmt::format("{}3(0x40800001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "degraded",
             "link 3, register 1 0x40800001: NVIDIA recommends no action"},
        Case{fmt::format("{}3(0x40000020, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", kFatalOn), "fatal",
             "link 3, register 1 0x40000020: parity or memory error of the link", true},
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
             "degraded", "link 6, register 1 0x10: parity or memory error of the link", true},
        Case{"pid=7, name=NVLink: non-fatal link 2, NVLink: fatal error detected on link 6",
             "fatal", "link 6"},
        Case{"", "fatal", ""}));

}  // namespace
}  // namespace muster::xid_nvlink_registers_test

// XIDs 144 to 150 decoded by the shipped tables.
namespace muster::xid_nvlink_test {
namespace {

using checks::xid::decode_nvlink;

struct Case {
  std::string text;
  std::string kind;
  std::string unit;
  std::string context{};
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.text; }

class XidNvlinkTest : public ::testing::TestWithParam<Case> {};

TEST_P(XidNvlinkTest, IsDecided) {
  const auto error = decode_nvlink(xid_node::profile().gpu->xid, GetParam().text);
  EXPECT_EQ(error.kind, GetParam().kind);
  EXPECT_EQ(error.unit, GetParam().unit);
  EXPECT_EQ(error.context, GetParam().context);
}

INSTANTIATE_TEST_SUITE_P(
    ByStatus, XidNvlinkTest,
    ::testing::Values(
        Case{"SAW_MVB Nonfatal XC0 i0 Link -1 (0x0 0x2 0x0)", "fatal", "SAW_MVB"},
        Case{"SAW_MVB Nonfatal XC0 i0 Link -1 (0x0 0x20 0x0)", "ignore", "SAW_MVB"},
        Case{"SAW_MVB Fatal XC0 i0 Link -1 (0x0 0x20 0x0)", "degraded", "SAW_MVB"},
        Case{"RLW_REMAP Nonfatal XC0 i0 Link 02 (0x0 0x10)", "degraded", "RLW_REMAP", "link 02"},
        // An unknown bit together with a harmless one.
        Case{"SAW_MVB Nonfatal XC0 i0 Link -1 (0x0 0x41 0x0)", "degraded", "SAW_MVB"},
        Case{"SAW_MVB Fatal XC0 i0 Link -1 (0x0 0x41 0x0)", "fatal", "SAW_MVB"},
        Case{"RLW_RXPIPE Nonfatal XC0 i0 Link -1 (0x0 0x1 0x0)", "ignore", "RLW_RXPIPE"},
        // A flag in the first word: bit 7, or bit 10 before driver 575.
        Case{"RLW_RXPIPE Nonfatal XC0 i0 Link -1 (0x00000086 0x00000004)", "fatal", "RLW_RXPIPE"},
        Case{"RLW_RXPIPE Nonfatal XC0 i0 Link -1 (0x00000006 0x00000004)", "ignore", "RLW_RXPIPE"},
        Case{"RLW_RXPIPE Fatal XC0 i0 Link -1 (0x00000006 0x00000002)", "degraded", "RLW_RXPIPE"},
        Case{"RLW_RXPIPE Nonfatal XC0 i0 Link -1 (0x000004c2 0x00000001)", "fatal", "RLW_RXPIPE"},
        Case{"RLW_RXPIPE Nonfatal XC0 i0 Link -1 (0x000000c2 0x00000001)", "ignore", "RLW_RXPIPE"},
        // Several bits: the worst of them.
        Case{"RLW_REMAP Nonfatal XC0 i0 Link 02 (0x0 0x141)", "fatal", "RLW_REMAP", "link 02"},
        Case{"TLW_TX_PIPE1 Nonfatal XC0 i0 Link 02 (0x0 0x4)", "fatal", "TLW_TX_PIPE1", "link 02"},
        Case{"MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x0 0x0)", "fatal", "MSE_WATCHDOG"},
        Case{"NETIR_BER_EVENT Nonfatal XC0 i0 Link 08 (0x0 0x1)", "ignore", "NETIR_BER_EVENT",
             "link 08"},
        Case{"pid=7, name=x, TREX Nonfatal XC0 i0 Link 08 (0x0 0x80000000)", "ignore", "TREX",
             "link 08"}));

INSTANTIATE_TEST_SUITE_P(
    ByReason, XidNvlinkTest,
    ::testing::Values(Case{"NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x0)",
                           "fatal", "NETIR_LINK_EVT", "link 08: the link's signal"},
                      Case{"NETIR_LINK_DOWN Nonfatal XC0 i0 Link 08 (0x01500000 0x0)", "fatal",
                           "NETIR_LINK_DOWN", "link 08: the peer is the source"},
                      Case{"NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x02800000 0x0)", "degraded",
                           "NETIR_LINK_EVT", "link 08: the host"}));

INSTANTIATE_TEST_SUITE_P(
    ByTheLinesOwnWord, XidNvlinkTest,
    ::testing::Values(
        Case{"NEW_UNIT Fatal XC0 i0 Link 08 (0x0 0x1)", "fatal", "NEW_UNIT", "link 08"},
        Case{"NEW_UNIT Nonfatal XC0 i0 Link 08 (0x0 0x1)", "degraded", "NEW_UNIT", "link 08"},
        Case{"SAW_MVB Nonfatal XC0 i0 Link -1 (0x0 0x4000)", "degraded", "SAW_MVB"},
        Case{"SAW_MVB Fatal XC0 i0", "fatal", "SAW_MVB"},
        Case{"NETIR_LINK_EVT Nonfatal XC0 i0 Link 08 (0x03f00000)", "degraded", "NETIR_LINK_EVT",
             "link 08"},
        Case{"", "fatal", ""}, Case{"nothing that can be read", "fatal", ""}));

}  // namespace
}  // namespace muster::xid_nvlink_test
