"""llama.cpp's own server for tests, in a process of its own: `python -m tests.providers.llama_server MODEL KEY`.

It serves one model on a free port of 127.0.0.1, writes its URL as a line to stdout, and ends when its stdin does. Its
chat template is one in which a model as small as the embedded one does call tools: in its own, it writes calls as text.
"""

from __future__ import annotations

import os
import sys

TEMPLATE = """
{%- if tools %}<|im_start|>system
{% if messages[0].role == "system" %}{{ messages[0].content }}

{% endif %}Tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}
To call a tool answer with
```json
{"name": "tool", "arguments": {}}
```<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}<|im_start|>user
{{ message.content }}<|im_end|>
{% elif message.tool_calls %}<|im_start|>assistant
{{ message.content or "" }}
{%- for call in message.tool_calls %}```json
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
```{% endfor %}<|im_end|>
{% elif message.role != "system" or not tools %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def main() -> None:
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # native code writes there as it likes
    os.environ["OMP_WAIT_POLICY"] = "passive"
    import xllamacpp  # after the variable, which is read once

    params = xllamacpp.CommonParams()
    params.model.path, key = sys.argv[1:]
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) - 1)
    params.use_jinja, params.chat_template = True, TEMPLATE
    params.warmup, params.ui = False, False
    server = xllamacpp.Server(params)
    os.write(answer, f"{server.listening_address}/v1\n".encode())
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
