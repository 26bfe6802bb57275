"""The loop: what an update does, and that a resumed run is the run that was never stopped."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_shards import write_shards
from torch.nn import functional

from interlingua.batching.batch import Batch
from interlingua.checkpoints.model_folder import build
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import DecodingConfig, TrainingConfig
from interlingua.corpus.input_noise import InputNoise
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import TrainingError
from interlingua.model.architecture import Architecture
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training import gradients, validation
from interlingua.training.data import Cursor, TrainingData
from interlingua.training.gradients import Measured
from interlingua.training.loop import Trainer
from interlingua.training.objective import batch_loss
from interlingua.training.validation import Validation, Validator
from interlingua.translator import Translator

PAIRS = [SentencePair(" ".join(f"{i * 7919:05}"), " ".join(f"{i:03}"), i + 1) for i in range(60)]
SIZES = Architecture(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, heads=2, dropout=0.2)
CONFIG = TrainingConfig(
    seed=5, steps=100, warmup_steps=4, peak_learning_rate=0.01, schedule="linear", clip_norm=0.5
)


@pytest.fixture
def data(tmp_path: Path) -> TrainingData:
    texts = [pair.source for pair in PAIRS] + [pair.target for pair in PAIRS]
    tokenizer = train_tokenizer(texts, kind="word", vocabulary_size=300)
    shards = write_shards(
        tmp_path / "shards",
        [tokenizer.encode(pair.source).ids for pair in PAIRS],
        [tokenizer.encode(pair.target).ids for pair in PAIRS],
    )
    tokenizers = TokenizerPair(tokenizer, tokenizer, shared=True)
    return TrainingData(shards, PAIRS, tokenizers, batch_tokens=64, max_length=20, seed=5)


def trainer_of(
    data: TrainingData,
    config: TrainingConfig = CONFIG,
    say: Callable[[str], None] = lambda _: None,
) -> Trainer:
    torch.manual_seed(1)
    model = build(SIZES, data.tokenizers)
    return Trainer(model, data, config, device=torch.device("cpu"), dtype=torch.float32, say=say)


def advance(trainer: Trainer, updates: int) -> list[float]:
    losses = []
    for batches, cursor in trainer._groups():
        if len(losses) == updates:
            return losses
        losses.append(trainer.update(batches).loss)
        trainer.state = replace(trainer.state, cursor=cursor)
    raise AssertionError


def test_a_resumed_run_is_bit_for_bit_the_run_that_was_never_stopped(
    data: TrainingData, tmp_path: Path
) -> None:
    whole = trainer_of(data)
    losses = advance(whole, 12)
    stopped = trainer_of(data)
    before = advance(stopped, 5)
    stopped.state = replace(
        stopped.state,
        seconds=100.5,
        validated=4,
        skipped=3,
        skipped_in_a_row=1,
        losses=(1.5, 2.5),
        rates=(0.25,),
    )
    store = CheckpointStore(tmp_path / "checkpoints", keep=2)
    stopped.save(store)
    resumed = trainer_of(data)
    torch.manual_seed(999)
    checkpoint = store.latest()
    assert checkpoint is not None
    resumed.resume(checkpoint)
    assert resumed.state == stopped.state
    after = advance(resumed, 7)
    assert resumed.state.seconds > 100.5
    assert before + after == losses
    for name, tensor in parameters_of(whole.model).items():
        assert torch.equal(tensor, parameters_of(resumed.model)[name]), name


@pytest.mark.parametrize("clip_norm", [0.5, None])
def test_updates_are_those_of_a_plain_loop_with_the_parts_of_torch(
    data: TrainingData, clip_norm: float | None
) -> None:
    # The gradient of keys' biases is rounding alone; with the epsilon of before Adam would make steps of it.
    config = CONFIG.model_copy(update={"clip_norm": clip_norm, "adam_epsilon": 1e-4})
    torch.manual_seed(1)
    model = build(replace(SIZES, dropout=0.0), data.tokenizers)
    plain = deepcopy(model)
    cpu = torch.device("cpu")
    trainer = Trainer(model, data, config, device=cpu, dtype=torch.float32)
    parameters = list(plain.parameters())
    adam = torch.optim.AdamW(parameters, betas=(0.9, 0.98), eps=1e-4, weight_decay=0.0)
    rates = [0.0025, 0.005 * 0.99, 0.0075 * 0.98, 0.01 * 0.97, 0.01 * 0.96]
    stream = (batch for batch, _ in data.batches(Cursor()))
    for rate in rates:
        batches = [next(stream), next(stream)]
        measured = trainer.update(batches)
        tokens = sum(int((batch.target_out != plain.target_pad).sum()) for batch in batches)
        losses = [
            functional.cross_entropy(
                plain(batch.source, batch.target_in).flatten(0, 1),
                batch.target_out.flatten(),
                ignore_index=plain.target_pad,
                label_smoothing=0.1,
                reduction="sum",
            )
            for batch in batches
        ]
        loss = torch.stack(losses).sum() / tokens
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(parameters, clip_norm or float("inf"))
        adam.param_groups[0]["lr"] = rate
        adam.step()
        assert measured.loss == pytest.approx(loss.item(), rel=1e-5)
        assert measured.norm == pytest.approx(norm.item(), rel=1e-5)
        assert norm > 0.6
    for name, tensor in parameters_of(plain).items():
        torch.testing.assert_close(parameters_of(model)[name], tensor, rtol=0.0, atol=1e-5)


def test_one_update_of_two_batches_is_one_update_of_both_together(data: TrainingData) -> None:
    sizes = replace(SIZES, dropout=0.0)
    steps = []
    for groups in ((2, 64), (1, 100_000)):
        torch.manual_seed(1)
        model = build(sizes, data.tokenizers).double()
        model.source_embedding.positions = model.source_embedding.positions.double()
        few = replace(data, batch_tokens=groups[1])
        trainer = Trainer(model, few, CONFIG, device=torch.device("cpu"), dtype=torch.float32)
        order = data.order(0)[:2]
        if groups[0] == 2:
            batches = [data.batch(indices, 0) for indices in order]
        else:
            batches = [data.batch(torch.cat([torch.as_tensor(i) for i in order]).numpy(), 0)]
        steps.append((trainer.update(batches), parameters_of(model)))
    (first, first_weights), (second, second_weights) = steps
    assert first.loss == pytest.approx(second.loss, rel=1e-9)
    assert first.norm == pytest.approx(second.norm, rel=1e-9)
    for name, tensor in first_weights.items():
        torch.testing.assert_close(tensor, second_weights[name], rtol=1e-7, atol=1e-9)


def test_a_loss_that_is_not_a_number_changes_nothing(data: TrainingData) -> None:
    trainer = trainer_of(data, CONFIG.model_copy(update={"non_finite": "stop"}))
    advance(trainer, 1)
    with torch.no_grad():
        trainer.model.decoder.layers[0].feed_forward.inner.bias[0] = float("inf")
    before = {name: tensor.clone() for name, tensor in parameters_of(trainer.model).items()}
    recorded: list[Measured] = []
    batches, cursor = next(trainer._groups())
    with pytest.raises(TrainingError, match=r"step 2.*lines.*peak_learning_rate"):
        trainer.update(batches, cursor, recorded.append)
    assert recorded[0].suspects  # what is to blame is in the record, too
    for name, tensor in parameters_of(trainer.model).items():
        assert torch.equal(tensor, before[name]), name


def test_an_update_without_a_finite_loss_is_left_out_and_ten_in_a_row_end_the_run(
    data: TrainingData,
) -> None:
    said: list[str] = []
    trainer = trainer_of(data, say=said.append)
    advance(trainer, 1)
    bias = trainer.model.decoder.layers[0].feed_forward.inner.bias
    with torch.no_grad():
        bias[0] = float("inf")
    before = {name: tensor.clone() for name, tensor in parameters_of(trainer.model).items()}
    advance(trainer, 2)
    assert trainer.state.skipped == 2
    assert trainer.state.step == 3
    assert "step 3" in said[1]
    assert "training pairs" in said[1]
    for name, tensor in parameters_of(trainer.model).items():
        assert torch.equal(tensor, before[name]), name
    with torch.no_grad():
        bias[0] = 0.0
    advance(trainer, 1)
    assert trainer.state.skipped == 2
    with torch.no_grad():
        bias[0] = float("inf")
    with pytest.raises(TrainingError, match="10th in a row"):
        advance(trainer, 12)


def test_an_update_that_is_left_out_is_told_when_others_may_save(data: TrainingData) -> None:
    free: list[bool] = []

    def say(_: str) -> None:
        """Ask as another thread, as this one may take its own lock again."""
        with ThreadPoolExecutor() as another:
            free.append(another.submit(trainer.changing.acquire, blocking=False).result())

    trainer = trainer_of(data, say=say)
    with torch.no_grad():
        trainer.model.decoder.layers[0].feed_forward.inner.bias[0] = float("inf")
    advance(trainer, 1)
    assert free == [True]


def test_the_pairs_of_the_batch_that_is_to_blame_are_named(data: TrainingData) -> None:
    model = build(replace(SIZES, tie="none"), data.tokenizers)
    cpu = torch.device("cpu")
    trainer = Trainer(model, data, CONFIG, device=cpu, dtype=torch.float32)
    batches = [data.batch(np.array([0, 1]), 0), data.batch(np.array([2, 3, 4]), 0)]
    rare = 280
    batches[0].source[batches[0].source == rare] = 5
    batches[1].source[1, 0] = rare
    with torch.no_grad():
        trainer.model.source_embedding.table.weight[rare] = float("nan")
    measured = trainer.update(batches)
    assert measured.suspects == (2, 3, 4)


def test_every_pair_is_seen_exactly_once_an_epoch_whatever_the_cursor(data: TrainingData) -> None:
    seen: list[int] = []
    cursor = Cursor()
    while cursor.epoch == 0:
        batch, cursor = next(data.batches(cursor))
        seen.extend(batch.pair_ids)
    assert sorted(seen) == list(range(len(PAIRS)))


def test_an_order_that_was_begun_ahead_is_the_order(data: TrainingData) -> None:
    ahead = replace(data)
    ahead.order_ahead(0)
    count = 2 * len(data.order(0)) + 3
    streams = data.batches(Cursor()), ahead.batches(Cursor())
    batches = [[next(stream)[0].pair_ids for _ in range(count)] for stream in streams]
    assert batches[0] == batches[1]
    assert 0 not in ahead.ahead


def test_an_order_that_was_begun_ahead_holds_up_no_process_that_ends(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = threading.Event()
    monkeypatch.setattr(TrainingData, "order", lambda *_: until.wait(60) and [])
    before = set(threading.enumerate())
    data.order_ahead(1)
    (beside,) = set(threading.enumerate()) - before
    is_daemon = beside.daemon
    until.set()
    beside.join()
    assert is_daemon
    assert data.ahead[1].result() == []


def test_an_error_in_an_order_that_was_begun_ahead_is_raised_where_it_is_asked_for(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(TrainingData, "order", fail)
    data.order_ahead(0)
    with pytest.raises(MemoryError):
        next(data.batches(Cursor()))


def test_subword_sampling_changes_from_epoch_to_epoch_and_repeats_itself(tmp_path: Path) -> None:
    texts = [f"casele băieților numărul {i}" for i in range(40)]
    tokenizer = train_tokenizer(texts, kind="bpe", vocabulary_size=320)
    ids = [tokenizer.encode(text).ids for text in texts]
    shards = write_shards(tmp_path / "shards", ids, ids)
    pairs = [SentencePair(text, text, i + 1) for i, text in enumerate(texts)]
    both = TokenizerPair(tokenizer, tokenizer, shared=True)
    data = TrainingData(shards, pairs, both, 4096, max_length=64, seed=1, sampling=0.3)
    indices = data.order(0)[0]
    first, again = data.batch(indices, 0), data.batch(indices, 0)
    assert torch.equal(first.source, again.source)
    assert not torch.equal(first.source[:, :5], data.batch(indices, 1).source[:, :5])
    row = first.source[0]
    text = tokenizer.decode([int(i) for i in row])
    assert text == texts[first.pair_ids[0]]


def test_noise_changes_some_pairs_of_an_epoch_and_repeats_itself(tmp_path: Path) -> None:
    texts = [f"casele băieților, numărul {i}" for i in range(40)]
    tokenizer = train_tokenizer(texts, kind="bpe", vocabulary_size=320)
    tag = tokenizer.encode("X").ids[0]
    ids = [[tag, *tokenizer.encode(text).ids] for text in texts]
    shards = write_shards(tmp_path / "shards", ids, [row[1:] for row in ids])
    pairs = [SentencePair(text, text, i + 1) for i, text in enumerate(texts)]
    both = TokenizerPair(tokenizer, tokenizer, shared=True)
    noise = InputNoise(0.5, seed=1)
    data = TrainingData(
        shards, pairs, both, 4096, max_length=128, seed=1, noise=noise, prefixes=((tag,),)
    )

    def sources(epoch: int) -> list[list[int]]:
        batch = data.batch(np.arange(40), epoch)
        return [row[row != tokenizer.pad_id].tolist() for row in batch.source]

    first = sources(0)
    assert first == sources(0)
    assert first != sources(1)
    untouched = [row[:-1] == clean for row, clean in zip(first, ids, strict=True)]
    assert 10 <= sum(untouched) <= 30
    assert {row[0] for row in first} == {tag}


def test_dropout_differs_from_update_to_update_and_from_seed_to_seed(data: TrainingData) -> None:
    batch = next(data.batches(Cursor()))[0]
    losses = []
    for seed in (5, 6):
        trainer = trainer_of(data, CONFIG.model_copy(update={"seed": seed}))
        trainer.told_rates = {1: 0.0, 2: 0.0}  # the weights stay
        losses += [trainer.update([batch]).loss for _ in range(2)]
    assert len(set(losses)) == 4


def test_the_loss_falls(data: TrainingData) -> None:
    losses = advance(trainer_of(data, replace_steps(60)), 60)
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


def replace_steps(steps: int) -> TrainingConfig:
    return CONFIG.model_copy(update={"steps": steps})


def test_a_batch_that_does_not_fit_into_memory_is_halved_and_gives_the_same_update(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lack of memory is real only under `ulimit`; here a loss of more than three rows raises what torch raises."""
    sizes = replace(SIZES, dropout=0.0)
    batch = data.batch(np.arange(8), 0)
    found, said = [], []
    for most_rows in (100, 3):
        torch.manual_seed(1)
        trainer = Trainer(
            build(sizes, data.tokenizers),
            data,
            CONFIG,
            device=torch.device("cpu"),
            dtype=torch.float32,
            say=said.append,
        )

        def limited(
            model: object, batch: Batch, *rest: object, most: int = most_rows, **more: object
        ) -> torch.Tensor:
            if len(batch.pair_ids) > most:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to ...")
            return batch_loss(model, batch, *rest, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(gradients, "batch_loss", limited)
        found.append((trainer.update([batch]), parameters_of(trainer.model)))
    assert len(said) == 3
    assert "8 pairs" in said[0]
    (whole, weights), (split, same_weights) = found
    assert split.loss == pytest.approx(whole.loss, rel=1e-5)
    for name, tensor in weights.items():
        torch.testing.assert_close(same_weights[name], tensor, rtol=1e-4, atol=1e-5)


def test_a_validation_batch_that_does_not_fit_into_memory_is_halved_and_gives_the_same_loss(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_of(data)
    translator = Translator(
        trainer.model,
        data.tokenizers,
        source_lang="xx",
        target_lang="yy",
        decoding=DecodingConfig(),
        device="cpu",
        max_source_length=20,
    )
    validator = Validator(
        data, translator, num_sentences=5, dtype=torch.float32, interrupted=lambda: False
    )
    whole = validator.measure(trainer.model)
    sizes = []

    def limited(model: object, batch: Batch, *rest: object, **more: object) -> torch.Tensor:
        if len(batch.pair_ids) > most:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to ...")
        sizes.append(len(batch.pair_ids))
        return batch_loss(model, batch, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(validation, "batch_loss", limited)
    most = 2
    split = validator.measure(trainer.model)
    assert whole is not None
    assert split is not None
    assert sum(sizes) == len(PAIRS)
    assert max(sizes) <= 2
    assert split[0].loss == pytest.approx(whole[0].loss, rel=1e-6)
    most = 0
    with pytest.raises(TrainingError, match=r"pair .* alone does not fit"):
        validator.measure(trainer.model)


def test_a_validation_that_lacks_memory_is_made_again_without_what_makes_updates_faster(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_of(data)
    found = Validation(loss=1.0, bleu=2.0, chrf=3.0, exact=0.0, sentences=1), ["one"]
    events: list[str] = []

    class Narrow(Validator):
        """Has room only where something was released."""

        def __init__(self) -> None:
            pass

        def measure(self, model: EncoderDecoder) -> tuple[Validation, list[str]] | None:
            events.append("measured")
            if "released" not in events:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return found

    def release(*, for_good: bool = False) -> bool:
        assert for_good
        if is_held:
            events.append("released")
        return is_held

    monkeypatch.setattr(trainer.gradient, "release", release)
    is_held = False
    with pytest.raises(torch.OutOfMemoryError):
        trainer._measured(Narrow())
    is_held = True
    assert trainer._measured(Narrow()) == found
    assert events == ["measured", "measured", "released", "measured"]


def test_the_running_mean_follows_the_weights_and_survives_a_resume(
    data: TrainingData, tmp_path: Path
) -> None:
    config = CONFIG.model_copy(update={"ema": 0.9})

    def following() -> Trainer:
        torch.manual_seed(1)
        model = build(SIZES, data.tokenizers)
        cpu = torch.device("cpu")
        return Trainer(model, data, config, device=cpu, dtype=torch.float32, mean=deepcopy(model))

    whole = following()
    expected = {name: tensor.clone() for name, tensor in parameters_of(whole.model).items()}
    for step in range(1, 7):
        advance(whole, 1)
        decay = min(0.9, (1 + step) / (10 + step))
        for name, now in parameters_of(whole.model).items():
            expected[name] = decay * expected[name] + (1 - decay) * now.detach()
    for name, mean in parameters_of(whole.judged).items():
        torch.testing.assert_close(mean, expected[name])
    stopped = following()
    advance(stopped, 3)
    store = CheckpointStore(tmp_path / "checkpoints", keep=2)
    stopped.save(store)
    resumed = following()
    checkpoint = store.latest()
    assert checkpoint is not None
    resumed.resume(checkpoint)
    advance(resumed, 3)
    for name, mean in parameters_of(whole.judged).items():
        assert torch.equal(mean, parameters_of(resumed.judged)[name]), name
