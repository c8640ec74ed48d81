--- Completion in the prompt: `/commands` of the agent at its beginning, `@files` anywhere. An 'omnifunc', so that
--- completion plugins offer it too.
local current = require("acp_adapter.current")

local M = {}

--- Where the word to complete begins in the text before the cursor, from 0; nil where there is nothing to complete.
function M.start(before, line_number)
  if line_number == 1 and before:match("^/%S*$") then
    return 0
  end
  local at = before:match("()@%S*$")
  return at and (at == 1 or before:sub(at - 1, at - 1):match("%s")) and at - 1 or nil
end

local function commands(base)
  local items = {}
  for _, command in ipairs(current.session and current.session.commands or {}) do
    local word = "/" .. command.name
    if vim.startswith(word, base) then
      local hint = (command.input or {}).hint
      table.insert(items, { word = word, abbr = word .. (hint and " " .. hint or ""), menu = command.description })
    end
  end
  return items
end

local function files(base)
  return vim.tbl_map(function(path)
    return { word = "@" .. path }
  end, vim.fn.getcompletion(base:sub(2), "file"))
end

function M.omnifunc(findstart, base)
  if findstart == 1 then
    local row, column = unpack(vim.api.nvim_win_get_cursor(0))
    return M.start(vim.api.nvim_get_current_line():sub(1, column), row) or -3
  end
  return vim.startswith(base, "/") and commands(base) or files(base)
end

return M
