--- `fs/read_text_file` and `fs/write_text_file`: the files that are open here, unsaved changes included.
--- A file that no buffer holds is refused: the agent reads and writes the disk itself then, atomically and in the
--- file's own encoding.
local client = require("acp_adapter.client")

local M = {}

local NOT_FOUND, FAILED = -32002, -32603

local function refuse(reply, code, path, why)
  reply({ code = code, message = ("%s %s."):format(path, why) })
end

--- The loaded buffer of that file, under whatever name it was opened.
local function buffer_of(path)
  local real = vim.uv.fs_realpath(path) or vim.fs.normalize(path)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "" and name ~= "" then
      if (vim.uv.fs_realpath(name) or vim.fs.normalize(name)) == real then
        return buffer
      end
    end
  end
end

-- Buffers with changes of their own whose file has changed on disk too. Neovim notices that only once.
local conflicts = {}

vim.api.nvim_create_autocmd("FileChangedShellPost", {
  callback = function(event)
    conflicts[event.buf] = vim.bo[event.buf].modified or nil
  end,
})
vim.api.nvim_create_autocmd({ "BufWritePost", "BufReadPost", "BufUnload" }, {
  callback = function(event)
    conflicts[event.buf] = nil
  end,
})

--- Take in what changed on disk, unless the buffer has changes of its own: what to keep then is the user's to say.
local function refresh(buffer)
  local autocmd = vim.api.nvim_create_autocmd("FileChangedShell", {
    buffer = buffer,
    callback = function()
      conflicts[buffer] = conflicts[buffer] or vim.v.fcs_reason == "conflict" or nil
      vim.v.fcs_choice = vim.v.fcs_reason == "changed" and "reload" or ""
    end,
  })
  vim.cmd.checktime({ args = { tostring(buffer) }, mods = { silent = true } })
  vim.api.nvim_del_autocmd(autocmd)
end

local function newline(buffer)
  return ({ dos = "\r\n", mac = "\r" })[vim.bo[buffer].fileformat] or "\n"
end

--- A buffer's text as it would be saved. Returns nil where it is not text in UTF-8.
function M.text(buffer)
  if vim.api.nvim_buf_get_offset(buffer, 1) <= 0 then
    return ""
  end
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local text = table.concat(lines, "\0")
  if text:find("\n", 1, true) or not vim.iconv(text, "utf-8", "utf-16le") then
    return nil -- Neovim holds a NUL of the file as a newline in a line
  end
  local ends = vim.bo[buffer].endofline and newline(buffer) or ""
  return table.concat(lines, newline(buffer)) .. ends
end

--- Have the buffer hold `text`, changing only the lines that differ, so that marks and folds stay where they were.
local function put(buffer, text)
  local body = text:gsub(newline(buffer), "\n")
  local lines = vim.split(body, "\n", { plain = true })
  vim.bo[buffer].endofline = lines[#lines] == "" or text == ""
  vim.bo[buffer].fixendofline = vim.bo[buffer].fixendofline and vim.bo[buffer].endofline
  if #lines > 1 and lines[#lines] == "" then
    table.remove(lines)
  end
  local old = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local diff = vim.text and vim.text.diff or vim.diff
  local hunks = diff(table.concat(old, "\n") .. "\n", table.concat(lines, "\n") .. "\n", { result_type = "indices" })
  for at = #hunks, 1, -1 do
    local from, count, new_from, new_count = unpack(hunks[at])
    local first = count == 0 and from or from - 1
    local new = vim.list_slice(lines, new_from, new_from + new_count - 1)
    vim.api.nvim_buf_set_lines(buffer, first, first + count, true, new)
  end
end

--- Save exactly what was written: no BufWritePre, which might format it; those who watch for saved files are told.
local function save(buffer)
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("silent noautocmd keepalt write!")
  end)
  vim.api.nvim_exec_autocmds("BufWritePost", { buffer = buffer, modeline = false })
end

local function cut(text, line, limit)
  if not line and not limit then
    return text
  end
  local lines = vim.split(text, "\n", { plain = true })
  local first = line or 1
  local last = limit and first + limit - 1 or #lines
  return table.concat(vim.list_slice(lines, first, last), "\n") .. (last < #lines and "\n" or "")
end

client.handlers["fs/read_text_file"] = function(params, reply)
  local buffer = buffer_of(params.path)
  if not buffer then
    return refuse(reply, NOT_FOUND, params.path, "is not open in Neovim")
  end
  refresh(buffer)
  local text = M.text(buffer)
  if not text then
    return refuse(reply, FAILED, params.path, "is open in Neovim, but is not text in UTF-8")
  end
  reply(nil, { content = cut(text, params.line, params.limit) })
end

client.handlers["fs/write_text_file"] = function(params, reply)
  local buffer = buffer_of(params.path)
  if not buffer then
    return refuse(reply, NOT_FOUND, params.path, "is not open in Neovim")
  elseif vim.bo[buffer].readonly or not vim.bo[buffer].modifiable then
    return refuse(reply, FAILED, params.path, "is read-only in Neovim")
  end
  refresh(buffer)
  if conflicts[buffer] then
    return refuse(reply, FAILED, params.path, "has changed on disk and has unsaved changes here: save or reload it")
  end
  put(buffer, params.content)
  local ok, fault = pcall(save, buffer)
  if not ok then
    vim.api.nvim_buf_call(buffer, function()
      vim.cmd("silent undo")
    end)
    return refuse(reply, FAILED, params.path, "could not be saved: " .. tostring(fault))
  end
  reply(nil, vim.empty_dict())
end

return M
