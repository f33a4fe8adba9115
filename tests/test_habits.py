"""The files around the code say what is true: hooks and workflow run what `make` and `.ci/run` run."""

import re
import shlex

import pytest

from tests.pages import ROOT

yaml = pytest.importorskip("yaml", reason="comes with transformers of the dev extra")


def test_hooks_check_what_make_lint_checks():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    programs = {tuple(line.replace("$(BIN)", ".venv/bin").rstrip(" .").split()[:2]) for line in recipe.splitlines()}
    found = {tuple(shlex.split(hook["entry"])[:2]) for hook in hooks if hook["entry"].startswith(".venv/bin")}
    assert found == programs


def test_the_workflow_runs_the_ci_script():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert [step["run"] for step in steps if "run" in step] == ["bash .ci/run"]


def test_make_help_lists_every_target_that_people_call():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()) - {"browser"}
    assert targets == set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))


def test_the_citation_names_the_paper_and_no_version_of_its_own():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["preferred-citation"]["title"] == "Evolving Normalization-Activation Layers"
    assert "version" not in citation, "the version stands in evonorm/__init__.py alone"


def test_every_direct_dependency_of_the_dev_extra_is_pinned():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [line for lines in (project["dependencies"], *extras.values()) for line in lines]
    names = {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in wanted} - {"evonorm"}
    pins = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    assert names <= pins, f"without a pin: {names - pins}"
