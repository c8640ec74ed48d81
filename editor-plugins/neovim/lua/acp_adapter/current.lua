--- The session that the panel shows, and how it is had: the newest of this folder or a new one, and again after the
--- agent ended.
local Session = require("acp_adapter.session")
local client = require("acp_adapter.client")
local config = require("acp_adapter.config")

local M = {
  session = nil,
  -- Told of each session that becomes the current one.
  on_change = function(_) end,
}

local waiting

local function use(session)
  if session and session ~= M.session then
    M.session = session
    M.on_change(session)
  end
end

local function settle(reason, session)
  local callbacks = waiting or {}
  waiting = nil
  use(session)
  for _, callback in ipairs(callbacks) do
    callback(reason, session)
  end
end

--- The newest session of that folder, or a new one where there is none: `done(reason, session)`.
local function newest(cwd, done)
  if not config.values.resume then
    return Session.new(cwd, done)
  end
  client.request("session/list", { cwd = cwd }, function(fault, answer)
    if fault then
      return done(Session.reason(fault))
    end
    local found = (answer.sessions or {})[1]
    if found then
      Session.load(found.sessionId, cwd, done)
    else
      Session.new(cwd, done)
    end
  end)
end

--- Have `open(done)` bring a session, after the agent is there. Only one is brought at a time.
local function bring(open, callback)
  if waiting then
    table.insert(waiting, callback)
    return
  end
  waiting = { callback }
  client.connect(function(reason)
    if reason then
      return settle(reason)
    end
    open(settle)
  end)
end

--- `callback(reason, session)` with a session that can be prompted.
function M.ready(callback)
  local session = M.session
  if session and not session.lost then
    return callback(nil, session)
  end
  bring(function(done)
    if session then
      return session:reload(function(reason)
        done(reason, session)
      end)
    end
    newest(vim.fn.getcwd(), done)
  end, callback)
end

function M.new(callback)
  bring(function(done)
    Session.new(vim.fn.getcwd(), done)
  end, callback)
end

function M.load(id, cwd, callback)
  bring(function(done)
    Session.load(id, cwd, done)
  end, callback)
end

--- End the agent and start it anew, with the same session.
function M.restart(callback)
  client.stop()
  if M.session and not M.session.lost then
    Session.all_lost("The agent was asked to leave.")
  end
  M.ready(callback)
end

return M
