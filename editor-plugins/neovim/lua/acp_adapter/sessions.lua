--- The picker of stored sessions, with search over everything that was said in any of them.
local client = require("acp_adapter.client")
local config = require("acp_adapter.config")
local current = require("acp_adapter.current")
local panel = require("acp_adapter.panel")

local M = {}

local MOST = 500 -- sessions of one list
local HITS = 50

local UNITS = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } }

--- How long ago an ISO time in UTC was, in its largest unit.
function M.age(stamp, now)
  local year, month, day, hour, minute, second = (stamp or ""):match("(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return ""
  end
  local at = os.time({ year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false })
  local utc = os.date("!*t", now or os.time())
  utc.isdst = false
  local seconds = os.difftime(os.time(utc), at)
  for _, unit in ipairs(UNITS) do
    if seconds >= unit[1] then
      return ("%d %s ago"):format(math.floor(seconds / unit[1]), unit[2])
    end
  end
  return "just now"
end

--- A session of the list as a line.
function M.line(info)
  local meta = info._meta or {}
  local branch = meta.parentSessionId and "↳ " or ""
  local messages = meta.messageCount and (", %d messages"):format(meta.messageCount) or ""
  local title = (info.title or "(no title)"):gsub("%s+", " ")
  return ("%s%s — %s%s"):format(branch, title, M.age(info.updatedAt), messages)
end

--- A hit of the search as a line.
function M.hit_line(hit)
  local snippet, title = hit.snippet:gsub("%s+", " "), (hit.title or "(no title)"):gsub("%s+", " ")
  return ("%s — %s: %s"):format(title, hit.role, snippet)
end

--- All stored sessions, newest first, of one folder or, without one, of all: `callback(reason, infos)`.
function M.list(cwd, callback)
  local found = {}
  local function page(cursor)
    client.request("session/list", { cwd = cwd, cursor = cursor }, function(fault, answer)
      if fault then
        return callback(fault.message)
      end
      vim.list_extend(found, answer.sessions or {})
      if answer.nextCursor and #found < MOST then
        return page(answer.nextCursor)
      end
      callback(nil, found)
    end)
  end
  client.connect(function(reason)
    if reason then
      return callback(reason)
    end
    page(nil)
  end)
end

--- The JSON objects in the lines of a command's output.
function M.parse(output)
  local objects = {}
  for line in (output or ""):gmatch("[^\n]+") do
    local ok, object = pcall(vim.json.decode, line, { luanil = { object = true } })
    if ok then
      table.insert(objects, object)
    end
  end
  return objects
end

--- The command line that searches the ledger; it prints one JSON object a line.
function M.search_argv(words)
  return config.argv("search", "--json", "--limit", tostring(HITS), "--", words)
end

--- What was said in any session: `callback(reason, hits)`.
function M.search(words, callback)
  local ok, fault = pcall(vim.system, M.search_argv(words), { text = true, env = config.values.env }, function(done)
    vim.schedule(function()
      local hits = M.parse(done.stdout)
      local failed = #hits == 0 and done.stderr ~= "" and vim.trim(done.stderr)
      callback(failed or nil, hits)
    end)
  end)
  if not ok then
    callback(tostring(fault))
  end
end

--- Load a session and show it, in the folder it belongs to.
function M.open(id, cwd)
  if cwd then
    panel.open()
    return panel.with(function(done)
      current.load(id, cwd, done)
    end)
  end
  M.list(nil, function(_, infos)
    for _, info in ipairs(infos or {}) do
      if info.sessionId == id then
        cwd = info.cwd
      end
    end
    M.open(id, cwd or vim.fn.getcwd())
  end)
end

local function warn(text)
  vim.notify(text, vim.log.levels.WARN)
end

local function pick_hit(words)
  M.search(words, function(reason, hits)
    if reason or #hits == 0 then
      return warn(reason or ("Nothing was found for %q."):format(words))
    end
    vim.ui.select(hits, { prompt = ("Sessions with %q"):format(words), format_item = M.hit_line }, function(hit)
      return hit and M.open(hit.session_id)
    end)
  end)
end

local SEARCH = { search = true }

local function ask_words()
  vim.ui.input({ prompt = "Search all sessions: " }, function(words)
    if words and vim.trim(words) ~= "" then
      pick_hit(words)
    end
  end)
end

local function pick_listed(cwd)
  M.list(cwd, function(reason, infos)
    if reason then
      return warn(reason)
    end
    local function line(info)
      return info == SEARCH and "Search in all sessions…" or M.line(info)
    end
    local items = vim.list_extend({ SEARCH }, infos)
    vim.ui.select(items, { prompt = "Sessions", kind = "acp_adapter_session", format_item = line }, function(info)
      if info == SEARCH then
        ask_words()
      elseif info then
        M.open(info.sessionId, info.cwd)
      end
    end)
  end)
end

--- `:AcpSessions`: pick one of this folder's sessions, or of all; with words, one in which they were said.
function M.pick(words, all)
  if words and words ~= "" then
    return pick_hit(words)
  end
  local telescope = require("acp_adapter.telescope")
  local cwd = not all and vim.fn.getcwd() or nil
  if telescope.is_there() then
    return telescope.pick(cwd)
  end
  pick_listed(cwd)
end

return M
