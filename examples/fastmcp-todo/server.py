"""A todo list as an MCP server: FastMCP, SQLModel, and PostgreSQL or SQLite.

DATABASE_URL names the database; without it the todos are in todo.db in the
working directory. FastMCP's own variables choose the transport: stdio by default,
FASTMCP_TRANSPORT=http for http://127.0.0.1:8000/mcp (see README.md).
"""

import os
import re
import secrets
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Annotated, Literal

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from pydantic import BaseModel
from pydantic import Field as Arg
from sqlalchemy.exc import IntegrityError
from sqlmodel import JSON, Column, Field, Session, SQLModel, case, col, create_engine, func, select

# Only what a ToolError says reaches the model. The text of any other exception
# may hold SQL, parameters and the database's address; it stays in the log.
mcp = FastMCP(
    "todo",
    instructions="A todo list. Find a todo's id with list_todos before changing or deleting it.",
    mask_error_details=True,
)


def connect(url: str):
    """Makes the engine for a URL as hosting providers give it."""
    if url.startswith("sqlite"):
        return create_engine(url)
    # Bare, these would mean the driver psycopg2. FastMCP runs tools in up to 40
    # threads; pre_ping replaces connections that died with a restart of PostgreSQL;
    # the timeout answers before the gateway gives a call up.
    return create_engine(
        re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url),
        pool_size=10,
        max_overflow=30,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 3},
    )


engine = connect(os.environ.get("DATABASE_URL") or "sqlite:///todo.db")


class Status(StrEnum):
    pending = "pending"
    completed = "completed"


class Priority(StrEnum):
    low = "low"
    medium = "medium"
    high = "high"


class Todo(SQLModel, table=True):
    id: str = Field(default_factory=lambda: "todo_" + secrets.token_hex(4), primary_key=True)
    title: str
    description: str = ""
    status: Status = Status.pending
    priority: Priority = Priority.medium
    due_date: datetime | None = Field(default=None, index=True)
    tags: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    completed_at: datetime | None = None


class Made(SQLModel, table=True):
    """Which todo a call has made, by the call's key."""

    call_key: str = Field(primary_key=True)
    todo_id: str


class TodoList(BaseModel):
    todos: list[Todo]
    count: int  # how many match; todos may hold fewer
    more: bool


SQLModel.metadata.create_all(engine)

Title = Annotated[str, Arg(description='What is to be done, for example "Buy eggs".', min_length=1, max_length=500)]
Description = Annotated[str, Arg(description="Details.", max_length=5000)]
Due = Annotated[datetime, Arg(description="ISO 8601: 2026-11-22 or 2026-11-22T15:00:00. Turn words such as \"tomorrow\" into a date first.")]
Tags = Annotated[list[str], Arg(description='Short words, for example ["work", "home"].', max_length=20)]
TodoID = Annotated[str, Arg(description='The id as list_todos shows it, for example "todo_4f7a2c9e".')]


def instant(due: datetime | None) -> datetime | None:
    """A time without an offset is one of the server's time zone (TZ)."""
    return due and due.astimezone()


def find(session: Session, todo_id: str) -> Todo:
    todo = session.get(Todo, todo_id)
    if todo is None:
        raise ToolError(f"There is no todo {todo_id}. Find ids with list_todos.")
    return todo


def call_key(ctx: Context) -> str | None:
    """The key that Sluice sends with a call which must not be made twice. A repetition,
    such as one that a person wants because nobody knows what became of the first, has the same."""
    meta = ctx.request_context.meta if ctx.request_context else None
    return (meta or {}).get("sluice/call_key")


# Annotations tell a client what it may do unasked: Sluice sends a call a second
# time, after a lost connection, only if it is readOnly or idempotent.
@mcp.tool(annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False})
def create_todo(
    title: Title,
    description: Description = "",
    due_date: Due | None = None,
    priority: Priority = Priority.medium,
    tags: Tags | None = None,
    *,
    ctx: Context,
) -> Todo:
    """Add one todo to the list and return it. Call it once for each thing that is to be done."""
    key = call_key(ctx)
    with Session(engine) as session:
        todo = Todo(title=title, description=description, due_date=instant(due_date), priority=priority, tags=tags or [])
        session.add(todo)
        if key:  # in one transaction with the todo, so that of two equal calls one is made
            session.add(Made(call_key=key, todo_id=todo.id))
        try:
            session.commit()
        except IntegrityError:
            session.rollback()
            made = key and session.get(Made, key)
            if not made:
                raise
            return find(session, made.todo_id)
        session.refresh(todo)
        return todo


@mcp.tool(annotations={"readOnlyHint": True, "openWorldHint": False})
def list_todos(
    status: Literal["pending", "completed", "all"] = "pending",
    priority: Priority | None = None,
    due_date_filter: Annotated[
        str | None, Arg(description="today, tomorrow, this_week (Monday to Sunday), overdue (due before today), or a day such as 2026-11-22.")
    ] = None,
    tags: Annotated[list[str] | None, Arg(description="Only todos with all of these tags.")] = None,
    query: Annotated[str | None, Arg(description='A part of the title, for example "eggs".')] = None,
    limit: Annotated[int, Arg(ge=1, le=200)] = 50,
) -> TodoList:
    """Find todos; without arguments, the pending ones. Sorted by due date, priority and age."""
    wanted = select(Todo)
    if status != "all":
        wanted = wanted.where(Todo.status == Status(status))
    if priority:
        wanted = wanted.where(Todo.priority == priority)
    if due_date_filter:
        start, end = days(due_date_filter)
        wanted = wanted.where(col(Todo.due_date) >= start, col(Todo.due_date) < end)
        if due_date_filter == "overdue":
            wanted = wanted.where(Todo.status == Status.pending)
    if query:
        wanted = wanted.where(col(Todo.title).icontains(query, autoescape=True))
    rank = case((Todo.priority == Priority.high, 0), (Todo.priority == Priority.medium, 1), else_=2)
    order = (Todo.status == Status.completed, col(Todo.due_date).is_(None), Todo.due_date, rank, Todo.created_at)
    with Session(engine) as session:
        if tags:  # a JSON column: compared here, since databases spell it differently
            found = [t for t in session.exec(wanted.order_by(*order)) if set(tags) <= set(t.tags)]
            return TodoList(todos=found[:limit], count=len(found), more=len(found) > limit)
        count = session.exec(select(func.count()).select_from(wanted.subquery())).one()
        todos = session.exec(wanted.order_by(*order).limit(limit)).all()
        return TodoList(todos=todos, count=count, more=count > len(todos))


def days(name: str) -> tuple[datetime, datetime]:
    """The span of time that a due_date_filter means, its end excluded."""
    today = date.today()
    match name:
        case "today":
            first, count = today, 1
        case "tomorrow":
            first, count = today + timedelta(days=1), 1
        case "this_week":
            first, count = today - timedelta(days=today.weekday()), 7
        case "overdue":
            return datetime(1970, 1, 1, tzinfo=UTC), midnight(today)
        case _:
            try:
                first, count = date.fromisoformat(name), 1
            except ValueError:
                raise ToolError("due_date_filter must be today, tomorrow, this_week, overdue or a day such as 2026-11-22") from None
    return midnight(first), midnight(first + timedelta(days=count))


def midnight(day: date) -> datetime:
    """The start of a day in the server's time zone."""
    return datetime.combine(day, time.min).astimezone()


@mcp.tool(annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False})
def update_todo(
    todo_id: TodoID,
    title: Title | None = None,
    description: Description | None = None,
    due_date: Due | None = None,
    priority: Priority | None = None,
    status: Status | None = None,
    tags: Tags | None = None,
) -> Todo:
    """Change one todo, for example complete it, and return it. What is not given stays as it is."""
    given = {
        "title": title, "description": description, "due_date": instant(due_date),
        "priority": priority, "status": status, "tags": tags,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        raise ToolError("Nothing to change: give at least one of title, description, due_date, priority, status, tags.")
    with Session(engine) as session:
        todo = find(session, todo_id)
        for name, value in given.items():
            setattr(todo, name, value)
        if status is Status.completed:
            todo.completed_at = todo.completed_at or datetime.now(UTC)
        elif status is Status.pending:
            todo.completed_at = None
        session.commit()
        session.refresh(todo)
        return todo


@mcp.tool(annotations={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False})
def delete_todo(
    todo_id: TodoID,
    confirmation: Annotated[bool, Arg(description="Must be true; set it only when the user wants this todo deleted.")],
) -> Todo:
    """Delete one todo for good and return it as it was. To mark it as done use update_todo instead."""
    if not confirmation:
        raise ToolError("Nothing was deleted: make sure that the user wants it, then call delete_todo again with confirmation true.")
    with Session(engine) as session:
        todo = find(session, todo_id)
        deleted = Todo.model_validate(todo.model_dump())
        session.delete(todo)
        session.commit()
        return deleted


if __name__ == "__main__":
    mcp.run()
