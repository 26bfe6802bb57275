"""Packages for Argos Translate: their layout, their splitter, and that its two libraries translate the same with them."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from interlingua.cli import main
from interlingua.errors import ExportError
from interlingua.interop import argos_export
from interlingua.interop.export import export_model

for name in argos_export.PACKAGES:
    pytest.importorskip(name, reason=f"needs the export extra: {name}")


@pytest.mark.unchecked
def test_every_token_score_and_text_is_the_same_there(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    exported = export_model(make_folder("tied"), tmp_path / "out", format_name="argos")
    assert exported.proof is not None
    for each in exported.proof.comparisons:
        assert each.agreement == 1.0 or each.near_ties
        assert each.score_difference is not None
        assert each.score_difference < 1e-5
        assert each.texts_differ == 0
    assert sorted(file for file, _ in exported.files) == [
        "README.md",
        "translate-ro_en-1_0.argosmodel",
    ]


def test_the_package_is_one_folder_with_what_argos_looks_for(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_folder("tied")
    for out in ("out", "again"):
        export_model(folder, tmp_path / out, format_name="argos", is_proved=False)
    package = tmp_path / "out" / "translate-ro_en-1_0.argosmodel"
    root = "translate-ro_en-1_0/"
    with zipfile.ZipFile(package) as archive:
        names = archive.namelist()
        metadata = json.loads(archive.read(f"{root}metadata.json"))
    assert all(each.startswith(root) for each in names)
    assert {each.removeprefix(root) for each in names} >= {
        *("metadata.json", "README.md", "sentencepiece.model", "minisbd/ro.onnx"),
        *("model/model.bin", "model/config.json"),
    }
    assert metadata["from_code"] == "ro"
    assert metadata["to_name"] == "English"
    assert metadata["type"] == "translate"
    assert package.read_bytes() == (tmp_path / "again" / package.name).read_bytes()


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("ro", "Pisica doarme. Câinele aleargă! Vii?", 3),
        ("ro", "Costă 3.5 lei", 1),
        ("ro", "„Vino.” El a plecat", 2),
        ("ro", "nu. știu", 1),
        ("zh", "我来了。他走了！", 2),
        ("ro", "fără", 1),
        ("hi", "मैं आया। वह गया। क्या तुम आओगे? हाँ", 4),
        ("ar", "هل جئت؟ نعم. أنا هنا 3.5", 3),
        ("ka", "მოვიდა. წავიდა", 2),
        ("ko", "나는 왔다. 그는 갔다.", 2),
        ("my", "သူလာသည်။ သူသွားသည်။", 2),
    ],
)
def test_the_splitter_ends_sentences_at_their_marks(
    language: str, text: str, sentences: int
) -> None:
    import onnxruntime

    from interlingua.interop.argos_splitter import splitter_graph

    model = splitter_graph(language)
    told = {each.key: each.value for each in model.metadata_props}
    ids = json.loads(told["vocab"])["_unit2id"]
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    units = np.array([[*(ids.get(letter, ids["<UNK>"]) for letter in text), ids["<PAD>"]]])
    capitals = np.array([[*(float(letter.isupper()) for letter in text), 0.0]], dtype=np.float32)
    given = {"units": units.astype(np.int64), "features": capitals[:, :, None]}
    (scores,) = session.run(None, given)
    ends = scores[0, : len(text)].argmax(-1)
    ends[-1] = 2  # the reader ends the last sentence itself
    assert (ends == 2).sum() == sentences
    assert set(ends.tolist()) <= {0, 2}


def test_a_tokenizer_for_each_side_is_refused_with_the_remedy(
    make_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = make_folder("separate", shared=False), tmp_path / "out"
    assert main(["export", str(folder), "--format", "argos", "--output", str(out)]) == 8
    told = capsys.readouterr().err.splitlines()[-1]
    assert "train with tokenization.shared = true" in told
    assert not out.exists()


def test_what_is_no_sentencepiece_model_is_refused_with_the_remedy(
    make_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlingua.checkpoints.model_folder import load_model_folder
    from interlingua.tokenization import TokenizerPair
    from interlingua.tokenization.train import train_tokenizer

    loaded = load_model_folder(make_folder("tied"))
    words = train_tokenizer(["a b", "c"], kind="wordpiece", vocabulary_size=300)
    object.__setattr__(loaded, "tokenizers", TokenizerPair(words, words, shared=True))
    with pytest.raises(ExportError, match="SentencePiece model"):
        argos_export.write(loaded, tmp_path, "float32")
    assert not list(tmp_path.glob("*.argosmodel"))
