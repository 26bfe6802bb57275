"""transformers' MarianMTModel trained from scratch by an ordinary loop, and what it then translates.

Called as ``python marian_run.py TASK OUTPUT``. TASK is a JSON file: ids of the training and validation pairs and of the
sources to translate, the sizes, the schedule, the minutes. OUTPUT gets the ids of the translations and how training went.
It runs in the environment of transformers and imports nothing of Interlingua.
"""

import json
import math
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import MarianConfig, MarianMTModel

TASK, OUTPUT = Path(sys.argv[1]), Path(sys.argv[2])
Pair = tuple[list[int], list[int]]


def build(task: dict[str, Any]) -> MarianMTModel:
    """Make a model of the same sizes: shared embeddings, sinusoidal positions, layer normalisation after, ReLU."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=task["vocabulary"],
            decoder_vocab_size=task["vocabulary"],
            d_model=task["d_model"],
            encoder_layers=task["encoder_layers"],
            decoder_layers=task["decoder_layers"],
            encoder_attention_heads=task["heads"],
            decoder_attention_heads=task["heads"],
            encoder_ffn_dim=task["d_ff"],
            decoder_ffn_dim=task["d_ff"],
            activation_function="relu",
            dropout=task["dropout"],
            max_position_embeddings=512,
            scale_embedding=True,
            pad_token_id=task["pad"],
            bos_token_id=task["begin"],
            eos_token_id=task["end"],
            decoder_start_token_id=task["begin"],
            forced_eos_token_id=None,
        )
    )


def make_batches(pairs: list[Pair], batch_tokens: int, chance: random.Random) -> list[list[Pair]]:
    """Put pairs of like length together, up to ``batch_tokens`` padded tokens a side, in an order drawn anew."""
    order = sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0]), chance.random()))
    batches: list[list[Pair]] = []
    longest = 0
    for pair in order:
        longest = max(longest, len(pair[0]) + 1, len(pair[1]) + 1)
        if not batches or longest * (len(batches[-1]) + 1) > batch_tokens:
            batches.append([])
            longest = max(len(pair[0]), len(pair[1])) + 1
        batches[-1].append(pair)
    chance.shuffle(batches)
    return batches


def padded(rows: list[list[int]], pad: int) -> torch.Tensor:
    """Fill rows up to one length."""
    width = max(map(len, rows))
    return torch.tensor([row + [pad] * (width - len(row)) for row in rows])


def loss_of(
    model: MarianMTModel, batch: list[Pair], task: dict[str, Any], smoothing: float
) -> tuple[torch.Tensor, int]:
    """Return the cross-entropy of a batch, a token, and how many tokens it has."""
    pad, begin, end = task["pad"], task["begin"], task["end"]
    source = padded([[*ids, end] for ids, _ in batch], pad)
    target_in = padded([[begin, *ids] for _, ids in batch], pad)
    target_out = padded([[*ids, end] for _, ids in batch], pad)
    with torch.autocast("cpu", torch.bfloat16, enabled=task["bfloat16"]):
        logits = model(
            input_ids=source,
            attention_mask=source != pad,
            decoder_input_ids=target_in,
            use_cache=False,
        ).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1),
        target_out.flatten(),
        ignore_index=pad,
        label_smoothing=smoothing,
    )
    return loss, int((target_out != pad).sum())


def validate(model: MarianMTModel, task: dict[str, Any]) -> float:
    """Return the loss a token of the validation pairs."""
    model.eval()
    total, tokens = 0.0, 0
    with torch.inference_mode():
        for batch in make_batches(task["valid"], task["batch_tokens"], random.Random(0)):
            loss, count = loss_of(model, batch, task, 0.0)
            total, tokens = total + float(loss) * count, tokens + count
    model.train()
    return total / tokens


def train(model: MarianMTModel, task: dict[str, Any]) -> dict[str, Any]:
    """Train for ``minutes`` by the clock, validations included, and keep the weights that validate best."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0
    )
    chance, best, kept = random.Random(1), math.inf, {}
    validations: list[tuple[int, float]] = []
    step = tokens = epoch = 0
    budget, started = 60.0 * task["minutes"], time.monotonic()
    batches: list[list[Pair]] = []
    model.train()

    def look() -> None:
        nonlocal best, kept
        validations.append((step, validate(model, task)))
        print(f"step {step:,}: validation loss {validations[-1][1]:.3f}", flush=True)
        if validations[-1][1] < best:
            best = validations[-1][1]
            kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    while (done := (time.monotonic() - started) / budget) < 1:
        if not batches:
            batches, epoch = make_batches(task["train"], task["batch_tokens"], chance), epoch + 1
        step += 1
        warm = min(1.0, step / task["warmup_steps"])
        for group in optimizer.param_groups:
            group["lr"] = task["peak_learning_rate"] * min(warm, 1.0 - done)
        optimizer.zero_grad(set_to_none=True)
        loss, count = loss_of(model, batches.pop(), task, task["label_smoothing"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += count
        if step % 20 == 0:
            print(f"step {step:,} {done:.0%} loss {float(loss):.3f}", flush=True)
        if step % task["validate_every"] == 0:
            look()
    look()
    model.load_state_dict(kept)
    return {
        "updates": step,
        "target_tokens": tokens,
        "epochs": epoch,
        "validations": validations,
        "seconds": time.monotonic() - started,
        "processor_seconds": time.process_time(),
    }


def translate(
    model: MarianMTModel, sources: list[list[int]], task: dict[str, Any]
) -> list[list[int]]:
    """Translate by beam search, sources of like length together."""
    model.eval()
    special = {task["pad"], task["begin"], task["end"]}
    found: list[list[int]] = [[] for _ in sources]
    order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
    for start in range(0, len(order), 32):
        places = order[start : start + 32]
        batch = padded([[*sources[place], task["end"]] for place in places], task["pad"])
        with torch.inference_mode():
            outputs = model.generate(
                input_ids=batch,
                attention_mask=batch != task["pad"],
                num_beams=task["beam_size"],
                length_penalty=task["length_penalty"],
                max_new_tokens=min(2 * batch.size(1) + 50, 255),
                bad_words_ids=[[task["pad"]], [task["begin"]]],
            )
        for place, ids in zip(places, outputs.tolist(), strict=True):
            body = ids[1:]
            body = body[: body.index(task["end"])] if task["end"] in body else body
            found[place] = [number for number in body if number not in special]
    return found


def main() -> None:
    """Train, translate every test side, and write what came out."""
    task = json.loads(TASK.read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = build(task)
    weights = OUTPUT.with_suffix(".pt")
    trained = OUTPUT.with_suffix(".trained.json")
    if not trained.exists():
        report = train(model, task)
        report["parameters"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
        report["transformers"] = transformers.__version__
        torch.save(model.state_dict(), weights)
        trained.write_text(json.dumps(report), encoding="utf-8")
    model.load_state_dict(torch.load(weights, weights_only=True))
    outputs = {name: translate(model, ids, task) for name, ids in task["tests"].items()}
    report = json.loads(trained.read_text(encoding="utf-8"))
    OUTPUT.write_text(json.dumps({"training": report, "outputs": outputs}), encoding="utf-8")


if __name__ == "__main__":
    main()
