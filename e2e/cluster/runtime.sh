#!/bin/sh
# Finishes the base image that koordpy runs on: what Python never opens goes.
set -eu
cd "$1"
rm -rf usr/share/man usr/share/doc usr/share/locale usr/share/lintian var/cache/* var/lib/apt var/log/* etc/apt usr/sbin sbin/* \
    usr/share/python3 usr/share/perl5 usr/lib/valgrind usr/bin/pdb* usr/bin/py3* usr/bin/pydoc* usr/bin/pygettext*
find . -name __pycache__ -type d -prune -exec rm -r {} +
find usr/lib/python3.11 -maxdepth 1 \( -name ensurepip -o -name idlelib -o -name lib2to3 -o -name pydoc_data -o -name turtledemo \) -exec rm -r {} +
chroot . /usr/bin/python3.11 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.11
mkdir -p tmp && chmod 1777 tmp
