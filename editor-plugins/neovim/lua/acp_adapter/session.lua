--- The sessions that this Neovim has open: their conversation, what can be set, and the prompts under way.
--- What is shown of them is the view's matter: it is told by `listener(what, place)` that an "entry" changed (its
--- place), the "tail" (plan, questions, waiting prompts), the "status", or "all".
local Fold = require("acp_adapter.fold")
local client = require("acp_adapter.client")
local config = require("acp_adapter.config")
local questions = require("acp_adapter.questions")

local Session = {}
Session.__index = Session

local open = {} -- by id

local AUTH_REQUIRED = -32000
local STOPPED = {
  cancelled = "Stopped.",
  refusal = "The model refused to go on.",
  max_tokens = "The answer was cut off: the model's limit of tokens is reached.",
  max_turn_requests = "The turn ended: it had as many steps as it may have.",
}

--- `drafts` are the texts of prompts that were lost with the agent; the panel puts them back into the prompt.
local function create(id, cwd)
  local self = {
    id = id,
    cwd = cwd,
    fold = Fold.new(),
    commands = {},
    options = {},
    questions = {},
    turns = {},
    running = 0,
    drafts = {},
    listener = function() end,
  }
  open[id] = setmetatable(self, Session)
  return self
end

function Session.get(id)
  return open[id]
end

--- A new session of that folder: `callback(reason, session)`.
function Session.new(cwd, callback)
  local params = { cwd = cwd, mcpServers = config.values.mcp_servers }
  client.request("session/new", params, function(fault, answer)
    if fault then
      return callback(Session.reason(fault))
    end
    local self = create(answer.sessionId, cwd)
    self:_settings(answer)
    callback(nil, self)
  end)
end

--- The stored session with its whole conversation: `callback(reason, session)`.
function Session.load(id, cwd, callback)
  if open[id] and not open[id].lost then
    return callback(nil, open[id])
  end
  (open[id] or create(id, cwd)):reload(function(reason)
    if reason and open[id].lost == nil then
      open[id] = nil
    end
    callback(reason, open[id])
  end)
end

--- An error answer as a text for people.
function Session.reason(fault)
  local text = fault.message or "The agent answered with an error that has no message."
  if fault.code == AUTH_REQUIRED then
    text = text .. "\n:AcpAdapter setup opens the agent's own set-up."
  end
  return text
end

--- The agent ended: say so in every open session. What waited goes on waiting until the session is there again.
function Session.all_lost(reason)
  for _, self in pairs(open) do
    questions.forget(self)
    self.turns, self.running, self.lost = self:waiting(), 0, true
    self:say("error", reason .. "\nWhat was stored is safe. :AcpAdapter restart goes on; so does the next prompt.")
    self.listener("all")
  end
end

--- Replay the conversation from the agent: `callback(reason)`.
function Session:reload(callback)
  self.fold, self.loading = Fold.new(), true
  self.listener("all")
  local params = { sessionId = self.id, cwd = self.cwd, mcpServers = config.values.mcp_servers }
  client.request("session/load", params, function(fault, answer)
    self.loading = false
    if fault then
      self:say("error", Session.reason(fault))
    else
      self.lost = nil
      self:_give_back()
      self:_settings(answer)
    end
    self.listener("all")
    callback(fault and Session.reason(fault))
  end)
end

--- Send a prompt. It is shown as soon as its turn begins; until then it waits, visibly.
function Session:prompt(text, blocks)
  local turn = { text = text, blocks = blocks, command = vim.startswith(text, "/") }
  self.running = self.running + 1
  if turn.command or #self.turns == 0 then
    self:_show(turn)
  end
  if not turn.command then
    table.insert(self.turns, turn)
  end
  self.listener("tail")
  self.listener("status")
  client.request("session/prompt", { sessionId = self.id, prompt = blocks }, function(fault, answer)
    if not (fault and fault.gone) then
      self:_ended(turn, fault, answer)
    end
  end)
end

--- Stop the running turn. Open questions are answered `cancelled`, as ACP demands.
function Session:cancel()
  client.notify("session/cancel", { sessionId = self.id })
  questions.dismiss_all(self)
end

--- Set a config option, or the mode of an agent that has modes only: `callback(reason)`.
function Session:set(id, value, callback)
  local method, params = "session/set_config_option", { sessionId = self.id, configId = id, value = value }
  if id == "mode" and not self:option("mode") then
    method, params = "session/set_mode", { sessionId = self.id, modeId = value }
  elseif type(value) == "boolean" then
    params.type = "boolean"
  end
  client.request(method, params, function(fault, answer)
    if not fault then
      self.options = answer.configOptions or self.options
      self.listener("status")
    end
    callback(fault and Session.reason(fault))
  end)
end

--- The config option of that id or category.
function Session:option(name)
  for _, option in ipairs(self.options) do
    if option.id == name or option.category == name then
      return option
    end
  end
end

--- A notice of this Neovim's own. It is not part of the conversation and is gone after a reload.
function Session:say(severity, text)
  local title, rest = text:match("^([^\n]*)\n?(.*)$")
  self.listener("entry", self.fold:notice(severity, title, rest ~= "" and rest or nil))
end

--- The prompts that wait for their turn.
function Session:waiting()
  return vim.tbl_filter(function(turn)
    return not turn.shown
  end, self.turns)
end

--- Of the prompts that waited when the agent ended, those that it did not store are drafts again.
function Session:_give_back()
  local stored = {}
  for _, entry in ipairs(self.fold.entries) do
    if entry.kind == "user" then
      stored[Fold.block_text(entry.blocks[1])] = true
    end
  end
  for _, turn in ipairs(self.turns) do
    if not stored[turn.text] then
      table.insert(self.drafts, turn.text)
    end
  end
  self.turns = {}
end

function Session:_show(turn)
  turn.shown = true
  self.shown = (self.shown or 0) + 1
  for _, block in ipairs(turn.blocks) do
    local id = "own-" .. self.shown
    self:_receive({ sessionUpdate = "user_message_chunk", messageId = id, content = block })
  end
end

function Session:_ended(turn, fault, answer)
  self.running = self.running - 1
  if not turn.command and not turn.shown then
    self:_show(turn)
  end
  self.turns = vim.tbl_filter(function(other)
    return other ~= turn
  end, self.turns)
  if fault then
    self:say("error", Session.reason(fault))
  elseif STOPPED[answer.stopReason] then
    self:say(answer.stopReason == "cancelled" and "info" or "warning", STOPPED[answer.stopReason])
  end
  if self.turns[1] and not self.turns[1].shown then
    self:_show(self.turns[1])
  end
  self.listener("tail")
  self.listener("status")
end

function Session:_settings(answer)
  self.modes = answer.modes or self.modes
  self.options = answer.configOptions or self.options
  self.listener("status")
end

local STATE = {
  available_commands_update = function(self, update)
    self.commands = update.availableCommands or {}
  end,
  current_mode_update = function(self, update)
    if self.modes then
      self.modes.currentModeId = update.currentModeId
    end
  end,
  config_option_update = function(self, update)
    self.options = update.configOptions or {}
  end,
  session_info_update = function(self, update)
    self.title = update.title or self.title
  end,
  usage_update = function(self, update)
    self.usage = update
  end,
}

function Session:_receive(update)
  if STATE[update.sessionUpdate] then
    STATE[update.sessionUpdate](self, update)
    return self.listener("status")
  end
  local place = self.fold:apply(update)
  if update.sessionUpdate == "plan" then
    self.listener("tail")
  elseif place then
    self.listener("entry", place)
  end
  if update.status == "completed" or update.status == "failed" then
    self:_call_ended(update)
  end
end

--- What a call changed on disk is seen in buffers without changes of their own.
function Session:_call_ended(update)
  questions.drop(self, update.toolCallId)
  if self.loading then
    return
  end
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local named = vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer) ~= ""
    if named and vim.bo[buffer].buftype == "" and not vim.bo[buffer].modified then
      vim.cmd.checktime({ args = { tostring(buffer) }, mods = { silent = true } })
    end
  end
end

client.handlers["session/update"] = function(params)
  local self = open[params.sessionId]
  if self then
    self:_receive(params.update or {})
  end
end

return Session
