"""Sources of programs, from Debian's archive or from an address that the user names."""

import hashlib
import os
import subprocess
import sys
import urllib.request


def fetched(work, package, name, sha256, variable):
    """The archive `name` of Debian's source package: from the address in an environment variable, else from Debian."""
    archive = work / name
    if not archive.exists():
        address = os.environ.get(variable)
        if address:
            urllib.request.urlretrieve(address, archive)
        else:
            # It fails where the archive has lost Debian's own part, which is not needed.
            call(["apt-get", "source", "--download-only", package], work, work / "apt.log", must=False)
    if not archive.exists():
        sys.exit(f"{archive.name} is not to be had by apt-get: name its address in {variable}")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{archive} has the checksum {found}, not {sha256}")
    return archive


def call(command, folder, log, must=True, environment=None):
    with log.open("w") as output:
        done = subprocess.run([str(word) for word in ["nice", *command]], cwd=folder, stdout=output, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    if must and done.returncode != 0:
        sys.exit(f"{command[0]} failed: see {log}")
    return done.returncode
