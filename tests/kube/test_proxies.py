"""Which proxy stands before the API server: the kubeconfig's, the environment's, or none."""

from __future__ import annotations

import base64

import pytest

from koordpy.kube.auth.proxies import BadProxy, Proxy, is_exempt, proxy_for

API = "https://api.example.com:6443"
ENVIRONMENT = {"HTTPS_PROXY": "http://secure:3128", "HTTP_PROXY": "http://plain:3128"}


def test_without_proxy_settings_there_is_no_proxy() -> None:
    assert proxy_for(API, None, {}) is None


@pytest.mark.parametrize(
    ("url", "environment", "expected"),
    [
        (API, ENVIRONMENT, "http://secure:3128"),
        ("http://api.example.com", ENVIRONMENT, "http://plain:3128"),
        (API, {"https_proxy": "http://small"}, "http://small:80"),
        (API, {"https_proxy": "http://small", "HTTPS_PROXY": "http://large"}, "http://large:80"),
        (API, {"HTTPS_PROXY": "proxy.example.com:8080"}, "http://proxy.example.com:8080"),
        (API, {"HTTPS_PROXY": "proxy"}, "http://proxy:80"),
        (API, {"HTTPS_PROXY": "http://[fd00::1]:3128"}, "http://[fd00::1]:3128"),
        (API, {"HTTP_PROXY": "http://plain:3128", "HTTPS_PROXY": ""}, "None"),
    ],
)
def test_the_environment_names_a_proxy_for_tls_and_one_for_plain_http(url, environment, expected) -> None:
    assert str(proxy_for(url, None, environment)) == expected


def test_the_proxy_of_the_kubeconfig_takes_precedence_and_ignores_no_proxy() -> None:
    environment = {**ENVIRONMENT, "NO_PROXY": "*"}
    assert proxy_for("https://127.0.0.1:6443", "http://mine:1234", environment) == Proxy("mine", 1234)


def test_the_proxy_password_is_sent_and_not_shown() -> None:
    proxy = proxy_for(API, "http://me:p%40ss@proxy:3128", {})
    assert proxy is not None
    assert proxy.authorization == "Basic " + base64.b64encode(b"me:p@ss").decode()
    assert str(proxy) == "http://proxy:3128"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("socks5://me:secret@proxy:1080", "'socks5://***@proxy:1080' cannot be used: only http:// proxies can"),
        ("https://me:secret@proxy", "'https://***@proxy' cannot be used: only http:// proxies can"),
        ("http://me:secret@proxy:port", "'http://***@proxy:port' is not the URL of a proxy"),
        ("http://me:secret@[fd00::1", "'http://***@[fd00::1' is not the URL of a proxy"),
        ("http://", "'http://' is not the URL of a proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(value: str, message: str) -> None:
    for source, arguments in (("proxy-url", (value, {})), ("https_proxy", (None, {"https_proxy": value}))):
        with pytest.raises(BadProxy) as caught:
            proxy_for(API, *arguments)
        assert str(caught.value) == f"{source}: {message}"


def test_a_proxy_that_cannot_be_used_does_not_matter_for_an_exempt_server() -> None:
    environment = {"HTTPS_PROXY": "socks5://proxy:1080", "NO_PROXY": "example.com"}
    assert proxy_for(API, None, environment) is None
    assert proxy_for("https://localhost:6443", None, environment) is None


@pytest.mark.parametrize(
    ("host", "no_proxy", "expected"),
    [
        ("api.example.com", "", False),
        ("localhost", "", True),
        ("127.0.0.9", "", True),
        ("::1", "", True),
        ("api.example.com", "*", True),
        ("10.1.2.3", "*", True),
        ("api.example.com", "a.b, api.example.com", True),
        ("api.example.com", "EXAMPLE.com", True),
        ("example.com", "example.com", True),
        ("myexample.com", "example.com", False),
        ("api.example.com", ".example.com", True),
        ("example.com", ".example.com", False),
        ("api.example.com", "*.example.com", True),
        ("example.com", "*.example.com", False),
        ("api.example.com", "example.com:6443", True),
        ("api.example.com", "example.com:443", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.0.0.0/255.0.0.0", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3:6443", True),
        ("10.1.2.3", "10.1.2.3:443", False),
        ("10.1.2.3", "2.3", False),
        ("fd00::1", "fd00::/8", True),
        ("fd00::1", "[fd00::1]:6443", True),
        ("fd00::1", "fd00::1", True),
        ("api.example.com", "10.0.0.0/8,:6443,[,/8", False),
    ],
)
def test_no_proxy_is_read_as_go_reads_it(host: str, no_proxy: str, expected: bool) -> None:
    assert is_exempt(host, 6443, no_proxy) is expected
