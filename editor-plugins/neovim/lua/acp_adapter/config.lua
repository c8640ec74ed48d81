--- The settings: defaults that work without any, and what `setup` lays over them.
local M = {}

M.defaults = {
  -- How the agent is started. Its other commands (search, doctor, setup) are called the same way.
  command = { "acp-adapter" },
  env = {},
  -- Load the newest session of this folder when the panel opens; else begin a new one.
  resume = true,
  -- MCP servers for each session, as ACP spells them.
  mcp_servers = {},
  layout = {
    position = "right", -- right, left, top, bottom
    size = 0.4, -- of the editor's width or height; from 1 up, columns or lines
    prompt_height = 6,
  },
  -- "panel": answered by a key in the panel. "select": by vim.ui.select, as soon as it is asked.
  permissions = "panel",
  -- How many lines of a tool's output and of a diff are shown before the rest is folded.
  output_lines = 8,
  diff_lines = 24,
  keys = {
    send = "<CR>", -- in the prompt, in insert and normal mode
    newline = "<C-j>", -- in the prompt, in insert mode
    complete = "<Tab>", -- in the prompt: complete, or go to an open question
    cancel = "<C-c>", -- in both windows
    open = "<CR>", -- in the panel: the diff or file under the cursor
    unfold = "<Tab>", -- in the panel: show or hide the rest under the cursor
    prompt = "i", -- in the panel: go to the prompt
    close = "q", -- in the panel
  },
}

M.values = vim.deepcopy(M.defaults)

local POSITIONS = { right = true, left = true, top = true, bottom = true }

--- The first setting that can't be used, as a sentence; nil where all can.
local function problem(values)
  for name in pairs(values) do
    if M.defaults[name] == nil then
      return ("there is no setting %q"):format(name)
    end
    if type(values[name]) ~= type(M.defaults[name]) then
      return ("%q must be a %s"):format(name, type(M.defaults[name]))
    end
  end
  if #values.command == 0 then
    return '"command" must name a program, as in { "acp-adapter" }'
  end
  if not POSITIONS[values.layout.position] then
    return '"layout.position" must be right, left, top or bottom'
  end
  if values.permissions ~= "panel" and values.permissions ~= "select" then
    return '"permissions" must be "panel" or "select"'
  end
end

--- Lay `given` over the defaults. Raises an error that names what can't be used; the old settings stay then.
function M.set(given)
  local values = vim.tbl_deep_extend("force", vim.deepcopy(M.defaults), given or {})
  if type(values.command) == "string" then
    values.command = { values.command }
  end
  local wrong = problem(values)
  if wrong then
    error("acp_adapter: " .. wrong .. " (:help acp_adapter-settings)", 0)
  end
  M.values = values
end

--- The agent's command line with `words` after it. A program that is not on PATH is looked for where pip, pipx and uv
--- put it.
function M.argv(...)
  local argv = vim.list_extend({}, M.values.command)
  if vim.fn.executable(argv[1]) == 0 and not argv[1]:find("[/\\]") then
    local usual = vim.fn.expand("~/.local/bin/") .. argv[1]
    argv[1] = vim.fn.executable(usual) == 1 and usual or argv[1]
  end
  return vim.list_extend(argv, { ... })
end

return M
