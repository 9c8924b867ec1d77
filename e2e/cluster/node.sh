#!/bin/sh
# Finishes the root file system of a kind node: kind's own files, Kubernetes' programs, and the services that start them.
# $1 is the root; FILES are kind's base files, PROGRAMS the directory of programs, CLAMP the runtime before runc.
set -eu
cd "$1"
cp -r --no-preserve=mode,ownership "$FILES/." .
chmod 755 usr/local/bin/* kind kind/bin kind/bin/*
for program in $PROGRAMS; do
    name=$(basename "$program")
    install -m 755 "$program" "usr/bin/${name%%-v[0-9]*}"
done
install -m 755 "$CLAMP" usr/local/sbin/runc

# Services of a machine that a container has no use for.
rm -f usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service \
    usr/lib/systemd/system/multi-user.target.wants/* etc/systemd/system/*.wants/* \
    usr/lib/systemd/system/local-fs.target.wants/* usr/lib/systemd/system/basic.target.wants/* \
    usr/lib/systemd/system/sockets.target.wants/*udev* usr/lib/systemd/system/sockets.target.wants/*initctl*
echo ReadKMsg=no >> etc/systemd/journald.conf
chroot . systemctl enable kubelet.service containerd.service undo-mount-hacks.service
chroot . systemctl mask systemd-binfmt.service

mkdir -p etc/kubernetes/manifests opt/cni/bin kind/manifests
cp -l usr/lib/cni/* opt/cni/bin/
ln -sf /usr/bin/containerd /usr/bin/ctr usr/local/bin/
chroot . ctr oci spec | chroot . jq '.hooks.createContainer += [{"path": "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' \
    > etc/containerd/cri-base.json
sed -i "s#sandbox_image = .*#sandbox_image = \"$PAUSE\"#; s#restrict_oom_score_adj = false#restrict_oom_score_adj = true#" \
    etc/containerd/config.toml
printf %s "$VERSION" > kind/version

# The default network and storage of kind are images that no package registry has; network.py does without.
: > kind/manifests/default-cni.yaml
cat > kind/manifests/default-storage.yaml <<STORAGE
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
STORAGE
