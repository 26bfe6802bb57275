"""Laws of fine-tuning: adapters begin as nothing and merge exactly, frozen means untouched, old pieces stay."""

import pytest
import torch
from hypothesis import given, reject
from hypothesis import strategies as st

from interlingua.batching.batch import make_batch
from interlingua.checkpoints.adapter_folder import Adapter, merge_adapter
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import TrainingConfig
from interlingua.errors import ConfigError
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.extension import extend_tokenizer
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.adapting import (
    LORA_ON,
    adapter_tensors,
    freeze,
    merged_weights,
    put_adapters,
)
from interlingua.training.objective import batch_loss
from interlingua.training.optimizer import Adam

WORDS = 9
IDS = torch.tensor([[4, 5, 6, 3], [7, 8, 3, 0]])
GROUPS = (
    *("encoder.*", "decoder.*", "*attention.*", "*feed_forward.*", "*norm*", "source_embedding.*"),
    *("target_embedding.*", "output.*", "*.bias", "decoder.layers.0.*"),
)
TEXT = st.text(alphabet="abcdé Σ1.", min_size=1, max_size=20)

sizes = st.builds(
    Architecture,
    encoder_layers=st.integers(1, 2),
    decoder_layers=st.integers(1, 2),
    d_model=st.sampled_from([8, 12]),
    d_ff=st.sampled_from([4, 12]),
    heads=st.sampled_from([1, 2]),
    dropout=st.just(0.0),
    activation=st.sampled_from(["relu", "gelu", "swiglu"]),
    norm=st.sampled_from(["post", "pre"]),
    tie=st.sampled_from(["three-way", "target", "none"]),
)


def model_of(architecture: Architecture, seed: int = 1) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(architecture, source_vocabulary=WORDS, target_vocabulary=WORDS)


@given(sizes, st.integers(1, 4))
def test_an_adapter_that_has_learnt_nothing_changes_no_logit(
    architecture: Architecture, rank: int
) -> None:
    plain, adapted = model_of(architecture).eval(), model_of(architecture).eval()
    put_adapters(adapted, LORA_ON, rank, alpha=2.0 * rank)
    assert torch.equal(adapted(IDS, IDS), plain(IDS, IDS))


@given(sizes, st.integers(1, 4), st.floats(0.1, 32.0))
def test_merged_and_unmerged_adapters_say_the_same(
    architecture: Architecture, rank: int, alpha: float
) -> None:
    # In double precision: it is the law that is looked at, not how the sums of a post-norm stack round.
    plain, adapted = model_of(architecture).double().eval(), model_of(architecture).double().eval()
    put_adapters(adapted, LORA_ON, rank, alpha)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if name.endswith("lora_b"):
                parameter.normal_(std=0.1 / alpha)
    own = parameters_of(adapted)
    adapter = Adapter(rank, alpha, "", "a", "b", adapter_tensors(own))
    merged = merge_adapter(parameters_of(plain), adapter)
    for name, tensor in merged_weights(own, alpha / rank).items():
        torch.testing.assert_close(merged[name], tensor, rtol=0, atol=1e-6)
    with torch.no_grad():
        for name, parameter in parameters_of(plain).items():
            parameter.copy_(merged[name])
    torch.testing.assert_close(adapted(IDS, IDS), plain(IDS, IDS), rtol=2e-6, atol=1e-6)


@given(sizes, st.lists(st.sampled_from(GROUPS), min_size=1, max_size=3), st.booleans())
def test_an_update_touches_no_frozen_parameter_and_some_other(
    architecture: Architecture, patterns: list[str], plain: bool
) -> None:
    model = model_of(architecture)
    try:
        freeze(model, patterns)
    except ConfigError:
        reject()  # nothing would be left to train
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    config = TrainingConfig(weight_decay=0.1)
    optimizer = Adam(model, config)
    batch = make_batch(
        *([[4, 5, 6], [7, 8]], [[4, 5], [6, 7, 8]], [0, 1]),
        source_pad=0,
        source_end=3,
        target_pad=0,
        target_begin=2,
        target_end=3,
    )
    batch_loss(model, batch, 0.1, plain=plain).backward()
    optimizer.step(0.1)
    changed = {n for n, p in model.named_parameters() if not torch.equal(p.detach(), before[n])}
    assert frozen
    assert changed
    assert not frozen & changed


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "word", "char"])
@given(
    old=st.lists(TEXT, min_size=3, max_size=6),
    new=st.lists(TEXT, min_size=3, max_size=6),
    number=st.integers(1, 20),
)
def test_an_extended_tokenizer_keeps_old_ids_and_loses_no_text(
    kind: str, old: list[str], new: list[str], number: int
) -> None:
    before = train_tokenizer(["a b", *old], kind=kind, vocabulary_size=290)
    after = extend_tokenizer(before, new * 2, number)
    size = before.vocabulary_size
    assert size <= after.vocabulary_size <= size + number
    assert after.tokens(range(size)) == before.tokens(range(size))
    for text in (*old, *new):
        ids = after.encode(text).ids
        assert after.decode(ids) == after.normalise(text)
        if max(ids, default=0) < size and kind != "unigram":
            assert ids == before.encode(text).ids
