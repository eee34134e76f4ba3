"""G26: ways to lose that no line of ours may take. (What ruff's S rules see is theirs to say.)"""

import ast
from pathlib import Path

import pytest

import modeldyno

SOURCES = sorted(Path(modeldyno.__file__).parent.rglob("*.py"))
CALLS = {
    "eval", "exec", "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.loads", "yaml.load",
    "yaml.unsafe_load", "os.system", "os.popen", "shelve.open", "tempfile.mktemp",
}  # fmt: skip
METHODS = {"extractall", "_extract_member"}
ARGUMENTS = {("shell", True), ("weights_only", False), ("allow_pickle", True)}


def broken_rules(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in CALLS or name.rpartition(".")[2] in METHODS:
                yield name
            for word in node.keywords:
                if (
                    isinstance(word.value, ast.Constant)
                    and (word.arg, word.value.value) in ARGUMENTS
                ):
                    yield f"{name}({word.arg}={word.value.value!r})"


def test_no_line_of_ours_takes_a_known_way_to_lose():
    found = {path.name: list(broken_rules(path.read_text())) for path in SOURCES}
    assert {name: rules for name, rules in found.items() if rules} == {}
    assert len(found) > 100


def test_defect_19_nothing_is_read_back_from_a_pickle():
    called = {rule for path in SOURCES for rule in broken_rules(path.read_text())}
    assert not [rule for rule in called if "pickle" in rule]
    assert list(broken_rules("pickle.load(file)")) == ["pickle.load"]  # the control


@pytest.mark.parametrize(
    "code",
    ["archive.extractall(x)", "run(c, shell=True)", "torch.load(f, weights_only=False)", "eval(x)"],
)
def test_the_rules_would_be_noticed(code):
    assert len(list(broken_rules(code))) == 1
