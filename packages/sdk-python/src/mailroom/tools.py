"""The MCP tools for agent frameworks, without an MCP client.

The service describes the tools and runs them, so they are always those of its version, and mail is
fenced, held and sent once as over MCP. The converters get the class of the framework as an argument.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union, cast
from urllib.parse import urlencode

from ._core import TIMEOUT_DEFAULT, Request, Steps, parse_json, sending
from ._sync import Transport
from ._version import VERSION
from .client import Mailroom
from .errors import MailroomConnectionError, MailroomError

__all__ = [
    "MailroomTool",
    "mailroom_instructions",
    "mailroom_tools",
    "to_langchain",
    "to_openai",
    "to_pydantic_ai",
]

T = TypeVar("T")

WAIT_SECONDS_MAX = 60
"""How long a tool may wait for mail."""


@dataclass(frozen=True)
class MailroomTool:
    name: str
    description: str
    input_schema: Dict[str, Any]
    """A JSON schema of the arguments."""
    is_reading: bool
    """Whether the tool changes nothing."""
    _call: Callable[[str, Mapping[str, Any], bool], str] = field(repr=False)
    _is_safe: bool = field(repr=False)

    def run(self, **given: Any) -> str:
        """The result for the model. An error is a result too, and says what to do next."""
        return self._call(self.name, given, self._is_safe)

    async def arun(self, **given: Any) -> str:
        """`run` in a thread."""
        return await asyncio.to_thread(self.run, **given)


def mailroom_tools(
    client: Mailroom,
    *,
    inbox: Optional[str] = None,
    only: Union[str, Sequence[str], None] = None,
    read_only: bool = False,
) -> List[MailroomTool]:
    """The tools of the service, read from it by one request.

    With `inbox`, an id or an address, the tools can use only that inbox. `only` is the name of a set
    (`core`, `all`), or names of tools. `read_only` leaves out the tools that send, create or change
    anything. Raises MailroomError for a name that the service does not know.
    """
    names = only if only is None or isinstance(only, str) else ",".join(only)
    given = {"inbox": inbox, "tools": names, "read_only": "true" if read_only else None}
    endpoint = _Endpoint(client._transport, given)
    return [
        MailroomTool(
            name=tool["name"],
            description=tool["description"],
            input_schema=tool["inputSchema"],
            is_reading=is_reading(tool),
            _call=endpoint.call,
            # The service gives this hint only for tools that change something.
            _is_safe=tool["annotations"].get("idempotentHint", is_reading(tool)),
        )
        for tool in endpoint.request("tools/list", {}, is_safe=True)["tools"]
    ]


def mailroom_instructions(client: Mailroom, *, inbox: Optional[str] = None) -> str:
    """Instructions for the model: how the tools work together, and that mail is data."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "mailroom-python", "version": VERSION},
    }
    endpoint = _Endpoint(client._transport, {"inbox": inbox})
    return endpoint.request("initialize", params, is_safe=True)["instructions"]


def to_openai(tools: Sequence[MailroomTool], function_tool: Callable[..., T]) -> List[T]:
    """For the OpenAI Agents SDK: `to_openai(tools, agents.FunctionTool)`."""

    def convert(tool: MailroomTool) -> T:
        async def invoke(_: Any, arguments: str) -> str:
            return await tool.arun(**json.loads(arguments or "{}"))

        return function_tool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.input_schema,
            on_invoke_tool=invoke,
            # A strict schema has no optional arguments.
            strict_json_schema=False,
        )

    return [convert(tool) for tool in tools]


def to_langchain(tools: Sequence[MailroomTool], structured_tool: Callable[..., T]) -> List[T]:
    """For LangChain and LangGraph: `to_langchain(tools, langchain_core.tools.StructuredTool)`."""
    return [
        structured_tool(
            name=tool.name,
            description=tool.description,
            args_schema=tool.input_schema,
            func=tool.run,
            coroutine=tool.arun,
        )
        for tool in tools
    ]


def to_pydantic_ai(tools: Sequence[MailroomTool], tool_class: Any) -> List[Any]:
    """For Pydantic AI: `to_pydantic_ai(tools, pydantic_ai.Tool)`."""
    return [
        tool_class.from_schema(
            tool.arun,
            name=tool.name,
            description=tool.description,
            json_schema=tool.input_schema,
        )
        for tool in tools
    ]


class _Endpoint:
    def __init__(self, transport: Transport, given: Mapping[str, Optional[str]]) -> None:
        query = urlencode({name: value for name, value in given.items() if value is not None})
        self._transport = transport
        self._url = f"{transport.options.base_url}/mcp{'?' if query else ''}{query}"

    def request(self, method: str, params: Mapping[str, Any], *, is_safe: bool) -> Dict[str, Any]:
        options = self._transport.options
        request = Request(
            operation=method,
            method="POST",
            url=self._url,
            headers={
                "accept": "application/json, text/event-stream",
                "accept-encoding": "identity",
                "authorization": f"Bearer {options.api_key}",
                "content-type": "application/json",
                "user-agent": f"mailroom-python/{VERSION}",
            },
            body=json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            ).encode(),
            timeout=WAIT_SECONDS_MAX + (options.timeout or TIMEOUT_DEFAULT),
            is_safe=is_safe,
        )

        def answered() -> Steps[Dict[str, Any]]:
            answer = yield from sending(options, request)
            content_type = answer.headers.get("content-type", "")
            return response_of(answer.body, is_stream=content_type.startswith("text/event-stream"))

        response = self._transport.run(answered())
        if "error" in response:
            raise ToolRefused(response["error"]["message"])
        return response["result"]

    def call(self, name: str, given: Mapping[str, Any], is_safe: bool) -> str:
        params = {"name": name, "arguments": given}
        try:
            parts = self.request("tools/call", params, is_safe=is_safe)["content"]
        except MailroomError as error:
            return f"{error.message} {error.fix or ''}".strip()
        except (MailroomConnectionError, ToolRefused) as error:
            return str(error)
        return "\n".join(text_of_part(part) for part in parts)


def is_reading(tool: Mapping[str, Any]) -> bool:
    return tool["annotations"].get("readOnlyHint", False)


class ToolRefused(Exception):
    """The service does not know the tool, or refuses its arguments."""


def response_of(body: bytes, *, is_stream: bool) -> Dict[str, Any]:
    """The JSON-RPC response in a body, which is JSON or server-sent events."""
    if not is_stream:
        return parse_json(body)
    for line in body.split(b"\n"):
        if line.startswith(b"data:"):
            message = cast(Dict[str, Any], parse_json(line[5:]))
            if "id" in message and "method" not in message:
                return message
    raise MailroomConnectionError("The service did not answer the call.")


def text_of_part(part: Mapping[str, Any]) -> str:
    kind = part["type"]
    return part["text"] if kind == "text" else f"[{kind}: {part.get('mimeType', 'a file')}]"
