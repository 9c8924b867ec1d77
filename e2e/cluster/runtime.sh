#!/bin/sh
# Finishes the base image that koordpy runs on: Python and its libraries stay, what manages packages goes.
set -eu
cd "$1"
find usr/bin bin usr/sbin sbin -mindepth 1 -maxdepth 1 ! -name 'python3*' ! -type d -delete 2>/dev/null || true
rm -rf etc/debconf.conf usr/lib/dpkg usr/lib/valgrind usr/share/bash-completion usr/share/debconf \
    usr/share/doc usr/share/dpkg usr/share/lintian usr/share/locale usr/share/man usr/share/perl5 usr/share/python3 \
    var/log/*
for unused in ensurepip idlelib lib2to3 pydoc_data turtledemo; do
    rm -rf "usr/lib/python3.11/$unused"
done
find usr/lib/python3.11 -name __pycache__ -type d -prune -exec rm -r {} +
chroot . /usr/bin/python3.11 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.11
mkdir -p tmp && chmod 1777 tmp
