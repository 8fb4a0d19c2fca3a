#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders the chart with every file of values in ci/, and holds the objects against Kubernetes' schemas, the rules
of docs/deploy/kubernetes.md and the program's own options.

    chart_test.py SOURCES TOOLS MUSTER

TOOLS is the folder with helm and kubectl of tools/kubernetes-tools.sh. With MUSTER_REWRITE_GOLDEN in the environment
it writes deploy/kubernetes/muster.yaml.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print(f"skipped: {missing} (tools/install-deps.sh test)")
    sys.exit(77)

sources, tools, muster = (pathlib.Path(each) for each in sys.argv[1:])
if not tools.is_dir():
    print(f"skipped: {tools} is missing (tools/kubernetes-tools.sh makes it)")
    sys.exit(77)
folder = sources / "deploy/kubernetes"
chart = folder / "chart"
failures = []


def expect(fine, what):
    if not fine:
        failures.append(what)
        print(f"not ok: {what}", file=sys.stderr)


def run(*words):
    # Must not talk to a cluster that the caller can reach.
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env={**os.environ, "KUBECONFIG": os.devnull})


def render(*options, name="muster"):
    done = run(tools / "helm", "template", name, chart, "--namespace", "muster", *options)
    expect(done.returncode == 0, f"helm template {options}: {done.stderr}")
    return done.stdout


def leaves(values, path=""):
    """The paths of the values that are not maps with fixed keys, and the values."""
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in ("resources", "env"):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def known_values():
    values = yaml.safe_load((chart / "values.yaml").read_text())
    return {path for path, _ in leaves(values)} | {"config.profile"}


def scalars(value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from scalars(each)
    elif isinstance(value, list):
        for each in value:
            yield from scalars(each)
    elif not isinstance(value, bool) and value not in ("", None):
        yield str(value)


def pods(value):
    """All pod specifications in an object."""
    if isinstance(value, dict):
        if "containers" in value:
            yield value
        for each in value.values():
            yield from pods(each)
    elif isinstance(value, list):
        for each in value:
            yield from pods(each)


schemas = json.loads((sources / "tests/deploy/schemas/kubernetes.json").read_text())


def check_object(each, where):
    kind = f"{each.get('apiVersion')}/{each.get('kind')}"
    expect(kind in schemas, f"{where}: no schema of {kind}")
    validator = jsonschema.Draft7Validator({"definitions": schemas["definitions"], **schemas.get(kind, {})})
    for error in validator.iter_errors(each):
        expect(False, f"{where}: {kind} {'/'.join(map(str, error.path))}: {error.message[:200]}")


def check_runs_once(each, where):
    """A verdict is not tried again, in whatever way the kind says so."""
    text = json.dumps(each)
    for pod in pods(each):
        if each["kind"] in ("DaemonSet", "Deployment"):
            continue
        # The operators of Kubeflow take the policy of a replica instead.
        never = pod.get("restartPolicy") == "Never" or '"restartPolicy": "Never", "template"' in text
        expect(never, f"{where}: {each['kind']} restarts its containers")
    once = {"MPIJob": '"backoffLimit": 0', "PyTorchJob": '"backoffLimit": 0', "JobSet": '"maxRestarts": 0',
            "TrainingRuntime": '"maxRestarts": 0', "CronJob": '"backoffLimitPerIndex": 0'}
    expect(once.get(each["kind"], "") in text, f"{where}: {each['kind']} is tried again")


def privileges(each):
    """What an object may do beyond an ordinary pod, as the rows of the table in the page name it."""
    for rule in each.get("rules", []):
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                yield f"{verb} {resource}"
    for pod in pods(each):
        if pod.get("automountServiceAccountToken", True):
            yield "service account token"
        for name in ("hostPID", "hostNetwork", "hostIPC"):
            if pod.get(name):
                yield name
        for volume in pod.get("volumes", []):
            if "hostPath" in volume:
                yield f"hostPath {volume['name']}"
        for container in pod["containers"] + pod.get("initContainers", []):
            context = container.get("securityContext", {})
            if context.get("privileged"):
                yield "privileged"
            if context.get("runAsUser") == 0:
                yield "root"
            for capability in context.get("capabilities", {}).get("add", []):
                yield capability


def check_versions():
    version = re.search(r"^project\(muster VERSION ([0-9.]+)", (sources / "CMakeLists.txt").read_text(), re.M)[1]
    head = yaml.safe_load((chart / "Chart.yaml").read_text())
    expect(head["version"] == head["appVersion"] == version, f"Chart.yaml is not of version {version}")
    patch = (folder / "node-problem-detector.patch.yaml").read_text()
    expect(f"image: muster:{version}" in patch, f"node-problem-detector.patch.yaml is not of version {version}")


def check_static():
    begin = ("# Made from the chart; `helm template muster deploy/kubernetes/chart --namespace muster "
             "--values deploy/kubernetes/chart/ci/static.yaml`\n")
    text = begin + render("--values", chart / "ci/static.yaml")
    file = folder / "muster.yaml"
    if os.environ.get("MUSTER_REWRITE_GOLDEN"):
        file.write_text(text)
    expect(file.exists() and file.read_text() == text,
           "muster.yaml is not what the chart renders: run this test with MUSTER_REWRITE_GOLDEN=1")


def check_values():
    """Every value is in a file of ci/, and every scalar there is in what is rendered from it."""
    given = set()
    granted = set()
    for file in sorted((chart / "ci").glob("*.yaml")):
        values = yaml.safe_load(file.read_text())
        rendered = render("--values", file)
        expect(not re.search(r" $", rendered, re.M), f"{file.name}: lines end in blanks")
        flat = re.sub(r"[\"'\\]", "", rendered)
        for path, value in leaves(values):
            given.add(path)
            for scalar in scalars(value):
                expect(scalar in flat or path == "job.kind", f"{file.name}: {path}: {scalar} is not in the rendering")
        for each in yaml.safe_load_all(rendered):
            check_object(each, file.name)
            check_runs_once(each, file.name)
            granted.update(privileges(each))
    # YAML reads some names as numbers or truth values.
    for each in yaml.safe_load_all(render("--values", chart / "ci/everything.yaml", name="1")):
        check_object(each, "a release named 1")
        labels = each["metadata"].get("labels", {})
        expect(all(isinstance(label, str) for label in labels.values()), f"a release named 1: {labels}")
    for path in known_values() - {"config.profile"}:
        expect(any(path == one or one.startswith(f"{path}.") for one in given), f"no file of ci/ sets {path}")
    for values in ("agent.colour=red", "job.kind=Pod", "node.gpus=0", "agent.interval=often", "agent.interval=0s", "agent.interval=48h",
                   "agent.maxUnavailable=0%", "job.command=all_reduce;ls"):
        done = run(tools / "helm", "template", "muster", chart, "--set", values)
        expect(done.returncode != 0 and "schema" in done.stderr, f"helm accepts {values}")
    for values, why in (("job.kind=MPIJob,job.command=node", "once for each GPU"),
                        ("agent.enabled=false,nodeProblemDetector.enabled=true,agent.checkOptions={--quiet}", "config")):
        done = run(tools / "helm", "template", "muster", chart, "--set", values)
        expect(done.returncode != 0 and why in done.stderr, f"helm accepts {values}: {done.stderr}")
    return granted


def check_tolerations():
    """Only the agent goes to nodes that are cordoned, not ready or tainted for another reason than their GPUs."""
    for values in ("agent.enabled=true", "job.kind=MPIJob", "job.kind=JobSet", "idle.enabled=true"):
        for each in yaml.safe_load_all(render("--set", values)):
            for pod in pods(each):
                keys = {toleration.get("key") for toleration in pod["tolerations"]}
                expect(keys == ({None} if each["kind"] == "DaemonSet" else {"nvidia.com/gpu", "sku"}),
                       f"{values}: {each['kind']} tolerates {keys}")


def check_page(granted):
    page = (sources / "docs/deploy/kubernetes.md").read_text()
    printed = run(tools / "helm", "install", "muster", chart, "--namespace", "muster", "--dry-run=client").stdout
    notes = printed.partition("NOTES:\n")[2].strip()
    expect(notes and f"<!-- printed by helm install -->\n```\n{notes}\n```" in page,
           f"the page does not show what helm install prints: {notes}")
    # docs/benchmark.md is what a run prints.
    transport = re.search(r"^# fail     bench.transport .*?: …$", page, re.M)
    expect(transport and transport[0][:-1] in (sources / "docs/benchmark.md").read_text(), "the line of bench.transport")
    # Reasons that keep NCCL from InfiniBand: texts of muster-bench, with its braces filled in.
    causes = (sources / "bench/run/transport_report.cpp").read_text()
    shown = re.findall(r"^\| [^|]* \| `([^`]+)` \| [^|]* \|$",
                       page[page.index("### Prove"):page.index("### Test idle")], re.M)
    expect(len(shown) == 4, f"the page names {len(shown)} causes")
    for cause in shown:
        for words in re.split(r"/dev/infiniband/uverbs0 and 7 more|mlx5_ib0 and 7 more|\b\d+\b", cause):
            expect(words.strip() in causes, f"muster-bench does not print: {words}")
    for option in re.findall(r"--set ([a-zA-Z.]+)=", page):
        expect(option in known_values(), f"the page sets {option}, which is not a value")
    table = page[page.index("## Privileges"):]
    rows = set(re.findall(r"^\| `([^`]+)` \|", table[:table.index("\n## ")], re.M))
    expect(rows == granted, f"the table of privileges has {sorted(rows)}, the chart {sorted(granted)}")


def check_plugin():
    done = run(tools / "kubectl", "patch", "--local", "--type", "json", "--output", "json", "--filename",
               sources / "tests/deploy/kubernetes/npd.yaml", "--patch-file",
               folder / "node-problem-detector.patch.yaml")
    expect(done.returncode == 0, f"kubectl patch: {done.stderr}")
    patched = json.loads(done.stdout)
    check_object(patched, "node-problem-detector.patch.yaml")
    values = ("--values", chart / "ci/everything.yaml", "--show-only", "templates/node-problem-detector.yaml")
    files = yaml.safe_load(render(*values))["data"]
    plugin = json.loads(files["muster.json"])
    original = json.loads((sources / "deploy/kubernetes/chart/files/muster.json").read_text())
    expect({rule["path"] for rule in plugin["rules"]} == {"/opt/muster-program"}, "the program's path is not replaced")
    for rule in plugin["rules"]:
        rule["path"] = "/usr/bin/muster"
    expect(plugin == original, "the template changes more than the program's path")
    expect(yaml.safe_load(files["muster.yaml"]) == {"profile": "nd96isr_h100_v5"}, "muster.yaml is not of `config`")
    default = yaml.safe_load((chart / "values.yaml").read_text())["nodeProblemDetector"]["program"]
    copied = patched["spec"]["template"]["spec"]["initContainers"][0]["command"][-1]
    expect(default == f"{copied}muster", "the patch and the chart disagree about the program's path")
    # Both files are in the folder where muster reads its configuration.
    container = patched["spec"]["template"]["spec"]["containers"][0]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    expect(mounts.get("muster-config") == "/etc/muster", f"the patch mounts {mounts}")
    expect("--config.custom-plugin-monitor=/etc/muster/muster.json" in container["command"], "the plug-in's file")
    own = yaml.safe_load((sources / "tests/deploy/kubernetes/npd.yaml").read_text())
    own["spec"]["template"]["spec"]["initContainers"] = [{"name": "own", "image": "own"}]
    refused = subprocess.run([tools / "kubectl", "patch", "--local", "--type", "json", "--filename", "-", "--patch-file",
                              folder / "node-problem-detector.patch.yaml"], input=json.dumps(own), text=True,
                             capture_output=True, env={**os.environ, "KUBECONFIG": os.devnull})
    expect("initContainers" in refused.stderr, "the patch replaces init containers")
    return {each["type"] for each in original["conditions"]}


def check_names(conditions):
    """The conditions have the same names everywhere."""
    named = set()
    for file in sorted((folder / "policies").iterdir()):
        text = file.read_text()
        if file.name != "nvsentinel.yaml":
            for each in yaml.safe_load_all(text):
                check_object(each, file.name)
        names = set(re.findall(r"\bMuster[A-Z]\w+", text))
        expect("MusterUnfit" in names, f"{file.name} names no condition")
        named |= names
    code = set(re.findall(r'"(Muster\w+)"', (sources / "lib/kubernetes/node_status.cpp").read_text()))
    expect(named == conditions == code, f"names of conditions: {named}, {conditions}, {code}")


def check_agent_options():
    objects = yaml.safe_load_all(render("--values", chart / "ci/everything.yaml", "--set", "job.kind="))
    agent = next(each for each in objects if each["kind"] == "DaemonSet")
    words = agent["spec"]["template"]["spec"]["containers"][0]["args"]
    done = subprocess.run([muster, *words], capture_output=True, text=True, env={})
    # It understands its options, and misses only a pod around it.
    expect(done.returncode == 64 and "run it in a pod" in done.stderr, f"muster {words}: {done.stderr}")


lint = run(tools / "helm", "lint", "--strict", "--with-subcharts", chart)
expect(lint.returncode == 0, f"helm lint: {lint.stdout}{lint.stderr}")
check_versions()
check_static()
check_tolerations()
check_page(check_values())
check_names(check_plugin())
check_agent_options()
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
