"""Reads documents, states and lines of the log with models of the data models that they follow.

Each line of the input is {"kind": …, "value": …}; each line of the output has the faults of
one. Fields, bounds and rules are those of the tables of the data models. Further members are
allowed: they are Sluice's.
"""

import json
import re
import sys
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

Text = Annotated[str, Field(min_length=1)]
Channel = Literal["sms", "email", "whatsapp", "teams"]


class Model(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


# Orchestration: the document of a task.


class Message(Model):
    role: Text
    content: str
    timestamp: Optional[str] = None


class TaskStatus(Model):
    state: Literal["submitted", "working", "input-required", "completed", "canceled", "failed", "unknown"]
    message: Optional[Message] = None
    timestamp: Optional[str] = None


class Part(Model):
    text: str


class Artifact(Model):
    artifactId: Text
    parts: list[Part]


class AgentResponse(Model):
    agentId: Text
    content: str
    success: bool
    errorMessage: Optional[str] = None
    executionTimeMs: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def says_what_failed(self):
        if self.success == bool(self.errorMessage):
            raise ValueError("errorMessage is there exactly if success is false")
        return self


class AgentChoiceResult(Model):
    agentId: Text
    confidence: Annotated[float, Field(ge=0, le=1, strict=False)]
    reasoning: Optional[str] = None
    additionalAgents: Optional[list[Text]] = None


class Metadata(Model):
    agentSelections: list[Text] = []
    routingConfidence: Optional[Annotated[float, Field(ge=0, le=1, strict=False)]] = None
    routing: Optional[AgentChoiceResult] = None
    agentResponses: list[AgentResponse] = []


class TaskContext(Model):
    id: Text
    sessionId: Text
    status: TaskStatus
    history: Optional[list[Message]] = None
    artifacts: Optional[list[Artifact]] = None
    metadata: Optional[Metadata] = None

    @model_validator(mode="after")
    def has_its_texts(self):
        answers = [m.content for m in self.history or [] if m.role == "assistant"]
        for part in [p for a in self.artifacts or [] for p in a.parts]:
            if answers and part.text != answers[-1]:
                raise ValueError("the artifact is not the answer")
        if not hasattr(self.metadata, "quality") and any(r.success and not r.content for r in self.metadata.agentResponses):
            raise ValueError("an agent that succeeded has no content, and its answer was not held back")
        if self.status.message is not None and not self.status.message.content:
            raise ValueError("the status says nothing")
        return self


# Conversation: plan, scorecard, state, logs.


class ExecutionStep(Model):
    agent: Text
    action: Text
    parameters: dict[str, Any] = {}


class ExecutionPlan(Model):
    request_id: Text
    user_message: str
    channel: Channel
    steps: Annotated[list[ExecutionStep], Field(min_length=1)]
    context: dict[str, Any] = {}
    created_at: Annotated[AwareDatetime, Field(strict=False)]


class Criterion(Model):
    id: Text
    description: Annotated[str, Field(min_length=10)]
    expected: Text
    passed: Optional[bool] = None
    feedback: Optional[str] = None


class Scorecard(Model):
    request_id: Text
    criteria: Annotated[list[Criterion], Field(min_length=1)]
    overall_passed: bool
    created_at: Annotated[AwareDatetime, Field(strict=False)]
    evaluated_at: Optional[Annotated[AwareDatetime, Field(strict=False)]] = None

    @model_validator(mode="after")
    def ids_are_unique(self):
        if len({c.id for c in self.criteria}) != len(self.criteria):
            raise ValueError("an id is there twice")
        return self


class ValidationResult(Model):
    request_id: Text
    passed: bool
    scorecard_id: Text
    failed_criteria_ids: list[str] = []
    feedback: Optional[str] = None

    @model_validator(mode="after")
    def says_what_failed(self):
        if self.passed and self.failed_criteria_ids or not self.passed and not self.feedback:
            raise ValueError("ids are there, and feedback, exactly if it has not passed")
        return self


class MessagePart(Model):
    sequence: Annotated[int, Field(ge=1)]
    content: str
    continuation_indicator: Optional[str] = None


class FormattedResponse(Model):
    request_id: Text
    channel: Channel
    content: str
    is_split: bool = False
    parts: list[MessagePart] = []
    metadata: dict[str, Any] = {}

    @model_validator(mode="after")
    def parts_if_split(self):
        if self.is_split != bool(self.parts):
            raise ValueError("parts are there exactly if it is split")
        if self.channel == "sms" and not self.is_split and len(self.content) > 1600:
            raise ValueError("the content is too long")
        return self


class Data(Model):
    tool: Text
    arguments: dict[str, Any] = {}
    result: Union[dict[str, Any], list[Any], str]


class WorkflowState(Model):
    request_id: Text
    execution_plan: Optional[ExecutionPlan] = None
    scorecard: Optional[Scorecard] = None
    data: list[Data] = []
    composed_response: Optional[str] = None
    formatted_response: Optional[FormattedResponse] = None
    validation_result: Optional[ValidationResult] = None
    refinement_count: Annotated[int, Field(ge=0, le=1)] = 0
    final_response: Optional[str] = None
    status: Literal["created", "planning", "extracting", "composing", "formatting", "validating", "refining", "sending", "completed", "failed"]


class AgentInteractionLog(Model):
    request_id: Text
    agent_name: Text
    action: Text
    input_data: dict[str, Any]
    output_data: dict[str, Any]
    duration_ms: Annotated[int, Field(ge=0)]
    success: bool
    error: Optional[str] = None

    @model_validator(mode="after")
    def error_if_failed(self):
        if not self.success and not self.error:
            raise ValueError("a failure has no error")
        return self


class ValidationFailureLog(Model):
    request_id: Text
    original_question: str
    scorecard: Scorecard
    validation_results: Annotated[list[Criterion], Field(min_length=1)]
    refinement_attempted: bool = False
    refinement_succeeded: Optional[bool] = None
    final_outcome: Text
    failure_reason: Text

    @model_validator(mode="after")
    def attempted_first(self):
        if self.refinement_succeeded and not self.refinement_attempted:
            raise ValueError("a refinement that was not attempted has succeeded")
        if all(c.passed is not False for c in self.validation_results):
            raise ValueError("no criterion has failed")
        return self


# Gateway: breakers and lines of the log.


class CircuitBreakerState(Model):
    state: Literal["closed", "open", "half-open"]
    failure_count: Annotated[int, Field(ge=0)]
    last_failure_time: Optional[Annotated[AwareDatetime, Field(strict=False)]]
    last_state_change: Annotated[AwareDatetime, Field(strict=False)]
    consecutive_successes: Annotated[int, Field(ge=0)]


class ReasoningDetails(Model):
    reasoning_step: Annotated[int, Field(ge=1)]


class RoutingDetails(Model):
    agent_id: Text
    confidence: Annotated[float, Field(ge=0, le=1, strict=False)]


KINDS = {
    "TaskContext": TaskContext,
    "MultiAgentWorkflowState": WorkflowState,
    "AgentInteractionLog": AgentInteractionLog,
    "ValidationFailureLog": ValidationFailureLog,
    "CircuitBreakerState": CircuitBreakerState,
    "agent_reasoning": ReasoningDetails,
    "routing_decision": RoutingDetails,
}

for line in sys.stdin:
    entry = json.loads(line)
    faults = []
    try:
        KINDS[entry["kind"]].model_validate(entry["value"])
    except ValidationError as e:
        faults = [f"{'/'.join(map(str, x['loc']))}: {x['msg']}" for x in e.errors()]
    print(json.dumps({"kind": entry["kind"], "faults": faults}))
