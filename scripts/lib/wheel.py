"""Packs an installed tree and a Python package into a wheel (packaging.python.org: binary distribution format).

    python3 wheel.py VERSION PLATFORM TREE PACKAGE OUTPUT    prints the wheel's path

What is in TREE/bin goes where pip puts commands; libraries, headers and man pages below the prefix of the environment.
"""

import base64
import hashlib
import os
import sys
import zipfile

NAME = "mel_mpi"
SUMMARY = "Where the time of an MPI program goes, at which line, which rank is the cause, and what inside MPI explains it"
# What a user of pip has no use for: the list of `make uninstall`, module files, and the documentation.
LEFT_OUT = ("share/mel/", "share/modulefiles/", "share/doc/", "lib/mel/pkgconfig/")


def files_below(folder):
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            yield path, os.path.relpath(path, folder)


def main(version, platform, tree, package, output):
    tag = f"py3-none-manylinux_{platform}"
    data, info = f"{NAME}-{version}.data", f"{NAME}-{version}.dist-info"
    entries = []
    for path, name in files_below(tree):
        if name.startswith("bin/"):
            entries.append((path, f"{data}/scripts/{name.removeprefix('bin/')}"))
        elif not name.startswith(LEFT_OUT):
            entries.append((path, f"{data}/data/{name}"))
    entries += [(path, f"{NAME}/{name}") for path, name in files_below(package) if "__pycache__" not in name]
    contents = [(name, os.access(path, os.X_OK), open(path, "rb").read()) for path, name in entries]
    metadata = (
        f"Metadata-Version: 2.1\nName: {NAME.replace('_', '-')}\nVersion: {version}\nSummary: {SUMMARY}\n"
        "License: MIT OR Apache-2.0\nRequires-Python: >=3.9\nProvides-Extra: tables\n"
        'Requires-Dist: pyarrow; extra == "tables"\nDescription-Content-Type: text/markdown\n\n'
    )
    with open("README.md", encoding="utf-8") as readme:
        metadata += readme.read()
    wheel = f"Wheel-Version: 1.0\nGenerator: mel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    contents.append((f"{info}/METADATA", False, metadata.encode()))
    contents.append((f"{info}/WHEEL", False, wheel.encode()))
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        contents.append((f"{info}/licenses/{licence}", False, open(licence, "rb").read()))
    record = ""
    path = os.path.join(output, f"{NAME}-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, is_executable, content in contents:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
            write(archive, name, is_executable, content)
        write(archive, f"{info}/RECORD", False, f"{record}{info}/RECORD,,\n".encode())
    print(path)


def write(archive, name, is_executable, content):
    # The same content makes the same wheel.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100755 if is_executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


main(*sys.argv[1:])
