--- JSON-RPC 2.0 with one process over its standard streams, one message a line.
local Rpc = {}
Rpc.__index = Rpc

local STDERR_LINES = 30
local LEAVE_MS = 3000

--- Start `argv`. `on.request(method, params, reply)` answers by `reply(error, result)`; `on.notification(method,
--- params)` and `on.exit(reason)` are told. All of them run in Neovim's main loop, in the order of the wire.
--- Returns nil and the reason where the program can't be started.
function Rpc.start(argv, opts, on)
  local self = setmetatable({ on = on, waiting = {}, next_id = 0, pieces = {}, words = {} }, Rpc)
  local ok, process = pcall(vim.system, argv, {
    stdin = true,
    cwd = opts.cwd,
    env = opts.env,
    stdout = function(_, data)
      self:_read(data)
    end,
    stderr = function(_, data)
      self:_listen(data)
    end,
  }, function(done)
    vim.schedule(function()
      self:_ended(done)
    end)
  end)
  if not ok then
    return nil, tostring(process)
  end
  self.process = process
  return self
end

--- `callback(error, result)` is called exactly once, also when the process ends first.
function Rpc:request(method, params, callback)
  if not self.process then
    return callback({ message = "The agent is not running." })
  end
  self.next_id = self.next_id + 1
  self.waiting[self.next_id] = callback
  self:_send({ id = self.next_id, method = method, params = params })
end

function Rpc:notify(method, params)
  self:_send({ method = method, params = params })
end

--- Close the agent's input, which asks it to leave; one that stays is ended.
function Rpc:close()
  local process = self.process
  if not process then
    return
  end
  pcall(process.write, process, nil)
  vim.defer_fn(function()
    if self.process then
      process:kill("sigkill")
    end
  end, LEAVE_MS)
end

--- The last lines of the agent's stderr.
function Rpc:last_words()
  return vim.trim(table.concat(self.words, "\n"))
end

function Rpc:_send(message)
  message.jsonrpc = "2.0"
  if message.params and next(message.params) == nil then
    message.params = vim.empty_dict() -- an empty table would be sent as a list
  end
  if self.process then
    -- A process that is gone is told of by on.exit, not here.
    pcall(self.process.write, self.process, vim.json.encode(message) .. "\n")
  end
end

--- Take the lines that `data` completes; the rest waits for its end.
function Rpc:_read(data)
  if not data then
    return
  end
  local lines, start = {}, 1
  for stop in data:gmatch("()\n") do
    self.pieces[#self.pieces + 1] = data:sub(start, stop - 1)
    lines[#lines + 1] = table.concat(self.pieces)
    self.pieces, start = {}, stop + 1
  end
  self.pieces[#self.pieces + 1] = data:sub(start)
  vim.schedule(function()
    for _, line in ipairs(lines) do
      self:_receive(line)
    end
  end)
end

function Rpc:_listen(data)
  for line in (data or ""):gmatch("[^\n]+") do
    table.insert(self.words, line)
    if #self.words > STDERR_LINES then
      table.remove(self.words, 1)
    end
  end
end

function Rpc:_receive(line)
  local ok, message = pcall(vim.json.decode, line, { luanil = { object = true } })
  if not ok or type(message) ~= "table" then
    self:_listen("not a message: " .. line:sub(1, 200))
  elseif message.method and message.id ~= nil then
    self:_answer(message)
  elseif message.method then
    self.on.notification(message.method, message.params or {})
  elseif self.waiting[message.id] then
    local callback = self.waiting[message.id]
    self.waiting[message.id] = nil
    callback(message.error, message.result or {})
  end
end

--- Every request gets one answer, a handler's own failure included.
function Rpc:_answer(message)
  local answered = false
  local function reply(fault, result)
    if not answered then
      answered = true
      self:_send({ id = message.id, error = fault, result = not fault and (result or vim.empty_dict()) or nil })
    end
  end
  local ok, fault = pcall(self.on.request, message.method, message.params or {}, reply)
  if not ok then
    reply({ code = -32603, message = tostring(fault) })
  end
end

function Rpc:_ended(done)
  self.process = nil
  local how = done.signal ~= 0 and ("was ended by signal %d"):format(done.signal)
    or ("ended with code %d"):format(done.code)
  local words = self:last_words()
  local reason = "The agent " .. how .. (words ~= "" and ". Its last words:\n" .. words or ".")
  local waiting = self.waiting
  self.waiting = {}
  for _, callback in pairs(waiting) do
    callback({ message = reason, gone = true })
  end
  self.on.exit(reason)
end

return Rpc
