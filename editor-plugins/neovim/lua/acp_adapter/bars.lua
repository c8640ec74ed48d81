--- The lines above the panel's two windows: what session this is, how it stands, what a key would do.
local config = require("acp_adapter.config")
local options = require("acp_adapter.options")

local M = {}

local TITLE_WIDTH = 30

local function thousands(count)
  return count < 1000 and tostring(count) or ("%.1fk"):format(count / 1000)
end

local function usage(session)
  local used = session.usage
  if not used or not used.used then
    return nil
  end
  local text = thousands(used.used) .. (used.size and used.size > 0 and "/" .. thousands(used.size) or "")
  return text .. (used.cost and (" $%.2f"):format(used.cost.amount) or "")
end

local function state(session)
  if session.lost then
    return "the agent is gone"
  elseif session.loading then
    return "loading…"
  elseif session.questions[1] then
    return "asks you"
  end
  return session.running > 0 and "working…" or nil
end

local function mode(session)
  return options.current(session, "mode")
end

local function model(session)
  return options.current(session, "model")
end

local function escaped(text)
  return (text:gsub("%s+", " "):gsub("%%", "%%%%"))
end

--- What goes on and the conversation's title; at the right mode, model and usage, as far as there is room.
function M.page(session)
  if not session then
    return "acp-adapter"
  end
  local parts = {}
  for _, part in ipairs({ mode, model, usage }) do
    table.insert(parts, part(session))
  end
  local title = vim.fn.strcharpart(session.title or "New session", 0, TITLE_WIDTH)
  local doing = state(session)
  return escaped((doing and doing .. " · " or "") .. title) .. " %<%=" .. escaped(table.concat(parts, " · "))
end

--- The open question, or what the keys do.
function M.prompt(session)
  local keys = config.values.keys
  local question = session and session.questions[1]
  if question then
    return ("%%<? %s%%= %s to answer"):format(escaped(question.title), keys.complete)
  elseif session and session.running > 0 then
    return ("Prompt: %s sends, %s stops the turn"):format(keys.send, keys.cancel)
  end
  return ("Prompt: %s sends, / commands, @ files"):format(keys.send)
end

return M
