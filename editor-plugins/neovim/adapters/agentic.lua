-- acp-adapter in agentic.nvim: put this into your init.lua. Then require("agentic").toggle() opens its chat.
-- It starts an agent with PATH alone, so your keys and folders have to be passed on.
-- Editors seldom see a virtual environment's PATH: name the program by its full path there.
require("agentic").setup({
  provider = "acp-adapter",
  acp_providers = {
    ["acp-adapter"] = { command = "acp-adapter", args = {}, env = vim.fn.environ() },
  },
})
