--- The panel: a window with the conversation and one below it for the prompt.
local View = require("acp_adapter.view")
local bars = require("acp_adapter.bars")
local client = require("acp_adapter.client")
local config = require("acp_adapter.config")
local current = require("acp_adapter.current")
local prompt = require("acp_adapter.prompt")

local M = {}

local view, windows
local came_from_prompt = false
local blank -- shown while there is no session

local SPLITS = { right = "botright vertical", left = "topleft vertical", top = "topleft", bottom = "botright" }

function M.is_open()
  return windows ~= nil and vim.api.nvim_win_is_valid(windows.page) and vim.api.nvim_win_is_valid(windows.prompt)
end

local function page_buffer()
  if view then
    return view.buffer
  end
  if not (blank and vim.api.nvim_buf_is_valid(blank)) then
    blank = vim.api.nvim_create_buf(false, true)
    vim.bo[blank].filetype = "acp_adapter"
  end
  return blank
end

--- Say something where there is no session to say it in.
local function say(text)
  local buffer = page_buffer()
  if not view then
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, vim.split(text, "\n"))
    vim.bo[buffer].modifiable = false
  end
end

local function draw_bars()
  if M.is_open() then
    vim.wo[windows.page].winbar = bars.page(current.session)
    vim.wo[windows.prompt].winbar = bars.prompt(current.session)
  end
end

local function under_cursor()
  return view and view:entry_at(vim.api.nvim_win_get_cursor(0)[1] - 1)
end

--- The diff under the cursor in diff mode, else its file.
local function open_under_cursor()
  local diff = require("acp_adapter.diff")
  local entry = under_cursor()
  local diffs = entry and diff.of(entry) or {}
  if #diffs == 1 then
    return diff.show(diffs[1])
  elseif #diffs > 1 then
    local function path(item)
      return vim.fn.fnamemodify(item.path, ":~:.")
    end
    return vim.ui.select(diffs, { prompt = "Which file?", format_item = path }, function(item)
      return item and diff.show(item)
    end)
  end
  local location = entry and entry.kind == "call" and (entry.fields.locations or {})[1]
  if location then
    vim.cmd("wincmd p")
    vim.cmd.edit({ args = { location.path }, magic = { file = false, bar = false } })
    pcall(vim.api.nvim_win_set_cursor, 0, { location.line or 1, 0 })
  end
end

local function map(buffer)
  local keys = config.values.keys
  local function set(lhs, action, desc)
    vim.keymap.set("n", lhs, action, { buffer = buffer, nowait = true, desc = desc })
  end
  set(keys.open, open_under_cursor, "Open the diff or file under the cursor")
  set(keys.unfold, function()
    view:toggle(vim.api.nvim_win_get_cursor(0)[1] - 1)
  end, "Show or hide the rest")
  set(keys.cancel, M.cancel, "Stop the turn")
  set(keys.close, M.close, "Close the panel")
  set(keys.prompt, M.focus_prompt, "Write a prompt")
end

--- Whoever came from the prompt to answer goes back there.
local function return_to_prompt()
  if came_from_prompt and M.is_open() and vim.api.nvim_get_current_win() == windows.page then
    M.focus_prompt()
  end
  came_from_prompt = false
end

--- The keys of the open question stand over those of the panel while it is open.
local function map_question()
  local question = view.session.questions[1]
  if question ~= view.question then
    if not question then
      return_to_prompt()
    end
    for _, choice in ipairs(view.question and view.question.choices or {}) do
      pcall(vim.keymap.del, "n", choice.key, { buffer = view.buffer })
    end
    view.question = question
    map(view.buffer)
    prompt.map_question(view.buffer, view.session)
  end
end

--- Show a buffer in a window of the panel, with options of its own: the window's former buffer keeps its.
local function put(win, buffer)
  vim.api.nvim_win_set_buf(win, buffer)
  local wo = vim.wo[win][0]
  wo.number, wo.relativenumber, wo.signcolumn, wo.foldcolumn = false, false, "no", "0"
  wo.wrap, wo.linebreak, wo.breakindent, wo.list, wo.spell = true, true, true, false, false
  wo.foldenable, wo.fillchars = false, "eob: "
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buffer), 0 })
end

local function show(session)
  local old = view
  view = View.new(session)
  map(view.buffer)
  if M.is_open() then
    put(windows.page, view.buffer)
  end
  if old then
    old:close()
  end
  map_question()
  draw_bars()
end

current.on_change = show
View.on_status = draw_bars
View.on_draw = function(drawn)
  if drawn == view then
    map_question()
  end
end

local function size(position)
  local wished = config.values.layout.size
  local whole = (position == "right" or position == "left") and vim.o.columns or vim.o.lines
  return wished < 1 and math.floor(whole * wished) or wished
end

local function window(command, buffer)
  vim.cmd(command)
  local made = vim.api.nvim_get_current_win()
  put(made, buffer)
  return made
end

--- Open the windows, or go to them, with the cursor in the prompt.
function M.open()
  if not M.is_open() then
    M.close()
    local position = config.values.layout.position
    local page = window(("%s %dsplit"):format(SPLITS[position], size(position)), page_buffer())
    local below = window(("belowright %dsplit"):format(config.values.layout.prompt_height), prompt.buffer())
    windows = { page = page, prompt = below }
    vim.wo[page].winfixwidth, vim.wo[below].winfixwidth, vim.wo[below].winfixheight = true, true, true
    draw_bars()
  end
  vim.api.nvim_set_current_win(windows.prompt)
end

function M.focus_prompt()
  M.open()
  vim.cmd.startinsert({ bang = true })
end

--- Close the windows. The session goes on, and so does a turn of it.
function M.close()
  for _, each in pairs(windows or {}) do
    if vim.api.nvim_win_is_valid(each) and #vim.api.nvim_list_wins() > 1 then
      vim.api.nvim_win_close(each, true)
    end
  end
  windows = nil
end

--- Have a session by `bring` (of `current`) and show it, or say why there is none. `callback(session)`, nil for none.
function M.with(bring, callback)
  if not current.session then
    say("Starting the agent…")
  end
  bring(function(reason, session)
    if not reason then
      vim.tbl_map(prompt.add, session.drafts)
      session.drafts = {}
    elseif current.session and not session then
      current.session:say("error", reason)
    elseif not session then
      say(reason)
    end
    draw_bars()
    if callback then
      callback(not reason and session or nil)
    end
  end)
end

--- Send a prompt to the current session, starting what is not there. What can't be sent goes back into the prompt.
function M.send(text)
  M.with(current.ready, function(session)
    if session then
      session:prompt(text, require("acp_adapter.content").blocks(text, session.cwd))
    else
      prompt.add(text)
    end
  end)
end

function M.cancel()
  if current.session and current.session.running > 0 then
    current.session:cancel()
  end
end

--- Go to the open question. Returns whether there is one.
function M.answer()
  local session = current.session
  if not (session and session.questions[1]) then
    return false
  end
  M.open()
  vim.cmd.stopinsert()
  came_from_prompt = true
  vim.api.nvim_set_current_win(windows.page)
  view:draw()
  vim.api.nvim_win_set_cursor(windows.page, { vim.api.nvim_buf_line_count(view.buffer), 0 })
  return true
end

--- The buffer with the conversation.
function M.page()
  return page_buffer()
end

--- Draw at once what has changed.
function M.draw()
  if view then
    view:draw()
  end
end

client.on_exit = function(reason)
  require("acp_adapter.session").all_lost(reason)
  local session = current.session
  if session then
    draw_bars()
  else
    say(reason)
  end
end

prompt.on_send, prompt.on_cancel, prompt.on_answer = M.send, M.cancel, M.answer

return M
