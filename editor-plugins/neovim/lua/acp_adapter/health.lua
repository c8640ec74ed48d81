--- `:checkhealth acp_adapter`: is the agent there, does it answer, and what does its own doctor find?
local config = require("acp_adapter.config")

local M = {}

local SECONDS = 30

local function run(...)
  local ok, process = pcall(vim.system, config.argv(...), { text = true, env = config.values.env })
  if not ok then
    return nil, tostring(process)
  end
  return process:wait(SECONDS * 1000)
end

local function neovim()
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim is new enough")
  else
    vim.health.error("Neovim 0.10 or newer is needed")
  end
  if not pcall(vim.treesitter.language.inspect, "markdown") then
    vim.health.warn("There is no tree-sitter parser for Markdown: answers are shown without colours")
  end
  local picker = require("acp_adapter.telescope").is_there() and "Telescope" or "vim.ui.select"
  vim.health.info(":AcpSessions uses " .. picker)
end

--- Returns whether the agent can be started.
local function program()
  local argv = config.argv()
  if vim.fn.executable(argv[1]) == 0 then
    vim.health.error(("%q is not installed, or not where Neovim looks"):format(argv[1]), {
      "Install acp-adapter as its README says",
      'or name its full path: require("acp_adapter").setup({ command = { "/path/to/acp-adapter" } })',
    })
    return false
  end
  local done, fault = run("--version")
  if not done or done.code ~= 0 then
    vim.health.error(("%s can't be started: %s"):format(argv[1], fault or vim.trim(done.stderr)))
    return false
  end
  vim.health.ok(("%s (%s)"):format(vim.fn.exepath(argv[1]), vim.trim(done.stdout)))
  return true
end

local REPORT = { ok = vim.health.ok, warn = vim.health.warn, fail = vim.health.error }

local function doctor()
  local done = run("doctor", "--json")
  local checks = done and require("acp_adapter.sessions").parse(done.stdout) or {}
  if #checks == 0 then
    vim.health.error("`acp-adapter doctor` said nothing", done and vim.trim(done.stderr) or nil)
  end
  for _, check in ipairs(checks) do
    local advice = check.advice ~= "" and check.advice or nil
    local report = REPORT[check.verdict] or vim.health.info
    report(("%s: %s"):format(check.name, check.detail), advice and { advice } or nil)
  end
end

function M.check()
  vim.health.start("acp_adapter")
  neovim()
  if program() then
    vim.health.start("acp_adapter: the agent (acp-adapter doctor)")
    doctor()
  end
end

return M
