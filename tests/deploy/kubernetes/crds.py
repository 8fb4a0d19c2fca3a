#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the definitions of the custom resources of tests/deploy/schemas/kubernetes.json, for an API server.

    crds.py SCHEMAS
"""
import json
import sys

schemas = json.load(open(sys.argv[1], encoding="utf-8"))


def structural(schema):
    """Without references, and without what a definition expresses otherwise."""
    if isinstance(schema, list):
        return [structural(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return structural(schemas["definitions"][schema["$ref"].rsplit("/", 1)[1]])
    result = {key: structural(value) for key, value in schema.items()}
    # A default refuses no object, and Kubernetes 1.20 takes none that is empty.
    if not isinstance(result.get("default"), dict):
        result.pop("default", None)
    if result.get("additionalProperties") is False:
        del result["additionalProperties"]
    if result.get("x-kubernetes-int-or-string"):
        # The server knows the two types itself.
        result = {"x-kubernetes-int-or-string": True}
    return result


items = []
for name, schema in schemas.items():
    group, _, kind = name.rpartition("/")
    group, _, version = group.rpartition("/")
    if group in ("", "apps", "batch") or group.endswith(".k8s.io") and group != "jobset.x-k8s.io":
        if group != "readiness.node.x-k8s.io":
            continue
    if name == "definitions":
        continue
    plural = f"{kind.lower()}s"
    body = structural(schema)
    body["properties"]["metadata"] = {"type": "object"}
    items.append({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}",
                     "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1111"}},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Cluster" if kind == "NodeReadinessRule" else "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True,
                          "schema": {"openAPIV3Schema": body}}]}})
print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
