if vim.g.loaded_acp_adapter or vim.fn.has("nvim-0.10") == 0 then
  return
end
vim.g.loaded_acp_adapter = 1

-- Words of :AcpAdapter → what they do; `value` is the word after it.
local ACTIONS = {
  open = function(plugin)
    plugin.open()
  end,
  close = function(plugin)
    plugin.close()
  end,
  new = function(plugin)
    plugin.new()
  end,
  restart = function(plugin)
    plugin.restart()
  end,
  cancel = function(plugin)
    plugin.cancel()
  end,
  setup = function(plugin)
    plugin.setup_agent()
  end,
  mode = function(plugin, value)
    plugin.set("mode", value)
  end,
  model = function(plugin, value)
    plugin.set("model", value)
  end,
  set = function(plugin, value)
    plugin.set(value)
  end,
}

vim.api.nvim_create_user_command("AcpAdapter", function(given)
  local plugin = require("acp_adapter")
  local word, value = unpack(given.fargs)
  if given.range > 0 then
    return plugin.add_lines(given.line1, given.line2)
  elseif not word then
    return plugin.toggle()
  elseif not ACTIONS[word] then
    return vim.notify((":AcpAdapter has no %q (:help :AcpAdapter)"):format(word), vim.log.levels.ERROR)
  end
  ACTIONS[word](plugin, value)
end, {
  nargs = "*",
  range = true,
  desc = "Open or close the agent's panel, or do something with it",
  complete = function(lead)
    local words = vim.tbl_filter(function(word)
      return vim.startswith(word, lead)
    end, vim.tbl_keys(ACTIONS))
    table.sort(words)
    return words
  end,
})

vim.api.nvim_create_user_command("AcpSessions", function(given)
  require("acp_adapter").sessions(given.args, given.bang)
end, { nargs = "*", bang = true, desc = "Pick a session, or search in all of them" })
