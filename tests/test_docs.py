"""The guides: every link leads to a file that is there and to a heading that it has, and README lists them all."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    return [link for link in LINK.findall(FENCED.sub("", page.read_text())) if not link.startswith("http")]


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings: small letters, dashes for spaces, nothing for punctuation."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_readme_lists_every_guide():
    listed = {(ROOT / link).resolve() for link in links(ROOT / "README.md") if "#" not in link}
    assert [page.name for page in ROOT.glob("docs/*.md") if page.resolve() not in listed] == []


SHOWN = sorted([*PAGES, *ROOT.glob("examples/**/*.yaml"), *ROOT.glob("charts/koordpy/templates/*.txt")])


@pytest.mark.parametrize("page", [page for page in SHOWN if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_kubectl_is_told_whose_podgroups(page):
    """Several API groups have PodGroups, and without a word kubectl takes those of Kubernetes itself, or KAI's."""
    ambiguous = re.findall(
        r"kubectl (?:get|describe|patch|delete|wait|annotate) .*?podgroups?(?![.\w-]).*", page.read_text()
    )
    assert [line for line in ambiguous if "shows those" not in line] == []


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("examples/**/*.yaml")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_no_example_has_an_object_beside_its_definition(path):
    """kubectl looks all kinds of a file up before it creates the first object: the definition would come too late."""
    documents = [each for each in yaml.safe_load_all(path.read_text()) if each]
    defined = {each["spec"]["group"] for each in documents if each["kind"] == "CustomResourceDefinition"}
    assert [each["kind"] for each in documents if each["apiVersion"].split("/")[0] in defined] == []
