// SPDX-License-Identifier: Apache-2.0
#include "repair/azure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>
#include <utility>

#include "lib/base/fields.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"
#include "lib/process/program.hpp"
#include "lib/report/finding.hpp"

namespace muster::repair {
namespace {

constexpr int kOk = 200, kMultiple = 300, kUnauthorized = 401, kForbidden = 403, kTooMany = 429,
              kBroken = 500;

// Quotes a text for a curl configuration file.
std::string config_text(std::string_view text) {
  std::string in_quotes("\"");
  for (const char c : text) {
    if (c == '"' || c == '\\') in_quotes += '\\';
    if (c == '\n') {
      in_quotes += "\\n";
    } else if (c == '\r') {
      in_quotes += "\\r";
    } else {
      in_quotes += c;
    }
  }
  return in_quotes + '"';
}

Result<AzureAnswer> run_curl(const std::string& config, const Variables& variables) {
  constexpr std::chrono::seconds kDeadline(45);
  TRY_ASSIGN(const auto curl, find_program("curl", variables));
  Execution execution{.program = curl,
                      .arguments = {"-q", "--config", "-"},
                      .environment = {},
                      .limit = TimeLimit(kDeadline)};
  for (const auto* name :
       {"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const auto value = value_of(variables, name);
    if (!value.empty()) execution.environment[name] = value;
  }
  execution.input = fmt::format(
      "include\nsilent\nshow-error\nmax-time = 30\nconnect-timeout = 10\nproto = "
      "\"=http,https\"\n{}",
      config);
  TRY_ASSIGN(const auto ended, run_program(execution));
  if (ended.status != 0) {
    return make_error("curl failed with status {}: {}", ended.status, last_line(ended.err));
  }
  return parse_http(ended.out);
}

struct Token {
  MUSTER_DESCRIBED(Token);
  MUSTER_REQUIRED(std::string, access_token, "");
};

struct AzureErrorText {
  MUSTER_DESCRIBED(AzureErrorText);
  MUSTER_FIELD(std::string, message, "");
};

struct AzureFailure {
  MUSTER_DESCRIBED(AzureFailure);
  MUSTER_FIELD(AzureErrorText, error, "");
};

struct InsightDetails {
  MUSTER_DESCRIBED(InsightDetails);
  MUSTER_KEY(std::string, status, "statusCode", "");
  MUSTER_KEY(Value, terminal, "terminalInsight", "true, or the text");
};

struct InsightContent {
  MUSTER_DESCRIBED(InsightContent);
  MUSTER_FIELD(std::string, title, "");
  MUSTER_FIELD(std::string, description, "HTML");
};

struct InsightProperties {
  MUSTER_DESCRIBED(InsightProperties);
  MUSTER_KEY(InsightDetails, details, "additionalDetails", "");
  MUSTER_FIELD(InsightContent, content, "");
};

struct Insight {
  MUSTER_DESCRIBED(Insight);
  MUSTER_FIELD(InsightProperties, properties, "");
};

struct Insights {
  MUSTER_DESCRIBED(Insights);
  MUSTER_FIELD(std::vector<Insight>, value, "");
};

// Removes the tags from HTML.
std::string without_tags(std::string_view html) {
  std::string text;
  bool in_tag = false;
  for (const char c : html) {
    if (c == '<') in_tag = true;
    if (!in_tag) text += c;
    if (c == '>') in_tag = false;
  }
  return text;
}

std::string message_in(const AzureAnswer& answer) {
  const auto failure = from_json<AzureFailure>(answer.body);
  const auto& text =
      failure && !failure->error.message.empty() ? failure->error.message : answer.body;
  return printable(trim(text), 300);
}

}  // namespace

Result<AzureAnswer> parse_http(std::string_view text) {
  AzureAnswer answer;
  // A proxy or "100 Continue" sends its own headers before those of the answer.
  while (text.starts_with("HTTP/")) {
    const auto end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) break;
    auto headers = text.substr(0, end + 2);
    text.remove_prefix(end + 4);
    answer = {};
    for (bool first = true; !headers.empty(); first = false) {
      const auto line = headers.substr(0, headers.find("\r\n"));
      headers.remove_prefix(line.size() + 2);
      if (first) {
        const auto space = line.find(' ');
        if (space != std::string_view::npos) {
          answer.status = static_cast<int>(parse_number(line.substr(space + 1, 3)).value_or(0));
        }
      }
      constexpr std::string_view kRetry = "retry-after:";
      if (line.size() < kRetry.size()) continue;
      std::string name(line.substr(0, kRetry.size()));
      std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      if (name != kRetry) continue;
      const auto seconds = parse_number(trim(line.substr(kRetry.size())));
      if (seconds && *seconds >= 0 && *seconds < 1e6)
        answer.retry_after_s = static_cast<int>(*seconds);
    }
  }
  if (answer.status == 0) {
    return make_error("not an HTTP response: {}", printable(text, 100));
  }
  answer.body = text;
  return answer;
}

Result<std::vector<AzureInsight>> parse_insights(std::string_view json) {
  TRY_ASSIGN(const auto insights, from_json<Insights>(json));
  std::vector<AzureInsight> all;
  for (const auto& each : insights.value) {
    const auto& [details, content] = std::tie(each.properties.details, each.properties.content);
    AzureInsight insight;
    if (details.status == "AcknowledgedUnhealthy") insight.state = State::acknowledged;
    if (details.status == "NodeRemovedFromService") insight.state = State::out;
    const auto description = without_tags(content.description);
    insight.text = printable(
        fmt::format("{}{}{}", content.title, description.empty() ? "" : ": ", description), 500);
    const auto* const final = std::get_if<bool>(&details.terminal);
    if (final != nullptr && *final) insight.text += " (final)";
    all.push_back(std::move(insight));
  }
  return all;
}

Result<AzureClient> AzureClient::open(const AzureRules& rules, const Variables& variables) {
  AzureClient client(rules, variables);
  const auto answer = run_curl(
      fmt::format(
          "url = {}\nheader = \"Metadata: true\"\nnoproxy = \"*\"\n",
          config_text(fmt::format("{}/metadata/identity/oauth2/token?api-version=2018-02-01&"
                                  "resource=https://management.azure.com/",
                                  rules.identity))),
      variables);
  constexpr std::string_view kRemedy =
      "run this on a virtual machine of Azure that has a managed identity with the role \"Azure "
      "Impact Reporter\"";
  if (!answer) {
    return make_error("no token from {}: {}; {}", rules.identity, answer.error().message, kRemedy);
  }
  const auto token = from_json<Token>(answer->body);
  if (answer->status != kOk || !token) {
    return make_error("no token from {}: status {}; {}", rules.identity, answer->status, kRemedy);
  }
  client.token_ = token->access_token;
  return client;
}

Result<AzureAnswer> AzureClient::exchange(const std::string& method, const std::string& url,
                                          const std::string& body) const {
  auto config =
      fmt::format("url = {}\nrequest = {}\nheader = {}\n", config_text(url), config_text(method),
                  config_text(fmt::format("Authorization: Bearer {}", token_)));
  if (!body.empty()) {
    config += fmt::format(
        "header = \"Content-Type: application/json\"\nheader = \"Expect:\"\ndata-raw = {}\n",
        config_text(body));
  }
  return run_curl(config, variables_);
}

Result<std::string> AzureClient::exchange_patiently(const std::string& method,
                                                    const std::string& url,
                                                    const std::string& body) const {
  constexpr int kTries = 4;
  constexpr int kLongestWait_s = 120;
  std::string trouble;
  for (int i = 0; i < kTries; ++i) {
    const auto answer = exchange(method, url, body);
    int wait_s = 1 << i;
    if (!answer) {
      trouble = answer.error().message;
    } else if (answer->status >= kOk && answer->status < kMultiple) {
      return answer->body;
    } else if (answer->status == kTooMany) {
      wait_s = answer->retry_after_s.value_or(wait_s);
      trouble = fmt::format("Azure accepts no more claims for now; try again in {} s", wait_s);
      if (wait_s > kLongestWait_s) break;
    } else if (answer->status >= kBroken) {
      trouble =
          fmt::format("Azure answers with status {}: {}", answer->status, message_in(*answer));
    } else if (answer->status == kUnauthorized || answer->status == kForbidden) {
      return make_error(
          "Azure refuses the identity of this machine (status {}): {}; give it the role \"Azure "
          "Impact Reporter\" in the subscription",
          answer->status, message_in(*answer));
    } else {
      return make_error("Azure refuses the claim (status {}): {}", answer->status,
                        message_in(*answer));
    }
    if (i + 1 < kTries) std::this_thread::sleep_for(std::chrono::seconds(wait_s));
  }
  return make_missing("{}; the claim is prepared and can be sent again", trouble);
}

Result<void> AzureClient::send(const std::string& name, const std::string& payload) const {
  TRY(exchange_patiently(
      "PUT",
      fmt::format(
          "{}/subscriptions/{}/providers/Microsoft.Impact/workloadImpacts/{}?api-version={}",
          rules_.endpoint, rules_.subscription, name, rules_.api_version),
      payload));
  return {};
}

Result<std::string> AzureClient::insights(const std::string& name) const {
  return exchange_patiently(
      "GET",
      fmt::format("{}/subscriptions/{}/providers/Microsoft.Impact/workloadImpacts/{}/insights"
                  "?api-version=2025-01-01-preview",
                  rules_.endpoint, rules_.subscription, name),
      "");
}

}  // namespace muster::repair
