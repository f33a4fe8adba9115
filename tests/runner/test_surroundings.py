import subprocess

import evonorm
from evonorm.runner.surroundings import commit


def git(folder, *command):
    name = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    return subprocess.check_output(["git", "-C", str(folder), *name, *command], text=True).strip()


def test_the_commit_is_that_of_the_package_and_marked_when_its_files_changed(tmp_path, monkeypatch):
    package = tmp_path / "project/evonorm"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(evonorm, "__file__", str(package / "__init__.py"))
    git(tmp_path, "init", "-q", "project")
    git(package, "add", ".")
    git(package, "commit", "-q", "-m", "first")
    head = git(package, "rev-parse", "HEAD")
    assert commit() == head
    (package.parent / "notes.txt").touch()
    assert commit() == head
    (package / "__init__.py").write_text("changed = True")
    assert commit() == f"{head}+"


def test_an_install_inside_another_project_has_no_commit(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "somebody's own work")
    package = tmp_path / ".venv/lib/evonorm"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(evonorm, "__file__", str(package / "__init__.py"))
    assert commit() is None


def test_without_a_repository_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(evonorm, "__file__", str(tmp_path / "__init__.py"))
    assert commit() is None
