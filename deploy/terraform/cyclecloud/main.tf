# Uploads muster's CycleCloud project to a locker, and adds its specs to the parameters of a cluster. See
# docs/deploy/cyclecloud.md. It runs where the CycleCloud CLI is configured (`cyclecloud initialize`).
terraform {
  required_version = ">= 1.4"
  required_providers {
    local = {
      source  = "hashicorp/local"
      version = "~> 2.4"
    }
  }
}

variable "project" {
  description = "Folder that tools/package-cyclecloud.sh made."
  type        = string
}

variable "locker" {
  description = "Locker of CycleCloud that the project is uploaded to."
  type        = string
}

variable "parameters" {
  description = "JSON file with the cluster's parameters, as `cyclecloud create_cluster -p` reads it."
  type        = string
}

variable "output" {
  description = "File that is written: the same parameters, with muster's specs."
  type        = string
}

variable "node_arrays" {
  description = "Parameters of the template that list the specs of the nodes that muster checks."
  type        = set(string)
  default     = ["GPUClusterInitSpecs", "HPCClusterInitSpecs"]
}

locals {
  version    = regex("(?m)^version = (.*)$", file("${var.project}/project.ini"))[0]
  parameters = jsondecode(file(var.parameters))

  # After the specs that a cluster usually has, in the format of CycleCloud's form.
  entry = { for spec in ["default", "scheduler"] : spec => {
    "muster:${spec}:${local.version}" = {
      Order   = 20000
      Spec    = spec
      Name    = "muster:${spec}:${local.version}"
      Project = "muster"
      Locker  = var.locker
      Version = local.version
    }
  } }
  spec_of = merge(
    { SchedulerClusterInitSpecs = "scheduler" },
    { for array in var.node_arrays : array => "default" }
  )
  # Specs of muster's other versions are left out.
  specs = { for key, spec in local.spec_of : key => merge(
    { for name, value in try(local.parameters[key], {}) : name => value if !startswith(name, "muster:") },
    local.entry[spec]
  ) }
}

resource "terraform_data" "upload" {
  triggers_replace = [
    var.locker,
    [for file in sort(fileset(var.project, "**")) : filesha256("${var.project}/${file}")]
  ]

  provisioner "local-exec" {
    working_dir = var.project
    command     = "cyclecloud project upload \"$LOCKER\""
    environment = { LOCKER = var.locker }
  }
}

resource "local_sensitive_file" "parameters" {
  filename        = var.output
  file_permission = "0600"
  content         = jsonencode(merge(local.parameters, local.specs))
  depends_on      = [terraform_data.upload]
}

output "parameters" {
  description = "File to create or import the cluster with: `cyclecloud import_cluster NAME -p FILE`."
  value       = local_sensitive_file.parameters.filename
}
