"""Where a book may stand: a local, writable disk with room. Asked before anything is charged."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from absentia.errors import HazardRefused, InputError

__all__ = ["DURABLE_FIRST", "WRITABLE", "check_directory", "check_room", "filesystem_type", "identity"]

MOUNTS = Path("/proc/self/mountinfo")
RESERVE = 1 << 20  # a charge takes a few kilobytes of log; SQLite's own refusal stands behind this one
_NETWORK_TYPES = """
nfs nfs4 cifs smb3 smbfs afs ncpfs coda 9p ceph lustre gpfs beegfs glusterfs ocfs2 gfs2 orangefs pvfs2 davfs
fuse.sshfs fuse.glusterfs fuse.ceph fuse.ceph-fuse fuse.s3fs fuse.gcsfuse fuse.rclone fuse.davfs fuse.goofys
fuse.juicefs fuse.smbnetfs
"""
NETWORK = frozenset(_NETWORK_TYPES.split())
DURABLE_FIRST = "A charge is made durable before noise is drawn; what cannot be charged is not drawn."
WRITABLE = "Give this user the right to write the file and its directory."


def filesystem_type(path: Path, mountinfo: str) -> str | None:
    """The type of the file system that holds an absolute path, from the kernel's list of mounts; None if not listed."""
    found, depth = None, -1
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        if len(fields.split()) < 5 or not rest.split():
            continue
        mount = Path(re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields.split()[4]))
        if path.is_relative_to(mount) and len(mount.parts) >= depth:  # the later of two mounts on one place covers it
            found, depth = rest.split()[0], len(mount.parts)
    return found


def check_directory(path: Path) -> None:
    """Nothing, when a book at `path` could be written durably; else why not."""
    directory = path.parent
    if not directory.is_dir():
        raise InputError("ledger", str(path), "a path in a directory that exists")
    if str(directory).startswith("\\\\") or (MOUNTS.exists() and _network(directory)):
        raise HazardRefused(
            "H-NETWORK",
            f"{directory} is on a network file system.",
            "Locks and syncs are not dependable there, so two writers could overspend or a charge could be lost.",
            "Keep the ledger on a local disk, and share it through the machine that owns the disk.",
        )
    if path.exists() and path.stat().st_nlink > 1:
        raise HazardRefused(
            "H-LINK",
            f"{path} has more than one name (hard links).",
            "SQLite keeps a log beside each name, so writers under two names would not see each other.",
            "Remove the other names, or copy the file where a copy was meant.",
        )
    targets = [directory, path] if path.exists() else [directory]
    if not all(os.access(target, os.W_OK) for target in targets):
        raise HazardRefused(
            "H-READONLY",
            f"{path} or its directory cannot be written.",
            DURABLE_FIRST,
            WRITABLE,
        )


def check_room(path: Path, need: int) -> None:
    """Nothing, when the disk has room for a row of `need` bytes; else the refusal."""
    if shutil.disk_usage(path.parent).free < need + RESERVE:
        raise HazardRefused(
            "H-DISK",
            "The disk that holds the ledger is full.",
            DURABLE_FIRST,
            "Make room and ask again; nothing was charged.",
        )


def identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at `path`; None when none does."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _network(directory: Path) -> bool:
    return filesystem_type(directory, MOUNTS.read_text(errors="replace")) in NETWORK
