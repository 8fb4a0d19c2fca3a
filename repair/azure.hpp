// SPDX-License-Identifier: Apache-2.0
// Azure's Guest Health Reporting by curl. The token and the claim go to its standard input, never
// into its arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"
#include "lib/repair/record.hpp"
#include "lib/repair/repair_rules.hpp"

namespace muster::repair {

struct AzureAnswer {
  int status = 0;  // of HTTP
  std::string body;
  std::optional<int> retry_after_s;
};

class AzureClient {
 public:
  // Gets a token from the metadata service of this machine.
  [[nodiscard]] static Result<AzureClient> open(const AzureRules& rules,
                                                const Variables& variables);

  // Sends the claim under this name. The same name again replaces it, so that a claim whose answer
  // was lost is sent again. Tries a few times if Azure is busy or broken. Each error is a sentence
  // with what to do; `missing` if it may be tried again later.
  [[nodiscard]] Result<void> send(const std::string& name, const std::string& payload) const;

  // The insights of the claim, as JSON.
  [[nodiscard]] Result<std::string> insights(const std::string& name) const;

 private:
  AzureClient(AzureRules rules, Variables variables)
      : rules_(std::move(rules)), variables_(std::move(variables)) {}

  [[nodiscard]] Result<AzureAnswer> exchange(const std::string& method, const std::string& url,
                                             const std::string& body) const;
  // Waits and tries again, for a bounded time.
  [[nodiscard]] Result<std::string> exchange_patiently(const std::string& method,
                                                       const std::string& url,
                                                       const std::string& body) const;

  AzureRules rules_;
  Variables variables_;
  std::string token_;
};

// What Azure says about a claim.
struct AzureInsight {
  std::optional<State> state;
  std::string text;  // for people; of a terminal insight what to do with the virtual machine

  bool operator==(const AzureInsight&) const = default;
};

[[nodiscard]] Result<std::vector<AzureInsight>> parse_insights(std::string_view json);

// Parses what curl prints with --include.
[[nodiscard]] Result<AzureAnswer> parse_http(std::string_view text);

}  // namespace muster::repair
