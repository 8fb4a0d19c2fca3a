// SPDX-License-Identifier: Apache-2.0

#include "repair/bundle.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace muster::repair {
namespace {

constexpr std::size_t kBlock = 512;  // of tar

class GzipStream {
 public:
  using Sink = std::function<Result<void>(std::string_view)>;

  explicit GzipStream(Sink sink) : sink_(std::move(sink)) {
    constexpr int kGzip = 16 + MAX_WBITS;
    constexpr int kMemory = 8;  // zlib's default
    is_open_ = ::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory,
                              Z_DEFAULT_STRATEGY) == Z_OK;
  }

  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  ~GzipStream() {
    if (is_open_) ::deflateEnd(&stream_);
  }

  // In pieces, so that the sink may end it.
  [[nodiscard]] Result<void> write(std::string_view text) {
    constexpr std::size_t kPiece = 1UL << 20U;
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), kPiece))) {
      TRY(compress(text.substr(0, kPiece), Z_NO_FLUSH));
    }
    return {};
  }

  [[nodiscard]] Result<void> finish() { return compress("", Z_FINISH); }

 private:
  Result<void> compress(std::string_view text, int flush) {
    if (!is_open_) return make_error("no memory to compress");
    std::array<char, 1UL << 16U> out{};
    // zlib does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      ::deflate(&stream_, flush);
      TRY(sink_({out.data(), out.size() - stream_.avail_out}));
    } while (stream_.avail_out == 0);
    return {};
  }

  Sink sink_;
  z_stream stream_{};
  bool is_open_ = false;
};

// Makes the header of a regular file that only its owner may read (POSIX ustar).
std::string header_of(std::string_view name, std::size_t size, std::chrono::sys_seconds modified) {
  constexpr std::size_t kSum = 148;
  std::string header(kBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    text.copy(header.data() + at, text.size());
  };
  put(0, name);
  put(100, "0000600");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, fmt::format("{:011o}", modified.time_since_epoch().count()));
  put(kSum, "        ");
  put(156, "0");
  put(257, "ustar");
  put(263, "00");
  const unsigned sum = std::accumulate(
      header.begin(), header.end(), 0U,
      [](unsigned so_far, char c) { return so_far + static_cast<unsigned char>(c); });
  put(kSum, fmt::format("{:06o}", sum));
  header[kSum + 6] = '\0';
  return header;
}

}  // namespace

std::string gzip(std::string_view content) {
  std::string compressed;
  GzipStream stream([&](std::string_view piece) -> Result<void> {
    compressed += piece;
    return {};
  });
  return stream.write(content) && stream.finish() ? compressed : std::string();
}

Result<void> write_bundle(FileReplacement& file, std::string_view folder,
                          const std::vector<BundledFile>& files, std::chrono::sys_seconds modified,
                          Clock::time_point end) {
  GzipStream stream([&](std::string_view piece) -> Result<void> {
    if (Clock::now() >= end) return make_error("no time is left to write the bundle");
    return file.append(piece);
  });
  for (const auto& [name, content] : files) {
    TRY(stream.write(header_of(fmt::format("{}/{}", folder, name), content.size(), modified)));
    TRY(stream.write(content));
    TRY(stream.write(std::string((kBlock - content.size() % kBlock) % kBlock, '\0')));
  }
  TRY(stream.write(std::string(2 * kBlock, '\0')));
  return stream.finish();
}

}  // namespace muster::repair
