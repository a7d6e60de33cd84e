"""Ten nodes in a row by LangGraph, each of which calls the same function.

A line on standard input is a number of runs to make; the reply is one line: the CPU
seconds of this process, user and system, that they took. Each run has a thread of its
own, whose state SqliteSaver keeps in the file that the first argument names.
"""

import operator
import sqlite3
import sys
import time
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

NODES = 10


class State(TypedDict):
    input: str
    messages: Annotated[list[str], operator.add]


def echo(text: str) -> str:
    return text


def call(state: State) -> dict:
    return {"messages": [echo(state["input"])]}


def graph(saver):
    """The row. The nodes are plain functions, the cheapest kind that there is."""
    g = StateGraph(State)
    names = [f"n{i}" for i in range(NODES)]
    for name in names:
        g.add_node(name, call)
    for a, b in zip([START, *names], [*names, END]):
        g.add_edge(a, b)
    return g.compile(checkpointer=saver)


def main():
    connection = sqlite3.connect(sys.argv[1], check_same_thread=False)
    row, text, runs = graph(SqliteSaver(connection)), sys.argv[2], 0
    for line in sys.stdin:
        began = time.process_time()
        for _ in range(int(line)):
            runs += 1
            # sync: a checkpoint is kept before the next node begins, as Sluice does it.
            end = row.invoke(
                {"input": text, "messages": []},
                {"configurable": {"thread_id": str(runs)}, "recursion_limit": 50},
                durability=sys.argv[3],
            )
            if end["messages"] != [text] * NODES:
                sys.exit(f"ended with {end}")
        print(time.process_time() - began, flush=True)


main()
