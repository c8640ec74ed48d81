--- The one agent process of this Neovim: started on first use, shaken hands with, started again after it ended.
local Rpc = require("acp_adapter.rpc")
local config = require("acp_adapter.config")

local M = {
  -- method → function(params, reply), for requests, and function(params), for notifications.
  handlers = {},
  -- Told the reason when the agent ends without having been asked to.
  on_exit = function(_) end,
  -- The answer to `initialize`, while the agent runs.
  agent = nil,
}

local PROTOCOL_VERSION = 1
local NOT_OFFERED = -32601

local rpc, waiting

local function hello()
  local version = vim.version()
  return {
    protocolVersion = PROTOCOL_VERSION,
    clientInfo = {
      name = "neovim",
      title = "Neovim",
      version = ("%d.%d.%d"):format(version.major, version.minor, version.patch),
    },
    clientCapabilities = {
      fs = { readTextFile = true, writeTextFile = true },
      terminal = false,
      elicitation = { form = vim.empty_dict() },
      session = {
        notices = vim.empty_dict(),
        compaction = vim.empty_dict(),
        configOptions = { boolean = vim.empty_dict() },
      },
    },
  }
end

local function not_installed(program)
  return ("The agent %q is not installed, or not where Neovim looks (PATH, ~/.local/bin).\n"):format(program)
    .. "Install it as its README says, or name its full path:\n"
    .. 'require("acp_adapter").setup({ command = { "/path/to/acp-adapter" } })\n'
    .. ":checkhealth acp_adapter says more."
end

local function settle(fault)
  local callbacks = waiting or {}
  waiting = nil
  for _, callback in ipairs(callbacks) do
    callback(fault)
  end
end

local on = {
  request = function(method, params, reply)
    local handler = M.handlers[method]
    if handler then
      return handler(params, reply)
    end
    reply({ code = NOT_OFFERED, message = "Neovim does not offer " .. method .. "." })
  end,
  notification = function(method, params)
    if M.handlers[method] then
      M.handlers[method](params)
    end
  end,
}

local function start()
  local argv = config.argv()
  if vim.fn.executable(argv[1]) == 0 then
    return settle(not_installed(argv[1]))
  end
  local started, fault
  local function ended(reason)
    if rpc ~= started then
      return -- it was asked to leave
    end
    rpc, M.agent = nil, nil
    if waiting then
      settle(reason)
    else
      M.on_exit(reason)
    end
  end
  started, fault = Rpc.start(argv, { env = config.values.env }, vim.tbl_extend("error", { exit = ended }, on))
  if not started then
    return settle(fault)
  end
  rpc = started
  rpc:request("initialize", hello(), function(refused, answer)
    if not refused and answer.protocolVersion ~= PROTOCOL_VERSION then
      refused = { message = "The agent speaks another version of the protocol. Update this plugin or the agent." }
    end
    if rpc == started and not (refused and refused.gone) then
      M.agent = not refused and answer or nil
      settle(refused and refused.message)
    end
  end)
end

--- `callback(reason)` once the agent is there; the reason is nil then, and a text for people where it can't be had.
function M.connect(callback)
  if M.agent then
    return callback(nil)
  end
  if waiting then
    table.insert(waiting, callback)
    return
  end
  waiting = { callback }
  start()
end

--- `callback(error, result)`, exactly once.
function M.request(method, params, callback)
  if not rpc then
    return callback({ message = "The agent is not running.", gone = true })
  end
  rpc:request(method, params, callback)
end

function M.notify(method, params)
  if rpc then
    rpc:notify(method, params)
  end
end

--- The process id of the agent, nil where none runs.
function M.pid()
  return rpc and rpc.process and rpc.process.pid
end

--- Let the agent go. It stores what it has and ends its children.
function M.stop()
  local leaving = rpc
  rpc, M.agent = nil, nil
  if leaving then
    leaving:close()
  end
end

return M
