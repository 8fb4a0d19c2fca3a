// SPDX-License-Identifier: Apache-2.0
// XIDs 144 to 150 decoded by the shipped tables.
#include "checks/xid/nvlink.hpp"

#include <gtest/gtest.h>

#include "tests/checks/gpu/xid_node.hpp"

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
