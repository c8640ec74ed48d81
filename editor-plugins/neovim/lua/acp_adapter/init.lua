--- acp-adapter in Neovim. `setup` is optional; everything else is a command (:help acp_adapter).
local M = {}

local HIGHLIGHTS = {
  AcpAdapterUser = "CursorLine",
  AcpAdapterThought = "Comment",
  AcpAdapterPending = "Comment",
  AcpAdapterRunning = "DiagnosticInfo",
  AcpAdapterDone = "DiagnosticOk",
  AcpAdapterFailed = "DiagnosticError",
  AcpAdapterInfo = "DiagnosticInfo",
  AcpAdapterWarning = "DiagnosticWarn",
  AcpAdapterAdded = "DiffAdd",
  AcpAdapterRemoved = "DiffDelete",
  AcpAdapterContext = "Comment",
  AcpAdapterOutput = "Comment",
  AcpAdapterPath = "Directory",
  AcpAdapterMore = "NonText",
  AcpAdapterPlan = "Title",
  AcpAdapterQuestion = "Question",
  AcpAdapterWaiting = "NonText",
}

local is_wired = false

--- What has to be there once before the first session.
local function wire()
  if is_wired then
    return
  end
  is_wired = true
  for group, link in pairs(HIGHLIGHTS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
  require("acp_adapter.permissions")
  require("acp_adapter.forms")
  require("acp_adapter.fs")
  vim.api.nvim_create_autocmd("VimLeavePre", {
    callback = function()
      require("acp_adapter.client").stop()
    end,
  })
end

--- Change settings; see |acp_adapter-settings|. Raises an error that names a setting that can't be used.
function M.setup(settings)
  require("acp_adapter.config").set(settings)
end

local function panel()
  wire()
  return require("acp_adapter.panel")
end

--- Open the panel, with the session of this folder, and go to its prompt.
function M.open()
  panel().focus_prompt()
  panel().with(require("acp_adapter.current").ready)
end

function M.close()
  panel().close()
end

function M.toggle()
  if panel().is_open() then
    return M.close()
  end
  M.open()
end

function M.new()
  panel().focus_prompt()
  panel().with(require("acp_adapter.current").new)
end

function M.restart()
  panel().open()
  panel().with(require("acp_adapter.current").restart)
end

function M.cancel()
  panel().cancel()
end

--- Send a prompt without going to the panel.
function M.send(text)
  panel().send(text)
end

--- Pick a session; with words, one in which they were said. `all`: of every folder.
function M.sessions(words, all)
  wire()
  require("acp_adapter.sessions").pick(words, all)
end

--- Pick the mode, the model or another setting of the session, or set it.
function M.set(name, value)
  panel().with(require("acp_adapter.current").ready, function(session)
    if session then
      require("acp_adapter.options").pick(session, name, value)
    end
  end)
end

--- The agent's own set-up, in a terminal.
function M.setup_agent()
  vim.cmd("botright new")
  vim.fn.termopen(require("acp_adapter.config").argv("setup"))
  vim.cmd.startinsert()
end

--- Put a link to lines of the current file into the prompt.
function M.add_lines(first, last)
  local path = vim.api.nvim_buf_get_name(0)
  if path == "" or vim.bo.buftype ~= "" then
    return vim.notify("This buffer is no file that could be linked to.", vim.log.levels.WARN)
  end
  local link = ("@%s#L%d-%d "):format(vim.fn.fnamemodify(path, ":."), first, last)
  panel()
  require("acp_adapter.prompt").add(link)
  M.open()
end

return M
