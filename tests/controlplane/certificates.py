"""The certificates and keys of one test control plane: a CA of its own, and what that CA has signed.

Everything is written below one directory and is worth nothing outside of it: no key is ever reused.
"""

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = dt.timedelta(days=7)  # longer than any test run, short enough to be no temptation
SERVER_NAMES = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]


@dataclass(frozen=True)
class Pair:
    """A certificate (or, for service accounts, a public key) and its private key, as files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that lives as long as the test run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "koordpy-test-ca")])
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        certificate = self._sign(self._name, self._key, constraints)
        self.pair = _write(directory, "ca", certificate.public_bytes(serialization.Encoding.PEM), self._key)

    def serving(self) -> Pair:
        """What the API server shows to clients that connect to 127.0.0.1 or localhost."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        return self._issue("serving", _subject("kube-apiserver"), usage, x509.SubjectAlternativeName(SERVER_NAMES))

    def client(self, user: str, group: str) -> Pair:
        """A client certificate; the API server reads the user and its group from the subject."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._issue(user, _subject(user, group), usage)

    def _issue(self, name: str, subject: x509.Name, *extensions: x509.ExtensionType) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(subject, key, *extensions)
        return _write(self._directory, name, certificate.public_bytes(serialization.Encoding.PEM), key)

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder(
            issuer_name=self._name,
            subject_name=subject,
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=now - dt.timedelta(minutes=5),
            not_valid_after=now + VALID,
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._key, hashes.SHA256())


def trusting(ca_path: Path | str) -> ssl.SSLContext:
    """What a client checks the API server with.

    Our certificates have no key identifiers, as those of many clusters; the default of Python 3.13 would refuse them.
    """
    context = ssl.create_default_context(cafile=str(ca_path))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def service_account_keys(directory: Path) -> Pair:
    """The key pair that the API server signs and checks service account tokens with."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _write(directory, "service-accounts", public, key)


def _subject(user: str, group: str | None = None) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group is not None:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(attributes)


def _write(directory: Path, name: str, public: bytes, key: ec.EllipticCurvePrivateKey) -> Pair:
    pair = Pair(directory / f"{name}.crt", directory / f"{name}.key")
    pair.certificate.write_bytes(public)
    pair.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    pair.key.chmod(0o600)
    return pair
