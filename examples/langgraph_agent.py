"""A LangGraph agent: a model and its tools in a graph, shown while they work, with the whole conversation each time."""

import os

from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from acp_adapter import Turn

GLOSSARY = {"acp": "the Agent Client Protocol", "ledger": "the file that keeps every session"}

# Reads OPENAI_API_KEY, and OPENAI_BASE_URL where it is set.
model = ChatOpenAI(model=os.environ.get("EXAMPLE_MODEL", "gpt-5-mini"), streaming=True)


def graph_for(turn: Turn):
    @tool
    async def look_up(word: str) -> str:
        """What a word means in this project."""
        async with turn.tool("look_up", {"word": word}, title=f"Look up {word}", kind="search") as call:
            call.result = GLOSSARY.get(word.lower(), "It is not in the glossary.")
        return call.result

    @tool
    async def read_file(path: str) -> str:
        """Read a file of the project."""
        return (await turn.call_tool("read_file", {"path": path})).text

    tools = [look_up, read_file]
    thinking = model.bind_tools(tools)

    async def think(state: MessagesState):
        return {"messages": [await thinking.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile()


async def agent(turn: Turn):
    async for chunk, _ in graph_for(turn).astream({"messages": turn.messages}, stream_mode="messages"):
        if isinstance(chunk, AIMessageChunk):
            yield chunk.text
