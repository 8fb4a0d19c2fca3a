// SPDX-License-Identifier: Apache-2.0
// The environment of jobs: NCCL's settings and topology file, the files and libraries that the
// profile names, and the current job. Only named variables are recorded: others may hold secrets.

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <pugixml.hpp>
#include <set>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kPrefixes{"NCCL_", "UCX_", "SHARP_", "CUDA_DEVICE_ORDER"};
constexpr std::size_t kLongestNcclValue = 1023;  // NCCL truncates values to this

// Real bridges by their class; the switches that NCCL's files invent are in domain ffff.
bool is_bridge(const pugi::xml_node& pci, std::string_view address) {
  return std::string_view(pci.attribute("class").value()).starts_with("0x0604") ||
         address.starts_with("ffff:ff:");
}

// "0001:00:00.0", even if the file omits the domain or uses upper case.
std::string full_address(std::string_view busid) {
  auto address = lower_case(printable(busid, 64));
  if (std::count(address.begin(), address.end(), ':') == 1) return fmt::format("0000:{}", address);
  return address;
}

constexpr std::size_t kMaxTopology = 1024UL * 1024;
constexpr std::size_t kLongestValue = 4096;
constexpr std::array<std::string_view, 8> kJobVariables{
    "SLURM_JOB_ID",       "SLURM_JOB_START_TIME", "SLURM_SCRIPT_CONTEXT", "SLURM_JOB_GPUS",
    "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES",  "SLURM_JOB_PARTITION",  "CUDA_VISIBLE_DEVICES"};

Result<void> add_file(const Root& root, std::string_view path, std::vector<NcclSetting>& settings) {
  TRY_ASSIGN(const auto text, root.read(path));
  for (auto& setting : parse_nccl_conf(text, path)) settings.push_back(std::move(setting));
  return {};
}

// The strongest last. Leaves out the file in a user's home, because jobs belong to other users.
Fact<std::vector<NcclSetting>> read_nccl(const Root& root, const Variables& variables) {
  std::vector<NcclSetting> settings;
  auto files = nccl_conf_files(value_of(variables, "NCCL_CONF_FILE"), "");
  std::ranges::reverse(files);
  for (const auto& path : files) {
    const auto added = add_file(root, path, settings);
    if (!added && !added.error().missing) return make_error(added.error().message);
  }
  for (const auto& [name, value] : variables) {
    if (!steers_nccl(name)) continue;
    settings.push_back({.name = printable(name),
                        .value = printable(value, kLongestValue),
                        .origin = "environment"});
  }
  return settings;
}

// The setting of the file: the profile's, else the one that NCCL would use.
NcclSetting topology_file(const Wanted& wanted, const Fact<std::vector<NcclSetting>>& settings) {
  if (!wanted.nccl_topology.empty()) return {.value = wanted.nccl_topology, .origin = "profile"};
  NcclSetting named;
  for (const auto& setting : settings.value_or({})) {
    if (setting.name == "NCCL_TOPO_FILE") named = setting;
  }
  return named;
}

Fact<NcclTopology> read_topology(const Root& root, const NcclSetting& named) {
  if (named.value.empty())
    return make_missing("neither the profile nor NCCL_TOPO_FILE names a topology file");
  const auto text = root.read(named.value, kMaxTopology);
  // A named file is required, so it is not absent.
  if (!text) return make_error("{} (named by {})", text.error().message, named.origin);
  auto topology = parse_nccl_topology(*text);
  if (!topology) {
    return make_error("{} (named by {}): {}", printable(named.value), named.origin,
                      topology.error().message);
  }
  topology->path = printable(named.value, kLongestValue);
  topology->origin = named.origin;
  return topology;
}

Fact<Space> read_space(int descriptor, bool& read_only) {
  struct statfs status {};

  if (::fstatfs(descriptor, &status) != 0) return make_error("statfs: {}", errno_text(errno));
  read_only = (static_cast<unsigned long>(status.f_flags) & ST_RDONLY) != 0;
  return space_of(status);
}

FileFact read_file(const Root& root, const std::string& path) {
  FileFact file;
  file.path = path;
  const auto opened = root.open(path, O_PATH);
  const auto status = opened ? status_of(*opened, path) : tl::unexpected(opened.error());
  if (!status) {
    file.writable = tl::unexpected(status.error());
    file.space = tl::unexpected(status.error());
    return file;
  }
  constexpr unsigned kAnyExecute = S_IXUSR | S_IXGRP | S_IXOTH;
  constexpr unsigned kAnyWrite = S_IWUSR | S_IWGRP | S_IWOTH;
  bool read_only = false;
  file.exists = true;
  file.directory = S_ISDIR(status->st_mode);
  file.executable = S_ISREG(status->st_mode) && (status->st_mode & kAnyExecute) != 0;
  file.space = read_space(opened->get(), read_only);
  if (file.space) {
    file.writable = !read_only && (status->st_mode & kAnyWrite) != 0;
  } else {
    file.writable = make_error(file.space.why());
  }
  return file;
}

// 22803 is 2.28.3; up to 2.8 the minor version had one digit less.
std::string nccl_version(int code) {
  const int major_unit = code < 10000 ? 1000 : 10000;
  return fmt::format("{}.{}.{}", code / major_unit, code % major_unit / 100, code % 100);
}

Library open_library(const std::string& name) {
  Library library;
  library.name = name;
  // Never unloaded: the probe's child ends soon, and some driver libraries crash on it.
  void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    library.error = printable(why == nullptr ? "dlopen failed" : why);
    return library;
  }
  library.opened = true;
  if (name.starts_with("libnccl.so")) {
    using GetVersion = int (*)(int*);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): required by dlsym.
    const auto get_version = reinterpret_cast<GetVersion>(::dlsym(handle, "ncclGetVersion"));
    int code = 0;
    if (get_version != nullptr && get_version(&code) == 0 && code > 0)
      library.version = nccl_version(code);
  }
  return library;
}

Fact<std::vector<Library>> read_libraries(const Root& root, const std::vector<std::string>& names) {
  if (root.foreign()) return make_missing("libraries of a foreign root are not opened");
  std::vector<Library> libraries;
  libraries.reserve(names.size());
  for (const auto& name : names) libraries.push_back(open_library(name));
  return libraries;
}

}  // namespace

bool steers_nccl(std::string_view name) {
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> nccl_conf_files(std::string_view named, std::string_view home) {
  std::vector<std::string> files;
  if (!named.empty()) {
    files.emplace_back(named);
  } else if (!home.empty()) {
    files.push_back(fmt::format("{}/.nccl.conf", home));
  }
  files.emplace_back("/etc/nccl.conf");
  return files;
}

std::vector<NcclSetting> parse_nccl_conf(std::string_view text, std::string_view path) {
  std::vector<NcclSetting> settings;
  std::set<std::string_view> seen;
  std::size_t number = 0;
  for (const auto line : split_lines(text)) {
    ++number;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = line.substr(0, equals);
    if (!steers_nccl(name) || !seen.insert(name).second) continue;
    settings.push_back({.name = printable(name),
                        .value = printable(line.substr(equals + 1), kLongestNcclValue),
                        .origin = fmt::format("{}:{}", path, number)});
  }
  return settings;
}

Result<NcclTopology> parse_nccl_topology(std::string_view xml) {
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    // At the end of the text the offset may lie beyond it.
    const auto before =
        xml.substr(0, static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0)));
    const auto line = 1 + std::ranges::count(before, '\n');
    return make_error("line {}: {}", line, parsed.description());
  }
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "system") {
    return make_error("the root element is <{}>, expected <system>", printable(root.name(), 64));
  }
  NcclTopology topology;
  for (const auto& found : document.select_nodes("//pci")) {
    const auto busid = found.node().attribute("busid");
    if (!busid) return make_error("a <pci> element has no busid");
    auto address = full_address(busid.value());
    if (!is_bridge(found.node(), address)) topology.pci_addresses.push_back(std::move(address));
  }
  for (const auto& found : document.select_nodes("//cpu")) {
    const auto node = found.node().attribute("numaid");
    if (!node) return make_error("a <cpu> element has no numaid");
    topology.cpu_affinities.push_back(
        printable(fmt::format("{}={}", node.value(), found.node().attribute("affinity").value()),
                  kLongestNcclValue));
  }
  return topology;
}

Section<Environment> probe_environment(const Root& root, const Wanted& wanted,
                                       const Variables& variables) {
  Environment environment;
  environment.nccl = read_nccl(root, variables);
  environment.nccl_topology = read_topology(root, topology_file(wanted, environment.nccl));
  for (const auto& path : wanted.files) environment.files.push_back(read_file(root, path));
  environment.libraries = read_libraries(root, wanted.libraries);
  for (const auto name : kJobVariables) {
    const auto found = variables.find(std::string(name));
    if (found != variables.end())
      environment.job.emplace(found->first, printable(found->second, kLongestValue));
  }
  return observed(std::move(environment));
}

}  // namespace muster
