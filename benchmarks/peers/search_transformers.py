"""Hugging Face transformers' generate on the folder that ``interlingua export --format marian`` wrote."""

import torch
import transformers
from search_harness import measure, read_task
from transformers import MarianMTModel

task, folder, way = read_task()
torch.set_num_threads(task.threads)
model = MarianMTModel.from_pretrained(folder, dtype=getattr(torch, way["dtype"])).eval()
length = {"min_new_tokens": task.length, "max_new_tokens": task.length} if task.length else {}


def search(sources: list[list[int]]) -> list[list[int]]:
    """Search batches sorted by length."""
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    outputs: list[list[int]] = [[] for _ in sources]
    for start in range(0, len(order), way["batch"]):
        places = order[start : start + way["batch"]]
        width = len(sources[places[0]])
        pad = model.config.pad_token_id
        ids = torch.tensor([sources[i] + [pad] * (width - len(sources[i])) for i in places])
        with torch.inference_mode():
            found = model.generate(
                input_ids=ids,
                attention_mask=(ids != pad).long(),
                num_beams=task.beam,
                do_sample=False,
                **length,
            )
        for place, row in zip(places, found.tolist(), strict=True):
            outputs[place] = row[1 : 1 + task.length] if task.length else row[1:]
    return outputs


measure(task, search, version=transformers.__version__)
