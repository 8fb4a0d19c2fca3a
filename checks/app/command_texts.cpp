// SPDX-License-Identifier: Apache-2.0
// The help of each command and of the program.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

template <class Command>
CommandText text_of(std::string_view synopsis, std::string_view about,
                    std::string_view examples = {}) {
  return {.program = "muster",
          .name = Command::kName,
          .synopsis = synopsis,
          .about = about,
          .options = texts_of(options_of<Command>()),
          .examples = examples};
}

}  // namespace

std::vector<CommandText> command_texts() {
  return {
      text_of<CheckCommand>("[OPTION]...", "Check whether this node is fit for work",
                            "  muster check\n"
                            "  muster check --context prolog --format json\n"
                            "  muster check --only 'ib.*,gpu.nvlink_*' -v\n"
                            "  muster check --set host.disk.fail_above=95%\n"
                            "  muster check --snapshot snapshots/\n"),
      text_of<SnapshotCommand>("[OPTION]...",
                               "Print everything observed on this node, without judging it",
                               "  muster snapshot --output node.json\n"),
      text_of<ListCommand>("[OPTION]...", "List the checks"),
      text_of<ExplainCommand>("CHECK [OPTION]...",
                              "Explain a check: what it looks at, why, its limits and their origin",
                              "  muster explain gpu.xid\n"
                              "  muster explain ib.rate --profile nd96isr_h100_v5\n"),
      text_of<ProfilesCommand>(
          "[show NAME | export DIR | make NAME [SNAPSHOT]...] [OPTION]...",
          "List the profiles, show one with the origin of each value, export the shipped files, or "
          "make a profile from this node or from snapshots",
          "  muster profiles\n"
          "  muster profiles show nd96isr_h100_v5 --changed\n"
          "  muster profiles export /tmp/profiles\n"
          "  muster profiles make trainer snapshots/\n"),
      text_of<ValidateCommand>(
          "[OPTION]...", "Check the site's files in /etc/muster, and the files that they name",
          "  muster validate\n"
          "  muster validate --root /srv/image\n"),
      text_of<HookCommand>("prolog|epilog|periodic|boot|--check-setup [OPTION]...",
                           "Check this node for Slurm, and drain or resume it by the site's rules",
                           "  muster hook periodic --dry-run\n"
                           "  muster hook --check-setup\n"),
      text_of<DrainCommand>("HOSTLIST --reason TEXT | --report FILE [OPTION]...",
                            "Take nodes out of service until an admin resumes them",
                            "  muster drain gpu-[001-004] --reason 'swapping a switch'\n"
                            "  muster drain --report locate.json --dry-run\n"),
      text_of<ResumeCommand>("[HOSTLIST] [OPTION]...",
                             "Return nodes that muster drained to service",
                             "  muster resume gpu-0007\n"
                             "  muster resume --check ib.rate\n"),
      text_of<StatusCommand>("[HOSTLIST] [OPTION]...",
                             "Print which nodes muster drained, why, and until when"),
      text_of<HistoryCommand>("[HOSTLIST] [OPTION]...",
                              "Print when and why nodes were drained and resumed",
                              "  muster history gpu-0007 --since 30d\n"),
      text_of<EventsCommand>("[HOSTLIST] [OPTION]...",
                             "Print everything that muster did to nodes, and what it refused"),
      text_of<HostfileCommand>(
          "[HOSTLIST] [OPTION]...",
          "Print a host file for Open MPI, from a list, a partition or this job",
          "  muster hostfile gpu-[001-004] --slots 8 --output hosts\n"),
      text_of<SweepCommand>("[OPTION]...",
                            "Benchmark idle nodes in rotation; each call is one pass"),
      text_of<AgentCommand>("[OPTION]...",
                            "Judge this node again and again, and show the verdict as conditions "
                            "and events of its Kubernetes node",
                            "  muster agent --metrics /var/lib/node_exporter/muster.prom\n"),
      text_of<AcceptCommand>(
          "[HOSTLIST | @FILE]... [OPTION]...",
          "Test a delivery of nodes, from powered on to one page for the provider",
          "  muster accept gpu-[001-128] --run delivery-7 --by ssh\n"
          "  sbatch -N 128 --requeue --wrap 'muster accept gpu-[001-128] --run "
          "/shared/delivery-7'\n"
          "  muster accept --run delivery-7 --status\n"),
      text_of<FleetCommand>(
          "[add PATH...|--slurm | show | odd | drift | causes | part SERIAL|NODE | diff A B | "
          "whatif --set KEY=VALUE | export sql|jsonl | prune] [OPTION]...",
          "Keep the reports of all nodes in one file, and ask it questions",
          "  muster fleet add /shared/muster/spool\n"
          "  muster fleet show\n"
          "  muster fleet part 1650000066\n"
          "  muster fleet causes --by firmware --since 90d\n"
          "  muster fleet whatif --set gpu.temperature.warn_above=80\n"
          "  muster fleet export sql | psql fleet\n"),
      text_of<RepairCommand>(
          "[HOSTLIST | @FILE]... [OPTION]...",
          "Print the next step for nodes that muster drained, or do it: restart a service, reset a "
          "GPU, reboot, claim",
          "  muster repair\n"
          "  muster repair --shadow\n"
          "  muster repair gpu-007 --go\n"
          "  muster repair --resolve ID=failed\n"),
      text_of<EvidenceCommand>(
          "[OPTION]...",
          "Collect logs, counters and reports of this node in one file for its provider",
          "  muster evidence --output /tmp/gpu-0007.tar.gz\n"),
      text_of<ClaimCommand>(
          "HOSTLIST... [OPTION]... | --run DIR [OPTION]... | --poll [HOSTLIST]...",
          "Print what the provider of a broken node asks for, or send it, if the fault is proven",
          "  muster claim gpu-007\n"
          "  muster claim gpu-007 --provider azure --send\n"
          "  muster claim --run delivery-7\n"
          "  muster claim --poll\n"),
  };
}

std::string overview_help() {
  std::string text =
      "Usage: muster COMMAND [OPTION]...\n\n"
      "Inspects a node of a GPU cluster, and reports what is wrong and how to fix it.\n\n";
  for (const auto& command : command_texts()) {
    text += fmt::format("  {:10}{}\n", command.name, wrapped(command.about, 12));
  }
  text +=
      "\n  -h, --help, --version\n\n"
      "Examples (see also muster COMMAND --help):\n"
      "  muster check\n"
      "  muster explain gpu.xid\n"
      "  muster check --snapshot node.json\n\n"
      "Exit status: 0 healthy (warnings included), 1 unhealthy, 2 could not decide,\n"
      "64 bad usage, 78 bad configuration.\n";
  return text;
}

}  // namespace muster::app
