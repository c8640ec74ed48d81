--- What is typed → ACP content blocks: the text as it is, and a link for each `@path` in it that is there.
local M = {}

local function absolute(path, cwd)
  path = vim.fs.normalize(path)
  return (path:match("^/") or path:match("^%a:/")) and path or vim.fs.joinpath(cwd, path)
end

--- `path`, perhaps with lines as in `init.lua#L3-5` → a resource link; nil where there is no such file or folder.
function M.link(word, cwd)
  local path, lines = word:match("^(.-)#(L%d+%-?%d*)$")
  local full = absolute(path or word, cwd)
  if not vim.uv.fs_stat(full) then
    return nil
  end
  local uri = vim.uri_from_fname(full) .. (lines and "#" .. lines or "")
  return { type = "resource_link", name = word, uri = uri }
end

--- The blocks of a prompt. Bytes that are not UTF-8 are taken for Latin-1.
function M.blocks(text, cwd)
  text = vim.iconv(text, "utf-8", "utf-16le") and text or vim.iconv(text, "latin1", "utf-8")
  local blocks, seen = { { type = "text", text = text } }, {}
  for word in (" " .. text):gmatch("%s@(%S+)") do
    local link = M.link(word, cwd) or M.link((word:gsub("[%.,;:!?%)]+$", "")), cwd)
    if link and not seen[link.uri] then
      seen[link.uri] = true
      table.insert(blocks, link)
    end
  end
  return blocks
end

return M
