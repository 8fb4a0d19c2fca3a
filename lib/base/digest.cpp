// SPDX-License-Identifier: Apache-2.0
#include "lib/base/digest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <memory>

#include "lib/base/openssl.hpp"

namespace muster {
namespace {

struct Crypto {
  MUSTER_OPENSSL(libcrypto, EVP_DecodeBlock);
  MUSTER_OPENSSL(libcrypto, EVP_DigestFinal_ex);
  MUSTER_OPENSSL(libcrypto, EVP_DigestInit_ex);
  MUSTER_OPENSSL(libcrypto, EVP_DigestUpdate);
  MUSTER_OPENSSL(libcrypto, EVP_EncodeBlock);
  MUSTER_OPENSSL(libcrypto, EVP_MD_CTX_free);
  MUSTER_OPENSSL(libcrypto, EVP_MD_CTX_new);
  MUSTER_OPENSSL(libcrypto, EVP_MD_fetch);
  // Looking the algorithm up takes as long as hashing a short text.
  const EVP_MD* sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
};

const Crypto& crypto() {
  static const Crypto all;
  return all;
}

const unsigned char* bytes_of(std::string_view text) {
  // cppcheck-suppress returnDanglingLifetime; the view does not own its text
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

Sha256 sha256_bytes(std::string_view content) {
  const auto& with = crypto();
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(with.EVP_MD_CTX_free)> context(
      with.EVP_MD_CTX_new(), with.EVP_MD_CTX_free);
  Sha256 digest{};
  with.EVP_DigestInit_ex(context.get(), with.sha256, nullptr);
  with.EVP_DigestUpdate(context.get(), content.data(), content.size());
  with.EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return digest;
}

std::string sha256_of(std::string_view content) {
  return fmt::format("{:02x}", fmt::join(sha256_bytes(content), ""));
}

std::string to_base64(std::string_view content) {
  std::string text((content.size() + 2) / 3 * 4 + 1, '\0');  // EVP adds a zero byte
  const int size =
      crypto().EVP_EncodeBlock(bytes_of(text), bytes_of(content), static_cast<int>(content.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string from_base64(std::string_view text, std::size_t length) {
  if (text.size() != (length + 2) / 3 * 4) return {};
  std::string content(text.size() / 4 * 3, '\0');
  const int size =
      crypto().EVP_DecodeBlock(bytes_of(content), bytes_of(text), static_cast<int>(text.size()));
  if (size < 0) return {};
  content.resize(length);
  return content;
}

}  // namespace muster
