"""Stand-ins for agent frameworks that are not installed, with the names and parameters of their documentation.

Each agent follows a script instead of a model: it lists the unread mail, answers it, and returns the result.
"""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any, Awaitable, Callable, Dict, List, Optional

Calling = Callable[[str, Dict[str, Any]], str]


def follow_script(names: List[str], call: Calling) -> str:
    assert "create_inbox" not in names, "the program reaches one inbox"
    found = re.search(r"thr_\w+", call("list_unread", {}))
    assert found is not None
    return call("reply", {"thread_id": found[0], "body": "At nine."})


class Mcp:
    """The part of an MCP client that the script needs."""

    def __init__(self, url: str, headers: Dict[str, str]) -> None:
        self.url, self.headers = url, headers

    def follow_script(self) -> str:
        tools = self._request("tools/list", {})["tools"]
        return follow_script([tool["name"] for tool in tools], self._call)

    def _call(self, name: str, given: Dict[str, Any]) -> str:
        params = {"name": name, "arguments": given}
        return self._request("tools/call", params)["content"][0]["text"]

    def _request(self, method: str, params: Dict[str, Any]) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **self.headers,
        }
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request) as response:
            text = response.read().decode()
        return json.loads(text[text.index("{") :])["result"]


@dataclass
class FunctionTool:
    """`agents.FunctionTool`."""

    name: str
    description: str
    params_json_schema: Dict[str, Any]
    on_invoke_tool: Callable[[Any, str], Awaitable[Any]]
    strict_json_schema: bool = True


@dataclass
class AgentOfOpenAI:
    """`agents.Agent`."""

    name: str
    instructions: Optional[str] = None
    tools: List[FunctionTool] = field(default_factory=lambda: [])


class Runner:
    """`agents.Runner`."""

    @classmethod
    def run_sync(cls, starting_agent: AgentOfOpenAI, input: str) -> Any:
        tools = {tool.name: tool for tool in starting_agent.tools}

        def call(name: str, given: Dict[str, Any]) -> str:
            return asyncio.run(tools[name].on_invoke_tool(None, json.dumps(given)))  # type: ignore

        return SimpleNamespace(final_output=follow_script(list(tools), call))


@dataclass
class StructuredTool:
    """`langchain_core.tools.StructuredTool`."""

    name: str
    description: str
    args_schema: Dict[str, Any]
    func: Optional[Callable[..., Any]] = None
    coroutine: Optional[Callable[..., Awaitable[Any]]] = None


class AgentOfLangChain:
    def __init__(self, tools: List[StructuredTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}

    def invoke(self, input: Dict[str, Any]) -> Dict[str, Any]:
        def call(name: str, given: Dict[str, Any]) -> str:
            func = self.tools[name].func
            assert func is not None
            return func(**given)

        answer = SimpleNamespace(content=follow_script(list(self.tools), call))
        return {"messages": [*input["messages"], answer]}


def create_agent(
    model: str, tools: List[StructuredTool], *, system_prompt: Optional[str] = None
) -> AgentOfLangChain:
    """`langchain.agents.create_agent`."""
    return AgentOfLangChain(tools)


class Tool:
    """`pydantic_ai.Tool`."""

    function: Callable[..., Any]
    name: str

    @classmethod
    def from_schema(
        cls,
        function: Callable[..., Any],
        name: Optional[str],
        description: Optional[str],
        json_schema: Dict[str, Any],
        takes_ctx: bool = False,
        sequential: bool = False,
    ) -> Tool:
        assert name is not None and not takes_ctx
        made = cls()
        made.function, made.name = function, name
        return made


class MCPServerStreamableHTTP(Mcp):
    """`pydantic_ai.mcp.MCPServerStreamableHTTP`."""

    def __init__(self, url: str, *, headers: Dict[str, str]) -> None:
        super().__init__(url, headers)


class AgentOfPydantic:
    """`pydantic_ai.Agent`."""

    def __init__(
        self,
        model: str,
        *,
        instructions: Optional[str] = None,
        tools: List[Tool] = [],
        toolsets: List[MCPServerStreamableHTTP] = [],
    ) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.toolsets = toolsets

    def run_sync(self, user_prompt: str) -> Any:
        def call(name: str, given: Dict[str, Any]) -> str:
            return asyncio.run(self.tools[name].function(**given))

        for toolset in self.toolsets:
            return SimpleNamespace(output=toolset.follow_script())
        return SimpleNamespace(output=follow_script(list(self.tools), call))


class MCPServerHTTP(Mcp):
    """`crewai.mcp.MCPServerHTTP`."""

    def __init__(self, *, url: str, headers: Dict[str, str]) -> None:
        super().__init__(url, headers)


@dataclass
class AgentOfCrew:
    """`crewai.Agent`."""

    role: str
    goal: str
    backstory: str
    mcps: List[MCPServerHTTP]


@dataclass
class Task:
    """`crewai.Task`."""

    description: str
    expected_output: str
    agent: AgentOfCrew


@dataclass
class Crew:
    """`crewai.Crew`."""

    agents: List[AgentOfCrew]
    tasks: List[Task]

    def kickoff(self) -> Any:
        return SimpleNamespace(raw=self.tasks[0].agent.mcps[0].follow_script())


def modules() -> Dict[str, ModuleType]:
    """For `sys.modules`."""
    names: Dict[str, Dict[str, Any]] = {
        "agents": {"Agent": AgentOfOpenAI, "FunctionTool": FunctionTool, "Runner": Runner},
        "langchain": {},
        "langchain.agents": {"create_agent": create_agent},
        "langchain_core": {},
        "langchain_core.tools": {"StructuredTool": StructuredTool},
        "pydantic_ai": {"Agent": AgentOfPydantic, "Tool": Tool},
        "pydantic_ai.mcp": {"MCPServerStreamableHTTP": MCPServerStreamableHTTP},
        "crewai": {"Agent": AgentOfCrew, "Crew": Crew, "Task": Task},
        "crewai.mcp": {"MCPServerHTTP": MCPServerHTTP},
    }
    made: Dict[str, ModuleType] = {}
    for name, contents in names.items():
        made[name] = ModuleType(name)
        made[name].__dict__.update(contents)
    return made
