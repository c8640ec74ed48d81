--- The buffer in which prompts are written. It outlives the panel's windows, so a draft is never lost.
local config = require("acp_adapter.config")
local questions = require("acp_adapter.questions")

local M = {
  -- What the panel does with what happens here.
  on_send = function(_) end,
  on_cancel = function() end,
  on_answer = function() end, -- go to the open question; true where there is one
}

local buffer

local function key(keys)
  return vim.api.nvim_replace_termcodes(keys, true, false, true)
end

function M.text()
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, true), "\n"))
end

--- Put text at the end of what is there.
function M.add(text)
  local lines = vim.split(text, "\n", { plain = true })
  local count = vim.api.nvim_buf_line_count(M.buffer())
  local last = vim.api.nvim_buf_get_lines(M.buffer(), count - 1, count, true)[1]
  local from = last == "" and count - 1 or count
  vim.api.nvim_buf_set_lines(M.buffer(), from, count, true, lines)
end

local function send()
  local text = M.text()
  if text ~= "" then
    vim.api.nvim_buf_set_lines(M.buffer(), 0, -1, true, { "" })
    M.on_send(text)
  end
end

--- Enter takes the chosen completion where there is one, else it sends.
local function send_or_accept()
  if vim.fn.pumvisible() == 1 and vim.fn.complete_info({ "selected" }).selected >= 0 then
    return vim.api.nvim_feedkeys(key("<C-y>"), "n", false)
  end
  if vim.fn.pumvisible() == 1 then
    vim.api.nvim_feedkeys(key("<C-e>"), "n", false)
  end
  send()
end

local function complete()
  local complete_start = require("acp_adapter.complete").start
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  if vim.fn.pumvisible() == 1 then
    vim.api.nvim_feedkeys(key("<C-n>"), "n", false)
  elseif complete_start(vim.api.nvim_get_current_line():sub(1, column), row) then
    vim.api.nvim_feedkeys(key("<C-x><C-o>"), "n", false)
  elseif not M.on_answer() then
    vim.api.nvim_feedkeys("\t", "n", false)
  end
end

local function map(target)
  local keys = config.values.keys
  local function set(mode, lhs, action, desc)
    vim.keymap.set(mode, lhs, action, { buffer = target, desc = desc })
  end
  set("i", keys.send, send_or_accept, "Send the prompt")
  set("n", keys.send, send, "Send the prompt")
  set("i", keys.newline, "<CR>", "New line")
  set("i", keys.complete, complete, "Complete, or answer the question")
  set("n", keys.complete, function()
    M.on_answer()
  end, "Answer the question")
  set({ "i", "n" }, keys.cancel, function()
    M.on_cancel()
  end, "Stop the turn")
end

function M.buffer()
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    return buffer
  end
  buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, "acp-adapter://prompt")
  vim.bo[buffer].filetype = "acp_adapter_prompt"
  vim.bo[buffer].omnifunc = "v:lua.require'acp_adapter.complete'.omnifunc"
  pcall(function()
    vim.bo[buffer].completeopt = "menuone,noselect,popup" -- of the buffer since Neovim 0.11
  end)
  map(buffer)
  return buffer
end

--- Keys of the open question, set in the panel's buffer while it is open.
function M.map_question(target, session)
  local question = session.questions[1]
  for _, choice in ipairs(question and question.choices or {}) do
    vim.keymap.set("n", choice.key, function()
      questions.choose(session, question, choice)
    end, { buffer = target, nowait = true, desc = choice.label })
  end
end

return M
