// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as requests to stop a run, which end nothing by themselves.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "lib/base/descriptor.hpp"
#include "lib/process/process.hpp"

namespace muster {

class StopSignals {
 public:
  StopSignals() : held_{SIGINT, SIGTERM, SIGHUP} {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, number);
    received_ = Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  // Readable when another one has arrived.
  [[nodiscard]] int descriptor() const { return received_.get(); }

  // How many have arrived.
  [[nodiscard]] int count() {
    signalfd_siginfo info{};
    while (::read(received_.get(), &info, sizeof info) == ssize_t{sizeof info}) ++count_;
    return count_;
  }

 private:
  HeldSignals held_;
  Descriptor received_;
  int count_ = 0;
};

}  // namespace muster
