--- The buffer that shows one session: it draws what changed, some thirty times a second at most.
local render = require("acp_adapter.render")

local View = {}
View.__index = View

local DRAW_MS = 33
local namespace = vim.api.nvim_create_namespace("acp_adapter")

-- Groups that colour the whole width of the window.
local WHOLE_LINE = { AcpAdapterUser = true, AcpAdapterAdded = true, AcpAdapterRemoved = true }

local function scratch(name)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, "acp-adapter://" .. name)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].undolevels = -1 -- a page that is redrawn all the time has nothing to undo
  vim.bo[buffer].filetype = "acp_adapter"
  pcall(vim.treesitter.start, buffer, "markdown")
  return buffer
end

--- A view of the session, drawn in full.
function View.new(session)
  local self = setmetatable({
    session = session,
    buffer = scratch(session.id:sub(1, 8)),
    heights = {}, -- lines of each entry
    starts = {}, -- the first row of each entry, from 0
    unfolded = {}, -- what the user folded or unfolded, by the entry itself
    dirty = {},
    tail = 0, -- lines below the conversation
  }, View)
  session.listener = function(what, place)
    self:_changed(what, place)
  end
  session.is_shown = true
  self:_changed("all")
  self:draw()
  return self
end

function View:close()
  self.session.listener = function() end
  self.session.is_shown = false
  self.is_closed = true
  pcall(vim.api.nvim_buf_delete, self.buffer, { force = true })
end

--- Called after something was drawn, and at once for changes of the session's "status".
View.on_draw = function(_) end
View.on_status = function(_) end

--- The entry on that row, counted from 0.
function View:entry_at(row)
  for place = #self.starts, 1, -1 do
    if row >= self.starts[place] then
      return row < self.starts[place] + self.heights[place] and self.session.fold.entries[place] or nil, place
    end
  end
end

--- Show the rest of the entry on that row, or fold it again.
function View:toggle(row)
  local entry, place = self:entry_at(row)
  if entry then
    self.unfolded[entry] = not self:_is_unfolded(entry, place)
    self:_changed("entry", place)
    self:draw()
  end
end

function View:_is_unfolded(entry, place)
  if self.unfolded[entry] ~= nil then
    return self.unfolded[entry]
  end
  return entry.kind == "thought" and place == #self.session.fold.entries
end

function View:_changed(what, place)
  if what == "status" then
    return View.on_status(self)
  elseif what == "all" then
    self.all = true
  elseif what == "entry" then
    self.dirty[place] = true
  end
  if not self.drawing then
    self.drawing = true
    vim.defer_fn(function()
      self:draw()
    end, DRAW_MS)
  end
end

--- Draw all that changed since the last time.
function View:draw()
  self.drawing = false
  if self.is_closed or not vim.api.nvim_buf_is_valid(self.buffer) then
    return
  end
  local following = self:_following()
  vim.bo[self.buffer].modifiable = true
  if self.all then
    self:_clear()
  end
  for _, place in ipairs(self:_places()) do
    self:_draw_entry(place)
  end
  self:_draw_tail()
  vim.bo[self.buffer].modifiable = false
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(self.buffer), 0 })
  end
  View.on_draw(self)
end

function View:_clear()
  vim.api.nvim_buf_set_lines(self.buffer, 0, -1, true, {})
  self.heights, self.starts, self.tail, self.dirty, self.all = {}, {}, 0, {}, nil
  for place in ipairs(self.session.fold.entries) do
    self.dirty[place] = true
  end
end

--- The entries to draw, in order. One that got a successor is drawn again: a thought folds then.
function View:_places()
  local drawn, count = #self.heights, #self.session.fold.entries
  if drawn > 0 and drawn < count then
    self.dirty[drawn] = true
  end
  for place = drawn + 1, count do
    self.dirty[place] = true
  end
  local places = vim.tbl_keys(self.dirty)
  table.sort(places)
  self.dirty = {}
  return places
end

function View:_draw_entry(place)
  local entries = self.session.fold.entries
  local entry = entries[place]
  local page = render.entry(entry, self:_before(place), self:_is_unfolded(entry, place))
  local start = self.starts[place] or (place == 1 and 0 or self.starts[place - 1] + self.heights[place - 1])
  local old = self.heights[place] or 0
  self:_put(start, old, page)
  self.starts[place], self.heights[place] = start, #page.lines
  for later = place + 1, #page.lines ~= old and #self.heights or 0 do
    self.starts[later] = self.starts[later - 1] + self.heights[later - 1]
  end
end

--- The entry above, those that show nothing left out.
function View:_before(place)
  for above = place - 1, 1, -1 do
    if self.heights[above] > 0 then
      return self.session.fold.entries[above]
    end
  end
end

function View:_draw_tail()
  local page = render.tail(self.session)
  local last = #self.heights
  local start = last == 0 and 0 or self.starts[last] + self.heights[last]
  self:_put(start, self.tail, page)
  self.tail = #page.lines
end

--- Replace `old` lines from `start` on by the page. What is the same at its beginning stays untouched: a long answer
--- that grows is not written anew.
function View:_put(start, old, page)
  local same, before = 0, vim.api.nvim_buf_get_lines(self.buffer, start, start + old, false)
  while same < #before and before[same + 1] == page.lines[same + 1] do
    same = same + 1
  end
  if same == old and same == #page.lines then
    return
  end
  local first = start + same
  vim.api.nvim_buf_clear_namespace(self.buffer, namespace, first, start + old)
  vim.api.nvim_buf_set_lines(self.buffer, first, start + old, false, vim.list_slice(page.lines, same + 1))
  for _, mark in ipairs(page.marks) do
    if mark[1] >= same then
      self:_mark(start + mark[1], mark[2])
    end
  end
end

function View:_mark(row, group)
  if WHOLE_LINE[group] then
    vim.api.nvim_buf_set_extmark(self.buffer, namespace, row, 0, { line_hl_group = group })
  else
    local place = { end_row = row + 1, hl_group = group, strict = false, priority = 200 }
    vim.api.nvim_buf_set_extmark(self.buffer, namespace, row, 0, place)
  end
end

--- The windows whose cursor is on the last line: they stay there.
function View:_following()
  local last = vim.api.nvim_buf_line_count(self.buffer)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] == last
  end, vim.fn.win_findbuf(self.buffer))
end

return View
