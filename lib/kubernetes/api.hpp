// SPDX-License-Identifier: Apache-2.0
// Requests to Kubernetes' API server from inside a pod, as the pod's service account.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/process/child.hpp"

namespace muster::kubernetes {

// Where a pod has its service account.
inline constexpr auto* kAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

struct Server {
  std::string host;  // a name or an address
  std::string port;
  std::filesystem::path account;  // the folder with `ca.crt` and `token`, which is renewed
};

struct Request {
  std::string method;
  std::string path;
  std::string content;  // the media type of the body
  std::string body;
};

// Returns the body of the answer. Any other status than success is an error with the server's
// message.
[[nodiscard]] Result<std::string> send(const Server& server, const Request& request,
                                       const TimeLimit& limit);

// The body of an answer: "HTTP/1.0 200 OK", headers, an empty line, and the body.
[[nodiscard]] Result<std::string> body_of(std::string_view answer);

}  // namespace muster::kubernetes
