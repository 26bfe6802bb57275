"""Steps and saliency against the model's own forward pass and finite differences."""

import math

import numpy as np
import pytest
import torch

from interlingua.inspection import saliency
from interlingua.inspection.saliency import gradient_times_input
from interlingua.inspection.steps import Step, follow_steps
from interlingua.inspection.trace import Trace, trace_translation
from interlingua.model.transformer import Memory
from interlingua.translator import Translator

TEXT = "pisica vede câinele mică."
REFERENCE = "the cat sees the small dog."


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return trace_translation(translator, TEXT, REFERENCE)


@pytest.fixture(scope="module")
def steps(translator: Translator, trace: Trace) -> tuple[Step, ...]:
    return follow_steps(translator, trace)


def own_log_probs(translator: Translator, trace: Trace) -> torch.Tensor:
    source = torch.tensor([[token.id for token in trace.source_tokens]])
    target_in = torch.tensor([[token.id for token in trace.target_inputs]])
    with torch.inference_mode():
        return translator.model(source, target_in)[0].log_softmax(-1)


def test_the_last_layer_says_what_the_model_says(
    translator: Translator, trace: Trace, steps: tuple[Step, ...]
) -> None:
    log_probs = own_log_probs(translator, trace)
    for place, step in enumerate(steps):
        assert step.guess == step.lens[-1]
        assert step.guess.log_probability == pytest.approx(trace.log_probabilities[place], abs=1e-5)
        best = log_probs[place].topk(8)
        assert [each.id for each in step.guess.candidates] == best.indices.tolist()
        probabilities = log_probs[place].double().exp()
        bits = -float((probabilities * probabilities.log2()).sum())
        assert step.guess.entropy == pytest.approx(bits, abs=1e-4)
        own = float(log_probs[place, step.token.id])
        assert step.guess.rank == 1 + int((log_probs[place] > own).sum())


def test_every_layer_speaks_and_is_as_unsure_as_it_can_be_at_most(
    translator: Translator, steps: tuple[Step, ...]
) -> None:
    most = math.log2(translator.tokenizers.target.vocabulary_size)
    for step in steps:
        assert [guess.layer for guess in step.lens] == [0, 1, 2, 3]
        assert all(0 <= guess.entropy <= most + 1e-4 for guess in step.lens)


def test_the_lens_of_a_pre_norm_model_is_normalised_first(pre_norm_translator: Translator) -> None:
    trace = trace_translation(pre_norm_translator, TEXT, REFERENCE)
    log_probs = own_log_probs(pre_norm_translator, trace)
    for place, step in enumerate(follow_steps(pre_norm_translator, trace)):
        assert step.lens[-1].candidates[0].log_probability == pytest.approx(
            float(log_probs[place].max()), abs=1e-4
        )


def test_gradient_times_input_is_the_slope_along_the_word(
    translator: Translator, trace: Trace
) -> None:
    product = gradient_times_input(translator, trace)
    assert product.shape == (len(trace.target_tokens), len(trace.source_tokens))
    model = translator.model
    source = torch.tensor([[token.id for token in trace.source_tokens]])
    target_in = torch.tensor([[token.id for token in trace.target_inputs]])
    embedding = model.source_embedding

    def log_probs_with(factor: float, place: int) -> torch.Tensor:
        words = embedding.table(source) * embedding.scale
        words[:, place] *= factor
        mask = torch.ones_like(source, dtype=torch.bool)
        x = words + embedding.positions(0, source.size(1))
        memory = Memory(model.encoder(x, mask[:, None, None]), mask)
        return model.decode(target_in, memory)[0].log_softmax(-1)

    with torch.inference_mode():
        for place in (0, 2):
            step = 1e-2
            slope = (log_probs_with(1 + step, place) - log_probs_with(1 - step, place)) / (2 * step)
            expected = [float(slope[t, token.id]) for t, token in enumerate(trace.target_tokens)]
            np.testing.assert_allclose(product[:, place], expected, atol=2e-2, rtol=0.1)


def test_a_long_sentence_is_answered_in_parts_and_projects_only_what_it_reads(
    translator: Translator, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gradient_times_input(translator, trace)
    projected: list[torch.Size] = []
    project = translator.model.project

    def counted(hidden: torch.Tensor) -> torch.Tensor:
        projected.append(hidden.shape[:-1])
        return project(hidden)

    monkeypatch.setattr(translator.model, "project", counted)
    longest = max(len(trace.source_tokens), len(trace.target_tokens))
    monkeypatch.setattr(saliency, "_MOST_WEIGHTS", 3 * longest**2)
    parts = gradient_times_input(translator, trace)
    np.testing.assert_allclose(parts, whole, atol=1e-5)
    assert len(trace.target_tokens) == 8
    assert projected == [(3,), (3,), (2,)]


def test_asking_for_gradients_leaves_none_behind(translator: Translator, trace: Trace) -> None:
    gradient_times_input(translator, trace)
    assert all(parameter.grad is None for parameter in translator.model.parameters())
