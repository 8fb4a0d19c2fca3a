// SPDX-License-Identifier: Apache-2.0
#include "lib/kubernetes/api.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/json.hpp"
#include "lib/base/openssl.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

#pragma GCC diagnostic ignored "-Wold-style-cast"  // in macros of OpenSSL

namespace muster::kubernetes {
namespace {

constexpr std::string_view kAnswer = "HTTP/1.";
constexpr std::size_t kLargest = 16UL * 1024 * 1024;

// HTTP/1.0: the answer comes in one piece, and its end closes the connection.
std::string text_of(const Request& request, std::string_view token) {
  return fmt::format(
      "{} {} HTTP/1.0\r\nAuthorization: Bearer {}\r\nAccept: application/json\r\n"
      "Content-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
      request.method, request.path, token, request.content, request.body.size(), request.body);
}

// The Content-Length of an answer, or 0.
std::uint64_t length_in(std::string_view headers) {
  constexpr std::string_view kName = "content-length:";
  for (const auto line : split(headers, '\n')) {
    if (lower_case(line).starts_with(kName)) {
      return parse_unsigned(trim(line.substr(kName.size()))).value_or(0);
    }
  }
  return 0;
}

class Connection {
 public:
  // The whole answer, or why there is none. Blocks for as long as the server does.
  [[nodiscard]] std::string exchange(const Server& server, const Request& request) const {
    const auto file = (server.account / "token").string();
    const auto token = Root().read(file);
    if (!token) return token.error().message;
    if (trim(*token).empty()) return fmt::format("{} is empty", file);
    const std::unique_ptr<SSL_CTX, decltype(SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                   SSL_CTX_free);
    const auto authority = server.account / "ca.crt";
    if (SSL_CTX_load_verify_locations(context.get(), authority.c_str(), nullptr) != 1) {
      return fmt::format("read {}: {}", authority.string(), why());
    }
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    const std::unique_ptr<BIO, decltype(BIO_free_all)> stream(BIO_new_ssl_connect(context.get()),
                                                              BIO_free_all);
    SSL* tls = nullptr;
    BIO_get_ssl(stream.get(), &tls);
    name_server(tls, server.host);
    const bool has_colons = server.host.find(':') != std::string::npos;
    const auto place = fmt::format("{}{}{}:{}", has_colons ? "[" : "", server.host,
                                   has_colons ? "]" : "", server.port);
    BIO_set_conn_hostname(stream.get(), place.c_str());
    if (BIO_do_connect(stream.get()) != 1) return fmt::format("connect to {}: {}", place, why());

    const auto text = text_of(request, trim(*token));
    if (BIO_write(stream.get(), text.data(), static_cast<int>(text.size())) <= 0) {
      return fmt::format("write to {}: {}", place, why());
    }
    std::string answer;
    std::array<char, 16384> part{};
    for (int size = 1; size > 0 && answer.size() < kLargest;) {
      size = BIO_read(stream.get(), part.data(), part.size());
      if (size > 0) answer.append(part.data(), static_cast<std::size_t>(size));
    }
    return answer.empty() ? fmt::format("read from {}: {}", place, why()) : answer;
  }

 private:
  // The first of OpenSSL's errors.
  [[nodiscard]] std::string why() const {
    const auto code = ERR_get_error();
    if (code == 0) return "the connection was closed";
    std::array<char, 256> text{};
    ERR_error_string_n(code, text.data(), text.size());
    return text.data();
  }

  // Accepts only a server that has a certificate for its name or address from the authority.
  void name_server(SSL* tls, const std::string& host) const {
    auto* const wanted = SSL_get0_param(tls);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return;
    SSL_set1_host(tls, host.c_str());
    SSL_set_tlsext_host_name(tls, host.c_str());
  }

  MUSTER_OPENSSL(libssl, BIO_ctrl);
  MUSTER_OPENSSL(libssl, BIO_free_all);
  MUSTER_OPENSSL(libssl, BIO_new_ssl_connect);
  MUSTER_OPENSSL(libssl, BIO_read);
  MUSTER_OPENSSL(libssl, BIO_write);
  MUSTER_OPENSSL(libssl, ERR_error_string_n);
  MUSTER_OPENSSL(libssl, ERR_get_error);
  MUSTER_OPENSSL(libssl, SSL_CTX_free);
  MUSTER_OPENSSL(libssl, SSL_CTX_load_verify_locations);
  MUSTER_OPENSSL(libssl, SSL_CTX_new);
  MUSTER_OPENSSL(libssl, SSL_CTX_set_verify);
  MUSTER_OPENSSL(libssl, SSL_ctrl);
  MUSTER_OPENSSL(libssl, SSL_get0_param);
  MUSTER_OPENSSL(libssl, SSL_set1_host);
  MUSTER_OPENSSL(libssl, TLS_client_method);
  MUSTER_OPENSSL(libssl, X509_VERIFY_PARAM_set1_ip_asc);
};

}  // namespace

Result<std::string> body_of(std::string_view answer) {
  if (!answer.starts_with(kAnswer)) return make_error(printable(answer));
  const auto words = split_words(answer.substr(0, answer.find('\r')));
  const auto head = answer.find("\r\n\r\n");
  const auto body = head == std::string_view::npos ? "" : answer.substr(head + 4);
  if (words.size() >= 2 && words[1].starts_with('2')) {
    const auto size = length_in(answer.substr(0, head));
    if (body.size() >= size) return std::string(body);
    return make_error("the answer ends after {} of {} bytes", body.size(), size);
  }
  const auto json = parse_json(body);
  const auto message = json && json->is_object() ? json->value("message", "") : "";
  return make_error("status {}: {}", words.size() < 2 ? "" : words[1],
                    printable(message.empty() ? body : message));
}

Result<std::string> send(const Server& server, const Request& request, const TimeLimit& limit) {
  // A child, because a server that does not answer blocks.
  auto body = ask_child("the API server", limit, [&] {
                return Connection().exchange(server, request);
              }).and_then(body_of);
  if (body) return body;
  return make_error("{} {}: {}", request.method, request.path, body.error().message);
}

}  // namespace muster::kubernetes
