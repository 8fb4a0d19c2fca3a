// SPDX-License-Identifier: Apache-2.0
// Talks to Azure's Guest Health Reporting with curl. The token and the claim go to curl's standard
// input, never into its arguments.
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
  int status = 0;  // the HTTP status
  std::string body;
  std::optional<int> retry_after_s;
};

class AzureClient {
 public:
  // Gets a token from the metadata service of this machine.
  [[nodiscard]] static Result<AzureClient> open(const AzureRules& rules,
                                                const Variables& variables);

  // Sends the claim under this name. Sending it again under the same name replaces it, so a claim
  // whose answer was lost can be sent again. Retries a few times if Azure is busy or broken. An
  // error is a sentence that says what to do; it is `missing` if you can try again later.
  [[nodiscard]] Result<void> send(const std::string& name, const std::string& payload) const;

  // Returns the insights about the claim, as JSON.
  [[nodiscard]] Result<std::string> insights(const std::string& name) const;

 private:
  AzureClient(AzureRules rules, Variables variables)
      : rules_(std::move(rules)), variables_(std::move(variables)) {}

  [[nodiscard]] Result<AzureAnswer> exchange(const std::string& method, const std::string& url,
                                             const std::string& body) const;
  // Like exchange(), but waits and retries for a limited time.
  [[nodiscard]] Result<std::string> exchange_patiently(const std::string& method,
                                                       const std::string& url,
                                                       const std::string& body) const;

  AzureRules rules_;
  Variables variables_;
  std::string token_;
};

// Azure's answer about a claim.
struct AzureInsight {
  std::optional<State> state;
  std::string text;  // readable; in a terminal insight, what to do with the virtual machine
};

[[nodiscard]] Result<std::vector<AzureInsight>> parse_insights(std::string_view json);

// Parses what curl prints with --include.
[[nodiscard]] Result<AzureAnswer> parse_http(std::string_view text);

}  // namespace muster::repair
