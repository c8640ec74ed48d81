--- Entries of a conversation → lines of text and their highlights. Knows nothing of windows.
local Fold = require("acp_adapter.fold")
local config = require("acp_adapter.config")

local M = {}

--- Lines being collected: `lines`, and `marks` as { row from 0, highlight group }.
local Page = {}
Page.__index = Page

function Page.new()
  return setmetatable({ lines = {}, marks = {} }, Page)
end

function Page:add(line, group)
  -- A control character would be drawn as ^X, and a newline can't be in a line.
  table.insert(self.lines, (line:gsub("[%z\1-\8\11-\31]", "�")))
  if group then
    table.insert(self.marks, { #self.lines - 1, group })
  end
end

function Page:text(text, prefix, group, later_prefix)
  for at, line in ipairs(vim.split(text, "\r?\n")) do
    self:add((at == 1 and prefix or later_prefix or prefix) .. line, group)
  end
end

--- At most `limit` lines unless `unfolded`; how many there are besides is said.
function Page:part(lines, limit, unfolded)
  local shown = (unfolded or #lines <= limit + 1) and #lines or limit
  for at = 1, shown do
    self:add(lines[at][1], lines[at][2])
  end
  if shown < #lines then
    self:add(("    … %d more lines (%s)"):format(#lines - shown, config.values.keys.unfold), "AcpAdapterMore")
  end
end

local MARKS = {
  pending = { "○", "AcpAdapterPending" },
  in_progress = { "●", "AcpAdapterRunning" },
  completed = { "✔", "AcpAdapterDone" },
  failed = { "✘", "AcpAdapterFailed" },
}
local SEVERITIES = {
  info = { "ℹ", "AcpAdapterInfo" },
  warning = { "⚠", "AcpAdapterWarning" },
  error = { "✘", "AcpAdapterFailed" },
}
local DIFF = { ["+"] = "AcpAdapterAdded", ["-"] = "AcpAdapterRemoved", ["@"] = "AcpAdapterMore" }

--- What agents put in a Markdown fence, for a page that shows it as it is.
local function unfenced(text)
  local fence, body = text:match("^(```+)[^\n`]*\n(.*)$")
  if fence then
    local inner = body:match("^(.*)\n" .. fence .. "%s*$")
    return inner or text
  end
  return text
end

--- A diff's lines with their highlights: its file, then its hunks.
local function diff_lines(item)
  local diff = vim.text and vim.text.diff or vim.diff
  local lines = { { "    " .. vim.fn.fnamemodify(item.path or "", ":~:."), "AcpAdapterPath" } }
  for _, line in ipairs(vim.split(diff(item.oldText or "", item.newText or "", { ctxlen = 2 }), "\n")) do
    if line ~= "" and line:sub(1, 1) ~= "\\" then
      table.insert(lines, { "    " .. line, DIFF[line:sub(1, 1)] or "AcpAdapterContext" })
    end
  end
  return lines
end

local function output_lines(item, failed)
  local text = unfenced(Fold.block_text(item.content or {})):gsub("%s+$", "")
  return vim.tbl_map(function(line)
    return { "    " .. line, failed and "AcpAdapterFailed" or "AcpAdapterOutput" }
  end, vim.split(text, "\r?\n"))
end

local function one_line(text)
  return (text:gsub("%s+", " "))
end

--- The best name known for a tool call.
function M.title(call)
  return one_line(call.title or call.name or "A tool")
end

local draw = {}

function draw.user(page, entry)
  page:text(Fold.text(entry), "❯ ", "AcpAdapterUser", "  ")
end

function draw.answer(page, entry)
  -- Blank lines at either end are the model's habit, not its word.
  page:text((Fold.text(entry):gsub("^%s*\n", ""):gsub("%s+$", "")), "")
end

--- A thought shows its first line, and all of it while it is the last thing that was said.
function draw.thought(page, entry, unfolded)
  local lines = vim.split(vim.trim(Fold.text(entry)), "\r?\n")
  page:add("✻ " .. lines[1], "AcpAdapterThought")
  local rest = vim.tbl_map(function(line)
    return { "  " .. line, "AcpAdapterThought" }
  end, vim.list_slice(lines, 2))
  if #rest > 0 then
    page:part(rest, 0, unfolded)
  end
end

function draw.call(page, entry, unfolded)
  local call = entry.fields
  if call.kind == "think" and call.status ~= "failed" then
    return -- a plan is shown as a plan
  end
  local mark = MARKS[call.status] or MARKS.pending
  page:add(mark[1] .. " " .. M.title(call), mark[2])
  for _, item in ipairs(call.content or {}) do
    if item.type == "diff" then
      page:part(diff_lines(item), config.values.diff_lines, unfolded)
    elseif item.type == "content" then
      page:part(output_lines(item, call.status == "failed"), config.values.output_lines, unfolded)
    end
  end
end

function draw.notice(page, entry)
  local mark = SEVERITIES[entry.severity] or SEVERITIES.info
  page:text(entry.title or "", mark[1] .. " ", mark[2], "  ")
  if entry.description then
    page:text(entry.description, "  ", mark[2])
  end
end

--- An entry's lines and marks. `before` is the entry above, from which a blank line parts it; calls stand together.
function M.entry(entry, before, unfolded)
  local page, body = Page.new(), Page.new()
  draw[entry.kind](body, entry, unfolded)
  if #body.lines == 0 or (#body.lines == 1 and body.lines[1] == "") then
    return page
  end
  if before and not (entry.kind == "call" and before.kind == "call") then
    page:add("")
  end
  for _, mark in ipairs(body.marks) do
    table.insert(page.marks, { mark[1] + #page.lines, mark[2] })
  end
  vim.list_extend(page.lines, body.lines)
  return page
end

local PLAN = {
  completed = { "✔", "AcpAdapterDone" },
  in_progress = { "▸", "AcpAdapterRunning" },
  pending = { "·", "AcpAdapterPending" },
}

local function plan(page, entries)
  local done = #vim.tbl_filter(function(entry)
    return entry.status == "completed"
  end, entries)
  if #entries > 0 then
    page:add("")
    page:add(("Plan: %d of %d done"):format(done, #entries), "AcpAdapterPlan")
  end
  for _, entry in ipairs(done < #entries and entries or {}) do
    local mark = PLAN[entry.status] or PLAN.pending
    page:add(("  %s %s"):format(mark[1], one_line(entry.content or "")), mark[2])
  end
end

local function question(page, asked, more)
  page:add("")
  page:text(
    asked.title .. (more > 0 and (" (and %d more after it)"):format(more) or ""),
    "? ",
    "AcpAdapterQuestion",
    "  "
  )
  for _, choice in ipairs(asked.choices) do
    page:add(("  [%s] %s"):format(choice.key, one_line(choice.label)), "AcpAdapterQuestion")
  end
end

--- What stands below the conversation: the plan, the open question, the prompts that wait.
function M.tail(session)
  local page = Page.new()
  plan(page, session.fold.plan)
  if session.questions[1] then
    question(page, session.questions[1], #session.questions - 1)
  end
  for _, turn in ipairs(session:waiting()) do
    page:add("")
    page:text(turn.text, "⧗ ", "AcpAdapterWaiting", "  ")
  end
  return page
end

return M
