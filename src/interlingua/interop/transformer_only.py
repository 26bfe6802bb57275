"""Other programs' formats hold the Transformer of the paper, and nothing else that is trained here."""

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.errors import ExportError
from interlingua.model.transformer import Transformer

__all__ = ["transformer_of"]


def transformer_of(loaded: LoadedModel) -> Transformer:
    """Return the model, whose parts a format has a place for.

    Raises:
        ExportError: it is of another kind.
    """
    if isinstance(loaded.model, Transformer):
        return loaded.model
    raise ExportError(
        f"a model of the kind {loaded.model.architecture.kind} has no place in other programs' formats, which hold "
        "Transformers; translate or serve with its own folder"
    )
