--- A tool call's diff in diff mode: a tab of its own with the file before and after, closed by `q`.
local M = {}

local function side(text, name, filetype)
  local buffer = vim.api.nvim_create_buf(false, true)
  local lines = vim.split(text, "\r?\n")
  if lines[#lines] == "" then
    table.remove(lines)
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].filetype = filetype or ""
  vim.bo[buffer].modifiable = false
  vim.api.nvim_win_set_buf(0, buffer)
  vim.wo.winbar = name:gsub("%%", "%%%%")
  vim.cmd.diffthis()
  vim.keymap.set("n", "q", vim.cmd.tabclose, { buffer = buffer, desc = "Close the diff" })
end

--- The diffs of an entry of the conversation.
function M.of(entry)
  return vim.tbl_filter(function(item)
    return item.type == "diff"
  end, entry.kind == "call" and entry.fields.content or {})
end

--- Show one diff: `item` is ACP's diff content.
function M.show(item)
  local path = vim.fn.fnamemodify(item.path, ":~:.")
  local filetype = vim.filetype.match({ filename = item.path, contents = vim.split(item.newText or "", "\n") })
  vim.cmd.tabnew()
  vim.bo.bufhidden = "wipe" -- the empty buffer that a tab begins with
  side(item.oldText or "", path .. (item.oldText and " before" or " did not exist"), filetype)
  vim.cmd("rightbelow vsplit")
  side(item.newText or "", path .. " after", filetype)
end

return M
