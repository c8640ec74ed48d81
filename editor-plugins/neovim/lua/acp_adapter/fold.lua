--- `session/update` → the entries of a conversation. The same for a live turn and for a replay, so that a session that
--- is loaded looks as it looked when it was live. Knows nothing of buffers.
local Fold = {}
Fold.__index = Fold

--- `entries` in order of their first appearance:
---   { kind = "user" | "answer" | "thought", id, blocks = { ACP content blocks, adjacent texts joined } }
---   { kind = "call", id, fields = { ACP tool call, updates merged } }
---   { kind = "notice", severity, title, description }
--- `plan` is the newest plan's entries.
function Fold.new()
  return setmetatable({ entries = {}, places = {}, plan = {} }, Fold)
end

local ROLES = { user_message_chunk = "user", agent_message_chunk = "answer", agent_thought_chunk = "thought" }

--- Take one update in. Returns the number of the entry that changed, nil where none did.
function Fold:apply(update)
  local kind = update.sessionUpdate
  if ROLES[kind] then
    return self:_chunk(ROLES[kind], update)
  elseif kind == "tool_call" or kind == "tool_call_update" then
    return self:_call(update)
  elseif kind == "notice" then
    return self:notice(update.severity, update.title, update.description)
  elseif kind == "compaction_update" then
    return self:_compaction(update)
  elseif kind == "plan" then
    self.plan = update.entries or {}
  end
end

--- Add a notice of this Neovim's own or of the agent.
function Fold:notice(severity, title, description)
  return self:_add({ kind = "notice", severity = severity, title = title, description = description })
end

--- The text of an entry; what is not text is named.
function Fold.text(entry)
  local texts = vim.tbl_map(Fold.block_text, entry.blocks or {})
  return table.concat(texts, "\n")
end

--- A content block as text.
function Fold.block_text(block)
  if block.type == "text" then
    if block.pieces then
      block.text = table.concat(block.pieces)
      block.pieces = { block.text }
    end
    return block.text or ""
  elseif block.type == "resource_link" then
    return ("[%s]"):format(block.name or block.uri)
  elseif block.type == "resource" then
    return ("[%s]"):format((block.resource or {}).uri or "resource")
  end
  return ("[%s]"):format(block.type)
end

function Fold:_add(entry, key)
  table.insert(self.entries, entry)
  if key then
    self.places[key] = #self.entries
  end
  return #self.entries
end

function Fold:_chunk(role, update)
  local place = self:_place(role, update.messageId)
  local blocks, block = self.entries[place].blocks, update.content or {}
  local last = blocks[#blocks]
  if block.type == "text" and last and last.type == "text" then
    last.pieces = last.pieces or { last.text }
    table.insert(last.pieces, block.text) -- joined when it is drawn, or a long answer would be copied for each chunk
  else
    table.insert(blocks, vim.deepcopy(block))
  end
  return place
end

--- The entry of a message; one without an id goes on in the last entry of its role.
function Fold:_place(role, id)
  local last = self.entries[#self.entries]
  if not id and last and last.kind == role and not last.id then
    return #self.entries
  end
  local key = id and role .. " " .. id
  return key and self.places[key] or self:_add({ kind = role, id = id, blocks = {} }, key)
end

function Fold:_call(update)
  local key = "call " .. update.toolCallId
  local place = self.places[key] or self:_add({ kind = "call", id = update.toolCallId, fields = {} }, key)
  local fields = self.entries[place].fields
  for name, value in pairs(update) do
    fields[name] = value
  end
  return place
end

function Fold:_compaction(update)
  local key = "compaction " .. update.compactionId
  local place = self.places[key] or self:_add({ kind = "notice", severity = "info" }, key)
  local entry = self.entries[place]
  if update.status == "completed" then
    entry.title = "Older messages were put into a summary for the model; they stay in the session."
  elseif update.status == "failed" then
    entry.severity, entry.title, entry.description = "warning", "The summary failed.", update.error
  else
    entry.title = "Older messages are being put into a summary…"
  end
  return place
end

return Fold
