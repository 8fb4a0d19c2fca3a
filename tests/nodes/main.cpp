// SPDX-License-Identifier: Apache-2.0
// muster-node: writes a simulated node, healthy or with chosen faults, for `muster check --root
// DIR` and `--nvml DIR/nvml/libnvidia-ml.so.1`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/nodes/faults.hpp"
#include "tests/nodes/render.hpp"

namespace {

using muster::nodes::Fault;
using muster::nodes::NamedNode;

constexpr int kUsage = 64;

void list() {
  fmt::print("nodes:\n");
  for (const auto& node : muster::nodes::all_nodes()) {
    fmt::print("  {:<20} for the profile {}\n", node.name, node.make().profile);
  }
  fmt::print("faults:\n");
  for (const auto& fault : muster::nodes::all_faults()) {
    fmt::print("  {:<28} {:<8} {} {}\n", fault.name, to_string(fault.outcome), fault.check,
               fault.device);
  }
}

const NamedNode* find_node(std::string_view name) {
  for (const auto& node : muster::nodes::all_nodes()) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

int write(const std::string& name, const std::string& directory,
          const std::vector<std::string>& fault_names, bool busy) {
  const NamedNode* named = find_node(name);
  if (named == nullptr) {
    fmt::print(stderr, "muster-node: no node is called '{}'; see: muster-node list\n", name);
    return kUsage;
  }
  std::vector<const Fault*> faults;
  for (const auto& fault_name : fault_names) {
    faults.push_back(muster::nodes::find_fault(fault_name));
    if (faults.back() == nullptr) {
      fmt::print(stderr, "muster-node: no fault is called '{}'; see: muster-node list\n",
                 fault_name);
      return kUsage;
    }
  }
  if (std::filesystem::exists(directory) && !std::filesystem::is_empty(directory)) {
    fmt::print(stderr, "muster-node: {} exists and is not empty\n", directory);
    return kUsage;
  }
  auto node = named->make();
  if (busy) node = muster::nodes::busy(std::move(node));
  const auto tree = muster::nodes::make_faulty(node, faults);
  if (!tree) {
    fmt::print(stderr, "muster-node: {}\n", tree.error().message);
    return kUsage;
  }
  if (!write_tree(*tree, directory)) {
    fmt::print(stderr, "muster-node: {} could not be written\n", directory);
    return 1;
  }
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Writes nodes that are not there, for muster check --root DIR; their GPUs answer to "
      "--nvml DIR/nvml/libnvidia-ml.so.1"};
  app.require_subcommand(1);
  app.add_subcommand("list", "the nodes and the faults");
  auto* render = app.add_subcommand("render", "write a node into an empty or new directory");
  std::string name;
  std::string directory;
  std::vector<std::string> faults;
  bool busy = false;
  render->add_option("node", name, "see list")->required();
  render->add_option("directory", directory, "where to write it")->required();
  render->add_option("--fault", faults, "what is wrong with it; may be repeated")->take_all();
  render->add_flag("--busy", busy, "with 100 processes and 2,000 records in the kernel log");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (render->parsed()) return write(name, directory, faults, busy);
  list();
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): an error that cannot be said ends the program as well
int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster-node: {}\n", error.what());
    return 1;
  }
}
