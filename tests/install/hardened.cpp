// SPDX-License-Identifier: Apache-2.0
// Built with release flags in every build: violates the memory rule named by its first argument, by
// the amount in its second. hardening_test.sh checks how it ends.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace {

[[gnu::noinline]] void write_beyond(volatile char* block, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at) block[at] = 'x';
}

struct Free {
  void operator()(void* block) const { std::free(block); }  // NOLINT(*-no-malloc)
};

// Its size is known only at run time: level 3 of _FORTIFY_SOURCE catches it, level 2 does not.
int heap(std::size_t size, std::size_t excess) {
  const std::unique_ptr<char, Free> block(
      static_cast<char*>(std::malloc(size)));  // NOLINT(*-no-malloc)
  std::memset(block.get(), 'x', size + excess);
  return block.get()[0];
}

int array(std::size_t excess) {
  std::array<char, 16> block{};
  std::memset(block.data(), 'x', block.size() + excess);
  return block[excess % block.size()];
}

int stack(std::size_t excess) {
  std::array<char, 16> block{};
  write_beyond(block.data(), block.size() + excess);
  return block[excess % block.size()];
}

int index(std::size_t excess) {
  const std::vector<int> numbers(3);
  return numbers[2 + excess];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const std::string_view rule = argv[1];
  const std::size_t excess = std::strtoul(argv[2], nullptr, 10);
  int read = 0;
  if (rule == "heap") read = heap(16 + static_cast<std::size_t>(argc), excess);
  if (rule == "array") read = array(excess);
  if (rule == "stack") read = stack(excess);
  if (rule == "index") read = index(excess);
  return read == 1 ? 1 : 0;
}
