"""Real-time priority for processes that measure, so that other work on the cores does not lengthen their times.

A lower niceness is not enough: Linux schedules the sessions of a user as groups of equal weight (autogroup), so `nice`
counts only within a session, and a thread that wakes up for the next launch may wait until another one has used up its
slice. A thread of the class SCHED_RR preempts all ordinary ones at once. Threads that a driver starts later inherit it.
"""

from __future__ import annotations

import os
import sys

from generator.errors import InputError

PRIORITY = 1
"""The lowest real-time priority is already above all ordinary processes."""


def check_realtime() -> None:
    """Return if processes of this user may have real-time priority. Raises InputError if not."""
    if sys.platform != "linux":
        raise InputError("--realtime needs Linux; start without it, and measure while nothing else runs")
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    begin_realtime()
    os.sched_setscheduler(0, policy, parameters)


def begin_realtime() -> None:
    """Give this thread, and all that it starts, real-time priority. Raises InputError if that is not permitted, as it
    may be on some machines of a cluster only.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    except PermissionError:
        raise InputError("--realtime needs the right to use real-time priorities (CAP_SYS_NICE, or `ulimit -r` of at "
                         "least 1); run as root, add `YOU - rtprio 1` to /etc/security/limits.conf, or start a run "
                         "without it") from None
