"""ContentBlock ↔ message parts: what of a prompt is stored, and what of a stored message the editor sees again.

Text, images and audio become OpenAI parts; resources stay ACP blocks, so that replay shows what the user sent.
Everything is checked here, before anything is stored. Blocks are JSON objects as ACP v1 has them (section Content).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

from acp_adapter.errors import InvalidParams
from acp_adapter.providers.card import ModelCard
from acp_adapter.transcript import Part

Block = dict[str, Any]

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
MEDIA = {"image_url": "pictures", "input_audio": "sounds"}
LARGEST = 20 * 1024 * 1024
"""Bytes of one picture, sound or binary resource."""
MIME_OF_FORMAT = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def content_of(blocks: Sequence[Block]) -> str | list[Part]:
    """A prompt's content for the ledger: plain text for one plain text block, else parts in the same order.

    Raises InvalidParams that names the block, for an empty prompt and for what can't be kept or understood.
    """
    parts = [_part(block, f"prompt[{at}]") for at, block in enumerate(blocks)]
    if not any(part.get("type") != "text" or part["text"].strip() for part in parts):
        raise InvalidParams("The prompt is empty. Write something, or attach a file or an image.")
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        text: str = parts[0]["text"]
        return text
    return parts


def holds_media(content: str | list[Part]) -> bool:
    return not isinstance(content, str) and any(part.get("type") in MEDIA for part in content)


def check_abilities(content: str | list[Part], card: ModelCard, model: str | None) -> None:
    """Raises InvalidParams for pictures and sounds that the model is known not to take; who knows may be right."""
    kinds = {MEDIA.get(str(part.get("type"))) for part in content} if not isinstance(content, str) else set()
    for kind, takes in (("pictures", card.images), ("sounds", card.audio)):
        if kind in kinds and takes is False:
            raise InvalidParams(
                f"{model or 'The model'} takes no {kind}, so the prompt was not sent. Leave them out, or choose "
                "another model."
            )


def blocks_of(parts: Sequence[Part]) -> list[Block]:
    """The ContentBlocks that stored parts came from; a part of another program's making becomes text."""
    return [_block(part) for part in parts]


def _part(block: Block, where: str) -> Part:
    kind = block.get("type")
    reader = _READERS.get(str(kind))
    if reader is None:
        known = ", ".join(_READERS)
        raise InvalidParams(f"{where} has the type {kind!r}, which this agent can't read. It reads: {known}.")
    return reader(block, where)


def _text(block: Block, where: str) -> Part:
    if not isinstance(block.get("text"), str):
        raise InvalidParams(f"{where}.text must be a string.")
    return {"type": "text", "text": block["text"]}


def _image(block: Block, where: str) -> Part:
    mime = block.get("mimeType")
    if mime not in IMAGE_TYPES:
        raise InvalidParams(f"{where} is an image of type {mime!r}; only {', '.join(IMAGE_TYPES)} can be sent.")
    data = _base64(block.get("data"), where)
    return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}


def _audio(block: Block, where: str) -> Part:
    mime = block.get("mimeType")
    form = AUDIO_FORMATS.get(str(mime))
    if form is None:
        raise InvalidParams(f"{where} is audio of type {mime!r}; only WAV and MP3 can be sent.")
    return {"type": "input_audio", "input_audio": {"data": _base64(block.get("data"), where), "format": form}}


def _link(block: Block, where: str) -> Part:
    if not isinstance(block.get("uri"), str) or not block["uri"]:
        raise InvalidParams(f"{where}.uri must be a non-empty string.")
    return dict(block)


def _resource(block: Block, where: str) -> Part:
    resource = block.get("resource")
    if not isinstance(resource, dict) or not isinstance(resource.get("uri"), str):
        raise InvalidParams(f"{where}.resource.uri must be a string.")
    if isinstance(resource.get("text"), str):
        return dict(block)
    _base64(resource.get("blob"), f"{where}.resource")
    return dict(block)


def _base64(data: Any, where: str) -> str:
    """`data` if it is base64 of at least one byte, and not too much."""
    if isinstance(data, str) and len(data) * 3 // 4 > LARGEST:
        raise InvalidParams(f"{where} holds {len(data) * 3 // 4 // 2**20} MiB; {LARGEST // 2**20} MiB is the most.")
    try:
        if isinstance(data, str) and base64.b64decode(data, validate=True):
            return data
    except (binascii.Error, ValueError):
        pass
    raise InvalidParams(f"{where} does not hold valid base64 data.")


_READERS: dict[str, Callable[[Block, str], Part]] = {
    "text": _text,
    "image": _image,
    "audio": _audio,
    "resource_link": _link,
    "resource": _resource,
}


def _block(part: Part) -> Block:
    kind = part.get("type")
    if kind in ("resource", "resource_link"):
        return part
    if kind == "image_url":
        return _image_block(str(part.get("image_url", {}).get("url", "")))
    if kind == "input_audio":
        audio = part["input_audio"]
        mime = MIME_OF_FORMAT.get(audio["format"], "audio/wav")
        return {"type": "audio", "data": audio["data"], "mimeType": mime}
    return {"type": "text", "text": str(part.get("text", ""))}


def _image_block(url: str) -> Block:
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return {"type": "image", "mimeType": head[5:-7], "data": data}
    return {"type": "resource_link", "uri": url, "name": url.rsplit("/", 1)[-1] or url}
