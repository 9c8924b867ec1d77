"""The command lines of etcd and kube-apiserver, with the reason for each flag that is not obvious.

Nothing runs here; the file names are those that `server.py` and `certificates.py` write.
"""

from pathlib import Path

POD_GROUP_GATES = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption")


def etcd(directory: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = (f"http://127.0.0.1:{port}" for port in (client_port, peer_port))
    return [
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        "--unsafe-no-fsync",  # data must outlive a restart of the program, not of the machine
        "--log-level=warn",
    ]


def auditing(directory: Path) -> list[str]:
    """Files that `server.py` names too; the log is never rotated, so that whoever reads it misses nothing."""
    log = (f"--audit-log-path={directory / 'audit.log'}", "--audit-log-maxsize=100000")
    return [f"--audit-policy-file={directory / 'audit.json'}", *log]


def apiserver(directory: Path, port: int, etcd_url: str, authorization: str) -> list[str]:
    return [
        f"--etcd-servers={etcd_url}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        # It would publish its own address as the `kubernetes` service, and refuses to publish a loopback one.
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--tls-cert-file={directory / 'serving.crt'}",
        f"--tls-private-key-file={directory / 'serving.key'}",
        f"--client-ca-file={directory / 'ca.crt'}",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--service-account-issuer=https://koordpy.test",
        f"--service-account-key-file={directory / 'service-accounts.crt'}",
        f"--service-account-signing-key-file={directory / 'service-accounts.key'}",
        f"--authorization-mode={authorization}",
        # ServiceAccount would refuse pods until a controller, which nobody runs, has made a default account;
        # TaintNodesByCondition would taint every new node not-ready.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        "--allow-privileged=true",
        # PodGroups of Kubernetes itself with all their fields, as kube-apiserver 1.36 serves them behind its gates.
        "--runtime-config=scheduling.k8s.io/v1alpha2=true",
        "--feature-gates=" + ",".join(f"{gate}=true" for gate in POD_GROUP_GATES),
    ]
