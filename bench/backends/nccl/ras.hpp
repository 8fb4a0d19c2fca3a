// SPDX-License-Identifier: Apache-2.0
// NCCL's RAS service, which it has from 2.24 on: in each process of a job a thread that knows, over
// a network of its own, which processes are gone and which ranks are behind, and that answers while
// an operation hangs.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace muster::bench {

// To be called before NCCL is. Where the user has not said at which address this process is to
// answer, it is a free port: at the usual one another job of this node may answer.
void choose_ras_address();

// What the service says is wrong in this job, its sentences on one line; empty where it finds
// nothing, or nobody answers. Returns within the limit.
[[nodiscard]] std::string ask_ras(std::chrono::steady_clock::duration limit);

// The sentences below "Errors" and "Warnings" of the text that the service answers with.
[[nodiscard]] std::string trouble_in_ras_answer(std::string_view answer);

}  // namespace muster::bench
