"""Reads a folder that sluice export has written with models of the layout's own entities.

The fields and what is required of them are those of the data model that the layout comes
from. Members beside them are allowed: they are Sluice's. Prints one line a file, and what
is wrong with it.
"""

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError


class Model(BaseModel):
    model_config = ConfigDict(extra="allow", strict=False)


class Task(Model):
    id: str
    description: str = Field(min_length=1)
    status: Literal["pending", "running", "completed", "failed"]
    assigned_agent: str
    result: Optional[str] = None
    error: Optional[str] = None
    created_at: AwareDatetime
    started_at: Optional[AwareDatetime] = None
    completed_at: Optional[AwareDatetime] = None
    retention_days: Annotated[int, Field(ge=0)] = 7
    parent_task_id: Optional[str] = None


class LLMConfig(Model):
    endpoint: str
    model: str
    api_key: str


class Agent(Model):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    role: str
    system_prompt: str
    tools: list[str]
    max_iterations: int = 10
    llm_config: LLMConfig
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7


class ToolCall(Model):
    id: str
    server: str
    tool: str
    arguments: dict[str, Any]


class Message(Model):
    role: Literal["user", "assistant", "tool", "system"]
    content: str
    tool_calls: list[ToolCall] = []
    timestamp: AwareDatetime


class State(Model):
    messages: list[Message]
    next_action: Optional[str] = None
    current_agent: str
    routing_key: Optional[str] = None
    metadata: dict[str, Any] = {}


class Checkpoint(Model):
    checkpoint_id: UUID
    task_id: str
    state: State
    position: str
    sequence: int
    created_at: AwareDatetime
    awaiting_human: bool = False


class ToolCallRecord(Model):
    server: str
    tool: str
    arguments: dict[str, Any] = {}
    result: Optional[dict[str, Any]] = None
    error: Optional[str] = None
    duration_ms: Optional[int] = None


class StepRecord(Model):
    step_name: str
    message: str
    timestamp: AwareDatetime
    status: Literal["info", "warning", "error"]
    agent: Optional[str] = None
    tool_calls: list[ToolCallRecord] = []
    duration_ms: Optional[int] = None


class SubAgentSessionInfo(Model):
    session_id: str
    agent: str
    message_count: int
    status: str


class TraceLog(Model):
    task_id: str
    steps: list[StepRecord]
    sub_agent_sessions: dict[str, SubAgentSessionInfo]
    created_at: AwareDatetime
    updated_at: AwareDatetime


class SubAgentSession(Model):
    session_id: UUID
    parent_task_id: str
    agent_name: str
    task_description: str
    message_history: list[Message]
    summary: Optional[str] = None
    status: Literal["running", "completed", "failed"]
    created_at: AwareDatetime


class NodeDef(Model):
    type: Literal["agent", "tool", "condition", "human"]
    agent: Optional[str] = None
    tool: Optional[str] = None


class EdgeDef(Model):
    from_: str = Field(alias="from")
    to: Union[str, dict[str, str]]
    condition: Optional[str] = None


class Workflow(Model):
    name: str
    patterns: list[str]
    nodes: dict[str, NodeDef]
    edges: list[EdgeDef]
    entry_point: str
    checkpoints: list[str] = []
    max_iterations: int = 50


class ServerConfig(Model):
    command: Optional[str] = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: Optional[str] = None


class MCPServer(Model):
    name: str
    transport: Literal["stdio", "sse", "http", "inprocess"]  # the last is Sluice's: built-in servers
    config: ServerConfig


class Servers(Model):
    servers: list[MCPServer]


class RetentionPolicy(Model):
    default_days: int
    by_task: dict[str, int]
    by_status: dict[Literal["completed", "failed"], int]


LAYOUT = {
    r"tasks/[^/]+/task\.json": Task,
    r"tasks/[^/]+/checkpoint_\d{3,}\.json": Checkpoint,
    r"tasks/[^/]+/trace\.json": TraceLog,
    r"tasks/[^/]+/sessions/[^/]+\.json": SubAgentSession,
    r"agents/[^/]+\.json": Agent,
    r"workflows/[^/]+\.json": Workflow,
    r"config/mcp_servers\.yaml": Servers,
    r"config/retention_policy\.yaml": RetentionPolicy,
}


def judge(root: Path, path: Path) -> list[str]:
    name = path.relative_to(root).as_posix()
    model = next((m for pattern, m in LAYOUT.items() if re.fullmatch(pattern, name)), None)
    if model is None:
        return ["is not in the layout"]
    try:
        read = model.model_validate(json.loads(path.read_text()))
    except ValidationError as e:
        return [f"{'/'.join(map(str, x['loc']))}: {x['msg']}" for x in e.errors()]
    faults = []
    if isinstance(read, Workflow):
        for e in read.edges:
            for to in e.to.values() if isinstance(e.to, dict) else [e.to]:
                if to not in read.nodes or e.from_ not in read.nodes:
                    faults.append(f"an edge from {e.from_} to {to} leads nowhere")
        if read.entry_point not in read.nodes:
            faults.append("there is no entry point")
    if isinstance(read, Checkpoint) and name[-8:-5] != f"{read.sequence:03d}":
        faults.append(f"its sequence is {read.sequence}")
    if isinstance(read, Agent) and len(set(read.tools)) != len(read.tools):
        faults.append("its tools are not unique")
    return faults


root = Path(sys.argv[1])
for path in sorted(p for p in root.rglob("*") if p.is_file()):
    print(json.dumps({"name": path.relative_to(root).as_posix(), "faults": judge(root, path)}))
