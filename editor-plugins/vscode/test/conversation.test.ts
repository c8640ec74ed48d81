import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { Conversation, textOf } from "../src/session/conversation";
import type { Call, Item, Speech } from "../src/session/items";

const chunk = (kind: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk", text: string, messageId?: string): SessionUpdate => ({
  sessionUpdate: kind,
  content: { type: "text", text },
  ...(messageId ? { messageId } : {}),
});

function folded(...updates: SessionUpdate[]): Conversation {
  const conversation = new Conversation();
  for (const update of updates) conversation.apply(update);
  return conversation;
}

const told = (items: Iterable<Item>) =>
  [...items].map((item) => `${item.type}: ${"content" in item && item.type !== "call" ? textOf((item as Speech).content) : item.id}`);

test("chunks of one message are one item, and messages stand in the order in which they began", () => {
  const { items } = folded(
    chunk("agent_thought_chunk", "hm", "m1"),
    chunk("agent_message_chunk", "Hel", "m1"),
    chunk("agent_message_chunk", "lo", "m1"),
    chunk("agent_message_chunk", "Again", "m2"),
  );
  assert.deepEqual(told(items.values()), ["thought: hm", "answer: Hello", "answer: Again"]);
});

test("chunks without an id go on where the same speaker spoke last", () => {
  const { items } = folded(
    chunk("agent_message_chunk", "a"),
    chunk("agent_message_chunk", "b"),
    chunk("user_message_chunk", "c"),
    chunk("agent_message_chunk", "d"),
  );
  assert.deepEqual(told(items.values()), ["answer: ab", "user: c", "answer: d"]);
});

test("a call keeps what an update leaves out", () => {
  const { items } = folded(
    { sessionUpdate: "tool_call", toolCallId: "c1", title: "Edit a.txt", kind: "edit", status: "pending", locations: [{ path: "/a.txt" }] },
    { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed", title: null },
  );
  const call = items.get("t:c1") as Call;
  assert.deepEqual([call.title, call.kind, call.status, call.locations], ["Edit a.txt", "edit", "completed", [{ path: "/a.txt" }]]);
});

test("a question stands on its call until it is answered", () => {
  const conversation = folded({ sessionUpdate: "tool_call", toolCallId: "c1", title: "Run", status: "pending" });
  conversation.ask({ toolCallId: "c1" }, [{ optionId: "yes", name: "Yes", kind: "allow_once" }]);
  assert.equal((conversation.items.get("t:c1") as Call).asks?.length, 1);
  conversation.ask({ toolCallId: "c1" }, undefined);
  assert.equal((conversation.items.get("t:c1") as Call).asks, undefined);
});

test("a question about a call that nobody announced shows the call", () => {
  const conversation = new Conversation();
  conversation.ask({ toolCallId: "c9", title: "Run it" }, []);
  assert.equal((conversation.items.get("t:c9") as Call).title, "Run it");
});

test("only what has changed is taken, once", () => {
  const conversation = folded(chunk("agent_message_chunk", "a", "m1"), chunk("agent_message_chunk", "b", "m2"));
  assert.equal(conversation.take().length, 2);
  conversation.apply(chunk("agent_message_chunk", "!", "m1"));
  assert.deepEqual(told(conversation.take()), ["answer: a!"]);
  assert.deepEqual(conversation.take(), []);
});

test("what did not end with a lost agent is shown as failed", () => {
  const conversation = folded(
    { sessionUpdate: "tool_call", toolCallId: "c1", title: "one", status: "in_progress" },
    { sessionUpdate: "tool_call", toolCallId: "c2", title: "two", status: "completed" },
  );
  conversation.interrupt();
  assert.deepEqual(["t:c1", "t:c2"].map((id) => (conversation.items.get(id) as Call).status), ["failed", "completed"]);
});

test("plan, title, usage, commands and mode stand beside the conversation", () => {
  const conversation = new Conversation();
  conversation.introduce({ modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }, { id: "plan", name: "Plan" }] } });
  for (const update of [
    { sessionUpdate: "plan", entries: [{ content: "look", priority: "high", status: "pending" }] },
    { sessionUpdate: "session_info_update", title: "Roses" },
    { sessionUpdate: "usage_update", used: 10, size: 100 },
    { sessionUpdate: "available_commands_update", availableCommands: [{ name: "help", description: "Help" }] },
    { sessionUpdate: "current_mode_update", currentModeId: "plan" },
  ] satisfies SessionUpdate[]) {
    conversation.apply(update);
  }
  const { plan, title, usage, commands, options } = conversation.standing;
  assert.deepEqual([plan.length, title, usage?.used, commands[0]?.name], [1, "Roses", 10, "help"]);
  assert.equal(options[0]?.currentValue, "plan");
  assert.equal(conversation.knowsModesOnly, true);
});

test("an update of a kind that is not known changes nothing", () => {
  const conversation = folded({ sessionUpdate: "weather_update", rain: true } as unknown as SessionUpdate);
  assert.deepEqual(conversation.take(), []);
});
