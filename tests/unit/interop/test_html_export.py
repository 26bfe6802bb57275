"""The page that translates: what its script makes of text, and what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlingua.cli import main
from interlingua.errors import ConfigError, ExportError
from interlingua.interop import html_export
from interlingua.interop.export import export_model
from interlingua.tokenization.train import train_tokenizer
from interlingua.translator import Translator

NODE = shutil.which("node") or ""


def needs_node(test: Callable[..., None]) -> Callable[..., None]:
    missing = pytest.mark.skipif(not NODE, reason="needs Node.js 18 or newer on the path")
    return pytest.mark.runtime(missing(test))


CASES = [
    ("tied", True, {}),
    ("separate", False, {}),
    ("untied-biased", False, {}),
    ("tied", True, {"norm": "pre", "activation": "swiglu"}),
    ("tied", True, {"positions": "learned", "d_k": 4, "d_v": 6}),
]
TEXTS = [
    *("pisica doarme", "  două  spații ", "x 日本 y ﬁ ½", "<b>&amp;</b> </s> ▁", "É é e\u0301"),
    *("OHNE ẞ Σίσυφος ΟΔΟΣ", "a" * 600, "tab\tși\u00a0spațiu", "\U0001f600👩‍🚀", "câinele aleargă"),
]


@needs_node
@pytest.mark.parametrize(("name", "shared", "changes"), CASES)
def test_every_token_and_score_is_the_same_in_the_page(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    name: str,
    shared: bool,
    changes: dict[str, object],
) -> None:
    folder, out = make_folder(name, shared=shared, **changes), tmp_path / "out"
    exported = export_model(folder, out, format_name="html", quantization="float32")
    assert exported.proof is not None
    for each in exported.proof.comparisons:
        assert each.agreement == 1.0 or each.near_ties
        assert each.score_difference is not None
        assert each.score_difference < 1e-5
        assert each.texts_differ == 0
    assert sorted(file for file, _ in exported.files) == ["README.md", "index.html"]


@needs_node
def test_the_page_writes_what_the_command_writes(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder, out = make_folder("tied"), tmp_path / "out"
    export_model(folder, out, format_name="html", quantization="float32", is_proved=False)
    translator = Translator.load(folder)
    for beam_size in (1, 4):
        ours = translator.translate(TEXTS, beam_size=beam_size)
        asked = [{"text": text, "beam_size": beam_size} for text in TEXTS]
        theirs = html_export._ask(NODE, out / "index.html", asked)
        assert [each["text"] for each in theirs] == [each.text for each in ours]


def page_of(tokenizer: Any, make_folder: Callable[..., Path], tmp_path: Path) -> Path:
    """Put a tokenizer into a page, beside a model that is not asked for anything."""
    folder, out = make_folder("tied"), tmp_path / "out"
    export_model(folder, out, format_name="html", is_proved=False)
    path = out / "index.html"
    text = path.read_text(encoding="utf-8")
    start, rest = text.split('id="model">')
    described, end = rest.split("</script>", 1)
    changed = json.loads(described)
    changed["source_tokenizer"] = html_export.describe_tokenizer(tokenizer)
    inner = json.dumps(changed, ensure_ascii=False).replace("<", "\\u003c")
    path.write_text(f'{start}id="model">{inner}</script>{end}', encoding="utf-8")
    return path


@needs_node
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        *((kind, {}) for kind in ("bpe", "unigram", "wordpiece", "word", "char")),
        ("bpe", {"lowercase": True}),
    ],
)
def test_text_is_cut_into_the_same_ids(
    make_folder: Callable[..., Path], tmp_path: Path, kind: Any, changes: dict[str, Any]
) -> None:
    tokenizer = train_tokenizer([*TEXTS, *TEXTS], kind=kind, vocabulary_size=340, **changes)
    path = page_of(tokenizer, make_folder, tmp_path)
    asked = [{"text": text, "encode": True} for text in TEXTS]
    theirs = html_export._ask(NODE, path, asked)
    assert [each["encoded"] for each in theirs] == tokenizer.encode_batch(TEXTS)
    assert [each["decoded"] for each in theirs] == [tokenizer.normalise(text) for text in TEXTS]


def test_a_page_that_would_be_too_large_is_refused_with_what_to_do(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(html_export, "LARGEST", 50_000)
    folder, out = make_folder("tied"), str(tmp_path / "out")
    arguments = ["export", str(folder), "--format", "html", "--quantization", "float16"]
    assert main([*arguments, "--output", out]) == 8
    told = capsys.readouterr().err
    assert "take --quantization int8, or train a smaller model" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_from_elsewhere_is_refused() -> None:
    import tokenizers

    from interlingua.tokenization.huggingface import HuggingFaceTokenizer

    words = tokenizers.models.WordLevel({"</s>": 0, "a": 1}, unk_token="</s>")
    foreign = HuggingFaceTokenizer(tokenizers.Tokenizer(words))
    with pytest.raises(ExportError, match="cannot apply a tokenizer that was not trained here"):
        html_export.describe_tokenizer(foreign)


def test_without_node_the_proof_says_what_is_missing(
    make_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ConfigError, match=r"needs Node\.js 18 or newer"):
        export_model(make_folder("tied"), tmp_path / "out", format_name="html")
    assert not (tmp_path / "out").exists()
