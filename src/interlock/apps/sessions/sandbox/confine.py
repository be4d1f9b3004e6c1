"""Runs a command in namespaces of its own, where it sees only what it was given: the program of the confinement.

It is started as a file, with the standard library alone. Its arguments are a JSON object (`Confinement.argv` makes it)
and the command. The command gets new user, mount, process, IPC and host name namespaces, and a network of its own with
nothing but loopback unless `network` is true. Its root is an empty file system with the mounts of `mounts`, read-only
unless they say otherwise. It has no capabilities, cannot gain any, cannot make namespaces, and has the limits of
`limits`. When its processes have more than `memory` together, they are ended. When this process or its parent dies, all
of it dies.

Where the service runs as root, the command has the user id `outside_id` on the host, never root's.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWCGROUP = (
    *(0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x02000000),
)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    *(1, 2, 4, 8, 32, 4096, 16384, 1 << 18),
)
KEPT = {os.ST_RDONLY: MS_RDONLY, os.ST_NOSUID: MS_NOSUID, os.ST_NODEV: MS_NODEV, os.ST_NOEXEC: MS_NOEXEC}
"""Flags that a mount keeps in a user namespace."""
ATIMES = {os.ST_NOATIME: 1024, os.ST_NODIRATIME: 2048, os.ST_RELATIME: 1 << 21}
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 22, 24, 38, 47
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
INSIDE = 1000
"""The command's user id, as it sees it."""
LOOK_EVERY = 0.25
"""Seconds between two looks at the memory of all processes."""
DEVICES = ("null", "zero", "full", "random", "urandom")
libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = (source.encode(), target.encode(), kind.encode() if kind else None)
    check(libc.mount(*words, ctypes.c_ulong(flags), data.encode()), f"mount {target}")


def bind(source: str, target: str, *, writable: bool) -> None:
    """Show `source` at `target`, with everything that is mounted below it."""
    mount(source, target, None, MS_BIND | MS_REC)
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split()[4].encode().decode("unicode_escape") for line in file]
    for point in points:
        if point == target or point.startswith(target + "/"):
            found = os.statvfs(point).f_flag
            flags = MS_NOSUID | MS_NODEV | (0 if writable else MS_RDONLY)
            for have, keep in {**KEPT, **ATIMES}.items():
                flags |= keep if found & have else 0
            mount("none", point, None, MS_BIND | MS_REMOUNT | flags)


def create(path: str, *, folder: bool) -> None:
    os.makedirs(path if folder else os.path.dirname(path), exist_ok=True)
    if not folder and not os.path.lexists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))


def build_root(spec: dict[str, Any]) -> None:
    """Make the file system that the command sees, and go into it."""
    root = spec["root"]
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4m")
    for path, target in spec["links"]:
        os.symlink(target, root + path)
    for folder in ("/proc", "/dev", "/tmp", "/dev/shm", "/run"):  # noqa: S108 - in the new root
        create(root + folder, folder=True)
    for name in DEVICES:
        create(f"{root}/dev/{name}", folder=False)
        mount(f"/dev/{name}", f"{root}/dev/{name}", None, MS_BIND)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{root}/dev/{name}")
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - in the new root
        mount("tmpfs", root + folder, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,size={spec['tmp_bytes']}")
    for one in spec["mounts"]:
        create(root + one["target"], folder=os.path.isdir(one["source"]))
        bind(one["source"], root + one["target"], writable=one["writable"])
    for path in spec["covered"]:
        mount("tmpfs", root + path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=000,size=4k")
    mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    # A namespace inside this one would give capabilities back.
    with open(root + "/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as file:
        file.write("0")
    # As root's user id, files in /proc/sys could be written without any capability.
    mount("none", root + "/proc", None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.chdir(root)
    check(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "umount the host's root")
    os.chdir("/")
    mount("none", "/", None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        request = struct.pack("16sh14x", b"lo", 1)
        libc.ioctl(one.fileno(), 0x8914, request)


def forbid(limits: dict[str, int]) -> None:
    """Give up every right, forever, and take the limits."""
    # Up to the number that the kernel knows; those after it are refused, which is as good.
    for number in range(64):
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(INSIDE, INSIDE, INSIDE)
        os.setresuid(INSIDE, INSIDE, INSIDE)
    header, empty = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *(0,) * 6)
    check(libc.capset(header, empty), "capset")
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        most = resource.getrlimit(kind)[1]  # a lower one of the host stays: nobody may raise it here
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (value, value))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def filter_calls() -> None:
    """Refuse system calls that reach past the namespaces: keys, tracing of the kernel, sockets to the hypervisor."""
    machine = os.uname().machine
    audit, socket_call, refused = {
        "x86_64": (
            0xC000003E,
            41,
            # mount, umount2, pivot_root, chroot, kexec, modules, keys, perf, bpf, userfaultfd, io_uring, new mounts
            # ptrace and reading the memory of others, unshare, setns; files in memory, which no process has to map
            (
                *(165, 166, 155, 161, 246, 320, 175, 313, 176, 248, 249, 250, 298, 321, 323, 425, 426, 427),
                *(428, 429, 430, 431, 432, 433, 442, 101, 310, 311, 272, 308, 319, 447),
            ),
        ),
        "aarch64": (
            0xC00000B7,
            198,
            (
                *(40, 39, 41, 51, 104, 294, 105, 273, 106, 217, 218, 219, 241, 280, 282, 425, 426, 427),
                *(428, 429, 430, 431, 432, 433, 442, 117, 270, 271, 97, 268, 279, 447),
            ),
        ),
    }[machine]
    load, equal, greater, answer = 0x20, 0x15, 0x35, 0x06
    allow, deny, kill = 0x7FFF0000, 0x00050001, 0x80000000
    code = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, audit),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),  # the number of the call
    ]
    if machine == "x86_64":
        code += [(greater, 0, 1, 0x40000000), (answer, 0, 0, deny)]  # the x32 numbers of the same calls
    for number in refused:
        code += [(equal, 0, 1, number), (answer, 0, 0, deny)]
    code += [(equal, 0, 5, socket_call), (load, 0, 0, 16)]
    # AF_VSOCK and AF_ALG are not part of the network's namespace.
    code += [(equal, 0, 1, 40), (answer, 0, 0, deny), (equal, 0, 1, 38), (answer, 0, 0, deny)]
    code.append((answer, 0, 0, allow))
    packed = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(packed))
    check(libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0), "seccomp")


def write_maps(pid: int, spec: dict[str, Any]) -> None:
    """Say which of the host's ids the ids inside are."""
    user, group = os.getuid(), os.getgid()
    if user == 0:
        # Root is needed to build the root; the command itself gets the other id.
        outside = spec["outside_id"]
        users = groups = f"0 0 1\n{INSIDE} {outside} 1\n"
    else:
        users, groups = f"{INSIDE} {user} 1\n", f"{INSIDE} {group} 1\n"
        write(f"/proc/{pid}/setgroups", "deny")
    write(f"/proc/{pid}/uid_map", users)
    write(f"/proc/{pid}/gid_map", groups)


def write(path: str, text: str) -> None:
    number = os.open(path, os.O_WRONLY)
    try:
        os.write(number, text.encode())
    finally:
        os.close(number)


def enter(spec: dict[str, Any]) -> None:
    """Go into new namespaces. A child that stays outside writes the maps of ids."""
    ready, tell_ready = os.pipe()
    parent = os.getpid()
    helper = os.fork()
    if helper == 0:
        code = 1
        try:
            os.close(tell_ready)
            if os.read(ready, 1):
                write_maps(parent, spec)
                code = 0
        except OSError as error:
            os.write(2, f"confinement: the maps of ids: {error}\n".encode())
        finally:
            os._exit(code)
    kinds = NEWUSER | NEWNS | NEWPID | NEWIPC | NEWUTS | NEWCGROUP | (0 if spec["network"] else NEWNET)
    check(libc.unshare(kinds), "unshare")
    os.write(tell_ready, b".")
    if os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1]):
        raise OSError("the maps of ids could not be written")
    os.close(ready)
    os.close(tell_ready)


def confined(spec: dict[str, Any], command: list[str], life: int) -> NoReturn:
    """The first process inside: builds what the command sees, starts it, and collects what it leaves."""
    hide_arguments()
    build_root(spec)
    libc.sethostname(b"sandbox", 7)
    if not spec["network"]:
        raise_loopback()
    forbid(spec["limits"])
    filter_calls()
    # Now that the credentials stay as they are: changing them forgets the signal.
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "the signal at the parent's death")
    if select.select([life], [], [], 0)[0]:
        os._exit(126)  # the parent died before it could have been noticed
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.chdir(spec["cwd"])
            os.execvp(command[0], command)  # noqa: S606 - that is what it is for
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(127)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: pass_on(pid, number))
    while True:
        found, status = os.wait()
        if found == pid:
            # As the first process, its end is the end of all others.
            os._exit(exit_status(status))


def hide_arguments() -> None:
    """Empty the arguments that the command sees in /proc/1: they name folders of the host."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    if 0 < begin < end:
        ctypes.memset(begin, 0, end - begin)


def pass_on(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        os.kill(pid, number)


def exit_status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def memory_inside(limit: int) -> int:
    """The bytes of memory that all processes have together. Within the limit, what several share may count twice."""
    if not os.path.exists("/proc/1") or os.path.exists("/proc/self"):
        return 0  # the root is not built yet: these are the processes of the host
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    left = segments_without_process()
    most = left + sum(map(resident, processes))
    return most if most <= limit else left + sum(map(share, processes))


def resident(process: str) -> int:
    try:
        return int(read(f"/proc/{process}/statm").split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0  # it has ended


def share(process: str) -> int:
    """The memory of a process, with its part of what it shares."""
    try:
        words = read(f"/proc/{process}/smaps_rollup").split()
        return int(words[words.index(b"Pss:") + 1]) * 1024
    except (OSError, ValueError, IndexError):
        return resident(process)


def segments_without_process() -> int:
    """Shared memory that no process has open, and that stays all the same."""
    try:
        rows = [line.split() for line in read("/proc/sysvipc/shm").splitlines()[1:]]
    except OSError:
        return 0
    return sum(int(row[14]) for row in rows if len(row) > 14 and row[6] == b"0")


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def main(spec: dict[str, Any], command: list[str]) -> int:
    parent = os.getppid()
    with contextlib.suppress(OSError):
        # Where the host runs out of memory, this is ended first, and not the service.
        write("/proc/self/oom_score_adj", "1000")
    enter(spec)
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "the signal at the parent's death")
    if os.getppid() != parent:
        return 126
    life, alive = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(alive)
            confined(spec, command, life)
        except BaseException as error:
            os.write(2, f"confinement: {error}\n".encode())
        finally:
            os._exit(126)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    ended, limit = os.pidfd_open(pid), spec["memory"]
    while not select.select([ended], [], [], LOOK_EVERY)[0]:
        if memory_inside(limit) > limit:
            os.kill(pid, signal.SIGKILL)
            os.write(2, b"\nconfinement: ended: its processes had more than %d MB together\n" % (limit >> 20))
            break
    return exit_status(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    try:
        code = main(json.loads(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        print(f"confinement: {error}", file=sys.stderr)
        code = 126
    os._exit(code)
